"""JAX's transforms on a GPU, and arrays of many shapes."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

import dalembert as dl
from benchmarks.gpu.checks import CARD, CPU, check, error, panda


@check("jax batch shapes and broadcasting float64")
def _() -> float:
    system, x = panda("float64", 6, 5, 4)
    there, worst = dl.jax(system), 0.0
    q, qd, qdd = x
    for given in [
        x,
        [q[0, 0, 0], qd[0, 0, 0], qdd[0, 0, 0]],
        [q[:, :1], qd[:1], qdd],
        [q[:, :1, :1], qd[:1, :, :1], qdd[:1, :1]],
        [q, qd[0, 0], qdd[0, 0, 0]],
        [a.reshape(120, 7) for a in x],
        [q[:0], qd[:0], qdd[:0]],
    ]:
        for f in (there.inverse_dynamics, jax.jit(there.inverse_dynamics)):
            found = f(*(jax.device_put(a, CARD) for a in given))
            worst = max(worst, error(found, system.inverse_dynamics(*given)))
    many = [
        jax.device_put(a, CARD)
        for a in (q[:, None, :, None], qd[:, :, None, :1], qdd[:, :1, None, :, None][:, :, :, 0])
    ]
    expected = system.inverse_dynamics(*(np.asarray(a) for a in many))
    return max(worst, error(there.inverse_dynamics(*many), expected))


@check("jax jit vmap grad hessian jacfwd scan checkpoint float64")
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


@check("jax same results a hundred times, several programs at once float32")
def _() -> float:
    system, x = panda("float32", 4096)
    f = jax.jit(lambda q, qd, a: dl.jax(system).inverse_dynamics(q, qd, a) + q)
    given = [jax.device_put(a, CARD) for a in x]
    first, worst = np.asarray(f(*given)), 0.0
    later = [f(*given) for _ in range(100)]
    for found in later:
        worst = max(worst, error(found, first))
    assert worst == 0.0
    return error(first, system.inverse_dynamics(*x) + x[0])
