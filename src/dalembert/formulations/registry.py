"""Which quantities exist, by which formulations: data that everything else reads.

A `Quantity` names its inputs and outputs with symbolic sizes; a `Formulation` is a function
(model, **inputs) → array. Adding one here adds it to comparisons, counts, commands and pages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from inspect import signature
from typing import Any

from dalembert.errors import UnknownNameError
from dalembert.formulations.parts.record import Term
from dalembert.model import Model
from dalembert.model.entries import mass_entries, slope_entries
from dalembert.sources import cited
from dalembert.text import suggest as suggest  # for those who look quantities up here

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
    "packed_slopes": lambda model: len(slope_entries(model)[0]),
}
INPUTS: Mapping[str, tuple[Size, ...]] = {
    "q": ("nq",),
    "qd": ("nv",),
    "qdd": ("nv",),
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
}


@dataclass(frozen=True)
class Formulation:
    """One way to compute a quantity; its `citation` is written with numbers of `sources`.

    `made_by` is its function, or says where that is below this package,
    "inverse.craig.inverse_dynamics": a catalogue is read without what nobody asks for.
    """

    name: str
    made_by: Callable[..., Any] | str
    citation: str
    summary: str
    terms: tuple[Term, ...] = ()  # what its recursion computes for every link, if it has one

    def __post_init__(self) -> None:
        object.__setattr__(self, "citation", cited(self.citation))

    @cached_property
    def function(self) -> Callable[..., Any]:
        """(model, **inputs) → array."""
        if not isinstance(self.made_by, str):
            return self.made_by
        module, _, name = self.made_by.rpartition(".")
        found: Callable[..., Any] = getattr(import_module(f"dalembert.formulations.{module}"), name)
        return found

    def takes(self, choice: str) -> bool:
        """Whether its function has an argument of this name (or takes any)."""
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

    def formulation(self, name: str | None, description: Any = None) -> Formulation:
        """The formulation of that name; None is the best for the description, or else the first."""
        if name is None:
            if self.best is None or description is None:
                return self.formulations[0]
            name = self.best(description)
        names = [f.name for f in self.formulations]
        if not isinstance(name, str):
            raise UnknownNameError(
                f"{self.name}: formulation is a name ({', '.join(names)}), not "
                f"{type(name).__name__}; give what follows it by name, as in parameters=…"
            )
        if name in names:
            return self.formulations[names.index(name)]
        raise UnknownNameError(f"{self.name} has no formulation {name!r}{suggest(name, names)}")


def quantity_of(
    name: str,
    summary: str,
    inputs: tuple[str, ...],
    outputs: Mapping[str, tuple[Size, ...]],
    *formulations: Formulation,
    **options: Any,
) -> Quantity:
    """A quantity with these formulations, the default first; `options` are its other fields."""
    return Quantity(name, summary, inputs, outputs, formulations, **options)


def shape(model: Model, sizes: tuple[Size, ...]) -> tuple[int, ...]:
    """Numbers for symbolic sizes."""
    return tuple(SIZES[size](model) if isinstance(size, str) else size for size in sizes)
