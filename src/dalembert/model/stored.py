"""A model as text that a result can carry, and back: every number to its last bit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
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
from dalembert.model.sound import require_sound

_CLASSES = {
    made.__name__: made
    for made in (
        *(Model, CoupledModel, Body, Fixed, Screw, Ball, Free, JointInfo, Frame, Drive, Follow),
        *(Actuation, Actuator),
        *(Elements, Spring, Drag, Lift, Ballast, Submerged, Tendon, Segment, Anchor, Wrap),
    )
}
_LEFT_OUT = ("notes",)  # what its file had left to say
_WRONG = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)  # data of any kind
MOST = 4_000_000  # characters that are read


@lru_cache(maxsize=32)
def model_text(model: Model | CoupledModel) -> str:
    """The model as JSON; parameters must have been bound."""
    if model.parameters:
        raise ModelError(f"{model.name}: parameters without numbers cannot be stored as text")
    return json.dumps(_plain(model), separators=(",", ":"))


def model_from_text(text: str) -> Model | CoupledModel:
    """The model again; text that is none is an error."""
    try:
        if len(text) > MOST:
            raise ValueError("it is too long")
        model = _made(json.loads(text))
        if not isinstance(model, Model | CoupledModel):
            raise ValueError("it is something else")
        require_sound(model)
        return model
    except (*_WRONG, RecursionError) as error:
        raise ModelError(f"this is not the text of a model: {error}") from None


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        kept = [f.name for f in fields(value) if f.init and f.name not in _LEFT_OUT]
        return {"class": type(value).__name__, **{k: _plain(getattr(value, k)) for k in kept}}
    if isinstance(value, np.ndarray):
        return {"class": "array", "shape": value.shape, "values": value.ravel().tolist()}
    if isinstance(value, slice | range):
        return {"class": type(value).__name__, "ends": [value.start, value.stop]}
    if isinstance(value, Mapping):
        return {"class": "map", "items": [[k, _plain(x)] for k, x in value.items()]}
    if isinstance(value, tuple | list):
        return [_plain(x) for x in value]
    return value.item() if isinstance(value, np.generic) else value


def _made(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_made(x) for x in value)
    if not isinstance(value, dict):
        return value
    given = {k: x for k, x in value.items() if k != "class"}
    kind = value["class"]
    if kind == "array":
        return np.array(given["values"], dtype=float).reshape(given["shape"])
    if kind == "map":
        return {str(k): _made(x) for k, x in given["items"]}
    if kind in ("slice", "range"):
        return {"slice": slice, "range": range}[kind](*map(int, given["ends"]))
    return _CLASSES[kind](**{k: _made(x) for k, x in given.items()})
