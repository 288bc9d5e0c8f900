"""10,000 PUMA simulations of one second, beside a loop over Pinocchio and MuJoCo's rollout.

Ours and Pinocchio: RK4 with 1 ms steps. Pinocchio has no batched integrator, so a Python loop over
its `aba` runs a sample of the simulations, and its time is scaled. MuJoCo's `rollout` integrates in
C++ threads, also by RK4; it runs a sample too. All have the same links; friction and rotors are left
out, as the peers model them differently.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.table import Table

import dalembert as dl
from benchmarks.optional import optional
from dalembert.zoo.six_joint_arms import puma_rows

mujoco = optional("mujoco")
pin = optional("pinocchio")
mujoco_rollout = optional("mujoco.rollout")

SAMPLES, DT, STEPS, EVERY = 10_000, 1e-3, 1000, 100
SAMPLE_OF_LOOP = 2
SAMPLE_OF_ROLLOUT = 400


def arm() -> dl.Robot:
    """The rigid links of the PUMA alone."""
    drives = ("rotor_inertia", "gear_ratio", "viscous_motor", "coulomb_motor", "limits")
    rows = [{k: v for k, v in row.items() if k not in drives} for row in puma_rows()]
    return dl.Robot.from_dh(rows, convention="standard", name="puma_links")


def simulation_table() -> Table:
    """Seconds for all simulations, by each."""
    robot = arm()
    rng = np.random.default_rng(0)
    q0 = rng.uniform(-1.0, 1.0, (SAMPLES, robot.nv))
    qd0 = rng.uniform(-1.0, 1.0, (SAMPLES, robot.nv))
    ours, run = _timed(lambda: _ours(robot, q0, qd0))
    whole, _ = _timed(lambda: _ours(dl.load("puma560"), q0, qd0))
    loop, ends = _timed(lambda: _pinocchio(robot, q0[:SAMPLE_OF_LOOP], qd0[:SAMPLE_OF_LOOP]))
    np.testing.assert_allclose(run.q[-1, :SAMPLE_OF_LOOP], ends, atol=1e-8)
    some = slice(SAMPLE_OF_ROLLOUT)
    peer, end = _timed(lambda: _mujoco(robot, q0[some], qd0[some]))
    np.testing.assert_allclose(run.q[-1, some], end, atol=1e-6)
    threads = dl.get_num_threads()
    table = Table(
        title=f"{SAMPLES:,} PUMA simulations of 1 s, RK4, {DT * 1e3:g} ms; {threads} threads"
    )
    for column in ("by", "seconds", "against ours"):
        table.add_column(column, justify="left" if column == "by" else "right")
    scaled = loop * SAMPLES / SAMPLE_OF_LOOP
    for name, seconds in (
        ("dalembert, rigid links", ours),
        ("dalembert, with friction and rotors", whole),
        (
            f"MuJoCo rollout ({SAMPLE_OF_ROLLOUT} of them, scaled)",
            peer * SAMPLES / SAMPLE_OF_ROLLOUT,
        ),
        (f"Pinocchio aba in a loop ({SAMPLE_OF_LOOP} of them, scaled)", scaled),
    ):
        table.add_row(name, f"{seconds:.2f}", f"{seconds / ours:.1f}×")
    return table


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """The second of two calls: the first compiles and warms up."""
    call()
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def _ours(robot: dl.Robot, q0: np.ndarray, qd0: np.ndarray) -> Any:
    return dl.simulate(
        robot, q0, qd0, duration=STEPS * DT, dt=DT, save_every=EVERY, method="rk4", progress=False
    )


def pinocchio_model(robot: dl.Robot) -> pin.Model:
    """The same tree in Pinocchio, body by body."""
    model = pin.Model()
    model.gravity.linear = np.asarray(robot.model.gravity)
    parent = 0
    for body in robot.model.bodies:
        placement = pin.SE3(np.asarray(body.rotation), np.asarray(body.translation))
        parent = model.addJoint(parent, pin.JointModelRZ(), placement, body.name)
        inertia = pin.Inertia(float(body.mass), body.center, body.inertia_about_center)
        model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
    return model


def pinocchio_step(
    model: pin.Model, data: pin.Data, q: np.ndarray, v: np.ndarray, tau: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(q, v) one step of RK4 later, the torque held."""
    a1 = pin.aba(model, data, q, v, tau).copy()
    v2 = v + 0.5 * DT * a1
    a2 = pin.aba(model, data, q + 0.5 * DT * v, v2, tau).copy()
    v3 = v + 0.5 * DT * a2
    a3 = pin.aba(model, data, q + 0.5 * DT * v2, v3, tau).copy()
    v4 = v + DT * a3
    a4 = pin.aba(model, data, q + DT * v3, v4, tau)
    q = q + DT / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4)
    return q, v + DT / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)


def _pinocchio(robot: dl.Robot, q0: np.ndarray, qd0: np.ndarray) -> np.ndarray:
    model = pinocchio_model(robot)
    data, tau = model.createData(), np.zeros(model.nv)
    offset = np.concatenate([np.ravel(body.offset) for body in robot.model.bodies])
    ends = []
    for q, v in zip(q0 + offset, qd0, strict=True):
        for _ in range(STEPS):
            q, v = pinocchio_step(model, data, q, v, tau)
        ends.append(q - offset)
    return np.array(ends)


def mujoco_model(robot: dl.Robot) -> mujoco.MjModel:
    spec = mujoco.MjSpec()
    spec.option.timestep, spec.option.integrator = DT, mujoco.mjtIntegrator.mjINT_RK4
    spec.option.gravity = np.asarray(robot.model.gravity)
    spec.option.disableflags = int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    spec.compiler.autolimits = False
    spec.compiler.balanceinertia = False
    parent = spec.worldbody
    for body in robot.model.bodies:
        quat = np.zeros(4)
        mujoco.mju_mat2Quat(quat, np.ravel(np.asarray(body.rotation)))
        parent = parent.add_body(name=body.name, pos=np.asarray(body.translation), quat=quat)
        parent.explicitinertial = True
        parent.mass, parent.ipos = float(body.mass), body.center
        I = body.inertia_about_center
        parent.fullinertia = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
        parent.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0.0, 0.0, 1.0])
    return spec.compile()


def _mujoco(robot: dl.Robot, q0: np.ndarray, qd0: np.ndarray) -> np.ndarray:
    model = mujoco_model(robot)
    offset = np.concatenate([np.ravel(body.offset) for body in robot.model.bodies])
    data = [mujoco.MjData(model) for _ in range(dl.get_num_threads())]
    full = mujoco.mjtState.mjSTATE_FULLPHYSICS
    start = np.zeros((len(q0), mujoco.mj_stateSize(model, full)))
    start[:, 1 : 1 + model.nq] = q0 + offset
    start[:, 1 + model.nq : 1 + model.nq + model.nv] = qd0
    state, _ = mujoco_rollout.rollout(model, data, start, nstep=STEPS)
    return state[:, -1, 1 : 1 + model.nq] - offset


if __name__ == "__main__":
    from rich.console import Console

    Console().print(simulation_table())
