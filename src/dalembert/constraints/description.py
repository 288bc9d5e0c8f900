"""The data of a constrained system: its dynamics, and all rows as one function of (q, q̇, t)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dalembert import bridge
from dalembert.constraints.kinds import Constraint
from dalembert.constraints.large import Evaluated, is_large
from dalembert.constraints.posture import Posture
from dalembert.constraints.with_contacts import WithContacts
from dalembert.errors import ConstraintError
from dalembert.formulations.registry import INPUTS, Quantity
from dalembert.model.parameter import parameter_vector
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.held import Rows, StepBack

TRACED_FROM = (
    "dalembert.bridge",
    "dalembert.linalg",
    "dalembert.spatial",
    "dalembert.model",
    "dalembert.formulations",
    "dalembert.systems",
    "dalembert.constraints",
)


WEAKER = 10.0  # than the best pivots others may be, so that a digit at most is lost


class Pivots(NamedTuple):
    """Which rows are independent, and the coordinates they determine, in elimination order."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]

    @property
    def key(self) -> str:
        """As text, for the name of a compiled variant."""
        return "|".join(",".join(map(str, part)) for part in self)

    @staticmethod
    def parse(text: str) -> Pivots:
        """The pivots a key stands for."""
        return Pivots(
            *(tuple(map(int, part.split(","))) if part else () for part in text.split("|"))
        )


@dataclass(frozen=True, eq=False)
class ConstrainedDynamics(WithContacts):
    """M q̈ + h + Aᵀλ = τ + ψ with A q̈ = γ; `function` is (q, qd, t, parameters) → `Rows`."""

    name: str
    dynamics: Dynamics
    constraints: Mapping[str, Constraint]
    slices: Mapping[str, slice]  # rows of every constraint
    held: int  # rows that hold a position
    positions: tuple[int, ...]  # which rows these are
    function: bridge.Function
    parameters: Mapping[str, float | None]
    moving: bool  # depends on time
    pivots: Pivots | None = None
    blocks: tuple[tuple[int, ...], ...] = ()  # rows that never depend on those of other blocks
    values: Any = field(default_factory=lambda: np.zeros(0))
    remainder: np.ndarray | None = None  # (held,) of h, which the data's digits leave unclosed

    inputs: ClassVar = {
        **INPUTS,
        **{"t": (), "lam": ("rows",), "weights": ("nv",), "wrenches": ("frame_count", 6)},
        **{"v_r": ("freedoms",), "near": ("nv", "freedoms"), "tolerance": ()},
    }
    traced_from: ClassVar = TRACED_FROM

    @property
    def free(self) -> Dynamics:
        return self.dynamics

    @property
    def held_by(self) -> tuple[Any, ...]:
        return tuple(self.constraints.values())

    @cached_property
    def catalogue(self) -> Mapping[str, Quantity]:
        from dalembert.constraints import catalogue

        own = dict(catalogue.BY_NAME)
        for there, names in (
            ("regressor" in self.dynamics.catalogue, catalogue.WITH_REGRESSOR),
            (self.dynamics.frames, catalogue.WITH_FRAMES),
            ("joint_wrenches" in self.dynamics.catalogue, catalogue.WITH_JOINTS),
            (self.acting, catalogue.WITH_POINTS),
        ):
            for name in () if there else names:
                del own[name]
        return {**self.of_the_inside(), **own, **self._of_actuators()}

    def _of_actuators(self) -> Mapping[str, Quantity]:
        from dalembert.constraints.actuation import REQUIRED

        return {REQUIRED.name: REQUIRED} if self.driven_by.actuators else {}

    def quantity(self, name: str) -> Quantity:
        from dalembert.constraints.status import twin_of

        return twin_of(self.catalogue, name) or super().quantity(name)

    @property
    def in_letters(self) -> Mapping[str, Quantity]:
        from dalembert.constraints.letters import IN_LETTERS

        return IN_LETTERS

    @property
    def printed(self) -> tuple[str, ...]:
        return (*self.dynamics.printed, "A")

    def size(self, symbol: str) -> int:
        return getattr(self, symbol) if hasattr(self, symbol) else self.dynamics.size(symbol)

    def options(self, choice: str) -> tuple[str, ...] | None:
        if choice == "constraint":
            return tuple(self.constraints)
        return self.dynamics.options(choice)

    @property
    def frame_count(self) -> int:
        """Number of frames, on which wrenches may act."""
        return len(self.frames)

    @property
    def gyroscopic(self) -> bool:
        return self.dynamics.gyroscopic

    def at_time(self, t: Any) -> ConstrainedDynamics:
        return replace(self, dynamics=self.dynamics.at_time(t)) if self.dynamics.moving else self

    def chart_power(self, q: Any, qd: Any) -> Any:
        return self.dynamics.chart_power(q, qd)

    def generalized_forces(self, q: Any, qd: Any, t: Any = None) -> Any:
        return self.dynamics.generalized_forces(q, qd, t)

    # large systems, whose dense equations are solved on numbers

    @cached_property
    def large(self) -> bool:
        """Whether its dense solutions are left to LAPACK: as straight-line code they are too long."""
        return is_large(self)

    @property
    def traces(self) -> bool:  # type: ignore[override]
        return self.dynamics.traces and not self.large

    @property
    def on_symbols(self) -> ConstrainedDynamics:
        return self

    @cached_property
    def on_numbers(self) -> ConstrainedDynamics:
        """The same, with M, h and ψ traced once and evaluated."""
        return replace(self, dynamics=Evaluated(self.dynamics)) if self.large else self

    def compute(self, quantity: str, formulation: str | None = None, **inputs: Any) -> Any:
        symbolic = any(map(bridge.is_symbolic, inputs.values()))
        seen = self if symbolic else self.on_numbers
        return super(ConstrainedDynamics, seen).compute(quantity, formulation, **inputs)

    # how large its rows are by nature

    def scales(self, q: Any, t: Any = None) -> tuple[Any, Any]:
        """M_jj (nv,), and Σ J² (rows, nv) over the motions J that each row is made of.

        Zero where a constraint does not say. They change slowly: one posture stands for those near.
        """
        at = Posture(self.dynamics, q, t)
        squares: list[Any] = []
        for name, rows in self.slices.items():
            parts = self.constraints[name].motions(at)
            unknown = [np.zeros((1, self.nv))] * (rows.stop - rows.start)
            squares += [
                np.ones(J.shape[0]) @ (J * J) for J in (unknown if parts is None else parts)
            ]
        return np.diag(self.dynamics.at_time(t).mass_matrix(q)), np.stack(squares)

    # the motion that the constraints leave

    def require_regular(self) -> None:
        from dalembert.constraints.check import require_regular

        require_regular(self)

    def motion(self, t: Any, q: Any, qd: Any, tau: Any) -> tuple[Any, Any]:
        return self.compute("forward_dynamics", q=q, qd=qd, tau=tau, t=t, underway=True)

    def project(self, q: Any, qd: Any, t: Any = None) -> tuple[Any, Any]:
        return self.compute("project", q=q, qd=qd, t=t)

    @property
    def steps_back(self) -> tuple[tuple[StepBack, int], ...]:
        from dalembert.constraints.projection import steps_back

        return steps_back(self)

    def meets(self, q: Any, qd: Any, t: Any, tolerance: float) -> Any:
        from dalembert.constraints.status import off

        return off(self, q, qd, t, tolerance) < 0.5

    def pivots_at(self, q: Any, t: Any = None, known: Sequence[str] = ()) -> Pivots:
        from dalembert.constraints import rank
        from dalembert.constraints.elimination import weakest

        B = rank.weighed(self, self.at(q, None, t).A, q, t)
        best = rank.pivots(B, usual=self.known_rank)
        there = [*map(Pivots.parse, known), self.require_pivots()]
        good = weakest(B, best) / WEAKER
        return next((chosen for chosen in there if weakest(B, chosen) >= good), best)

    @property
    def rows(self) -> int:
        """Number of constraint equations, redundant ones included: the length of λ."""
        return self.function.shapes[1][0]

    @property
    def rank(self) -> int:
        """Independent rows at the reference posture."""
        return len(self.require_pivots().rows)

    @property
    def freedoms(self) -> int:
        """Degrees of freedom that are left."""
        return self.nv - self.rank

    @property
    def known_rank(self) -> int | None:
        """Independent rows at nearly every posture, None before that has been found."""
        return None if self.pivots is None else len(self.pivots.rows)

    @property
    def row_blocks(self) -> list[tuple[list[int], int]]:
        """Rows of each block, and how many of them are independent at nearly every posture."""
        independent = set(self.pivots.rows) if self.pivots else set()
        return [(list(rows), len(independent.intersection(rows))) for rows in self.blocks]

    @property
    def balanced(self) -> bool:
        """Whether no row is redundant, so that λ is unique."""
        return self.known_rank == self.rows

    def require_pivots(self) -> Pivots:
        """The pivots, once the rank is known."""
        if self.pivots is None:
            raise ConstraintError(
                f"{self.name}: the rank of the constraints has not been found yet"
            )
        return self.pivots

    @cached_property
    def content(self) -> str:
        """Digest of everything that shapes the numbers."""
        listed = [list(x.items()) for x in (self.slices, self.parameters)]
        named = (self.name, *listed, self.pivots, self.blocks)
        left = b"" if self.remainder is None else self.remainder.tobytes()
        text = f"{self.dynamics.content}{named!r}{left.hex()}{self.function.serialize()}"
        return hashlib.sha256(text.encode()).hexdigest()

    def parameter_values(self, given: Mapping[str, float] | None = None) -> np.ndarray:
        """Vector of parameter values: the defaults, overridden by `given`."""
        return parameter_vector(self.name, self.parameters, given)

    def require_possible(self, values: np.ndarray) -> None:
        self.dynamics.require_possible(values[..., : len(self.dynamics.parameters)])

    def bind(self, values: Any) -> ConstrainedDynamics:
        """The same with parameters `values` (n_parameters,), numbers or symbols."""
        own = len(self.dynamics.parameters)
        bound = self.dynamics.bind(values[:own]) if own else self.dynamics
        return replace(self, dynamics=bound, values=values, parameters={})

    def at(self, q: Any, qd: Any = None, t: Any = None) -> Rows:
        """The constraints at a state; symbols in, symbols out."""
        qd, t = np.zeros(self.nv) if qd is None else qd, 0.0 if t is None else t
        found = Rows(*self.function(q, qd, t, self.values)[:4])
        open_by = self.remainder is not None and self.remainder.any()
        return found._replace(h=found.h - self.remainder) if open_by else found

    def closing(self, q: Any) -> tuple[Any, Any]:
        found = self.at(q)
        return found.h, found.A[list(self.positions)]

    @property
    def row_names(self) -> tuple[str, ...]:
        """A name for every row: the constraint's, numbered where it has several."""
        names = []
        for name, rows in self.slices.items():
            count = rows.stop - rows.start
            names += [name] if count == 1 else [f"{name}[{k}]" for k in range(count)]
        return tuple(names)

    @property
    def row_units(self) -> tuple[str, ...]:
        counted = ((self.constraints[n], rows.stop - rows.start) for n, rows in self.slices.items())
        return tuple(unit for kind, count in counted for unit in kind.units or ("",) * count)
