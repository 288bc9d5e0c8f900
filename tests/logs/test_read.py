"""Motions from files: columns by name, derivatives, units, followers, closed chains, and refusals."""

from pathlib import Path

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import SettingError, TrajectoryError, UnknownNameError

PALLETISER = Path(__file__).parents[1] / "robots" / "palletiser.urdf"
T = np.linspace(0.0, 2.0, 201)
SWING = np.column_stack([np.sin(1.5 * T), 0.5 * np.cos(T)])
RATES = np.column_stack([1.5 * np.cos(1.5 * T), -0.5 * np.sin(T)])
ACCELERATIONS = np.column_stack([-2.25 * np.sin(1.5 * T), -0.5 * np.cos(T)])
NAMES = ("link1_joint", "link2_joint")


@pytest.fixture(scope="module")
def arm():
    return dl.load("planar_2r")


@pytest.fixture
def write(tmp_path):
    """A file of these columns, as text or as numbers."""

    def write_rows(header, rows, delimiter=","):
        path = tmp_path / "motion.csv"
        if isinstance(rows, str):
            path.write_text(f"{header}\n{rows}\n", encoding="utf-8")
        else:
            np.savetxt(path, np.column_stack(rows), delimiter=delimiter, header=header, comments="")
        return path

    return write_rows


def test_columns_are_found_by_name_in_any_order_and_spelling(arm, write):
    """Order, words, separators, case and a mark of NumPy before the names do not matter."""
    first = dl.read_log(write("time,link1_joint,link2_joint", [T, SWING]), arm)
    np.testing.assert_array_equal(first.q, SWING)
    again = dl.read_log(
        write("# Q.link2_joint;t;LINK1_JOINT/position", [SWING[:, 1], T, SWING[:, 0]], ";"), arm
    )
    np.testing.assert_array_equal(again.q, SWING)
    blank = dl.read_log(write("time link2_joint_pos q_link1_joint", [T, SWING[:, ::-1]], " "), arm)
    np.testing.assert_array_equal(blank.q, SWING)
    assert first.q.attrs["units"] == "rad" and first.qdd.attrs["units"] == "rad/s²"


@pytest.mark.parametrize("times", [T, T + 0.004 * np.sin(40 * T)], ids=["even", "uneven"])
def test_missing_derivatives_are_those_of_a_spline(arm, write, times):
    """q̇ and q̈ of a smooth motion to the error of the spline, at even and uneven times."""
    swing = np.column_stack([np.sin(1.5 * times), 0.5 * np.cos(times)])
    log = dl.read_log(write("time,link1_joint,link2_joint", [times, swing]), arm)
    rates = np.column_stack([1.5 * np.cos(1.5 * times), -0.5 * np.sin(times)])
    accelerations = np.column_stack([-2.25 * np.sin(1.5 * times), -0.5 * np.cos(times)])
    np.testing.assert_allclose(log.qd, rates, atol=1e-8)
    np.testing.assert_allclose(log.qdd, accelerations, atol=1e-6)


def test_what_the_file_has_is_taken(arm, write):
    """Given velocities stay, q̈ is their slope; given accelerations and torques stay too."""
    off = RATES + 0.25  # not the derivative of the positions
    head = "time,link1_joint,link2_joint,link1_joint_vel,link2_joint_vel"
    log = dl.read_log(write(head, [T, SWING, off]), arm)
    np.testing.assert_array_equal(log.qd, off)
    np.testing.assert_allclose(log.qdd, ACCELERATIONS, atol=1e-7)
    head += ",link1_joint_acc,link2_joint_acc,tau_link1_joint,tau_link2_joint"
    full = dl.read_log(write(head, [T, SWING, off, ACCELERATIONS, SWING]), arm)
    np.testing.assert_array_equal(full.qdd, ACCELERATIONS)
    np.testing.assert_array_equal(full.tau, SWING)
    assert full.attrs["derivatives"].startswith("none")
    part = dl.read_log(
        write("time,link1_joint,link2_joint,qd_link2_joint", [T, SWING, off[:, 1]]), arm
    )
    np.testing.assert_array_equal(part.qd[:, 1], off[:, 1])
    np.testing.assert_allclose(part.qd[:, 0], RATES[:, 0], atol=1e-8)


def test_units_are_the_switch_s_or_the_column_s_own(write):
    """Degrees by switch or in brackets, lengths in mm, times in ms; other units are refused."""
    rp = dl.load("rp")
    turned = [1e3 * T, np.degrees(SWING[:, 0]), 1e3 * SWING[:, 1]]
    log = dl.read_log(write("time [ms],link1_joint [deg],link2_joint [mm]", turned), rp)
    np.testing.assert_allclose(log.q, SWING, atol=1e-14)
    np.testing.assert_allclose(log.time, T, atol=1e-14)
    path = write("time,link1_joint,link2_joint", [T, turned[1], SWING[:, 1]])
    np.testing.assert_allclose(dl.read_log(path, rp, degrees=True).q, SWING, atol=1e-14)
    with pytest.raises(
        TrajectoryError, match=r"'link1_joint \[mm\]': unit 'mm' is none of rad, deg"
    ):
        dl.read_log(write("time,link1_joint [mm],link2_joint", [T, SWING]), rp)


def test_a_filter_takes_noise_without_delay(arm, write):
    """Noise of 1e-4 rad ruins q̈; below 3 Hz it is right again but at the ends, and not late."""
    t = np.linspace(0.0, 8.0, 801)
    swing = np.column_stack([np.sin(1.5 * t), 0.5 * np.cos(t)])
    accelerations = np.column_stack([-2.25 * np.sin(1.5 * t), -0.5 * np.cos(t)])
    noise = 1e-4 * np.random.default_rng(1).normal(size=swing.shape)
    path = write("time,link1_joint,link2_joint", [t, swing + noise])
    inner = slice(100, -100)  # a filter does not know what comes before and after
    raw, smooth = dl.read_log(path, arm), dl.read_log(path, arm, lowpass=3.0)
    assert np.abs(raw.qdd.values - accelerations)[inner].max() > 1.0
    assert np.abs(smooth.qdd.values - accelerations)[inner].max() < 0.03
    assert np.abs(smooth.q.values - swing)[inner].max() < 1e-4
    with pytest.raises(SettingError, match="between 0 and 50 Hz"):
        dl.read_log(path, arm, lowpass=80.0)


def test_times_of_a_clock_become_seconds_since_the_first(arm, write):
    """Stamps of 1.7e9 s keep their derivatives; the first is remembered."""
    path = write("stamp,link1_joint,link2_joint", [T + 1.7e9, SWING])
    log = dl.read_log(path, arm)
    assert log.attrs["start_time"] == 1.7e9 and log.time.values[0] == 0.0
    np.testing.assert_allclose(log.qd, RATES, atol=1e-3)  # stamps have 2e-7 s left
    later = dl.read_log(write("time,link1_joint,link2_joint", [T + 5.0, SWING]), arm)
    assert later.time.values[0] == 5.0


def test_rows_without_times_are_dt_apart(arm, write):
    path = write("link1_joint,link2_joint", [SWING])
    log = dl.read_log(path, arm, dt=0.01)
    np.testing.assert_allclose(log.qd, RATES, atol=1e-8)
    with pytest.raises(TrajectoryError, match=r"no column is called 'time'.*dt="):
        dl.read_log(path, arm)


REFUSED = {
    "time,link1_joint": ("0,1\n1,2", "no column is the position of 'link2_joint'"),
    "time,link1_joint,link2_joint,gripper": ("0,1,2,3", "column 'gripper' belongs to no joint"),
    "time,link1_joint,link2_jiont": ("0,1,2", "did you mean 'link2_joint'"),
    "time,link1_joint,link2_joint": ("0,1,2\n1,2,", "line 3, column 'link2_joint' is empty"),
    "t,link1_joint,link2_joint": ("0,1,2\n1,nan,2", "line 3, column 'link1_joint' is empty or not"),
    "t, link1_joint,link2_joint": ("0,1,2\n1,x,2", "line 3, column 'link1_joint': 'x' is not a number"),
    "t,link1_joint, link2_joint": ("0,1,2\n1,1,inf", "line 3, column 'link2_joint' is inf"),
    "time ,link1_joint,link2_joint": ("0,1,2\n1,2,3\n1,2,3", "line 4, column 'time': time 1 does not"),
    "time,q_link1_joint,link1_joint,link2_joint": ("0,1,2,3", "'q_link1_joint' and 'link1_joint'"),
    "time;link1_joint;link2_joint": ("0;0,5;2", "'0,5' is not a number; write decimals with a point"),
    "time,link1_joint ,link2_joint": ("0,1,2", "one row has no derivatives"),
    "time,link1_joint,link2_joint,tau_link1_joint": ("0,1,2,3\n1,1,2,3", "the torque of 'link2_joint'"),
    "t ,link1_joint,link2_joint": ("0,1,2\n1,1e99,2", "line 3, column 'link1_joint' is 1e\\+99"),
    "t  ,link1_joint,link2_joint": ("0,1,2\n1e-300,2,2\n1,1,1", "derivatives are beyond all bounds"),
    "  t,link1_joint,link2_joint": ("0,1,2,3\n1,2,3", "rows have more cells; line 1 has 3 names"),
    "0,1,2": ("1,2,3", "line 1 must name the columns"),
    " time,link1_joint,link2_joint": ("0,1,2\n1,2,3,4", "line 1 has 3 names"),
}  # fmt: skip


@pytest.mark.parametrize("header", REFUSED)
def test_bad_files_are_refused_with_line_and_column(arm, write, header):
    rows, message = REFUSED[header]
    with pytest.raises(TrajectoryError, match=rf"motion\.csv.*{message}"):
        dl.read_log(write(header, rows), arm)


def test_files_that_are_none_are_refused(arm, tmp_path):
    with pytest.raises(TrajectoryError, match="No such file"):
        dl.read_log(tmp_path / "none.csv", arm)
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(TrajectoryError, match="it is not text"):
        dl.read_log(tmp_path / "bytes.csv", arm)
    (tmp_path / "head.csv").write_text("time,link1_joint,link2_joint\n")
    with pytest.raises(TrajectoryError, match="no rows below its names"):
        dl.read_log(tmp_path / "head.csv", arm)


def test_files_as_other_programs_write_them_are_read(arm, tmp_path):
    """A mark of the encoding, carriage returns, quotes, a comma at each end, blank lines below."""
    rows = b'\xef\xbb\xbf"time","link1_joint",link2_joint,\r\n0,1,2,\r\n1,2,3,\r\n\r\n'
    (tmp_path / "motion.csv").write_bytes(rows)
    log = dl.read_log(tmp_path / "motion.csv", arm)
    assert log.q.values.tolist() == [[1.0, 2.0], [2.0, 3.0]]


def test_columns_of_others_can_be_ignored_or_renamed(arm, write):
    path = write("time,a,b,current", [T, SWING, T])
    named = {"a": "link1_joint", "b": "link2_joint"}
    log = dl.read_log(path, arm, columns=named, others="ignore")
    np.testing.assert_array_equal(log.q, SWING)
    with pytest.raises(UnknownNameError, match="no column 'c'"):
        dl.read_log(path, arm, columns={"c": "link1_joint"})


def test_joints_that_follow_are_filled_in_or_checked(write):
    """A palletiser's level joints may be left out; recorded ones must be level."""
    robot = dl.load(str(PALLETISER))
    q = 0.3 * np.sin(np.outer(T, [1.0, 1.2, 0.8, 2.0])) + [0.0, 0.2, 0.5, 0.0]
    head = "time,turn,shoulder,forearm_pitch,wrist"
    log = dl.read_log(write(head, [T, q]), robot)
    run = dl.torques_along(robot, log)
    tau = robot.inverse_dynamics(log.q.values, log.qd.values, log.qdd.values)
    np.testing.assert_allclose(run.tau, tau)
    level = dl.read_log(write(f"{head},flange_level", [T, q, -q[:, 2]]), robot)
    np.testing.assert_array_equal(level.q, log.q)
    with pytest.raises(TrajectoryError, match=r"line 2, column 'flange_level'.*should be at -0\.5"):
        dl.read_log(write(f"{head},flange_level", [T, q, q[:, 2]]), robot)


def test_quaternions_have_the_velocities_of_their_rotation(write):
    """Angular velocity of a ball that turns evenly about one axis; either sign of the quaternion."""
    ball = dl.Robot.from_links(
        [{"name": "a", "joint": {"type": "spherical"}, "mass": 1.0, "inertia": np.eye(3)}]
    )
    axis, half = np.array([0.6, 0.0, 0.8]), 0.5 * (2.0 * T + 0.3 * T**2)
    q = np.column_stack([np.sin(half)[:, None] * axis, np.cos(half)])
    q[100:] *= -1.0
    log = dl.read_log(write("time,a[0],a[1],a[2],a[3]", [T, q]), ball)
    np.testing.assert_allclose(log.qd, (2.0 + 0.6 * T)[:, None] * axis, atol=1e-7)
    np.testing.assert_allclose(log.qdd, np.tile(0.6 * axis, (len(T), 1)), atol=1e-5)


def test_torques_power_and_peaks_stand_beside_limits(arm, write):
    """Torques are inverse dynamics, power τ q̇; the largest of each with its time and share."""
    limited = arm.with_limits(velocity={NAMES[0]: 1.0}, effort={NAMES[0]: 30.0})
    log = dl.read_log(write("time,link1_joint,link2_joint", [T, SWING]), limited)
    run = dl.torques_along(limited, log)
    tau = arm.inverse_dynamics(log.q.values, log.qd.values, log.qdd.values)
    np.testing.assert_allclose(run.tau, tau)
    np.testing.assert_allclose(run.power, tau * log.qd.values)
    most, peaks = np.abs(tau).argmax(axis=0), dl.peaks(run)
    np.testing.assert_allclose(peaks.torque, tau[most, [0, 1]])
    np.testing.assert_allclose(peaks.torque_time, T[most])
    np.testing.assert_allclose(peaks.torque_share[0], np.abs(tau[:, 0]).max() / 30.0)
    np.testing.assert_allclose(peaks.speed_share[0], 1.5)
    assert np.isinf(peaks.torque_limit[1]) and peaks.torque_share[1] == 0.0
    np.testing.assert_allclose(
        peaks.torque_rms, np.sqrt(np.trapezoid(tau**2, T, axis=0) / T[-1]), rtol=1e-12
    )
    assert run.attrs["limits_passed"].startswith("link1_joint: velocity 1.5 beyond 1 at t = 0 s")
    other = dl.load("ur5")
    with pytest.raises(TrajectoryError, match="the log has the joints link1_joint, link2_joint"):
        dl.torques_along(other, log)


def test_recorded_torques_stay_beside_those_of_the_model(arm, write):
    head = "time,link1_joint,link2_joint,link1_joint_torque,link2_joint_torque [N m]"
    log = dl.read_log(write(head, [T, SWING, RATES]), arm)
    run = dl.torques_along(arm, log)
    np.testing.assert_array_equal(run.tau_measured, RATES)
    assert run.tau_measured.attrs["units"] == "N m"


def test_a_closed_chain_is_completed_from_the_joints_that_are_recorded(write):
    """A four-bar by its crank: loops closed in every row, on one branch, torque at the crank."""
    closed = dl.load("four_bar")
    crank = closed.dynamics.velocities[0]
    start = closed.neutral()
    angle = start[0] + 0.6 * np.sin(T)
    log = dl.read_log(write(f"time,{crank}", [T, angle]), closed)
    assert np.abs(closed.residual(log.q.values)).max() < 1e-9
    assert np.abs(np.diff(log.q.values, axis=0)).max() < 0.05
    assert np.abs(closed.velocity_residual(log.q.values, log.qd.values)).max() < 1e-6
    run = dl.torques_along(closed, log)
    assert np.abs(run.tau.values[:, 1:]).max() == 0.0
    # what the crank puts in is what the links take up
    energy = closed.kinetic_energy(log.q.values, log.qd.values)
    energy = energy + closed.potential_energy(log.q.values)
    power = run.power.values[:, 0]
    work = np.append(0.0, np.cumsum(np.diff(T) * (power[1:] + power[:-1]) / 2))
    np.testing.assert_allclose(work, energy - energy[0], atol=2e-3 * np.ptp(energy))
    whole = dl.read_log(write("time," + ",".join(closed.coordinates), [T, log.q.values]), closed)
    np.testing.assert_allclose(whole.q, log.q)
    torn = log.q.values.copy()
    torn[7, 1] += 0.5
    with pytest.raises(TrajectoryError, match=r"line 9: this posture misses the constraints"):
        dl.read_log(write("time," + ",".join(closed.coordinates), [T, torn]), closed)


def test_a_platform_is_completed_from_its_legs(write):
    """Six lengths say where a Stewart platform is, quaternion and all; its legs drive it."""
    platform = dl.load("stewart_platform")
    legs = [f"leg{k}" for k in range(6)]
    start = platform.neutral()[[platform.coordinates.index(leg) for leg in legs]]
    t = T[::4]
    lengths = start + 0.02 * np.sin(2.0 * t)[:, None] * [1.0, 0.5, -0.3, 0.8, -0.6, 0.2]
    log = dl.read_log(write("time," + ",".join(legs), [t, lengths]), platform)
    assert np.abs(platform.residual(log.q.values)).max() < 1e-9
    assert log.attrs["driven"] == ", ".join(legs)


def test_bodies_whose_velocities_have_other_names_are_read_too(write):
    """Bars in absolute coordinates: x, y, phi and vx, vy, omega."""
    bars = dl.load("two_bars").compiled
    rest = np.tile(bars.neutral(), (len(T), 1))
    log = dl.read_log(write("time," + ",".join(bars.coordinates), [T, rest]), bars)
    still = np.zeros(bars.nv)
    tau, _ = bars.inverse_dynamics(bars.neutral(), still, still)
    np.testing.assert_allclose(dl.torques_along(bars, log).tau.values[5], tau, atol=1e-9)


def test_an_open_chain_is_driven_at_every_joint(arm, write):
    log = dl.read_log(write("time,link1_joint,link2_joint", [T, SWING]), arm)
    with pytest.raises(TrajectoryError, match="open chain"):
        dl.torques_along(arm, log, actuators=[NAMES[0]])
    with pytest.raises(UnknownNameError, match="no joint 'elbow' to drive"):
        dl.torques_along(arm, log, actuators=["elbow"])
