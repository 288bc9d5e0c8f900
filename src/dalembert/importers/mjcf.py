"""MJCF through MuJoCo's own compiler: defaults, includes and inertia from geoms are its work.

What is read is the compiled model. Signs that differ: MuJoCo turns a hinge by q − ref, its free
joint holds the pose in the world and the linear velocity in the world, its quaternions are
(w, x, y, z). Here velocities of free joints are body twists, quaternions (x, y, z, w).
"""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np

from dalembert.errors import ImportFileError, ModelError, UnknownNameError
from dalembert.importers.file_access import Roots, Trust
from dalembert.importers.mjcf_actuators import actuation, with_efforts
from dalembert.importers.mjcf_compile import MAX_BODIES, compiled
from dalembert.importers.mjcf_forces import (
    JointForces,
    Tendons,
    disabled,
    gravity_compensation,
    names_of,
    rotation_of,
    submerged,
)
from dalembert.importers.mjcf_loops import report
from dalembert.importers.safe_parsing import LARGEST, Source, read_xml
from dalembert.importers.visuals import mjcf_visuals
from dalembert.model import Joint, Link, Model, build
from dalembert.model.build import BASE, TOOL
from dalembert.model.joint import JOINT_KINDS
from dalembert.model.notes import Notes
from dalembert.model.tool import Mount, Tool, default_tool
from dalembert.spatial.se3 import pose

JOINT_TYPES = ("free", "ball", "slide", "hinge")
FREE, BALL, SLIDE, HINGE = range(4)  # MuJoCo's mjtJoint
EQUALITY_OF_JOINTS = 2  # its mjtEq
_NUMBERS = (
    *("body_pos", "body_quat", "body_mass", "body_ipos", "body_iquat", "body_inertia"),
    *("jnt_pos", "jnt_axis", "qpos0", "dof_armature", "dof_damping", "dof_frictionloss"),
    *("site_pos", "site_quat", "actuator_armature", "actuator_damping", "actuator_gear"),
    *("jnt_stiffness", "jnt_stiffnesspoly", "dof_dampingpoly", "qpos_spring", "body_gravcomp"),
    *("tendon_stiffness", "tendon_stiffnesspoly", "tendon_damping", "tendon_dampingpoly"),
    *(
        "tendon_lengthspring",
        "tendon_armature",
        "wrap_prm",
        "geom_pos",
        "geom_quat",
        "geom_size",
        "geom_fluid",
    ),
)
KIND = {kind.mjcf: kind.name for kind in JOINT_KINDS.values()}


def model_from_mjcf(
    source: Source,
    *,
    tip: str | None = None,
    name: str | None = None,
    strict: bool = False,
    loops: str = "ignore",
    trust: Trust = None,
) -> Model:
    """A model from a path or text; see `Robot.from_mjcf`. With `loops` "ignore", a warning says so."""
    document = read_xml(source)
    tag = document.root.tag
    if tag != "mujoco":
        part = "; this is a part: load the file that includes it"
        hints = {"robot": "; this is URDF: use from_urdf", "mujocoinclude": part}
        hint = hints.get(tag, "")
        raise document.root.error(f"the root element is <{tag[:60]}>, not <mujoco>{hint}")
    try:
        import mujoco
    except ImportError:
        raise ImportError(
            "reading MJCF needs the package mujoco: pip install mujoco (the extra [mjcf])"
        ) from None
    roots = Roots.of(document.path, trust)
    m, warnings, dropped = compiled(mujoco, document, trust)
    _check_model(m, warnings, document.file)
    bodies = _Bodies(mujoco, m)
    model_name = name or document.root.attributes.get("model", "").strip() or "robot"
    try:
        model = _tree(mujoco, bodies, model_name, tip)
        tendons = Tendons(mujoco, m, model, bodies.names, bodies.joints)
        shapes = submerged(mujoco, m, model, bodies.names)
        moving = tuple(shape for shape in shapes if shape.body >= 0)
        still = tuple(shape for shape in shapes if shape.body < 0)
        elements = replace(model.elements, tendons=tendons.tendons, submerged=moving)
        fixed_elements = replace(model.fixed.elements, submerged=still)
        fixed = replace(model.fixed, elements=fixed_elements)
        model = replace(model, elements=elements, fixed=fixed)
        driven, undriven = actuation(mujoco, m, model, bodies.joints, bodies.site_frames)
    except ModelError as error:
        raise ImportFileError(str(error), document.file) from None
    notes = report(mujoco, m, bodies.names, bodies.joints, document.file or "text")
    messages = tuple(f"MuJoCo: {' '.join(text.split())}" for text in warnings)
    left_open = notes.left_open if loops == "ignore" else ()
    forces = (*bodies.not_lifted, *bodies.forces.left_out, *tendons.left_out, *undriven)
    notes = replace(
        notes,
        tool=model.notes.tool,
        warnings=(*notes.warnings, *left_open, *messages),
        left_out=(*notes.left_out, *forces, *dropped.left_out()),
        ignored=(*notes.ignored, *dropped.ignored()),
        meshes=tuple(dropped.meshes(mujoco, m, bodies.names)),
        visuals=tuple(mjcf_visuals(mujoco, m, bodies.names, dropped, roots)),
    )
    if strict:
        notes.require_complete(document.file)
    # a default that is reported is no fault of the file, also where that must be strict
    notes = replace(notes, warnings=(*notes.warnings, *model.notes.warnings))
    return with_efforts(m, replace(model, notes=notes, driven_by=driven), bodies.joints)


def _check_model(m: Any, warnings: list[str], file: str | None) -> None:
    """Require moving bodies, a bounded size, and finite numbers of human scale, as in a URDF."""
    if m.nbody < 2:
        raise ImportFileError("the model has no body besides the world", file)
    if m.nbody > MAX_BODIES:
        raise ImportFileError(f"{m.nbody} bodies; the limit is {MAX_BODIES}", file)
    if any("NaN" in text for text in warnings):
        raise ImportFileError("a number in it is NaN", file)
    for name in _NUMBERS:
        if not np.all(np.abs(getattr(m, name, 0.0)) <= LARGEST):
            raise ImportFileError(f"{name} of the compiled model has a number beyond 1e12", file)
    for name in ("body_quat", "body_iquat", "site_quat", "jnt_axis"):
        # MuJoCo makes them of unit length, unless that overflows
        if not np.allclose(np.linalg.norm(getattr(m, name), axis=1), 1.0, atol=1e-6):
            raise ImportFileError(f"{name} of the compiled model is not of unit length", file)
    if not np.all(np.abs(m.opt.gravity) <= LARGEST):
        raise ImportFileError("gravity is beyond 1e12 m/s²", file)


def _tree(mujoco: ModuleType, bodies: _Bodies, name: str, tip: str | None) -> Model:
    """Bodies, joints, frames and gravity."""
    frames = bodies.frames()
    # sites that must be links: "base", whose name the base's own frame has, and a tool at rest
    fixed_sites = []
    for site in (BASE, TOOL):
        if site in frames and (site == BASE or frames[site][0] is None):
            body, site_pose = frames.pop(site)
            joint = Joint(kind="fixed", name=f"{site}_site", origin=site_pose)
            fixed_sites.append(Link(site, body, joint))
    tool_choice, tool_link, tool = bodies.tool(frames, [link.name for link in fixed_sites], tip)
    weightless = disabled(mujoco, bodies.m, "GRAVITY")
    model = build(
        [*bodies.links(), *fixed_sites],
        name=name,
        tool=tool,
        tool_link=tool_link,
        frames=frames,
        gravity=np.zeros(3) if weightless else np.array(bodies.m.opt.gravity),
        check_inertias=False,
    )
    return model.with_notes(Notes(tool=tool_choice.reason, warnings=tool_choice.warnings))


class _Bodies:
    """Names and links of a compiled model."""

    def __init__(self, mujoco: ModuleType, m: Any) -> None:
        self.m = m
        self.limited = not disabled(mujoco, m, "LIMIT", "CONSTRAINT")
        self.names = names_of(mujoco, m, "body")
        self.joints = names_of(mujoco, m, "joint")
        self.sites = names_of(mujoco, m, "site")
        numerics = names_of(mujoco, m, "numeric")
        self.forces = JointForces(mujoco, m, self.joints, numerics)
        self.lifted, self.not_lifted = gravity_compensation(mujoco, m, self.joints)

    def links(self) -> list[Link]:
        """One link per joint, the last of a body carrying its inertia; bodies depth first."""
        links: list[Link] = []
        for i in range(1, self.m.nbody):
            parent_index = int(self.m.body_parentid[i])
            parent = self.names[parent_index] if parent_index > 0 else None
            count, first = int(self.m.body_jntnum[i]), int(self.m.body_jntadr[i])
            body_pose = pose(rotation_of(self.m.body_quat[i]), self.m.body_pos[i])
            turn = rotation_of(self.m.body_iquat[i])
            tensor = turn @ np.diag(self.m.body_inertia[i]) @ turn.T
            load: dict[str, Any] = {
                "mass": float(self.m.body_mass[i]),
                "com": np.array(self.m.body_ipos[i]),
                "inertia": 0.5 * (tensor + tensor.T),
                "lifted": float(self.lifted[i]),
            }
            if count == 0:
                fixed = Joint(kind="fixed", name=f"{self.names[i]}_fixed", origin=body_pose)
                links.append(Link(self.names[i], parent, fixed, **load))
            for k in range(first, first + count):
                last = k == first + count - 1
                name = self.names[i] if last else f"{self.names[i]}_{self.joints[k]}"
                joint, frame = self._joint(k, body_pose if k == first else np.eye(4))
                links.append(Link(name, parent, joint, frame=frame, **(load if last else {})))
                parent = name
        return links

    def _joint(self, k: int, body_pose: np.ndarray) -> tuple[Joint, np.ndarray]:
        """The joint, and the body frame as it moves with it."""
        m, kind = self.m, int(self.m.jnt_type[k])
        q = int(m.jnt_qposadr[k])
        anchor = np.eye(4)
        if kind in (HINGE, BALL):
            anchor[:3, 3] = m.jnt_pos[k]
        simple = kind in (HINGE, SLIDE)
        limited = self.limited and simple and bool(m.jnt_limited[k])
        joint = Joint(
            kind="continuous" if kind == HINGE and not limited else KIND[JOINT_TYPES[kind]],
            name=self.joints[k],
            axis=np.array(m.jnt_axis[k]),
            origin=np.eye(4) if kind == FREE else body_pose @ anchor,
            offset=-float(m.qpos0[q]) if simple else 0.0,
            limits=(float(m.jnt_range[k, 0]), float(m.jnt_range[k, 1])) if limited else None,
            **self.forces.of(k),
        )
        return joint, pose(None, -anchor[:3, 3])

    def frames(self) -> dict[str, tuple[str | None, np.ndarray]]:
        """Sites by name: the body they are on (None: the world) and their pose there."""
        frames: dict[str, tuple[str | None, np.ndarray]] = {}
        for i, name in enumerate(self.site_frames):
            body = int(self.m.site_bodyid[i])
            site_pose = pose(rotation_of(self.m.site_quat[i]), self.m.site_pos[i])
            frames[name] = (self.names[body] if body > 0 else None, site_pose)
        if self.m.neq and BASE in (*self.names, *frames):
            # the base's own name is taken, and loops may end in the world
            frames.setdefault("world", (None, np.eye(4)))
        return frames

    @property
    def site_frames(self) -> list[str]:
        """Names of the sites as frames: not those of bodies."""
        bodies = set(self.names[1:])
        return [site if site not in bodies else f"{site}_site" for site in self.sites]

    def tool(
        self, frames: dict[str, tuple[str | None, np.ndarray]], still: list[str], tip: str | None
    ) -> tuple[Tool, str, np.ndarray | None]:
        """The tool, its body and its pose there: `tip`, what is called "tool", or the default."""
        names = [*self.names[1:], *still]
        named_tool = frames.pop(TOOL, (None, None))
        if tip is not None and tip not in names and frames.get(tip, named_tool)[0] is None:
            known = ", ".join([*names, *frames])
            raise UnknownNameError(f"no body and no site on a body is called {tip!r}; try: {known}")
        tool = Tool(tip, "given") if tip is not None else Tool(TOOL, "its name")
        if tip is None and named_tool[0] is None and TOOL not in names:
            m, mounts = self.m, {}
            is_coupled = (m.eq_type == EQUALITY_OF_JOINTS) & (m.eq_obj2id >= 0)
            driven = {*m.eq_obj1id[is_coupled].tolist()}  # joints that an equality drives follow
            for i in range(1, m.nbody):
                first, parent = int(m.body_jntadr[i]), int(m.body_parentid[i])
                joints = set(range(first, first + int(m.body_jntnum[i])))
                parent_name = self.names[parent] if parent > 0 else None
                mounts[self.names[i]] = Mount(parent_name, bool(joints), bool(joints & driven))
            sites = {name: link for name, (link, _) in frames.items() if link is not None}
            tool = default_tool(mounts, sites) or Tool(self.names[-1], "the last body")
        link, tool_pose = named_tool if tool.name == TOOL else frames.get(tool.name, (None, None))
        return tool, link or tool.name, tool_pose
