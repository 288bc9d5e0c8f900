"""Logs that are not what they say are refused with the joint and the evidence; good ones never are."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import dalembert as dl
from dalembert.identification.diagnostics import check_log, report
from dalembert.identification.preparation import prepare
from dalembert.identification.regressor import build_regressor
from tests.identification.logs import REAL, ROBOTS, Ugly, fourier, other_robot, ugly_log

PLAIN = Ugly(rate=250.0, duration=12.0)


@cache
def arm(name):
    return dl.load(name)


@cache
def good(name, ugly=PLAIN, seed=1, off=0.5):
    """A log of an arm whose inertias are half off those of the prior."""
    prior = arm(name)
    return ugly_log(prior, replace(ugly, seed=seed), other_robot(prior, seed, off)).log


def findings(name, log):
    system, records = arm(name), prepare(arm(name), log)
    widths = np.max([record.rate_noise for record in records], axis=0)
    return check_log([log], records, build_regressor(system).with_widths(widths))


def changed(log, **columns):
    """The log with other numbers: a function of the columns (n, nv) of q, tau or qd."""
    copy = log.copy(deep=True)
    for name, change in columns.items():
        copy[name].values[:] = change(copy[name].values.copy())
    return copy


def times(j, factor):
    def change(x):
        x[:, j] *= factor
        return x

    return change


def exchange(i, j):
    def change(x):
        x[:, [i, j]] = x[:, [j, i]]
        return x

    return change


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("ugly", (PLAIN, replace(REAL, rate=250.0), replace(PLAIN, noise=0.05)))
def test_good_logs_of_arms_whose_prior_is_half_off_raise_no_alarm(name, ugly):
    for seed in (1, 2):
        diagnostics = findings(name, good(name, ugly, seed))
        assert [
            x for x in diagnostics if "limit of its drive" not in x.message
        ] == []  # which is true


CASES = {
    "exchanged torques": (
        {"tau": exchange(1, 2)},
        ["the torques of 'shoulder_lift_joint' and 'elbow_joint' are exchanged", "correlates with"],
    ),
    "exchanged positions": (
        {"q": exchange(0, 1)},
        ["the positions of 'shoulder_pan_joint' and 'shoulder_lift_joint' are exchanged"],
    ),
    "exchanged joints": (
        {"q": exchange(2, 3), "tau": exchange(2, 3)},
        ["positions and torques of 'elbow_joint' and 'wrist_1_joint' are exchanged"],
    ),
    "one torque reversed": (
        {"tau": times(1, -1.0)},
        ["the torque of 'shoulder_lift_joint' has the wrong sign"],
    ),
    "one position reversed": (
        {"q": times(3, -1.0)},
        ["the position of 'wrist_1_joint' has the wrong sign"],
    ),
    "one axis reversed": (
        {"q": times(3, -1.0), "tau": times(3, -1.0)},
        ["position and torque of 'wrist_1_joint' are counted about the opposite axis"],
    ),
    "one torque in mN m": (
        {"tau": times(2, 1e3)},
        ["the torque of 'elbow_joint' is 1000 times too large, as if in mN m"],
    ),
    "all torques reversed": ({"tau": lambda x: -x}, ["opposite to those of the prior", "sign"]),
    "all torques in kN m": ({"tau": lambda x: 1e-3 * x}, ["times smaller", "in N m"]),
    "another zero": (
        {"q": lambda x: x + np.pi / 2 * (np.arange(6) == 2)},
        ["the position of 'elbow_joint' is counted from another zero, +90° off"],
    ),
    "positions in degrees": ({"q": np.degrees}, ["in degrees", "'elbow_joint'", "limit"]),
    "torque that was not recorded": ({"tau": times(4, 0.0)}, ["'wrist_2_joint'", "not recorded"]),
    "torque that is cut off": (
        {"tau": lambda x: np.clip(x, -70.0, 70.0)},
        ["the torque of 'shoulder_lift_joint' is cut off at -70"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_log_that_is_not_what_it_says_is_refused_with_its_joint(case):
    changes, message = CASES[case]
    diagnostics = findings("ur5", changed(good("ur5"), **changes))
    with pytest.raises(dl.IdentificationError) as error:
        report(diagnostics)
    for piece in message:
        assert piece in str(error.value)
    assert "on_inconsistent='warn'" in str(error.value)


def test_doubts_may_be_warnings():
    diagnostics = findings("ur5", changed(good("ur5"), tau=exchange(1, 2)))
    with pytest.warns(dl.IdentificationWarning, match="are exchanged"):
        messages = report(diagnostics, "warn")
    assert "are exchanged" in messages[0]


def test_a_friction_driven_last_joint_with_the_wrong_sign_is_found():
    # its inertia is next to nothing, so that no other joint can tell
    diagnostics = findings("panda", changed(good("panda"), tau=times(6, -1.0)))
    assert any(x.is_inconsistent and x.joint == "panda_joint7" for x in diagnostics)


@pytest.mark.parametrize("name", ("planar_2r", "ur5"))
def test_gravity_that_points_elsewhere_is_said(name):
    aside = arm(name).with_gravity([9.81, 0.0, 0.0])
    log = ugly_log(aside, PLAIN, other_robot(aside, 1, 0.5)).log
    diagnostics = findings(name, log)
    messages = [x.message for x in diagnostics if x.is_inconsistent]
    assert any("gravity" in message and "(9.81, 0.00, 0.00)" in message for message in messages)


@pytest.mark.parametrize("late", (0.02, -0.02, 0.1))
def test_the_delay_of_torques_is_measured(late):
    log = ugly_log(arm("planar_2r"), replace(PLAIN, delay=late)).log
    (diagnostic,) = findings("planar_2r", log)
    assert diagnostic.is_inconsistent == (late == 0.1)
    assert ("lag behind" if late > 0 else "come before") in diagnostic.message
    assert float(diagnostic.message.rpartition("delay=")[2].removesuffix(" more")) == pytest.approx(
        late, abs=2e-3
    )


def test_a_log_of_another_robot_is_refused():
    prior = arm("ur5")
    other = good("puma560").assign_coords(joint=list(prior.dynamics.velocities))
    assert any(diagnostic.is_inconsistent for diagnostic in findings("ur5", other))


def test_recorded_velocities_are_compared_with_positions():
    log = good("planar_2r", replace(PLAIN, rates=0.01))
    assert findings("planar_2r", log) == ()
    for change, message in (
        (times(1, 180 / np.pi), "57.3, as if degrees"),
        (times(1, 1e3), "1000, as if milliseconds"),
        (times(1, -1.0), "wrong sign"),
        (exchange(0, 1), "is that of 'link2_joint'"),
    ):
        diagnostics = findings("planar_2r", changed(log, qd=change))
        assert any(x.is_inconsistent and message in x.message for x in diagnostics)


def test_times_in_milliseconds_are_said():
    log = good("planar_2r")
    slow = log.assign_coords(time=log.time * 1e3)
    assert any(
        x.is_inconsistent and "milliseconds" in x.message for x in findings("planar_2r", slow)
    )


def test_a_joint_that_never_moves_is_named_and_the_others_are_fitted():
    prior = arm("planar_2r")
    log = ugly_log(prior, PLAIN, motion=fourier(prior, 0, still=(1,))).log
    (diagnostic,) = findings("planar_2r", log)
    assert not diagnostic.is_inconsistent and "'link2_joint' never moves" in diagnostic.message
    log = ugly_log(prior, PLAIN, motion=fourier(prior, 0, still=(0, 1))).log
    assert any(
        x.is_inconsistent and "no joint moves" in x.message for x in findings("planar_2r", log)
    )


def test_an_arm_that_rests_at_its_largest_torque_is_not_taken_for_a_clipped_one():
    log = good("ur5")
    resting = log.copy(deep=True)
    at = int(np.argmin(resting.tau.values[:, 1]))
    for name in ("q", "tau"):  # a second of rest there
        resting[name].values[at : at + 250] = resting[name].values[at]
    assert not any("cut off" in diagnostic.message for diagnostic in findings("ur5", resting))


def test_warnings_point_to_the_line_that_asked_for_the_fit():
    prior = arm("planar_2r")
    log = ugly_log(prior, PLAIN, motion=fourier(prior, 0, still=(1,))).log
    with pytest.warns(dl.IdentificationWarning) as heard:
        fit = dl.identify(prior, log)
    assert {warning.filename for warning in heard} == {__file__}
    assert {str(warning.message) for warning in heard} == set(fit.warnings)


def test_torques_without_gravity_are_told_and_what_to_fit():
    """A controller that adds gravity logs the rest: that is not another robot."""
    synthetic = ugly_log(arm("ur5"), PLAIN, other_robot(arm("ur5"), 1, 0.5))
    weight = synthetic.robot.gravity_torque(synthetic.log.q.values)
    diagnostics = findings("ur5", changed(synthetic.log, tau=lambda x: x - weight))
    with pytest.raises(
        dl.IdentificationError, match=r"hold no gravity.*with_gravity\(\(0, 0, 0\)\)"
    ):
        report(diagnostics)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"q": lambda q: q + 0.3 * (np.arange(7) == 3)}, r"'panda_joint4'.*another zero, \+17°"),
        ({"tau": times(5, 2.0)}, r"'panda_joint6' is (1\.9|2|2\.1) times too large.*gear"),
    ],
    ids=["zero", "gear"],
)
def test_a_zero_or_a_gear_that_is_a_little_off_is_found(columns, says):
    diagnostics = findings("panda", changed(good("panda", off=0.2), **columns))
    wrong = [x.message for x in diagnostics if x.is_inconsistent]
    assert len(wrong) == 1 and re.search(says, wrong[0])


def test_a_measured_velocity_that_is_discarded_is_a_warning():
    robot = arm("planar_2r")
    log = good("planar_2r", replace(PLAIN, rates=1e-3))
    diagnostics = findings("planar_2r", changed(log, qd=times(1, 1.01)))
    messages = [x for x in diagnostics if "recorded velocity is off the derivative" in x.message]
    assert len(messages) == 1 and not messages[0].is_inconsistent
    assert robot.dynamics.velocities[1] in messages[0].message
    assert robot.dynamics.velocities[0] not in messages[0].message


def test_recorded_accelerations_are_said_to_be_unused():
    log = good("planar_2r")
    record = prepare(arm("planar_2r"), log)[0]
    assert not any("accelerations" in line for line in record.notes)
    record = prepare(arm("planar_2r"), log.assign(qdd=log.q))[0]
    assert any("recorded accelerations are not used" in line for line in record.notes)
