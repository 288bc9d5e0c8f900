"""Fused rollouts on the CPU: the same steps as one at a time, orders, energies, shapes, threads."""

from itertools import pairwise

import numpy as np
import pytest

import dalembert as dl
from dalembert.systems.robot import Robot
from tests.formulations.mechanisms import random_model, random_state


def slope(robot, q, qd, tau):
    return qd, robot.forward_dynamics(q, qd, tau)


def taken(robot, method, q, qd, tau, dt):
    """One step, as a textbook writes it, for joints whose q̇ is the rate of q."""
    if method == "semi_implicit":
        qd = qd + dt * robot.forward_dynamics(q, qd, tau)
        return q + dt * qd, qd
    k1 = slope(robot, q, qd, tau)
    k2 = slope(robot, q + dt / 2 * k1[0], qd + dt / 2 * k1[1], tau)
    k3 = slope(robot, q + dt / 2 * k2[0], qd + dt / 2 * k2[1], tau)
    k4 = slope(robot, q + dt * k3[0], qd + dt * k3[1], tau)
    rows = zip(k1, k2, k3, k4, strict=True)
    dq, dqd = (dt / 6 * (a + 2 * b + 2 * c + d) for a, b, c, d in rows)
    return q + dq, qd + dqd


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("method", ["rk4", "semi_implicit"])
def test_step_by_step(method, moving):
    robot = dl.load("puma560").with_parameters(dl.load("puma560").parameters)
    rng = np.random.default_rng(0)
    q, qd = rng.normal(size=(2, 13, 6))
    tau = rng.normal(size=(6, 13, 6)) if moving else rng.normal(size=(13, 6))
    got = robot.rollout(q, qd, tau, steps=6, dt=1e-3, method=method, every=2)
    for step in range(6):
        q, qd = taken(robot, method, q, qd, tau[step] if moving else tau, 1e-3)
        if step % 2:
            np.testing.assert_allclose(got[0][step // 2], q, atol=1e-13)
            np.testing.assert_allclose(got[1][step // 2], qd, atol=1e-12)


@pytest.mark.parametrize(("method", "order"), [("rk4", 4), ("semi_implicit", 1)])
def test_order(method, order):
    """Halving the step divides the error by 2^order."""
    robot, start = dl.load("elbow_3r"), ([0.3, 0.8, -0.5], [1.0, 0.0, 0.5], np.zeros(3))
    ends = [
        robot.rollout(*start, steps=n, dt=0.4 / n, method=method, every=n)[0][0]
        for n in (320, 640, 1280)
    ]
    errors = [abs(a - b).max() for a, b in pairwise(ends)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)


def test_quaternions_stay_unit_and_energy_stays():
    rng = np.random.default_rng(3)
    model = random_model(rng, kinds=("spherical", "revolute", "free"), n=3, drives=False)
    robot = Robot(model)
    q, qd, _ = random_state(model, rng)
    end = robot.rollout(q, qd, np.zeros(model.nv), steps=300, dt=1e-3, every=100)
    for body in model.bodies:
        if body.chart.nq in (4, 7):
            turn = end[0][:, body.q][:, -4:]
            np.testing.assert_allclose(np.linalg.norm(turn, axis=1), 1.0, atol=1e-15)
    energy = robot.kinetic_energy(*end) + robot.potential_energy(end[0])
    start = robot.kinetic_energy(q, qd) + robot.potential_energy(q)
    np.testing.assert_allclose(energy, start, rtol=1e-9)


def test_shapes_and_precision():
    robot = dl.load("planar_2r")
    q = np.zeros((4, 5, 2), np.float32)
    got = robot.rollout(q, q[0], q[0, 0] + np.float32(0.1), steps=7, dt=0.01, every=3)
    assert [x.shape for x in got] == [(2, 4, 5, 2)] * 2
    assert {x.dtype for x in got} == {np.dtype(np.float32)}
    single = robot.rollout([0.0, 0.0], [0.0, 0.0], [0.1, 0.1], steps=6, dt=0.01, every=3)
    np.testing.assert_allclose(got[0][:, 2, 3], single[0], atol=1e-6)


def test_threads_change_nothing():
    robot = dl.load("elbow_3r")
    q, qd, tau = robot.random_state(np.random.default_rng(0), 200)
    before = dl.get_num_threads()
    results = []
    for threads in (1, 3):
        dl.set_num_threads(threads)
        results.append(robot.rollout(q, qd, tau, steps=5, dt=1e-3))
    dl.set_num_threads(before)
    np.testing.assert_array_equal(results[0], results[1])


def test_what_cannot_be():
    robot = dl.load("planar_2r")
    zero = np.zeros(2)
    with pytest.raises(dl.UnknownNameError, match="no method 'euler'"):
        robot.rollout(zero, zero, zero, 1, 0.1, method="euler")
    with pytest.raises(dl.ShapeError, match="1 <= every <= steps"):
        robot.rollout(zero, zero, zero, 4, 0.1, every=5)
    with pytest.raises(dl.ShapeError, match="must have 4 steps in front"):
        robot.rollout(zero, zero, np.zeros((3, 2)), 4, 0.1)
    with pytest.raises(dl.ShapeError, match="q must be"):
        robot.rollout(np.zeros(3), zero, zero, 4, 0.1)
