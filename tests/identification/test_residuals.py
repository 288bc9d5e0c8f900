"""Leftovers that are noise are called so, and others are not; folds of time judge a fit."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import chi2

import dalembert as dl
from dalembert.identification import residuals
from tests.identification.logs import CLEAN, other_robot, replace, ugly_log


@pytest.fixture(scope="module")
def clean():
    prior = dl.load("planar_2r")
    log = ugly_log(prior, replace(CLEAN, rate=200.0, duration=10.0), other_robot(prior, 1, 0.3)).log
    return prior, log, dl.identify(prior, log, cutoff=20.0)


def test_leftovers_of_a_true_model_are_white(clean):
    *_, fit = clean
    table = fit.whiteness("unconstrained")
    assert (table["next"].abs() < 0.08).all() and (table["beyond"] < 0.4).all()
    assert list(fit.whiteness(held_out=True).index) == ["link1_joint", "link2_joint"]


def test_leftovers_of_a_wrong_model_are_not(clean):
    *_, fit = clean
    table = fit.whiteness("prior")
    assert (table["next"] > 0.5).all() and (table["p"] < 1e-6).all()


def test_folds_of_time_leave_no_more_than_noise_of_a_true_model(clean):
    *_, fit = clean
    table = fit.cross_validation(folds=4)
    assert list(table.columns) == ["fold 1", "fold 2", "fold 3", "fold 4", "all", "fit"]
    assert (table["all"] < 1.5 * table["fit"]).all()
    with pytest.raises(dl.SettingError, match="folds=1 must be 2 to"):
        fit.cross_validation(folds=1)


def test_folds_of_time_show_a_drift(clean):
    prior, log, fit = clean
    drifting = log.copy(deep=True)
    size = drifting.tau.values.std(axis=0)
    drifting.tau.values[:] += 0.3 * size * np.linspace(0.0, 1.0, len(log.time))[:, None]
    with pytest.warns(dl.IdentificationWarning, match="more motion, or a drift"):
        worse = dl.identify(prior, drifting, cutoff=20.0).cross_validation(4)
    assert (worse["all"] > 2.0 * fit.cross_validation(4)["all"]).all()


def test_p_is_that_of_ljung_and_box(monkeypatch):
    """Q = n (n + 2) Σ r_k² / (n − k), by hand for 25 residuals, where n − k matters."""
    x = np.random.default_rng(5).normal(size=25)
    monkeypatch.setattr(residuals, "residuals", lambda *_: [x[:, None]])
    table = residuals.whiteness(SimpleNamespace(rows=["joint"]), (), np.zeros(1))
    y = x - x.mean()
    r = [y[k:] @ y[: 25 - k] / (y @ y) for k in range(1, residuals.LAGS + 1)]
    Q = 25 * 27 * sum(x * x / (25 - k) for k, x in enumerate(r, 1))
    np.testing.assert_allclose(table.p, chi2.sf(Q, residuals.LAGS), rtol=1e-12)
