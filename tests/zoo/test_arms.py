"""Real arms against independent programs: Pinocchio and the Robotics Toolbox."""

import json
import sys
from importlib.metadata import files
from pathlib import Path

import numpy as np
import pytest

from dalembert import zoo
from dalembert.systems.robot import Robot
from dalembert.zoo.six_joint_arms import puma_rows

DATA = Path(__file__).parent / "data"
MOTOR = ("rotor_inertia", "gear_ratio", "viscous_motor", "coulomb_motor")
# The descriptions write π/2 with eleven digits, we write it in full.
CLOSE = {"rtol": 1e-10, "atol": 1e-9}


URDF = {"ur5": "ur5_robot.urdf", "panda": "panda.urdf"}
peers = pytest.mark.skipif(sys.platform == "win32", reason="Pinocchio has no wheel for Windows")


def stored(name):
    return json.loads((DATA / f"{name}.json").read_text())


def described(name):
    """Pinocchio's model of the URDF that the package example-robot-data ships."""
    import pinocchio

    (path,) = (f for f in files("example-robot-data") or () if f.name == URDF[name])
    return pinocchio.buildModelFromUrdf(str(path.locate()))


@pytest.mark.parametrize("state", stored("puma560"))
def test_puma560_is_the_robotics_toolbox(state):
    """Numbers of roboticstoolbox-python 1.5.0, `rtb.models.DH.Puma560()`: `rne` of the robot as it
    is ("friction"), of `nofriction(coulomb=True, viscous=True)` ("motors") and of that with every
    `link.Jm = 0` ("rigid"); `gravload`, `inertia` and `fkine`.
    """
    q, qd, qdd = state["q"], state["qd"], state["qdd"]
    robot = zoo.entry("puma560").build()
    rows = [{k: v for k, v in row.items() if k not in MOTOR} for row in puma_rows()]
    rigid = Robot.from_dh(rows, convention="standard", name="rigid")
    exact = {"rtol": 1e-12, "atol": 1e-12}  # the same numbers, torques up to 100 N m
    motors = robot.mass_matrix(q) @ qdd + robot.bias(q, qd)
    np.testing.assert_allclose(rigid.inverse_dynamics(q, qd, qdd), state["rigid"], **exact)
    np.testing.assert_allclose(motors, state["motors"], **exact)
    np.testing.assert_allclose(robot.inverse_dynamics(q, qd, qdd), state["friction"], **exact)
    np.testing.assert_allclose(robot.gravity_torque(q), state["gravity_torque"], **exact)
    np.testing.assert_allclose(robot.mass_matrix(q), state["mass_matrix"], **exact)
    np.testing.assert_allclose(robot.pose(q), state["pose"], **exact)


@pytest.mark.parametrize("state", stored("iiwa14"))
def test_iiwa14_is_its_description(state):
    """Numbers of Pinocchio 4.1 (`rnea`, `crba`, `iiwa_link_ee_kuka`) for Drake's iiwa14 URDF."""
    q, qd, qdd = state["q"], state["qd"], state["qdd"]
    robot = zoo.entry("iiwa14").build()
    np.testing.assert_allclose(robot.inverse_dynamics(q, qd, qdd), state["tau"], **CLOSE)
    np.testing.assert_allclose(robot.mass_matrix(q), state["mass_matrix"], **CLOSE)
    np.testing.assert_allclose(robot.pose(q), state["pose"], **CLOSE)


@peers
@pytest.mark.parametrize(("name", "tool"), [("ur5", "tool0"), ("panda", "panda_hand_tcp")])
def test_arm_is_its_description(name, tool):
    """Pinocchio on the URDF of example-robot-data, the fingers of the Panda held closed."""
    import pinocchio as pin

    full = described(name)
    fixed = [i for i, joint in enumerate(full.names) if "finger" in joint]
    model = pin.buildReducedModel(full, fixed, np.zeros(full.nq))
    work = model.createData()
    robot = zoo.entry(name).build()
    rng = np.random.default_rng(5)
    assert robot.nv == model.nv
    for _ in range(10):
        q, qd, qdd = rng.uniform(-3.0, 3.0, (3, model.nv))
        tau = pin.rnea(model, work, q, qd, qdd)
        upper = np.triu(pin.crba(model, work, q))
        pin.framesForwardKinematics(model, work, q)
        pose = work.oMf[model.getFrameId(tool)].homogeneous
        np.testing.assert_allclose(robot.inverse_dynamics(q, qd, qdd), tau, **CLOSE)
        np.testing.assert_allclose(robot.mass_matrix(q), upper + np.triu(upper, 1).T, **CLOSE)
        np.testing.assert_allclose(robot.pose(q), pose, **CLOSE)


@peers
@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_limits_are_those_of_the_description(name):
    model = described(name)
    joints = zoo.entry(name).build().joints
    for i, joint in enumerate(joints):
        assert joint.name == model.names[i + 1]
        # eleven digits of π in the file
        assert joint.lower[0] == pytest.approx(model.lowerPositionLimit[i], abs=1e-9)
        assert joint.upper[0] == pytest.approx(model.upperPositionLimit[i], abs=1e-9)
        assert joint.velocity_limit == model.velocityLimit[i]
        assert joint.effort_limit == model.effortLimit[i]
