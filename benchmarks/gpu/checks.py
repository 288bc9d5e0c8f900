"""What the checks of JAX and PyTorch on a GPU share: their list, errors, one robot."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import dalembert as dl

DEVICE = os.environ.get("CHECK_DEVICE", "cuda")  # "cpu": to try this script itself
LIMIT = {"float32": 3e-4, "float64": 1e-11}
CHECKS: dict[str, Callable[[], Any]] = {}


def check(name: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Remember a function that returns the largest error, or (error, what else to say)."""

    def remember(function: Callable[[], Any]) -> Callable[[], Any]:
        CHECKS[name] = function
        return function

    return remember


def error(actual: Any, expected: Any) -> float:
    """The largest difference between trees of arrays, relative to the largest entry of each."""
    worst = 0.0
    for x, y in zip(_leaves(actual), _leaves(expected), strict=True):
        assert x.shape == y.shape and x.dtype == y.dtype, (x.shape, y.shape, x.dtype, y.dtype)
        if x.size:
            assert np.isfinite(x).all(), "not finite"
            worst = max(worst, float(np.abs(x - y).max() / max(np.abs(y).max(), 1e-30)))
    return worst


def _leaves(tree: Any) -> list[np.ndarray]:
    if isinstance(tree, tuple | list):
        return [leaf for branch in tree for leaf in _leaves(branch)]
    return [tree.detach().cpu().numpy() if hasattr(tree, "detach") else np.asarray(tree)]


def panda(dtype: str, *lead: int) -> tuple[Any, list[np.ndarray]]:
    """A Panda and states (*lead, 7) of it."""
    system = dl.load("panda")
    x = system.random_state(np.random.default_rng(1), int(np.prod(lead)))
    return system, [a.reshape(*lead, -1).astype(dtype) for a in x]


def squares(values: Any) -> Any:
    """The sum of all squares."""
    return sum((x**2).sum() for x in values)


def states(name: str, count: int, dtype: str) -> tuple[Any, list[np.ndarray]]:
    """A system and q, q̇ and a third array of its states."""
    rng = np.random.default_rng(0)
    system = lagrangian() if name == "lagrangian" else dl.load(name)
    if name == "four_bar":
        q = np.stack([system.neutral()] * count)
        qd = np.stack([system.project_velocity(a, rng.normal(size=system.nv)) for a in q])
        state = [q, qd, rng.normal(size=qd.shape)]
    else:
        state = list(system.random_state(rng, count))
    return system, [x.astype(dtype) for x in state]


def lagrangian() -> Any:
    """A pendulum in space by its energies, with three parameters."""
    from dalembert.zoo import energies

    values = (("m", 2.0), ("l", 0.7), ("g", 9.81))
    return energies.spherical_pendulum(*(dl.Parameter(*pair) for pair in values))


QUANTITIES = {
    ("panda", "inverse_dynamics"): 3,
    ("panda", "forward_dynamics"): 3,
    ("panda", "mass_matrix"): 1,
    ("panda", "jacobian"): 1,
    ("four_bar", "forward_dynamics"): 3,
    ("lagrangian", "forward_dynamics"): 3,
}


def prepared(name: str, quantity: str, inputs: int, count: int, dtype: str) -> tuple[Any, Any, Any]:
    """The system, its states, and the loss whose gradient is compared, of a facade and arrays."""
    system, state = states(name, count, dtype)
    options = {"frame": system.dynamics.frames[-1]} if quantity == "jacobian" else {}

    def value(there: Any, *arrays: Any) -> Any:
        results = getattr(there, quantity)(*arrays, **options)
        return results if isinstance(results, tuple) else (results,)

    return system, state[:inputs], value


def check_quantities(compared: Callable[..., float]) -> None:
    """A check by `compared(name, quantity, inputs, count, dtype)` for each, in both precisions."""
    for (name, quantity), inputs in QUANTITIES.items():
        for dtype in LIMIT:
            case = (name, quantity, inputs, 1001, dtype)
            check(f"{name} {quantity} {dtype}")(partial(compared, *case))


def motion(dtype: str, count: int, steps: int) -> Any:
    """A Panda, its states and torques, and the options of a rollout."""
    system, (q, qd, tau) = panda(dtype, count)
    return system, q, 0.1 * qd, tau, {"steps": steps, "dt": 1e-3, "friction": "plain"}


def seconds(call: Callable[[], Any], wait: Callable[[Any], Any], repeats: int = 5) -> float:
    """The shortest of several runs after two others."""
    wait(call()), wait(call())
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        wait(call())
        best = min(best, time.perf_counter() - start)
    return best


def run() -> int:
    """Run the checks whose names have the words given, and say how many failed."""
    failed = []
    for name, function in CHECKS.items():
        if not all(word in name for word in sys.argv[1:]):
            continue
        start = time.perf_counter()
        try:
            result = function()
            worst, note = result if isinstance(result, tuple) else (result, "")
            limit = next((limit for dtype, limit in LIMIT.items() if dtype in name), 0.0)
            good = worst <= limit
        except BaseException:
            traceback.print_exc(limit=-6)
            worst, note, good = np.nan, "", False
        failed += [] if good else [name]
        took = time.perf_counter() - start
        print(
            f"{'ok  ' if good else 'FAIL'} {worst:7.1e} {took:6.1f} s  {name}  {note}", flush=True
        )
    print(f"{len(failed)} failed: {failed}")
    return bool(failed)


def both_times(seconds_of: Callable[[str, int], Sequence[float]]) -> str:
    """Times of both dynamics, for few states and for many, by `seconds_of(quantity, count)`."""
    return "waited for, us: " + "; ".join(
        f"{count} {quantity} " + " ".join(f"{1e6 * t:.0f}" for t in seconds_of(quantity, count))
        for count in (4096, 1 << 18)
        for quantity in ("inverse_dynamics", "forward_dynamics")
    )
