"""The fit itself: triangles of blocks, base parameters, weights, deviations, what is not seen."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.signal import lfilter

import dalembert as dl
from dalembert.identification.identify import identify
from dalembert.identification.least_squares import (
    LinearEquations,
    decimate,
    estimate,
    root_raised_cosine,
    triangle,
)
from dalembert.identification.pseudo_inertia import pseudo_inertias
from dalembert.identification.regressor import base_parameters, build_regressor
from tests.formulations.mechanisms import random_model, seeds
from tests.identification.logs import other_robot
from tests.identification.motions import driven, fourier_record, numbers


@pytest.fixture(scope="module")
def puma():
    columns = build_regressor(dl.load("puma560"))
    return columns, base_parameters(columns), numbers(columns)


def test_triangles_of_blocks_are_that_of_one_qr():
    rng = np.random.default_rng(0)
    W, y = rng.normal(size=(5000, 30)) * 10.0 ** rng.uniform(-4, 4, 30), rng.normal(size=5000)
    R = triangle(W, y, block=700)
    whole = np.linalg.qr(np.column_stack([W, y]), mode="r")
    signs = np.sign(np.diag(R)) * np.sign(np.diag(whole))
    np.testing.assert_allclose(R, signs[:, None] * whole, rtol=1e-9, atol=1e-12 * abs(whole).max())
    expected = np.linalg.lstsq(W, y, rcond=None)[0]
    solution = np.linalg.solve(R[:-1, :-1], R[:-1, -1])
    np.testing.assert_allclose(
        solution * abs(W).max(axis=0), expected * abs(W).max(axis=0), atol=1e-12
    )


def test_a_triangle_of_few_rows_is_square():
    W = np.ones((2, 4))
    R = triangle(W, np.ones(2))
    assert R.shape == (5, 5)
    np.testing.assert_allclose(R.T @ R, np.ones((5, 5)) * 2.0, atol=1e-14)


@pytest.mark.parametrize("step", [1, 3, 7, 40])
def test_rows_thinned_by_blocks_are_those_of_one_convolution(puma, step):
    columns, base, x = puma
    record = driven(columns, fourier_record(columns.system), x)
    rows = decimate(columns, base, [record, record], step)
    h = root_raised_cosine(step)
    whole = columns.evaluate(record) @ base.selection
    for j, indices in enumerate(rows.indices):
        expected = np.stack(
            [np.convolve(column, h, "valid") for column in whole[:, j, indices].T], 1
        )
        one = expected[::step]
        np.testing.assert_allclose(rows.W[j], np.tile(one, (2, 1)), atol=1e-11 * abs(one).max())
        y = np.convolve(record.tau[:, j], h, "valid")[::step]
        np.testing.assert_allclose(rows.y[:, j], np.tile(y, 2), atol=1e-11 * abs(y).max())
    assert rows.stretch.sum() == len(one)


def test_without_noise_the_truth_is_found(puma):
    columns, base, x = puma
    record = driven(columns, fourier_record(columns.system), x)
    fit = identify(columns.system, record, consistent=False)
    truth = base.matrix @ x
    np.testing.assert_allclose(fit.base["value"], truth, atol=1e-9 * abs(truth).max())
    assert fit.errors()["unconstrained"].max() < 1e-9 * abs(record.tau).max()
    assert fit.base["seen"].all() and not fit.unseen


def test_equal_weights_give_numpys_least_squares(puma):
    """With as much noise in every equation the weighted fit is the plain one of all rows."""
    columns, base, x = puma
    record = driven(columns, fourier_record(columns.system, duration=4.0), x, noise=0.1)
    rows = decimate(columns, base, [record], 1)
    fit = estimate(rows, base.matrix @ x)
    A = (columns.evaluate(record) @ base.selection) / fit.noise[:, None]
    expected = np.linalg.lstsq(
        A.reshape(-1, A.shape[2]), (record.tau / fit.noise).ravel(), rcond=None
    )[0]
    np.testing.assert_allclose(fit.beta, expected, atol=1e-9 * abs(expected).max())
    plain = np.linalg.inv(np.einsum("njk,njl->kl", A, A))
    assert (np.diag(fit.covariance) >= np.diag(plain) * (1 - 1e-6)).all()
    np.testing.assert_allclose(fit.noise, 0.1, rtol=0.1)


def test_deviations_are_those_of_many_fits(puma):
    columns, base, x = puma
    clean = fourier_record(columns.system, duration=6.0, rate=100.0)
    noise = 0.01 * abs(driven(columns, clean, x).tau).max(axis=0)
    truth = base.matrix @ x
    fits = []
    for seed in range(40):
        record = driven(columns, clean, x, noise, seed)
        fits.append(estimate(decimate(columns, base, [record], 2), truth))
    z = np.stack([(f.beta - truth) / np.sqrt(np.diag(f.covariance)) for f in fits])
    assert 0.9 < np.sqrt(np.mean(z**2)) < 1.1
    assert np.mean(abs(z) < 3.0) > 0.99


def test_deviations_hold_where_leftovers_go_together(puma):
    """Noise that remembers 0.9 of itself from sample to sample: plain deviations are far too small."""
    columns, base, x = puma
    clean = driven(columns, fourier_record(columns.system, duration=20.0, rate=100.0), x)
    noise, truth = 0.01 * abs(clean.tau).max(axis=0), base.matrix @ x
    z, plain = [], []
    for seed in range(15):
        white = np.random.default_rng(seed).normal(size=clean.tau.shape)
        coloured = lfilter([np.sqrt(1.0 - 0.9**2)], [1.0, -0.9], white, axis=0)
        record = replace(clean, tau=clean.tau + noise * coloured)
        fit = estimate(decimate(columns, base, [record], 2), truth)
        z.append((fit.beta - truth) / np.sqrt(np.diag(fit.covariance)))
        alone = np.diag(np.linalg.inv(fit.A.T @ fit.A))
        plain.append((fit.beta - truth) / np.sqrt(alone))
    assert 0.8 < np.sqrt(np.mean(np.square(z))) < 1.1
    assert np.mean(np.abs(z) < 3.0) > 0.99 > 0.8 > np.mean(np.abs(plain) < 3.0)


def test_noise_is_not_smaller_for_many_parameters_of_few_rows():
    """Two equations of 60 rows share 40 parameters: each pays for its part of them."""
    errors = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        W, every = rng.normal(size=(2, 60, 40)), np.arange(40)
        y = rng.normal(size=(60, 2)) * [1.0, 3.0]
        rows = LinearEquations((every, every), tuple(W), y, np.zeros(60, int), 40)
        errors.append(estimate(rows, np.zeros(40)).noise)
    np.testing.assert_allclose(np.mean(np.square(errors), axis=0), [1.0, 9.0], rtol=0.15)


def test_a_joint_that_never_moves_is_named_and_keeps_the_prior():
    arm = dl.load("planar_2r")
    columns = build_regressor(arm)
    x = numbers(columns)
    record = driven(columns, fourier_record(arm, still=(1,)), x, noise=1e-3)
    friction = dict.fromkeys(arm.dynamics.velocities, ("viscous", "coulomb", "offset"))
    with pytest.warns(dl.IdentificationWarning, match="'link2_joint' never moves"):
        fit = identify(arm, record, friction=friction, consistent=False)
    reasons = dict(fit.unseen)
    assert "link2_joint never moves" in reasons["link2_joint:viscous"]
    table = fit.base
    hidden = table[~table["seen"]]
    assert hidden.loc["link2_joint:viscous", "value"] == hidden.loc["link2_joint:viscous", "prior"]
    assert not np.isfinite(hidden.loc["link2_joint:viscous", "std"])
    assert fit.errors()["unconstrained"].max() < 2e-3


def test_only_the_named_link_is_asked_for(puma):
    robot = puma[0].system
    columns = build_regressor(robot, links=["link6"])
    x = numbers(columns)
    record = driven(columns, fourier_record(robot), x)
    fit = identify(robot, record, links=["link6"], consistent=False)
    assert {name.partition(":")[0] for name in fit.base.index} == {"link6"}
    np.testing.assert_allclose(fit.base["value"], fit.grouping.matrix @ x, atol=1e-9)
    others = ~columns.free
    np.testing.assert_array_equal(fit.values["unconstrained"][others], columns.values[others])


def test_predictions_are_the_columns_times_the_models(puma):
    columns, _, x = puma
    record = driven(columns, fourier_record(columns.system), x, noise=0.1)
    fit = identify(columns.system, record, held_out=0.5, consistent=False)
    tau = fit.predict(record.q, record.qd, record.qdd, "unconstrained")
    np.testing.assert_allclose(tau, columns.evaluate(record) @ fit.values["unconstrained"])
    assert [len(r.t) for r in (*fit.records, *fit.held_out)] == [1000, 1000]
    left = fit.residuals["unconstrained"].values
    np.testing.assert_allclose(left, record.tau - tau, atol=1e-9)
    rms = np.sqrt(np.mean(left[1000:] ** 2, axis=0))
    table = fit.errors()
    np.testing.assert_allclose(table.loc["held_out"]["unconstrained"].iloc[:-1], rms)
    shares = fit.errors(normalised=True).loc["held_out"]["unconstrained"].iloc[:-1]
    np.testing.assert_allclose(shares, rms / record.tau[1000:].std(axis=0))
    with pytest.raises(dl.UnknownNameError, match="consistant"):
        fit.predict(record.q, record.qd, record.qdd, "consistant")


def test_the_robot_is_real_and_predicts_as_the_truth():
    """Without noise, and with truth that real bodies have, all models but the prior are the truth."""
    prior = dl.load("puma560")
    columns = build_regressor(prior)
    x = numbers(columns)
    x[: columns.inertial] = other_robot(prior).parameters
    record = driven(columns, fourier_record(prior), x)
    fit = identify(prior, record)
    errors = fit.errors(normalised=True).loc["held_out"]
    assert errors["unconstrained"].max() < 1e-9
    assert errors["consistent"].max() < 1e-4 < errors["prior"].min()
    tau = fit.robot.inverse_dynamics(record.q, record.qd, record.qdd)
    np.testing.assert_allclose(tau, fit.predict(record.q, record.qd, record.qdd), atol=1e-9)
    P = pseudo_inertias(fit.values["consistent"][: columns.inertial])
    assert np.linalg.eigvalsh(P).min() > 0.0


@settings(max_examples=6, deadline=None)
@given(seed=seeds)
def test_base_parameters_of_random_trees_are_found(seed):
    kinds = ("revolute", "prismatic", "helical", "universal")
    robot = dl.Robot(random_model(np.random.default_rng(seed), kinds, n=3))
    columns = build_regressor(robot)
    x = numbers(columns, seed)
    record = driven(columns, fourier_record(robot, seed), x)
    fit = identify(robot, record, held_out=None, consistent=False)
    truth = fit.grouping.matrix @ x
    observed = fit.base["seen"].to_numpy()
    error = (fit.base["value"] - truth).to_numpy()
    scale = np.linalg.norm(fit.estimate.A, axis=0)  # of what each is worth in torque
    assert (abs(error * scale)[observed] <= 1e-8 * np.linalg.norm(fit.estimate.b)).all()
    assert fit.errors()["unconstrained"].max() <= 1e-8 * abs(record.tau).max()
