"""Virtual work: rest postures under applied forces, and the work of forces along δq (002)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.errors import ConvergenceError, ShapeError
from dalembert.systems.balance import Balance, Point
from dalembert.systems.evaluator import Parameters
from dalembert.systems.system import System

FLAT = 1e-9  # a curvature this far below the largest is none


@dataclass(frozen=True)
class Equilibrium:
    """A rest posture: N(q) − ψ(q, 0) + Aᵀλ = τ on h(q, t) = 0; free systems have no A, λ and h."""

    q: np.ndarray  # (nq,)
    tau: np.ndarray  # (nv,) the forces it is held by
    # (nv, nv) ∂(N − ψ + Aᵀλ)/∂q: the Hessian of U + λᵀh where all forces have a potential
    stiffness: np.ndarray
    # (freedoms,) eigenvalues of M⁻¹K on ker A, 1/s²; of K where M is singular there, N m
    curvatures: np.ndarray
    # "stable", "unstable" or "neutral" (some direction has no curvature); gyroscopic forces, which
    # are not asked here, may hold what is unstable without them
    stability: str
    potential_energy: float
    residual: float  # largest |N − ψ + Aᵀλ − τ|
    lam: np.ndarray = field(default_factory=lambda: np.zeros(0))  # reactions (rows,), least norm


def virtual_work(system: System, q: Any, forces: Any, dq: Any) -> Any:
    """δW (...) of applied forces along a virtual displacement δq (..., nv), joules (002).

    For `Particles`, `forces` (..., k, d) act on the particles: Σ f_i·δr_i. For other systems they
    are generalised forces (..., nv): Σ ψ_j δq_j. The reactions Aᵀλ of constraints do no work along
    displacements that these permit, A δq = 0; along others they do, which is how one finds them.

    >>> import dalembert as dl
    >>> round(float(virtual_work(dl.load("pendulum"), [0.3], [2.0], [0.1])), 12)
    0.2
    """
    if "virtual_work" in system.dynamics.catalogue:
        return system.evaluate("virtual_work", q, forces, dq)
    psi, step = np.asarray(forces, dtype=float), np.asarray(dq, dtype=float)
    for name, array in (("forces", psi), ("dq", step)):
        if array.shape[-1:] != (system.nv,):
            expected = f"(..., {system.nv})"
            raise ShapeError(f"{system.name}: {name} has shape {array.shape}, expected {expected}")
    return (psi * step).sum(axis=-1)


def equilibrium(
    system: System,
    guess: Any = None,
    tau: Any = None,
    parameters: Parameters = None,
    starts: int = 32,
    t: float = 0.0,
) -> Equilibrium:
    """The rest posture that Newton's method reaches from `guess`, or from random starts about it.

    At rest the virtual work of all forces vanishes for every δq that the constraints permit:
    N(q) − ψ(q, 0) + Aᵀλ = τ with h(q, t) = 0. Constraints are held as they stand at time `t`; of
    redundant ones λ is that of least norm. Those on velocities alone, such as rolling, bear forces
    without fixing a posture: rest is where no force is left along ker A, which may be a whole
    family, and the posture found is one of it near the start. Friction without motion is taken as
    none, though it would hold postures nearby.

    >>> import dalembert as dl
    >>> found = equilibrium(dl.load("pendulum"), guess=[0.4], tau=[4.905])  # m g l sin θ = τ
    >>> found.q, found.stability
    (array([0.52359878]), 'stable')
    >>> equilibrium(dl.load("pendulum_constrained"), guess=[0.1, -1.0]).lam  # m g
    array([9.81])
    """
    nearest: Point | None = None
    for problem, q in _attempts(system, guess, tau, parameters, starts, t):
        found, resting = problem.solve(q)
        if found is not None and resting:
            return _described(problem, found)
        if found is not None and (nearest is None or not nearest.left <= found.left):
            nearest = found
    if nearest is None:
        raise ConvergenceError(
            f"{system.name}: none of {starts + 1} starts could be brought onto the constraints at "
            f"t = {t}. Give a guess nearer to an assembled posture"
        )
    raise ConvergenceError(
        f"{system.name}: no rest posture found from {starts + 1} starts; the nearest leaves "
        f"{nearest.left:.3g} out of balance along {problem.worst(nearest)}, at q = {nearest.q}. "
        "Give another guess, or forces the system can hold"
    )


def equilibria(
    system: System,
    guess: Any = None,
    tau: Any = None,
    parameters: Parameters = None,
    starts: int = 32,
    t: float = 0.0,
) -> tuple[Equilibrium, ...]:
    """All different rest postures reached from the starts, the lowest potential energy first.

    Postures that differ by whole turns, or in a coordinate that no force or constraint depends on,
    count once. Of a family of rest postures, those that the starts reach are there.

    >>> import dalembert as dl
    >>> [rest.stability for rest in equilibria(dl.load("pendulum"))]
    ['stable', 'unstable']
    """
    found: list[tuple[Point, Equilibrium]] = []
    for problem, q in _attempts(system, guess, tau, parameters, starts, t):
        new, resting = problem.solve(q)
        if new is not None and resting and not any(problem.same(new, old) for old, _ in found):
            found.append((new, _described(problem, new)))
    return tuple(sorted((rest for _, rest in found), key=lambda rest: rest.potential_energy))


def _attempts(
    system: System, guess: Any, tau: Any, parameters: Parameters, starts: int, t: float
) -> Iterator[tuple[Balance, np.ndarray]]:
    """The problem with each starting posture."""
    problem = Balance(system.dynamics, tau, parameters, t)
    first = np.asarray(system.neutral() if guess is None else guess, dtype=float)
    if first.shape != (system.nq,):
        raise ShapeError(f"{system.name}: guess has shape {first.shape}, expected ({system.nq},)")
    yield problem, first
    rng = np.random.default_rng(0)
    for _ in range(starts):
        yield problem, problem.moved(first, rng.uniform(-np.pi, np.pi, system.nv))


def _described(problem: Balance, at: Point) -> Equilibrium:
    """The posture with its stability: small motions along ker A, M_r η̈ + K_r η = 0."""
    Z = at.free
    curvatures = _curvatures(Z.T @ at.K @ Z, Z.T @ at.M @ Z)
    flat = FLAT * max(np.abs(curvatures).max(initial=0.0), 1e-300)
    twisted = np.abs(curvatures.imag).max(initial=0.0) > flat
    lowest = curvatures.real.min(initial=np.inf)  # without freedoms nothing can give way
    stability = "unstable" if twisted or lowest < -flat else "stable"
    if stability == "stable" and lowest <= flat:
        stability = "neutral"
    real = curvatures if twisted else curvatures.real
    return Equilibrium(at.q, problem.tau, at.K, real, stability, at.U, at.left, at.lam)


def _curvatures(K: np.ndarray, M: np.ndarray) -> np.ndarray:
    """Eigenvalues of M⁻¹ K, sorted: ω² of small motions where K is symmetric."""
    regular = np.isfinite(M).all() and np.linalg.matrix_rank(M) == len(M)
    found = np.linalg.eigvals(np.linalg.solve(M, K) if regular else K)
    return np.sort_complex(found)
