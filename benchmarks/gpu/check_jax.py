"""JAX on a GPU against the CPU: values, gradients, transforms, shapes, motions, times.

python -m benchmarks.gpu.check_jax [words …]
"""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

import dalembert as dl
from benchmarks.gpu.checks import (
    both_times,
    check,
    check_quantities,
    error,
    motion,
    panda,
    prepared,
    run,
    seconds,
    squares,
)

jax.config.update("jax_enable_x64", True)
CPU, CARD = jax.devices("cpu")[0], jax.devices()[0]


def compared(name: str, quantity: str, inputs: int, count: int, dtype: str) -> Any:
    """Value and gradient by JAX on the card and on the CPU."""
    system, state, value = prepared(name, quantity, inputs, count, dtype)
    there = dl.jax(system)
    both = jax.jit(
        lambda *x: (
            value(there, *x),
            jax.grad(lambda *x: squares(value(there, *x)), tuple(range(inputs)))(*x),
        )
    )
    results = both(*(jax.device_put(x, CARD) for x in state))
    assert all(x.devices() == {CARD} for x in jax.tree.leaves(results))
    expected = both(*(jax.device_put(x, CPU) for x in state))
    return error(jax.tree.leaves(results), jax.tree.leaves(expected))


check_quantities(compared)


@check("batch shapes and broadcasting float64")
def _() -> float:
    system, x = panda("float64", 6, 5, 4)
    there, worst = dl.jax(system), 0.0
    q, qd, qdd = x
    for inputs in [
        x,
        [q[0, 0, 0], qd[0, 0, 0], qdd[0, 0, 0]],
        [q[:, :1], qd[:1], qdd],
        [q[:, :1, :1], qd[:1, :, :1], qdd[:1, :1]],
        [q, qd[0, 0], qdd[0, 0, 0]],
        [a.reshape(120, 7) for a in x],
        [q[:0], qd[:0], qdd[:0]],
    ]:
        for f in (there.inverse_dynamics, jax.jit(there.inverse_dynamics)):
            results = f(*(jax.device_put(a, CARD) for a in inputs))
            worst = max(worst, error(results, system.inverse_dynamics(*inputs)))
    many = [
        jax.device_put(a, CARD)
        for a in (q[:, None, :, None], qd[:, :, None, :1], qdd[:, :1, None, :, None][:, :, :, 0])
    ]
    expected = system.inverse_dynamics(*(np.asarray(a) for a in many))
    return max(worst, error(there.inverse_dynamics(*many), expected))


@check("jit vmap grad hessian jacfwd scan checkpoint float64")
def _() -> float:
    system, (q, *_) = panda("float64", 65)
    there = dl.jax(system)

    def stepped(x: Any) -> Any:
        one = jax.checkpoint(lambda x, _: (x - 1e-3 * there.gravity_torque(x), None))
        return (jax.lax.scan(one, x, None, 20)[0] ** 2).sum()

    functions = {
        "grad": jax.jit(jax.vmap(jax.grad(there.potential_energy))),
        "hessian": jax.jit(jax.vmap(jax.hessian(there.potential_energy))),
        "jacfwd": jax.jit(jax.vmap(jax.jacfwd(lambda q: there.mass_matrix(q)))),
        "scan": jax.jit(jax.grad(stepped)),
        "nested": jax.vmap(jax.vmap(lambda a: there.gravity_torque(a), 0), 1, out_axes=1),
    }
    worst = 0.0
    for f in functions.values():
        x = q.reshape(13, 5, 7) if f is functions["nested"] else q
        worst = max(worst, error(f(jax.device_put(x, CARD)), np.asarray(f(jax.device_put(x, CPU)))))
    return worst


@check("same results a hundred times, several programs at once float32")
def _() -> float:
    system, x = panda("float32", 4096)
    f = jax.jit(lambda q, qd, a: dl.jax(system).inverse_dynamics(q, qd, a) + q)
    inputs = [jax.device_put(a, CARD) for a in x]
    first, worst = np.asarray(f(*inputs)), 0.0
    later = [f(*inputs) for _ in range(100)]
    for results in later:
        worst = max(worst, error(results, first))
    assert worst == 0.0
    return error(first, system.inverse_dynamics(*x) + x[0])


@check("rollout and its gradient float64")
def _() -> float:
    return _rolled("float64")


@check("rollout and its gradient float32")
def _() -> float:
    return _rolled("float32")


def _rolled(dtype: str) -> float:
    system, q, qd, tau, options = motion(dtype, 70, 30)
    there = dl.jax(system)
    gradient = jax.jit(
        jax.grad(lambda *x: squares(there.rollout(*x, **options, every=30)), (0, 1, 2))
    )
    run = jax.jit(lambda *x: there.rollout(*x, **options))
    results = []
    for device in (CARD, CPU):
        x = [jax.device_put(a, device) for a in (q, qd, tau)]
        results.append((*run(*x), *gradient(*x)))
    return error(*results)


@check("time rollout of 4096 Pandas, 200 steps, value and gradient float32")
def _() -> Any:
    system, q, qd, tau, options = motion("float32", 4096, 200)
    there = dl.jax(system)
    x = [jax.device_put(a, CARD) for a in (q, qd, tau)]
    lines = []
    for every in (200, 1):
        run = jax.jit(lambda *x, every=every: there.rollout(*x, **options, every=every))
        loss = lambda *x, every=every: squares(  # noqa: E731
            there.rollout(*x, **options, every=every)
        )
        both = jax.jit(jax.value_and_grad(loss, (0, 1, 2)))
        times = [seconds(partial(f, *x), jax.block_until_ready) for f in (run, both)]
        lines.append(
            f"every {every}: value {times[0] * 1e3:.2f} ms, with gradient {times[1] * 1e3:.2f}"
        )
    return 0.0, "; ".join(lines)


@check("time of values and vjps of dynamics float32")
def _() -> Any:
    return 0.0, both_times(_two)


def _two(quantity: str, count: int) -> list[float]:
    """Seconds of a value, and with its vjp."""
    system, x = panda("float32", count)
    f = jax.jit(getattr(dl.jax(system), quantity))

    def pulled(*x: Any) -> Any:
        y, back = jax.vjp(f, *x)
        return y, back(jnp.ones_like(y))

    inputs = [jax.device_put(a, CARD) for a in x]
    both = (f, jax.jit(pulled))
    return [seconds(partial(g, *inputs), jax.block_until_ready, 20) for g in both]


if __name__ == "__main__":
    print("JAX", jax.__version__, CARD, flush=True)
    sys.exit(run())
