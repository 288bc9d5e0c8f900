"""Singular postures named: which motions of a frame are lost, and which joint axes are to blame.

J's columns are the screws of the joints. Where J loses rank, a few of them have become dependent:
two about one line, three parallel in one plane, four parallel, four through one point. The smallest
sets of joints whose screws span less than they usually do are the reason, and are said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from dalembert.errors import FormulationError, ParameterError, ShapeError, UnknownNameError
from dalembert.systems.singular_words import ROUNDING, TOLERANCE, direction, rank_of, reason

TASKS = {"pose": slice(0, 6), "position": slice(0, 3), "orientation": slice(3, 6)}
SAMPLES, NEARBY = (
    8,
    1e-2,
)  # postures that say what is usual, and how far the near ones are, rad or m
MOST_SETS = 20_000  # of joints that are looked through for a reason

LOOSE = 0.02  # the same of a few joints, which then are the reason


@dataclass(frozen=True, eq=False)
class Singularity:
    """What a frame cannot do at a posture; `singular` is False where nothing is lost.

    A lost direction is a wrench w = (f, m) that no joint feels: every twist that is left has
    w · V = 0, so the frame cannot move along f without turning, nor turn about m without moving.
    """

    frame: str
    task: str  # "pose", "position" or "orientation": what of it
    singular: bool
    rank: int  # directions in which the frame can move here
    usual_rank: int  # and at nearly every other posture
    smallest: float  # smallest over largest singular value of those usual ones, lengths scaled
    length: float  # m, by which lengths are scaled: the longest lever
    lost: np.ndarray = field(repr=False)  # (k, 6) wrenches w at the frame, world axes: w · V = 0
    motions: np.ndarray = field(repr=False)  # (m, nv) joint velocities that leave the frame still
    joints: tuple[tuple[str, ...], ...] = ()  # sets of joints that are to blame
    reasons: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.singular

    def __str__(self) -> str:
        """One sentence.

        >>> import dalembert as dl
        >>> print(dl.load("planar_2r").singularity([0.3, 0.0]))
        singular in position: 'tool' cannot move along (0.955, 0.296, 0), since 'tool' is in the plane
        of the axes of 'link1_joint' and 'link2_joint'
        """
        if not self.singular:
            ways = "1 direction" if self.rank == 1 else f"{self.rank} directions"
            return f"regular: the {self.task} of {self.frame!r} moves in {ways}, as usual"
        said = ", nor ".join(direction(wrench, self.length) for wrench in self.lost)
        why = "; ".join(self.reasons)
        if not said:  # of constraints, while the frame moves as it does
            return f"singular: {why}"
        since = f", since {why}" if why else ""
        return f"singular in {self.task}: {self.frame!r} cannot {said}{since}"


def singularity(
    robot: Any, q: Any, frame: str, task: str | None, tolerance: float, parameters: Any
) -> Singularity:
    """What is lost at q (nq,), against random postures."""
    task = checked_task(robot.default_task(frame) if task is None else task)
    q = one_posture(robot, q)
    J, usual, nearby = _jacobians(robot, q, frame, parameters)
    found, sets = judged(J, usual, nearby, frame, task, tolerance)
    names = robot.dynamics.velocities
    screws = np.asarray(robot.jacobian(q, frame, "spatial", parameters=parameters))
    place = robot.pose(q, frame, parameters=parameters)[:3, 3] if task == "position" else None
    return replace(
        found,
        joints=tuple(tuple(names[k] for k in own) for own in sets),
        reasons=tuple(
            reason(screws[:, own], [names[k] for k in own], frame, place, max(tolerance, LOOSE))
            for own in map(list, sets)
        ),
    )


def checked_task(task: str) -> str:
    """The task; another word is an error."""
    if task not in TASKS:
        raise UnknownNameError(f"task={task!r} must be one of {', '.join(TASKS)}")
    return task


def one_posture(system: Any, q: Any) -> np.ndarray:
    """q (nq,) as finite numbers."""
    q = np.asarray(q, dtype=float)
    if q.shape != (system.nq,):
        raise ShapeError(f"singularity takes one posture q ({system.nq},), not {q.shape}")
    if not np.isfinite(q).all():
        raise ParameterError("q has entries that are not finite")
    return q


def judged(
    J: np.ndarray,
    usual: Sequence[np.ndarray],
    nearby: Sequence[np.ndarray],
    frame: str,
    task: str,
    tolerance: float,
) -> tuple[Singularity, list[tuple[int, ...]]]:
    """What J (6, k) of a frame lacks beside those at other postures; sets of columns to blame."""
    rows = TASKS[task]
    length = max(np.linalg.norm(x[:3], axis=0).max() for x in usual) or 1.0  # m: the longest lever
    scale = np.array([length] * 3 + [1.0] * 3)[rows]
    here = J[rows] / scale[:, None]
    most = max(rank_of(x[rows] / scale[:, None], tolerance) for x in usual)
    U, sizes, Vt = np.linalg.svd(here)
    largest = max(sizes[0], 1e-300)
    rank = int((sizes > tolerance * largest).sum())
    smallest = float(sizes[most - 1] / largest) if most else 0.0
    singular = rank < most
    lost = np.zeros((0, 6))
    sets: list[tuple[int, ...]] = []
    if singular:
        ways = [x[rows] / scale[:, None] for x in nearby]
        lost = _lost(U[:, rank:], ways, most - rank, rows, scale)
        sets = _dependent(here, [x[rows] / scale[:, None] for x in usual], max(tolerance, LOOSE))
    parts = (frame, task, singular, rank, most, smallest, float(length), lost, Vt[rank:])
    return Singularity(*parts), sets


def refuse_singular(robot: Any, q: Any, qd: Any, frame: str, task: str, parameters: Any) -> None:
    """An error for a posture at which a task has no inertia; numbers that are none pass."""
    if not (np.isfinite(q).all() and np.isfinite(qd).all()):
        return
    why = singularity(robot, q, frame, task, TOLERANCE, parameters)
    said = str(why) if why else f"{frame!r} has fewer directions than the task {task!r}"
    raise FormulationError(f"{robot.name}: no operational space at this posture: {said}")


def _jacobians(robot: Any, q: np.ndarray, frame: str, parameters: Any) -> tuple[Any, Any, Any]:
    """J (6, nv) at q, at random postures and at near ones, along world axes."""
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(SAMPLES, robot.nv))
    anywhere = robot.integrate(np.broadcast_to(robot.neutral(), (SAMPLES, robot.nq)), steps)
    near = robot.integrate(np.broadcast_to(q, (SAMPLES, robot.nq)), NEARBY * steps)
    every = robot.jacobian(
        np.concatenate([q[None], anywhere, near]), frame, "world", parameters=parameters
    )
    return every[0], every[1 : SAMPLES + 1], every[SAMPLES + 1 :]


def _lost(
    missing: np.ndarray, nearby: Iterable[np.ndarray], count: int, rows: slice, scale: np.ndarray
) -> np.ndarray:
    """(count, 6) wrenches out of `missing` (rows, m) that near postures feel: others nobody does."""
    felt = np.hstack([missing.T @ J for J in nearby])
    U, _, _ = np.linalg.svd(felt)
    found = np.zeros((count, 6))
    found[:, rows] = (missing @ U[:, :count]).T / scale
    largest = np.take_along_axis(found, np.abs(found).argmax(axis=1)[:, None], 1)
    return found / np.linalg.norm(found, axis=1, keepdims=True) * np.sign(largest)


def _dependent(
    J: np.ndarray, usual: Sequence[np.ndarray], tolerance: float
) -> list[tuple[int, ...]]:
    """Smallest sets of joints whose columns span less than they usually do."""
    moving = [k for k in range(J.shape[1]) if np.linalg.norm(J[:, k]) > ROUNDING]
    found: list[tuple[int, ...]] = []
    looked = 0
    for size in range(1, min(len(J), len(moving)) + 1):
        for own in combinations(moving, size):
            looked += 1
            if looked > MOST_SETS:
                return found
            if any(set(other) <= set(own) for other in found):
                continue
            most = max(rank_of(x[:, own], tolerance) for x in usual)
            if rank_of(J[:, own], tolerance) < most:
                found.append(own)
        if found:
            return _joined(found) if size == 2 else found
    return found


def _joined(pairs: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Pairs that share a joint as one set: what depends on the same column depends on each other."""
    found: list[set[int]] = []
    for pair in pairs:
        own = set(pair).union(*(other for other in found if other & set(pair)))
        found = [other for other in found if not other & own] + [own]
    return [tuple(sorted(own)) for own in found]
