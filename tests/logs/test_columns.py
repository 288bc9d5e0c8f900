"""Columns of logs by number, pattern and unit, in the styles of real loggers; and what is refused."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import SettingError, TrajectoryError, UnknownNameError
from dalembert.logs.units import Units

T = np.linspace(0.0, 2.0, 101)
Q = 0.3 * np.sin(np.outer(T, np.arange(1, 8)) + np.arange(7))
TAU = np.cos(np.outer(T, np.arange(1, 8))) + np.arange(7)


@pytest.fixture(scope="module")
def panda():
    return dl.load("panda")


def table(q, tau, first=0, time="time", **more):
    """Columns of two styles, with numbers in the place of {}."""
    columns = {time: T}
    columns |= {q.replace("{}", str(first + k)): Q[:, k] for k in range(7)}
    columns |= {tau.replace("{}", str(first + k)): TAU[:, k] for k in range(7)}
    return columns | more


STYLES = [
    ("q{}", "tau{}"),
    ("q_{}", "tau_J_{}"),
    ("q[{}]", "tau[{}]"),
    ("position_{}", "effort_{}"),
    ("joint_{}_pos", "joint_{}_torque"),
    ("joint_{}", "joint_{}_effort"),
    ("panda_joint{}.position", "panda_joint{}.effort"),
    ("/joint_states/position[{}]", "/joint_states/effort[{}]"),
    ("/joint_states/panda_joint{}/position", "/joint_states/panda_joint{}/effort"),
    ("field.position{}", "field.effort{}"),
    ("ur5_joint_{}_angle", "ur5_joint_{}_trq"),
    ("jointPosition{}", "measuredTorque{}"),
    ("A{}", "A{}_torque"),
    ("q{} [rad]", "tau{} [N m]"),
    ("Q {}", "Tau {}"),
]


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("style", STYLES, ids=[q for q, _ in STYLES])
def test_numbered_columns_are_the_joints_in_order(panda, style, first):
    """Counted from 0 or from 1, found without being told; the joints' own names are from 1."""
    first = 1 if "panda" in style[0] else first
    log = dl.read_log(table(*style, first=first), panda)
    np.testing.assert_array_equal(log.q, Q)
    np.testing.assert_array_equal(log.tau, TAU)
    assert log.attrs["recorded"] == "q, tau"


def test_names_of_joints_inside_longer_names_are_found():
    """/joint_states/shoulder_pan_joint/effort, as tools for bags of messages write it."""
    arm = dl.load("ur5")
    names = list(arm.dynamics.velocities)
    columns = {"t": T} | {f"/js/{n}/position": Q[:, k] for k, n in enumerate(names)}
    columns |= {f"/js/effort/{n}": TAU[:, k] for k, n in enumerate(names)}
    log = dl.read_log(dict(reversed(columns.items())), arm)
    np.testing.assert_array_equal(log.q, Q[:, :6])
    np.testing.assert_array_equal(log.tau, TAU[:, :6])


def test_commands_beside_measurements_are_not_taken(panda):
    """A log of a controller: desired values, external torques and temperatures are others."""
    columns = table("q_{}", "tau_J_{}", 1)
    for other in ("q_d_{}", "tau_J_d_{}", "tau_ext_hat_filtered_{}", "temp_{}", "dtau_J_{}"):
        columns |= {other.replace("{}", str(k)): 9.0 + T for k in range(1, 8)}
    columns |= {f"dq_{k}": np.gradient(Q[:, k - 1], T) for k in range(1, 8)}
    log = dl.read_log(columns, panda)
    np.testing.assert_array_equal(log.q, Q)
    np.testing.assert_array_equal(log.tau, TAU)
    assert log.attrs["recorded"] == "q, qd, tau"
    assert "35 columns ignored: q_d_1" in log.attrs["preparation"]
    with pytest.raises(TrajectoryError, match="column 'q_d_1' belongs to no joint"):
        dl.read_log(columns, panda, others="refuse")


def test_patterns_choose_columns(panda):
    """{} or * stands for the number or the joint; a list names them one by one."""
    columns = table("pos_{}", "load_{}", 1) | {f"angle_{k}": T for k in range(1, 8)}
    log = dl.read_log(columns, panda, columns={"q": "pos_*", "tau": "load_{}"})
    np.testing.assert_array_equal(log.q, Q)
    np.testing.assert_array_equal(log.tau, TAU)
    turned = [f"pos_{k}" for k in (2, 1, 3, 4, 5, 6, 7)]
    log = dl.read_log(columns, panda, columns={"q": turned, "tau": "load_{}"})
    np.testing.assert_array_equal(log.q[:, 0], Q[:, 1])
    joints = panda.dynamics.velocities
    named = {"clock": T} | {f"p<{j}>": Q[:, k] for k, j in enumerate(joints)}
    log = dl.read_log(named, panda, columns={"q": "p<{}>", "time": "clock"})
    np.testing.assert_array_equal(log.q, Q)


def test_what_may_be_read_in_two_ways_is_refused_with_both(panda):
    both = table("q_{}", "tau_{}") | {f"position_{k}": T for k in range(7)}
    with pytest.raises(TrajectoryError, match=r"'q_{}' and 'position_{}' may both be q"):
        dl.read_log(both, panda)
    more = table("q_{}", "tau_{}") | {"q_7": T}
    with pytest.raises(TrajectoryError, match="q_0 … q_6 or q_1 … q_7"):
        dl.read_log(more, panda)
    arms = table("left_q{}", "tau{}") | {f"right_q{k}": T for k in range(7)}
    with pytest.raises(TrajectoryError, match=r"'left_q{}' and 'right_q{}'"):
        dl.read_log(arms, panda)
    repeated = table("q{}", "tau{}", 1) | {"q01": T}
    with pytest.raises(TrajectoryError, match="'q1' and 'q01' say the same"):
        dl.read_log(repeated, panda)
    with pytest.raises(TrajectoryError, match="'stamp_a_t' and 'stamp_b_t' are both times"):
        dl.read_log(table("q{}", "tau{}", time="stamp_a_t") | {"stamp_b_t": T}, panda)


def test_numbers_of_joints_in_another_order_are_refused():
    """Joints that stand as axis2, axis1: column 1 may be the first one or axis1."""
    body = {"mass": 1.0, "inertia": np.eye(3)}
    links = [{"name": n, "joint": {"name": j}, **body} for n, j in (("a", "axis2"), ("b", "axis1"))]
    arm = dl.Robot.from_links(links)
    assert list(arm.dynamics.velocities) == ["axis2", "axis1"]
    with pytest.raises(TrajectoryError, match="first joint, 'axis2', or the one with that number"):
        dl.read_log({"t": T, "q1": T, "q2": T}, arm)
    log = dl.read_log({"t": T, "axis1": T, "axis2": 2 * T}, arm)
    np.testing.assert_array_equal(log.q[:, 0], 2 * T)


def test_numbers_beside_other_names_of_joints_are_refused(panda):
    """panda_joint0 … 6 where the robot has panda_joint1 … 7: names, and one of them wrong."""
    with pytest.raises(
        TrajectoryError, match=r"column 'panda_joint0.position' belongs to no joint"
    ):
        dl.read_log(table("panda_joint{}.position", "panda_joint{}.effort"), panda)


def test_what_a_pattern_does_not_fit_is_said(panda):
    columns = table("pos_{}", "tau_{}")
    with pytest.raises(
        TrajectoryError, match=r"columns\['q'\]: 'place_\*' fits 'nothing'; 7 columns"
    ):
        dl.read_log(columns, panda, columns={"q": "place_*"})
    with pytest.raises(TrajectoryError, match=r"no column is called 'x'; 7 different columns"):
        dl.read_log(columns, panda, columns={"q": ["x"]})
    with pytest.raises(UnknownNameError, match="no column 'nothing'"):
        dl.read_log(columns, panda, columns={"nothing": "q_1"})


def test_units_are_stated_for_a_quantity(panda):
    columns = table("q{}", "tau{}") | {f"qd{k}": np.full_like(T, 60.0) for k in range(7)}
    columns |= {f"q{k}": np.degrees(Q[:, k]) for k in range(7)} | {"time": 1e3 * T}
    units = {"q": "deg", "qd": "rpm", "tau": "mNm", "time": "ms"}
    log = dl.read_log(columns, panda, units=units)
    np.testing.assert_allclose(log.q, Q, atol=1e-15)
    np.testing.assert_allclose(log.qd, 2.0 * np.pi)
    np.testing.assert_allclose(log.tau, 1e-3 * TAU)
    np.testing.assert_allclose(log.time, T, atol=1e-15)
    counts = dl.read_log(columns, panda, units=units | {"q": 2.0 * np.pi / 4096})
    np.testing.assert_allclose(counts.q, np.degrees(Q) * 2.0 * np.pi / 4096)
    with pytest.raises(TrajectoryError, match=r"units\['tau'\]: unit 'mA' is none of Nm"):
        dl.read_log(columns, panda, units={"tau": "mA"})
    with pytest.raises(SettingError, match="no quantity 'torque'"):
        dl.read_log(columns, panda, units={"torque": "Nm"})
    with pytest.raises(SettingError, match=r"units\['q'\] is 0"):
        dl.read_log(columns, panda, units={"q": 0})


def test_motor_angles_and_currents_become_those_of_the_joints(panda):
    """q = θ/N, τ = N k i, for one gear, one per joint, and where only torques are the motors'."""
    gear, k = np.array([100, 100, 80, 80, 50, -50, 50.0]), 0.05
    columns = {"t": T} | {f"motor_pos_{j}": gear[j] * Q[:, j] for j in range(7)}
    columns |= {f"current_{j} [mA]": 1e3 * TAU[:, j] / (gear[j] * k) for j in range(7)}
    log = dl.read_log(columns, panda, gear=gear, torque_constant=k)
    np.testing.assert_allclose(log.q, Q, rtol=1e-12)
    np.testing.assert_allclose(log.tau, TAU, rtol=1e-12)
    assert "100, 100, 80, 80, 50, -50, 50" in log.attrs["preparation"]
    joints = columns | {f"motor_pos_{j}": Q[:, j] for j in range(7)}
    log = dl.read_log(joints, panda, gear=gear, torque_constant=k, motor=["tau"])
    np.testing.assert_array_equal(log.q, Q)
    np.testing.assert_allclose(log.tau, TAU, rtol=1e-12)
    with pytest.raises(TrajectoryError, match="are currents; give torque_constant="):
        dl.read_log(columns, panda)


def test_coupled_gears_keep_the_power():
    """θ = G q and τ = Gᵀ τ_m: θ̇ᵀ τ_m = q̇ᵀ τ."""
    arm, G = dl.load("planar_2r"), np.array([[100.0, 0.0], [-60.0, 60.0]])
    theta, tau = Q[:, :2] @ G.T, TAU[:, :2]
    log = dl.read_log({"t": T, "pos": theta, "torque": tau}, arm, gear=G)
    np.testing.assert_allclose(log.q, Q[:, :2], atol=1e-14)
    rates = log.qd.values @ G.T
    np.testing.assert_allclose((rates * tau).sum(1), (log.qd * log.tau).sum("joint"))


def test_gears_that_make_no_sense_are_refused(panda):
    columns = table("q{}", "tau{}")
    for wrong, message in (
        ({"gear": 0.0}, "numbers other than 0"),
        ({"gear": [1.0, 2.0]}, "one number, or 7"),
        ({"gear": np.ones((7, 7))}, "singular"),
        ({"gear": {"elbow": 2.0}}, "no joint 'elbow'"),
        ({"torque_constant": "much"}, "one number, or 7"),
        ({"motor": ["tau"]}, "give their gear="),
        ({"gear": 2.0, "motor": ["torque"]}, "no quantity 'torque'"),
    ):
        with pytest.raises(SettingError, match=message):
            dl.read_log(columns, panda, **wrong)


def test_times_have_the_names_and_ticks_of_loggers(panda):
    """header.stamp, time_ms; nanoseconds of a clock are known by their size."""
    for name, scale in (("/joint_states/header/stamp", 1.0), ("time_ms", 1e3), ("Time [us]", 1e6)):
        log = dl.read_log(table("q{}", "tau{}", time=name, **{name: scale * T}), panda)
        np.testing.assert_allclose(log.time, T, atol=1e-12)
    stamps = 1_700_000_000_000_000_000 + np.round(1e9 * T).astype(np.int64)
    log = dl.read_log(table("q{}", "tau{}") | {"time": stamps}, panda)
    np.testing.assert_allclose(log.time, T, atol=1e-6)
    assert log.attrs["start_time"] == 1.7e9 and "are ns of a clock" in log.attrs["preparation"]


def test_a_floating_base_has_no_torques():
    """Base by name, joints by number; what nobody drives is zero."""
    body = {"mass": 1.0, "inertia": np.eye(3)}
    links = [{"name": "base", "joint": {"type": "free"}, **body}]
    links += [{"name": n, "parent": "base", "joint": {"axis": [0, 0, 1]}, **body} for n in "ab"]
    robot = dl.Robot.from_links(links)
    pose = np.tile(robot.neutral()[:7], (len(T), 1))
    columns = {"t": T} | {f"base[{k}]": pose[:, k] for k in range(7)}
    columns |= {f"pos_{k}": Q[:, k - 1] for k in (1, 2)} | {
        f"tau_{k}": TAU[:, k - 1] for k in (1, 2)
    }
    log = dl.read_log(columns | {"battery": T}, robot)
    np.testing.assert_allclose(log.q[:, 7:], Q[:, :2], atol=1e-15)
    np.testing.assert_array_equal(log.tau[:, 6:], TAU[:, :2])
    assert not log.tau.values[:, :6].any()
    del columns["tau_2"]
    with pytest.raises(TrajectoryError, match=r"belongs to no joint|the torque of"):
        dl.read_log(columns, robot)


@pytest.mark.parametrize(
    ("unit", "rad"),
    [
        *(("rad", 1), ("deg", np.pi / 180), ("°", np.pi / 180), ("mrad", 1e-3)),
        *(("rev", 2 * np.pi), ("turn", 2 * np.pi), ("radians", 1), ("degrees", np.pi / 180)),
    ],
)
def test_units_of_angles(unit, rad):
    assert Units().factor("q", "angle", unit, "q1") == pytest.approx(rad, rel=1e-15)
    assert Units().factor("qd", "angle", unit + "/s", "v1") == pytest.approx(rad, rel=1e-15)


@pytest.mark.parametrize(
    ("quantity", "unit", "si"),
    [
        *(("q", "m", 1), ("q", "cm", 1e-2), ("q", "mm", 1e-3), ("tau", "N", 1), ("tau", "kN", 1e3)),
        *(("time", "ms", 1e-3), ("time", "µs", 1e-6), ("time", "us", 1e-6), ("time", "ns", 1e-9)),
    ],
)
def test_units_of_lengths_forces_and_times(quantity, unit, si):
    assert Units().factor(quantity, "length", unit, "x") == pytest.approx(si, rel=1e-15)
