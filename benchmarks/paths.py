"""Time-optimal motion along paths beside TOPP-RA, and jerk-limited motions beside Ruckig.

Run it from the top folder: ``python -m benchmarks.paths``; it needs the packages toppra and ruckig.
One thread; both take turns on the same path, grid and limits, from limits to a trajectory that can be
asked for q, q̇, q̈. TOPP-RA runs its compiled "seidel" solver with limits at both ends of each interval,
as here. For torques it calls inverse dynamics state by state, ours here.
Violations are on a grid ten times as fine, by the robot's inverse dynamics.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import dalembert as dl
from benchmarks.optional import optional
from benchmarks.timing import interleaved
from dalembert.control import (
    Path,
    TimedPath,
    jerk_limited,
    jerk_limited_duration,
    through,
    time_optimal,
)

ruckig = optional("ruckig")
toppra = optional("toppra")
algorithm, constraint = optional("toppra.algorithm"), optional("toppra.constraint")

PATHS, POINTS, GRID = 50, 6, 200
VELOCITY, ACCELERATION = 2.0, 8.0
ROBOTS = ("ur5", "panda")
SCHEME = constraint.DiscretizationType.Interpolation


class Compared:
    """Times of both for one path after the other."""

    def __init__(self) -> None:
        self.ours: list[float] = []
        self.peer: list[float] = []
        self.ratio: list[float] = []  # of durations
        self.passed: list[float] = []  # shares by which limits are passed in between

    def add(self, ours: Callable[[], TimedPath], peer: Callable[[], Any], turns: int = 3) -> None:
        """Take turns; the best of each counts."""
        taken: list[list[float]] = [[], []]
        for _ in range(turns):
            for k, call in enumerate((ours, peer)):
                start = time.perf_counter()
                call()
                taken[k].append(time.perf_counter() - start)
        self.ours.append(min(taken[0]))
        self.peer.append(min(taken[1]))
        fast, other = ours(), peer()
        self.ratio.append(fast.duration / other.duration - 1.0)
        used = fast.used(fast.inner_times(10))
        self.passed.append(max(float(x.max()) for x in used.values()) - 1.0)

    def row(self, name: str) -> str:
        """A line of the table."""
        ours, peer = 1e3 * np.median(self.ours), 1e3 * np.median(self.peer)
        low, high = min(self.ratio), max(self.ratio)
        passed = max(0.0, *self.passed)
        return (
            f"| {name} | {ours:.2f} | {peer:.2f} | {peer / ours:.1f} | {low:+.1e} … {high:+.1e} | "
            f"{passed:.1e} |"
        )


def points_of(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Random way-points (m, n) and where they are on the path."""
    return rng.uniform(-1.5, 1.5, (POINTS, size)), np.linspace(0.0, 1.0, POINTS)


def toppra_of(
    points: np.ndarray, s: np.ndarray, grid: np.ndarray, limits: list[Any]
) -> Callable[[], Any]:
    """TOPP-RA on the same path, a cubic spline without knots next to its ends."""

    def call() -> Any:
        planner = algorithm.TOPPRA(
            limits,
            toppra.SplineInterpolator(s, points),
            gridpoints=grid,
            parametrizer="ParametrizeConstAccel",
            solver_wrapper="seidel",
        )
        return planner.compute_trajectory(0.0, 0.0)

    return call


def joints_alone() -> Compared:
    """Velocity and acceleration limits, six joints."""
    rng, comparison = np.random.default_rng(0), Compared()
    both = np.array([-1.0, 1.0]) * np.ones((6, 1))
    for _ in range(PATHS):
        points, s = points_of(rng, 6)
        grid = time_optimal(
            through(points, s=s), velocity=VELOCITY, acceleration=ACCELERATION, grid=GRID
        ).grid
        limits = [
            constraint.JointVelocityConstraint(VELOCITY * both),
            constraint.JointAccelerationConstraint(ACCELERATION * both, SCHEME),
        ]

        def ours(points: np.ndarray = points, s: np.ndarray = s, grid: np.ndarray = grid) -> Any:
            path = through(points, s=s)
            return time_optimal(path, velocity=VELOCITY, acceleration=ACCELERATION, grid=grid)

        comparison.add(ours, toppra_of(points, s, grid, limits))
    return comparison


def with_torques(name: str, paths: int) -> Compared:
    """Velocity and torque limits of a robot; those of velocity are wide, so that torques matter."""
    robot, rng, comparison = dl.load(name), np.random.default_rng(1), Compared()
    tau = robot.effort_limit
    wide = 3.0 * robot.velocity_limit
    middle = np.clip(0.5 * (robot.lower + robot.upper), -1.0, 1.0)
    torques = np.stack([-tau, tau], axis=1)
    speeds = np.stack([-wide, wide], axis=1)
    for _ in range(paths):
        points, s = points_of(rng, robot.nv)
        points = middle + 0.5 * points
        path = through(points, s=s)
        try:
            grid = time_optimal(path, robot, velocity=wide).grid
        except dl.TrajectoryError:  # the arm cannot be held there
            continue
        limits = [
            constraint.JointVelocityConstraint(speeds),
            constraint.JointTorqueConstraint(
                robot.inverse_dynamics, torques, np.zeros(robot.nv), discretization_scheme=SCHEME
            ),
        ]

        def ours(path: Path = path, grid: np.ndarray = grid) -> Any:
            return time_optimal(path, robot, velocity=wide, grid=grid)

        comparison.add(ours, toppra_of(points, s, grid, limits))
    return comparison


def jerks() -> str:
    """Motions from rest to rest, six joints: both durations, and how long both take."""
    rng, apart = np.random.default_rng(2), []
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(200):
        q0, q1 = rng.uniform(-3.0, 3.0, (2, 6))
        v, a, j = 10.0 ** rng.uniform(-1.0, 1.0, (3, 6))
        inputs, trajectory = ruckig.InputParameter(6), ruckig.Trajectory(6)
        inputs.current_position, inputs.target_position = q0, q1
        inputs.max_velocity, inputs.max_acceleration, inputs.max_jerk = v, a, j
        solver = ruckig.Ruckig(6)
        start = time.perf_counter()
        solver.calculate(inputs, trajectory)
        between = time.perf_counter()
        path = jerk_limited(q0, q1, v, a, j)
        taken[1].append(between - start)
        taken[0].append(time.perf_counter() - between)
        apart.append(abs(path.duration / trajectory.duration - 1.0))
    ours, peer = (1e6 * float(np.median(x)) for x in taken)
    many = rng.uniform(-3.0, 3.0, (2, 10_000, 6))
    each = interleaved({"many": lambda: jerk_limited_duration(*many, v, a, j)}, 10)["many"] * 1e2
    return f"| {ours:.0f} | {peer:.0f} | {each:.2f} | {max(apart):.1e} |"


def main() -> None:
    """Print the tables."""
    toppra.setup_logging("ERROR")
    dl.set_num_threads(1)
    print(f"Time-optimal motion, {PATHS} random paths of {POINTS} points, medians:\n")
    print(
        "| limits | ms | TOPP-RA, ms | times faster | duration beside TOPP-RA's | passed between |"
    )
    print("|---|---|---|---|---|---|")
    print(joints_alone().row(f"velocity, acceleration; 6 joints, grid {GRID}"), flush=True)
    for name in ROBOTS:
        comparison = with_torques(name, PATHS)
        count = len(comparison.ours)
        print(comparison.row(f"velocity, torque; {name}, {count} paths, own grid"), flush=True)
    print("\nLimited jerk, six joints from rest to rest, 200 motions:\n")
    print("| µs | Ruckig, µs | duration alone, one of 10⁴, µs | durations apart |")
    print("|---|---|---|---|")
    print(jerks())


if __name__ == "__main__":
    main()
