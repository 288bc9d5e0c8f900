"""The quantities of a contact, for the catalogue of a constrained system."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dalembert.constraints import contact, friction
from dalembert.formulations.registry import Formulation, Quantity, Size


def _of_contact(
    name: str,
    summary: str,
    inputs: tuple[str, ...],
    outputs: dict[str, tuple[Size, ...]],
    function: Callable[..., Any],
    citation: str = "Montana 1988; 000 p.76",
) -> Quantity:
    """A quantity of the contact that is named as its `constraint`."""
    way = (Formulation("direct", function, citation, summary),)
    return Quantity(name, summary, inputs, outputs, way, ("t",), ("constraint",))


CONTACT = (
    _of_contact(
        "contact_coordinates",
        "η = (α_o, α_f, ψ) of a contact",
        ("q",),
        {"eta": (5,)},
        contact.coordinates,
    ),
    _of_contact(
        "contact_jacobian",
        "the matrix of η̇ = J q̇",
        ("q",),
        {"J": (5, "nv")},
        contact.jacobian,
    ),
    _of_contact(
        "contact_rates",
        "η̇ of a contact",
        ("q", "qd"),
        {"eta_dot": (5,)},
        contact.rates,
    ),
    _of_contact(
        "contact_twist",
        "V_{l_o l_f}: slip, approach, rolling velocity and spin of a contact",
        ("q", "qd"),
        {"V": (6,)},
        contact.twist,
    ),
    _of_contact(
        "contact_friction",
        "friction of a contact on its finger, force and moment at the contact point",
        ("q", "qd", "lam"),
        {"F": (6,)},
        friction.wrench,
        "Coulomb's law; Howe and Cutkosky 1996",
    ),
)
