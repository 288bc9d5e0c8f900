"""Slopes of robots on a floating base: against Pinocchio, what they need not solve, what they cost."""

import numpy as np
import pinocchio as pin
import pytest

from dalembert.model import Joint, Link, Model, build
from dalembert.systems.robot import Robot
from tests.formulations.mechanisms import random_pose
from tests.oracles.pinocchio_urdf import Peer, described

AGREEMENT = 1e-10


def close(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Equal relative to the largest entry."""
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=AGREEMENT * abs(theirs).max())


@pytest.mark.parametrize("name", ["go2/go2", "g1/g1_29dof_rev_1_0", "talos_data/talos_reduced"])
def test_slopes_of_legged_robots_as_pinocchio(name):
    robot = Robot.from_urdf(described()[name], base="free").with_gravity((0.0, 0.0, -9.81))
    peer = Peer(described()[name], robot, "free")
    B, rng = peer.B, np.random.default_rng(5)
    q, qd, last = (x[0] for x in robot.random_state(rng, 1))
    there = peer.configuration(q), B @ qd
    viscous = np.diag(robot.model.drive.viscous)
    pin.computeRNEADerivatives(peer.model, peer.data, *there, B @ last)
    dq, dqd, M = robot.reference("inverse_dynamics_derivatives", q, qd, last)
    close(dq, B.T @ peer.data.dtau_dq @ B)
    close(dqd - viscous, B.T @ peer.data.dtau_dv @ B)
    tau = robot.model.drive.viscous * qd + last
    pin.computeABADerivatives(peer.model, peer.data, *there, B @ (tau - peer.friction(qd)))
    dq, dqd, M_inverse = robot.reference("forward_dynamics_derivatives", q, qd, tau)
    close(dq, B.T @ peer.data.ddq_dq @ B)
    close(dqd + M_inverse @ viscous, B.T @ peer.data.ddq_dv @ B)
    close(M_inverse @ M, np.eye(robot.nv))


def spider(legs: int) -> Model:
    """A floating trunk with legs of three joints anywhere."""
    rng = np.random.default_rng(legs)
    mass = {"mass": 1.3, "com": rng.normal(size=3), "inertia": np.diag([0.2, 0.3, 0.4])}
    links = [Link("trunk", None, Joint("free"), **mass)]
    for i in range(legs):
        parent = "trunk"
        for k in range(3):
            joint = Joint(name=f"joint{i}{k}", origin=random_pose(rng))
            links.append(Link(f"link{i}{k}", parent, joint, **mass))
            parent = f"link{i}{k}"
    return build(links, name="spider")


def test_what_moves_a_floating_robot_as_a_whole_changes_no_joint():
    """Exactly: places not at all, gravity's direction and speed of translation only the base."""
    robot = Robot(spider(2))
    state = (x[0] for x in robot.random_state(np.random.default_rng(2), 1))
    dq, dqd, _ = robot.reference("forward_dynamics_derivatives", *state)
    assert not dq[:, 0:3].any() and not dq[3:, 3:6].any() and not dqd[3:, 0:3].any()
    assert dq[0:3, 3:6].any() and dqd[0:3, 0:3].any()


def test_operations_grow_with_the_legs_and_with_the_entries_between_them():
    """Of inverse dynamics each leg costs the same; of forward dynamics, more by its entries."""
    robots = [Robot(spider(n)) for n in (1, 2, 3)]
    inverse, forward = (
        np.array([r.operation_count(f"{name}_dynamics_derivatives").total for r in robots])
        for name in ("inverse", "forward")
    )
    each = np.diff(inverse)
    assert (abs(np.diff(each)) < 0.02 * each[0]).all(), inverse
    # two matrices of slopes and half an inverse between two legs of three: six products an entry
    entries = 2.5 * 2 * 9
    assert (np.diff(forward, n=2) < 1.2 * 12 * entries).all(), forward
