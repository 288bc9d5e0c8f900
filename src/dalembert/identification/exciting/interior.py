"""Descent inside of the limits: a barrier that becomes steeper, an objective that becomes sharper.

Each step solves (H + μ ∇²b) d = −(∇f + μ ∇b), H the quasi-Newton matrix of the objective alone (BFGS,
damped after Powell 1978) and ∇²b the barrier's own curvature, and goes along d until f + μ b falls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dalembert.identification.exciting.problem import Barrier, Problem

# (sharpness p, weight μ of the barrier) of the stages
STAGES = tuple((2.0**k, 0.1 * 0.3**k) for k in range(1, 6))
FEWEST, STEPS = 15, 60  # of a stage; fewer where little is left for all of them
ENOUGH = 1e-6  # of f + μ b that a step promises
HALVINGS = 20
ARMIJO, DAMPED = 1e-4, 0.2


@dataclass
class Effort:
    """Evaluations that a search may still make; `stop` says earlier that it is enough."""

    left: int
    stop: Callable[[], bool] = lambda: False
    spent: int = 0
    on: Callable[[int], None] = field(default=lambda spent: None)

    @property
    def over(self) -> bool:
        """Whether there is nothing left."""
        return self.left <= 0 or self.stop()

    def pay(self, count: int = 1) -> None:
        """Count evaluations."""
        self.left, self.spent = self.left - count, self.spent + count
        self.on(self.spent)


@dataclass
class Place:
    """Where the descent is: z, f and its slope, height and slopes of the barrier, and H."""

    z: np.ndarray
    f: float
    slope: np.ndarray
    height: float
    barrier: Barrier
    H: np.ndarray
    fresh: bool = True


def descend(problem: Problem, z: np.ndarray, effort: Effort) -> np.ndarray:
    """A better z, from one inside of the limits."""
    steps = min(STEPS, max(FEWEST, effort.left // len(STAGES)))
    for p, mu in STAGES:
        f, slope = problem.value(z, p)
        H = 1e-2 * max(1.0, float(np.linalg.norm(slope))) * np.eye(len(z))
        here = Place(z, f, slope, problem.height(z), problem.barrier(z), H)
        for _ in range(steps):
            if effort.over or not _step(problem, here, p, mu, effort):
                break
        z = here.z
        if effort.over:
            break
    return z


def _step(problem: Problem, here: Place, p: float, mu: float, effort: Effort) -> bool:
    """One step of a stage; False where there is none that is worth it."""
    gradient = here.slope + mu * here.barrier.slope
    d = -np.linalg.solve(here.H + mu * here.barrier.curvature, gradient)
    promised = float(gradient @ d)
    if -promised < ENOUGH:
        return False
    before, length = here.f + mu * here.height, 1.0
    for _ in range(HALVINGS):
        z = here.z + length * d
        height = problem.height(z)
        if np.isfinite(height):
            f, slope = problem.value(z, p)
            effort.pay()
            if f + mu * height <= before + ARMIJO * length * promised:
                _update(here, z - here.z, slope - here.slope)
                here.z, here.f, here.slope, here.height = z, f, slope, height
                here.barrier = problem.barrier(z)
                return True
        length *= 0.5
    return False


def _update(here: Place, s: np.ndarray, y: np.ndarray) -> None:
    """H after a step s that changed the slope by y, kept positive definite."""
    if here.fresh and s @ y > 0.0:
        here.H, here.fresh = 0.3 * (y @ y) / (s @ y) * np.eye(len(s)), False
    Hs = here.H @ s
    curve, seen = float(s @ Hs), float(s @ y)
    share = 1.0 if seen >= DAMPED * curve else (1.0 - DAMPED) * curve / (curve - seen)
    r = share * y + (1.0 - share) * Hs
    here.H = here.H - np.outer(Hs, Hs) / curve + np.outer(r, r) / (s @ r)
