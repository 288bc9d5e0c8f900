"""Closed chains through the library's own calls with CuPy arrays: checked against the CPU, and timed.

    PYTHONPATH=src python benchmarks/gpu/closed_path.py      # with a GPU, CuPy and the library's needs

(q̈, λ) and their flags, then rollouts with their flags, in both precisions; bad states among the good
ones must come back with the same flags as on the CPU, and change nothing else. Rates are those of calls
that are queued and waited for together; a rollout counts the steps of all runs.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import dalembert as dl
from benchmarks.gpu.device_path import queued
from benchmarks.optional import optional

MECHANISMS = ("four_bar", "parallel_3rr", "robotiq_2f85", "stewart_platform")
LIMITS = {"float32": 1e-3, "float64": 1e-9}
ROLL = {"steps": 50, "dt": 1e-3, "every": 50}
STATES = 64


def states(closed: dl.Constrained) -> list[np.ndarray]:
    """(q, q̇, τ) that the constraints allow, and two that they do not."""
    rng = np.random.default_rng(0)
    q, qd = (x.copy() for x in closed.random_state(rng, STATES)[:2])
    tau = 0.1 * rng.normal(size=(STATES, closed.nv))
    qd[1] += 1.0
    q[2, 0] = np.nan
    return [q, qd, tau]


def error(actual: Any, expected: np.ndarray) -> float:
    """The largest difference beside the largest number of its state; NaN must be where NaN is."""
    host = actual.get()
    assert (np.isnan(host) == np.isnan(expected)).all(), "other states have no result"
    size = 1.0 + np.abs(expected).max(axis=-1, keepdims=True)
    return float(np.nanmax(np.abs(host - expected) / size))


def measure(cp: Any, closed: dl.Constrained, dtype: str, log2_batch: int) -> None:
    """Check and time one mechanism in one precision."""
    inputs = [x.astype(dtype) for x in states(closed)]
    exact = [x.astype(float) for x in inputs]
    there = [cp.asarray(x) for x in inputs]
    loose = {"tolerance": 1e-4} if dtype == "float32" else {}
    result = closed.forward_dynamics(*there, errors="flag", **loose)
    expected = closed.forward_dynamics(*exact, errors="flag", **loose)
    assert (result.status.get() == expected.status).all(), (result.status, expected.status)
    worst = max(map(error, result[:2], expected[:2]))
    exact[2][3] = 1e9 * np.arange(1, closed.nv + 1)  # a run that is thrown off
    thrown = cp.asarray(exact[2].astype(dtype))
    rolled = closed.rollout(*there[:2], thrown, **ROLL, errors="flag")
    expected = closed.rollout(*exact, **ROLL, errors="flag")
    assert (rolled.status.get() == expected.status).all(), (rolled.status, expected.status)
    off = max(map(error, rolled[:2], expected[:2]))
    assert worst < LIMITS[dtype] and off < LIMITS[dtype], (worst, off)
    count = 2**log2_batch
    good = [x[4:] for x in inputs]
    big = [cp.asarray(np.resize(x, (count, x.shape[1]))) for x in good]
    rate = count / queued(cp, lambda: closed.forward_dynamics(*big), 20)
    flags = count / queued(cp, lambda: closed.forward_dynamics(*big, errors="flag"), 20)
    runs = [x[: count // 8] for x in big]
    steps = ROLL["steps"] * count / 8 / queued(cp, lambda: closed.rollout(*runs, **ROLL), 2)
    print(
        f"{closed.name:<20} {dtype}  (q̈, λ) error {worst:7.1e} {rate / 1e6:9.1f} M/s, with flags "
        f"{flags / 1e6:9.1f} M/s; rk4 error {off:7.1e} {steps / 1e6:9.1f} M steps/s",
        flush=True,
    )


def main() -> None:
    """Every mechanism in both precisions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log2-batch", type=int, default=20)
    parser.add_argument("--only", default=",".join(MECHANISMS), help="mechanisms, with commas")
    chosen = parser.parse_args()
    cp = optional("cupy")

    for name in chosen.only.split(","):
        closed = dl.load(name)
        for dtype in ("float64", "float32"):
            measure(cp, closed, dtype, chosen.log2_batch)
    print("all checks passed")


if __name__ == "__main__":
    main()
