"""Inverse dynamics, forward dynamics and mass matrix beside Pinocchio: ratios from one run.

Both are called from Python on the same (N, n) row-major float64 arrays, on one thread. Pinocchio has
batched inverse and forward dynamics; its mass matrix is called in a loop over the states.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
from peers import pinocchio_model
from rich.table import Table
from timing import interleaved

import dalembert as dl

STATES = 4096
Calls = dict[str, Callable[[], object]]


def calls(name: str) -> tuple[dict[str, Calls], Any]:
    """Per quantity, the two ways to compute it, on the same numbers; checked to agree."""
    ours, theirs = dl.load(name), pinocchio_model(name)
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.uniform(-np.pi, np.pi, (3, STATES, ours.nv))
    tau, acc = np.empty_like(q), np.empty_like(q)
    M = np.empty((STATES, ours.nv, ours.nv))
    tau_p, acc_p = np.empty_like(q), np.empty_like(q)
    pool, data = pin.ModelPool(theirs, 1), theirs.createData()
    inverse, forward, mass = (
        ours.kernel(k) for k in ("inverse_dynamics", "forward_dynamics", "mass_matrix")
    )

    def crba() -> None:
        for state in q:
            pin.crba(theirs, data, state)

    made = {
        "inverse dynamics": {
            "ours": lambda: inverse(q, qd, qdd, out=tau),
            "pinocchio": lambda: pin.rneaInParallel(1, pool, q.T, qd.T, qdd.T, tau_p.T),
        },
        "forward dynamics": {
            "ours": lambda: forward(q, qd, qdd, out=acc),
            "pinocchio": lambda: pin.abaInParallel(1, pool, q.T, qd.T, qdd.T, acc_p.T),
        },
        "mass matrix": {"ours": lambda: mass(q, out=M), "pinocchio": crba},
    }
    for pair in made.values():
        for call in pair.values():
            call()
    np.testing.assert_allclose(tau, tau_p, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(acc, acc_p, rtol=1e-6, atol=1e-6)
    return made, (ours, theirs, q[0], qd[0], qdd[0])


def batch_table(rounds: int) -> Table:
    """Nanoseconds per state, and the ratio."""
    table = Table(title=f"{STATES} states, one thread, float64, row-major; ns per state")
    for column in ("robot", "quantity", "dalembert", "Pinocchio", "ratio"):
        table.add_column(column, justify="left" if column in ("robot", "quantity") else "right")
    dl.set_num_threads(1)
    for name in ("ur5", "panda"):
        for quantity, pair in calls(name)[0].items():
            best = interleaved(pair, rounds)
            ours, theirs = (best[who] / STATES * 1e9 for who in ("ours", "pinocchio"))
            table.add_row(name, quantity, f"{ours:.1f}", f"{theirs:.0f}", f"{theirs / ours:.1f}×")
    return table


def single_table(rounds: int) -> Table:
    """Microseconds for one call with one state."""
    table = Table(title="one state, one call from Python; µs")
    for column in ("robot", "robot.inverse_dynamics", "its ufunc", "pinocchio.rnea"):
        table.add_column(column, justify="right")
    for name in ("ur5", "panda"):
        _, (ours, theirs, q, qd, qdd) = calls(name)
        data, ufunc = theirs.createData(), ours.kernel("inverse_dynamics")
        ours.inverse_dynamics(q, qd, qdd)
        pair: Calls = {
            "method": lambda r=ours, s=(q, qd, qdd): r.inverse_dynamics(*s),
            "ufunc": lambda u=ufunc, s=(q, qd, qdd): u(*s),
            "pinocchio": lambda m=theirs, d=data, s=(q, qd, qdd): pin.rnea(m, d, *s),
            "empty": lambda s=(q, qd, qdd): None,
        }
        best = interleaved(pair, rounds)
        times = [
            f"{(best[who] - best['empty']) * 1e6:.2f}" for who in ("method", "ufunc", "pinocchio")
        ]
        table.add_row(name, *times)
    return table
