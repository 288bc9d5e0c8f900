"""Rollouts on a GPU with their gradients, and times of all that JAX and PyTorch call there."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

import dalembert as dl
from benchmarks.gpu.checks import CARD, CPU, DEVICE, check, error, panda, squares


def _motion(dtype: str, count: int, steps: int) -> Any:
    system, (q, qd, tau) = panda(dtype, count)
    return system, q, 0.1 * qd, tau, {"steps": steps, "dt": 1e-3, "friction": "plain"}


@check("jax rollout and its gradient float64")
def _() -> float:
    return _rolled("float64")


@check("jax rollout and its gradient float32")
def _() -> float:
    return _rolled("float32")


def _rolled(dtype: str) -> float:
    system, q, qd, tau, options = _motion(dtype, 70, 30)
    there = dl.jax(system)
    slope = jax.jit(jax.grad(lambda *x: squares(there.rollout(*x, **options, every=30)), (0, 1, 2)))
    run = jax.jit(lambda *x: there.rollout(*x, **options))
    results = []
    for device in (CARD, CPU):
        x = [jax.device_put(a, device) for a in (q, qd, tau)]
        results.append((*run(*x), *slope(*x)))
    return error(*results)


@check("torch rollout and its gradient float64")
def _() -> float:
    system, q, qd, tau, options = _motion("float64", 70, 30)
    there, results = dl.torch(system), []
    for device in (DEVICE, "cpu"):
        x = [torch.tensor(a, device=device, requires_grad=True) for a in (q, qd, tau)]
        found = there.rollout(*x, **options, every=30)
        squares(found).backward()
        results.append([*found, *(a.grad for a in x)])
    return error(*results)


# times


def seconds(call: Callable[[], Any], wait: Callable[[Any], Any], repeats: int = 5) -> float:
    """The shortest of several runs after two others."""
    wait(call()), wait(call())
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        wait(call())
        best = min(best, time.perf_counter() - start)
    return best


@check("time jax rollout of 4096 Pandas, 200 steps, value and gradient float32")
def _() -> Any:
    system, q, qd, tau, options = _motion("float32", 4096, 200)
    there = dl.jax(system)
    x = [jax.device_put(a, CARD) for a in (q, qd, tau)]
    said = []
    for every in (200, 1):
        run = jax.jit(lambda *x, every=every: there.rollout(*x, **options, every=every))
        loss = lambda *x, every=every: squares(  # noqa: E731
            there.rollout(*x, **options, every=every)
        )
        both = jax.jit(jax.value_and_grad(loss, (0, 1, 2)))
        times = [seconds(partial(f, *x), jax.block_until_ready) for f in (run, both)]
        said.append(
            f"every {every}: value {times[0] * 1e3:.2f} ms, with gradient {times[1] * 1e3:.2f}"
        )
    return 0.0, "; ".join(said)


@check("time torch rollout of 4096 Pandas, 200 steps, value and gradient float32")
def _() -> Any:
    system, q, qd, tau, options = _motion("float32", 4096, 200)
    there = dl.torch(system)
    x = [torch.tensor(a, device=DEVICE, requires_grad=True) for a in (q, qd, tau)]

    def both() -> None:
        for a in x:
            a.grad = None
        squares(there.rollout(*x, **options, every=200)).backward()

    def value() -> None:
        with torch.no_grad():
            there.rollout(*x, **options, every=200)

    wait = lambda _: torch.cuda.synchronize()  # noqa: E731
    times = [seconds(f, wait, 3) for f in (value, both)]
    return 0.0, f"value {times[0] * 1e3:.2f} ms, with gradient {times[1] * 1e3:.2f}"


@check("time jax and torch, value and vjp of dynamics float32")
def _() -> Any:
    said = []
    for count in (4096, 1 << 18):
        for quantity in ("inverse_dynamics", "forward_dynamics"):
            shown = " ".join(f"{1e6 * t:.0f}" for t in _four(quantity, count))
            said.append(f"{count} {quantity} {shown} us")
    return 0.0, "(jax value, +vjp, torch value, +vjp; waited for) " + "; ".join(said)


def _four(quantity: str, count: int) -> list[float]:
    """Seconds of a value, and with its vjp, by JAX and by PyTorch."""
    system, x = panda("float32", count)
    f = jax.jit(getattr(dl.jax(system), quantity))

    def pulled(*x: Any) -> Any:
        y, back = jax.vjp(f, *x)
        return y, back(jnp.ones_like(y))

    given = [jax.device_put(a, CARD) for a in x]
    both = (f, jax.jit(pulled))
    times = [seconds(partial(g, *given), jax.block_until_ready, 20) for g in both]
    tensors = [torch.tensor(a, device=DEVICE, requires_grad=True) for a in x]
    plain, weights = [a.detach() for a in tensors], torch.ones_like(tensors[0])
    g = getattr(dl.torch(system), quantity)
    calls = (
        partial(g, *plain),
        lambda: torch.autograd.grad(g(*tensors), tensors, weights),
    )
    return [*times, *(seconds(call, lambda _: torch.cuda.synchronize(), 20) for call in calls)]


@check("time of a torch call float32")
def _() -> Any:
    system, x = panda("float32", 64)
    there = dl.torch(system)
    plain = [torch.tensor(a, device=DEVICE) for a in x]
    said = []
    for what, given in (
        ("plain", plain),
        ("recorded", [a.clone().requires_grad_() for a in plain]),
    ):
        there.inverse_dynamics(*given)
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(500):
            there.inverse_dynamics(*given)
        issued = (time.perf_counter() - start) / 500
        torch.cuda.synchronize()
        said.append(f"{what} {1e6 * issued:.1f} us")
    return 0.0, ", ".join(said)
