"""The data of a constrained system: its dynamics, and all rows as one function of (q, q̇, t)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dalembert import tracing
from dalembert.constraints import catalogue, contact
from dalembert.constraints.check import require_regular
from dalembert.constraints.geometry import weighed
from dalembert.constraints.kinds import Constraint
from dalembert.constraints.large import Evaluated, is_large
from dalembert.constraints.letters import IN_LETTERS
from dalembert.constraints.posture import Posture
from dalembert.constraints.projection import steps_back
from dalembert.constraints.status import off, twin_of
from dalembert.errors import ConstraintError
from dalembert.formulations.registry import INPUTS, Quantity
from dalembert.linalg.geometry import Pivots, pivots, weakest
from dalembert.model.parameter import collect, parameter_vector
from dalembert.systems.carried import Around
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.held import Rows, StepBack

TRACED_FROM = (
    "dalembert.tracing",
    "dalembert.linalg",
    "dalembert.spatial",
    "dalembert.model",
    "dalembert.formulations",
    "dalembert.systems",
    "dalembert.constraints",
)


WEAKER = 10.0  # than the best pivots others may be, so that a digit at most is lost


@dataclass(frozen=True, eq=False)
class ConstrainedDynamics(Around):
    """M q̈ + h + Aᵀλ = τ + ψ with A q̈ = γ; `function` is (q, qd, t, parameters) → `Rows`."""

    name: str
    dynamics: Dynamics
    constraints: Mapping[str, Constraint]
    slices: Mapping[str, slice]  # rows of every constraint
    held: int  # rows that hold a position
    positions: tuple[int, ...]  # which rows these are
    function: tracing.Function
    parameters: Mapping[str, float | None]
    moving: bool  # depends on time
    resting: bool = False  # b = 0 at every q and t, so that its constraints do no work
    pivots: Pivots | None = None
    blocks: tuple[tuple[int, ...], ...] = ()  # rows that never depend on those of other blocks
    values: Any = field(default_factory=lambda: np.zeros(0))
    remainder: np.ndarray | None = None  # (held,) of h, which the data's digits leave unclosed
    dependent: tuple[int, ...] = ()  # rows that only rounding or digits tell from the others

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
        inside = self.dynamics.catalogue
        has = {
            "regressor": "regressor" in inside,
            "reduced_regressor": "regressor" in inside,
            "frame_jacobian": self.dynamics.frames,
            "joint_wrenches": "joint_wrenches" in inside,
            "reaction_wrenches": self.acting,
            "required_efforts": self.driven_by.actuators,
        }
        own = {name: x for name, x in catalogue.BY_NAME.items() if has.get(name, True)}
        return {**self.of_the_inside(), **own}

    def quantity(self, name: str) -> Quantity:
        return twin_of(self.catalogue, name) or super().quantity(name)

    @property
    def in_letters(self) -> Mapping[str, Quantity]:
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

    def at_time(self, t: Any) -> ConstrainedDynamics:
        return replace(self, dynamics=self.dynamics.at_time(t)) if self.dynamics.moving else self

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
        symbolic = any(map(tracing.is_symbolic, inputs.values()))
        seen = self if symbolic else self.on_numbers
        return super(ConstrainedDynamics, seen).compute(quantity, formulation, **inputs)

    # the motion that the constraints leave

    def require_regular(self) -> None:
        require_regular(self)

    def motion(self, t: Any, q: Any, qd: Any, tau: Any) -> tuple[Any, Any]:
        return self.compute("forward_dynamics", q=q, qd=qd, tau=tau, t=t, underway=True)

    def project(self, q: Any, qd: Any, t: Any = None) -> tuple[Any, Any]:
        return self.compute("project", q=q, qd=qd, t=t)

    @property
    def steps_back(self) -> tuple[tuple[StepBack, int], ...]:
        return steps_back(self)

    def meets(self, q: Any, qd: Any, t: Any, tolerance: float) -> Any:
        return off(self, q, qd, t, tolerance) < 0.5

    def pivots_at(self, q: Any, t: Any = None, known: Sequence[str] = ()) -> Pivots:
        B = weighed(self, self.at(q, None, t).A, q, t)
        best = pivots(B, usual=self.known_rank)
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
    def free_columns(self) -> list[int]:
        """Velocities that elimination keeps: those no pivot determines."""
        held = self.require_pivots().columns
        return [k for k in range(self.nv) if k not in held]

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
        named = (self.name, *listed, self.pivots, self.blocks, self.dependent)
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

    # contacts and other constraints that act between frames: points, η, friction

    @property
    def acting_names(self) -> tuple[str, ...]:
        """Names of the constraints that act between frames, with a force at a point."""
        return tuple(name for name, kind in self.constraints.items() if kind.at_frames)

    @property
    def acting(self) -> int:
        """How many these are."""
        return len(self.acting_names)

    @property
    def contact_names(self) -> tuple[str, ...]:
        return tuple(f"{name}.{x}" for name in contact.contacts(self) for x in contact.COORDINATES)

    def contact_state(self, q: Any, qd: Any, t: Any = None) -> tuple[Any, Any]:
        return contact.state(self, q, qd, t)

    @property
    def rubbing(self) -> tuple[int, ...]:
        return tuple(
            self.slices[name].start for name, kind in self.constraints.items() if kind.rubs
        )

    def friction_rows(self, q: Any, qd: Any, t: Any = None) -> tuple[Any, Any]:
        """(E (m, nv), wrenches (m, 6)) of m normal forces: M q̈ + h + Aᵀλ + Eᵀλ_n = τ + ψ."""
        if not self.rubbing:
            return np.zeros((0, self.nv)), np.zeros((0, 6))
        return self.function(q, qd, 0.0 if t is None else t, self.values)[4:6]

    def force_rows(self, q: Any, qd: Any, t: Any = None) -> Any:
        """A (rows, nv), with E added to the rows that rub: what a λ ≥ 0 exerts is its transpose."""
        A = self.at(q, None, t).A
        if not self.rubbing:
            return A
        E = dict(zip(self.rubbing, self.friction_rows(q, qd, t)[0], strict=True))
        return np.stack([A[k] + E[k] if k in E else A[k] for k in range(A.shape[0])])

    def reaction(self, q: Any, qd: Any, t: Any, lam: Any) -> Any:
        """Aᵀλ + Eᵀλ_n (nv,): what the drives have to bear besides the motion."""
        borne = self.at(q, qd, t).A.T @ lam
        if not self.rubbing:
            return borne
        pressed = np.maximum(lam[list(self.rubbing)], 0.0)
        return borne + self.friction_rows(q, qd, t)[0].T @ pressed

    def friction_loss(self, q: Any, qd: Any, t: Any, lam: Any) -> Any:
        if not self.rubbing:
            return 0.0
        pressed = np.maximum(lam[list(self.rubbing)], 0.0)
        return pressed @ (self.friction_rows(q, qd, t)[0] @ qd)


_MANY = 100  # entries of A, from which on the drift is not derived from A


def describe(name: str, system: Dynamics, constraints: Sequence[Constraint]) -> ConstrainedDynamics:
    """The description, with Jacobians and drift derived; shapes and dependence are checked."""
    q, v = tracing.symbol("q", system.nq), tracing.symbol("v", system.nv)
    t, p = tracing.symbol("t"), tracing.symbol("p", len(system.parameters))
    letters = dict(zip(system.parameters, p, strict=True))
    names = dict(zip(system.coordinates, q, strict=True)) | letters | {"t": t}
    at = Posture(system, q, t, names)
    named = _named(constraints)
    rate = system.rate(q, v)
    parts, slices, start = [], {}, 0
    for label, constraint in named.items():
        part = _rows(label, constraint, at, tracing.jacobian(rate, v))
        parts.append(part)
        slices[label] = slice(start, start + part[1].shape[0])
        start += part[1].shape[0]
    held, matrices, speeds = zip(*parts, strict=True)
    h, A, b = tracing.flat(held), np.concatenate(matrices), tracing.flat(speeds)
    positions = [
        rows.start + k
        for rows, part in zip(slices.values(), parts, strict=True)
        for k in range(part[0].shape[0])
    ]
    # w = A v − b stays zero: A v̇ = γ = −(∂w/∂q q̇ + ∂w/∂t)
    w = A @ v - b if A.size <= _MANY else _speeds(named.values(), parts, at, v, rate)
    drift = -(tracing.directional(w, q, rate) + tracing.jacobian(w, t))
    rubbing = [kind.rubbing(at, v) for kind in named.values() if kind.rubs]
    every = [h, A, b, drift]
    if rubbing:
        every += [np.stack([F @ J for F, J in rubbing]), np.stack([F for F, _ in rubbing])]
    outputs, parameters, p = _parameters(system, every, [q, v, t], letters, p)
    function = tracing.Function([q, v, t, p], outputs)
    moving = system.moving or tracing.depends_on(tracing.flat([h, A, b]), t)
    where = (slices, len(positions), tuple(positions))
    return ConstrainedDynamics(
        name, system, named, *where, function, parameters, moving, tracing.is_zero(b)
    )


def _rows(label: str, constraint: Constraint, at: Posture, flow: Any) -> tuple[Any, Any, Any]:
    """(h, A, b) of one constraint; `flow` is ∂q̇/∂v (nq, nv)."""
    n = at.system.nv
    held, rolled = constraint.position(at), constraint.velocity(at)
    h = tracing.flat([] if held is None else [held])
    # ḣ = ∂h/∂q q̇ + ∂h/∂t with q̇ = (∂q̇/∂v) v
    A, b = tracing.jacobian(h, at.q) @ flow, -tracing.jacobian(h, at.t)
    turning = constraint.turning(at)
    if turning:
        A = np.stack([turning.get(k, A[k]) for k in range(A.shape[0])])
    if rolled is not None:
        shape, b2 = tracing.shape_of(rolled[0]), tracing.flat(rolled[1:])
        if shape[1:] != (n,) or b2.shape != shape[:1]:
            raise ConstraintError(
                f"constraint {label!r}: A has shape {shape} and b {b2.size} entries; "
                f"expected (k, {n}) and k"
            )
        A, b = np.concatenate([A, tracing.flat(rolled[:1]).reshape(shape)]), tracing.flat([b, b2])
    empty = tracing.zero_rows(A)
    if constraint.every_row_counts:
        for k in empty:
            what = "h does not depend on q" if k < h.size else "its row of A is zero"
            raise ConstraintError(
                f"constraint {label!r}, equation {k}: {what}, so it holds nothing"
            )
    return h, A, b


def _speeds(
    constraints: Iterable[Constraint], parts: Sequence[Any], at: Posture, v: Any, rate: Any
) -> Any:
    """w (rows,) = dh/dt along q̇, or A v − b of rows that are no ∂h/∂q: the same, without all of A."""
    found = []
    for constraint, (h, A, b) in zip(constraints, parts, strict=True):
        slopes = h.shape[0] == A.shape[0] and not constraint.turning(at)
        plain = (
            tracing.directional(h, at.q, rate) + tracing.jacobian(h, at.t) if slopes else A @ v - b
        )
        found.append(plain)
    return tracing.flat(found)


def _named(constraints: Sequence[Constraint]) -> dict[str, Constraint]:
    """Constraints by name; unnamed ones are numbered by kind."""
    if not constraints:
        raise ConstraintError("there is no constraint; use the system itself")
    named: dict[str, Constraint] = {}
    for given in constraints:
        if not isinstance(given, Constraint):
            raise ConstraintError(f"{given!r} is no constraint such as dl.Holonomic(h)")
        constraint, label = given, given.label
        if getattr(constraint, "name", None) is None:
            number = sum(type(other) is type(constraint) for other in named.values()) + 1
            label = f"{label}{number}"
            constraint = replace(constraint, name=label)  # type: ignore[call-arg]  # every kind has one
        if label in named:
            raise ConstraintError(
                f"two constraints are called {label!r}; give them different names"
            )
        named[label] = constraint
    return named


def _parameters(
    system: Dynamics, outputs: list[Any], own: list[Any], letters: Mapping[str, Any], p: Any
) -> tuple[list[Any], dict[str, float | None], Any]:
    """`Parameter` symbols met in the rows become entries of one vector, the system's first."""
    loose = tracing.symbols_beyond(tracing.flat(outputs), tracing.flat([*own, p]))
    parameters = dict(system.parameters)
    targets, more = [], []
    for symbol in loose:
        ((name, value),) = collect(symbol)[0].items()
        if name not in parameters:
            parameters[name] = value
            letters = {**letters, name: tracing.symbol(name)}
            more.append(letters[name])
        targets.append(letters[name])
    if loose:
        outputs = list(tracing.at(outputs, loose, targets))
    return outputs, parameters, tracing.flat([p, *more])
