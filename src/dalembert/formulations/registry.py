"""The data structures of the catalogue: quantities, formulations, sizes and layouts.

A `Quantity` names its inputs and outputs with symbolic sizes; a `Formulation` is a function
(model, **inputs) → array. An entry of the catalogue takes part in comparisons, counts, commands and
pages.

`out_layout="packed"` returns matrices as their entries without zeros. M of a humanoid has a thousand
entries, of which a quarter differ, and half of the derivatives of its torques are zeros; writing all
of them takes longer than computing them. M is given by its entries on and below the diagonal,
derivatives by all entries that are not zero between branches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import DalembertError, ShapeError, UnknownNameError
from dalembert.model import Model
from dalembert.model.topology import NONZERO_ENTRIES, derivative_entries, mass_entries
from dalembert.references import with_titles
from dalembert.text import suggest as suggest  # also for modules that look up quantities here

Size = str | int  # "nq", "nv", "joints" or a number
SIZES: Mapping[str, Callable[[Model], int]] = {
    "nq": lambda model: model.nq,
    "nv": lambda model: model.nv,
    "joints": lambda model: len(model.joints),
    "pairs": lambda model: model.nv * (model.nv - 1) // 2,
    "inertial": lambda model: 10 * len(model.bodies),
    "stacked": lambda model: 6 * len(model.bodies),
    "nu": lambda model: len(model.driven_by.actuators),
    "na": lambda model: len(model.driven_by.active),
    "tendons": lambda model: len(model.tendons),
    "packed": lambda model: len(mass_entries(model)[0]),
    "packed_slopes": lambda model: len(derivative_entries(model)[0]),
}
INPUTS: Mapping[str, tuple[Size, ...]] = {
    "q": ("nq",),
    "qd": ("nv",),
    "qdd": ("nv",),
    "p": ("nv",),
    "tau": ("nv",),
    "tip_wrench": (6,),
    "base_twist": (6,),
    "base_acceleration": (6,),
    "step": ("nv",),
    "to": ("nq",),
    "u": ("nu",),
    "activation": ("na",),
    "efforts": ("nu",),
    "effort_weights": ("nu",),
    "T": (4, 4),
}


@dataclass(frozen=True)
class Formulation:
    """One algorithm for a quantity; its `citation` is written with numbers of `sources`.

    `implementation` is its function, or the function's place below this package, such as
    "inverse.craig.inverse_dynamics", imported at its first use.
    """

    name: str
    implementation: Callable[..., Any] | str
    citation: str
    summary: str
    inverts_mass: bool = True  # where its quantity does: False for one that treats a singular M too

    def __post_init__(self) -> None:
        object.__setattr__(self, "citation", with_titles(self.citation))

    @cached_property
    def function(self) -> Callable[..., Any]:
        """(model, **inputs) → array."""
        if not isinstance(self.implementation, str):
            return self.implementation
        module, _, name = self.implementation.rpartition(".")
        function: Callable[..., Any] = getattr(
            import_module(f"dalembert.formulations.{module}"), name
        )
        return function

    def takes(self, choice: str) -> bool:
        """Whether its function has an argument of this name, or takes any."""
        arguments = signature(self.function).parameters.values()
        return any(a.name == choice or a.kind is a.VAR_KEYWORD for a in arguments)


@dataclass(frozen=True)
class Quantity:
    """Something computable: inputs by name, optional inputs, static choices, outputs by shape."""

    name: str
    summary: str
    inputs: tuple[str, ...]
    outputs: Mapping[str, tuple[Size, ...]]
    formulations: tuple[Formulation, ...]
    optional: tuple[str, ...] = ()
    static: tuple[str, ...] = ()
    inverts_mass: bool = False  # its value does not exist where M(q) is singular
    free_only: bool = False  # constraints would change it
    best: Callable[[Any], str] | None = None  # the fastest formulation for a description
    # (dynamics, choices) → the same with the sizes that static choices decide
    sized: Callable[[Any, Mapping[str, Any]], Quantity] | None = None

    def formulation(self, name: str | None, description: Any = None) -> Formulation:
        """The formulation of that name; None is the fastest for the description, or else the first."""
        if name is None:
            if self.best is None or description is None:
                return self.formulations[0]
            name = self.best(description)
        names = [f.name for f in self.formulations]
        if not isinstance(name, str):
            raise UnknownNameError(
                f"{self.name}: expected the name of a formulation ({', '.join(names)}), got "
                f"{type(name).__name__}; pass further arguments by keyword, as in parameters=…"
            )
        if name in names:
            return self.formulations[names.index(name)]
        raise UnknownNameError(f"{self.name} has no formulation {name!r}{suggest(name, names)}")


def shape(model: Model, sizes: tuple[Size, ...]) -> tuple[int, ...]:
    """Numbers for symbolic sizes."""
    return tuple(SIZES[size](model) if isinstance(size, str) else size for size in sizes)


LAYOUTS = ("dense", "packed")
_DERIVATIVES = {"dtau_dq": "packed_slopes", "dtau_dqd": "packed_slopes", "M": "packed"}
PACKED = {"mass_matrix": {"M": "packed"}, "inverse_dynamics_derivatives": _DERIVATIVES}


def with_layout(quantity: Quantity, layout: object) -> Quantity:
    """The quantity with its result in this layout, which its formulations take as a choice."""
    if layout not in LAYOUTS:
        raise UnknownNameError(f"out_layout={layout!r} is unknown{suggest(layout, LAYOUTS)}")
    if layout == "dense":
        return quantity
    sizes = PACKED.get(quantity.name)
    if sizes is None:
        raise DalembertError(
            f"{quantity.name} has no out_layout {layout!r}: only {' and '.join(PACKED)} have zeros "
            "between branches"
        )
    return replace(
        quantity,
        summary=f"{quantity.summary}, their entries without zeros",
        outputs={name: (size,) for name, size in sizes.items()},
        formulations=tuple(_packed(each, list(sizes.values())) for each in quantity.formulations),
        static=(*quantity.static, "out_layout"),
    )


def _packed(formulation: Formulation, sizes: list[str]) -> Formulation:
    """The formulation with packed matrices."""
    dense: Callable[..., Any] = formulation.function

    def packed(description: Any, *, out_layout: str, **inputs: Any) -> Any:
        result = dense(description, **inputs)
        matrices = result if isinstance(result, tuple) else (result,)
        entries = tuple(
            np.stack([A[i, j] for i, j in zip(*NONZERO_ENTRIES[size](description), strict=True)])
            for A, size in zip(matrices, sizes, strict=True)
        )
        return entries if isinstance(result, tuple) else entries[0]

    return replace(formulation, implementation=packed)


def packed_entries(description: Any, quantity: Quantity) -> tuple[np.ndarray, np.ndarray]:
    """(rows, columns) of the first result of a quantity that can be packed."""
    (size,) = next(iter(with_layout(quantity, "packed").outputs.values()))
    return NONZERO_ENTRIES[str(size)](description)


def unpacked(description: Any, quantity: Quantity, values: ArrayLike) -> np.ndarray:
    """The matrix (..., nv, nv) of packed entries (..., n); M is full and symmetric."""
    values = np.asarray(values)
    rows, columns = packed_entries(description, quantity)
    if values.shape[-1:] != (len(rows),):
        raise ShapeError(
            f"{next(iter(quantity.outputs))}: expected packed entries of shape "
            f"(..., {len(rows)}), got {values.shape}"
        )
    A = np.zeros((*values.shape[:-1], description.nv, description.nv), dtype=values.dtype)
    A[..., rows, columns] = values
    if quantity.name == "mass_matrix":
        A[..., columns, rows] = values
    return A
