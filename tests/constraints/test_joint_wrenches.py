"""Wrenches through the joints of a closed chain: the same wherever the loop is cut."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.constraints import Sliding
from dalembert.constraints.surfaces import Plane
from dalembert.zoo.entry import pinned, shift

GROUND, CRANK, COUPLER, ROCKER = 1.0, 0.35, 0.9, 0.8


def cut_at_the_ground():
    """The four-bar linkage of the zoo as one chain from the crank, its rocker pinned to the ground."""
    robot = dl.Robot.from_links(
        [
            pinned("crank", None, (0.0, 0.0), CRANK, CRANK),
            pinned("coupler", "crank_rod", (CRANK, 0.0), COUPLER, COUPLER),
            pinned("rocker", "coupler_rod", (COUPLER, 0.0), ROCKER, ROCKER),
        ],
        frames={"foot": ("rocker_rod", shift(ROCKER)), "pivot": (None, shift(GROUND))},
        gravity=(0.0, -9.81, 0.0),
        name="cut_at_the_ground",
    )
    pin = dl.Loop("pivot", "foot", "pin", along="world", name="pin")
    return dl.Constrained(robot, [pin], guess=[1.2, -0.9, 4.0])


def state():
    """A state in motion of the zoo's linkage, and the same one of the other."""
    chain = dl.load("four_bar")
    q = chain.neutral()
    qd = chain.project_velocity(q, [1.3, 0.4, -0.7])
    # the rocker of the other begins at the coupler's tip and points the other way
    turned = np.array([[1, 0, 0], [0, 1, 0], [-1, -1, 1]])
    return chain, (q, qd), (turned @ q + [0, 0, np.pi], turned @ qd)


def in_world(system, q, wrenches, joint):
    k = [one.name for one in system.robot.joints].index(joint)
    R = system.robot.pose(q, frame=f"{joint}_rod")[:3, :3]
    return R @ wrenches[k, :3]


def test_joints_carry_what_the_loop_carries_where_it_is_cut_elsewhere():
    chain, (q, qd), (q2, qd2) = state()
    other = cut_at_the_ground()
    np.testing.assert_allclose(other.residual(q2), 0.0, atol=1e-9)
    qdd, lam = chain.forward_dynamics(q, qd, [2.0, 0.0, 0.0])
    qdd2, lam2 = other.forward_dynamics(q2, qd2, [2.0, 0.0, 0.0])
    F, F2 = chain.joint_wrenches(q, qd, qdd, lam), other.joint_wrenches(q2, qd2, qdd2, lam2)
    near = {"rtol": 0, "atol": 1e-9}
    for joint in ("crank", "coupler"):
        result, expected = in_world(chain, q, F, joint), in_world(other, q2, F2, joint)
        np.testing.assert_allclose(result, expected, **near)
    at_tip, at_ground = (
        x.reactions(*y)["pin"]["force"] for x, y in [(chain, (q, lam)), (other, (q2, lam2))]
    )
    np.testing.assert_allclose(in_world(other, q2, F2, "rocker"), at_tip, **near)
    np.testing.assert_allclose(in_world(chain, q, F, "rocker"), at_ground, **near)
    np.testing.assert_allclose(F[:, 5], [2.0, 0.0, 0.0], **near)  # about the pins: the torques


def test_a_contact_that_rubs_takes_its_load_off_the_joints():
    """Without friction in its joints, what goes along them is their torque."""
    kind = Sliding("tool", Plane(), mu=0.4, width=1e-3, name="floor")
    arm = dl.Constrained(dl.load("elbow_3r"), [kind], guess=[0.3, 0.9, -1.4])
    q = arm.neutral()
    qd = arm.project_velocity(q, [0.4, -0.3, 0.2])
    tau = np.array([1.0, 60.0, 15.0])
    qdd, lam = arm.forward_dynamics(q, qd, tau)
    assert lam[0] > 1.0 and np.linalg.norm(arm.contact_friction(q, qd, lam)[:3]) > 0.1
    F, p = arm.evaluate("reaction_wrenches", q, qd, lam)
    np.testing.assert_allclose(p, [arm.robot.pose(q)[:3, 3]], atol=1e-9)
    np.testing.assert_allclose(
        F[0, :3], lam[0] * np.eye(3)[2] + arm.contact_friction(q, qd, lam)[:3], atol=1e-9
    )
    through = arm.joint_wrenches(q, qd, qdd, lam)
    for k, joint in enumerate(arm.robot.joints):
        R = arm.robot.model.frames[joint.link].rotation  # the joint's axis is z of the body
        assert abs((R @ through[k, 3:])[2] - tau[k]) < 1e-8


@pytest.mark.parametrize("name", ["arm_rolling_on_sphere", "stewart_platform", "robotiq_2f85"])
def test_what_constraints_take_off_the_joints_is_their_generalised_force(name):
    """Sᵀ (F − F of the open tree) = Aᵀλ of the constraints between frames, for any λ."""
    chain, rng = dl.load(name), np.random.default_rng(0)
    observed, q = chain.dynamics, chain.neutral()
    model = observed.free.description
    (qd, qdd), lam = rng.normal(size=(2, chain.nv)), rng.normal(size=observed.rows)
    F = chain.reference("joint_wrenches", q, qd, qdd, lam)
    F = F - observed.free.compute("joint_wrenches", q=q, qd=qd, qdd=qdd)
    result = []
    for wrench, joint in zip(F, model.joints, strict=True):
        R, last = model.frames[joint.link].rotation, model.bodies[joint.bodies[-1]]
        in_body = np.concatenate([R @ wrench[:3], R @ wrench[3:]])
        result.append(last.subspace.T @ in_body)  # of a joint of several axes, the last
    own = np.zeros(observed.rows)
    for acting in observed.acting_names:
        own[observed.slices[acting]] = lam[observed.slices[acting]]
    expected = observed.at(q).A.T @ own
    ends = [
        range(chain.nv)[joint.v][-len(x) :] for joint, x in zip(model.joints, result, strict=True)
    ]
    np.testing.assert_allclose(np.concatenate(result), expected[np.concatenate(ends)], atol=1e-12)


def test_systems_without_joints_have_no_wrenches_through_them():
    assert "joint_wrenches" not in dl.load("pendulum_constrained").dynamics.catalogue
    assert "reaction_wrenches" not in dl.load("pendulum_constrained").dynamics.catalogue


@pytest.mark.parametrize("name", ["four_bar_linkage", "double_four_bar"])
def test_joints_of_a_mechanism_act_where_and_as_its_state_says(name):
    """In absolute coordinates every joint is a constraint between frames."""
    mechanism = dl.load(name)
    system, names = mechanism.compiled, mechanism.description.names
    q, qd = system.dynamics.project(mechanism.neutral(), np.linspace(-1, 1, mechanism.nv), 0.0)
    _, lam = system.reference("forward_dynamics", q, qd, np.zeros(mechanism.nv))
    F, p = system.reference("reaction_wrenches", q, qd, lam)
    state = mechanism.forward_dynamics(q, qd)
    for k, joint in enumerate(system.dynamics.acting_names):
        element = mechanism.description.element(joint)
        on = names[element.bodies[-1]]
        np.testing.assert_allclose(F[k, [0, 1, 5]], state.wrench(joint, on), atol=1e-9)
        np.testing.assert_allclose(p[k, :2], state.point((on, element.at[-1])), atol=1e-12)
