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
    tree: Any = model.tree
    _require(isinstance(tree, Model) and _all(tree.bodies, Body) and bool(tree.bodies), "bodies")
    nq = nv = 0
    for i, body in enumerate(tree.bodies):
        name = repr(label(body.name, "a body"))
        _require(type(body.parent) is int and -1 <= body.parent < i, f"parent of {name}")
        chart = body.chart
        sizes = chart.nq, chart.nv
        whole = all(type(size) is int for size in sizes)  # True equals 1 and is no size
        _require(whole and _SIZES.get(type(chart)) == sizes, "a chart")
        ends = slice(nq, nq + chart.nq), slice(nv, nv + chart.nv)
        _require((body.q, body.v) == ends, f"coordinates of {name}")
        nq, nv = ends[0].stop, ends[1].stop
        _require_numbers(body, name)
        numbers(body.offset, (chart.nq,), f"offset of {name}")
        if isinstance(chart, Screw):
            numbers([chart.turn, chart.slide], (2,), f"the chart of {name}")
    frames = mapping(tree.frames, "frames")
    _require(_all(list(frames.values()), Frame) and tree.tool in list(frames), "frames")
    for key, frame in frames.items():
        _require_carrier(tree, frame, f"frame {key!r}", least=-1)
    _require_joints(tree, tree.joints)
    _require(isinstance(tree.drive, Drive) and not tree.parameters, "the drives")
    for key, values in vars(tree.drive).items():
        numbers(values, (nv,), f"{key} of the drives")
    numbers(tree.gravity, (3,), "gravity")
    actuation = tree.driven_by
    _require(type(actuation) is Actuation and _all(actuation.actuators, Actuator), "actuators")
    actuation.with_actuators(tree, actuation.actuators)
    for ranges in (actuation.joint_ranges, actuation.tendon_ranges):
        for key, pair in mapping(ranges, "ranges of actuators").items():
            _require(len(pair) == 2 and pair[0] <= pair[1], f"range of {key!r}")
    _require_elements(tree)
    if isinstance(model, CoupledModel):
        _require_joints(tree, model.joints)
        _require(_all(list(mapping(model.followers, "followers").values()), Follow), "followers")
        numbers(model.G_q, (nq, model.nq), "G_q")
        numbers(model.G, (nv, model.nv), "G")
        numbers(model.offset, (nq,), "offset")


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
    """Check the elements of the bodies, and what is fixed to the base."""
    fixed: Any = tree.fixed
    for elements in (tree.elements, getattr(fixed, "elements", None)):
        _require(isinstance(elements, Elements), "the elements")
    kinds: dict[str, type] = {"springs": Spring, "drags": Drag, "lifts": Lift}
    kinds |= {"ballasts": Ballast, "submerged": Submerged, "tendons": Tendon}
    for key, kind in kinds.items():
        for elements in (tree.elements, fixed.elements):
            _require(_all(getattr(elements, key), kind), key)
        for element in getattr(tree.elements, key) if key != "tendons" else ():
            _require_carrier(tree, element, f"one of the {key}", least=0)
    for spring in tree.elements.springs:
        numbers(spring.rest, (tree.bodies[spring.body].chart.nq,), "rest of a spring")
    for ballast in tree.elements.ballasts:
        _require(isinstance(tree.bodies[ballast.body].chart, Free), "the joint of a ballast")
    what = "what is fixed to the base"
    _require_numbers(fixed, what)
    _require(not replace(fixed.elements, lifts=(), submerged=()), what)
    for element in (*fixed.elements.lifts, *fixed.elements.submerged):
        _require(type(element.body) is int and element.body == -1, what)
        _require_numbers(element, what)
    for shape in (*tree.elements.submerged, *fixed.elements.submerged):
        numbers(shape.coefficients, (11 if len(shape.coefficients) else 0,), "a body in a fluid")
    for tendon in tree.elements.tendons:
        what = f"tendon {label(tendon.name, 'a tendon')!r}"
        _require_numbers(tendon, what)
        numbers(tendon.coefficients, (len(tendon.joints),), what)
        numbers(tendon.armature, (1 if np.size(tendon.armature) else 0,), what)
        for body in tendon.joints:
            _require(type(body) is int and 0 <= body < len(tree.bodies), what)
            _require(tree.bodies[body].chart.nq == 1, what)
        _require(_all(tendon.segments, Segment), what)
        for segment in tendon.segments:
            _require_numbers(segment, what)
            _require(_all([segment.start, segment.end], Anchor), what)
            for end in (segment.start, segment.end):
                _require_carrier(tree, end, what, least=-1)
            around: Any = segment.around
            if around is not None:
                _require(isinstance(around, Wrap) and around.kind in ("sphere", "cylinder"), what)
                _require_carrier(tree, around, what, least=-1)
                numbers(around.side, (3 if len(around.side) else 0,), what)
                if around.beside is not None:
                    _require(isinstance(around.beside, Anchor), what)
                    _require_carrier(tree, around.beside, what, least=-1)


def _require_carrier(tree: Model, item: Any, what: str, least: int) -> None:
    """Check the body that an item belongs to, and its numbers."""
    _require(type(item.body) is int and least <= item.body < len(tree.bodies), f"body of {what}")
    _require_numbers(item, what)


def _require_numbers(item: Any, what: str) -> None:
    for key, shape in _SHAPES[type(item)].items():
        value = getattr(item, key)
        numbers(value, (np.size(value),) if shape is None else shape, f"{key} of {what}")
    if isinstance(item, _ROTATED):
        R = numbers(item.rotation, (3, 3), f"rotation of {what}")
        _require(bool(np.allclose(R @ R.T, np.eye(3), atol=1e-6)), f"rotation of {what}")


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
