"""`ConstrainedDynamics`: the dynamics of a system with its constraints as one function.

`describe` builds it, with Jacobians and drift derived from the constraints. As straight-line code,
dense solutions of large systems are too long to compile: those are computed with LAPACK, state by
state (`is_large`, `Evaluated`, `run_on_numbers`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dalembert import tracing
from dalembert.constraints import catalogue, contact
from dalembert.constraints.geometry import weighed
from dalembert.constraints.kinds import Constraint, Posture, Time
from dalembert.constraints.multiplier import off
from dalembert.constraints.projection import NEWTON_STEPS, closable, position_step, velocity_step
from dalembert.constraints.status import twin_of
from dalembert.constraints.surfaces import CONTACT_COORDINATES
from dalembert.constraints.symbolic import SYMBOLIC_QUANTITIES
from dalembert.errors import ConstraintError, ParameterError, ShapeError, SingularMassMatrixError
from dalembert.formulations.registry import INPUTS, Quantity
from dalembert.kernels import explain_error
from dalembert.kernels.call.kernel import PlainKernel
from dalembert.linalg.rank import Pivots, pivots, weakest
from dalembert.model.parameter import collect
from dalembert.spatial.arrays import Array, Scalar
from dalembert.systems.dynamics import (
    Dynamics,
    ProjectionStep,
    Rows,
    WrappedDynamics,
    delegates,
    packages,
)

if TYPE_CHECKING:
    from dalembert.systems.evaluator import Variant

MOST = 200_000  # operations of a solution that is compiled whole


def operations(nv: int, rows: int, rank: int) -> int:
    """About as many operations as forward dynamics by the multiplier route have as straight-line code.

    Redundant rows are chosen from by comparing all of them at every step.

    >>> operations(28, 24, 20) < MOST < operations(92, 60, 40)
    True
    """
    basis = 2 * rows * rows * nv if rank == rows else 5 * rank * rows * nv
    return basis + rows * nv * nv + nv**3 // 3


@delegates("dynamics", "name content catalogue parameters description")
@dataclass(frozen=True, eq=False)
class Evaluated(WrappedDynamics):
    """The system inside, each of its quantities traced once and then evaluated on numbers."""

    dynamics: Dynamics
    _functions: dict[Any, Any] = field(default_factory=dict)

    traced_from: ClassVar[tuple[str, ...]] = ()

    def compute(self, quantity: str, formulation: str | None = None, **inputs: Any) -> Any:
        words = {name: x for name, x in inputs.items() if isinstance(x, str) or x is None}
        arrays = {name: x for name, x in inputs.items() if name not in words}
        if any(map(tracing.is_symbolic, arrays.values())):
            return self.dynamics.compute(quantity, formulation, **inputs)
        shapes = {name: np.shape(x) for name, x in arrays.items()}
        key = (quantity, formulation, *words.items(), *shapes.items())
        if key not in self._functions:
            compute: Callable[..., Any] = self.dynamics.compute
            function = partial(compute, quantity, formulation, **words)
            self._functions[key] = tracing.traced(function, shapes)
        return self._functions[key](**arrays)

    def frame_jacobian(self, q: Array, frame: str, expressed_in: str = "world") -> Array:
        J: Array = self.compute("jacobian", q=q, frame=frame, expressed_in=expressed_in)
        return J


def run_on_numbers(system: Any, variant: Variant, arguments: tuple[Any, ...], out: Any) -> Any:
    """A quantity on arrays, state by state; functions are cached in the system's `_looped`."""
    inputs, _ = system.ports(variant)
    functions: dict[Any, PlainKernel] = system.__dict__.setdefault("_looped", {})
    if variant.key not in functions:
        if variant.inverts_mass:
            system.dynamics.require_regular()
        dynamics = system.dynamics.on_numbers
        shapes = {port.name: port.shape for port in inputs}
        functions[variant.key] = PlainKernel(lambda **x: variant.outputs(dynamics, **x), shapes)
    for port, x in zip(inputs, arguments, strict=True):
        if np.shape(x)[np.ndim(x) - len(port.shape) :] != port.shape:
            explained = explain_error(ValueError(), inputs, arguments)
            raise ShapeError(f"{system.name}.{variant.quantity.name}: {explained}")
    # in single precision where all arguments are; in the arrays of `out` where there are any
    values = functions[variant.key](*arguments)
    single = all(getattr(x, "dtype", None) == np.float32 for x in arguments)
    several = isinstance(values, tuple)
    results = [x.astype(np.float32) if single else x for x in (values if several else (values,))]
    if out is not None:
        arrays = out if isinstance(out, tuple) else (out,)
        for k, array in enumerate(arrays):
            if array is not None:
                array[...] = results[k]
                results[k] = array
    return tuple(results) if several else results[0]


TRACED_FROM = packages(
    "tracing", "linalg", "spatial", "model", "formulations", "systems", "constraints"
)

WEAKER = 10.0  # than the best pivots others may be, so that a digit at most is lost
REGULAR = 1e-13  # of the smallest eigenvalue of M beside its diagonal
STATES = 6  # random postures at which M is looked at


@dataclass(frozen=True, eq=False)
class ConstrainedDynamics(WrappedDynamics):
    """M q̈ + h + Aᵀλ = τ + ψ with A q̈ = γ; `function` is (q, qd, t, parameters) → `Rows`."""

    name: str
    dynamics: Dynamics
    constraints: Mapping[str, Constraint]
    slices: Mapping[str, slice]  # rows of every constraint
    position_count: int  # rows that hold a position
    positions: tuple[int, ...]  # which rows these are
    function: tracing.Function
    parameters: Mapping[str, float | None]
    moving: bool  # depends on time
    resting: bool = False  # b = 0 at every q and t, so that its constraints do no work
    pivots: Pivots | None = None
    blocks: tuple[tuple[int, ...], ...] = ()  # rows that never depend on those of other blocks
    values: Any = field(default_factory=lambda: np.zeros(0))
    remainder: Array | None = None  # (position_count,) of h, which the data's digits leave unclosed
    dependent: tuple[int, ...] = ()  # rows that only rounding or digits tell from the others
    clock: Time = None  # the time at which it stands, s; without one, forces of time are left out

    inputs: ClassVar = {
        **INPUTS,
        **{"t": (), "lam": ("rows",), "weights": ("nv",), "wrenches": ("frame_count", 6)},
        **{"v_r": ("freedoms",), "near": ("nv", "freedoms"), "tolerance": ()},
    }
    traced_from: ClassVar = TRACED_FROM
    symbolic_quantities: ClassVar = SYMBOLIC_QUANTITIES

    @property
    def free(self) -> Dynamics:
        return self.dynamics

    @property
    def constraint_set(self) -> tuple[Constraint, ...]:
        return tuple(self.constraints.values())

    @cached_property
    def catalogue(self) -> Mapping[str, Quantity]:
        inside = self.dynamics.catalogue
        has = {
            "regressor": "regressor" in inside,
            "reduced_regressor": "regressor" in inside,
            "frame_jacobian": self.dynamics.frames,
            "joint_wrenches": "joint_wrenches" in inside,
            "reaction_wrenches": self.acting_names,
            "required_efforts": self.driven_by.actuators,
        }
        own = {name: x for name, x in catalogue.BY_NAME.items() if has.get(name, True)}
        # constraints choose q̈ and p; S, Z and H are the same functions of them
        functions = ("acceleration_energy", "gauss_constraint", "hamiltonian")
        return {**self.inherited_quantities(*functions), **own}

    def quantity(self, name: str) -> Quantity:
        return twin_of(self.catalogue, name) or super().quantity(name)

    @property
    def printed(self) -> tuple[str, ...]:
        return (*self.dynamics.printed, "A")

    def size(self, symbol: str) -> int:
        counts = {"frame_count": self.frames, "acting": self.acting_names}
        if symbol in counts:
            return len(counts[symbol])
        size: int = getattr(self, symbol) if hasattr(self, symbol) else self.dynamics.size(symbol)
        return size

    def options(self, choice: str) -> tuple[str, ...] | None:
        if choice == "constraint":
            return tuple(self.constraints)
        return self.dynamics.options(choice)

    def at_time(self, t: Time) -> ConstrainedDynamics:
        """The system as it stands at time t; None leaves it as it is."""
        if t is None:
            return self
        frozen = replace(self, dynamics=self.dynamics.at_time(t), clock=t)
        if self.large:  # what has been traced once stays
            frozen.__dict__["on_numbers"] = replace(self.on_numbers, clock=t)
        return frozen

    @property
    def now(self) -> Scalar:
        """The time at which it stands, s: zero if it has none."""
        return 0.0 if self.clock is None else self.clock

    def generalized_forces(self, q: Array, qd: Array, t: Time = None) -> Array:
        return self.dynamics.generalized_forces(q, qd, self.clock if t is None else t)

    # large systems, with dense equations solved on numbers

    @cached_property
    def large(self) -> bool:
        """Whether dense solutions are computed by LAPACK instead of straight-line code.

        Systems with open parameters or explicit dependence on time are always compiled whole.
        """
        if self.pivots is None or self.parameters or len(self.values) or self.dynamics.moving:
            return False
        return operations(self.nv, self.rows, len(self.pivots.rows)) > MOST

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
        dynamics = self if symbolic else self.on_numbers
        return super(ConstrainedDynamics, dynamics).compute(quantity, formulation, **inputs)

    # constrained motion

    def require_regular(self) -> None:
        """Raise if M(q) is singular at all of some random postures."""
        system = self
        if self.parameters:
            if None in self.parameters.values():
                return
            system = self.bind(self.parameter_values())
        rng, plant = np.random.default_rng(0), system.dynamics
        for _ in range(STATES):
            q = plant.integrate(plant.neutral(), rng.uniform(-1.0, 1.0, self.nv))
            M = np.asarray(plant.mass_matrix(q), dtype=float)
            size = np.sqrt(np.abs(np.diag(M)))
            if np.isfinite(M).all() and size.min() > 0.0:
                values, vectors = np.linalg.eigh(M / np.outer(size, size))
                if values[0] > REGULAR:
                    return
                massless = int(np.abs(vectors[:, 0] / size).argmax())
            else:
                massless = int(size.argmin())
        raise SingularMassMatrixError(
            f"{self.name}: M(q) is singular: nothing resists {plant.velocities[massless]!r}; give "
            "it mass or inertia, or, where the constraints determine its motion, take "
            'forward_dynamics(…, formulation="udwadia_kalaba")'
        )

    def motion(self, t: Time, q: Array, qd: Array, tau: Array) -> tuple[Array, Array]:
        qdd, lam = self.compute("forward_dynamics", q=q, qd=qd, tau=tau, t=t, underway=True)
        return qdd, lam

    def project(self, q: Array, qd: Array, t: Time = None) -> tuple[Array, Array]:
        q, qd = self.compute("project", q=q, qd=qd, t=t)
        return q, qd

    @property
    def projection_steps(self) -> tuple[tuple[ProjectionStep, int], ...]:
        newton = ((position_step, NEWTON_STEPS),) if closable(self) else ()
        return *newton, (velocity_step, 1)

    def meets(self, q: Array, qd: Array, t: Time, tolerance: float) -> Scalar:
        return off(self.at_time(t), q, qd, tolerance) < 0.5

    def pivots_at(self, q: Array, t: Time = None, known_pivots: Sequence[str] = ()) -> Pivots:
        B = weighed(self.at_time(t), q)
        best = pivots(B, usual=self.known_rank)
        candidates = [*map(Pivots.parse, known_pivots), self.require_pivots()]
        good = weakest(B, best) / WEAKER
        return next((chosen for chosen in candidates if weakest(B, chosen) >= good), best)

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
        dependent = self.require_pivots().columns
        return [k for k in range(self.nv) if k not in dependent]

    @property
    def freedoms(self) -> int:
        """Degrees of freedom that are left."""
        return self.nv - self.rank

    @property
    def known_rank(self) -> int | None:
        """Independent rows at nearly every configuration, None before it is computed."""
        return None if self.pivots is None else len(self.pivots.rows)

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
        remainder = b"" if self.remainder is None else self.remainder.tobytes()
        text = f"{self.dynamics.content}{named!r}{remainder.hex()}{self.function.serialize()}"
        return hashlib.sha256(text.encode()).hexdigest()

    parameter_values = Dynamics.parameter_values  # its own and those of the system inside

    def require_physical(self, values: Array) -> None:
        self.dynamics.require_physical(values[..., : len(self.dynamics.parameters)])

    def bind(self, values: Any) -> ConstrainedDynamics:
        """The same with parameters `values` (n_parameters,), numbers or symbols."""
        own = len(self.dynamics.parameters)
        bound = self.dynamics.bind(values[:own]) if own else self.dynamics
        return replace(self, dynamics=bound, values=values, parameters={})

    def at(self, q: Array, qd: Array | None = None, t: Time = None) -> Rows:
        """The constraints at a state; symbols in, symbols out."""
        rows = Rows(*self._evaluated(q, np.zeros(self.nv) if qd is None else qd, t)[:4])
        is_open = self.remainder is not None and self.remainder.any()
        return rows._replace(h=rows.h - self.remainder) if is_open else rows

    def _evaluated(self, q: Array, qd: Array, t: Time) -> Sequence[Array]:
        """h, A, b and γ, and the rows of friction, at t or at its own time."""
        return self.function(q, qd, self.now if t is None else t, self.values)

    def closing(self, q: Array) -> tuple[Array, Array]:
        rows = self.at(q)
        return rows.h, rows.A[list(self.positions)]

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
    def contact_names(self) -> tuple[str, ...]:
        return tuple(f"{name}.{x}" for name in contact.contacts(self) for x in CONTACT_COORDINATES)

    def contact_state(self, q: Array, qd: Array, t: Time = None) -> tuple[Array, Array]:
        names, none, here = contact.contacts(self), np.zeros(0), self.at_time(t)
        eta = [contact.coordinates(here, q, name) for name in names]
        eta_dot = [contact.rates(here, q, qd, name) for name in names]
        return np.concatenate([none, *eta]), np.concatenate([none, *eta_dot])

    @property
    def frictional_rows(self) -> tuple[int, ...]:
        return tuple(
            self.slices[name].start for name, kind in self.constraints.items() if kind.has_friction
        )

    def friction_rows(self, q: Array, qd: Array, t: Time = None) -> tuple[Array, Array]:
        """(E (m, nv), wrenches (m, 6)) of m normal forces: M q̈ + h + Aᵀλ + Eᵀλ_n = τ + ψ."""
        if not self.frictional_rows:
            return np.zeros((0, self.nv)), np.zeros((0, 6))
        E, wrenches = self._evaluated(q, qd, t)[4:6]
        return E, wrenches

    def reaction(self, q: Array, qd: Array, t: Time, lam: Array) -> Array:
        """Aᵀλ + Eᵀλ_n (nv,): constraint and friction forces on the side of M q̈."""
        force: Array = self.at(q, qd, t).A.T @ lam
        force = force + self.friction_rows(q, qd, t)[0].T @ self._normal_forces(lam)
        return force

    def friction_loss(self, q: Array, qd: Array, t: Time, lam: Array) -> Scalar:
        if not self.frictional_rows:
            return 0.0
        return self._normal_forces(lam) @ (self.friction_rows(q, qd, t)[0] @ qd)

    def _normal_forces(self, lam: Array) -> Array:
        """Those of the contacts with friction, zero where one would pull."""
        forces: Array = np.maximum(lam[list(self.frictional_rows)], 0.0)
        return forces


_MANY = 100  # entries of A, from which on the drift is not derived from A


def describe(name: str, system: Dynamics, constraints: Sequence[Constraint]) -> ConstrainedDynamics:
    """The description, with Jacobians and drift derived; shapes and dependence are checked."""
    q, v = tracing.symbol("q", system.nq), tracing.symbol("v", system.nv)
    t, p = tracing.symbol("t"), tracing.symbol("p", len(system.parameters))
    parameter_symbols = dict(zip(system.parameters, p, strict=True))
    names = dict(zip(system.coordinates, q, strict=True)) | parameter_symbols | {"t": t}
    at = Posture(system, q, t, names)
    named = _named(constraints)
    rate = system.rate(q, v)
    parts, slices, start = [], {}, 0
    for label, constraint in named.items():
        part = _rows(label, constraint, at, tracing.jacobian(rate, v))
        parts.append(part)
        slices[label] = slice(start, start + part[1].shape[0])
        start += part[1].shape[0]
    position, matrices, speeds = zip(*parts, strict=True)
    h, A, b = tracing.flat(position), np.concatenate(matrices), tracing.flat(speeds)
    positions = [
        rows.start + k
        for rows, part in zip(slices.values(), parts, strict=True)
        for k in range(part[0].shape[0])
    ]
    # w = A v − b stays zero: A v̇ = γ = −(∂w/∂q q̇ + ∂w/∂t)
    if A.size <= _MANY:
        w = A @ v - b
    else:  # the same without all of A: dh/dt along q̇ where the rows are ∂h/∂q
        rates = []
        for constraint, (h_k, A_k, b_k) in zip(named.values(), parts, strict=True):
            if h_k.shape[0] == A_k.shape[0] and not constraint.angular_rows(at):
                rates.append(tracing.directional(h_k, q, rate) + tracing.jacobian(h_k, t))
            else:
                rates.append(A_k @ v - b_k)
        w = tracing.flat(rates)
    drift = -(tracing.directional(w, q, rate) + tracing.jacobian(w, t))
    friction = [kind.unit_friction(at, v) for kind in named.values() if kind.has_friction]
    every = [h, A, b, drift]
    if friction:
        every += [np.stack([F @ J for F, J in friction]), np.stack([F for F, _ in friction])]
    outputs, parameters, p = _parameters(system, every, [q, v, t], parameter_symbols, p)
    function = tracing.Function([q, v, t, p], outputs)
    moving = system.moving or tracing.depends_on(tracing.flat([h, A, b]), t)
    rows = (slices, len(positions), tuple(positions))
    resting = tracing.is_zero(b)
    return ConstrainedDynamics(name, system, named, *rows, function, parameters, moving, resting)


def _rows(
    label: str, constraint: Constraint, at: Posture, flow: Array
) -> tuple[Array, Array, Array]:
    """(h, A, b) of one constraint; `flow` is ∂q̇/∂v (nq, nv)."""
    n = at.system.nv
    position, velocity = constraint.position(at), constraint.velocity(at)
    h = tracing.flat([] if position is None else [position])
    # ḣ = ∂h/∂q q̇ + ∂h/∂t with q̇ = (∂q̇/∂v) v
    A, b = tracing.jacobian(h, at.q) @ flow, -tracing.jacobian(h, at.t)
    angular_rows = constraint.angular_rows(at)
    if angular_rows:
        A = np.stack([angular_rows.get(k, A[k]) for k in range(A.shape[0])])
    if velocity is not None:
        shape, b2 = tracing.shape_of(velocity[0]), tracing.flat(velocity[1:])
        if shape[1:] != (n,) or b2.shape != shape[:1]:
            raise ConstraintError(
                f"constraint {label!r}: A has shape {shape} and b {b2.size} entries; "
                f"expected (k, {n}) and k"
            )
        A, b = np.concatenate([A, tracing.flat(velocity[:1]).reshape(shape)]), tracing.flat([b, b2])
    empty = tracing.zero_rows(A)
    if constraint.every_row_counts and empty:
        what = "h does not depend on q" if empty[0] < h.size else "its row of A is zero"
        raise ConstraintError(
            f"constraint {label!r}, equation {empty[0]}: {what}, so it holds nothing"
        )
    return h, A, b


def _named(constraints: Sequence[Constraint]) -> dict[str, Constraint]:
    """Constraints by name; unnamed ones are numbered by kind."""
    if not constraints:
        raise ConstraintError("there is no constraint; use the system itself")
    named: dict[str, Constraint] = {}
    for item in constraints:
        if not isinstance(item, Constraint):
            raise ConstraintError(f"{item!r} is no constraint such as dl.Holonomic(h)")
        constraint, label = item, item.label
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
    system: Dynamics, outputs: list[Any], own: list[Any], symbols: Mapping[str, Any], p: Array
) -> tuple[list[Array], dict[str, float | None], Array]:
    """`Parameter` symbols met in the rows become entries of one vector, the system's first."""
    loose = tracing.symbols_beyond(tracing.flat(outputs), tracing.flat([*own, p]))
    parameters = dict(system.parameters)
    targets, more = [], []
    for symbol in loose:
        ((name, value),) = collect(symbol)[0].items()
        known = parameters.get(name)
        if None not in (known, value) and known != value:
            raise ParameterError(f"parameter {name!r} is given two values: {known}, {value}")
        parameters[name] = value if known is None else known
        if name not in symbols:
            symbols = {**symbols, name: tracing.symbol(name)}
            more.append(symbols[name])
        targets.append(symbols[name])
    if loose:
        outputs = list(tracing.at(outputs, loose, targets))
    return outputs, parameters, tracing.flat([p, *more])
