"""The same robots in MuJoCo, through `robot.to_mjcf()`; contacts and constraints are switched off.

MuJoCo has no function that does only what ours do, so the shortest sequences of its own stages are
measured, each state set and computed from Python, and what the same calls cost for a pendulum is
taken off:

- inverse dynamics: mj_kinematics, mj_comPos, mj_comVel, mj_rne with accelerations. mj_inverse does
  the same and the mass matrix, its factors, passive and constraint forces besides.
- forward dynamics: mj_forward, which is mass matrix, its factors, bias, and a solve.
- mass matrix: mj_kinematics, mj_comPos, mj_makeM (composite bodies), mj_fullM.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import dalembert as dl
from benchmarks.optional import optional
from benchmarks.peers import SAMPLE
from benchmarks.timing import Candidate

mujoco = optional("mujoco")

Stages = Callable[[Any, Any, np.ndarray], None]


def inverse(model: Any, data: Any, out: np.ndarray) -> None:
    """τ for the q, q̇, q̈ in `data`."""
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_comVel(model, data)
    mujoco.mj_rne(model, data, 1, out)


def forward(model: Any, data: Any, out: np.ndarray) -> None:
    """q̈ for the q, q̇, τ in `data`; it stays there."""
    mujoco.mj_forward(model, data)


def mass(model: Any, data: Any, out: np.ndarray) -> None:
    """M for the q in `data`."""
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_makeM(model, data)
    mujoco.mj_fullM(model, data, out)


STAGES: dict[str, tuple[Stages, tuple[str, ...]]] = {
    "inverse_dynamics": (inverse, ("qpos", "qvel", "qacc")),
    "forward_dynamics": (forward, ("qpos", "qvel", "qfrc_applied")),
    "mass_matrix": (mass, ("qpos",)),
}


def mujoco_candidate(robot: dl.Robot, quantity: str, states: Sequence[np.ndarray]) -> Candidate:
    """The quantity for some of the states, checked against ours."""
    some = [x[:SAMPLE] for x in states]
    call, last = _loop(robot, quantity, some)
    call()
    ours = robot.kernel(quantity)(*(x[-1] for x in some))
    np.testing.assert_allclose(last, ours, rtol=1e-6, atol=1e-6)
    empty, _ = _loop(dl.load("pendulum"), quantity, [x[:, :1] for x in some])
    return Candidate(call, SAMPLE, empty)


def _loop(
    robot: dl.Robot, quantity: str, states: Sequence[np.ndarray]
) -> tuple[Callable[[], None], np.ndarray]:
    """A call over all the states, and where the result of the last one is afterwards."""
    model = mujoco.MjModel.from_xml_string(robot.to_mjcf())
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= int(off.mjDSBL_CONTACT) | int(off.mjDSBL_CONSTRAINT)
    data = mujoco.MjData(model)
    stages, names = STAGES[quantity]
    fields = [getattr(data, name) for name in names]
    shape = (model.nv, model.nv) if quantity == "mass_matrix" else (model.nv,)
    out = data.qacc if quantity == "forward_dynamics" else np.empty(shape)
    sample = list(zip(*states, strict=True))

    def call() -> None:
        for state in sample:
            for field, value in zip(fields, state, strict=True):
                field[:] = value
            stages(model, data, out)

    return call, out
