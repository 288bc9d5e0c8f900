"""Agreement with Pinocchio on random trees of every joint type both have."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings

from dalembert.model import Joint, Link, build
from dalembert.spatial import exp_se3
from dalembert.systems.robot import Robot
from tests.formulations.mechanisms import random_model, random_state, seeds
from tests.oracles.pinocchio_twin import configuration, friction, twin


def close(ours: np.ndarray, theirs: np.ndarray, tolerance: float = 1e-10) -> None:
    """Equal to `tolerance`, relative to the largest entry."""
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * max(1.0, abs(theirs).max()))


@given(seeds)
@settings(max_examples=100)
def test_plain_formulations(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, n=int(rng.integers(1, 9)))
    robot, peer = Robot(model), twin(model)
    data = peer.createData()
    q, qd, qdd = random_state(model, rng)
    p = configuration(model, q)
    tau = robot.reference("inverse_dynamics", q, qd, qdd)
    close(tau - friction(model, qd), pin.rnea(peer, data, p, qd, qdd))
    # pin.crba wants subtrees to be contiguous; its rnea takes any order of joints
    still = np.zeros(model.nv)
    gravity = pin.computeGeneralizedGravity(peer, data, p)
    columns = [pin.rnea(peer, data, p, still, unit) - gravity for unit in np.eye(model.nv)]
    M = np.stack(columns, axis=1)
    close(robot.reference("mass_matrix", q), M)
    close(robot.reference("gravity_torque", q), gravity)
    close(robot.reference("bias", q, qd), pin.nonLinearEffects(peer, data, p, qd))
    acceleration = pin.aba(peer, data, p, qd, qdd - friction(model, qd))
    # forward dynamics loses the condition of M: 1e-10 of it is left to both
    scale = 1e-10 * np.linalg.cond(M) ** 0.5
    close(robot.reference("forward_dynamics", q, qd, qdd), acceleration, max(scale, 1e-10))


@given(seeds)
@settings(max_examples=60)
def test_kinematics_and_energies(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, n=5)
    robot, peer = Robot(model), twin(model)
    data = peer.createData()
    q, qd, _ = random_state(model, rng)
    p = configuration(model, q)
    tool = model.frame("tool")
    placement = pin.SE3(np.asarray(tool.rotation), np.asarray(tool.translation))
    frame = peer.addFrame(pin.Frame("tip", tool.body + 1, 0, placement, pin.FrameType.OP_FRAME))
    data = peer.createData()
    pin.computeJointJacobiansTimeVariation(peer, data, p, qd)
    pin.framesForwardKinematics(peer, data, p)
    close(robot.reference("pose", q), data.oMf[frame].homogeneous)
    views = {
        "body": pin.ReferenceFrame.LOCAL,
        "spatial": pin.ReferenceFrame.WORLD,
        "world": pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
    }
    for view, theirs in views.items():
        close(
            robot.reference("jacobian", q, expressed_in=view),
            pin.computeFrameJacobian(peer, data, p, frame, theirs),
        )
        pin.computeJointJacobiansTimeVariation(peer, data, p, qd)
        rate = pin.getFrameJacobianTimeVariation(peer, data, frame, theirs)
        close(robot.reference("jacobian_rate", q, qd, expressed_in=view), rate, 1e-9)
    rotors = 0.5 * model.drive.rotor @ qd**2
    energy = pin.computeKineticEnergy(peer, data, p, qd)
    # Pinocchio adds the rotors' energy only in some versions; either way the difference is known
    assert np.isclose(robot.reference("kinetic_energy", q, qd), energy, rtol=1e-10) or np.isclose(
        robot.reference("kinetic_energy", q, qd), energy + rotors, rtol=1e-10
    )
    potential = pin.computePotentialEnergy(peer, data, p)
    assert np.isclose(robot.reference("potential_energy", q), potential, rtol=1e-10, atol=1e-10)
    close(robot.reference("center_of_mass", q), pin.centerOfMass(peer, data, p))


ORIGIN = exp_se3([0.1, -0.2, 0.3, 0.4, 0.5, -0.6])
TENSOR = np.array([[0.3, 0.02, 0.01], [0.02, 0.4, -0.03], [0.01, -0.03, 0.5]])
BODY = {"mass": 1.3, "com": (0.1, 0.2, -0.1), "inertia": TENSOR}


def single(joint: Joint, peer_joint: pin.JointModel) -> tuple[Robot, pin.Model]:
    """One body on one joint, here and there."""
    robot = Robot(build([Link(name="body", joint=joint, **BODY)]))
    peer = pin.Model()
    index = peer.addJoint(0, peer_joint, pin.SE3(ORIGIN), "joint")
    inertia = pin.Inertia(BODY["mass"], np.array(BODY["com"]), TENSOR)
    peer.appendBodyToJoint(index, inertia, pin.SE3.Identity())
    return robot, peer


@pytest.mark.parametrize("seed", range(5))
def test_universal(seed):
    first, second = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 2)))[0].T
    joint = Joint(kind="universal", axis=first, axis2=second, origin=ORIGIN)
    robot, peer = single(joint, pin.JointModelUniversal(first, second))
    q, qd, qdd = np.random.default_rng(seed).normal(size=(3, 2))
    tau = pin.rnea(peer, peer.createData(), q, qd, qdd)
    close(robot.reference("inverse_dynamics", q, qd, qdd), tau, 1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_planar(seed):
    """Pinocchio's planar joint has the velocity in the moving frame; ours are the rates of x, y, θ."""
    robot, peer = single(Joint(kind="planar", origin=ORIGIN), pin.JointModelPlanar())
    q, qd, qdd = np.random.default_rng(seed).normal(size=(3, 3))
    c, s = np.cos(q[2]), np.sin(q[2])
    T = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
    T_dot = qd[2] * np.array([[-s, c, 0], [-c, -s, 0], [0, 0, 0]])
    theirs = pin.rnea(
        peer, peer.createData(), np.array([q[0], q[1], c, s]), T @ qd, T @ qdd + T_dot @ qd
    )
    close(robot.reference("inverse_dynamics", q, qd, qdd), T.T @ theirs, 1e-12)


def test_cylindrical():
    axis = np.array([0.6, 0.0, 0.8])
    composite = pin.JointModelComposite()
    composite.addJoint(pin.JointModelPrismaticUnaligned(axis))
    composite.addJoint(pin.JointModelRevoluteUnaligned(axis))
    robot, peer = single(Joint(kind="cylindrical", axis=axis, origin=ORIGIN), composite)
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 2))
    tau = pin.rnea(peer, peer.createData(), q, qd, qdd)
    close(robot.reference("inverse_dynamics", q, qd, qdd), tau, 1e-12)
