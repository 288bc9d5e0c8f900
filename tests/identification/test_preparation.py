"""Logs as records: derivatives without delay, encoder steps, noise, uneven stamps, gaps, repeats."""

import numpy as np
import pytest
import xarray

import dalembert as dl
from dalembert.errors import IdentificationError, SettingError, TrajectoryError
from dalembert.identification.preparation import prepare
from dalembert.identification.record import quantization_step
from dalembert.logs.repair import repair

STEP = 2.0 * np.pi / 2**18  # rad of the encoder
RATE = 1000.0
T = np.arange(0.0, 12.0, 1.0 / RATE)
WAVES = 2.0 * np.pi * np.array([0.1, 0.25, 0.5])


@pytest.fixture(scope="module")
def arm():
    return dl.load("planar_2r")


def motion(t):
    """(q, q̇, q̈, τ) of two joints at times t, known exactly; τ is any smooth function."""
    a = np.array([[0.8, 0.5], [-0.4, 0.3], [0.2, -0.3]])
    s, c = np.sin(np.outer(t, WAVES)), np.cos(np.outer(t, WAVES))
    w = WAVES[:, None]
    return s @ a, c @ (a * w), -s @ (a * w**2), 3.0 * c @ a


def log_of(t, q, tau, **more):
    fields = {"q": q, "tau": tau} | more
    return xarray.Dataset({k: (("time", "joint"), x) for k, x in fields.items()}, {"time": t})


def rounded(x):
    return np.round(x / STEP) * STEP


def errors(record):
    """Largest errors of q, q̇, q̈, τ beside their size."""
    arrays = (record.q, record.qd, record.qdd, record.tau)
    true = motion(record.t)
    return [np.abs(a - b).max() / np.abs(b).max() for a, b in zip(arrays, true, strict=True)]


def plain(t=T, **more):
    q, _, _, tau = motion(t)
    return log_of(t, rounded(q), tau, **more)


def test_derivatives_of_rounded_positions_are_those_of_the_motion(arm):
    """An encoder of 18 bits at 1 kHz: q̈ to 1e-3 without anybody choosing a cut-off, and not late."""
    (record,) = prepare(arm, plain())
    assert max(errors(record)[:2]) < 1e-4 and errors(record)[2] < 1e-3
    np.testing.assert_array_equal(record.tau, motion(T)[3][np.searchsorted(T, record.t - 1e-9)])
    lag = np.sum((record.qdd - motion(record.t)[2]) * np.gradient(record.qdd, record.t, axis=0))
    lag /= np.sum(np.gradient(record.qdd, record.t, axis=0) ** 2)
    assert abs(lag) < 2e-5  # s
    assert 1.0 < record.cutoff < 6.0 and any("filtered at" in line for line in record.notes)


@pytest.mark.parametrize("rate", [100.0, 4000.0])
def test_the_cutoff_suits_slow_and_fast_logs(arm, rate):
    (record,) = prepare(arm, plain(np.arange(0.0, 8.0, 1.0 / rate)))
    assert errors(record)[2] < 3e-3


def test_motion_without_noise_is_not_filtered_away(arm):
    q, _, _, tau = motion(T)
    (record,) = prepare(arm, log_of(T, q, tau))
    assert errors(record)[2] < 1e-4 and record.cutoff > 20.0


def test_a_coarse_encoder_makes_no_motion(arm):
    """11 bits: lines of rounding far above the floor of noise do not raise the cut-off."""
    q, _, _, tau = motion(T)
    coarse = 2.0 * np.pi / 2**11
    (record,) = prepare(arm, log_of(T, np.round(q / coarse) * coarse, tau))
    assert record.cutoff < 5.0 and errors(record)[2] < 0.05


def test_a_stated_cutoff_is_used_and_one_beyond_the_rate_refused(arm):
    (record,) = prepare(arm, plain(), cutoff=8.0)
    assert record.cutoff == 8.0 and "filtered at 8 Hz without" in " ".join(record.notes)
    for wrong in (500.0, 0.0, np.nan):
        with pytest.raises(SettingError, match="between 0 and 500 Hz"):
            prepare(arm, plain(), cutoff=wrong)


def test_noise_of_velocities_is_what_is_found(arm):
    """`rate_noise` against the deviation of q̇ from the truth, for noise and an encoder."""
    q, _, _, tau = motion(T)
    for cutoff in (5.0, 40.0):
        ratios = []
        for seed in range(3):
            noise = 2e-5 * np.random.default_rng(seed).normal(size=q.shape)
            (record,) = prepare(arm, log_of(T, rounded(q + noise), tau), cutoff=cutoff)
            off = record.qd - motion(record.t)[1]
            ratios.append(record.rate_noise / off.std(axis=0))
        np.testing.assert_allclose(np.mean(ratios, axis=0), 1.0, atol=0.2)


def test_the_step_of_an_encoder_is_found(arm):
    (record,) = prepare(arm, plain())
    np.testing.assert_allclose(record.resolution, STEP, rtol=1e-6)
    q, _, _, tau = motion(T)
    (smooth,) = prepare(arm, log_of(T, q, tau))
    np.testing.assert_array_equal(smooth.resolution, 0.0)
    rng = np.random.default_rng(0)
    few = rounded(np.sin(np.linspace(0, 3, 400)) + 0.1 * rng.normal(size=400))
    few[[5, 77]] += 0.4 * STEP  # outliers
    assert quantization_step(few) == pytest.approx(STEP, rel=1e-3)
    assert quantization_step(np.round(rounded(q[:, 0]), 7)) == pytest.approx(
        STEP, rel=1e-3
    )  # as text
    assert quantization_step(rng.normal(size=500)) == quantization_step(np.zeros(500)) == 0.0


def test_uneven_stamps_are_as_good_as_even_ones(arm):
    """Rows taken at uneven times, some missing: resampled to the accuracy of the spline."""
    rng = np.random.default_rng(1)
    t = (T + rng.uniform(-0.3, 0.3, len(T)) / RATE)[rng.random(len(T)) > 0.02]
    (record,) = prepare(arm, plain(t))
    assert errors(record)[2] < 1e-3 and errors(record)[3] < 1e-6
    np.testing.assert_allclose(np.diff(record.t), 1.0 / record.rate, rtol=1e-9)
    assert any("resampled" in line for line in record.notes)


def test_stamps_that_jitter_while_the_rows_are_even_are_straightened(arm):
    """A clock read late is not a motion: where even times leave less noise they are the true ones."""
    rng = np.random.default_rng(2)
    stamps = T + rng.uniform(-0.3, 0.3, len(T)) / RATE
    keep = rng.random(len(T)) > 0.02
    for own in (slice(None), keep):
        log = plain().isel(time=np.flatnonzero(keep) if own is keep else slice(None))
        (record,) = prepare(arm, log.assign_coords(time=stamps[own]))
        assert errors(record)[2] < 1e-3
        assert any("taken as even" in line for line in record.notes)


def test_repeated_rows_at_the_start_are_left_out(arm):
    again = np.concatenate([np.zeros(7, int), np.arange(len(T))])
    (record,) = prepare(arm, plain().isel(time=again))
    (once,) = prepare(arm, plain())
    np.testing.assert_array_equal(record.q, once.q)
    assert any("7 of them at the start" in line for line in record.notes)


def test_rows_that_hold_old_numbers_while_the_motion_goes_on_are_left_out(arm):
    """The first rows of many recordings, and lost packets: a jump would follow them."""
    log = plain()
    for name in ("q", "tau"):
        values = log[name].values
        values[:12] = values[0]
        values[5000:5004] = values[4999]
    (record,) = prepare(arm, log)
    assert errors(record)[2] < 1e-3 and errors(record)[3] < 1e-3
    assert any("16 rows that hold the numbers of the row before" in line for line in record.notes)
    repeated = plain(T[::2]).isel(time=np.repeat(np.arange(len(T) // 2), 2)).assign_coords(time=T)
    (record,) = prepare(arm, repeated)  # a log faster than what it records
    assert errors(record)[2] < 5e-3


@pytest.mark.parametrize(("jump", "left"), [(1.0, 16), (2.0, 15)])
def test_a_row_equal_to_the_last_is_stale_only_before_a_jump(jump, left):
    """After one equal row, a motion of 1 a row goes on by 1 where it rested, by 2 where it did not."""
    steps = [0.1] * 4 + [1.0] * 3 + [0.0, jump] + [1.0] * 6
    x = np.cumsum([0.0, *steps])[:, None]
    assert len(repair(np.arange(16.0), x, positions=1).x) == left


def test_a_standing_start_is_kept(arm):
    """Two seconds of rest before the motion are data like any other."""
    t = np.arange(0.0, 10.0, 1.0 / RATE)
    begun = np.maximum(t - 2.0, 0.0)
    q = 0.4 * begun[:, None] ** 3 * np.exp(-begun)[:, None] * [1.0, -0.5]
    (record,) = prepare(arm, log_of(t, rounded(q), rounded(q)))
    assert record.t[0] < 1.2 and np.abs(record.qd[record.t < 1.5]).max() < 1e-3


def test_missing_numbers_are_bridged_and_pauses_cut_the_log(arm):
    log = plain()
    q = log.q.values
    q[np.random.default_rng(4).random(q.shape) < 0.003] = np.nan
    q[3000:3003] = np.nan
    q[5000:5600] = np.nan
    first, second = prepare(arm, log)
    assert first.t[-1] < 5.0 < 5.6 < second.t[0]
    assert max(errors(first)[2], errors(second)[2]) < 2e-3
    notes = "\n".join(first.notes)
    assert "600 rows with missing numbers left out" in notes and "cut into 2 stretches" in notes


def test_short_pauses_are_bridged(arm):
    """Rows of a busy logger: pauses of 30 ms each second do not cut the log into pieces."""
    keep = (np.arange(len(T)) % 1000) >= 30
    (record,) = prepare(arm, plain().isel(time=np.flatnonzero(keep)))
    assert errors(record)[2] < 2e-3 and record.t[-1] - record.t[0] > 10.0
    assert any("11 pauses of up to 0.031 s bridged" in line for line in record.notes)


def test_moments_are_times(arm):
    moments = np.datetime64("2024-01-01", "ns") + np.round(T * 1e9).astype("m8[ns]")
    (record,) = prepare(arm, plain().assign_coords(time=moments))
    assert errors(record)[2] < 1e-3


def test_a_clock_of_coarse_ticks_is_spread(arm):
    """Stamps of 10 ms for rows of 1 ms: q̈ is right, but for the unknown part of a tick."""
    (record,) = prepare(arm, plain().assign_coords(time=np.floor(T * 100.0) / 100.0))
    true = motion(record.t + 0.0045)[2]
    assert np.abs(record.qdd - true).max() < 2e-3 * np.abs(true).max()
    assert record.rate == pytest.approx(RATE, rel=1e-4)


def test_recorded_velocities_are_used_where_they_are_better_and_true(arm):
    q, qd, _, tau = motion(T)
    noise = np.random.default_rng(5).normal(size=q.shape)
    coarse = np.round(q / 2e-3) * 2e-3
    (good,) = prepare(arm, log_of(T, coarse, tau, qd=qd + 1e-5 * noise))
    assert errors(good)[1] < 1e-3 and any("velocity used" in line for line in good.notes)
    (late,) = prepare(arm, log_of(T, rounded(q), tau, qd=np.roll(qd, 5, axis=0)))
    assert any("not used" in line for line in late.notes) and errors(late)[1] < 1e-3
    (noisy,) = prepare(arm, log_of(T, rounded(q), tau, qd=qd + 0.1 * noise))
    assert errors(noisy)[1] < 1e-3
    computed = log_of(T, rounded(q), tau, qd=qd).assign_attrs(recorded="q, tau")
    (own,) = prepare(arm, computed)
    assert not any("velocity" in line for line in own.notes)


def test_torques_are_moved_by_a_delay(arm):
    log = plain()
    log["tau"] = (("time", "joint"), motion(T - 0.004)[3])
    (record,) = prepare(arm, log, delay=0.004)
    assert errors(record)[3] < 1e-9 and "0.004 s earlier" in " ".join(record.notes)


def test_quaternions_have_velocities_and_their_noise():
    """A ball turning about one axis: ω, ω̇, and twice the noise of the quaternion in ω."""
    ball = dl.Robot.from_links(
        [{"name": "a", "joint": {"type": "spherical"}, "mass": 1.0, "inertia": np.eye(3)}]
    )
    axis, half = np.array([0.6, 0.0, 0.8]), 0.4 * np.sin(2.0 * T)
    q = np.column_stack([np.sin(half)[:, None] * axis, np.cos(half)])
    noise = 1e-5 * np.random.default_rng(6).normal(size=q.shape)
    log = xarray.Dataset(
        {
            "q": (("time", "coordinate"), (q + noise) * np.where(T < 5.0, 1.0, -1.0)[:, None]),
            "tau": (("time", "joint"), np.zeros((len(T), 3))),
        },
        {"time": T},
    )
    (record,) = prepare(ball, log)
    true = 1.6 * np.cos(2.0 * record.t)[:, None] * axis
    off = record.qd - true
    assert np.abs(off).max() < 5e-3
    np.testing.assert_allclose(record.rate_noise / off.std(axis=0), 1.0, atol=0.35)


REFUSED = {
    "no torques": (lambda log: log.drop_vars("tau"), "no torques 'tau'"),
    "few rows": (lambda log: log.isel(time=slice(20)), "20 rows"),
    "other joints": (lambda log: log.assign_coords(joint=["a", "b"]), "has the joints a, b"),
    "one joint": (lambda log: log.isel(joint=[0]), "needs time and 2"),
    "all missing": (lambda log: log.where(log.q > 9.0), "0 whole rows"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_logs_without_what_a_fit_needs_are_refused(arm, kind):
    change, message = REFUSED[kind]
    with pytest.raises(IdentificationError, match=message):
        prepare(arm, change(plain()))


def test_time_that_runs_backward_is_named(arm):
    t = T.copy()
    t[6000:] -= 3.0
    with pytest.raises(TrajectoryError, match=r"time jumps back from 5\.999 to 3 s at row 6001"):
        prepare(arm, plain().assign_coords(time=t))
