"""Closed loops in Pinocchio (proximal, converged) and in MuJoCo (soft, taken to its stiff limit)."""

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import dalembert as dl
from dalembert.constraints import Constrained, Loop
from tests.constraints.pinocchio_loops import ClosedTwin, closed_twin, side
from tests.constraints.states import load_states


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "parallel_3rr"])
def test_pinocchio_agrees_on_planar_loops(name):
    """To 1e-11 of the largest acceleration; forces at the pins too, to 1e-8 (its λ is regularised)."""
    closed, q, qd, tau = load_states(name)
    twin = closed_twin(closed)
    qdd, lam = closed.forward_dynamics(q, qd, tau)
    forces = closed.reactions(q, lam)
    for k in range(len(q)):
        theirs = twin(q[k], qd[k], tau[k])
        np.testing.assert_allclose(theirs, qdd[k], atol=1e-11 * np.abs(qdd[k]).max())
        for data, constraint in zip(twin.loop_data, closed.description.constraints, strict=True):
            # theirs acts on the first body, along its axes; ours on the second, along the world's
            R = closed.system.pose(q[k], frame=closed.description.constraints[constraint].frame_a)
            force = R[:3, :3] @ data.contact_force.linear
            ours = -forces[constraint]["force"][k]
            np.testing.assert_allclose(force, ours, atol=1e-8 * max(1.0, np.abs(ours).max()))


def spatial_loop() -> Constrained:
    """A six-joint arm whose tool is held at a point of the world."""
    arm = dl.load("ur5")
    shift = np.eye(4)
    shift[:3, 3] = [0.6, 0.2, 0.3]
    return Constrained(
        arm,
        [Loop("base", "tool", "point", pose_a=shift, name="grip")],
        guess=[0.1, -1, 1, 0.3, 0.5, 0],
    )


def test_pinocchio_agrees_on_a_spatial_loop():
    closed = spatial_loop()
    rng = np.random.default_rng(0)
    q = np.stack([closed.assemble(closed.neutral() + rng.uniform(-0.3, 0.3, 6)) for _ in range(10)])
    qd = closed.project_velocity(q, rng.normal(size=(10, 6)))
    tau = rng.normal(size=(10, 6)) * 10
    qdd, _ = closed.forward_dynamics(q, qd, tau)
    model = closed.system.model
    anchor = 0, pin.SE3(np.eye(3), np.array([0.6, 0.2, 0.3]))
    twin = ClosedTwin(model, [(anchor, side(model, "tool"))])
    for k in range(10):
        np.testing.assert_allclose(
            twin(q[k], qd[k], tau[k]), qdd[k], atol=1e-10 * np.abs(qdd[k]).max()
        )


MJCF = """
<mujoco>
  <option gravity="0 -9.81 0" timestep="1e-3" tolerance="1e-14" iterations="1000" solver="Newton"
          cone="elliptic"><flag contact="disable"/></option>
  <compiler angle="radian" autolimits="false"/>
  <worldbody>
    <body name="crank"><joint name="crank" axis="0 0 1"/>{crank}
      <body name="coupler" pos="0.35 0 0"><joint name="coupler" axis="0 0 1"/>{coupler}</body>
    </body>
    <body name="rocker" pos="1 0 0"><joint name="rocker" axis="0 0 1"/>{rocker}</body>
  </worldbody>
  <equality>
    <connect body1="coupler" body2="rocker" anchor="0.9 0 0" solref="{time} 1"
             solimp="{stiff} {stiff} 1e-3"/>
  </equality>
</mujoco>
"""


def rod(length: float) -> str:
    moment = length**3 / 12
    return (
        f'<inertial mass="{length}" pos="{length / 2} 0 0" diaginertia="1e-4 {moment} {moment}"/>'
    )


def soft_force(stiff: float, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """MuJoCo's generalised force of the pin at each state, (n, 3)."""
    rods = {
        name: rod(length) for name, length in (("crank", 0.35), ("coupler", 0.9), ("rocker", 0.8))
    }
    model = mujoco.MjModel.from_xml_string(MJCF.format(time=0.002, stiff=stiff, **rods))
    model.eq_data[0, :6] = [0.9, 0, 0, 0.8, 0, 0]  # the anchors, whatever the first posture was
    data, result = mujoco.MjData(model), []
    for state in zip(q, qd, tau, strict=True):
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = state
        mujoco.mj_forward(model, data)
        result.append(data.qfrc_constraint.copy())
    return np.stack(result)


def test_mujoco_reactions_approach_ours_in_its_stiff_limit():
    """Its constraints give way by 1 − solimp: forces differ by a few times that, and linearly so."""
    closed, q, qd, tau = load_states("four_bar", count=8)
    _, lam = closed.forward_dynamics(q, qd, tau)
    ours = closed.constraint_force(q, lam)
    errors = []
    for give in (1e-2, 1e-3, 1e-4):
        error = np.abs(soft_force(1.0 - give, q, qd, tau) - ours).max() / np.abs(ours).max()
        assert error < 5 * give
        errors.append(error)
    np.testing.assert_allclose(errors[2] / errors[1], 0.1, rtol=0.1)
