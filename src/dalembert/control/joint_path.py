"""Joint path of a Cartesian path: inverse kinematics from sample to sample.

Each sample starts from the prediction of dq/dσ = J⁺(q) V(σ) by a Runge–Kutta step, V the twist of the
path, and is corrected by inverse kinematics. A redundant arm then moves as little and as smoothly as
the pseudo-inverse does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dalembert.control.path import Path
from dalembert.control.trajectory import on_pieces, spline_pieces
from dalembert.errors import TrajectoryError
from dalembert.spatial.rotations import log_so3
from dalembert.systems.ik.targets import pose_errors

if TYPE_CHECKING:
    from dalembert.control.cartesian import CartesianPath, Segment
    from dalembert.systems.robot import Robot

DEGREE = 5
FINEST = 1e-8  # m and rad: ten times the tolerance of inverse kinematics
FIRST = 1.0 / 8.0  # share of a segment between samples
SMALLEST = FIRST / 2.0**9
LARGEST_STEP = 0.5  # rad or m of a joint between samples
ROUNDS = 9  # of halving
STARTS = 8  # initial postures without q0
DIFFERENCE = 1e-5  # of σ, for the twist
PINV = 1e-3  # relative size of singular values of J that are cut off
LIMIT = 1e-3  # rad or m: nearer to its limit a joint is at it
SINGULAR = 0.02  # smallest over largest singular value of the Jacobian


class _Stopped(TrajectoryError):
    """A path that could not be followed beyond s."""

    def __init__(self, message: str, s: float) -> None:
        super().__init__(message)
        self.s = s


def joint_path(
    robot: Robot, path: CartesianPath, q0: ArrayLike | None, frame: str, tolerance: float
) -> Path:
    """q(s) along a path, from the first initial posture that works; else the error of the furthest."""
    if robot.nq != robot.nv:
        raise TrajectoryError(f"{robot.name} has quaternions: paths are for joints of one degree")
    if not (np.isfinite(tolerance) and tolerance >= FINEST):
        raise TrajectoryError(f"tolerance must be at least {FINEST:g} m and rad, not {tolerance!r}")
    first, stopped = path(0.0), None
    for seed in range(1 if q0 is not None else STARTS):
        q, solved = robot.inverse_kinematics(first, frame, q0, max_restarts=0, rng=seed)
        if not solved:
            q, solved = robot.inverse_kinematics(first, frame, q0, rng=seed)
        if not solved:
            raise TrajectoryError(f"{robot.name} cannot reach the begin of the path with {frame!r}")
        try:
            pieces, breaks, worst = [], [np.zeros(1)], 0.0
            for segment, a, b in zip(path.segments, path.breaks[:-1], path.breaks[1:], strict=True):
                track = _Samples(robot, segment, frame, tolerance, (a, b))
                track.sample(q)
                track.refine()
                q, worst = track.q[-1], max(worst, track.deviation)
                # (k−1, 6, n) of the spline through the samples, about the begin of each interval
                c = spline_pieces(track.at, track.q, DEGREE)
                pieces.append(c / (b - a) ** np.arange(DEGREE + 1.0)[:, None])
                breaks.append(a + (b - a) * track.at[1:])
            return Path(np.concatenate(breaks), np.concatenate(pieces), worst)
        except _Stopped as error:
            if stopped is None or error.s > stopped.s:
                stopped = error
    hint = "" if q0 is None else " (without q0 other postures are tried)"
    raise TrajectoryError(f"{stopped}{hint}")


@dataclass(eq=False)
class _Samples:
    """Samples along one segment: shares `at` (k,) and postures `q` (k, n)."""

    robot: Robot
    segment: Segment
    frame: str
    tolerance: float
    stretch: tuple[float, float]
    deviation: float = 0.0
    at: np.ndarray = field(init=False)
    q: np.ndarray = field(init=False)

    def sample(self, q: np.ndarray) -> None:
        """Samples from the begin to the end, closer ones where a joint moves far."""
        at, qs, step = [0.0], [q], FIRST
        while at[-1] < 1.0:
            share = min(at[-1] + step, 1.0)
            target = self.segment.poses(np.array([share]))[0]
            guess = self.predicted(qs[-1], at[-1], share - at[-1])
            here, solved = self.robot.inverse_kinematics(target, self.frame, guess, max_restarts=0)
            moved = max(np.abs(here - qs[-1]).max(), 10.0 * np.abs(here - guess).max())
            if solved and moved <= LARGEST_STEP:
                at.append(share)
                qs.append(here)
                step = min(2.0 * step, FIRST)
            elif step > SMALLEST:
                step *= 0.5
            else:
                raise self.stopped(qs[-1], at[-1], here - qs[-1] if solved else None)
        self.at, self.q = np.array(at), np.array(qs)

    def predicted(self, q: np.ndarray, share: float, h: float) -> np.ndarray:
        """q after a step h along dq/dσ = J⁺ V, of fourth order."""
        k1 = self.rate(q, share)
        k2 = self.rate(q + 0.5 * h * k1, share + 0.5 * h)
        k3 = self.rate(q + 0.5 * h * k2, share + 0.5 * h)
        k4 = self.rate(q + h * k3, share + h)
        return np.asarray(q + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4))

    def rate(self, q: np.ndarray, share: float) -> np.ndarray:
        """dq/dσ = J⁺ V (n,), V (6,) = (linear, angular) along the world's axes."""
        J = self.robot.jacobian(q, self.frame, expressed_in="world")
        before, after = self.segment.poses(np.array([share - DIFFERENCE, share + DIFFERENCE]))
        turn = log_so3(after[:3, :3] @ before[:3, :3].T)
        V = np.concatenate([after[:3, 3] - before[:3, 3], turn]) / (2.0 * DIFFERENCE)
        return np.linalg.pinv(J, rcond=PINV) @ V

    def refine(self) -> None:
        """Halve the intervals at whose midpoints the spline misses the path."""
        for _ in range(ROUNDS):
            middles = 0.5 * (self.at[1:] + self.at[:-1])
            guess = on_pieces(self.at, spline_pieces(self.at, self.q, DEGREE), middles)[0]
            targets = self.segment.poses(middles)
            away = pose_errors(self.robot.pose(guess, self.frame), targets, "pose")
            self.deviation, wrong = float(away.max()), away > self.tolerance
            if not wrong.any():
                return
            solution = self.robot.inverse_kinematics(
                targets[wrong], self.frame, guess[wrong], max_restarts=0
            )
            if not solution.found.all():
                k = np.flatnonzero(wrong)[np.argmin(solution.found)]
                raise self.stopped(self.q[k], self.at[k], None)
            order = np.argsort(np.concatenate([self.at, middles[wrong]]))
            self.at = np.concatenate([self.at, middles[wrong]])[order]
            self.q = np.concatenate([self.q, solution.q])[order]
        k = int(np.argmax(away))
        raise self.stopped(self.q[k], self.at[k], self.q[k + 1] - self.q[k])

    def stopped(self, q: np.ndarray, share: float, jump: np.ndarray | None) -> _Stopped:
        """The error of a path that cannot be followed beyond a share, from the last posture."""
        s = float(self.stretch[0] + share * (self.stretch[1] - self.stretch[0]))
        where = f"the path cannot be followed beyond s = {s:.4g}"
        return _Stopped(f"{where}: {_cause(self.robot, q, self.frame, jump)}", s)


def _cause(robot: Robot, q: np.ndarray, frame: str, jump: np.ndarray | None) -> str:
    """Why a path cannot be followed from this posture."""
    names = robot.dynamics.velocities
    near = np.minimum(q - robot.lower, robot.upper - q)
    j = int(np.argmin(near))
    if near[j] < LIMIT:
        side = "upper" if robot.upper[j] - q[j] < LIMIT else "lower"
        return f"joint {names[j]!r} is at its {side} limit of {getattr(robot, side)[j]:.4g}"
    _, sizes, turns = np.linalg.svd(robot.jacobian(q, frame, expressed_in="world"))
    rank = min(robot.nv, 6)
    k = int(np.argmax(np.abs(turns[rank - 1])))
    if sizes[rank - 1] < SINGULAR * sizes[0]:
        fast = f"joint {names[k]!r} would have to turn without bound"
        return f"the posture is singular there, {fast}"
    if jump is not None:
        k = int(np.argmax(np.abs(jump)))
        return f"joint {names[k]!r} would jump by {jump[k]:.3g}; begin from another q0"
    return f"the next poses are out of reach of {robot.name}"
