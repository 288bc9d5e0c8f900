"""Logs as a stranger brings them: rounded torques, fingers that no log holds, words that explain."""

from dataclasses import replace

import numpy as np
import pytest

import dalembert as dl
from dalembert.identification.diagnostics import check_clipping
from dalembert.identification.hypotheses import LogSample, hypotheses, sample_noise
from dalembert.identification.preparation import prepare
from dalembert.identification.record import rounding_deviation
from dalembert.identification.regressor import build_regressor
from dalembert.identification.residuals import find_spikes


@pytest.fixture(scope="module")
def arm():
    """A small arm."""
    return dl.load("elbow_3r")


def table(arm, rate=100.0, seconds=15.0, step=0.0, size=1.0):
    """Columns of a log by number, torques rounded to a step."""
    rng = np.random.default_rng(3)
    t = np.arange(0.0, seconds, 1.0 / rate)
    w = 2.0 * np.pi * np.array([0.13, 0.21, 0.34])
    q = size * np.sin(np.outer(t, w) + np.array([0.1, 0.5, 0.9]))
    qd, qdd = size * w * np.cos(np.outer(t, w) + np.array([0.1, 0.5, 0.9])), -(w**2) * q
    tau = arm.inverse_dynamics(q, qd, qdd) + 2.0 * qd + 3.0 * np.tanh(qd / 0.01)
    tau = tau + 0.02 * rng.normal(size=tau.shape)
    tau = np.round(tau / step) * step if step else tau
    named = {f"q{j + 1}": np.round(x, 5) for j, x in enumerate(q.T)}
    return {"time": t} | named | {f"tau{j + 1}": x for j, x in enumerate(tau.T)}


def test_the_rounding_of_torques_is_known_also_of_a_few_levels():
    """A wrist that carries nothing has three levels of torque, and noise has none."""
    rng = np.random.default_rng(0)
    x = np.column_stack([np.round(rng.normal(size=500) * s / 0.05) * 0.05 for s in (5.0, 0.05)])
    assert rounding_deviation(x) == pytest.approx(0.05 / np.sqrt(12.0))
    assert not rounding_deviation(rng.normal(size=(500, 2))).any()


def test_steps_of_rounded_torques_are_no_spikes():
    """Few samples jump to the next level: that is rounding, not a sensor that fails."""
    rng = np.random.default_rng(1)
    left = 1e-3 * rng.normal(size=(2000, 1))
    left[::9] += 0.05
    assert find_spikes([left])[0].any()
    assert not find_spikes([left], np.array([0.05 / np.sqrt(12.0)]))[0].any()


def test_rounding_of_torques_counts_as_their_noise(arm):
    """Torques that stay at a level have no noise between samples, and are uncertain all the same."""
    (record,) = prepare(arm, dl.read_log(table(arm, step=4.0), arm))
    assert sample_noise([record]) == pytest.approx(np.full(3, 4.0 / np.sqrt(12.0)), rel=0.05)


def test_a_filter_that_nobody_asked_for_is_not_said_to_be_asked_for(arm):
    """The reason of a chosen cut-off is said; of one that is given there is none."""
    log = dl.read_log(table(arm), arm)
    chosen = " ".join(dl.identify(arm, log, consistent=False).notes)
    notes = " ".join(dl.identify(arm, log, consistent=False, cutoff=5.0).notes)
    assert "cut-off was chosen" in chosen and "as asked" not in chosen
    assert "filtered at 5 Hz" in notes and "was chosen" not in notes


def written(tmp_path, names, cells):
    """A file of text columns."""
    rows = [",".join(names), *(",".join(row) for row in zip(*cells, strict=True))]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def texts(columns):
    """Columns of numbers, as text."""
    return [[f"{x:.6f}" for x in own] for own in columns]


STAMPS = {
    "stamp": [[f"2026-05-04 10:11:12.{k:02d}0" for k in range(100)]],
    "time": [
        [f"23:59:59.{50 + k:02d}" if k < 50 else f"00:00:00.{k - 50:02d}" for k in range(100)]
    ],
    "header.stamp.secs,header.stamp.nsecs": [
        ["1700000000"] * 50 + ["1700000001"] * 50,
        [f"{500 + 10 * k if k < 50 else 10 * (k - 50)}000000" for k in range(100)],
    ],
}


@pytest.mark.parametrize("names", STAMPS)
def test_stamps_of_clocks_are_times(arm, tmp_path, names):
    """Dates, times of day past midnight, and seconds and nanoseconds in two columns."""
    columns = table(arm, seconds=1.0)
    own = [x for name, x in columns.items() if name != "time"]
    path = written(tmp_path, [*names.split(","), *list(columns)[1:]], [*STAMPS[names], *texts(own)])
    t = dl.read_log(path, arm).time.values
    assert t - t[0] == pytest.approx(np.arange(100) * 0.01, abs=1e-5)


def test_numbered_columns_that_are_too_few_say_which_joints_to_hold(arm):
    """Seven columns q1 … q7 beside a URDF with fingers are no riddle."""
    log = table(arm, seconds=1.0)
    few = {name: x for name, x in log.items() if not name.endswith("3")}
    message = "2 columns like it are too few for its 3 joints.*with_joint_locked.*--lock"
    with pytest.raises(dl.TrajectoryError, match=message):
        dl.read_log(few, arm)


def test_recorded_velocities_are_compared_where_the_filter_does_not_ring(arm):
    """True velocities of a motion that is cut short agree with derivatives but at its ends."""
    t = np.arange(0.0, 10.0, 0.005)
    w = 2.0 * np.pi * np.array([1.5, 1.2, 1.05])
    q, qd = np.cos(np.outer(t, w)), -w * np.sin(np.outer(t, w))
    q, qd = np.round(q, 4), np.round(qd, 3)
    columns = {"time": t} | {f"q{j + 1}": x for j, x in enumerate(q.T)}
    columns |= {f"dq{j + 1}": x for j, x in enumerate(qd.T)}
    log = dl.read_log(columns | {f"tau{j + 1}": x for j, x in enumerate(qd.T)}, arm)
    (record,) = prepare(arm, log, cutoff=2.0)
    assert not any("not used" in line for line in record.notes), record.notes


def test_a_fit_says_that_the_friction_of_its_robot_jumps_at_rest(arm):
    """Torques of pauses are those of `predict`; the robot's follow the sign of noise there."""
    fit = dl.identify(arm, dl.read_log(table(arm), arm))
    assert any("jumps at rest" in line for line in fit.notes)


def test_a_torque_below_its_resolution_is_no_cut_off_torque(arm):
    """Rounded to nothing but a few samples: said as that, and not refused."""
    x = np.zeros(1500)
    x[::300] = -1.0
    q = np.column_stack([np.sin(np.linspace(0.0, 9.0, 1500))] * 3)
    (diagnostic,) = check_clipping("wrist", x, q)
    assert "rounded too coarsely" in diagnostic.message and not diagnostic.is_inconsistent


def test_a_torque_rounded_to_nothing_does_not_outweigh_the_others():
    """A wrist below the resolution of its sensor is met exactly; the arm is fitted all the same."""
    robot = dl.load("puma560")
    t, rng = np.arange(0.0, 12.0, 0.01), np.random.default_rng(2)
    w, phase = 2.0 * np.pi * rng.uniform(0.2, 0.5, 6), rng.uniform(0.0, 6.0, 6)
    q, qd = np.sin(np.outer(t, w) + phase), w * np.cos(np.outer(t, w) + phase)
    tau = 1.2 * robot.inverse_dynamics(q, qd, -(w**2) * q) + 0.1 * rng.normal(size=q.shape)
    tau[:, 5] = np.where(np.arange(len(t)) == 1000, 0.05, 0.0)
    log = {"time": t} | {f"q{j + 1}": np.round(x, 5) for j, x in enumerate(q.T)}
    log = dl.read_log(log | {f"tau{j + 1}": x for j, x in enumerate(tau.T)}, robot)
    with pytest.warns(dl.IdentificationWarning, match="'joint6' is 0 for 99.9% of the time"):
        fit = dl.identify(robot, log, consistent=False)
    errors = fit.errors(normalised=True).loc["held_out", "unconstrained"]
    assert (errors[:3] < 0.1).all(), errors


def test_motions_of_less_than_half_a_turn_are_not_told_to_be_degrees(arm):
    """Friction can look as if an arm hardly moved; degrees of that would be no motion at all."""
    (record,) = prepare(arm, dl.read_log(table(arm), arm))
    columns = build_regressor(arm).with_widths(record.rate_noise)
    for size, expected in ((1.0, False), (57.3, True)):
        look = LogSample(columns, replace(record, q=size * record.q), np.zeros(3))
        assert (
            any(
                "degrees" in hypothesis.message
                for hypothesis in hypotheses(look.system, look.record)
            )
            == expected
        )
