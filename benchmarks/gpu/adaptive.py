"""Runs with steps of their own lengths on CuPy arrays: checked against the CPU, and timed.

    PYTHONPATH=src python benchmarks/gpu/adaptive.py      # with a GPU, CuPy and the library's needs

Easy and difficult runs are mixed: velocities from a tenth to ten times the usual, in random order.
Rates are those of a call that is waited for, with its flags; a try is a step that was tried.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import dalembert as dl
from benchmarks.gpu.device_path import queued
from benchmarks.optional import optional

HOW: dict[str, Any] = {"steps": 10, "dt": 0.05, "every": 10, "rtol": 1e-7, "errors": "flag"}
SIZES = (1 << 14, 1 << 17, 1 << 20)


def states(robot: Any, count: int) -> list[np.ndarray]:
    """(q, q̇, τ) with velocities of all sizes and no torques."""
    q, qd, tau = robot.random_state(np.random.default_rng(1), count)
    sizes = np.random.default_rng(2).permutation(np.geomspace(0.1, 10.0, count))
    return [q, sizes[:, None] * qd, 0.0 * tau]


def check(cp: Any, name: str, robot: Any, state: list[np.ndarray]) -> None:
    """Both methods on few runs, one of which starts nowhere."""
    state = [np.array(x) for x in state]
    state[0][2, 0] = np.nan
    for method in ("RK45", "RK23"):
        how = {**HOW, "steps": 2, "every": 1, "method": method}
        result = robot.rollout(*map(cp.asarray, state), **how)
        expected = robot.rollout(*state, **how)
        assert all(isinstance(x, cp.ndarray) for x in result)
        assert (result.status.get() == expected.status).all(), (result.status, expected.status)
        off = max(float(np.nanmax(np.abs(result[k].get() - expected[k]))) for k in (0, 1))
        other = int((result.attempts.get() != expected.attempts).sum())
        where = f"other tries in {other} of {len(state[0])}"
        print(f"{name:<14} {method} difference {off:7.1e}; {where}", flush=True)
        assert off < 1e-5, off


def measure(cp: Any, name: str, robot: Any) -> None:
    """Rates of several sizes, and of the CPU for the smallest."""
    for count in SIZES:
        state = states(robot, count)
        there = [cp.asarray(x) for x in state]
        how = {**HOW, "method": "RK45"}
        result = robot.rollout(*there, **how)
        assert not result.status.any()
        attempts = int(result.attempts.sum())
        took = queued(cp, partial(robot.rollout, *there, **how), 1)
        each = f"{attempts / count:.0f} tries each, at most {result.attempts.max()}"
        rates = f"{count / took / 1e6:.2f} M runs/s, {attempts / took / 1e6:.0f} M tries/s"
        line = f"{name:<14} {count:8d} runs, {each}: {1e3 * took:.1f} ms, {rates}"
        if count == SIZES[0]:
            host = queued(cp, partial(robot.rollout, *state, **how), 1)
            line += f"; CPU, {dl.get_num_threads()} threads: {1e3 * host:.1f} ms"
        print(line, flush=True)


def main() -> None:
    """Arms, one with friction, and a closed chain."""
    cp = optional("cupy")

    for name in ("ur5", "panda", "puma560"):
        robot = dl.load(name)
        check(cp, name, robot, states(robot, 64))
        if name != "puma560":  # with friction, which is stiff
            measure(cp, name, robot)
    closed = dl.load("four_bar")
    q, qd = closed.random_state(np.random.default_rng(0), 64)[:2]
    check(cp, "four_bar", closed, [q, qd, 0.0 * qd])
    print("all checks passed")


if __name__ == "__main__":
    main()
