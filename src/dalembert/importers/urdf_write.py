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
    attributes,
    body_of,
    comments,
    friction_of,
    inertia_of,
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
    lines = [f"<robot{attributes(name=model.name)} {NAMESPACES}>"]
    lines += [f"  {line}" for line in comments(model)]
    if not np.array_equal(model.gravity, STANDARD_GRAVITY):
        lines.append(f"  <dalembert:gravity{attributes(xyz=model.gravity)}/>")
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
            joint = attributes(name=unique(f"{name}_fixed", taken), type="fixed")
            lines += [
                f"  <link{attributes(name=name)}/>",
                f"  <joint{joint}>",
                f"    <parent{attributes(link=parent)}/><child{attributes(link=name)}/>",
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
        return [f"  <link{attributes(name=name)}/>"]
    entries = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    tensor = {f"i{'xyz'[a]}{'xyz'[b]}": I[a, b] for a, b in entries}
    return [
        f"  <link{attributes(name=name)}>",
        f"    <inertial><origin{attributes(xyz=com)}/><mass{attributes(value=mass)}/>",
        f"      <inertia{attributes(**tensor)}/></inertial>",
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
        f"  <joint{attributes(name=item.joint, type=kind)}>",
        f"    <parent{attributes(link=parent)}/><child{attributes(link=item.name)}/>",
        f"    {origin_element(origin_of(model, placed, i))}",
    ]
    if kind != "floating":
        lower, upper = np.clip(limits, -UNLIMITED, UNLIMITED)
        effort, velocity = (min(x, UNLIMITED) for x in (info.effort_limit, info.velocity_limit))
        limit = attributes(lower=lower, upper=upper, effort=effort, velocity=velocity)
        lines += [f"    <axis{attributes(xyz=item.frame[2, :3])}/>", f"    <limit{limit}/>"]
        lines += _dynamics(model, body)
        follow = model.followers.get(item.joint)
        if follow is not None:
            mimic = {"joint": follow.leader, "multiplier": follow.multiplier}
            lines.append(f"    <mimic{attributes(**mimic, offset=follow.offset)}/>")
    lines.append("  </joint>")
    rotor = np.asarray(model.drive.rotor, float)[body.v]
    if rotor.any():
        if len(rotor) > 1:
            raise ModelError(f"joint {item.joint!r}: URDF cannot hold the rotor of a free joint")
        name, joint = attributes(name=f"{item.joint}_transmission"), attributes(name=item.joint)
        inertia = f"<drake:rotor_inertia{attributes(value=rotor)}/>"
        lines += [
            f"  <transmission{name}><joint{joint}/><actuator{name}>",
            f'    <drake:gear_ratio value="1.0"/>{inertia}',
            "  </actuator></transmission>",
        ]
    return lines


def _dynamics(model: Model, body: Body) -> list[str]:
    v = body.v.start
    viscous, (positive, negative) = float(model.drive.viscous[v]), friction_of(model, v)
    own = {}  # spring and drag of the joint, in our namespace
    for spring in model.elements.springs:
        if model.bodies[spring.body] is body:
            own = {"dalembert:stiffness": spring.stiffness, "dalembert:rest": spring.rest}
    for drag in model.elements.drags:
        if model.bodies[drag.body] is body:
            own["dalembert:drag"] = drag.coefficients
    if viscous == positive == negative == 0.0 and not own:
        return []
    uneven = {} if negative == -positive else {"dalembert:friction_negative": negative}
    return [f"    <dynamics{attributes(damping=viscous, friction=positive, **uneven, **own)}/>"]


def _loop(equality: Equality, root: str) -> list[str]:
    """Two frames that are held; `root` is the link that stands for the world."""
    kind = equality.directions
    more: dict[str, str | float | None]
    if equality.kind == "distance":
        tag, more = "dalembert:distance", {"length": equality.length}
    elif isinstance(kind, str) and kind in TYPES:
        tag, more = "loop", {"type": TYPES[kind]}
    else:
        words = kind if isinstance(kind, str) else " ".join(kind)
        tag, more = "loop", {"dalembert:directions": words}
    lines = [f"  <{tag}{attributes(name=equality.name, **more)}>"]
    ends = (
        ("predecessor", equality.first, equality.pose_first),
        ("successor", equality.second, equality.pose_second),
    )
    for end, link, pose in ends:
        origin = origin_element(np.eye(4) if pose is None else np.array(pose))
        lines.append(
            f"    <{end}{attributes(link=root if link is None else link)}>{origin}</{end}>"
        )
    axis = ['    <axis xyz="0 0 1"/>'] if "type" in more else []
    return [*lines, *axis, f"  </{tag}>"]


def _coupling(model: Model, placed: Sequence[Placed], equality: Equality) -> str:
    """URDF+'s coupling for one ratio of two joints on one link, else a polynomial and terms."""
    ends = [name for name in (equality.first, equality.second) if name is not None]
    bodies = [body_of(model, name, "a URDF") for name in ends]
    name, terms = attributes(name=equality.name), equality.polynomial
    siblings = len(bodies) == 2 and model.bodies[bodies[0]].parent == model.bodies[bodies[1]].parent
    if siblings and not equality.factors and len(terms) == 2 and terms[0] == 0.0:
        follower, leader = (attributes(link=placed[i].name) for i in bodies)
        links = f"<predecessor{leader}/><successor{follower}/>"
        return f"  <coupling{name}>{links}<ratio{attributes(value=terms[1])}/></coupling>"
    joints = dict(zip(("follower", "leader"), (placed[i].joint for i in bodies), strict=False))
    head = f"dalembert:coupling{name}{attributes(**joints, polynomial=terms)}"
    if not equality.factors:
        return f"  <{head}/>"
    further = ""
    for coordinate, factor in equality.factors:
        joint = placed[body_of(model, coordinate, "a URDF")].joint
        further += f"<term{attributes(joint=joint, factor=factor)}/>"
    return f"  <{head}>{further}</dalembert:coupling>"
