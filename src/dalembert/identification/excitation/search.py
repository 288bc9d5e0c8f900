"""The search for a good motion within limits: feasible starts, random motions about them, descents.

The search is limited by counted evaluations and has a seed, so that it is reproducible.

A descent stays inside of the limits by a barrier that becomes steeper, on an objective that becomes
sharper. Each step solves (H + μ ∇²b) d = −(∇f + μ ∇b), H the quasi-Newton matrix of the objective alone
(BFGS, damped after Powell 1978) and ∇²b the barrier's own curvature, and goes along d until f + μ b
falls.

Limits are certified between the samples too. A trigonometric polynomial of degree N is at most
1/cos(π N/K) times as large as on K > 2 N even points of its period (Ehlich and Zeller 1964): this
bounds q, q̇ and q̈. Torques and distances are not of that form; between neighbours on the grid they
leave the chord by at most an eighth of the second difference, which is taken twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dalembert.errors import TrajectoryError
from dalembert.identification.excitation.problem import Problem

# (sharpness p, weight μ of the barrier) of the stages
STAGES = tuple((2.0**k, 0.1 * 0.3**k) for k in range(1, 6))
MIN_STEPS, MAX_STEPS = 15, 60  # of a stage; fewer where the budget is small
CONVERGED = 1e-6  # of f + μ b that a step promises
HALVINGS = 20
ARMIJO, DAMPING = 1e-4, 0.2
CONFIGURATIONS = 4096  # random ones, of which some keep to all limits at rest
CENTRES = 16  # of them, those furthest from their limits
SIZES = 0.8 * 0.6 ** np.arange(12)  # of random motions, in shares of the limits
MIN_BATCH, MAX_BATCH, BATCH_SHARE = 16, 128, 0.1  # random motions: that share of the budget
BEST = 4  # of a batch, from which descents begin
MIN_FINE = 2000  # points of a period of the fine grid
BETWEEN = 0.25  # of the largest second difference
SHRINKAGES = 0.002 * 2.0 ** np.arange(9)  # shares by which a motion is made smaller until it fits


@dataclass
class Budget:
    """Evaluations that a search may still make; `is_late` ends it earlier."""

    left: int
    is_late: Callable[[], bool] = lambda: False
    spent: int = 0
    on_spent: Callable[[int], None] = field(default=lambda spent: None)

    @property
    def is_over(self) -> bool:
        """Whether the search must end."""
        return self.left <= 0 or self.is_late()

    def spend(self, count: int = 1) -> None:
        """Count evaluations."""
        self.left, self.spent = self.left - count, self.spent + count
        self.on_spent(self.spent)


def search(problem: Problem, budget: Budget, seed: int) -> tuple[np.ndarray, list[float]]:
    """The best z, and the best objective after each descent."""
    rng = np.random.default_rng(seed)
    centres = feasible_configurations(problem, rng)
    best, value, history = None, np.inf, []
    for start in _starts(problem, centres, budget, rng):
        z = descend(problem, start, budget)
        new = problem.objective.value(problem.quality(z))
        if best is None or new < value:
            best, value = z, new
        history.append(value)
        if budget.is_over:
            break
    if best is None:
        raise TrajectoryError(
            f"{problem.robot.name}: no motion within the limits shows all parameters; try more "
            "harmonics, a longer duration, or fewer columns (friction=, rotor=)"
        )
    return best, history


def descend(problem: Problem, z: np.ndarray, budget: Budget) -> np.ndarray:
    """A better z, from one inside of the limits."""
    steps = min(MAX_STEPS, max(MIN_STEPS, budget.left // len(STAGES)))
    for p, mu in STAGES:
        f, gradient = problem.value(z, p)
        H = 1e-2 * max(1.0, float(np.linalg.norm(gradient))) * np.eye(len(z))
        is_initial = True
        barrier, (by_z, curvature) = problem.barrier(z), problem.barrier_derivatives(z)
        for _ in range(steps):
            total = gradient + mu * by_z
            try:
                d = -np.linalg.solve(H + mu * curvature, total)
            except np.linalg.LinAlgError:  # at the boundary, but for rounding
                break
            expected = float(total @ d)
            if budget.is_over or -expected < CONVERGED:
                break
            for length in 0.5 ** np.arange(HALVINGS):  # until f + μ b has fallen
                trial = z + length * d
                trial_barrier = problem.barrier(trial)
                if np.isfinite(trial_barrier):
                    trial_f, trial_gradient = problem.value(trial, p)
                    budget.spend()
                    bound = f + mu * barrier + ARMIJO * length * expected
                    if trial_f + mu * trial_barrier <= bound:
                        break
            else:
                break
            s, y = trial - z, trial_gradient - gradient
            z, f, gradient, barrier = trial, trial_f, trial_gradient, trial_barrier
            by_z, curvature = problem.barrier_derivatives(z)
            if is_initial and s @ y > 0.0:
                H, is_initial = 0.3 * (y @ y) / (s @ y) * np.eye(len(s)), False
            H = _damped_bfgs(H, s, y)
        if budget.is_over:
            break
    return z


def _damped_bfgs(H: np.ndarray, s: np.ndarray, y: np.ndarray) -> np.ndarray:
    """H after a step s that changed the gradient by y, kept positive definite."""
    Hs = H @ s
    sHs, sy = float(s @ Hs), float(s @ y)
    share = 1.0 if sy >= DAMPING * sHs else (1.0 - DAMPING) * sHs / (sHs - sy)
    r = share * y + (1.0 - share) * Hs
    return np.asarray(H - np.outer(Hs, Hs) / sHs + np.outer(r, r) / (s @ r))


def feasible_configurations(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """Configurations (k, n) that keep to all limits at rest; raises TrajectoryError without any."""
    _, _, low, high = problem.limits[0]
    if problem.basis.start is None:
        random = rng.uniform(low, high, (CONFIGURATIONS, len(low)))
        q = np.concatenate([0.5 * (low + high)[None], random])
    else:
        q = problem.basis.start[None]
    rows = problem.limited((q, 0.0 * q, 0.0 * q))
    margins = []  # from the bounds, relative where both are finite
    for r, (_, _, low, high) in zip(rows, problem.limits, strict=True):
        span = np.where(np.isfinite(high - low), 0.5 * (high - low), 1.0)
        margins.append((np.minimum(high - r, r - low) / span).min(axis=-1, initial=np.inf))
    smallest = np.stack(margins, axis=-1).min(axis=-1)
    k = int(np.argmax(smallest))
    # the limit that the least bad configuration violates
    for row, (kind, names, low, high) in zip(rows, problem.limits, strict=True):
        off = np.maximum(row[k] - high, low - row[k])
        if smallest[k] <= 0.0 and (off >= 0.0).any():
            j = int(np.argmax(off))
            limit = high[j] if row[k, j] >= high[j] else low[j]
            what = "joint " if kind != "distance" else ""
            where = "the start" if problem.basis.start is not None else "any posture that was tried"
            raise TrajectoryError(
                f"{problem.robot.name} cannot keep to its limits at rest in {where}: {what}"
                f"{names[j]!r} has {kind} {row[k, j]:.6g} at best, beyond "
                f"{limit:.6g} (its limit less the margin)"
            )
    order = np.argsort(-smallest, kind="stable")
    return np.asarray(q[order[smallest[order] > 0.0]][:CENTRES])


def _starts(
    problem: Problem, centres: np.ndarray, budget: Budget, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Random motions inside of the limits, the best of a batch first; batch after batch."""
    count = min(MAX_BATCH, max(MIN_BATCH, int(BATCH_SHARE * budget.left)))
    while True:
        z, values = random_motions(problem, centres, count, rng)
        budget.spend(count)
        order = np.argsort(values, kind="stable")
        if not np.isfinite(values[order[0]]):
            return
        yield from (z[k] for k in order[:BEST] if np.isfinite(values[k]))


def random_motions(
    problem: Problem, centres: np.ndarray, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """(z (count, size), coarse objective): each as large as its limits allow."""
    n, size = problem.basis.joints, problem.shapes.shape[2]
    middle = centres[rng.integers(len(centres), size=count)]
    shape = rng.normal(size=(count, size, n))
    if problem.basis.start is None:  # subtract the mean
        shape -= problem.basis.constant(problem.basis.Z[0] @ shape)
    position, velocity = problem.limits[:2]
    span = 0.5 * (position.upper - position.lower), velocity.upper
    used = [np.abs(x @ shape).max(axis=1) / y for x, y in zip(problem.shapes, span, strict=False)]
    shape /= np.maximum(*used)[:, None, :]  # each joint just meets one of the two limits
    constant = problem.basis.constant(middle)
    values = np.full(count, np.inf)
    z = np.zeros((count, size * n))
    for share in SIZES:  # smaller until they fit
        outside = np.flatnonzero(~np.isfinite(values))
        if not len(outside):
            break
        trial = (constant[outside] + share * shape[outside]).reshape(len(outside), -1)
        values[outside], z[outside] = problem.coarse_values(trial), trial
    return z, values


class Range(NamedTuple):
    """Lowest and highest value of a limited quantity, and its limits."""

    kind: str
    joint: str  # or the name of a distance
    lowest: float
    highest: float
    lower: float
    upper: float

    @property
    def margin(self) -> float:
        """Share of half of the range that is left; of a distance, metres."""
        left = min(self.upper - self.highest, self.lowest - self.lower)
        span = self.upper - self.lower
        return left / (0.5 * span) if np.isfinite(span) else left


def ranges(problem: Problem, z: np.ndarray, fine: np.ndarray) -> list[Range]:
    """Ranges of all limited quantities of z (size · n,) on a grid of `shapes` (3, K, size)."""
    motion = problem.motion(z, fine)
    result = []
    for order, (r, limit) in enumerate(zip(problem.limited(motion), problem.limits, strict=True)):
        low, high = r.min(axis=0), r.max(axis=0)
        if order < 3:
            middle, half = 0.5 * (low + high), 0.5 * (high - low)
            half = half / np.cos(np.pi * problem.basis.harmonics / len(r))
            low, high = middle - half, middle + half
        else:
            bend = np.abs(np.roll(r, 1, axis=0) - 2.0 * r + np.roll(r, -1, axis=0)).max(axis=0)
            low, high = low - BETWEEN * bend, high + BETWEEN * bend
        for k, name in enumerate(limit.names):
            numbers = (float(x[k]) for x in (low, high, limit.lower, limit.upper))
            result.append(Range(limit.kind, name, *numbers))
    return result


def certify(problem: Problem, z: np.ndarray) -> tuple[np.ndarray, float]:
    """(z, shrunk towards its mean configuration until it fits between the samples; the share)."""
    fine = fine_shapes(problem)
    own = z.reshape(-1, problem.basis.joints)
    mean = problem.basis.constant(problem.basis.Z[0] @ own)
    for share in (0.0, *SHRINKAGES):
        trial = (mean + (1.0 - share) * (own - mean)).ravel()
        worst = min(ranges(problem, trial, fine), key=lambda r: r.margin)
        if worst.margin > 0.0:
            return trial, float(share)
    raise TrajectoryError(
        f"{problem.robot.name}: between its samples the motion passes the {worst.kind} limit of "
        f"{worst.joint!r}; give a larger margin="
    )


def fine_shapes(problem: Problem) -> np.ndarray:
    """(3, K, size) factors of z for q, q̇, q̈ on the fine grid."""
    return problem.basis.shapes(max(MIN_FINE, 10 * problem.samples))
