"""Singular configurations: which motions of a frame are lost, and which joint axes are the reason.

J's columns are the screws of the joints. Where J loses rank, a few of them have become dependent:
two about one line, three parallel in one plane, four parallel, four through one point. The smallest
sets of joints whose screws span less than they usually do are reported as the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import ParameterError, ShapeError
from dalembert.text import require_known

if TYPE_CHECKING:
    from dalembert.systems.dynamics import Array
    from dalembert.systems.evaluator import Parameters
    from dalembert.systems.robot import Robot
    from dalembert.systems.system import System

TOLERANCE = 1e-3  # of a singular value beside the largest
SMALL = 1e-3  # of a part of a wrench that is not reported
PITCH = 1e-6  # m per rad below which a screw is a turn
ROUNDING = 1e-9  # of a share of a twist that is none
NEAR_SINGULAR = 1e3  # condition of the constraints beyond which a stall is theirs


def reason(
    screws: Array, names: list[str], frame: str, point: Array | None, tolerance: float
) -> str:
    """Why the screws (6, k) of these joints, along world axes, are dependent.

    Where only the position of the frame counts, `point` (3,) is that position.
    """
    joints, text = listed(names), ""
    omega, v = screws[3:], screws[:3]
    rates = np.linalg.norm(omega, axis=0)
    if (rates > ROUNDING).all():
        axes, v = omega / rates, v / rates
        if np.abs(np.einsum("ik,ik->k", axes, v)).max() < PITCH:
            lines = Lines(axes, np.cross(axes.T, v.T).T)  # the points nearest to the origin
            if point is not None:
                text = _point_reason(lines, point, f"{frame!r}", names, tolerance)
            else:
                text = _common_reason(lines, joints, tolerance)
                text = text or _wrist_reason(lines, names, tolerance)
    elif not (rates > ROUNDING).any() and rank_of(v, tolerance) < len(names):
        text = f"{joints} slide {'along one line' if len(names) == 2 else 'in one plane'}"
    return text or f"the motions of {joints} there are dependent"


class Lines(NamedTuple):
    """Lines in space: unit directions (3, k) and a point of each (3, k)."""

    axes: np.ndarray
    points: np.ndarray

    def of(self, chosen: list[int]) -> Lines:
        """Some of them."""
        return Lines(self.axes[:, chosen], self.points[:, chosen])

    def meeting(self) -> tuple[Array, float]:
        """The point (3,) nearest to all lines, and how far off the farthest is."""
        across = [np.eye(3) - np.outer(a, a) for a in self.axes.T]
        pairs = list(zip(across, self.points.T, strict=True))
        centre = np.linalg.lstsq(sum(across), sum(P @ x for P, x in pairs), rcond=None)[0]
        return centre, max(float(np.linalg.norm(P @ (x - centre))) for P, x in pairs)

    def near(self, tolerance: float) -> float:
        """The distance below which two points coincide, m."""
        return tolerance * max(1.0, float(np.abs(self.points).max()))


def _common_reason(lines: Lines, joints: str, tolerance: float) -> str:
    """The reason that all lines share: parallel, one line, one point."""
    near = lines.near(tolerance)
    if rank_of(lines.axes, tolerance) == 1:
        apart = lines.points - lines.points[:, :1]
        if np.abs(apart).max() < near:
            return f"the axes of {joints} are one line"
        flat = np.linalg.svd(apart, compute_uv=False)[1] < near
        where = " and in one plane (stretched or folded)" if flat else ""
        return f"the axes of {joints} are parallel{where}"
    if lines.meeting()[1] < near:
        flat = rank_of(lines.axes, tolerance) == 2
        where = " and lie in one plane" if flat else ""
        return f"the axes of {joints} meet in one point{where}"
    return ""


def _wrist_reason(lines: Lines, names: list[str], tolerance: float) -> str:
    """Three axes that meet in a point, which has come into the plane of two others."""
    if len(names) != 5:
        return ""
    for hand in combinations(range(5), 3):
        centre, off = lines.of(list(hand)).meeting()
        rest = [k for k in range(5) if k not in hand]
        what = f"the point where the axes of {listed([names[k] for k in hand])} meet"
        others = [names[k] for k in rest]
        text = _point_reason(lines.of(rest), centre, what, others, tolerance)
        if text and off < lines.near(tolerance):
            return text
    return ""


def _point_reason(lines: Lines, point: Array, what: str, names: list[str], tolerance: float) -> str:
    """A point on one line, or in the plane of two: rotations about them move it in one direction."""
    near, joints = lines.near(tolerance), listed(names)
    if len(names) == 1:
        off = np.linalg.norm(np.cross(lines.axes[:, 0], point - lines.points[:, 0]))
        return f"{what} is on the axis of {joints}" if off < near else ""
    if len(names) != 2:
        return ""
    (a, b), (p, r) = lines.axes.T, lines.points.T
    normal = np.cross(a, b)
    if np.linalg.norm(normal) < tolerance:  # parallel
        normal = np.cross(a, r - p)
    normal = normal / max(float(np.linalg.norm(normal)), ROUNDING)
    flat = max(abs(normal @ (r - p)), abs(normal @ (point - p))) < near
    return f"{what} is in the plane of the axes of {joints}" if flat else ""


def rank_of(A: Array, tolerance: float) -> int:
    """Singular values above `tolerance` of the largest."""
    return int(np.linalg.matrix_rank(A, rtol=tolerance))


def direction(wrench: Array, length: float) -> str:
    """The lost motion of a frame, from the wrench (6,) that no joint torque balances."""
    f, m = wrench[:3], wrench[3:]
    pushes, twists = np.linalg.norm(f) * length, np.linalg.norm(m)
    if twists < SMALL * pushes:
        return f"move along {_triple(f)}"
    if pushes < SMALL * twists:
        return f"turn about {_triple(m)}"
    return f"move along {_triple(f)} without turning, nor turn about {_triple(m)} without moving"


def _triple(x: Array) -> str:
    unit = np.round(x / np.linalg.norm(x), 3) + 0.0
    return f"({', '.join(f'{value:.3g}' for value in unit)})"


def listed(names: list[str]) -> str:
    """'a', 'b' and 'c'."""
    quoted = [repr(name) for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def dead_point(system: Any, q: Array) -> str:
    """A message that q is at a singular configuration of the constraints; empty where it is not."""
    analyse = getattr(system, "mobility", None)
    mobility = analyse(q) if callable(analyse) else None
    if mobility is None or (mobility.condition < NEAR_SINGULAR and not mobility.singular):
        return ""
    return (
        f"q = {np.round(q, 6).tolist()} is at or near a singular posture (a dead point) of "
        f"{system.name}: its constraints lose rank there, and the motion behind it is not "
        "determined. End the run before it, or start on the branch that is meant"
    )


TASKS = {"pose": slice(0, 6), "position": slice(0, 3), "orientation": slice(3, 6)}
SAMPLES = 8  # random configurations that define the usual rank
NEARBY = 1e-2  # rad or m, distance of the near ones
MAX_SETS = 20_000  # of joints that are checked
LOOSE = 0.02  # `TOLERANCE` of a few joints, which then are the reason


@dataclass(frozen=True, eq=False)
class Singularity:
    """The lost motions of a frame at a configuration; `singular` is False where there are none.

    A lost direction is a wrench w = (f, m) without joint torques: every possible twist V has
    w · V = 0, so the frame cannot move along f without turning, nor turn about m without moving.
    """

    frame: str
    task: str  # "pose", "position" or "orientation"
    singular: bool
    rank: int  # directions in which the frame can move here
    usual_rank: int  # and at nearly every other posture
    smallest: float  # smallest of those usual singular values over the largest, lengths scaled
    length: float  # m, by which lengths are scaled: the longest lever
    lost: np.ndarray = field(repr=False)  # (k, 6) wrenches w at the frame, world axes: w · V = 0
    motions: np.ndarray = field(repr=False)  # (m, nv) joint velocities that leave the frame still
    joints: tuple[tuple[str, ...], ...] = ()  # sets of joints that are the reason
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
            count = "1 direction" if self.rank == 1 else f"{self.rank} directions"
            return f"regular: the {self.task} of {self.frame!r} moves in {count}, as usual"
        lost = ", nor ".join(direction(wrench, self.length) for wrench in self.lost)
        reasons = "; ".join(self.reasons)
        if not lost:  # the constraints are singular, the frame is not
            return f"singular: {reasons}"
        since = f", since {reasons}" if reasons else ""
        return f"singular in {self.task}: {self.frame!r} cannot {lost}{since}"


def singularity(
    robot: Robot,
    q: ArrayLike,
    frame: str,
    task: str | None,
    tolerance: float,
    parameters: Parameters,
) -> Singularity:
    """The lost motions at q (nq,), compared with random configurations."""
    task = checked_task(robot.default_task(frame) if task is None else task)
    q = one_posture(robot, q)
    # J at q, at random postures and at near ones, along world axes
    steps = np.random.default_rng(0).normal(size=(SAMPLES, robot.nv))
    anywhere = robot.integrate(np.broadcast_to(robot.neutral(), (SAMPLES, robot.nq)), steps)
    near = robot.integrate(np.broadcast_to(q, (SAMPLES, robot.nq)), NEARBY * steps)
    postures = np.concatenate([q[None], anywhere, near])
    J = robot.jacobian(postures, frame, "world", parameters=parameters)
    usual, nearby = J[1 : SAMPLES + 1], J[SAMPLES + 1 :]
    result, sets = analyse(J[0], usual, nearby, frame, task, tolerance)
    names = robot.dynamics.velocities
    screws = np.asarray(robot.jacobian(q, frame, "spatial", parameters=parameters))
    point = robot.pose(q, frame, parameters=parameters)[:3, 3] if task == "position" else None
    return replace(
        result,
        joints=tuple(tuple(names[k] for k in own) for own in sets),
        reasons=tuple(
            reason(screws[:, own], [names[k] for k in own], frame, point, max(tolerance, LOOSE))
            for own in map(list, sets)
        ),
    )


def checked_task(task: str) -> str:
    """The task; another word is an error."""
    require_known(task, TASKS, "there is no task")
    return task


def one_posture(system: System, q: ArrayLike) -> Array:
    """q (nq,) as finite numbers."""
    q = np.asarray(q, dtype=float)
    if q.shape != (system.nq,):
        raise ShapeError(f"singularity takes one posture q ({system.nq},), not {q.shape}")
    if not np.isfinite(q).all():
        raise ParameterError("q has entries that are not finite")
    return q


def analyse(
    J: Array,
    usual: Sequence[Array] | Array,
    nearby: Sequence[Array] | Array,
    frame: str,
    task: str,
    tolerance: float,
) -> tuple[Singularity, list[tuple[int, ...]]]:
    """The lost motions of J (6, k), compared with other configurations; sets of dependent columns."""
    rows = TASKS[task]
    length = max(np.linalg.norm(x[:3], axis=0).max() for x in usual) or 1.0  # m: the longest lever
    scale = np.array([length] * 3 + [1.0] * 3)[rows, None]
    here = J[rows] / scale
    usual, nearby = ([x[rows] / scale for x in those] for those in (usual, nearby))
    most = max(rank_of(x, tolerance) for x in usual)
    U, sizes, Vt = np.linalg.svd(here)
    # a frame of one direction is lost beside what it moves elsewhere
    elsewhere = np.median([np.linalg.norm(x, 2) for x in usual])
    largest = max(sizes[0], float(elsewhere), 1e-300)
    rank = int((sizes > tolerance * largest).sum())
    smallest = float(sizes[most - 1] / largest) if most else 0.0
    singular = rank < most
    lost = np.zeros((0, 6))
    sets: list[tuple[int, ...]] = []
    if singular:
        # wrenches of the span of what is missing that are not lost nearby
        missing = U[:, rank:]
        image, _, _ = np.linalg.svd(np.hstack([missing.T @ x for x in nearby]))
        lost = np.zeros((most - rank, 6))
        lost[:, rows] = (missing @ image[:, : most - rank]).T / scale.T
        signs = np.sign(np.take_along_axis(lost, np.abs(lost).argmax(axis=1)[:, None], 1))
        lost = lost / np.linalg.norm(lost, axis=1, keepdims=True) * signs
        sets = _dependent(here, usual, max(tolerance, LOOSE))
    parts = (frame, task, singular, rank, most, smallest, float(length), lost, Vt[rank:])
    return Singularity(*parts), sets


def _dependent(J: Array, usual: Sequence[Array], tolerance: float) -> list[tuple[int, ...]]:
    """Smallest sets of joints whose columns span less than they usually do."""
    moving = [k for k in range(J.shape[1]) if np.linalg.norm(J[:, k]) > ROUNDING]
    dependent: list[tuple[int, ...]] = []
    count = 0
    for size in range(1, min(len(J), len(moving)) + 1):
        for own in combinations(moving, size):
            count += 1
            if count > MAX_SETS:
                return dependent
            if any(set(other) <= set(own) for other in dependent):
                continue
            most = max(rank_of(x[:, own], tolerance) for x in usual)
            if rank_of(J[:, own], tolerance) < most:
                dependent.append(own)
        if dependent and size != 2:
            return dependent
        if dependent:  # pairs that share a joint are one set: dependence is transitive
            sets: list[set[int]] = []
            for pair in dependent:
                joined = set(pair).union(*(other for other in sets if other & set(pair)))
                sets = [other for other in sets if not other & joined] + [joined]
            return [tuple(sorted(joined)) for joined in sets]
    return dependent
