"""JAX and PyTorch on a GPU against the CPU: values, gradients, transforms, streams, graphs, motions.

    python -m benchmarks.gpu.check_frameworks [words …]   # only checks whose names have all the words

Every check prints one line; the last line says how many failed. Errors are relative to the largest
entry. CHECK_DEVICE=cpu tries the checks themselves where there is no GPU.
"""

from __future__ import annotations

import sys
import time
import traceback
from functools import partial
from importlib import import_module
from typing import Any

import jax
import numpy as np
import torch

import dalembert as dl
from benchmarks.gpu.checks import CARD, CHECKS, CPU, DEVICE, LIMIT, check, error, squares


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
    from dalembert.zoo import spherical_pendulum

    given = (("m", 2.0), ("l", 0.7), ("g", 9.81))
    return spherical_pendulum.build(*(dl.Parameter(*pair) for pair in given))


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
    given = {"frame": system.dynamics.frames[-1]} if quantity == "jacobian" else {}

    def value(there: Any, *arrays: Any) -> Any:
        found = getattr(there, quantity)(*arrays, **given)
        return found if isinstance(found, tuple) else (found,)

    return system, state[:inputs], value


def on_jax(name: str, quantity: str, inputs: int, count: int, dtype: str) -> Any:
    """Value and gradient by JAX on the card and on the CPU."""
    system, state, value = prepared(name, quantity, inputs, count, dtype)
    there = dl.jax(system)
    both = jax.jit(
        lambda *x: (
            value(there, *x),
            jax.grad(lambda *x: squares(value(there, *x)), tuple(range(inputs)))(*x),
        )
    )
    found = both(*(jax.device_put(x, CARD) for x in state))
    assert all(x.devices() == {CARD} for x in jax.tree.leaves(found))
    expected = both(*(jax.device_put(x, CPU) for x in state))
    return error(jax.tree.leaves(found), jax.tree.leaves(expected))


def on_torch(name: str, quantity: str, inputs: int, count: int, dtype: str) -> Any:
    """Value and gradient by PyTorch on the card and on the CPU."""
    system, state, value = prepared(name, quantity, inputs, count, dtype)
    there = dl.torch(system)
    results = []
    for device in (DEVICE, "cpu"):
        x = [torch.tensor(a, device=device, requires_grad=True) for a in state]
        found = value(there, *x)
        assert all(y.device.type == device for y in found)
        squares(found).backward()
        results.append([*found, *(a.grad for a in x)])
    return error(*results)


for (name, quantity), inputs in QUANTITIES.items():
    for dtype in LIMIT:
        for label, way in (("jax", on_jax), ("torch", on_torch)):
            key = f"{label} {name} {quantity} {dtype}"
            check(key)(partial(way, name, quantity, inputs, 1001, dtype))


def main() -> int:
    """Run the checks whose names have the words given."""
    print(jax.__version__, torch.__version__, CARD, flush=True)
    for module in ("jax", "torch", "motions"):
        import_module(f"benchmarks.gpu.check_{module}")
    failed = []
    for name, function in CHECKS.items():
        if not all(word in name for word in sys.argv[1:]):
            continue
        start = time.perf_counter()
        try:
            found = function()
            worst, note = found if isinstance(found, tuple) else (found, "")
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


if __name__ == "__main__":
    sys.exit(main())
