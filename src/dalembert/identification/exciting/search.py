"""From nothing to a good motion: postures that are allowed, random motions about them, descents.

The search is by counted evaluations and a seed, so that it finds the same again.

Descent inside of the limits: a barrier that becomes steeper, an objective that becomes sharper.

Each step solves (H + μ ∇²b) d = −(∇f + μ ∇b), H the quasi-Newton matrix of the objective alone (BFGS,
damped after Powell 1978) and ∇²b the barrier's own curvature, and goes along d until f + μ b falls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from dalembert.errors import TrajectoryError
from dalembert.identification.exciting.problem import Problem

# (sharpness p, weight μ of the barrier) of the stages
STAGES = tuple((2.0**k, 0.1 * 0.3**k) for k in range(1, 6))
FEWEST, STEPS = 15, 60  # of a stage; fewer where little is left for all of them
ENOUGH = 1e-6  # of f + μ b that a step promises
HALVINGS = 20
ARMIJO, DAMPED = 1e-4, 0.2
POSTURES = 4096  # tried for one that keeps to all limits at rest
CENTRES = 16  # of them, those furthest from their limits
SIZES = 0.8 * 0.6 ** np.arange(12)  # of random motions, in shares of the limits
SMALLEST, MOST, SHARE = 16, 128, 0.1  # random motions of a batch: that share of the budget
BEST = 4  # of a batch, the best, from which descents begin
KINDS = ("position", "velocity", "acceleration", "torque", "distance")


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


def descend(problem: Problem, z: np.ndarray, effort: Effort) -> np.ndarray:
    """A better z, from one inside of the limits."""
    steps = min(STEPS, max(FEWEST, effort.left // len(STAGES)))
    for p, mu in STAGES:
        f, slope = problem.value(z, p)
        H, fresh = 1e-2 * max(1.0, float(np.linalg.norm(slope))) * np.eye(len(z)), True
        height, (push, curvature) = problem.height(z), problem.barrier(z)
        for _ in range(steps):
            gradient = slope + mu * push
            d = -np.linalg.solve(H + mu * curvature, gradient)
            promised = float(gradient @ d)
            if effort.over or -promised < ENOUGH:
                break
            found = _along(problem, z, d, f + mu * height, promised, (p, mu), effort)
            if found is None:
                break
            s, y = found[0] - z, found[2] - slope
            z, f, slope, height = found
            push, curvature = problem.barrier(z)
            if fresh and s @ y > 0.0:
                H, fresh = 0.3 * (y @ y) / (s @ y) * np.eye(len(s)), False
            H = _updated(H, s, y)
        if effort.over:
            break
    return z


def _along(
    problem: Problem,
    start: np.ndarray,
    d: np.ndarray,
    before: float,
    promised: float,
    stage: tuple[float, float],
    effort: Effort,
) -> tuple[np.ndarray, float, np.ndarray, float] | None:
    """(z, f, slope, height) along d where f + μ b has fallen; None where it never does."""
    p, mu = stage
    for length in 0.5 ** np.arange(HALVINGS):
        z = start + length * d
        height = problem.height(z)
        if np.isfinite(height):
            f, slope = problem.value(z, p)
            effort.pay()
            if f + mu * height <= before + ARMIJO * length * promised:
                return z, f, slope, height
    return None


def _updated(H: np.ndarray, s: np.ndarray, y: np.ndarray) -> np.ndarray:
    """H after a step s that changed the slope by y, kept positive definite."""
    Hs = H @ s
    curve, seen = float(s @ Hs), float(s @ y)
    share = 1.0 if seen >= DAMPED * curve else (1.0 - DAMPED) * curve / (curve - seen)
    r = share * y + (1.0 - share) * Hs
    return H - np.outer(Hs, Hs) / curve + np.outer(r, r) / (s @ r)


def search(problem: Problem, effort: Effort, seed: int) -> tuple[np.ndarray, list[float]]:
    """The best z found, and the goal after each descent."""
    rng = np.random.default_rng(seed)
    centres = allowed_postures(problem, rng)
    best, goal, goals = None, np.inf, []
    for z in _starts(problem, centres, effort, rng):
        z = descend(problem, z, effort)
        found = problem.objective.goal(problem.quality(z))
        if best is None or found < goal:
            best, goal = z, found
        goals.append(goal)
        if effort.over:
            break
    if best is None:
        raise TrajectoryError(
            f"{problem.robot.name}: no motion within the limits shows all parameters; try more "
            "harmonics, a longer duration, or fewer columns (friction=, rotor=)"
        )
    return best, goals


def allowed_postures(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """Postures (k, n) that keep to all limits at rest, or an error that says what stands against it."""
    low, high = problem.bounds[0]
    if problem.basis.start is None:
        q = np.concatenate([0.5 * (low + high)[None], rng.uniform(low, high, (POSTURES, len(low)))])
    else:
        q = problem.basis.start[None]
    rows = problem.rows((q, 0.0 * q, 0.0 * q))
    room = np.stack([_room(r, *b) for r, b in zip(rows, problem.bounds, strict=True)], axis=-1)
    worst = room.min(axis=-1)
    k = int(np.argmax(worst))
    if worst[k] <= 0.0:
        raise TrajectoryError(_against(problem, [r[k] for r in rows]))
    order = np.argsort(-worst, kind="stable")
    return q[order[worst[order] > 0.0]][:CENTRES]


def _room(r: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """(...) the smallest distance of r (..., rows) from its bounds; relative where both are finite."""
    span = np.where(np.isfinite(high - low), 0.5 * (high - low), 1.0)
    return (np.minimum(high - r, r - low) / span).min(axis=-1, initial=np.inf)


def _against(problem: Problem, rows: list[np.ndarray]) -> str:
    """Which limit the least bad posture passes, and by how much."""
    joints = problem.robot.dynamics.velocities
    for kind, r, (low, high) in zip(KINDS, rows, problem.bounds, strict=False):
        names = joints if kind != "distance" else problem.workspace.names  # type: ignore[union-attr]  # distances come from it
        off = np.maximum(r - high, low - r)
        if (off >= 0.0).any():
            k = int(np.argmax(off))
            limit = high[k] if r[k] >= high[k] else low[k]
            what = "joint " if kind != "distance" else ""
            where = "the start" if problem.basis.start is not None else "any posture that was tried"
            return (
                f"{problem.robot.name} cannot keep to its limits at rest in {where}: {what}"
                f"{names[k]!r} has {kind} {r[k]:.6g} at best, beyond "
                f"{limit:.6g} (its limit less the margin)"
            )
    raise AssertionError("no limit is passed")


def _starts(
    problem: Problem, centres: np.ndarray, effort: Effort, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Random motions inside of the limits, the best of a batch first; batch after batch."""
    count = min(MOST, max(SMALLEST, int(SHARE * effort.left)))
    while True:
        z, found = random_motions(problem, centres, count, rng)
        effort.pay(count)
        order = np.argsort(found, kind="stable")
        if not np.isfinite(found[order[0]]):
            return
        yield from (z[k] for k in order[:BEST] if np.isfinite(found[k]))


def random_motions(
    problem: Problem, centres: np.ndarray, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """(z (count, size), rough objective): each as large as its limits allow."""
    n, size = problem.basis.joints, problem.shapes.shape[2]
    middle = centres[rng.integers(len(centres), size=count)]
    shape = rng.normal(size=(count, size, n))
    if problem.basis.start is None:  # without a mean of its own
        shape -= problem.basis.standing(problem.basis.Z[0] @ shape)
    low, high = problem.bounds[0]
    span = 0.5 * (high - low), problem.bounds[1][1]
    used = [np.abs(x @ shape).max(axis=1) / y for x, y in zip(problem.shapes, span, strict=False)]
    shape /= np.maximum(*used)[:, None, :]  # each joint just meets one of the two limits
    standing = problem.basis.standing(middle)
    found = np.full(count, np.inf)
    z = np.zeros((count, size * n))
    for share in SIZES:  # smaller until they fit
        open_ = np.flatnonzero(~np.isfinite(found))
        if not len(open_):
            break
        tried = (standing[open_] + share * shape[open_]).reshape(len(open_), -1)
        found[open_], z[open_] = problem.rough(tried), tried
    return z, found
