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
# the types of URDF+, and "spherical" as Isaac Sim calls a point; a hinge without limits
TYPES = {kind.loop: kind.urdf[-1] for kind in JOINT_KINDS.values() if kind.urdf and kind.loop}
NAMESPACES = 'xmlns:dalembert="urn:dalembert" xmlns:drake="https://drake.mit.edu"'


def urdf_from_model(model: Model, equalities: Sequence[Equality] = ()) -> str:
    """The text; joints that URDF does not have (ball, helical) are errors that name them.

    `equalities` are written as loops and couplings of URDF+.
    """
    model = model.bind(model.parameter_values())  # parameters at their defaults
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
    root = _root(model, placed)
    lines = [f"<robot name={xml_attribute(model.name)} {NAMESPACES}>"]
    lines += [f"  {line}" for line in comments(model)]
    if not np.array_equal(model.gravity, STANDARD_GRAVITY):
        lines.append(f'  <dalembert:gravity xyz="{numbers(model.gravity)}"/>')
    # a reader of the URDF gets the coordinates depth first: every body on the line of the last one
    lasts = zip(model.supports, model.bodies[1:], strict=False)
    if not all(body.parent in (-1, *line) for line, body in lasts):
        lines.append(f'  <{ORDER} by="document"/>')
    lines += _link(model.fixed, root, np.eye(4))
    for i, (body, item) in enumerate(zip(model.bodies, placed, strict=True)):
        lines += _link(body, item.name, item.frame)
        parent = placed[body.parent].name if body.parent >= 0 else root
        lines += _joint(model, placed, i, parent)
    taken = {item.joint for item in placed}
    for name, at, pose in other_frames(model, placed):
        if name != root:
            parent = placed[at].name if at >= 0 else root
            child, joint = xml_attribute(name), xml_attribute(unique(f"{name}_fixed", taken))
            lines += [
                f"  <link name={child}/>",
                f'  <joint name={joint} type="fixed">',
                f"    <parent link={xml_attribute(parent)}/><child link={child}/>",
                f"    {origin_element(pose)}",
                "  </joint>",
            ]
    lines += motor_lines(model)
    for equality in equalities:
        if equality.kind == "tendon":
            raise ModelError(f"constraint {equality.name!r}: URDF has no tendons; try to_mjcf")
        if equality.kind == "joint":
            lines.append(_coupling(model, placed, equality))
        else:
            lines += _loop(equality, root)
    return "\n".join([*lines, "</robot>", ""])


def _root(model: Model, placed: Sequence[Placed]) -> str:
    """The first frame that is the world itself, or a new name for it."""
    for name, frame in model.frames.items():
        is_world = np.array_equal(frame.rotation, np.eye(3)) and not np.any(frame.translation)
        if frame.body < 0 and is_world and name != model.tool:
            return name
    return unique("world", {*(item.name for item in placed), *model.frames})


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
    body, item, info = model.bodies[i], placed[i], placed[i].info
    limits = (info.lower[item.number], info.upper[item.number])
    kind = "floating" if isinstance(body.chart, Free) else screw_kind(body)
    if kind is None:
        raise ModelError(f"joint {item.joint!r}: URDF has no {info.kind} joint; try to_mjcf")
    if kind == "revolute" and not np.isfinite(limits).any():
        kind = "continuous"
    lines = [
        f"  <joint name={xml_attribute(item.joint)} type={xml_attribute(kind)}>",
        f"    <parent link={xml_attribute(parent)}/><child link={xml_attribute(item.name)}/>",
        f"    {origin_element(origin_of(model, placed, i))}",
    ]
    if kind != "floating":
        lines.append(f'    <axis xyz="{numbers(item.frame[2, :3])}"/>')
        ratio = model.followers.get(item.joint)
        lower, upper = np.clip(limits, -UNLIMITED, UNLIMITED)
        effort, velocity = (min(x, UNLIMITED) for x in (info.effort_limit, info.velocity_limit))
        position = f'lower="{numbers([lower])}" upper="{numbers([upper])}"'
        rate = f'effort="{numbers([effort])}" velocity="{numbers([velocity])}"'
        lines.append(f"    <limit {position} {rate}/>")
        lines += _dynamics(model, body)
        if ratio is not None:
            line = f'multiplier="{numbers([ratio.multiplier])}" offset="{numbers([ratio.offset])}"'
            lines.append(f"    <mimic joint={xml_attribute(ratio.leader)} {line}/>")
    lines.append("  </joint>")
    rotor = np.asarray(model.drive.rotor, float)[body.v]
    if rotor.any():
        if len(rotor) > 1:
            raise ModelError(f"joint {item.joint!r}: URDF cannot hold the rotor of a free joint")
        name, joint = xml_attribute(f"{item.joint}_transmission"), xml_attribute(item.joint)
        inertia = f'<drake:rotor_inertia value="{numbers(rotor)}"/>'
        lines += [
            f"  <transmission name={name}><joint name={joint}/><actuator name={name}>",
            f'    <drake:gear_ratio value="1.0"/>{inertia}',
            "  </actuator></transmission>",
        ]
    return lines


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


def _loop(equality: Equality, root: str) -> list[str]:
    """Two frames that are held; `root` is the link that stands for the world."""
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
    ends = [name for name in (equality.first, equality.second) if name is not None]
    bodies = [body_of(model, name, "a URDF") for name in ends]
    name, terms = xml_attribute(equality.name), equality.polynomial
    siblings = len(bodies) == 2 and model.bodies[bodies[0]].parent == model.bodies[bodies[1]].parent
    siblings = siblings and not equality.factors
    if siblings and len(terms) == 2 and terms[0] == 0.0:
        follower, leader = (xml_attribute(placed[i].name) for i in bodies)
        links = f"<predecessor link={leader}/><successor link={follower}/>"
        ratio = f'<ratio value="{numbers([terms[1]])}"/>'
        return f"  <coupling name={name}>{links}{ratio}</coupling>"
    joints = [xml_attribute(placed[i].joint) for i in bodies]
    leader = f" leader={joints[1]}" if len(joints) == 2 else ""
    polynomial = f'polynomial="{numbers(terms)}"'
    head = f"dalembert:coupling name={name} follower={joints[0]}{leader} {polynomial}"
    if not equality.factors:
        return f"  <{head}/>"
    further = ""
    for coordinate, factor in equality.factors:
        joint = xml_attribute(placed[body_of(model, coordinate, "a URDF")].joint)
        further += f'<term joint={joint} factor="{numbers([factor])}"/>'
    return f"  <{head}>{further}</dalembert:coupling>"
