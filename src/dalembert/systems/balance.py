"""The equations of rest of any system, constrained or free, and Newton's method on them.

r = N(q) − ψ(q, 0) − τ + Aᵀλ = 0 with h(q, t) = 0. At every posture λ is the solution of least squares,
the one of least norm where rows are redundant, so r is the part of the forces that no reaction can
bear. Rows on velocities alone (rolling) bear forces but leave the posture free: rest is asked for along
ker A, and where it is met on a whole family of postures, the step of least norm finds a near one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import tracing
from dalembert.errors import ShapeError
from dalembert.linalg.geometry import (
    CLOSED,
    RELATIVE,
    ROUNDING,
    close,
    least_squares,
    null_space,
    unit,
)
from dalembert.systems.check import combination
from dalembert.systems.evaluator import Parameters
from dalembert.systems.system import Dynamics

ITERATIONS, LARGEST_STEP = 60, 1.0  # Newton's; a step in rad or m
IMBALANCE = 1e-11  # of the largest force met: Newton's last step squares the error below this


@dataclass(frozen=True)
class Point:
    """A posture on the constraints, with what Newton's method needs there."""

    q: np.ndarray
    lam: np.ndarray  # λ (rows,) of least squares
    r: np.ndarray  # N − ψ − τ + Aᵀλ (nv,)
    K: np.ndarray  # ∂(N − ψ + Aᵀλ)/∂q along the velocities (nv, nv)
    A: np.ndarray  # (rows, nv)
    H: np.ndarray  # ∂h/∂q along the velocities (held, nv)
    M: np.ndarray
    U: float  # J

    @property
    def left(self) -> float:
        """The largest force out of balance."""
        return float(np.abs(self.r).max(initial=0.0))

    @property
    def free(self) -> np.ndarray:
        """An orthonormal basis (nv, freedoms) of the permitted velocities, ker A."""
        return null_space(unit(self.A))


class Balance:
    """The equations of rest of one system under forces τ (nv,), the constraints as at time t."""

    def __init__(self, system: Dynamics, tau: Any, parameters: Parameters, t: float) -> None:
        self.tau = np.zeros(system.nv) if tau is None else np.asarray(tau, dtype=float)
        if self.tau.shape != (system.nv,):
            raise ShapeError(
                f"{system.name}: tau has shape {self.tau.shape}, expected ({system.nv},)"
            )
        self.system = system.on_symbols.bound(parameters)
        self._forces, self._slopes, self.felt = _functions(self.system, t)
        self.scale = 1e-300  # the largest force met

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        return np.asarray(self.system.integrate(q, step), dtype=float)

    def closed(self, q: np.ndarray) -> tuple[np.ndarray, float]:
        """(The posture on h = 0 near q, what is left of |h|)."""

        def rows(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            _, _, h, slope, spread = self._forces(at)
            return h, slope @ spread

        return close(q, rows, self.moved)

    def at(self, q: np.ndarray) -> Point:
        """Everything at a posture that is closed."""
        f, A, _, slope, spread = self._forces(q)
        finite = np.abs(f[np.isfinite(f)]).max(initial=0.0)
        self.scale = max(self.scale, finite, np.abs(self.tau).max(initial=0.0))
        usable = len(A) and np.isfinite(f).all() and np.isfinite(A).all()
        load = self.tau - f
        lam = least_squares(A.T, load)[0] if usable else np.zeros(len(A))
        K, M, U = self._slopes(q, lam)
        return Point(q, lam, A.T @ lam - load, K @ spread, A, slope @ spread, M, U.item())

    def solve(self, q: np.ndarray) -> tuple[Point | None, bool]:
        """Newton's method, each step halved until |r| falls: the last point, and whether at rest.

        None where q cannot be brought onto the constraints.
        """
        q, open_by = self.closed(q)
        if not open_by <= CLOSED:
            return None, False
        at = self.at(q)
        for _ in range(ITERATIONS):
            if not np.isfinite(at.r).all() or not np.isfinite(at.K).all():
                return at, False
            if self.balanced(at):
                return at, True
            after = self._stepped(at)
            if after is None:
                break
            at = after
        return at, self.balanced(at)

    def balanced(self, at: Point) -> bool:
        return at.left <= IMBALANCE * self.scale

    def _stepped(self, at: Point) -> Point | None:
        step = _newton(at)
        step *= min(1.0, LARGEST_STEP / max(1e-300, np.abs(step).max()))
        for _ in range(30):
            q, open_by = self.closed(self.moved(at.q, step))
            if open_by <= CLOSED:
                trial = self.at(q)
                if np.linalg.norm(trial.r) < np.linalg.norm(at.r):
                    return trial
            step = 0.5 * step
        return None

    def worst(self, at: Point) -> str:
        return combination(at.r, self.system.velocities) if at.left > 0 else ""

    def same(self, a: Point, b: Point) -> bool:
        """Equal up to whole turns and coordinates that no force or constraint depends on."""
        if len(a.q) != self.system.nv:
            return bool(np.allclose(a.q, b.q, atol=1e-6) or np.allclose(a.q, -b.q, atol=1e-6))
        apart = np.where(self.felt, a.q - b.q, 0.0)
        if not np.allclose(apart, 2 * np.pi * np.round(apart / (2 * np.pi)), atol=1e-6):
            return False
        near = 1e-6 * self.scale
        return bool(np.allclose(a.K, b.K, atol=near) and np.allclose(a.U, b.U, atol=near))


def _newton(at: Point) -> np.ndarray:
    """δq (nv,) of K δq + Aᵀ δλ = −r, H δq = 0: of least norm where that leaves a choice."""
    size = max(np.abs(at.K).max(initial=0.0), 1e-300)  # so that K and A are of one size
    n, rows, held = len(at.r), len(at.A), len(at.H)
    matrix = np.block([[at.K / size, at.A.T], [at.H, np.zeros((held, rows))]])
    right = np.concatenate([-at.r / size, np.zeros(held)])
    # free systems may mix stiff springs with slack ones; redundant rows are no smaller
    return least_squares(matrix, right, RELATIVE if rows else ROUNDING)[0][:n]


def _functions(system: Dynamics, t: float) -> tuple[tracing.Function, tracing.Function, np.ndarray]:
    """q → (N − ψ, A, h, ∂h/∂q, S), (q, λ) → (∂(N − ψ + Aᵀλ)/∂q, M, U), and what they depend on.

    S (nq, nv) is ∂q̇/∂v: on a quaternion joint the velocities are no rates of coordinates. Slopes are
    multiplied by it as numbers, which for many bodies is far shorter than as symbols.
    """
    system = system.at_time(t)
    q, v, still = (
        tracing.symbol("q", system.nq),
        tracing.symbol("v", system.nv),
        np.zeros(system.nv),
    )
    lam = tracing.symbol("lam", system.rows)
    f = system.bias(q, still) - system.generalized_forces(q, still, t)
    rows = system.at(q, None, t)
    A = tracing.flat([rows.A]).reshape(system.rows, system.nv)
    spread = tracing.jacobian(system.rate(q, v), v)
    forces = tracing.Function([q], [f, A, rows.h, tracing.jacobian(rows.h, q), spread])
    outputs = [
        tracing.jacobian(f + A.T @ lam, q),
        system.mass_matrix(q),
        system.potential_energy(q),
    ]
    met = {tracing.identity(x) for x in tracing.symbols_of(tracing.flat([f, A, rows.h]))}
    felt = np.array([tracing.identity(x) in met for x in q])
    return forces, tracing.Function([q, lam], outputs), felt
