"""Simulated windows against measured positions: slopes, truth, and where it beats accelerations."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import IdentificationError
from dalembert.identification.least_squares import decimate, estimate
from dalembert.identification.linear_fit import LinearFit, solve
from dalembert.identification.preparation import prepare
from dalembert.identification.record import Record
from dalembert.identification.regressor import base_parameters, build_regressor
from dalembert.identification.simulation_error import (
    Simulator,
    between_samples,
    measurement_noise,
    refine_by_simulation,
)
from dalembert.simulation.results import labelled
from tests.identification.logs import fourier, other_robot, with_drive

FRICTION = ("viscous", "coulomb")


def true_robot(prior, motion, t, coulomb=0.05, seed=3):
    """Other inertias, and friction in proportion to the torques of the motion."""
    other = other_robot(prior, seed)
    none = np.zeros(prior.nv)
    q, qd, qdd = motion(t)
    peak = np.abs(with_drive(other, none, none).inverse_dynamics(q, qd, qdd)).max(axis=0)
    return with_drive(other, 0.05 * peak / np.abs(qd).max(axis=0), coulomb * peak)


def exact(robot, motion, t):
    q, qd, qdd = motion(t)
    none = np.zeros(robot.nv)
    return Record(t, q, qd, qdd, robot.inverse_dynamics(q, qd, qdd), none, none)


def test_slopes_of_windows_are_those_of_the_simulated_motion():
    robot = dl.load("planar_2r")
    columns = build_regressor(robot, friction=FRICTION)
    base = base_parameters(columns)
    shooter = Simulator(columns, base)
    record = exact(robot, fourier(robot, 2, 3.0), np.arange(0.0, 1.0, 0.02))
    acts_on_both = (np.abs(columns.evaluate(record)).max(axis=0) > 1e-12).all(axis=0)
    x = columns.values + 0.1 * ~acts_on_both
    windows = shooter.windows(record, x, 12, 3)
    shot, small = shooter.simulate(x, windows), 1e-6
    for k in range(len(base.names)):
        step = small * base.selection[:, k]
        ahead, behind = (shooter.simulate(x + s * step, windows).q for s in (1, -1))
        np.testing.assert_allclose((ahead - behind) / (2 * small), shot.by_base[..., k], atol=1e-8)
    for k in range(2):
        step = np.zeros((3, 2))
        step[:, k] = small
        ahead, behind = (
            shooter.simulate(x, windows._replace(qd=windows.qd + s * step)).q for s in (1, -1)
        )
        derivative = shot.by_state[..., 2 + k]
        np.testing.assert_allclose((ahead - behind) / (2 * small), derivative, atol=1e-8)
    pushed = np.array(windows.tau)
    pushed[0, :, :, 1] += small
    moved = shooter.simulate(x, windows._replace(tau=pushed)).q - shot.q
    np.testing.assert_allclose(moved / small, shot.by_tau[..., 1], atol=1e-6)


def test_torques_between_samples_are_smooth():
    tau = np.sin(np.arange(0.0, 3.0, 0.1))[:, None]
    middle = np.arange(0.0, 3.0, 0.1)[:, None] + 0.1 * np.array([0.25, 0.75])
    assert np.abs(between_samples(tau, 2)[3:-4, :, 0] - np.sin(middle)[3:-4]).max() < 1e-5


def test_noise_is_told_from_motion():
    rng = np.random.default_rng(0)
    t = np.arange(0.0, 10.0, 0.01)
    robot = dl.load("planar_2r")
    clean = exact(robot, fourier(robot, 0), t)
    noisy = replace(
        clean,
        q=clean.q + 1e-3 * rng.normal(size=clean.q.shape),
        tau=clean.tau + 0.1 * rng.normal(size=clean.tau.shape),
    )
    q, tau = measurement_noise([noisy])
    np.testing.assert_allclose(q, 1e-3, rtol=0.1)
    np.testing.assert_allclose(tau, 0.1, rtol=0.1)


def test_an_arm_is_found_from_far_away_without_velocities_or_accelerations():
    """Noise-free, from the prior's numbers; velocities only begin the windows, and are wrong."""
    prior = dl.load("planar_2r")
    t, motion = np.arange(0.0, 10.0, 0.005), fourier(prior, 1)
    truth = true_robot(prior, motion, t, coulomb=0.0)
    record = exact(truth, motion, t)
    wrong = replace(record, qd=0.9 * record.qd, qdd=np.zeros_like(record.qd))
    columns = build_regressor(prior, friction=["viscous"], rotor=False)
    base = base_parameters(columns)
    prior_beta = base.matrix @ columns.values
    start = replace(estimate(decimate(columns, base, [wrong], 1), prior_beta), beta=prior_beta)
    linear = LinearFit(columns, (wrong,), start, np.array(columns.values))
    fit, (note,) = refine_by_simulation(linear, base, consistent=False)
    true = base.matrix @ build_regressor(truth, friction=["viscous"], rotor=False).values
    np.testing.assert_allclose(fit.estimate.beta, true, atol=1e-4)
    first, last = (float(x) for x in re.findall(r"by ([0-9.e+-]+)", note))
    assert last < 1e-3 * first


def noisy_fits(name, noise, rate, period, duration, seeds):
    """(errors in deviations, RMS error) of both routes, one row per seed."""
    prior = dl.load(name)
    t, motion = np.arange(0.0, duration, 1.0 / rate), fourier(prior, 1, period)
    truth = true_robot(prior, motion, t)
    clean = exact(truth, motion, t)
    columns = build_regressor(prior, friction=FRICTION, rotor=False)
    base = base_parameters(columns)
    true = base.matrix @ build_regressor(truth, friction=FRICTION, rotor=False).values

    errors = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        q = clean.q + noise * rng.normal(size=clean.q.shape)
        tau = clean.tau * 1.0
        tau += 0.003 * np.abs(tau).max(axis=0) * rng.normal(size=tau.shape)
        log = labelled(prior.dynamics, t, {"q": q, "tau": tau}, {})
        records = prepare(prior, log)
        columns = columns.with_widths(records[0].rate_noise)
        plain = estimate(decimate(columns, base, records), base.matrix @ columns.values)
        linear = LinearFit(columns, tuple(records), plain, columns.values)
        refined, _ = refine_by_simulation(linear, base)
        errors.append(
            [(e.beta - true, np.sqrt(np.diag(e.covariance))) for e in (plain, refined.estimate)]
        )
    return np.array(errors)  # (seeds, route, (error, deviation), base)


@pytest.mark.parametrize("name", ["planar_2r", "elbow_3r"])
def test_very_noisy_positions_are_used_better_than_by_accelerations(name):
    """50 samples per second and 5 mrad of noise: a motion of 1.7 Hz shows little of its q̈."""
    fits = noisy_fits(name, 5e-3, 50.0, 3.0, 20.0, 2)
    error = np.sqrt((fits[:, :, 0] ** 2).mean(axis=0))  # (route, base)
    assert np.median(error[1] / error[0]) < 0.75
    z = fits[:, 1, 0] / fits[:, 1, 1]
    assert np.abs(z).max() < 3.5 and np.sqrt((z**2).mean()) < 1.4


def test_quaternions_are_refused_in_words():
    from dalembert.systems.robot import Robot
    from tests.formulations.mechanisms import random_model

    robot = Robot(random_model(np.random.default_rng(0), kinds=("spherical",), n=1))
    columns = build_regressor(robot)
    with pytest.raises(IdentificationError, match="quaternions"):
        Simulator(columns, base_parameters(columns))


def test_identify_goes_on_from_accelerations_to_simulation():
    prior = dl.load("planar_2r")
    t, motion = np.arange(0.0, 12.0, 0.02), fourier(prior, 1, 3.0)
    clean = exact(true_robot(prior, motion, t), motion, t)
    rng = np.random.default_rng(0)
    q = clean.q + 5e-3 * rng.normal(size=clean.q.shape)
    log = labelled(prior.dynamics, t, {"q": q, "tau": clean.tau}, {})
    held_out = labelled(prior.dynamics, t, {"q": clean.q, "tau": clean.tau}, {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a log this noisy
        fits = [
            dl.identify(prior, log, held_out=held_out, rotor=False, method=method)
            for method in ("inverse_dynamics", "simulation")
        ]
    assert "simulated motion" in " ".join(fits[1].notes)
    errors = [fit.errors().loc["held_out"].loc["all", "consistent"] for fit in fits]
    assert errors[1] < 0.8 * errors[0]
    with pytest.raises(IdentificationError, match="method='inverse_dynamics' or 'power'"):
        fits[1].cross_validation()


def test_loops_are_refused_in_words():
    columns = build_regressor(dl.load("four_bar"))
    with pytest.raises(IdentificationError, match="loops hold them together"):
        Simulator(columns, base_parameters(columns))


def test_a_motion_that_no_model_makes_leaves_the_linear_fit():
    """A spring that nobody knows of: positions go where no inertia or friction would take them."""
    prior = dl.load("planar_2r")
    t, motion = np.arange(0.0, 12.0, 0.005), fourier(prior, 1, 3.0)
    clean = exact(prior, motion, t)
    sprung = replace(clean, tau=clean.tau + 30.0 * np.sin(5.0 * clean.q))
    columns = build_regressor(prior, friction=FRICTION, rotor=False)
    base = base_parameters(columns)
    linear = solve(columns, base, [sprung])
    refined, notes = refine_by_simulation(linear, base)
    assert refined is linear and "the linear fit is kept" in notes[0]
