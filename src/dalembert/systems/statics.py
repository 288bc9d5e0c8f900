"""Virtual work: rest postures under applied forces, and the work of forces along δq (002)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import bridge
from dalembert.errors import ConvergenceError, FormulationError, ShapeError
from dalembert.systems.check import combination
from dalembert.systems.evaluator import Parameters
from dalembert.systems.system import Dynamics, System

ITERATIONS, LARGEST_STEP = 60, 1.0  # Newton's; a step in rad or m
IMBALANCE = 1e-11  # of the largest force met: Newton's last step squares the error below this
FLAT = 1e-9  # a curvature this far below the largest is none


@dataclass(frozen=True)
class Equilibrium:
    """A rest posture: N(q) − ψ(q, 0) = τ."""

    q: np.ndarray  # (nq,)
    tau: np.ndarray  # (nv,) the forces it is held by
    stiffness: (
        np.ndarray
    )  # (nv, nv) ∂(N − ψ)/∂q: the Hessian of U where all forces have a potential
    curvatures: np.ndarray  # (nv,) eigenvalues of M⁻¹K, or of K where M is singular, 1/s² or N m
    stability: str  # "stable", "unstable" or "neutral" (some direction has no curvature)
    potential_energy: float
    residual: float  # largest |N − ψ − τ|


def virtual_work(system: System, q: Any, forces: Any, dq: Any) -> Any:
    """δW (...) of applied forces along a virtual displacement δq (..., nv), joules (002).

    For `Particles`, `forces` (..., k, d) act on the particles: Σ f_i·δr_i. For other systems they
    are generalised forces (..., nv): Σ ψ_j δq_j.

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
) -> Equilibrium:
    """The rest posture that Newton's method reaches from `guess`, or from random starts about it.

    At rest the virtual work of all forces vanishes for every δq: N(q) − ψ(q, 0) = τ. Friction
    without motion is taken as none, though it would hold postures nearby.

    >>> import dalembert as dl
    >>> found = equilibrium(dl.load("pendulum"), guess=[0.4], tau=[4.905])  # m g l sin θ = τ
    >>> found.q, found.stability
    (array([0.52359878]), 'stable')
    """
    best = (np.inf, np.zeros(system.nq), "")
    for problem, q in _attempts(system, guess, tau, parameters, starts):
        q, left, converged = problem.solve(q)
        if converged:
            return problem.at(q)
        if left < best[0]:
            best = (left, q, problem.worst(q))
    raise ConvergenceError(
        f"{system.name}: no rest posture found from {starts + 1} starts; the nearest leaves "
        f"{best[0]:.3g} out of balance along {best[2]}, at q = {best[1]}. Give another guess, or "
        "forces the system can hold"
    )


def equilibria(
    system: System,
    guess: Any = None,
    tau: Any = None,
    parameters: Parameters = None,
    starts: int = 32,
) -> tuple[Equilibrium, ...]:
    """All different rest postures reached from the starts, the lowest potential energy first.

    Postures that differ by whole turns, or in a coordinate that no force depends on, count once.

    >>> import dalembert as dl
    >>> [rest.stability for rest in equilibria(dl.load("pendulum"))]
    ['stable', 'unstable']
    """
    found: list[Equilibrium] = []
    for problem, q in _attempts(system, guess, tau, parameters, starts):
        q, _, converged = problem.solve(q)
        if converged and not any(problem.same(q, rest.q) for rest in found):
            found.append(problem.at(q))
    return tuple(sorted(found, key=lambda rest: rest.potential_energy))


def _attempts(
    system: System, guess: Any, tau: Any, parameters: Parameters, starts: int
) -> Iterator[tuple[_Statics, np.ndarray]]:
    """The problem with each starting posture."""
    if system.dynamics.rows:
        raise FormulationError(
            f"{system.name} is held by constraints; rest postures are found of free systems: "
            "give it in coordinates that meet the constraints by themselves"
        )
    problem = _Statics(system.dynamics, tau, parameters)
    first = np.asarray(system.neutral() if guess is None else guess, dtype=float)
    if first.shape != (system.nq,):
        raise ShapeError(f"{system.name}: guess has shape {first.shape}, expected ({system.nq},)")
    yield problem, first
    rng = np.random.default_rng(0)
    for _ in range(starts):
        yield problem, problem.moved(first, rng.uniform(-np.pi, np.pi, system.nv))


class _Statics:
    """r(q) = N(q) − ψ(q, 0) − τ, its slope along the velocities, and M."""

    def __init__(self, system: Dynamics, tau: Any, parameters: Parameters) -> None:
        self.tau = np.zeros(system.nv) if tau is None else np.asarray(tau, dtype=float)
        if self.tau.shape != (system.nv,):
            raise ShapeError(
                f"{system.name}: tau has shape {self.tau.shape}, expected ({system.nv},)"
            )
        self.system = system = system.bound(parameters)
        self.function, self.felt = _statics(system)
        self.scale = 1e-300

    def numbers(self, q: np.ndarray) -> tuple[np.ndarray, ...]:
        """N − ψ, K, M and U."""
        return self.function(q)

    def evaluate(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """r (nv,) and K (nv, nv)."""
        r, K, *_ = self.numbers(q)
        finite = np.abs(r[np.isfinite(r)]).max(initial=0.0)
        self.scale = max(self.scale, finite, np.abs(self.tau).max())
        return r - self.tau, K

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        return np.asarray(self.system.integrate(q, step), dtype=float)

    def solve(self, q: np.ndarray) -> tuple[np.ndarray, float, bool]:
        """Newton's method, each step halved until |r| falls: (q, largest |r|, converged)."""
        r, K = self.evaluate(q)
        for _ in range(ITERATIONS):
            if not np.isfinite(r).all() or not np.isfinite(K).all():
                return q, np.inf, False
            if np.abs(r).max() <= IMBALANCE * self.scale:
                return q, float(np.abs(r).max()), True
            step = -np.linalg.lstsq(K, r, rcond=1e-12)[0]
            step *= min(1.0, LARGEST_STEP / max(1e-300, np.abs(step).max()))
            for _ in range(30):
                trial = self.moved(q, step)
                r_trial, K_trial = self.evaluate(trial)
                if np.linalg.norm(r_trial) < np.linalg.norm(r):
                    break
                step = 0.5 * step
            else:
                break
            q, r, K = trial, r_trial, K_trial
        return q, float(np.abs(r).max()), bool(np.abs(r).max() <= IMBALANCE * self.scale)

    def worst(self, q: np.ndarray) -> str:
        r, _ = self.evaluate(q)
        return combination(r, self.system.velocities) if np.abs(r).max() > 0 else ""

    def same(self, a: np.ndarray, b: np.ndarray) -> bool:
        """Equal up to whole turns and coordinates that no force depends on."""
        if len(a) != self.system.nv:
            return bool(np.allclose(a, b, atol=1e-6) or np.allclose(a, -b, atol=1e-6))
        apart = np.where(self.felt, a - b, 0.0)
        if not np.allclose(apart, 2 * np.pi * np.round(apart / (2 * np.pi)), atol=1e-6):
            return False
        _, K, _, U = self.numbers(a)
        _, K_b, _, U_b = self.numbers(b)
        near = 1e-6 * self.scale
        return bool(np.allclose(K, K_b, atol=near) and np.allclose(U, U_b, atol=near))

    def at(self, q: np.ndarray) -> Equilibrium:
        r, K = self.evaluate(q)
        _, _, M, U = self.numbers(q)
        curvatures = _curvatures(K, M)
        flat = FLAT * max(np.abs(curvatures).max(), 1e-300)
        twisted = np.abs(curvatures.imag).max() > flat
        lowest = curvatures.real.min()
        stability = "unstable" if twisted or lowest < -flat else "stable"
        if stability == "stable" and lowest <= flat:
            stability = "neutral"
        real = curvatures if twisted else curvatures.real
        return Equilibrium(q, self.tau, K, real, stability, U.item(), float(np.abs(r).max()))


def _curvatures(K: np.ndarray, M: np.ndarray) -> np.ndarray:
    """Eigenvalues of M⁻¹ K, sorted: ω² of small motions where K is symmetric."""
    regular = np.isfinite(M).all() and np.linalg.matrix_rank(M) == len(M)
    found = np.linalg.eigvals(np.linalg.solve(M, K) if regular else K)
    return np.sort_complex(found)


def _statics(system: Dynamics) -> tuple[bridge.Function, np.ndarray]:
    """q → (N − ψ, its slope along the velocities, M, U), and which coordinates N − ψ depends on."""
    q, v, still = bridge.symbol("q", system.nq), bridge.symbol("v", system.nv), np.zeros(system.nv)
    r = system.bias(q, still) - system.generalized_forces(q, still)
    # δq = (∂q̇/∂v) δv: on a quaternion joint the velocities are no rates of coordinates
    slope = bridge.jacobian(r, q) @ bridge.jacobian(system.rate(q, v), v)
    outputs = [r, slope, system.mass_matrix(q), system.potential_energy(q)]
    felt = np.array([bridge.depends_on(r, x) for x in q])
    return bridge.Function([q], outputs), felt
