"""Catalogue of actuators: there for models that have some, activations for those with dynamics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dalembert.formulations.inverse import required_efforts as required
from dalembert.formulations.kinematics import transmission
from dalembert.formulations.parts import actuators
from dalembert.formulations.registry import Formulation, Quantity, Size
from dalembert.model import CoupledModel, Model

SOURCE = "MuJoCo documentation, Actuation model"


def _quantity(
    name: str,
    summary: str,
    inputs: tuple[str, ...],
    outputs: Mapping[str, tuple[Size, ...]],
    function: Callable[..., Any],
    optional: tuple[str, ...] = (),
) -> Quantity:
    way = Formulation("direct", function, SOURCE, summary)
    return Quantity(name, summary, inputs, outputs, (way,), optional)


STATE = ("q", "qd", "u")
_DRIVEN = (
    _quantity(
        "transmission",
        "moment arms B of the actuators, τ = Bᵀf",
        ("q",),
        {"B": ("nu", "nv")},
        transmission.transmission,
    ),
    _quantity(
        "actuator_lengths",
        "lengths of the actuators",
        ("q",),
        {"l": ("nu",)},
        transmission.actuator_lengths,
    ),
    _quantity(
        "required_efforts",
        "forces of the actuators that give a motion",
        ("q", "qd", "qdd"),
        {"f": ("nu",)},
        required.required_efforts,
        ("effort_weights", "tip_wrench"),
    ),
    _quantity(
        "actuator_drivers",
        "controls or activations at which the actuators exert given forces",
        ("q", "qd", "efforts"),
        {"w": ("nu",)},
        required.drivers,
    ),
)
_FORCES = (
    ("actuator_forces", "what the actuators exert on the joints", "tau", "nv"),
    ("actuator_efforts", "force of each actuator along its length", "f", "nu"),
)


def _forces(optional: tuple[str, ...]) -> tuple[Quantity, ...]:
    return tuple(
        _quantity(name, summary, STATE, {out: (size,)}, getattr(actuators, name), optional)
        for name, summary, out, size in _FORCES
    )


_RATE = _quantity(
    "activation_rate",
    "rates of the activations",
    ("u", "activation"),
    {"rate": ("na",)},
    actuators.activation_rate,
)


def _named(*quantities: Quantity) -> dict[str, Quantity]:
    return {quantity.name: quantity for quantity in quantities}


_DIRECT = _named(*_DRIVEN, *_forces(()))
_WITH_STATE = _named(*_DRIVEN, *_forces(("activation",)), _RATE)


def of_actuators(model: Model | CoupledModel) -> Mapping[str, Quantity]:
    """Quantities of the actuators a model has."""
    if not model.driven_by.actuators:
        return {}
    return _WITH_STATE if model.driven_by.active else _DIRECT
