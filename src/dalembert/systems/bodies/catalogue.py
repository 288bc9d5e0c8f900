"""The catalogue of bodies in absolute coordinates: each quantity by the method of its name."""

from __future__ import annotations

from typing import Any

from dalembert.formulations.registry import Formulation, Quantity, Size

VECTOR, STATE = ("nv",), ("q", "qd")


def _quantity(
    name: str, summary: str, inputs: tuple[str, ...], outputs: dict[str, tuple[Size, ...]]
) -> Quantity:
    def function(bodies: Any, **given: Any) -> Any:
        return getattr(bodies, name)(*(given[key] for key in inputs))

    way = (Formulation("newton_euler", function, "Haug 1989, ch. 6 and 11", summary),)
    return Quantity(name, summary, inputs, outputs, way)


BODIES = {
    quantity.name: quantity
    for quantity in (
        _quantity("mass_matrix", "M, constant", ("q",), {"M": ("nv", "nv")}),
        _quantity("bias", "gyroscopic moments, weight and springs", STATE, {"h": VECTOR}),
        _quantity("generalized_forces", "ψ: dampers and loads", STATE, {"psi": VECTOR}),
        _quantity("forward_dynamics", "M⁻¹ (τ + ψ − h)", (*STATE, "tau"), {"qdd": VECTOR}),
        _quantity("kinetic_energy", "½ vᵀ M v", STATE, {"K": ()}),
        _quantity("potential_energy", "of weight and springs", ("q",), {"U": ()}),
        _quantity("integrate", "configuration after unit time", ("q", "step"), {"q": ("nq",)}),
        _quantity("difference", "step to another configuration", ("q", "to"), {"step": VECTOR}),
        _quantity("coriolis_matrix", "C, of ω × J ω", STATE, {"C": ("nv", "nv")}),
        _quantity("christoffel", "Γ of C, constant", ("q",), {"Gamma": ("nv", "nv", "nv")}),
        _quantity("inverse_dynamics", "M q̈ + h − ψ", (*STATE, "qdd"), {"tau": VECTOR}),
        _quantity("gravity_torque", "of weight and springs", ("q",), {"N": VECTOR}),
        _quantity("generalized_momentum", "M v", STATE, {"p": VECTOR}),
    )
}
