"""Friction beside viscous and Coulomb's, and joints that follow others, identified against truth."""

from dataclasses import replace

import numpy as np

import dalembert as dl
from dalembert.identification.record import Record
from dalembert.identification.regressor import build_regressor
from dalembert.model.coupling import Follow, couple
from dalembert.systems.robot import Robot
from tests.formulations.mechanisms import random_model
from tests.identification.logs import fourier, other_robot, with_drive


def moved(robot, seed=1, period=8.0):
    q, qd, qdd = fourier(robot, seed, period)(np.arange(0.0, 8.0, 0.005))
    none = np.zeros(robot.nv)
    tau = robot.inverse_dynamics(q, qd, qdd)
    return Record(np.arange(len(q)) * 0.005, q, qd, qdd, tau, none, none)


def test_friction_in_proportion_to_the_load_is_found_with_other_inertias():
    prior = dl.load("planar_2r")
    truth = with_drive(other_robot(prior, 4), [0.3, 0.2], [0.4, 0.1])
    log = moved(truth)
    bodies = with_drive(truth, [0.0, 0.0], [0.0, 0.0])
    load = np.abs(bodies.inverse_dynamics(log.q, log.qd, log.qdd))
    log = replace(log, tau=log.tau + [0.08, 0.05] * load * np.sign(log.qd))
    kinds = ("viscous", "coulomb", "load")
    fit = dl.identify(prior, log, friction=kinds, rotor=False, consistent=False)
    np.testing.assert_allclose(fit.friction["load"], [0.08, 0.05], atol=1e-4)
    np.testing.assert_allclose(fit.friction["coulomb"], [0.4, 0.1], atol=1e-3)


def test_stribecks_friction_is_found_beside_coulombs():
    prior = dl.load("planar_2r")
    truth = with_drive(other_robot(prior, 4), [0.3, 0.2], [0.4, 0.1])
    log = moved(truth)
    slow = np.sign(log.qd) * np.exp(-((log.qd / 0.1) ** 2))
    log = replace(log, tau=log.tau + [0.2, 0.1] * slow)
    kinds = ("viscous", "coulomb", "stribeck")
    fit = dl.identify(prior, log, friction=kinds, rotor=False, consistent=False)
    np.testing.assert_allclose(fit.friction["stribeck"], [0.2, 0.1], atol=1e-8)


def test_a_robot_whose_joints_follow_is_found_with_its_followers():
    rng = np.random.default_rng(5)
    tree = random_model(rng, kinds=("revolute",), n=4)
    follow = {"joint2": Follow("joint0", -0.7, 0.3), "joint3": Follow("joint1", 1.5, 0.0)}
    prior = Robot(couple(tree, follow))
    truth = prior.with_parameters(1.2 * prior.parameters)
    fit = dl.identify(prior, moved(truth), consistent=False)
    true = fit.grouping.matrix @ build_regressor(truth).values
    observed = [name not in dict(fit.unseen) for name in fit.grouping.names]
    np.testing.assert_allclose(
        fit.base.value[observed], true[observed], atol=1e-7 * np.abs(true).max()
    )
    assert fit.robot.model.followers == prior.model.followers
    state = prior.random_state(rng, 5)
    tau = truth.inverse_dynamics(*state)
    np.testing.assert_allclose(
        fit.robot.inverse_dynamics(*state), tau, atol=1e-6 * np.abs(tau).max()
    )


def test_a_noisy_log_of_a_robot_whose_joints_follow_is_fitted():
    tree = random_model(np.random.default_rng(5), kinds=("revolute",), n=4)
    follow = {"joint2": Follow("joint0", -0.7, 0.3), "joint3": Follow("joint1", 1.5, 0.0)}
    driven = with_drive(Robot(tree), [0.1] * 4, [0.2] * 4)
    prior = Robot(couple(driven.description, follow))
    log = replace(moved(prior), rate_noise=np.full(2, 1e-3))
    fit = dl.identify(prior, log, consistent=False)
    assert any("Coulomb friction rises over" in note for note in fit.notes)
