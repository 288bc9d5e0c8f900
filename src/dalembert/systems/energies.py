"""The data of a Lagrangian system: K, U and ψ as one function of (q, q̇, parameters, t)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dalembert import tracing
from dalembert.formulations import Quantity
from dalembert.systems import euler_lagrange
from dalembert.systems.catalogue import LAGRANGIAN, MORE_INPUTS, PARTICLES, timed
from dalembert.systems.check import require_regular
from dalembert.systems.dynamics import Dynamics


class Symbols:
    """Symbols of every input a formula may use, and the system's own functions of them."""

    def __init__(self, energies: Energies) -> None:
        for name, size in energies.sizes.items():
            setattr(self, name, tracing.symbol(name, size))
        self.parameters = tracing.symbol("parameters", *energies.function.inputs[2])
        self.t = tracing.symbol("t")
        self.linear = np.zeros(energies.nq)
        self.T1 = self.T0 = np.zeros(())
        found = energies.function(self["q"], self["qd"], self.parameters, self.t)
        for name, value in zip(energies.function.names, found, strict=True):
            setattr(self, name, value)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


Formula = Callable[[Symbols], Any]


@dataclass(frozen=True, eq=False)
class Energies(Dynamics):
    """A system by its energies: ``function`` is (q, qd, parameters, t) → (kinetic, potential, forces).

    L = K + aᵀq̇ − U with K quadratic in q̇ and U a function of q and t; a is its output `linear`, and
    zero where it has none. Where the given T has parts T₁ and T₀ of lower degree they are outputs too:
    then U = V − T₀. For particles it also returns positions, masses and applied forces, each
    (k, d). `parameters` holds the default of every named parameter; `bind` puts numbers (or symbols)
    in, and `at_time` the time at which the system stands, zero by default.
    """

    name: str
    coordinates: tuple[str, ...]
    function: tracing.Function
    parameters: Mapping[str, float | None]
    dimension: int = 0
    values: Any = field(default_factory=lambda: np.zeros(0))
    moving: bool = False  # whether L or ψ depends on time
    clock: Any = 0.0
    derived: dict[Any, tracing.Function] = field(default_factory=dict, repr=False)

    traced_from: ClassVar = (
        "dalembert.tracing",
        "dalembert.linalg",
        "dalembert.formulations",
        "dalembert.systems",
    )
    inputs: ClassVar = MORE_INPUTS

    @property
    def catalogue(self) -> Mapping[str, Quantity]:
        """Lagrange's quantities, and those of the particles where there are any."""
        own = PARTICLES if self.dimension else LAGRANGIAN
        return timed(own) if self.moving else own

    @property
    def has_chart_energy(self) -> bool:
        return "T0" in self.function.names

    @property
    def gyroscopic(self) -> bool:
        return "linear" in self.function.names

    @property
    def printed(self) -> tuple[str, ...]:
        own = Symbols(self)
        here = self.bind(own.parameters).at_time(own.t)
        pushed = euler_lagrange.chart_force(here, own["q"], own["qd"])
        more = {
            "G": not tracing.is_zero(euler_lagrange.gyroscopic_matrix(here, own["q"])),
            "e": self.moving and not tracing.is_zero(pushed),
            "psi": not tracing.is_zero(own["forces"]),
        }
        return ("M", "C", "g", *(key for key, there in more.items() if there))

    def at_time(self, t: Any) -> Energies:
        """The same as it stands at time t, a number or a symbol; None is time zero."""
        return replace(self, clock=0.0 if t is None else t) if self.moving else self

    def generalized_forces(self, q: Any, qd: Any, t: Any = None) -> Any:
        here = self if t is None else self.at_time(t)
        return here.compute("generalized_forces", q=q, qd=qd)

    def motion(self, t: Any, q: Any, qd: Any, tau: Any) -> tuple[Any, Any]:
        return super(Energies, self.at_time(t)).motion(t, q, qd, tau)

    def chart_power(self, q: Any, qd: Any) -> Any:
        return euler_lagrange.chart_power(self, q, qd) if self.moving else 0.0

    def require_regular(self) -> None:
        """Raise if M(q) is singular at every one of some random states."""
        require_regular(self)

    @property
    def particles(self) -> int:
        """Number of particles."""
        if not self.dimension:
            return 0
        return self.function.shapes[self.function.names.index("positions")][0]

    @property
    def sizes(self) -> dict[str, int]:
        """Length of every input a formula may use."""
        return dict.fromkeys(("q", "qd", "qdd", "tau", "dq"), self.nq)

    @cached_property
    def content(self) -> str:
        """A digest of everything that shapes the numbers: equal systems have equal digests."""
        named = (self.name, self.coordinates, list(self.parameters.items()), self.dimension)
        text = f"{named!r}\n{self.function.serialize()}"
        return hashlib.sha256(text.encode()).hexdigest()

    def bind(self, values: Any) -> Energies:
        """These energies with parameters `values` (n_parameters,), floats or symbols."""
        return replace(self, values=values, parameters={})

    def evaluate(self, formula: Formula, **inputs: Any) -> Any:
        """The formula at these inputs, an array; of symbols if any is symbolic."""
        key = (formula, *inputs)
        if key not in self.derived:
            symbols = Symbols(self)
            arguments = [*(symbols[name] for name in inputs), symbols.parameters, symbols.t]
            self.derived[key] = tracing.Function(arguments, [formula(symbols)])
        return self.derived[key](*inputs.values(), self.values, self.clock)[0]

    def __reduce__(self) -> tuple[Any, ...]:
        state = (self.name, self.coordinates, self.function, dict(self.parameters))
        return Energies, (*state, self.dimension, self.values, self.moving, self.clock)
