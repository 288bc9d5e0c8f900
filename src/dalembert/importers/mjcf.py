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
from dalembert.importers.mjcf_actuators import actuation
from dalembert.importers.mjcf_compile import compiled
from dalembert.importers.mjcf_efforts import with_efforts
from dalembert.importers.mjcf_files import Roots, Trust, require_mujoco
from dalembert.importers.mjcf_fluid import submerged
from dalembert.importers.mjcf_limits import MAX_BODIES
from dalembert.importers.mjcf_looks import looks_of
from dalembert.importers.mjcf_notes import report
from dalembert.importers.mjcf_physics import JointForces, disabled
from dalembert.importers.mjcf_tendons import Tendons
from dalembert.importers.xml_read import LARGEST, Source, read_xml
from dalembert.model import Joint, Link, Model, build
from dalembert.model.build import BASE, TOOL
from dalembert.spatial.quaternions import matrix_from_quaternion
from dalembert.spatial.rotations import snap

FREE, BALL, SLIDE, HINGE = range(4)  # MuJoCo's mjtJoint
_NUMBERS = (
    *("body_pos", "body_quat", "body_mass", "body_ipos", "body_iquat", "body_inertia"),
    *("jnt_pos", "jnt_axis", "qpos0", "dof_armature", "dof_damping", "dof_frictionloss"),
    *("site_pos", "site_quat", "actuator_armature", "actuator_damping", "actuator_gear"),
    *("jnt_stiffness", "jnt_stiffnesspoly", "dof_dampingpoly", "qpos_spring", "body_gravcomp"),
    *("tendon_stiffness", "tendon_stiffnesspoly", "tendon_damping", "tendon_dampingpoly"),
    *("tendon_lengthspring", "wrap_prm", "geom_pos", "geom_quat", "geom_size", "geom_fluid"),
)
KIND = {FREE: "free", BALL: "spherical", SLIDE: "prismatic", HINGE: "revolute"}


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
    require_mujoco(document)
    mujoco = _mujoco()
    m, heard, dropped = compiled(mujoco, document, trust)
    _check_model(m, heard, document.file)
    bodies = _Bodies(mujoco, m)
    called = name or document.root.attributes.get("model", "").strip() or "robot"
    try:
        model = _tree(mujoco, bodies, called, tip)
        tendons = Tendons(mujoco, m, model, bodies.names, bodies.joints)
        shapes = submerged(mujoco, m, model, bodies.names)
        elements = replace(model.elements, tendons=tendons.found, submerged=shapes)
        model = replace(model, elements=elements)
        driven, undriven = actuation(mujoco, m, model, (bodies.joints, bodies.places))
    except ModelError as error:
        raise ImportFileError(str(error), document.file) from None
    notes = report(mujoco, m, bodies.names, bodies.joints, document.file or "text")
    said = tuple(f"MuJoCo: {' '.join(text.split())}" for text in heard)
    left_open = notes.left_open if loops == "ignore" else ()
    forces = (*bodies.forces.left_out, *tendons.left_out, *undriven, *dropped.left_out())
    notes = replace(
        notes,
        warnings=(*notes.warnings, *left_open, *said),
        left_out=(*notes.left_out, *forces),
        ignored=(*notes.ignored, *dropped.ignored()),
        meshes=tuple(dropped.meshes(mujoco, m, bodies.names)),
        looks=looks_of(mujoco, m, bodies.names, dropped, Roots.of(document.path, trust)),
    )
    if strict and (notes.warnings or notes.left_out):
        lost = [f"{row.what} {row.name!r} is left out: {row.effect}" for row in notes.left_out]
        raise ImportFileError("; ".join([*notes.warnings, *lost]), document.file)
    return with_efforts(m, replace(model, notes=notes, driven_by=driven), bodies.joints)


def _check_model(m: Any, heard: list[str], file: str | None) -> None:
    """A model with bodies that move, of a size and with numbers one can work with."""
    if m.nbody < 2:
        raise ImportFileError("the model has no body besides the world", file)
    if m.nbody > MAX_BODIES:
        raise ImportFileError(f"{m.nbody} bodies; the limit is {MAX_BODIES}", file)
    if any("NaN" in text for text in heard):
        raise ImportFileError("a number in it is NaN", file)
    _check_numbers(m, file)


def _tree(mujoco: ModuleType, bodies: _Bodies, name: str, tip: str | None) -> Model:
    """Bodies, joints, frames and gravity."""
    frames = bodies.frames()
    still = _still_links(frames)
    tool_link, tool = bodies.tool(frames, [link.name for link in still], tip)
    weightless = disabled(mujoco, bodies.m, "GRAVITY")
    return build(
        [*bodies.links(), *still],
        name=name,
        tool=tool,
        tool_link=tool_link,
        frames=frames,
        gravity=np.zeros(3) if weightless else np.array(bodies.m.opt.gravity),
        check_inertias=False,
    )


def _mujoco() -> ModuleType:
    try:
        import mujoco
    except ImportError:
        raise ImportError(
            "reading MJCF needs the package mujoco: pip install 'dalembert[mjcf]'"
        ) from None
    return mujoco


def _check_numbers(m: Any, file: str | None) -> None:
    """What enters the dynamics must be finite and of human scale, as in a URDF."""
    for name in _NUMBERS:
        if not np.all(np.abs(getattr(m, name, 0.0)) <= LARGEST):
            raise ImportFileError(f"{name} of the compiled model has a number beyond 1e12", file)
    for name in ("body_quat", "body_iquat", "site_quat", "jnt_axis"):
        # MuJoCo makes them of unit length, unless that overflows
        if not np.allclose(np.linalg.norm(getattr(m, name), axis=1), 1.0, atol=1e-6):
            raise ImportFileError(f"{name} of the compiled model is not of unit length", file)
    if not np.all(np.abs(m.opt.gravity) <= LARGEST):
        raise ImportFileError("gravity is beyond 1e12 m/s²", file)


class _Bodies:
    """Names and links of a compiled model."""

    def __init__(self, mujoco: ModuleType, m: Any) -> None:
        self.m = m
        self.limited = not disabled(mujoco, m, "LIMIT", "CONSTRAINT")
        self.names = _names(mujoco, m, mujoco.mjtObj.mjOBJ_BODY, m.nbody, "body")
        self.joints = _names(mujoco, m, mujoco.mjtObj.mjOBJ_JOINT, m.njnt, "joint")
        self.sites = _names(mujoco, m, mujoco.mjtObj.mjOBJ_SITE, m.nsite, "site")
        numerics = _names(mujoco, m, mujoco.mjtObj.mjOBJ_NUMERIC, m.nnumeric, "numeric")
        self.forces = JointForces(mujoco, m, self.joints, numerics)

    def links(self) -> list[Link]:
        """One link per joint, the last of a body carrying its inertia; bodies depth first."""
        made: list[Link] = []
        for i in range(1, self.m.nbody):
            parent = self._parent(i)
            count, first = int(self.m.body_jntnum[i]), int(self.m.body_jntadr[i])
            here = _pose(self.m.body_pos[i], self.m.body_quat[i])
            load = self._inertia(i)
            if count == 0:
                fixed = Joint(kind="fixed", name=f"{self.names[i]}_fixed", origin=here)
                made.append(Link(self.names[i], parent, fixed, **load))
            for k in range(first, first + count):
                last = k == first + count - 1
                name = self.names[i] if last else f"{self.names[i]}_{self.joints[k]}"
                joint, frame = self._joint(k, here if k == first else np.eye(4))
                made.append(Link(name, parent, joint, frame=frame, **(load if last else {})))
                parent = name
        return made

    def _parent(self, i: int) -> str | None:
        parent = int(self.m.body_parentid[i])
        return self.names[parent] if parent > 0 else None

    def _inertia(self, i: int) -> dict[str, Any]:
        turn = _rotation(self.m.body_iquat[i])
        tensor = turn @ np.diag(self.m.body_inertia[i]) @ turn.T
        com = np.array(self.m.body_ipos[i])
        return {
            "mass": float(self.m.body_mass[i]),
            "com": com,
            "inertia": 0.5 * (tensor + tensor.T),
            "lifted": float(self.m.body_gravcomp[i]),
        }

    def _joint(self, k: int, here: np.ndarray) -> tuple[Joint, np.ndarray]:
        """The joint, and the body frame as it moves with it."""
        m, kind = self.m, int(self.m.jnt_type[k])
        q = int(m.jnt_qposadr[k])
        anchor = np.eye(4)
        if kind in (HINGE, BALL):
            anchor[:3, 3] = m.jnt_pos[k]
        simple = kind in (HINGE, SLIDE)
        limited = self.limited and simple and bool(m.jnt_limited[k])
        joint = Joint(
            kind="continuous" if kind == HINGE and not limited else KIND[kind],
            name=self.joints[k],
            axis=np.array(m.jnt_axis[k]),
            origin=np.eye(4) if kind == FREE else here @ anchor,
            offset=-float(m.qpos0[q]) if simple else 0.0,
            limits=(float(m.jnt_range[k, 0]), float(m.jnt_range[k, 1])) if limited else None,
            **self.forces.of(k),
        )
        back = np.eye(4)
        back[:3, 3] = -anchor[:3, 3]
        return joint, back

    def frames(self) -> dict[str, tuple[str | None, np.ndarray]]:
        """Sites by name: the body they are on (None: the world) and their pose there."""
        placed: dict[str, tuple[str | None, np.ndarray]] = {}
        for i, name in enumerate(self.places):
            at = int(self.m.site_bodyid[i])
            here = _pose(self.m.site_pos[i], self.m.site_quat[i])
            placed[name] = (self.names[at] if at > 0 else None, here)
        if self.m.neq and BASE in (*self.names, *placed):
            # the base's own name is taken, and loops may end in the world
            placed.setdefault("world", (None, np.eye(4)))
        return placed

    @property
    def places(self) -> list[str]:
        """Names of the sites as frames: not those of bodies."""
        bodies = set(self.names[1:])
        return [site if site not in bodies else f"{site}_site" for site in self.sites]

    def tool(
        self, frames: dict[str, tuple[str | None, np.ndarray]], still: list[str], tip: str | None
    ) -> tuple[str, np.ndarray | None]:
        """Body and pose of the tool: `tip`, else what is called "tool", else the last body."""
        names = [*self.names[1:], *still]
        called = frames.pop(TOOL, (None, None))
        if tip is not None and tip not in names and frames.get(tip, called)[0] is None:
            known = ", ".join([*names, *frames])
            raise UnknownNameError(f"no body and no site on a body is called {tip!r}; try: {known}")
        wanted = tip or TOOL
        link, here = called if wanted == TOOL else frames.get(wanted, (None, None))
        if link is not None:
            return link, here
        return (wanted if wanted in names else self.names[-1]), None


def _still_links(frames: dict[str, tuple[str | None, np.ndarray]]) -> list[Link]:
    """Sites that must be links: "base", whose name the base's own frame has, and a tool at rest."""
    made = []
    for name in (BASE, TOOL):
        if name in frames and (name == BASE or frames[name][0] is None):
            at, here = frames.pop(name)
            made.append(Link(name, at, Joint(kind="fixed", name=f"{name}_site", origin=here)))
    return made


def _names(mujoco: ModuleType, m: Any, kind: Any, count: int, word: str) -> list[str]:
    """Names by index; what has none gets one that is free."""
    given = [mujoco.mj_id2name(m, kind, i) or "" for i in range(count)]
    taken = set(given)
    for i, name in enumerate(given):
        if not name:
            made = f"{word}{i}"
            while made in taken:
                made += "_"
            taken.add(made)
            given[i] = made
    return given


def _rotation(quaternion: Any) -> np.ndarray:
    w, x, y, z = quaternion
    return snap(matrix_from_quaternion(np.array([x, y, z, w])))


def _pose(position: Any, quaternion: Any) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = _rotation(quaternion), position
    return pose
