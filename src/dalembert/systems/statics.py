"""Static equilibria of any system, constrained or free, and virtual work (002).

r = N(q) − ψ(q, 0) − τ + Aᵀλ = 0 with h(q, t) = 0. λ is the least-squares solution at every
configuration, of least norm where rows are redundant, so r is the part of the forces that no reaction
can bear. Rows on velocities alone (rolling) bear forces but leave the configuration free: equilibrium
is required along ker A, and where a whole family meets it, the step of least norm leads to a near one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from dalembert import tracing
from dalembert.errors import ConvergenceError, ShapeError
from dalembert.linalg.rank import CLOSED, RELATIVE, ROUNDING, close, least_squares, null_space, unit
from dalembert.systems.dynamics import Array
from dalembert.systems.energies import combination
from dalembert.systems.evaluator import Parameters
from dalembert.systems.system import Dynamics, System

ITERATIONS, LARGEST_STEP = 60, 1.0  # Newton's; a step in rad or m
IMBALANCE = 1e-11  # of the largest force met: Newton's last step squares the error below this


@dataclass(frozen=True)
class NewtonPoint:
    """A configuration on the constraints, with the terms of Newton's method there."""

    q: np.ndarray
    lam: np.ndarray  # λ (rows,) of least squares
    r: np.ndarray  # N − ψ − τ + Aᵀλ (nv,)
    K: np.ndarray  # ∂(N − ψ + Aᵀλ)/∂q along the velocities (nv, nv)
    A: np.ndarray  # (rows, nv)
    H: np.ndarray  # ∂h/∂q along the velocities (position rows, nv)
    M: np.ndarray
    U: float  # J

    @property
    def residual(self) -> float:
        """The largest force out of balance."""
        return float(np.abs(self.r).max(initial=0.0))


def _vector(system: Dynamics, name: str, x: ArrayLike, size: int) -> Array:
    """x (size,) as numbers."""
    vector = np.asarray(x, dtype=float)
    if vector.shape != (size,):
        raise ShapeError(f"{system.name}: {name} has shape {vector.shape}, expected ({size},)")
    return vector


class StaticBalance:
    """The static equilibrium of one system under forces τ (nv,), with the constraints at time t."""

    def __init__(
        self, system: Dynamics, tau: ArrayLike | None, parameters: Parameters, t: float
    ) -> None:
        self.tau = np.zeros(system.nv) if tau is None else _vector(system, "tau", tau, system.nv)
        self.system = system.on_symbols.bound(parameters)
        self._forces, self._derivatives, self.relevant = _functions(self.system, t)
        self.scale = 1e-300  # the largest force met

    def moved(self, q: Array, step: Array) -> Array:
        return np.asarray(self.system.integrate(q, step), dtype=float)

    def starts(self, guess: ArrayLike, count: int) -> Iterator[Array]:
        """The guess, then random configurations about it."""
        first = _vector(self.system, "guess", guess, self.system.nq)
        yield first
        rng = np.random.default_rng(0)
        for _ in range(count):
            yield self.moved(first, rng.uniform(-np.pi, np.pi, self.system.nv))

    def close(self, q: Array) -> tuple[Array, float]:
        """(The configuration on h = 0 near q, the residual of h)."""

        def rows(at: Array) -> tuple[Array, Array]:
            _, _, h, H, spread = self._forces(at)
            return h, H @ spread

        return close(q, rows, self.moved)

    def at(self, q: Array) -> NewtonPoint:
        """The terms at a configuration on the constraints."""
        f, A, _, H, spread = self._forces(q)
        finite = np.abs(f[np.isfinite(f)]).max(initial=0.0)
        self.scale = max(self.scale, finite, np.abs(self.tau).max(initial=0.0))
        usable = len(A) and np.isfinite(f).all() and np.isfinite(A).all()
        load = self.tau - f
        lam = least_squares(A.T, load)[0] if usable else np.zeros(len(A))
        K, M, U = self._derivatives(q, lam)
        return NewtonPoint(q, lam, A.T @ lam - load, K @ spread, A, H @ spread, M, U.item())

    def solve(self, q: Array) -> tuple[NewtonPoint | None, bool]:
        """Newton's method, each step halved until |r| falls: (last point, whether it is balanced).

        None where q cannot be brought onto the constraints.
        """
        q, error = self.close(q)
        if not error <= CLOSED:
            return None, False
        at = self.at(q)
        for _ in range(ITERATIONS):
            if not np.isfinite(at.r).all() or not np.isfinite(at.K).all():
                return at, False
            if at.residual <= IMBALANCE * self.scale:
                return at, True
            after = self._newton_step(at)
            if after is None:
                break
            at = after
        return at, at.residual <= IMBALANCE * self.scale

    def _newton_step(self, at: NewtonPoint) -> NewtonPoint | None:
        # K δq + Aᵀ δλ = −r, H δq = 0: of least norm where that leaves a choice
        size = max(np.abs(at.K).max(initial=0.0), 1e-300)  # so that K and A are of one size
        n, rows, position_rows = len(at.r), len(at.A), len(at.H)
        matrix = np.block([[at.K / size, at.A.T], [at.H, np.zeros((position_rows, rows))]])
        right = np.concatenate([-at.r / size, np.zeros(position_rows)])
        # free systems may mix stiff springs with slack ones; redundant rows are no smaller
        step = least_squares(matrix, right, RELATIVE if rows else ROUNDING)[0][:n]
        step *= min(1.0, LARGEST_STEP / max(1e-300, np.abs(step).max()))
        for _ in range(30):
            q, error = self.close(self.moved(at.q, step))
            if error <= CLOSED:
                trial = self.at(q)
                if np.linalg.norm(trial.r) < np.linalg.norm(at.r):
                    return trial
            step = 0.5 * step
        return None

    def same(self, a: NewtonPoint, b: NewtonPoint) -> bool:
        """Equal up to whole turns and coordinates that no force or constraint depends on."""
        if len(a.q) != self.system.nv:
            return bool(np.allclose(a.q, b.q, atol=1e-6) or np.allclose(a.q, -b.q, atol=1e-6))
        apart = np.where(self.relevant, a.q - b.q, 0.0)
        if not np.allclose(apart, 2 * np.pi * np.round(apart / (2 * np.pi)), atol=1e-6):
            return False
        near = 1e-6 * self.scale
        return bool(np.allclose(a.K, b.K, atol=near) and np.allclose(a.U, b.U, atol=near))


def _functions(system: Dynamics, t: float) -> tuple[tracing.Function, tracing.Function, Array]:
    """q → (N − ψ, A, h, ∂h/∂q, S), (q, λ) → (∂(N − ψ + Aᵀλ)/∂q, M, U), and the q they depend on.

    S (nq, nv) is ∂q̇/∂v: on a quaternion joint the velocities are no rates of coordinates. The
    derivatives are multiplied by it as numbers, for many bodies far shorter than as symbols.
    """
    system = system.at_time(t)
    q, v = tracing.symbol("q", system.nq), tracing.symbol("v", system.nv)
    lam, still = tracing.symbol("lam", system.rows), np.zeros(system.nv)
    f = system.bias(q, still) - system.generalized_forces(q, still, t)
    rows = system.at(q, None, t)
    A = tracing.flat([rows.A]).reshape(system.rows, system.nv)
    spread = tracing.jacobian(system.rate(q, v), v)
    forces = tracing.Function([q], [f, A, rows.h, tracing.jacobian(rows.h, q), spread])
    stiffness = tracing.jacobian(f + A.T @ lam, q)
    outputs = [stiffness, system.mass_matrix(q), system.potential_energy(q)]
    used = {tracing.identity(x) for x in tracing.symbols_of(tracing.flat([f, A, rows.h]))}
    relevant = np.array([tracing.identity(x) in used for x in q])
    return forces, tracing.Function([q, lam], outputs), relevant


FLAT = 1e-9  # of the largest curvature: below it a curvature is zero


@dataclass(frozen=True)
class Equilibrium:
    """A static equilibrium: N(q) − ψ(q, 0) + Aᵀλ = τ, h(q, t) = 0; free systems have no A, λ, h."""

    q: np.ndarray  # (nq,)
    tau: np.ndarray  # (nv,) the applied generalised forces
    # (nv, nv) ∂(N − ψ + Aᵀλ)/∂q: the Hessian of U + λᵀh where all forces have a potential
    stiffness: np.ndarray
    # (freedoms,) eigenvalues of M⁻¹K on ker A, 1/s²; of K where M is singular there, N m
    curvatures: np.ndarray
    # "stable", "unstable" or "neutral" (some direction has no curvature); gyroscopic
    # forces, which are not considered, may stabilise what is unstable without them
    stability: str
    potential_energy: float
    residual: float  # largest |N − ψ + Aᵀλ − τ|
    lam: np.ndarray = field(default_factory=lambda: np.zeros(0))  # reactions (rows,), least norm


def virtual_work(system: System, q: ArrayLike, forces: ArrayLike, dq: ArrayLike) -> Array:
    """δW (...) of applied forces along a virtual displacement δq (..., nv), joules (002).

    For `Particles`, `forces` (..., k, d) act on the particles: Σ f_i·δr_i. For other systems they
    are generalised forces (..., nv): Σ ψ_j δq_j. The reactions Aᵀλ of constraints do no work along
    displacements that these permit, A δq = 0; along others they do, which is a way to compute them.

    Parameters
    ----------
    system : System
        Any system.
    q : array_like
        Configurations (..., nq).
    forces : array_like
        Forces (..., k, d) on particles, or generalised forces (..., nv).
    dq : array_like
        Virtual displacements (..., nv).

    Returns
    -------
    ndarray
        δW (...), J.

    Examples
    --------
    >>> import dalembert as dl
    >>> round(float(virtual_work(dl.load("pendulum"), [0.3], [2.0], [0.1])), 12)
    0.2
    """
    if "virtual_work" in system.dynamics.catalogue:
        of_particles: Array = system.evaluate("virtual_work", q, forces, dq)
        return of_particles
    psi, step = np.asarray(forces, dtype=float), np.asarray(dq, dtype=float)
    for name, array in (("forces", psi), ("dq", step)):
        if array.shape[-1:] != (system.nv,):
            expected = f"(..., {system.nv})"
            raise ShapeError(f"{system.name}: {name} has shape {array.shape}, expected {expected}")
    work: Array = (psi * step).sum(axis=-1)
    return work


def equilibrium(
    system: System,
    guess: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    parameters: Parameters = None,
    starts: int = 32,
    t: float = 0.0,
) -> Equilibrium:
    """The static equilibrium that Newton's method finds from `guess`, or from random starts near it.

    At rest the virtual work of all forces vanishes for every δq that the constraints permit:
    N(q) − ψ(q, 0) + Aᵀλ = τ with h(q, t) = 0. Constraints are those at time `t`; λ of redundant
    ones has the least norm. Constraints on velocities alone, such as rolling, bear forces without
    fixing a configuration: equilibrium is where no force is left along ker A, which may be a whole
    family, and one of it near the start is returned. Static friction is neglected.

    Parameters
    ----------
    system : System
        Any system.
    guess : array_like, optional
        Configuration (nq,) to start from; default the reference configuration.
    tau : array_like, optional
        Generalised forces (nv,); default none.
    parameters : mapping or array_like, optional
        Values of the named parameters.
    starts : int
        Number of random starts, where the first fails or all are wanted.
    t : float
        Time, s.

    Returns
    -------
    Equilibrium
        q, λ and its stability.

    Raises
    ------
    ConvergenceError
        If no start leads to an equilibrium.

    Examples
    --------
    >>> import dalembert as dl
    >>> rest = equilibrium(dl.load("pendulum"), guess=[0.4], tau=[4.905])  # m g l sin θ = τ
    >>> rest.q, rest.stability
    (array([0.52359878]), 'stable')
    >>> equilibrium(dl.load("pendulum_constrained"), guess=[0.1, -1.0]).lam  # m g
    array([9.81])
    """
    nearest: NewtonPoint | None = None
    problem = StaticBalance(system.dynamics, tau, parameters, t)
    for q in problem.starts(system.neutral() if guess is None else guess, starts):
        point, balanced = problem.solve(q)
        if point is not None and balanced:
            return _equilibrium(problem, point)
        if point is None:
            continue
        if nearest is None or not nearest.residual <= point.residual:
            nearest = point
    if nearest is None:
        raise ConvergenceError(
            f"{system.name}: none of {starts + 1} starts could be brought onto the constraints at "
            f"t = {t}. Give a guess nearer to an assembled posture"
        )
    along = ""  # NaN has no direction
    if nearest.residual > 0.0:
        along = combination(nearest.r, problem.system.velocities)
    raise ConvergenceError(
        f"{system.name}: no rest posture found from {starts + 1} starts; the nearest leaves "
        f"{nearest.residual:.3g} out of balance along {along}, at q = {nearest.q}. "
        "Give another guess, or forces the system can hold"
    )


def equilibria(
    system: System,
    guess: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    parameters: Parameters = None,
    starts: int = 32,
    t: float = 0.0,
) -> tuple[Equilibrium, ...]:
    """All different equilibria found from the starts, the lowest potential energy first.

    Configurations that differ by whole turns, or in a coordinate that no force or constraint depends
    on, count once. A family of equilibria is represented by those found from the starts.

    Parameters
    ----------
    system : System
        Any system.
    guess : array_like, optional
        Configuration (nq,) to start from; default the reference configuration.
    tau : array_like, optional
        Generalised forces (nv,); default none.
    parameters : mapping or array_like, optional
        Values of the named parameters.
    starts : int
        Number of random starts, where the first fails or all are wanted.
    t : float
        Time, s.

    Returns
    -------
    tuple of Equilibrium
        Each with q, λ and its stability.

    Examples
    --------
    >>> import dalembert as dl
    >>> [rest.stability for rest in equilibria(dl.load("pendulum"))]
    ['stable', 'unstable']
    """
    results: list[tuple[NewtonPoint, Equilibrium]] = []
    problem = StaticBalance(system.dynamics, tau, parameters, t)
    for q in problem.starts(system.neutral() if guess is None else guess, starts):
        new, balanced = problem.solve(q)
        if new is not None and balanced and not any(problem.same(new, old) for old, _ in results):
            results.append((new, _equilibrium(problem, new)))
    return tuple(sorted((rest for _, rest in results), key=lambda rest: rest.potential_energy))


def _equilibrium(problem: StaticBalance, at: NewtonPoint) -> Equilibrium:
    """The equilibrium with its stability: small motions along ker A, M_r η̈ + K_r η = 0."""
    Z = null_space(unit(at.A))
    K, M = Z.T @ at.K @ Z, Z.T @ at.M @ Z
    # eigenvalues of M⁻¹ K: ω² of small motions where K is symmetric
    regular = np.isfinite(M).all() and np.linalg.matrix_rank(M) == len(M)
    curvatures = np.sort_complex(np.linalg.eigvals(np.linalg.solve(M, K) if regular else K))
    flat = FLAT * max(np.abs(curvatures).max(initial=0.0), 1e-300)
    twisted = np.abs(curvatures.imag).max(initial=0.0) > flat
    lowest = curvatures.real.min(initial=np.inf)  # without freedoms nothing can give way
    stability = "unstable" if twisted or lowest < -flat else "stable"
    if stability == "stable" and lowest <= flat:
        stability = "neutral"
    real = curvatures if twisted else curvatures.real
    return Equilibrium(at.q, problem.tau, at.K, real, stability, at.U, at.residual, at.lam)
