"""A model as URDF: one link per body, further frames as links on fixed joints.

What the format lacks is written in namespaces of its own: rotor inertias as Drake's transmissions,
gravity that is not standard, friction that depends on the direction and an order of coordinates
that is not depth first as `dalembert:` parts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.errors import ModelError
from dalembert.importers.urdf_motors import motor_lines
from dalembert.importers.urdf_tree import ORDER
from dalembert.importers.urdf_write_loops import loop_lines
from dalembert.importers.write import (
    Placed,
    comments,
    friction_of,
    inertia_of,
    numbers,
    numeric,
    origin_element,
    origin_of,
    other_frames,
    place_bodies,
    screw_kind,
    unique,
)
from dalembert.model.body import Massive
from dalembert.model.build import STANDARD_GRAVITY
from dalembert.model.joint import Free
from dalembert.model.model import Body, Model
from dalembert.model.notes import Equality
from dalembert.text import xml_attribute

UNLIMITED = 1e16  # URDF has no infinity; the reader takes what is beyond 1e15 as none
NAMESPACES = 'xmlns:dalembert="urn:dalembert" xmlns:drake="https://drake.mit.edu"'


def urdf_from_model(model: Model, equalities: Sequence[Equality] = ()) -> str:
    """The text; joints that URDF does not have (ball, helical) are errors that name them.

    `equalities` are written as loops and couplings of URDF+.
    """
    model = numeric(model)
    _require_writable(model)
    placed = place_bodies(model, on_axis=True)
    frames = other_frames(model, placed)
    taken = {item.joint for item in placed}
    root = _root(model, {item.name for item in placed})
    lines = [f"<robot name={xml_attribute(model.name)} {NAMESPACES}>"]
    lines += [f"  {line}" for line in comments(model)]
    if not np.array_equal(model.gravity, STANDARD_GRAVITY):
        lines.append(f'  <dalembert:gravity xyz="{numbers(model.gravity)}"/>')
    if not _is_depth_first(model):
        lines.append(f'  <{ORDER} by="document"/>')
    lines += _link(model.fixed, root, np.eye(4))
    for i, (body, item) in enumerate(zip(model.bodies, placed, strict=True)):
        lines += _link(body, item.name, item.frame)
        parent = placed[body.parent].name if body.parent >= 0 else root
        lines += _joint(model, placed, i, parent)
    for name, at, here in frames:
        if name != root:
            parent = placed[at].name if at >= 0 else root
            lines += _fixed(name, unique(f"{name}_fixed", taken), parent, here)
    lines += [*motor_lines(model), *loop_lines(model, placed, equalities, root)]
    return "\n".join([*lines, "</robot>", ""])


def _is_depth_first(model: Model) -> bool:
    """Whether readers of URDF, who go depth first, find the coordinates in their order."""
    open_bodies: list[int] = []  # from the base to the last body
    for i, body in enumerate(model.bodies):
        while open_bodies and open_bodies[-1] != body.parent:
            open_bodies.pop()
        if body.parent >= 0 and not open_bodies:
            return False
        open_bodies.append(i)
    return True


def _root(model: Model, used: set[str]) -> str:
    """A frame that is the world itself, or a new name for it."""
    for name, frame in model.frames.items():
        here = np.array_equal(frame.rotation, np.eye(3)) and not np.any(frame.translation)
        if frame.body < 0 and here and name != model.tool:
            return name
    return unique("world", {*used, *model.frames})


def _link(body: Massive, name: str, frame: np.ndarray) -> list[str]:
    mass, com, I = inertia_of(body, frame)
    if mass == 0.0 and not I.any():
        return [f"  <link name={xml_attribute(name)}/>"]
    moments = f'ixx="{numbers([I[0, 0]])}" iyy="{numbers([I[1, 1]])}" izz="{numbers([I[2, 2]])}"'
    products = f'ixy="{numbers([I[0, 1]])}" ixz="{numbers([I[0, 2]])}" iyz="{numbers([I[1, 2]])}"'
    return [
        f"  <link name={xml_attribute(name)}>",
        f'    <inertial><origin xyz="{numbers(com)}"/><mass value="{numbers([mass])}"/>',
        f"      <inertia {moments} {products}/></inertial>",
        "  </link>",
    ]


def _joint(model: Model, placed: list[Placed], i: int, parent: str) -> list[str]:
    body, item = model.bodies[i], placed[i]
    kind = _kind(body, item)
    lines = [
        f"  <joint name={xml_attribute(item.joint)} type={xml_attribute(kind)}>",
        f"    <parent link={xml_attribute(parent)}/><child link={xml_attribute(item.name)}/>",
        f"    {origin_element(origin_of(model, placed, i))}",
    ]
    if kind != "floating":
        lines.append(f'    <axis xyz="{numbers(item.frame[2, :3])}"/>')
        lines.append(f"    {_limit(item)}")
        lines += _dynamics(model, body)
        lines += _mimic(model, item)
    return [*lines, "  </joint>", *_transmission(model, body, item)]


def _kind(body: Body, item: Placed) -> str:
    if isinstance(body.chart, Free):
        return "floating"
    kind = screw_kind(body)
    if kind == "prismatic":
        return kind
    if kind == "revolute":
        limited = np.isfinite([item.info.lower[item.number], item.info.upper[item.number]]).any()
        return "revolute" if limited else "continuous"
    raise ModelError(f"joint {item.joint!r}: URDF has no {item.info.kind} joint; try to_mjcf")


def _limit(item: Placed) -> str:
    info = item.info
    values = (info.lower[item.number], info.upper[item.number])
    lower, upper = np.clip(values, -UNLIMITED, UNLIMITED)
    effort, velocity = (min(x, UNLIMITED) for x in (info.effort_limit, info.velocity_limit))
    reach = f'lower="{numbers([lower])}" upper="{numbers([upper])}"'
    return f'<limit {reach} effort="{numbers([effort])}" velocity="{numbers([velocity])}"/>'


def _dynamics(model: Model, body: Body) -> list[str]:
    drive, v = model.drive, body.v.start
    viscous, (positive, negative) = float(drive.viscous[v]), friction_of(model, v)
    spring = _spring(model, body)
    if viscous == positive == negative == 0.0 and not spring:
        return []
    text = f'    <dynamics damping="{numbers([viscous])}" friction="{numbers([positive])}"'
    if negative != -positive:
        text += f' dalembert:friction_negative="{numbers([negative])}"'
    return [f"{text}{spring}/>"]


def _spring(model: Model, body: Body) -> str:
    """Spring and drag of a joint, in our namespace."""
    text, elements = "", model.elements
    for spring in elements.springs:
        if model.bodies[spring.body] is body:
            text += f' dalembert:stiffness="{numbers(spring.stiffness)}"'
            text += f' dalembert:rest="{numbers(spring.rest)}"'
    for drag in elements.drags:
        if model.bodies[drag.body] is body:
            text += f' dalembert:drag="{numbers(drag.coefficients)}"'
    return text


def _require_writable(model: Model) -> None:
    """An error where elements have no place in a URDF."""
    elements = model.elements
    sprung = {s.body for s in elements.springs} | {d.body for d in elements.drags}
    kinds = {
        "tendons": bool(elements.tendons),
        "lifted weights": bool(elements.lifts),
        "springs of free joints": any(model.bodies[i].chart.nq > 1 for i in sprung),
        "armature of free joints": bool(elements.ballasts),
        "fluid": bool(elements.submerged),
    }
    lacking = [kind for kind, found in kinds.items() if found]
    if lacking:
        raise ModelError(f"{model.name}: URDF has no {', '.join(lacking)}; try to_mjcf")


def _mimic(model: Model, item: Placed) -> list[str]:
    follow = model.followers.get(item.joint)
    if follow is None:
        return []
    by = f'multiplier="{numbers([follow.multiplier])}" offset="{numbers([follow.offset])}"'
    return [f"    <mimic joint={xml_attribute(follow.leader)} {by}/>"]


def _transmission(model: Model, body: Body, item: Placed) -> list[str]:
    rotor = np.asarray(model.drive.rotor, float)[body.v]
    if not rotor.any():
        return []
    if len(rotor) > 1:
        raise ModelError(f"joint {item.joint!r}: URDF cannot hold the rotor of a free joint")
    name = xml_attribute(f"{item.joint}_transmission")
    return [
        f"  <transmission name={name}><joint name={xml_attribute(item.joint)}/><actuator name={name}>",
        f'    <drake:gear_ratio value="1.0"/><drake:rotor_inertia value="{numbers(rotor)}"/>',
        "  </actuator></transmission>",
    ]


def _fixed(name: str, joint: str, parent: str, here: np.ndarray) -> list[str]:
    return [
        f"  <link name={xml_attribute(name)}/>",
        f'  <joint name={xml_attribute(joint)} type="fixed">',
        f"    <parent link={xml_attribute(parent)}/><child link={xml_attribute(name)}/>",
        f"    {origin_element(here)}",
        "  </joint>",
    ]
