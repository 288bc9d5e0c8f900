"""Writing URDF: one link per body, further frames as links on fixed joints.

Rotor inertias are written as Drake's transmissions; gravity that is not standard, friction that depends
on the direction and an order of coordinates that is not depth first as `dalembert:` elements. Loops
and couplings are those of URDF+, and beyond it elements of our namespace.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.errors import ModelError
from dalembert.importers.urdf import ORDER
from dalembert.importers.urdf_transmissions import motor_lines
from dalembert.importers.write import (
    Placed,
    body_of,
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
from dalembert.model.joint import JOINT_KINDS, Free
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
    elements = model.elements
    sprung = {s.body for s in elements.springs} | {d.body for d in elements.drags}
    unsupported = {
        "tendons": bool(elements.tendons),
        "lifted weights": bool(elements.lifts),
        "springs of free joints": any(model.bodies[i].chart.nq > 1 for i in sprung),
        "armature of free joints": bool(elements.ballasts),
        "fluid": bool(elements.submerged),
    }
    lacking = [kind for kind, is_present in unsupported.items() if is_present]
    if lacking:
        raise ModelError(f"{model.name}: URDF has no {', '.join(lacking)}; try to_mjcf")
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
    for name, at, pose in frames:
        if name != root:
            parent = placed[at].name if at >= 0 else root
            lines += _fixed(name, unique(f"{name}_fixed", taken), parent, pose)
    lines += [*motor_lines(model), *loop_lines(model, placed, equalities, root)]
    return "\n".join([*lines, "</robot>", ""])


def _is_depth_first(model: Model) -> bool:
    """Whether a depth-first reader of the URDF gets the coordinates in their order."""
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
        pose = np.array_equal(frame.rotation, np.eye(3)) and not np.any(frame.translation)
        if frame.body < 0 and pose and name != model.tool:
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
        info, ratio = item.info, model.followers.get(item.joint)
        limits = (info.lower[item.number], info.upper[item.number])
        lower, upper = np.clip(limits, -UNLIMITED, UNLIMITED)
        effort, velocity = (min(x, UNLIMITED) for x in (info.effort_limit, info.velocity_limit))
        position = f'lower="{numbers([lower])}" upper="{numbers([upper])}"'
        rate = f'effort="{numbers([effort])}" velocity="{numbers([velocity])}"'
        lines.append(f"    <limit {position} {rate}/>")
        lines += _dynamics(model, body)
        if ratio is not None:
            line = f'multiplier="{numbers([ratio.multiplier])}" offset="{numbers([ratio.offset])}"'
            lines.append(f"    <mimic joint={xml_attribute(ratio.leader)} {line}/>")
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


def _dynamics(model: Model, body: Body) -> list[str]:
    drive, v = model.drive, body.v.start
    viscous, (positive, negative) = float(drive.viscous[v]), friction_of(model, v)
    own = ""  # spring and drag of the joint, in our namespace
    for spring in model.elements.springs:
        if model.bodies[spring.body] is body:
            own += f' dalembert:stiffness="{numbers(spring.stiffness)}"'
            own += f' dalembert:rest="{numbers(spring.rest)}"'
    for drag in model.elements.drags:
        if model.bodies[drag.body] is body:
            own += f' dalembert:drag="{numbers(drag.coefficients)}"'
    if viscous == positive == negative == 0.0 and not own:
        return []
    text = f'    <dynamics damping="{numbers([viscous])}" friction="{numbers([positive])}"'
    if negative != -positive:
        text += f' dalembert:friction_negative="{numbers([negative])}"'
    return [f"{text}{own}/>"]


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


def _fixed(name: str, joint: str, parent: str, pose: np.ndarray) -> list[str]:
    return [
        f"  <link name={xml_attribute(name)}/>",
        f'  <joint name={xml_attribute(joint)} type="fixed">',
        f"    <parent link={xml_attribute(parent)}/><child link={xml_attribute(name)}/>",
        f"    {origin_element(pose)}",
        "  </joint>",
    ]


# the types of URDF+, and "spherical" as Isaac Sim calls a point; a hinge without limits
TYPES = {kind.loop: kind.urdf[-1] for kind in JOINT_KINDS.values() if kind.urdf and kind.loop}


def loop_lines(
    model: Model, placed: Sequence[Placed], equalities: Sequence[Equality], root: str
) -> list[str]:
    """The lines of all equalities; `root` is the link that stands for the world."""
    lines: list[str] = []
    for equality in equalities:
        if equality.kind == "tendon":
            raise ModelError(f"constraint {equality.name!r}: URDF has no tendons; try to_mjcf")
        if equality.kind == "joint":
            lines.append(_coupling(model, placed, equality))
        else:
            lines += _frames(equality, root)
    return lines


def _frames(equality: Equality, root: str) -> list[str]:
    name = xml_attribute(equality.name)
    if equality.kind == "distance":
        assert equality.length is not None
        head = f'dalembert:distance name={name} length="{numbers([equality.length])}"'
    elif isinstance(equality.directions, str) and equality.directions in TYPES:
        head = f'loop name={name} type="{TYPES[equality.directions]}"'
    else:
        directions = equality.directions
        words = directions if isinstance(directions, str) else " ".join(directions)
        head = f"loop name={name} dalembert:directions={xml_attribute(words)}"
    axis = ['    <axis xyz="0 0 1"/>'] if "type=" in head else []
    ends = (
        ("predecessor", equality.first, equality.pose_first),
        ("successor", equality.second, equality.pose_second),
    )
    lines = []
    for tag, link, pose in ends:
        name = xml_attribute(root if link is None else link)
        origin = origin_element(np.eye(4) if pose is None else np.array(pose))
        lines.append(f"    <{tag} link={name}>{origin}</{tag}>")
    return [f"  <{head}>", *lines, *axis, f"  </{head.split()[0]}>"]


def _coupling(model: Model, placed: Sequence[Placed], equality: Equality) -> str:
    """URDF+'s coupling for one ratio of two joints on one link, else a polynomial and terms."""
    bodies = [
        body_of(model, name, "a URDF")
        for name in (equality.first, equality.second)
        if name is not None
    ]
    name, terms = xml_attribute(equality.name), equality.polynomial
    siblings = len(bodies) == 2 and model.bodies[bodies[0]].parent == model.bodies[bodies[1]].parent
    siblings = siblings and not equality.factors
    if siblings and len(terms) == 2 and terms[0] == 0.0:
        follower, leader = (xml_attribute(placed[i].name) for i in bodies)
        ends = f"<predecessor link={leader}/><successor link={follower}/>"
        ratio = f'<ratio value="{numbers([terms[1]])}"/>'
        return f"  <coupling name={name}>{ends}{ratio}</coupling>"
    joints = [xml_attribute(placed[i].joint) for i in bodies]
    leader = f" leader={joints[1]}" if len(joints) == 2 else ""
    polynomial = f'polynomial="{numbers(terms)}"'
    head = f"dalembert:coupling name={name} follower={joints[0]}{leader} {polynomial}"
    if not equality.factors:
        return f"  <{head}/>"
    terms_text = "".join(
        f"<term joint={xml_attribute(placed[body_of(model, joint, 'a URDF')].joint)}"
        f' factor="{numbers([factor])}"/>'
        for joint, factor in equality.factors
    )
    return f"  <{head}>{terms_text}</dalembert:coupling>"
