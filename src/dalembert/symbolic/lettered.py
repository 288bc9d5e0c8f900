"""What equations are written from: programs, and the symbols of their inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import sympy

from dalembert.errors import EquationError
from dalembert.symbolic.titles import ALIASES
from dalembert.tracing.program import Program

# the program that a quantity is written from, and checked against
SOURCES = {key: long for long, key in ALIASES.items()} | {
    "C": "christoffel",
    "B": "christoffel",
    "Csq": "christoffel",
}


@dataclass(frozen=True)
class Lettered:
    """What there is to write from: programs by the name of their quantity, and their symbols.

    Inputs of the programs are named "q", "qd", "tau", "t" and "parameters". `linear` are the
    parameters in which M is linear, masses and moments; None has them found in M. `independent` are
    the coordinates of reduced equations.
    """

    name: str
    programs: Mapping[str, Program]
    q: tuple[sympy.Symbol, ...]
    qd: tuple[sympy.Symbol, ...]
    parameters: tuple[sympy.Symbol, ...] = ()
    linear: tuple[sympy.Symbol, ...] | None = None
    defaults: Mapping[str, float | None] = field(default_factory=dict)
    tau: tuple[sympy.Symbol, ...] = ()
    t: tuple[sympy.Symbol, ...] = ()
    independent: tuple[sympy.Symbol, ...] = ()

    def symbols(self, program: Program) -> dict[str, tuple[sympy.Symbol, ...]]:
        """The symbols of a program's inputs."""
        known = {"q": self.q, "qd": self.qd, "tau": self.tau, "t": self.t}
        known["parameters"] = self.parameters
        return {port.name: known[port.name] for port in program.inputs}


def quantity_key(name: str) -> str:
    """The short name of a quantity: "M" for "mass_matrix"."""
    key = ALIASES.get(name, name)
    if key not in SOURCES:
        known = ", ".join(f"{key} ({long})" for long, key in ALIASES.items())
        raise EquationError(f"there are no equations for {name!r}; there are: {known}")
    return key
