"""A model as JSON text and back, every number to its last bit; and the checks of a model that was read.

Models of the builder are valid; `require_valid` is for those from elsewhere, such as stored runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from dalembert.errors import ModelError
from dalembert.model.actuators import Actuation, Actuator
from dalembert.model.body import Body, Fixed
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
from dalembert.model.validation import label, mapping, numbers

_SIZES = {Screw: (1, 1), Ball: (4, 3), Free: (7, 6)}


def require_valid(model: Model | CoupledModel) -> None:
    """Raise an error that names the part of a model that is not valid."""
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
    frames = mapping(tree.frames, "frames")
    _require(_all(list(frames.values()), Frame) and tree.tool in list(frames), "frames")
    for name, frame in frames.items():
        inside = type(frame.body) is int and -1 <= frame.body < len(tree.bodies)
        _require(inside, f"the body of frame {name!r}")
        numbers(frame.translation, (3,), f"frame {name!r}")
        _require_rotation(numbers(frame.rotation, (3, 3), f"frame {name!r}"), f"frame {name!r}")
    _require_joints(tree, tree.joints)
    _require(isinstance(tree.drive, Drive) and not tree.parameters, "the drives")
    for name, values in vars(tree.drive).items():
        numbers(values, (nv,), f"{name} of the drives")
    numbers(tree.gravity, (3,), "gravity")
    actuation = tree.driven_by
    _require(type(actuation) is Actuation and _all(actuation.actuators, Actuator), "actuators")
    actuation.with_actuators(tree, actuation.actuators)
    for ranges in (actuation.joint_ranges, actuation.tendon_ranges):
        for name, pair in mapping(ranges, "ranges of actuators").items():
            _require(len(pair) == 2 and pair[0] <= pair[1], f"range of {name!r}")
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
    elements: Any = tree.elements
    _require(isinstance(elements, Elements), "the elements")
    kinds: dict[str, type] = {"springs": Spring, "drags": Drag, "lifts": Lift}
    kinds |= {"ballasts": Ballast, "submerged": Submerged, "tendons": Tendon}
    for name, kind in kinds.items():
        _require(_all(getattr(elements, name), kind), name)
    bound = (
        *elements.springs,
        *elements.drags,
        *elements.lifts,
        *elements.ballasts,
        *elements.submerged,
    )
    for element in bound:
        _require_carrier(tree, element.body, least=0)
    for spring in elements.springs:
        numbers(spring.rest, (tree.bodies[spring.body].chart.nq,), "rest of a spring")
        numbers(spring.stiffness, (np.size(spring.stiffness),), "stiffness of a spring")
    for drag in elements.drags:
        numbers(drag.coefficients, (np.size(drag.coefficients),), "coefficients of a drag")
    for lift in elements.lifts:
        _require_lift(lift)
    for ballast in elements.ballasts:
        numbers(ballast.mass, (), "mass of a ballast")
        _require(isinstance(tree.bodies[ballast.body].chart, Free), "the joint of a ballast")
    for shape in elements.submerged:
        _require_submerged(shape)
    for tendon in elements.tendons:
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
    for series in (tendon.stiffness, tendon.damping):
        numbers(series, (np.size(series),), what)
    numbers(tendon.armature, (1 if np.size(tendon.armature) else 0,), what)
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
        ends += [around.beside] if around.beside is not None else []
        _require_rotation(numbers(around.rotation, (3, 3), what), what)
    for end in ends:
        _require(isinstance(end, Anchor), what)
        _require_carrier(tree, end.body, least=-1)
        numbers(end.point, (3,), what)


def _require_carrier(tree: Model, body: Any, least: int) -> None:
    _require(type(body) is int and least <= body < len(tree.bodies), "the body of an element")


def _require_rotation(value: Any, what: str) -> None:
    _require(bool(np.allclose(value @ np.transpose(value), np.eye(3), atol=1e-6)), what)


def _all(values: Any, kind: type) -> bool:
    return isinstance(values, tuple | list) and all(isinstance(x, kind) for x in values)


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ModelError(f"{what}: this is not a valid model")


_CLASSES = {
    cls.__name__: cls
    for cls in (
        *(Model, CoupledModel, Body, Fixed, Screw, Ball, Free, JointInfo, Frame, Drive, Follow),
        *(Actuation, Actuator),
        *(Elements, Spring, Drag, Lift, Ballast, Submerged, Tendon, Segment, Anchor, Wrap),
    )
}
_NOT_STORED = ("notes",)
_INVALID_DATA = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
MAX_CHARACTERS = 4_000_000


@lru_cache(maxsize=32)
def model_text(model: Model | CoupledModel) -> str:
    """The model as JSON; parameters must have been bound."""
    if model.parameters:
        raise ModelError(f"{model.name}: parameters without numbers cannot be stored as text")
    return json.dumps(_encoded(model), separators=(",", ":"))


def model_from_text(text: str) -> Model | CoupledModel:
    """The model again; text that is none is an error."""
    try:
        if len(text) > MAX_CHARACTERS:
            raise ValueError("it is too long")
        model = _decoded(json.loads(text))
        if not isinstance(model, Model | CoupledModel):
            raise ValueError("it is something else")
        require_valid(model)
        return model
    except (*_INVALID_DATA, RecursionError) as error:
        raise ModelError(f"this is not the text of a model: {error}") from None


def _encoded(value: Any) -> Any:
    if is_dataclass(value):
        names = [f.name for f in fields(value) if f.init and f.name not in _NOT_STORED]
        return {"class": type(value).__name__, **{k: _encoded(getattr(value, k)) for k in names}}
    if isinstance(value, np.ndarray):
        return {"class": "array", "shape": value.shape, "values": value.ravel().tolist()}
    if isinstance(value, slice | range):
        return {"class": type(value).__name__, "ends": [value.start, value.stop]}
    if isinstance(value, Mapping):
        return {"class": "map", "items": [[k, _encoded(x)] for k, x in value.items()]}
    if isinstance(value, tuple | list):
        return [_encoded(x) for x in value]
    return value.item() if isinstance(value, np.generic) else value


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_decoded(x) for x in value)
    if not isinstance(value, dict):
        return value
    data = {k: x for k, x in value.items() if k != "class"}
    kind = value["class"]
    if kind == "array":
        return np.array(data["values"], dtype=float).reshape(data["shape"])
    if kind == "map":
        return {str(k): _decoded(x) for k, x in data["items"]}
    if kind in ("slice", "range"):
        return {"slice": slice, "range": range}[kind](*map(int, data["ends"]))
    return _CLASSES[kind](**{k: _decoded(x) for k, x in data.items()})
