"""What a live page needs of formulations: one quantity by all that are small enough, at a state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dalembert.errors import DalembertError
from dalembert.report.agreement import COMPARED, GROWING, LARGE, TOLERANCE
from dalembert.report.live_forces import timed
from dalembert.report.live_part import Part
from dalembert.systems.system import System

# A page carries a formulation whose program has at most EACH operations, about five bytes of code
# each, and at most ALL together: inverse dynamics before the others, the shortest first.
EACH, ALL = 3_000, 12_000
# the letter of each quantity that is compared
LETTERS = {"inverse_dynamics": "τ", "forward_dynamics": "q̈", "mass_matrix": "M"}


def formulations_part(system: System) -> Part:
    """All formulations that are small enough, with their sources; the names of the others."""
    system = system.compiled
    carried, left_out = chosen_formulations(system)
    data: dict[str, Any] = {
        "ways": [way.said for way in carried],
        "left_out": [f"{w.quantity} by {w.name} ({w.operations:,})" for w in left_out],
        "tolerance": TOLERANCE,
    }
    kernels = {way.kernel: way.entry for way in carried}
    return Part(kernels, {"formulations": data}, "formulations beside the usual ones")


@dataclass(frozen=True)
class Way:
    """A formulation of a quantity as a function of the page's module."""

    quantity: str
    name: str
    citation: str
    summary: str
    operations: int
    pair: tuple[int, int]  # multiplications, additions
    is_default: bool
    choices: Mapping[str, Any]

    @property
    def kernel(self) -> str:
        """Its name in the module; the default one has that of the quantity."""
        return self.quantity if self.is_default else f"{self.quantity} by {self.name}"

    @property
    def entry(self) -> Mapping[str, Any]:
        """As `System.wasm` takes it."""
        return {"quantity": self.quantity, "formulation": self.name, **self.choices}

    @property
    def said(self) -> dict[str, Any]:
        """What the page's script is told."""
        names = ("quantity", "name", "citation", "summary", "kernel", "pair")
        return {"letter": LETTERS[self.quantity], **{name: getattr(self, name) for name in names}}


def chosen_formulations(system: System) -> tuple[list[Way], list[Way]]:
    """(Those of a page, those that are too large for it), in the catalogue's order."""
    every = [way for name in COMPARED for way in ways(system, name)]
    order = sorted(every, key=lambda w: (w.quantity != COMPARED[0], w.operations))
    carried, total = [], 0
    for way in order:
        if way.is_default or (way.operations <= EACH and total + way.operations <= ALL):
            carried.append(way)
            total += 0 if way.is_default else way.operations
    inside = set(map(id, carried))
    return [w for w in every if id(w) in inside], [w for w in every if id(w) not in inside]


def ways(system: System, name: str) -> Iterator[Way]:
    """All formulations of a quantity that take this system and do not grow beyond measure."""
    if name not in system.dynamics.catalogue:
        return
    quantity = system.dynamics.quantity(name)
    default = quantity.formulation(None, system.dynamics.description).name
    for way in quantity.formulations:
        if system.nv > LARGE and way.name in GROWING:
            continue
        try:
            found = system.operation_count(name, way.name)
        except DalembertError:  # it does not take these joints
            continue
        pair = (found.multiplications, found.additions)
        said = (way.name, way.citation, way.summary, found.total, pair)
        yield Way(name, *said, way.name == default, timed(system, name))
