"""From nothing to a good motion: postures that are allowed, random motions about them, descents.

The search is by counted evaluations and a seed, so that it finds the same again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from dalembert.errors import TrajectoryError
from dalembert.identification.exciting.interior import Effort, descend
from dalembert.identification.exciting.problem import Problem

POSTURES = 4096  # tried for one that keeps to all limits at rest
CENTRES = 16  # of them, those furthest from their limits
SIZES = 0.8 * 0.6 ** np.arange(12)  # of random motions, in shares of the limits
FEWEST, MOST, SHARE = 16, 128, 0.1  # random motions of a batch: that share of the budget
TRIED = 4  # of a batch, the best, from which descents begin
KINDS = ("position", "velocity", "acceleration", "torque", "distance")


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
    count = min(MOST, max(FEWEST, int(SHARE * effort.left)))
    while True:
        z, found = random_motions(problem, centres, count, rng)
        effort.pay(count)
        order = np.argsort(found, kind="stable")
        if not np.isfinite(found[order[0]]):
            return
        yield from (z[k] for k in order[:TRIED] if np.isfinite(found[k]))


def random_motions(
    problem: Problem, centres: np.ndarray, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """(z (count, size), rough objective): each as large as its limits allow."""
    n, size = problem.basis.joints, problem.shapes.shape[2]
    middle = centres[rng.integers(len(centres), size=count)]
    shape = rng.normal(size=(count, size, n))
    if problem.basis.start is None:  # without a mean of its own
        shape -= problem.basis.standing(_mean(problem, shape))
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


def _mean(problem: Problem, z: np.ndarray) -> np.ndarray:
    """Mean posture (..., n) of z (..., size, n)."""
    return problem.basis.Z[0] @ z


def progress_of(effort: Effort, report: Callable[[float], None]) -> None:
    """Let a bar show how much of the effort is spent."""
    whole = max(effort.left, 1)
    effort.on = lambda spent: report(min(1.0, spent / whole))
