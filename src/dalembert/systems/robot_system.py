"""A robot seen as a system: names of its coordinates, and its friction as a force."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dalembert.formulations import Formulation, Quantity
from dalembert.formulations.parts.drive import friction
from dalembert.model import Model


def generalized_forces(model: Model, q: Any, qd: Any) -> Any:
    """ψ (nv,) = −friction: with it, M q̈ + h = τ + ψ holds for a robot as for any system."""
    if model.coupling is None:
        return -friction(model, qd)
    G = model.coupling.G  # joints that follow others rub too: τ = Gᵀ τ_tree
    return -(G.T @ friction(model.tree, G @ qd))


_FORCES = Quantity(
    "generalized_forces",
    "forces without potential, on the side of τ",
    ("q", "qd"),
    {"psi": ("nv",)},
    (Formulation("drive", generalized_forces, "Craig 1986, §6.9", "minus the joints' friction"),),
)


def robot_quantity(catalogue: Callable[[str], Quantity], name: str) -> Quantity:
    """The quantity of a robot's catalogue, and the forces that act on any system."""
    return _FORCES if name == _FORCES.name else catalogue(name)


def coordinate_names(model: Model) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the coordinates (nq) and velocities (nv): the joint's, numbered if several."""

    def named(slices: list[slice]) -> tuple[str, ...]:
        found: list[str] = []
        for joint, own in zip(model.joints, slices, strict=True):
            count = own.stop - own.start
            one = count == 1
            found += [joint.name if one else f"{joint.name}[{k}]" for k in range(count)]
        return tuple(found)

    return named([joint.q for joint in model.joints]), named([joint.v for joint in model.joints])
