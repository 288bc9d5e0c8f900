"""A fitted robot in files: Pinocchio and MuJoCo move it as we do, and notes say where it comes from."""

from dataclasses import replace

import mujoco
import numpy as np
import pinocchio as pin
import pytest
import xarray

import dalembert as dl
from dalembert.identification.identify import provenance_lines, with_provenance
from dalembert.identification.pseudo_inertia import admissible
from dalembert.identification.regressor import build_regressor
from dalembert.report.facts import describe
from tests.identification.logs import CLEAN, ugly_log
from tests.identification.test_consistency import near
from tests.oracles.pinocchio_urdf import described

HUMANOID = "g1/g1_29dof_rev_1_0"


def fitted(robot: dl.Robot, rng: np.random.Generator) -> dl.Robot:
    """The robot with other real inertias, friction and rotors, as a fit puts them in."""
    columns = build_regressor(robot)
    x, k = np.array(columns.values), columns.inertial
    theta = admissible(x[:k], [body.name for body in robot.model.tree.bodies])[0].reshape(-1, 10)
    live = theta.any(axis=1)
    theta[live] = near(theta[live].ravel(), 0.3, rng).reshape(-1, 10)
    x[:k] = theta.ravel()
    x[k:] = np.where(columns.free[k:], rng.uniform(0.01, 0.1, len(x) - k), x[k:])
    return columns.system_with(x)


def pinocchio_torques(robot: dl.Robot, q, qd, qdd) -> np.ndarray:
    """Inverse dynamics by Pinocchio of the robot's URDF, joints matched by name (n, nv)."""
    model = pin.buildModelFromXML(robot.to_urdf())
    data, torques = model.createData(), np.zeros_like(qd)
    for k in range(len(q)):
        there, v, a = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
        for joint in robot.model.tree.joints:
            peer = model.joints[model.getJointId(joint.name)]
            own = q[k, joint.q]
            turns = peer.nq == 2 and len(own) == 1  # without limits: cosine and sine
            there[peer.idx_q : peer.idx_q + peer.nq] = (
                [np.cos(own[0]), np.sin(own[0])] if turns else own
            )
            v[peer.idx_v : peer.idx_v + peer.nv] = qd[k, joint.v]
            a[peer.idx_v : peer.idx_v + peer.nv] = qdd[k, joint.v]
        tau = pin.rnea(model, data, there, v, a)
        for joint in robot.model.tree.joints:
            peer = model.joints[model.getJointId(joint.name)]
            torques[k, joint.v] = tau[peer.idx_v : peer.idx_v + peer.nv]
    return torques


@pytest.mark.parametrize("name", ["panda", "ur5", "puma560", HUMANOID])
def test_pinocchio_reads_the_same_rigid_bodies_from_a_fitted_urdf(name):
    rng = np.random.default_rng(0)
    free = name == HUMANOID
    prior = dl.Robot.from_urdf(described()[name], base="free") if free else dl.load(name)
    robot = fitted(prior, rng)
    q, qd, qdd = robot.random_state(rng, 10)
    rigid = robot.regressor(q, qd, qdd) @ robot.parameters
    theirs = pinocchio_torques(robot, q, qd, qdd)
    assert np.abs(theirs - rigid).max() < 1e-9 * np.abs(rigid).max()
    again = dl.Robot.from_urdf(robot.to_urdf())
    np.testing.assert_allclose(again.parameters, robot.parameters, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(again.model.drive.rotor, robot.model.drive.rotor)


@pytest.mark.parametrize("name", ["panda", "puma560"])
def test_mujoco_reads_inertias_rotors_and_friction_of_a_fitted_mjcf(name):
    rng = np.random.default_rng(1)
    robot = fitted(dl.load(name), rng)
    text = robot.to_mjcf()
    assert "balanceinertia" not in text and "boundinertia" not in text  # nothing to be repaired
    model = mujoco.MjModel.from_xml_string(text)
    drive = robot.model.drive
    np.testing.assert_array_equal(model.dof_armature, drive.rotor)
    np.testing.assert_array_equal(model.dof_damping, drive.viscous)
    loss = (drive.coulomb_positive - drive.coulomb_negative) / 2.0
    np.testing.assert_allclose(model.dof_frictionloss, loss, rtol=1e-14)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.qacc[:] = state = robot.random_state(rng)
    mujoco.mj_inverse(model, data)
    smooth = dl.Robot(robot.model.without_coulomb()).inverse_dynamics(*state)
    np.testing.assert_allclose(data.qfrc_inverse, smooth, atol=1e-9 * np.abs(smooth).max())


def test_a_constant_torque_beyond_friction_is_left_out_of_files_and_said_there():
    model = dl.load("planar_2r").model
    drive = replace(
        model.drive,
        coulomb_positive=np.array([-0.1, 0.3]),
        coulomb_negative=np.array([-0.5, 0.3]),
    )
    robot = dl.Robot(replace(model, drive=drive))
    for text, read in (
        (robot.to_urdf(), dl.Robot.from_urdf),
        (robot.to_mjcf(), dl.Robot.from_mjcf),
    ):
        assert "link1_joint: a constant torque of -0.1" in text
        assert "link2_joint: a constant torque of 0.3" in text
        again = read(text).model.drive
        np.testing.assert_allclose(again.coulomb_positive, [0.0, 0.0], atol=1e-15)
        np.testing.assert_allclose(again.coulomb_negative, [-0.4, 0.0], atol=1e-15)


def test_notes_of_a_fit_are_only_text_in_files():
    robot = dl.load("planar_2r")
    columns = build_regressor(robot, friction=["viscous", "stribeck"])
    x = np.array(columns.values)
    x[columns.names.index("link1_joint:stribeck")] = 0.25
    lines = ("log --> <joint name='evil'/> \x1b[2J\n&amp;", "second --")
    robot = with_provenance(columns.system_with(x), columns, x, lines)
    assert robot.model.notes.left_out[-1].name == "link1_joint"
    for text in (robot.to_urdf(), robot.to_mjcf()):
        assert "second" in text and "\x1b" not in text
    assert dl.Robot.from_urdf(robot.to_urdf()).nv == 2
    assert dl.Robot.from_mjcf(robot.to_mjcf()).nv == 2
    log = xarray.Dataset(attrs={"source": "/data/arm.csv"})
    provenance = provenance_lines(
        columns, [log, None], {"cutoff": 5.0}, np.array([0.1, 0.2]), ["resampled"]
    )
    assert (
        "to arm.csv, a log by" in provenance[0]
        and "cutoff=5.0" in provenance[0]
        and "link2_joint 0.2" in provenance[1]
        and provenance[2] == "resampled"
    )


@pytest.mark.parametrize("name", ["robotiq_2f85", "four_bar", "panda"])
def test_only_inertias_and_drives_change(name):
    system = dl.load(name)
    columns = build_regressor(system)
    x = np.array(columns.values)
    x[: columns.inertial] *= 1.5
    robot = with_provenance(columns.system_with(x), columns, x, ["scaled"])
    assert type(robot) is type(system) and robot.coordinates == system.coordinates
    before, after = (s.robot.model for s in (system, robot))
    assert (
        before.followers == after.followers
        and before.tree.frames.keys() == after.tree.frames.keys()
    )
    np.testing.assert_array_equal(robot.lower, system.lower)
    np.testing.assert_array_equal(robot.effort_limit, system.effort_limit)
    same = after.tree.with_bodies(before.tree.bodies)
    assert replace(same, drive=before.tree.drive).content == before.tree.content
    assert after.tree.notes.provenance == ("scaled",)


def test_a_payload_is_identified_with_all_else_known():
    load = np.diag([0.01, 0.012, 0.008])
    truth = dl.load("panda").with_payload(2.0, [0.03, -0.02, 0.08], load)
    log = ugly_log("panda", replace(CLEAN, duration=8.0, friction=0.0, rate=500.0), robot=truth).log
    prior = dl.load("panda")
    fit = dl.identify(prior, log, links=[prior.model.bodies[-1].name])
    wrong = prior.parameters - truth.parameters
    left = fit.robot.parameters - truth.parameters
    assert not left[:60].any()
    assert abs(left[60]) < 0.01 * abs(wrong[60])
    np.testing.assert_allclose(left[61:64], 0.0, atol=0.02 * np.abs(wrong[61:64]).max())
    assert fit.robot.model.notes.provenance


def test_a_fitted_robot_is_written_as_c_and_says_its_origin_in_a_report():
    robot = fitted(dl.load("planar_2r"), np.random.default_rng(2))
    columns = build_regressor(robot)
    noted = with_provenance(robot, columns, columns.values, ["from arm.csv"])
    assert describe(noted)["provenance"] == ["from arm.csv"]
    assert "inverse_dynamics" in noted.source("inverse_dynamics", target="c")
    assert "__global__" in noted.source("inverse_dynamics", target="cuda")
