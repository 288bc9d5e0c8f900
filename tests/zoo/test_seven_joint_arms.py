"""Further arms against their descriptions, and the two-bar arm against its closed form."""

import json
import sys
from importlib.metadata import files
from pathlib import Path

import numpy as np
import pytest

from dalembert import zoo

DATA = Path(__file__).parent / "data"
CLOSE = {"rtol": 1e-10, "atol": 1e-9}  # the descriptions write π/2 with eleven digits
URDF = {"ur3": "ur3_robot.urdf", "ur10": "ur10_robot.urdf", "xarm7": "xarm7.urdf"}
TOOLS = {"ur3": "tool0", "ur10": "tool0", "xarm7": "link_eef"}


def described(name):
    """Pinocchio's model of the URDF; the xArm's prints quarter turns with four digits."""
    import pinocchio

    (path,) = (f for f in files("example-robot-data") or () if f.name == URDF[name])
    text = Path(str(path.locate())).read_text()
    return pinocchio.buildModelFromXML(text.replace('1.5708 0 0"', f'{np.pi / 2!r} 0 0"'))


@pytest.mark.skipif(sys.platform == "win32", reason="Pinocchio has no wheel for Windows")
@pytest.mark.parametrize("name", URDF)
def test_arm_is_its_description(name):
    import pinocchio as pin

    model = described(name)
    work = model.createData()
    robot = zoo.load(name)
    rng = np.random.default_rng(6)
    for _ in range(5):
        q, qd, qdd = rng.uniform(-3.0, 3.0, (3, model.nv))
        tau = pin.rnea(model, work, q, qd, qdd)
        upper = np.triu(pin.crba(model, work, q))
        pin.framesForwardKinematics(model, work, q)
        pose = work.oMf[model.getFrameId(TOOLS[name])].homogeneous
        np.testing.assert_allclose(robot.reference("inverse_dynamics", q, qd, qdd), tau, **CLOSE)
        M = upper + np.triu(upper, 1).T
        np.testing.assert_allclose(robot.reference("mass_matrix", q), M, **CLOSE)
        np.testing.assert_allclose(robot.reference("pose", q), pose, **CLOSE)
    for i, joint in enumerate(robot.joints):
        assert joint.name == model.names[i + 1]
        assert joint.lower[0] == pytest.approx(model.lowerPositionLimit[i], abs=1e-9)
        assert joint.velocity_limit == model.velocityLimit[i]
        assert joint.effort_limit == model.effortLimit[i]


@pytest.mark.parametrize("state", json.loads((DATA / "kinova_gen3.json").read_text()))
def test_kinova_gen3_is_its_description(state):
    """Numbers of Pinocchio 4.1 (`rnea`, `crba`, `EndEffector_Link`) for GEN3_URDF_V12.urdf of
    ros_kortex, its 1.5708 and 3.1416 written in full."""
    q, qd, qdd = state["q"], state["qd"], state["qdd"]
    robot = zoo.load("kinova_gen3")
    np.testing.assert_allclose(
        robot.reference("inverse_dynamics", q, qd, qdd), state["tau"], **CLOSE
    )
    np.testing.assert_allclose(robot.reference("mass_matrix", q), state["mass_matrix"], **CLOSE)
    np.testing.assert_allclose(robot.reference("pose", q), state["pose"], **CLOSE)


def test_two_bar_arm_is_the_lagrangian_of_its_notes():
    """004, p.1, as printed."""
    m2, m3, d2, a2, a3, J2, J3, g = 2.0, 1.5, 1.1, 0.6, 0.35, 0.2, 0.05, 9.7
    robot = zoo.entry("two_bar_arm").build(m2=m2, m3=m3, d2=d2, a2=a2, a3=a3, J2=J2, J3=J3, g=g)
    for q, qd, qdd in np.random.default_rng(0).uniform(-3, 3, (5, 3, 2)):
        c3, s3 = np.cos(q[1]), np.sin(q[1])
        J_B = m3 * a3**2 + J3
        J_A = J_B + m2 * a2**2 + m3 * d2**2 + J2 + 2 * m3 * d2 * a3 * c3
        C, D = J_B + m3 * d2 * a3 * c3, m3 * d2 * a3 * s3
        G2, G3 = (m2 * a2 + m3 * d2) * g * np.cos(q[0]), m3 * a3 * g * np.cos(q[0] + q[1])
        speed = np.array([-D * qd[1] ** 2 - 2 * D * qd[0] * qd[1], D * qd[0] ** 2])
        T = np.array([[J_A, C], [C, J_B]]) @ qdd + speed + [G2 + G3, G3]
        np.testing.assert_allclose(
            robot.reference("inverse_dynamics", q, qd, qdd), T, rtol=1e-12, atol=1e-12
        )
        np.testing.assert_allclose(
            robot.reference("forward_dynamics", q, qd, T), qdd, rtol=1e-10, atol=1e-10
        )
