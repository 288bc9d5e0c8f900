"""MJCF through MuJoCo's own compiler: defaults, includes and inertia from geoms are its work.

What is read is the compiled model. Signs that differ: MuJoCo turns a hinge by q − ref, its free
joint holds the pose in the world and the linear velocity in the world, its quaternions are
(w, x, y, z). Here velocities of free joints are body twists, quaternions (x, y, z, w).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import ImportFileError, ModelError, UnknownNameError
from dalembert.importers.file_access import Roots, Trust
from dalembert.importers.mjcf_actuators import actuation, with_efforts
from dalembert.importers.mjcf_compile import MAX_BODIES, CompiledModel, compiled
from dalembert.importers.mjcf_forces import (
    gravity_compensation,
    joint_forces,
    reflected,
    rotation_of,
    submerged,
    tendon,
)
from dalembert.importers.mjcf_loops import report
from dalembert.importers.safe_parsing import LARGEST, Source, read_xml, require_root
from dalembert.model import Joint, Link, Model, build
from dalembert.model.build import BASE, TOOL
from dalembert.model.joint import JOINT_KINDS
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
    *("tendon_lengthspring", "tendon_armature", "wrap_prm"),
    *("geom_pos", "geom_quat", "geom_size", "geom_fluid"),
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
    require_root(document.root, "mujoco")
    try:
        import mujoco
    except ImportError:
        raise ImportError(
            "reading MJCF needs the package mujoco: pip install mujoco (the extra [mjcf])"
        ) from None
    roots = Roots.of(document.path, trust)
    m = compiled(mujoco, document, roots)
    _check_model(m, document.file)
    model_name = name or document.root.attributes.get("model", "").strip() or "robot"
    try:
        at_joints, at_tendons = reflected(m)
        model, tool = _tree(m, model_name, tip, at_joints)
        model = _with_forces(m, model, at_tendons)
    except ModelError as error:
        raise ImportFileError(str(error), document.file) from None
    notes = report(m, document.file or "text", roots).checked(document.file, loops, strict)
    # a default that is reported is no fault of the file, also where that must be strict
    return model.with_notes(tool.noted(notes))


def _check_model(m: CompiledModel, file: str | None) -> None:
    """Require moving bodies, a bounded size, and finite numbers of human scale, as in a URDF."""
    if m.nbody < 2:
        raise ImportFileError("the model has no body besides the world", file)
    if m.nbody > MAX_BODIES:
        raise ImportFileError(f"{m.nbody} bodies; the limit is {MAX_BODIES}", file)
    if any("NaN" in text for text in m.warnings):
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


def _tree(m: CompiledModel, name: str, tip: str | None, added: np.ndarray) -> tuple[Model, Tool]:
    """Bodies, joints, frames and gravity; `added` (2, nv) is what actuators add to the joints."""
    links, frames = _links(m, added), _frames(m)
    # sites that must be links: "base", whose name the base's own frame has, and a tool at rest
    fixed_sites = []
    for site in (BASE, TOOL):
        if site in frames and (site == BASE or frames[site][0] is None):
            body, site_pose = frames.pop(site)
            joint = Joint(kind="fixed", name=f"{site}_site", origin=site_pose)
            fixed_sites.append(Link(site, body, joint))
    tool, tool_link, tool_pose = _tool(m, frames, [link.name for link in fixed_sites], tip)
    weightless = m.disabled("GRAVITY")
    model = build(
        [*links, *fixed_sites],
        name=name,
        tool=tool_pose,
        tool_link=tool_link,
        frames=frames,
        gravity=np.zeros(3) if weightless else np.array(m.opt.gravity),
        check_inertias=False,
    )
    return model, tool


def _links(m: CompiledModel, added: np.ndarray) -> list[Link]:
    """One link per joint, the last of a body carrying its inertia; bodies depth first."""
    lifted, bodies, joints = gravity_compensation(m), m.names["body"], m.names["joint"]
    links: list[Link] = []
    for i in range(1, m.nbody):
        parent_index = int(m.body_parentid[i])
        parent = bodies[parent_index] if parent_index > 0 else None
        count, first = int(m.body_jntnum[i]), int(m.body_jntadr[i])
        body_pose = pose(rotation_of(m.body_quat[i]), m.body_pos[i])
        turn = rotation_of(m.body_iquat[i])
        tensor = turn @ np.diag(m.body_inertia[i]) @ turn.T
        load: dict[str, Any] = {
            "mass": float(m.body_mass[i]),
            "com": np.array(m.body_ipos[i]),
            "inertia": 0.5 * (tensor + tensor.T),
            "lifted": float(lifted[i]),
        }
        if count == 0:
            fixed = Joint(kind="fixed", name=f"{bodies[i]}_fixed", origin=body_pose)
            links.append(Link(bodies[i], parent, fixed, **load))
        for k in range(first, first + count):
            last = k == first + count - 1
            name = bodies[i] if last else f"{bodies[i]}_{joints[k]}"
            joint, frame = _joint(m, k, body_pose if k == first else np.eye(4), added)
            links.append(Link(name, parent, joint, frame=frame, **(load if last else {})))
            parent = name
    return links


def _joint(
    m: CompiledModel, k: int, body_pose: np.ndarray, added: np.ndarray
) -> tuple[Joint, np.ndarray]:
    """The joint, and the body frame as it moves with it."""
    kind, q = int(m.jnt_type[k]), int(m.jnt_qposadr[k])
    anchor = np.eye(4)
    if kind in (HINGE, BALL):
        anchor[:3, 3] = m.jnt_pos[k]
    simple = kind in (HINGE, SLIDE)
    limited = simple and bool(m.jnt_limited[k]) and not m.disabled("LIMIT", "CONSTRAINT")
    joint = Joint(
        kind="continuous" if kind == HINGE and not limited else KIND[JOINT_TYPES[kind]],
        name=m.names["joint"][k],
        axis=np.array(m.jnt_axis[k]),
        origin=np.eye(4) if kind == FREE else body_pose @ anchor,
        offset=-float(m.qpos0[q]) if simple else 0.0,
        limits=(float(m.jnt_range[k, 0]), float(m.jnt_range[k, 1])) if limited else None,
        **joint_forces(m, k, added),
    )
    return joint, pose(None, -anchor[:3, 3])


def _frames(m: CompiledModel) -> dict[str, tuple[str | None, np.ndarray]]:
    """Sites by name: the body they are on (None: the world) and their pose there."""
    bodies = m.names["body"]
    frames: dict[str, tuple[str | None, np.ndarray]] = {}
    for i, name in enumerate(m.site_frames):
        body = int(m.site_bodyid[i])
        site_pose = pose(rotation_of(m.site_quat[i]), m.site_pos[i])
        frames[name] = (bodies[body] if body > 0 else None, site_pose)
    if m.neq and BASE in (*bodies, *frames):
        # the base's own name is taken, and loops may end in the world
        frames.setdefault("world", (None, np.eye(4)))
    return frames


def _tool(
    m: CompiledModel,
    frames: dict[str, tuple[str | None, np.ndarray]],
    still: list[str],
    tip: str | None,
) -> tuple[Tool, str, np.ndarray | None]:
    """The tool, its body and its pose there: `tip`, what is called "tool", or the default."""
    bodies = m.names["body"]
    names = [*bodies[1:], *still]
    named_tool = frames.pop(TOOL, (None, None))
    if tip is not None and tip not in names and frames.get(tip, named_tool)[0] is None:
        known = ", ".join([*names, *frames])
        raise UnknownNameError(f"no body and no site on a body is called {tip!r}; try: {known}")
    tool = Tool(tip, "given") if tip is not None else Tool(TOOL, "its name")
    if tip is None and named_tool[0] is None and TOOL not in names:
        mounts = {}
        is_coupled = (m.eq_type == EQUALITY_OF_JOINTS) & (m.eq_obj2id >= 0)
        driven = {*m.eq_obj1id[is_coupled].tolist()}  # joints that an equality drives follow
        for i in range(1, m.nbody):
            first, parent = int(m.body_jntadr[i]), int(m.body_parentid[i])
            joints = set(range(first, first + int(m.body_jntnum[i])))
            parent_name = bodies[parent] if parent > 0 else None
            mounts[bodies[i]] = Mount(parent_name, bool(joints), bool(joints & driven))
        sites = {name: link for name, (link, _) in frames.items() if link is not None}
        tool = default_tool(mounts, sites) or Tool(bodies[-1], "the last body")
    link, tool_pose = named_tool if tool.name == TOOL else frames.get(tool.name, (None, None))
    return tool, link or tool.name, tool_pose


def _with_forces(m: CompiledModel, model: Model, added: np.ndarray) -> Model:
    """The model with tendons, to which actuators add numbers (2, tendons), fluid and actuators."""
    numbers = zip(*added.tolist(), strict=True)
    tendons = tuple(tendon(m, model, i, *own) for i, own in enumerate(numbers))
    shapes = submerged(m, model)
    moving, still = (
        tuple(shape for shape in shapes if (shape.body < 0) is fixed) for fixed in (False, True)
    )
    elements = replace(model.elements, tendons=tendons, submerged=moving)
    fixed = replace(model.fixed, elements=replace(model.fixed.elements, submerged=still))
    model = replace(model, elements=elements, fixed=fixed)
    return with_efforts(m, replace(model, driven_by=actuation(m, model)))
