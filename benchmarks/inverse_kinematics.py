"""Inverse kinematics side by side: ours, the Robotics Toolbox's C++ `ik_LM`, and pink, one thread.

    python -m benchmarks.inverse_kinematics [--targets 100000] [--rounds 3] [--only UR5]
    python -m benchmarks.inverse_kinematics --all

Needs `roboticstoolbox-python` and `pin-pink` with `quadprog`; a peer that is not installed is left out.
Targets are poses of random postures within the limits. A posture counts as solved where our `pose` of
it is within 1e-9 m and rad of the target and every joint within its limits; at its tol=1e-18, which is
½ |e|², the Toolbox stops within √2 · 1e-9, and that counts. Candidates take turns, and each keeps its
best time. The Toolbox is run with its default damping k = 1 and with 0.1, and the faster one compared.

With `--all`: every solution of each target, limits off, by `all_inverse_kinematics` and by EAIK in one
call with one worker thread; the share of the targets whose own configuration is in the list, solutions
per target, and microseconds per target. EAIK's least-squares answers are not counted.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402

import dalembert as dl  # noqa: E402
from benchmarks.arms import ARMS  # noqa: E402
from benchmarks.reach_peers import Pink, toolbox, toolbox_transforms  # noqa: E402
from dalembert.formulations.inverse_kinematics.geometry import serial_chain  # noqa: E402
from dalembert.systems.ik.targets import pose_errors  # noqa: E402

TOLERANCE, SEED = 1e-9, 20
TOOLBOX_TARGETS, PINK_TARGETS = 2000, 12


class Candidate(NamedTuple):
    """A solver, the targets it gets, and how near it promises to come."""

    name: str
    solve: Callable[[np.ndarray], np.ndarray]
    count: int
    tolerance: float = TOLERANCE


class Outcome(NamedTuple):
    """Share of the targets solved, and solved targets per second."""

    share: float
    rate: float


def candidates(robot: dl.Robot, count: int) -> list[Candidate]:
    """Ours, and the peers that are installed."""
    candidates = [Candidate("dalembert", lambda T: robot.inverse_kinematics(T).q, count)]
    try:
        chain = toolbox_transforms(robot)
        for k in (1.0, 0.1):
            few = min(count, TOOLBOX_TARGETS)
            near = np.sqrt(2.0) * TOLERANCE
            candidates.append(
                Candidate(f"k = {k:g}", lambda T, k=k: toolbox(chain, T, k), few, near)
            )
    except ImportError:
        print("roboticstoolbox is not installed")
    try:
        candidates.append(Candidate("pink", Pink(robot), min(count, PINK_TARGETS)))
    except ImportError:
        print("pink is not installed")
    return candidates


def compared(robot: dl.Robot, count: int, rounds: int) -> dict[str, Outcome]:
    """The outcome of every candidate."""
    T = robot.pose(robot.random_state(np.random.default_rng(SEED), count)[0])
    listed = candidates(robot, count)
    best = dict.fromkeys((c.name for c in listed), np.inf)
    shares: dict[str, float] = {}
    listed[0].solve(T[:8])  # compiled before
    for _ in range(rounds):
        for candidate in listed:
            targets = T[: candidate.count]
            begin = time.perf_counter()
            q = candidate.solve(targets)
            best[candidate.name] = min(best[candidate.name], time.perf_counter() - begin)
            inside = ((q >= robot.lower) & (q <= robot.upper)).all(axis=-1)
            near = pose_errors(robot.pose(q), targets, "pose") <= candidate.tolerance
            shares[candidate.name] = float((inside & near).mean())
    return {
        c.name: Outcome(shares[c.name], c.count * shares[c.name] / best[c.name]) for c in listed
    }


def row(title: str, outcomes: dict[str, Outcome]) -> str:
    """A line of the table."""
    ours = outcomes.pop("dalembert")
    pink = outcomes.pop("pink", None)
    cells = [title, *_cells(ours)]
    if outcomes:
        name, peer = max(outcomes.items(), key=lambda item: item[1].rate)
        cells += [name, *_cells(peer), f"**{ours.rate / peer.rate:.0f}×**"]
    else:
        cells += ["–"] * 4
    cells += [*_cells(pink), f"{ours.rate / pink.rate:.0f}×"] if pink else ["–"] * 3
    return "| " + " | ".join(cells) + " |"


def _cells(outcome: Outcome) -> tuple[str, str]:
    share, each = 100 * outcome.share, 1e6 / outcome.rate
    return f"{share:.3f} %", f"{each:.2f}" if each < 100 else f"{each:.0f}"


class Listing(NamedTuple):
    """Share of the targets with their own configuration listed, solutions and µs per target."""

    share: float
    number: float
    microseconds: float


def listed_by(
    solve: Callable[[np.ndarray], list[np.ndarray]], robot: dl.Robot, count: int, rounds: int
) -> Listing:
    """Every solution of targets from random configurations, the best time of a few rounds."""
    q = np.random.default_rng(SEED).uniform(-3.0, 3.0, (count, robot.nq))
    T = robot.pose(q)
    solve(T[:8])  # compiled before
    best = np.inf
    for _ in range(rounds):
        begin = time.perf_counter()
        answer = solve(T)
        best = min(best, time.perf_counter() - begin)
    lists = [answer[k] for k in range(count)]
    lists = [x[~np.isnan(x).any(axis=-1)] for x in lists]
    turning = robot.kinds.q
    period = np.array([2.0 * np.pi if kind == "angle" else np.inf for kind in turning])
    near = 0
    for own, x in zip(q, lists, strict=True):
        step = x - own
        step -= np.where(np.isfinite(period), period * np.round(step / period), 0.0)
        near += bool(len(x)) and np.abs(step).max(axis=1).min() < 1e-6
    return Listing(near / count, sum(map(len, lists)) / count, 1e6 * best / count)


def eaik_solver(robot: dl.Robot) -> Callable[[np.ndarray], list[np.ndarray]] | None:
    """EAIK on the same axes; None where it is not installed or has no decomposition."""
    try:
        from eaik.IK_HP import HPRobot
    except ImportError:
        return None
    axes = serial_chain(robot.dynamics)
    if axes is None or axes[0].n != 6 or axes[0].prismatic.any():
        return None
    chain = axes[0]
    points = np.vstack([chain.points, chain.tool[:3, 3]])
    peer = HPRobot(chain.directions, np.diff(points, axis=0, prepend=np.zeros((1, 3))))
    if not peer.hasKnownDecomposition():
        return None

    def solve(T: np.ndarray) -> list[np.ndarray]:
        target = T.copy()
        target[:, :3, :3] = T[:, :3, :3] @ chain.tool[:3, :3].T
        answers = peer.IK_batched(target, num_worker_threads=1)
        return _Answers(answers)  # type: ignore[return-value]

    return solve


class _Answers:
    """EAIK's answers, read after the clock has stopped."""

    def __init__(self, answers: list[Any]) -> None:
        self.answers = answers

    def __getitem__(self, k: int) -> np.ndarray:
        answer = self.answers[k]
        return np.array(answer.Q).reshape(-1, 6)[~np.array(answer.is_LS, dtype=bool)]


ALL_ARMS = ("ur5", "puma560", "stanford", "scara")


def every_solution(count: int, rounds: int) -> None:
    """Print the table of `--all`."""
    print("| arm | ours listed | solutions | µs | EAIK listed | solutions | µs | ratio |")
    print("|---" * 8 + "|")
    for robot in (*map(dl.load, ALL_ARMS), ARMS["random 6R"]()):
        ours = listed_by(
            lambda T, robot=robot: robot.all_inverse_kinematics(T, limits=False).solutions,
            robot,
            count,
            rounds,
        )
        cells = [
            robot.name,
            f"{100 * ours.share:.2f} %",
            f"{ours.number:.2f}",
            f"{ours.microseconds:.2f}",
        ]
        solve = eaik_solver(robot)
        if solve is None:
            cells += ["–"] * 4
        else:
            peer = listed_by(solve, robot, count, rounds)
            ratio = peer.microseconds / ours.microseconds
            cells += [f"{100 * peer.share:.2f} %", f"{peer.number:.2f}", f"{peer.microseconds:.2f}"]
            cells.append(f"**{ratio:.0f}×**")
        print("| " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=list(ARMS), action="append")
    parser.add_argument("--all", action="store_true", help="every solution of each target")
    chosen = parser.parse_args()
    dl.set_num_threads(1)
    warnings.simplefilter("ignore")  # the peers have much to say
    if chosen.all:
        every_solution(chosen.targets, chosen.rounds)
        return
    print(
        f"{chosen.targets} targets for ours, {TOOLBOX_TARGETS} for the Toolbox, {PINK_TARGETS} for "
        "pink; microseconds per solved target\n"
    )
    peers = ["Toolbox", "solved", "µs", "ratio", "pink solved", "µs", "ratio"]
    print("| " + " | ".join(["arm", "ours solved", "µs", *peers]) + " |")
    print("|---" * 10 + "|")
    for title in chosen.only or ARMS:
        print(row(title, compared(ARMS[title](), chosen.targets, chosen.rounds)), flush=True)


if __name__ == "__main__":
    main()
