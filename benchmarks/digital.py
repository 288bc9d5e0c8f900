"""Ten seconds of a Panda under a PID at 1 kHz, a plain Python class, beside loops over the peers.

All integrate by RK4 with 1 ms steps and hold the torque over a step; what differs is the loop: ours
is `simulate(control_dt=…)`, with all samples, energies and limits in its result. Times are of the
processor, in one thread, the second of two runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.table import Table

import dalembert as dl
from benchmarks.optional import optional
from benchmarks.simulation import DT, mujoco_model, pinocchio_model, pinocchio_step

mujoco = optional("mujoco")

SECONDS = 10.0
Q0 = np.array([0.1, -0.4, 0.2, -2.0, 0.1, 1.8, 0.3])
KP = np.array([600.0, 600.0, 600.0, 600.0, 50.0, 40.0, 3.0])


class PID:
    """A controller with an integral, as a user would write it."""

    def __init__(self) -> None:
        self.sum = np.zeros(7)

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        e = Q0 - q
        self.sum += DT * e
        return KP * e + 2.0 * KP * self.sum - 0.1 * KP * qd


def digital_table() -> Table:
    """Seconds of each, and microseconds a sample."""
    robot = dl.load("panda")
    runs: dict[str, Callable[[], Any]] = {
        "dalembert": lambda: _ours(robot),
        "MuJoCo, mj_step in a loop": lambda: _mujoco(robot),
        "Pinocchio, aba in a loop": lambda: _pinocchio(robot),
    }
    table = Table(title=f"Panda, PID at 1 kHz, {SECONDS:g} s")
    for column in ("by", "seconds", "µs a sample"):
        table.add_column(column, justify="left" if column == "by" else "right")
    ends = []
    for name, call in runs.items():
        call()
        start = time.process_time()
        ends.append(call())
        seconds = time.process_time() - start
        table.add_row(name, f"{seconds:.2f}", f"{1e6 * seconds * DT / SECONDS:.0f}")
    for end in ends[1:]:
        np.testing.assert_allclose(end, ends[0], atol=1e-6)
    return table


def _ours(robot: dl.Robot) -> np.ndarray:
    settings = {"duration": SECONDS, "dt": DT, "control_dt": DT, "progress": False}
    return dl.simulate(robot, Q0 + 0.1, None, PID(), **settings).q.values[-1]


def _offset(robot: dl.Robot) -> np.ndarray:
    return np.concatenate([np.ravel(body.offset) for body in robot.model.bodies])


def _mujoco(robot: dl.Robot) -> np.ndarray:
    model, offset, controller = mujoco_model(robot), _offset(robot), PID()
    data = mujoco.MjData(model)
    data.qpos[:] = Q0 + 0.1 + offset
    for k in range(round(SECONDS / DT)):
        data.qfrc_applied[:] = controller(k * DT, data.qpos - offset, data.qvel)
        mujoco.mj_step(model, data)
    return data.qpos - offset


def _pinocchio(robot: dl.Robot) -> np.ndarray:
    model, controller, q, v = pinocchio_model(robot), PID(), Q0 + 0.1 + _offset(robot), np.zeros(7)
    data = model.createData()
    for k in range(round(SECONDS / DT)):
        tau = controller(k * DT, q - _offset(robot), v)
        q, v = pinocchio_step(model, data, q, v, tau)
    return q - _offset(robot)


if __name__ == "__main__":
    from rich.console import Console

    Console().print(digital_table())
