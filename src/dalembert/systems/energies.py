"""The data of a Lagrangian system: K, U and ψ as one function of (q, q̇, parameters, t).

L = K − U is split by its degree in q̇ when a system is made: T = T₂ + T₁ + T₀. The equations of motion
need T₂ = ½ q̇ᵀM q̇ (`kinetic`), V − T₀ (`potential`, with the centrifugal terms of rotating coordinates)
and the part aᵀq̇ of L (`linear`: T₁, and magnetic terms of V). T₂ − T₀ + V is Jacobi's energy, which is
conserved where L does not depend on time. T₁ and T₀ are stored, so that T and V can be evaluated.

That M is regular is checked before it is inverted, at random states that are always the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dalembert import tracing
from dalembert.errors import ModelError, SingularMassMatrixError
from dalembert.formulations import Quantity
from dalembert.systems import euler_lagrange
from dalembert.systems.dynamics import Array, Dynamics, Scalar, Time, packages
from dalembert.systems.euler_lagrange import CATALOGUES, MORE_INPUTS, mass_matrix

ARGUMENTS = ("q", "qd", "parameters", "t")  # of the function of a system's energies
Symbols = Mapping[str, Array]
Formula = Callable[[Symbols], Array]


def symbols_of(energies: Energies) -> Symbols:
    """Symbols of every input a formula may use, and the system's own functions of them."""
    n, function = energies.nq, energies.function
    s = {name: tracing.symbol(name, n) for name in ("q", "qd", "qdd", "p", "tau", "dq")}
    s |= {"parameters": tracing.symbol("parameters", *function.inputs[2]), "t": tracing.symbol("t")}
    s |= {"linear": np.zeros(n), "T1": np.zeros(()), "T0": np.zeros(())}
    values = function(*(s[name] for name in ARGUMENTS))
    return s | dict(zip(function.names, values, strict=True))


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
    values: Array = field(default_factory=lambda: np.zeros(0))
    moving: bool = False  # whether L or ψ depends on time
    clock: float | Array = 0.0
    derived: dict[Any, tracing.Function] = field(default_factory=dict, repr=False)

    traced_from: ClassVar = packages("tracing", "linalg", "formulations", "systems")
    inputs: ClassVar = MORE_INPUTS

    @property
    def catalogue(self) -> Mapping[str, Quantity]:
        """Lagrange's quantities, and those of the particles where there are any."""
        return CATALOGUES[bool(self.dimension), self.moving]

    @property
    def has_chart_energy(self) -> bool:
        return "T0" in self.function.names

    @property
    def gyroscopic(self) -> bool:
        return "linear" in self.function.names

    @property
    def printed(self) -> tuple[str, ...]:
        own = symbols_of(self)
        here = self.bind(own["parameters"]).at_time(own["t"])
        chart_force = euler_lagrange.chart_force(here, own["q"], own["qd"])
        more = {
            "G": not tracing.is_zero(euler_lagrange.gyroscopic_matrix(here, own["q"])),
            "e": self.moving and not tracing.is_zero(chart_force),
            "psi": not tracing.is_zero(own["forces"]),
        }
        return ("M", "C", "g", *(key for key, nonzero in more.items() if nonzero))

    def at_time(self, t: Time) -> Energies:
        """The same as it stands at time t, a number or a symbol; None is time zero."""
        return replace(self, clock=0.0 if t is None else t) if self.moving else self

    def generalized_forces(self, q: Array, qd: Array, t: Time = None) -> Array:
        here = self if t is None else self.at_time(t)
        return here.compute("generalized_forces", q=q, qd=qd)

    def motion(self, t: Time, q: Array, qd: Array, tau: Array) -> tuple[Array, Array]:
        return super(Energies, self.at_time(t)).motion(t, q, qd, tau)

    def chart_power(self, q: Array, qd: Array) -> Scalar:
        return euler_lagrange.chart_power(self, q, qd) if self.moving else 0.0

    def require_regular(self) -> None:
        """Raise if M(q) is singular at all of some random states, naming the null direction."""
        least = None
        for q, _, values, t in sample_states(self):
            M = mass_matrix(self.bind(values).at_time(t), q)
            if not np.isfinite(M).all():
                continue
            inertia, direction = least_inertia(M)
            if inertia > RELATIVE_INERTIA:
                return
            least = (inertia, direction)
        if least is not None:
            raise singular(self, *least)

    @property
    def particles(self) -> int:
        """Number of particles."""
        if not self.dimension:
            return 0
        return self.function.shapes[self.function.names.index("positions")][0]

    @cached_property
    def content(self) -> str:
        """A digest of everything that shapes the numbers: equal systems have equal digests."""
        named = (self.name, self.coordinates, list(self.parameters.items()), self.dimension)
        text = f"{named!r}\n{self.function.serialize()}"
        return hashlib.sha256(text.encode()).hexdigest()

    def bind(self, values: Array) -> Energies:
        """These energies with parameters `values` (n_parameters,), floats or symbols."""
        return replace(self, values=values, parameters={})

    def evaluate(self, formula: Formula | str, **inputs: Array) -> Array:
        """A formula, or an output of `function` by name, at these inputs."""
        # a lambda is a new object in every call, its code is not
        key = (getattr(formula, "__code__", formula), *inputs)
        if key not in self.derived:
            symbols = symbols_of(self)
            arguments = [symbols[name] for name in (*inputs, "parameters", "t")]
            expression = symbols[formula] if isinstance(formula, str) else formula(symbols)
            self.derived[key] = tracing.Function(arguments, [expression])
        value: Array = self.derived[key](*inputs.values(), self.values, self.clock)[0]
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        state = (self.name, self.coordinates, self.function, dict(self.parameters))
        return Energies, (*state, self.dimension, self.values, self.moving, self.clock)


# what rounding leaves of a zero, after a few dozen operations on numbers of order one
ROUNDING = 1e-10
# a direction with this little inertia beside that of its coordinates is rounding, not inertia
RELATIVE_INERTIA = 1e-13


def sample_states(
    energies: Energies, count: int = 24
) -> Iterator[tuple[Array, Array, Array, float]]:
    """Random q (large and small), velocities, parameters (defaults or positive numbers) and times."""
    rng = np.random.default_rng(0)
    defaults = energies.parameters.values()
    for k in range(count):
        free = rng.uniform(0.5, 1.5, len(energies.parameters))
        known = [x if d is None else d for x, d in zip(free, defaults, strict=True)]
        scale = (1.0, 0.1, 0.01, 0.001)[k % 4]
        q = scale * rng.uniform(-1.0, 1.0, energies.nq)
        yield q, rng.uniform(0.5, 1.5, energies.nq), np.array(known, dtype=float), 0.1 * k


def least_inertia(M: Array) -> tuple[float, Array]:
    """The smallest eigenvalue of M beside its diagonal, 1 for a diagonal M, and its direction.

    >>> inertia, direction = least_inertia(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    >>> abs(inertia) < 1e-15, direction / direction[0]
    (True, array([1., 1.]))
    """
    diagonal = np.diag(M)
    weightless = np.flatnonzero(np.abs(diagonal) <= RELATIVE_INERTIA * np.abs(M).max())
    if weightless.size:
        return float(diagonal[weightless[0]] * 0.0), np.eye(len(M))[weightless[0]]
    if diagonal.min() < 0.0:
        return -1.0, np.eye(len(M))[diagonal.argmin()]
    root = np.sqrt(diagonal)
    values, vectors = np.linalg.eigh(M / np.outer(root, root))
    return float(values[0]), vectors[:, 0] / root


def singular(
    energies: Energies, inertia: float, direction: Array, where: str = ""
) -> SingularMassMatrixError:
    """The error that names the direction in which nothing, or less than nothing, resists."""
    what = "singular" if inertia >= -ROUNDING else "not positive definite"
    named = combination(direction, energies.coordinates)
    return SingularMassMatrixError(
        f"{energies.name}: M(q) is {what}{where}: the kinetic energy does not grow with the "
        f"velocity along {named}, so the accelerations are not determined; give this motion "
        "inertia, leave out a coordinate or choose others"
    )


def combination(direction: Array, names: tuple[str, ...]) -> str:
    """A direction in the names of the coordinates, its largest component one.

    >>> combination(np.array([0.5, 0.0, -1.0]), ("x", "y", "z"))
    '0.5 x − z'
    >>> combination(np.array([0.0, 2.0]), ("x", "theta"))
    'theta'
    """
    scaled = direction / np.abs(direction).max()
    terms = [(v, name) for v, name in zip(scaled, names, strict=True) if abs(v) > 1e-6]
    flip = np.sign(terms[0][0])
    text = " ".join(
        f"{'+' if v * flip > 0 else '−'} {name if abs(v) > 1 - 1e-6 else f'{abs(v):.4g} {name}'}"
        for v, name in terms
    )
    return text.removeprefix("+ ")


SPLIT = ("kinetic", "potential", "linear", "T1", "T0")


def split_by_degree(energies: Energies) -> Energies:
    """The same system with K a quadratic form, U without velocities, and a as `linear`.

    Raise where L is no polynomial of second degree in q̇; a plain K and U are not changed.
    """
    s = symbols_of(energies)
    velocities = list(zip(energies.coordinates, s["qd"], strict=True))
    in_potential = [name for name, rate in velocities if tracing.depends_on(s["potential"], rate)]
    if not _has_more(energies, s, in_potential):
        return energies
    M = tracing.hessian(s["kinetic"], s["qd"])
    L = s["kinetic"] - s["potential"]
    momentum = tracing.gradient(s["kinetic"], s["qd"])
    at_rest = [L, tracing.gradient(L, s["qd"]), M, momentum, s["kinetic"]]
    still, a, M, first, T0 = values = tracing.at(at_rest, [s["qd"]], [np.zeros(s["qd"].shape)])
    for constant in map(tracing.constant, values):
        if constant is not None and not np.isfinite(constant).all():
            raise ModelError(
                "the kinetic energy has no value at rest, where its linear part is read; write "
                "squares of velocities without roots and quotients"
            )
    parts = {"kinetic": 0.5 * (s["qd"] @ (M @ s["qd"])), "potential": -still}
    if not (tracing.is_zero(first) and tracing.is_zero(T0)):
        parts |= {"T1": first @ s["qd"], "T0": T0}
    parts |= {name: s[name] for name in energies.function.names if name not in SPLIT}
    if not tracing.is_zero(a):
        parts["linear"] = a
    function = tracing.Function([s[name] for name in ARGUMENTS], parts)
    return replace(energies, function=function, derived={})


def _has_more(energies: Energies, s: Symbols, in_potential: list[str]) -> bool:
    """Whether L is more than ½ q̇ᵀM q̇ and a function of q; an error above second degree."""
    momentum = tracing.gradient(s["kinetic"], s["qd"])
    M = tracing.jacobian(momentum, s["qd"])
    curvature = tracing.hessian(s["potential"], s["qd"])
    inputs = [s[name] for name in ARGUMENTS]
    probe = tracing.Function(inputs, [s["kinetic"], momentum, M, s["potential"], curvature])
    finite, more = 0, bool(in_potential)
    for q, qd, values, t in sample_states(energies):
        here, there = probe(q, qd, values, t), probe(q, -1.7 * qd[::-1], values, t)
        if not all(np.isfinite(x).all() for x in (*here, there[2])):
            continue
        finite += 1
        K, p, M, _, curvature_here = here
        scale = ROUNDING * (np.abs(M).max() + np.abs(p).max() + 1e-300)
        wrong = np.abs(M - there[2]).max(axis=1) > scale
        if wrong.any():
            names = " and ".join(np.array(energies.coordinates)[wrong])
            raise ModelError(
                f"{energies.name}: the kinetic energy is not quadratic in the velocities: ∂²K/∂q̇² "
                f"changes with them in the rows of {names}"
            )
        if (np.abs(curvature_here).max(axis=1) > ROUNDING).any():
            raise ModelError(
                f"{energies.name}: the potential energy depends on the velocity of "
                f"{in_potential[0]}, and not linearly; give forces that depend on velocities as "
                "forces="
            )
        speed = 1.0 + np.abs(qd).sum()
        more |= bool((np.abs(p - M @ qd) > scale * speed).any())
        more |= bool(abs(K.item() - 0.5 * qd @ M @ qd) > scale * speed**2)
    if not finite:
        raise ModelError(
            f"{energies.name}: the energies have no finite value at any of the random states "
            "tried; check roots, logarithms and divisions"
        )
    return more
