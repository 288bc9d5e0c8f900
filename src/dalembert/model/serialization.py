"""A model as JSON text and back, every number to its last bit; and the checks of a model that was read.

Models of the builder are valid; `require_valid` is for those from elsewhere, such as stored runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from numbers import Real
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

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
# shapes of the numbers of each class; None: any number of them in a row
_SHAPES: dict[type, dict[str, tuple[int, ...] | None]] = {
    Body: {"translation": (3,), "mass": (), "moment": (3,), "inertia": (3, 3)},
    Fixed: {"mass": (), "moment": (3,), "inertia": (3, 3)},
    Frame: {"translation": (3,)},
    Spring: {"stiffness": None},
    Drag: {"coefficients": None},
    Lift: {"mass": (), "moment": (3,)},
    Ballast: {"mass": ()},
    Submerged: {"center": (3,), "size": (3,), "wind": (3,), "density": (), "viscosity": ()},
    Tendon: {"rest": (2,), "stiffness": None, "damping": None},
    Segment: {"share": ()},
    Wrap: {"center": (3,), "radius": ()},
    Anchor: {"point": (3,)},
}
_ROTATED = (Body, Frame, Submerged, Wrap)  # classes with a rotation (3, 3)


def require_valid(model: Model | CoupledModel) -> None:
    """Raise an error that names the part of a model that is not valid."""
    for item in _parts(model, type(model), "the model"):
        _require_numbers(item, f"a {type(item).__name__.lower()}")
        _require(-1 <= getattr(item, "body", -1) < len(model.bodies), "the body of an item")
    tree = model.tree
    nq = nv = 0
    for i, body in enumerate(tree.bodies):
        name, chart = repr(label(body.name, "a body")), body.chart
        _require(-1 <= body.parent < i, f"parent of {name}")
        _require(_SIZES.get(type(chart)) == (chart.nq, chart.nv), "a chart")
        ends = slice(nq, nq + chart.nq), slice(nv, nv + chart.nv)
        _require((body.q, body.v) == ends, f"coordinates of {name}")
        nq, nv = ends[0].stop, ends[1].stop
        numbers(body.offset, (chart.nq,), f"offset of {name}")
        if isinstance(chart, Screw):
            numbers([chart.turn, chart.slide], (2,), f"the chart of {name}")
    _require(bool(tree.bodies) and tree.tool in tree.frames, "bodies and frames")
    _require(not tree.parameters, "parameters")
    for key, values in vars(tree.drive).items():
        numbers(values, (nv,), f"{key} of the drives")
    numbers(tree.gravity, (3,), "gravity")
    actuation = tree.driven_by
    actuation.with_actuators(tree, actuation.actuators)
    for key, (low, high) in (*actuation.joint_ranges.items(), *actuation.tendon_ranges.items()):
        _require(low <= high, f"range of {key!r}")
    _require_elements(tree)
    for joint in (*tree.joints, *model.joints):
        label(joint.name, "a joint")
        _require(joint.link in tree.frames and len(joint.bodies) > 0, "a joint")
        _require(joint.bodies.start >= 0 and joint.bodies.stop <= len(tree.bodies), "a joint")
        limits = np.array([*joint.lower, *joint.upper, joint.velocity_limit, joint.effort_limit])
        _require(not np.isnan(limits).any(), "limits of a joint")
    if isinstance(model, CoupledModel):
        numbers(model.G_q, (nq, model.nq), "G_q")
        numbers(model.G, (nv, model.nv), "G")
        numbers(model.offset, (nq,), "offset")


def _require_elements(tree: Model) -> None:
    """Check the elements of the bodies, and what is fixed to the base."""
    own, fixed = tree.elements, tree.fixed.elements
    on_bodies: list[Any] = [*own.springs, *own.drags, *own.lifts, *own.ballasts, *own.submerged]
    _require(all(element.body >= 0 for element in on_bodies), "the body of an element")
    for spring in own.springs:
        numbers(spring.rest, (tree.bodies[spring.body].chart.nq,), "rest of a spring")
    for ballast in own.ballasts:
        _require(isinstance(tree.bodies[ballast.body].chart, Free), "the joint of a ballast")
    what = "what is fixed to the base"
    _require(not replace(fixed, lifts=(), submerged=()), what)
    on_base: list[Any] = [*fixed.lifts, *fixed.submerged]
    _require(all(element.body == -1 for element in on_base), what)
    for shape in (*own.submerged, *fixed.submerged):
        numbers(shape.coefficients, (11 if len(shape.coefficients) else 0,), "a body in a fluid")
    for tendon in own.tendons:
        what = f"tendon {label(tendon.name, 'a tendon')!r}"
        numbers(tendon.coefficients, (len(tendon.joints),), what)
        numbers(tendon.armature, (1 if np.size(tendon.armature) else 0,), what)
        for body in tendon.joints:
            _require(0 <= body < len(tree.bodies) and tree.bodies[body].chart.nq == 1, what)
        for around in (segment.around for segment in tendon.segments):
            if around is not None:
                _require(around.kind in ("sphere", "cylinder"), what)
                numbers(around.side, (3 if len(around.side) else 0,), what)


def _parts(value: Any, hint: Any, what: str) -> Iterator[Any]:
    """Every dataclass object in a value; what is not of the annotated type is an error."""
    origin, of = get_origin(hint), get_args(hint)
    if origin is UnionType:  # a class or None
        if value is not None:
            yield from _parts(value, of[0], what)
    elif origin is tuple:
        _require(isinstance(value, tuple), what)
        _require(of[-1] is Ellipsis or len(value) == len(of), what)
        for item in value:
            yield from _parts(item, of[0], what)
    elif origin is Mapping:
        for item in mapping(value, what).values():
            yield from _parts(item, of[1], what)
    elif isinstance(hint, type) and is_dataclass(hint):
        _require(isinstance(value, hint), what)
        yield value
        hints = get_type_hints(type(value), localns=_CLASSES)
        for each in fields(value):
            yield from _parts(getattr(value, each.name), hints[each.name], each.name)
    elif hint is float:
        _require(isinstance(value, Real), what)
    elif hint is not Any:
        _require(type(value) is (origin or hint), what)


def _require_numbers(item: Any, what: str) -> None:
    for key, shape in _SHAPES.get(type(item), {}).items():
        value = getattr(item, key)
        numbers(value, (np.size(value),) if shape is None else shape, f"{key} of {what}")
    if isinstance(item, _ROTATED):
        R = numbers(item.rotation, (3, 3), f"rotation of {what}")
        _require(bool(np.allclose(R @ R.T, np.eye(3), atol=1e-6)), f"rotation of {what}")


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
