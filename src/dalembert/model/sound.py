"""Whether data that claim to be a model are one: the tree, the coordinates, every array's shape.

The builder makes sound models; this is for models that come from somewhere else, stored runs say.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import ModelError
from dalembert.model.actuators import Actuation, Actuator
from dalembert.model.body import Body, Fixed
from dalembert.model.check import label, mapping, numbers
from dalembert.model.coupling import CoupledModel, Follow
from dalembert.model.elements import (
    Anchor,
    Ballast,
    Drag,
    Elements,
    Lift,
    Segment,
    Spring,
    Submerged,
    Tendon,
    Wrap,
)
from dalembert.model.joint import Ball, Free, Screw
from dalembert.model.model import Drive, Frame, JointInfo, Model

_SIZES = {Screw: (1, 1), Ball: (4, 3), Free: (7, 6)}


def require_sound(model: Model | CoupledModel) -> None:
    """An error that says what is no part of a mechanism."""
    tree: Any = model.tree
    _require(isinstance(tree, Model) and _all(tree.bodies, Body) and bool(tree.bodies), "bodies")
    nq = nv = 0
    for i, body in enumerate(tree.bodies):
        label(body.name, "a body")
        _require(type(body.parent) is int and -1 <= body.parent < i, f"parent of {body.name!r}")
        sizes = body.chart.nq, body.chart.nv
        whole = all(type(size) is int for size in sizes)  # True equals 1 and is no size
        _require(whole and _SIZES.get(type(body.chart)) == sizes, "a chart")
        ends = slice(nq, nq + body.chart.nq), slice(nv, nv + body.chart.nv)
        _require((body.q, body.v) == ends, f"coordinates of {body.name!r}")
        nq, nv = ends[0].stop, ends[1].stop
        _require_body(body)
    _require_frames(tree)
    _require_joints(tree, tree.joints)
    _require(isinstance(tree.drive, Drive) and not tree.parameters, "the drives")
    for name, values in vars(tree.drive).items():
        numbers(values, (nv,), f"{name} of the drives")
    numbers(tree.gravity, (3,), "gravity")
    _require_actuators(tree)
    _require_elements(tree)
    _require_fixed(tree.fixed)
    if isinstance(model, CoupledModel):
        _require_joints(tree, model.joints)
        _require(_all(list(mapping(model.followers, "followers").values()), Follow), "followers")
        for what, size, values in (("G_q", nq, model.G_q), ("G", nv, model.G)):
            numbers(values, (size, model.nq if what == "G_q" else model.nv), what)
        numbers(model.offset, (nq,), "offset")


def _require_body(body: Body) -> None:
    shapes = {"rotation": (3, 3), "translation": (3,), "offset": (body.chart.nq,), "mass": ()}
    for key, shape in {**shapes, "moment": (3,), "inertia": (3, 3)}.items():
        numbers(getattr(body, key), shape, f"{key} of {body.name!r}")
    if isinstance(body.chart, Screw):
        numbers([body.chart.turn, body.chart.slide], (2,), f"the chart of {body.name!r}")
    _require_rotation(body.rotation, f"rotation of {body.name!r}")


def _require_fixed(fixed: Any) -> None:
    what = "what is fixed to the base"
    _require(isinstance(fixed, Fixed) and isinstance(fixed.elements, Elements), what)
    for key, shape in (("mass", ()), ("moment", (3,)), ("inertia", (3, 3))):
        numbers(getattr(fixed, key), shape, f"{key} of {what}")
    lifts, shapes = fixed.elements.lifts, fixed.elements.submerged
    _require(_all(lifts, Lift) and _all(shapes, Submerged), what)
    _require(not replace(fixed.elements, lifts=(), submerged=()), what)
    _require(all(type(x.body) is int and x.body == -1 for x in (*lifts, *shapes)), what)
    for lift in lifts:
        _require_lift(lift)
    for shape in shapes:
        _require_submerged(shape)


def _require_lift(lift: Lift) -> None:
    numbers(lift.mass, (), "mass of a lift")
    numbers(lift.moment, (3,), "moment of a lift")


def _require_frames(tree: Model) -> None:
    frames = mapping(tree.frames, "frames")
    _require(_all(list(frames.values()), Frame) and tree.tool in list(frames), "frames")
    for name, frame in frames.items():
        inside = type(frame.body) is int and -1 <= frame.body < len(tree.bodies)
        _require(inside, f"the body of frame {name!r}")
        numbers(frame.translation, (3,), f"frame {name!r}")
        _require_rotation(numbers(frame.rotation, (3, 3), f"frame {name!r}"), f"frame {name!r}")


def _require_actuators(tree: Model) -> None:
    held = tree.driven_by
    _require(type(held) is Actuation, "actuators")
    _require(_all(held.actuators, Actuator), "actuators")
    held.having(tree, held.actuators)
    for ranges in (held.joint_ranges, held.tendon_ranges):
        for name, pair in mapping(ranges, "ranges of actuators").items():
            _require(len(pair) == 2 and pair[0] <= pair[1], f"range of {name!r}")


def _require_joints(tree: Model, joints: Any) -> None:
    _require(_all(joints, JointInfo), "joints")
    for joint in joints:
        label(joint.name, "a joint")
        _require(isinstance(joint.kind, str) and joint.link in list(tree.frames), "a joint")
        _require(isinstance(joint.bodies, range) and len(joint.bodies) > 0, "bodies of a joint")
        _require(joint.bodies.start >= 0 and joint.bodies.stop <= len(tree.bodies), "a joint")
        _require(isinstance(joint.q, slice) and isinstance(joint.v, slice), "a joint")
        limits = np.array([*joint.lower, *joint.upper, joint.velocity_limit, joint.effort_limit])
        _require(limits.dtype.kind in "if" and not np.isnan(limits).any(), "limits of a joint")


def _require_elements(tree: Model) -> None:
    found: Any = tree.elements
    _require(isinstance(found, Elements), "the elements")
    kinds: dict[str, type] = {"springs": Spring, "drags": Drag, "lifts": Lift}
    kinds |= {"ballasts": Ballast, "submerged": Submerged, "tendons": Tendon}
    for name, kind in kinds.items():
        _require(_all(getattr(found, name), kind), name)
    bound = (*found.springs, *found.drags, *found.lifts, *found.ballasts, *found.submerged)
    for element in bound:
        _require_carrier(tree, element.body, least=0)
    for spring in found.springs:
        numbers(spring.rest, (tree.bodies[spring.body].chart.nq,), "rest of a spring")
        _series(spring.stiffness, "stiffness of a spring")
    for drag in found.drags:
        _series(drag.coefficients, "coefficients of a drag")
    for lift in found.lifts:
        _require_lift(lift)
    for ballast in found.ballasts:
        numbers(ballast.mass, (), "mass of a ballast")
        _require(isinstance(tree.bodies[ballast.body].chart, Free), "the joint of a ballast")
    for shape in found.submerged:
        _require_submerged(shape)
    for tendon in found.tendons:
        _require_tendon(tree, tendon)


def _require_submerged(shape: Submerged) -> None:
    what = "a body in a fluid"
    for key in ("center", "size", "wind"):
        numbers(getattr(shape, key), (3,), what)
    numbers([shape.density, shape.viscosity], (2,), what)
    _require_rotation(numbers(shape.rotation, (3, 3), what), what)
    numbers(shape.coefficients, (11 if len(shape.coefficients) else 0,), what)


def _require_tendon(tree: Model, tendon: Tendon) -> None:
    what = f"tendon {label(tendon.name, 'a tendon')!r}"
    numbers(tendon.coefficients, (len(tendon.joints),), what)
    numbers(tendon.rest, (2,), what)
    _series(tendon.stiffness, what)
    _series(tendon.damping, what)
    for body in tendon.joints:
        _require_carrier(tree, body, least=0)
        _require(tree.bodies[body].chart.nq == 1, what)
    _require(_all(tendon.segments, Segment), what)
    for segment in tendon.segments:
        _require_segment(tree, segment, what)


def _require_segment(tree: Model, segment: Any, what: str) -> None:
    numbers(segment.share, (), what)
    ends, around = [segment.start, segment.end], segment.around
    if around is not None:
        _require(isinstance(around, Wrap) and around.kind in ("sphere", "cylinder"), what)
        ends += [Anchor(around.body, around.center)]
        numbers(around.radius, (), what)
        numbers(around.side, (3 if len(around.side) else 0,), what)
        _require_rotation(numbers(around.rotation, (3, 3), what), what)
    for end in ends:
        _require(isinstance(end, Anchor), what)
        _require_carrier(tree, end.body, least=-1)
        numbers(end.point, (3,), what)


def _require_carrier(tree: Model, body: Any, least: int) -> None:
    _require(type(body) is int and least <= body < len(tree.bodies), "the body of an element")


def _series(values: Any, what: str) -> None:
    size = np.size(values)
    numbers(values, (size,), what)


def _require_rotation(value: Any, what: str) -> None:
    _require(bool(np.allclose(value @ np.transpose(value), np.eye(3), atol=1e-6)), what)


def _all(values: Any, kind: type) -> bool:
    return isinstance(values, tuple | list) and all(isinstance(x, kind) for x in values)


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ModelError(f"{what}: this is not a sound model")
