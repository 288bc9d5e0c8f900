"""Derivatives of the dynamics beside Pinocchio: ratios from one run, one thread, row-major float64.

Pinocchio's derivatives have no batched call, so each state is a call from Python; what the call itself
costs (measured on a one-joint model) is taken off before the ratio.
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
SAMPLE = 64  # of them that Pinocchio does per turn


def one_joint() -> Any:
    """The smallest model: its derivatives cost next to nothing, the call the rest."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), "joint")
    model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Identity())
    return model


def derivatives_table(rounds: int) -> Table:
    """Nanoseconds per state, operations per state, and the ratios."""
    table = Table(title=f"{STATES} states, one thread, float64, row-major; ns per state")
    for column in (
        "robot",
        "derivatives of",
        "dalembert",
        "Pinocchio",
        "ratio",
        "operations",
        "Gop/s",
    ):
        table.add_column(
            column, justify="left" if column in ("robot", "derivatives of") else "right"
        )
    dl.set_num_threads(1)
    for name in ("ur5", "panda"):
        for quantity, theirs in (
            ("inverse_dynamics_derivatives", pin.computeRNEADerivatives),
            ("forward_dynamics_derivatives", pin.computeABADerivatives),
        ):
            table.add_row(*_row(name, quantity, theirs, rounds))
    return table


def _row(name: str, quantity: str, theirs: Callable[..., Any], rounds: int) -> list[str]:
    robot, peer = dl.load(name), pinocchio_model(name)
    state = np.random.default_rng(0).uniform(-np.pi, np.pi, (3, STATES, robot.nv))
    kernel = robot.kernel(quantity)
    out = tuple(np.empty((STATES, robot.nv, robot.nv)) for _ in range(3))
    tiny, data = one_joint(), peer.createData()
    tiny_data, zero = tiny.createData(), np.zeros(1)
    sample = list(zip(*(x[:SAMPLE] for x in state), strict=True))

    def pinocchio() -> None:
        for q, qd, last in sample:
            theirs(peer, data, q, qd, last)

    def call_alone() -> None:
        for _ in range(SAMPLE):
            theirs(tiny, tiny_data, zero, zero, zero)

    candidates = {
        "ours": lambda: kernel(*state, out=out),
        "pinocchio": pinocchio,
        "call": call_alone,
    }
    best = interleaved(candidates, rounds)
    ours = best["ours"] / STATES * 1e9
    peers = (best["pinocchio"] - best["call"]) / SAMPLE * 1e9
    operations = robot.operation_count(quantity).total
    figures = (f"{ours:.1f}", f"{peers:.0f}", f"{peers / ours:.1f}×", str(operations))
    return [name, quantity.removesuffix("_derivatives"), *figures, f"{operations / ours:.1f}"]
