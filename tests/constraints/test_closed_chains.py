"""Loops, rods and gears: inverse dynamics, reactions, mobility, assembly."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.constraints import Constrained, Distance, Holonomic, JointCoupling, Loop
from dalembert.errors import ConstraintError
from tests.constraints.states import ROUTES, consistent_states, load_states

ACTIVE = ("theta1", "theta3", "theta5")


def test_three_of_six_joints_reproduce_the_motion_of_parallel_3rr():
    closed, q, qd, tau = load_states("parallel_3rr")
    qdd, _ = closed.forward_dynamics(q, qd, tau)
    result, lam = closed.inverse_dynamics(q, qd, qdd, actuators=ACTIVE)
    assert np.abs(result[:, [1, 3, 5]]).max() == 0.0
    again, lam_again = closed.forward_dynamics(q, qd, result)
    np.testing.assert_allclose(again, qdd, atol=1e-10 * np.abs(qdd).max())
    np.testing.assert_allclose(lam_again, lam, atol=1e-7 * max(1.0, np.abs(lam).max()))
    for k in range(5):
        inside = closed.internal_forces(q[k], actuators=ACTIVE)
        assert inside.shape == (3, 1)
        loaded = result[k].copy()
        loaded[[0, 2, 4]] += 3.0 * inside[:, 0]
        moved, squeezed = closed.forward_dynamics(q[k], qd[k], loaded)
        np.testing.assert_allclose(moved, qdd[k], atol=1e-9 * np.abs(qdd).max())
        assert np.abs(squeezed - lam[k]).max() > 1e-2
        # of least norm: nothing along the internal force
        assert abs(result[k][[0, 2, 4]] @ inside[:, 0]) < 1e-7 * max(1.0, np.abs(result[k]).max())


def test_all_six_joints_command_the_four_multipliers():
    closed, q, qd, tau = load_states("parallel_3rr")
    assert closed.residual(q).shape == (len(q), 4)
    np.testing.assert_allclose(closed.residual(q), 0.0, atol=1e-10)
    qdd, _ = closed.forward_dynamics(q, qd, tau)
    desired = np.random.default_rng(4).normal(size=(len(q), 4))
    result, lam = closed.inverse_dynamics(q, qd, qdd, lam=desired)
    np.testing.assert_allclose(lam, desired, atol=1e-7)
    again, lam_again = closed.forward_dynamics(q, qd, result)
    np.testing.assert_allclose(again, qdd, atol=1e-9 * np.abs(qdd).max())
    np.testing.assert_allclose(lam_again, desired, atol=1e-7)
    assert closed.internal_forces(q[0]).shape == (6, 4)


def test_weights_move_the_load_between_actuators():
    closed, q, qd, tau = load_states("parallel_3rr", count=6)
    qdd, _ = closed.forward_dynamics(q, qd, tau)
    even, _ = closed.inverse_dynamics(q, qd, qdd, actuators=ACTIVE)
    weighted, _ = closed.inverse_dynamics(
        q, qd, qdd, actuators=ACTIVE, weights=np.array([1e4, 1, 1, 1, 1, 1])
    )
    assert (np.abs(weighted[:, 0]) <= np.abs(even[:, 0]) + 1e-9).all()
    np.testing.assert_allclose(
        closed.forward_dynamics(q, qd, weighted)[0], qdd, atol=1e-8 * np.abs(qdd).max()
    )


def test_fully_actuated_four_bar_and_a_motion_out_of_reach():
    closed, q, qd, tau = load_states("four_bar", count=5)
    qdd, _ = closed.forward_dynamics(q, qd, tau)
    result, _ = closed.inverse_dynamics(q, qd, qdd, actuators=["crank"])
    # one freedom, one motor: τ_crank q̇_crank is the power of all torques
    np.testing.assert_allclose((result * qd).sum(-1), (tau * qd).sum(-1), atol=1e-9)
    three, q, qd, tau = load_states("parallel_3rr", count=3)
    qdd, _ = three.forward_dynamics(q, qd, tau)
    with pytest.raises(ConstraintError, match="cannot give this motion"):
        three.inverse_dynamics(q, qd, qdd, actuators=["theta1"])


def spatial_four_bar(directions: str) -> Constrained:
    planar = dl.load("four_bar").system
    pin = Loop("coupler_tip", "rocker_tip", directions, name="pin")
    return Constrained(planar, [pin], guess=[1.2, -0.9, 1.6])


@pytest.mark.parametrize("directions", ["point", "revolute"])
def test_a_redundant_closure_moves_the_same(directions):
    """A planar linkage closed by a spatial joint: the rows out of the plane are redundant."""
    closed, planar = spatial_four_bar(directions), dl.load("four_bar")
    result = closed.mobility()
    assert (result.freedoms, result.rank) == (1, 2)
    assert result.gruebler == 3 - closed.rows and result.redundant == ("pin",)
    assert not result.singular
    q, qd, tau = consistent_states(planar, np.random.default_rng(0), 10)
    expected, lam = planar.forward_dynamics(q, qd, tau)
    for route in ROUTES:
        qdd, redundant = closed.forward_dynamics(q, qd, tau, formulation=route)
        np.testing.assert_allclose(qdd, expected, atol=1e-9)
        F = closed.reactions(q, redundant)["pin"]
        in_plane = planar.reactions(q, lam)["pin"]["force"]
        np.testing.assert_allclose(F["force"], in_plane, atol=1e-7 * np.abs(lam).max())
        np.testing.assert_allclose(F["moment"], 0.0, atol=1e-7 * np.abs(lam).max())


def test_the_pin_force_balances_the_rocker():
    """Newton and Euler for the rocker alone: the moment of the pin's force is what turns it."""
    closed, q, qd, tau = load_states("four_bar", count=5)
    qdd, lam = closed.forward_dynamics(q, qd, tau)
    force = closed.reactions(q, lam)["pin"]["force"]  # on the rocker, the second frame's body
    length, mass = 0.8, 0.8
    arm = length * np.stack([np.cos(q[:, 2]), np.sin(q[:, 2])], axis=-1)
    moment = arm[:, 0] * force[:, 1] - arm[:, 1] * force[:, 0]
    gravity = -mass * 9.81 * 0.5 * arm[:, 0]
    np.testing.assert_allclose(
        mass * length**2 / 3 * qdd[:, 2], moment + gravity + tau[:, 2], atol=1e-9
    )


def test_a_rod_between_two_links_carries_tension():
    """A pendulum hung on a massless rod instead of a pin: the rod pulls with the bob's m (g + l ω²)."""
    m, l = 1.5, 0.7
    bob = {
        "name": "bob",
        "joint": {"name": "fly", "type": "free"},
        "mass": m,
        "inertia": 1e-3 * np.eye(3),
    }
    robot = dl.Robot.from_links([bob], gravity=(0, 0, -9.81), name="bob")
    closed = Constrained(
        robot, [Distance("base", "bob", l, name="rod")], guess=[0, 0, -l, 0, 0, 0, 1]
    )
    assert closed.freedoms == 5
    q = np.array([0, 0, -l, 0, 0, 0, 1.0])
    qd = np.array([0.9, 0, 0, 0.2, -0.1, 0.4])
    for route in ROUTES:
        _, lam = closed.forward_dynamics(q, qd, np.zeros(6), formulation=route)
        result = closed.reactions(q, lam)["rod"]
        np.testing.assert_allclose(result["tension"], m * (9.81 + 0.9**2 / l), rtol=1e-10)
        np.testing.assert_allclose(result["force"], [0, 0, result["tension"]], atol=1e-9)


def test_a_weld_holds_free_bodies_together():
    """Two free boxes welded at an offset move as one body of their summed inertia."""
    boxes = [
        {
            "name": f"box{k}",
            "joint": {"name": f"fly{k}", "type": "free"},
            "mass": 1.0 + k,
            "inertia": (0.1 + 0.1 * k) * np.eye(3),
        }
        for k in range(2)
    ]
    robot = dl.Robot.from_links(boxes, gravity=(0, 0, 0), name="boxes")
    shift = np.eye(4)
    shift[:3, 3] = [0.5, 0.2, 0.0]
    weld = Loop("box0", "box1", "weld", pose_a=shift, name="weld")
    guess = np.concatenate([[0, 0, 0, 0, 0, 0, 1.0], [0.5, 0.2, 0, 0, 0, 0, 1.0]])
    closed = Constrained(robot, [weld], guess=guess)
    assert closed.freedoms == 6
    q, qd, tau = consistent_states(closed, np.random.default_rng(2), 6)
    tau = 0 * tau
    for route in ROUTES:
        qdd, _ = closed.forward_dynamics(q, qd, tau, formulation=route)
        # the linear momentum of both does not change
        for k in range(6):
            rate = np.zeros(3)
            for b in range(2):
                v, dv = qd[k, 6 * b :][:6], qdd[k, 6 * b :][:6]
                R = robot.pose(q[k], frame=f"box{b}")[:3, :3]
                rate += (1.0 + b) * R @ (dv[:3] + np.cross(v[3:], v[:3]))
            np.testing.assert_allclose(rate, 0.0, atol=1e-10)


def test_gears():
    robot = dl.load("planar_2r")
    names = [joint.name for joint in robot.joints]
    closed = Constrained(
        robot, [JointCoupling(names[1], names[0], ratio=-2.0, offset=0.3, name="gear")]
    )
    q = closed.assemble([0.4, 0.0], fixed=[names[0]])
    np.testing.assert_allclose(q, [0.4, -0.5], atol=1e-12)
    qd = np.array([0.7, -1.4])
    qdd, _ = closed.forward_dynamics(q, qd, [1.0, 0.5])
    # M along (1, −2), the torque seen by the leader
    T = np.array([1.0, -2.0])
    expected = T @ (np.array([1.0, 0.5]) - robot.bias(q, qd)) / (T @ robot.mass_matrix(q) @ T)
    np.testing.assert_allclose(qdd, expected * T, atol=1e-12)
    np.testing.assert_allclose(closed.jacobian(q), [[2.0, 1.0]])


def test_assembly_keeps_what_is_fixed_and_names_what_stays_open():
    closed = dl.load("four_bar")
    q = closed.assemble([0.5, 0.0, 1.0], fixed=["crank"])
    assert q[0] == 0.5
    np.testing.assert_allclose(closed.residual(q), 0.0, atol=1e-12)
    with pytest.raises(ConstraintError, match="'pin' is left open by"):
        dl.load("four_bar", rocker=0.1, coupler=0.1)


def test_frames_come_from_robots_only_and_names_are_suggested():
    robot = dl.load("planar_2r")
    with pytest.raises(ConstraintError, match="no directions 'weldd'; did you mean 'weld'"):
        Constrained(robot, [Loop("base", "tool", "weldd")])
    with pytest.raises(dl.UnknownNameError, match="'tol'"):
        Constrained(robot, [Loop("base", "tol")])
    with pytest.raises(ConstraintError, match="has no frames"):
        Constrained(dl.load("rolling_disk").system, [Loop("base", "tool")])
    with pytest.raises(ConstraintError, match="must be positive"):
        Constrained(robot, [Distance("base", "tool", 0.0)])


def test_a_pose_may_be_used_inside_a_constraint():
    """A method of the robot on the symbols of q, before and after it was called with numbers."""
    arm, guess = dl.load("ur5"), np.array([0.1, -1.0, 1.0, 0.3, 0.5, 0.0])
    point = np.eye(4)
    point[:3, 3] = arm.pose(guess)[:3, 3]
    loop = Loop("base", "tool", "point", pose_a=point, along="world")
    expected = Constrained(arm, [loop], guess=guess)
    qd = expected.project_velocity(guess, np.ones(6))
    for robot in (arm, dl.load("ur5")):
        constrained = Holonomic(
            lambda q, robot=robot: robot.pose(q)[0:3, 3] - point[:3, 3], name="tip"
        )
        closed = Constrained(robot, [constrained], guess=guess)
        result, lam = closed.forward_dynamics(guess, qd, np.zeros(6))
        reference, forces = expected.forward_dynamics(guess, qd, np.zeros(6))
        np.testing.assert_allclose(result, reference, atol=1e-9 * np.abs(reference).max())
        np.testing.assert_allclose(lam, forces, atol=1e-9 * np.abs(forces).max())
