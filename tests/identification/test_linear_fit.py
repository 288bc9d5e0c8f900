"""Outliers, the filter's cut-off and the widths of friction: chosen by how torques are predicted."""

from dataclasses import replace

import numpy as np
import pytest

import dalembert as dl
from dalembert.identification.least_squares import root_raised_cosine
from dalembert.identification.linear_fit import choose_cutoff
from dalembert.identification.preparation import load_records, longest_fitted_part, split
from dalembert.identification.regressor import base_parameters, build_regressor
from dalembert.identification.residuals import find_spikes, remove_spikes
from tests.identification.logs import CLEAN, REAL, fourier, other_robot, ugly_log
from tests.identification.motions import driven, fourier_record, numbers


@pytest.fixture(scope="module")
def arm():
    columns = build_regressor(dl.load("planar_2r"))
    return columns, base_parameters(columns), numbers(columns)


@pytest.mark.parametrize("step", [2, 3, 10])
def test_the_filter_leaves_white_noise_white(step):
    """Its shifts by whole steps are orthogonal, and a constant comes through."""
    h = root_raised_cosine(step)
    shifts = [h[k * step :] @ h[: len(h) - k * step] for k in range(4)]
    np.testing.assert_allclose(shifts, [1.0, 0.0, 0.0, 0.0], atol=2e-3)
    assert h.sum() == pytest.approx(np.sqrt(step), rel=3e-3)


def test_five_percent_of_wrong_torques_change_nothing(arm):
    columns, base, x = arm
    record = driven(columns, fourier_record(columns.system, rate=400.0), x, noise=0.05)
    rng = np.random.default_rng(1)
    wrong = rng.random(record.tau.shape) < 0.05
    spoiled = replace(record, tau=np.where(wrong, record.tau + 100.0, record.tau))
    truth = base.matrix @ x
    fits = {
        "clean": dl.identify(columns.system, record, held_out=None),
        "robust": dl.identify(columns.system, spoiled, held_out=None),
        "plain": dl.identify(columns.system, spoiled, held_out=None, robust=False),
    }
    off = {k: abs(f.base["value"] - truth) / fits["clean"].base["std"] for k, f in fits.items()}
    assert off["robust"].max() < 4.0
    assert off["plain"].max() > 20.0
    assert "taken as not measured" in " ".join(fits["robust"].notes)


def test_normal_noise_has_no_outliers():
    left = np.random.default_rng(2).normal(size=(20_000, 3))
    assert not find_spikes([left])[0].any()


def test_a_jump_of_the_leftover_is_no_outlier():
    """A model that is wrong leaves steps that last; they are no reason to forget torques."""
    left = 0.1 * np.random.default_rng(4).normal(size=(2000, 2))
    left[500:] += 50.0
    assert abs(find_spikes([left])[0]).max() < 1.0


def test_friction_that_changes_sides_a_sample_late_is_no_outlier(arm):
    """A spike as large as the jump of the prediction beside it is the jump's; elsewhere it is none."""
    columns, _, _ = arm
    record = fourier_record(columns.system, rate=400.0)
    friction = 3.0 * np.sign(record.qd)
    left = 0.05 * np.random.default_rng(5).normal(size=friction.shape)
    turn = int(np.flatnonzero(np.diff(friction[:, 0]))[1])
    left[turn, 0] += 6.0
    left[turn + 100, 0] += 6.0
    clean, count = remove_spikes([replace(record, tau=friction + left)], [left])
    assert count.tolist() == [1, 0]
    assert clean[0].tau[turn, 0] == friction[turn, 0] + left[turn, 0]
    assert abs(clean[0].tau[turn + 100, 0] - friction[turn + 100, 0]) < 0.3


def test_the_cut_off_is_lowered_where_joints_are_elastic():
    """Friction's jumps twist elastic joints: as motion of rigid bodies they would be torques."""
    prior = dl.load("planar_2r")
    columns = build_regressor(prior)
    base = base_parameters(columns)
    for ugly, lowered in ((REAL, True), (replace(CLEAN, bits=16), False)):
        synthetic = ugly_log(prior, ugly, robot=other_robot(prior))
        own = load_records(prior, synthetic.log)[0].cutoff
        cutoff = choose_cutoff(
            columns, base, lambda c, log=synthetic.log: load_records(prior, log, c)
        )
        assert (cutoff < own) == lowered


def test_friction_that_rises_slowly_is_seen(arm):
    columns, _, x = arm
    slow = columns.with_widths([0.15, 0.0])
    record = driven(slow, fourier_record(columns.system, rate=400.0), x, noise=0.01)
    fit = dl.identify(columns.system, record)
    assert 0.05 < fit.regressor.widths[0] < 0.3 and fit.regressor.widths[1] < 0.02
    errors = fit.errors().loc["held_out"]["unconstrained"]
    assert errors.max() < 0.02


def test_what_is_held_out_is_the_last_of_the_time(arm):
    record, other = (fourier_record(arm[0].system, seed) for seed in (0, 1))
    fitted, tested = split((record, other), 0.75)
    assert [len(r.t) for r in fitted] == [1000]
    assert [len(r.t) for r in tested] == [1000, 2000]
    assert tested[0].t[0] > fitted[0].t[-1] and tested[1] is other
    assert (fitted[0].q == record.q[:1000]).all() and (tested[0].q == record.q[1000:]).all()
    with pytest.raises(dl.SettingError, match="held_out"):
        dl.identify(arm[0].system, record, held_out=1.5)
    assert split((record,), 0.0) == ((record,), ())


def test_a_filter_is_chosen_without_what_is_held_out():
    """Of one log its end, of two the whole of the second, which is longer."""
    arm = dl.load("planar_2r")
    first, second = (ugly_log(arm, replace(CLEAN, rate=100.0, duration=s)).log for s in (4.0, 8.0))
    for logs, share, rows, longest in (
        ((second,), 0.25, 600, second),
        ((first, second), 0.7, 360, first),
        ((first, second), None, 800, second),
    ):
        (some,) = longest_fitted_part(logs, share)
        assert some.sizes["time"] == rows
        assert (some.tau.values == longest.tau.values[:rows]).all()


def test_what_is_no_log_is_refused(arm):
    with pytest.raises(dl.IdentificationError, match="not ndarray"):
        dl.identify(arm[0].system, np.zeros((10, 2)))


def test_noise_of_a_joint_that_stands_is_no_motion():
    """An encoder that flickers by a step shows neither friction nor inertia."""
    prior = dl.load("planar_2r")
    still = fourier(prior, 1, still=(1,))
    synthetic = ugly_log(prior, replace(CLEAN, bits=14, seed=1), motion=still)
    log = synthetic.log.copy(deep=True)
    flicker = np.random.default_rng(0).integers(-1, 2, log.sizes["time"])
    log.q.values[:, 1] += flicker * 2.0 * np.pi / 2**14
    with pytest.warns(dl.IdentificationWarning, match="'link2_joint' never moves"):
        fit = dl.identify(prior, log)
    unknown = {
        name for name, free in zip(fit.regressor.names, fit.regressor.free, strict=True) if free
    }
    assert not unknown & {"link2_joint:viscous", "link2_joint:coulomb", "link2_joint:rotor"}
    assert fit.records[0].qd[:, 1].any() == 0
    table = fit.errors(normalised=True).loc["held_out"]
    assert table.loc["link1_joint", "unconstrained"] < 0.05
