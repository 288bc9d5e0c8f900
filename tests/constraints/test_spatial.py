"""Fingers on spheres, the Stewart platform, and random spatial mechanisms closed at random."""

import numpy as np
import pytest
from hypothesis import given, settings

import dalembert as dl
from dalembert.constraints import Constrained, Distance, Loop
from dalembert.systems.robot import Robot
from tests.constraints.states import ROUTES, consistent_states
from tests.formulations.mechanisms import random_model, seeds

AGREE = 1e-10


def assert_agree(actual, expected, allowed=AGREE):
    for x, y in zip(actual, expected, strict=True):
        assert np.abs(x - y).max() <= allowed * max(1.0, np.abs(y).max())


def test_projection_of_the_finger():
    """P_ω = diag(1, 1, 0, 1, 1, 1) in the contact frame, the mass centre on the normal (000 p.76)."""
    closed = dl.load("arm_on_sphere", form="finger")
    P_w, P_T = closed.projectors(closed.neutral())
    np.testing.assert_allclose(P_w, np.diag([1.0, 1.0, 0.0, 1.0, 1.0, 1.0]), atol=1e-12)
    np.testing.assert_allclose(P_T, P_w.T, atol=1e-15)


@pytest.mark.parametrize("form", ["arm", "finger"])
@pytest.mark.parametrize("name", ["arm_on_sphere", "arm_rolling_on_sphere"])
def test_routes_agree_on_the_sphere(name, form):
    closed = dl.load(name, form=form)
    assert closed.freedoms == (5 if name == "arm_on_sphere" else 2)
    state = consistent_states(closed, np.random.default_rng(0), 10, spread=0.2)
    expected = closed.forward_dynamics(*state)
    for route in ROUTES[1:]:
        assert_agree(closed.forward_dynamics(*state, formulation=route), expected)


@pytest.mark.parametrize("name", ["arm_on_sphere", "arm_rolling_on_sphere"])
def test_a_massless_arm_moves_its_finger_as_the_wrench_does(name):
    """τ = Jᵀ F_m (000 p.77): the arm's finger and the free one accelerate and press alike."""
    arm, finger = dl.load(name, massless=True), dl.load(name, form="finger")
    q, qd, _ = consistent_states(arm, np.random.default_rng(1), 6, spread=0.2)
    rng = np.random.default_rng(2)
    for k in range(6):
        J = arm.system.jacobian(q[k], frame="finger")
        J_dot = arm.system.jacobian_rate(q[k], qd[k], frame="finger")
        F = rng.normal(size=6)
        qdd, lam = arm.forward_dynamics(q[k], qd[k], J.T @ F)
        g = arm.system.pose(q[k], frame="finger")
        at = np.concatenate([g[:3, 3], dl.spatial.quaternion_from_matrix(g[:3, :3])])
        V_dot, pressed = finger.forward_dynamics(at, J @ qd[k], F)
        np.testing.assert_allclose(J @ qdd + J_dot @ qd[k], V_dot, atol=1e-8 * np.abs(V_dot).max())
        np.testing.assert_allclose(lam, pressed, atol=1e-9 * max(1.0, np.abs(pressed).max()))


def test_the_stewart_platform_is_driven_by_its_legs():
    closed = dl.load("stewart_platform")
    assert (closed.nv, closed.rows, closed.freedoms) == (24, 18, 6)
    q, qd, tau = consistent_states(closed, np.random.default_rng(0), 3, spread=0.1)
    expected = closed.forward_dynamics(q, qd, tau)
    for route in ROUTES[1:]:
        for k in range(3):
            result = closed.reference("forward_dynamics", q[k], qd[k], tau[k], formulation=route)
            assert_agree(result, [x[k] for x in expected])
    legs = [f"leg{k}" for k in range(6)]
    forces, _ = closed.inverse_dynamics(q, qd, expected[0], actuators=legs)
    again, _ = closed.forward_dynamics(q, qd, forces)
    np.testing.assert_allclose(again, expected[0], atol=1e-9 * np.abs(expected[0]).max())
    assert closed.internal_forces(q[0], actuators=legs).shape == (6, 0)
    # at rest at home the legs carry the weight of the platform and of their own pistons
    home = closed.neutral()
    constrained, lam = closed.inverse_dynamics(home, np.zeros(24), np.zeros(24), actuators=legs)
    balls = closed.reactions(home, lam)
    lifted = sum(balls[f"ball{k}"]["force"] for k in range(6))
    np.testing.assert_allclose(lifted, [0, 0, 10.0 * 9.81], atol=1e-7)
    assert (constrained[[8 + 3 * k for k in range(6)]] > 0).all()


@given(seeds)
@settings(max_examples=6)
def test_random_trees_closed_at_random(seed):
    """Any joints, any loop: all routes agree, constraints hold, energy obeys the power of τ."""
    rng = np.random.default_rng(seed)
    kinds = ("revolute", "prismatic", "spherical", "helical")
    robot = Robot(random_model(rng, kinds=kinds, n=4, tree=False))
    at, _, _ = robot.random_state(rng)
    base, tip, middle = (robot.pose(at, frame=name) for name in ("base", "tool", "link1"))
    length = float(np.linalg.norm(middle[:3, 3] - base[:3, 3]))
    closing = [
        Loop("base", "tool", ("x", "z"), pose_a=np.linalg.inv(base) @ tip, name="guide"),
        Distance("base", "link1", length, name="rod"),
    ]
    try:
        closed = Constrained(robot, closing, guess=at)
    except dl.ConstraintError as error:  # some nearly depend on each other, and are refused
        assert "nearly depend on each other" in str(error)
        return
    q = closed.neutral()
    if closed.mobility(q).condition > 50 or closed.freedoms < 1:
        return
    qd = closed.project_velocity(q, rng.normal(size=closed.nv))
    tau = rng.normal(size=closed.nv)
    expected = closed.reference("forward_dynamics", q, qd, tau)
    np.testing.assert_allclose(closed.jacobian(q) @ expected[0], closed.drift(q, qd), atol=1e-7)
    for route in ROUTES[1:]:
        result = closed.reference("forward_dynamics", q, qd, tau, formulation=route)
        if np.isfinite(result[0]).all():  # pivots chosen elsewhere may be weak here, and say so
            assert_agree(result, expected, 1e-8)
