"""All numbers of a model as one vector and back: how parameters are bound and models are hashed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any

import numpy as np

from dalembert import bridge
from dalembert.bridge import is_symbolic
from dalembert.model.actuators import Actuator
from dalembert.model.joint import Screw
from dalembert.model.model import Body, Drive, Model
from dalembert.model.parameter import Parameter, collect
from dalembert.spatial.arrays import Vector

_ACTUATOR = ("gear", "gain", "bias", "time_constant", "rod")
_BODY = ("rotation", "translation", "offset", "mass", "moment", "inertia")


def map_numbers(model: Model, function: Callable[[Any], Any]) -> Model:
    """The model with `function` applied to each of its arrays, always in the same order."""

    def body(b: Body) -> Body:
        changed = {name: function(getattr(b, name)) for name in _BODY}
        if isinstance(b.chart, Screw):
            turn, slide = function(b.chart.turn), function(b.chart.slide)
            changed["chart"] = replace(b.chart, turn=turn, slide=slide)
        return replace(b, **changed)

    def actuator(a: Actuator) -> Actuator:
        return replace(a, **{name: function(getattr(a, name)) for name in _ACTUATOR})

    driven = tuple(actuator(a) for a in model.driven_by.actuators)
    return replace(
        model,
        bodies=tuple(body(b) for b in model.bodies),
        frames={
            name: replace(f, rotation=function(f.rotation), translation=function(f.translation))
            for name, f in model.frames.items()
        },
        drive=Drive(*(function(getattr(model.drive, f.name)) for f in fields(Drive))),
        gravity=function(model.gravity),
        driven_by=replace(model.driven_by, actuators=driven),
        elements=model.elements.mapped(function),
    )


def flatten(model: Model) -> Vector:
    """One vector of all numbers of the model."""
    parts: list[Vector] = []

    def note(x: Any) -> Any:
        parts.append(x.ravel() if is_symbolic(x) else np.ravel(x))
        return x

    map_numbers(model, note)
    return np.concatenate(parts)


def unflatten(model: Model, flat: Vector) -> Model:
    """The model with its numbers taken from one vector; the inverse of `flatten`."""
    position = 0

    def take(like: Any) -> Any:
        nonlocal position
        shape = like.shape if is_symbolic(like) else np.shape(like)
        size = int(np.prod(shape))
        position += size
        return flat[position - size : position].reshape(shape)

    return map_numbers(model, take)


def evaluate(model: Model, values: Vector) -> Vector:
    """All numbers of a model for the parameter vector `values`, floats or symbols."""
    return _function(model)(values)[0]


def number_bytes(model: Model) -> bytes:
    """What the digest of a model is taken of."""
    if model.parameters:
        return _function(model).serialize().encode()
    return np.asarray(flatten(model), dtype=float).tobytes()


def freeze(model: Model) -> tuple[Any, ...]:
    """For pickle: plain data, with parameters as a function of their values."""
    plain = model
    numbers = None
    if model.parameters:
        numbers = _function(model)
        plain = model.bind(np.ones(len(model.parameters)))
    return _thaw, (plain.__getstate__(), dict(model.parameters), numbers)


def _thaw(
    state: dict[str, Any], parameters: dict[str, float | None], numbers: bridge.Function | None
) -> Model:
    model = Model(**state)
    if numbers is None:
        return model
    symbols = np.stack([Parameter(name, value).symbol() for name, value in parameters.items()])
    return replace(unflatten(model, numbers(symbols)[0]), parameters=parameters)


@lru_cache(
    maxsize=16
)  # a model is bound again and again: for every posture drawn, every value tried
def _function(model: Model) -> bridge.Function:
    """Parameter vector → all numbers of the model."""
    expressions = flatten(model)
    _, symbols = collect(expressions)
    vector = bridge.symbol("parameters", len(model.parameters))
    index = {name: i for i, name in enumerate(model.parameters)}
    values = [vector[index[bridge.name_of(symbol)]] for symbol in symbols]
    return bridge.Function([vector], bridge.at([expressions], symbols, values))
