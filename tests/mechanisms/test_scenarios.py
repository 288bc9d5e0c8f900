"""The five scenarios of the DAE notes: three routes, one answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dalembert.errors import (
    ConstraintError,
    ImportFileError,
    ModelError,
    ParameterError,
    UnknownNameError,
)
from dalembert.zoo.two_bar import SCENARIOS, TOOL_END, TOOL_START, read_scenario, relative, scenario


@pytest.mark.parametrize("name", SCENARIOS)
def test_dae_newtonian_and_lagrangian_agree(name: str) -> None:
    case = SCENARIOS[name]()
    states = case.states(np.linspace(0.02, case.duration, 100))
    dae, newtonian, lagrangian = (
        np.array([route(state).array for state in states])
        for route in (case.dae, case.newtonian, case.lagrangian)
    )
    assert np.abs(dae).max() > 10.0
    np.testing.assert_allclose(dae, newtonian, atol=1e-10, rtol=0)
    np.testing.assert_allclose(dae, lagrangian, atol=1e-10, rtol=0)


def test_forces_are_those_on_the_named_body() -> None:
    state = scenario("joint_interpolated").mechanism.inverse_dynamics(0.7)
    weight = np.array([0.0, -9.81])
    # Σ F = m a of each bar, with what acts ON it
    at_B = state.force("B", on="bar3")
    np.testing.assert_allclose(at_B + 1.0 * weight, 1.0 * state.a[3:5], atol=1e-12)
    total = state.force("A", on="bar2") + state.force("B", on="bar2") + 2.0 * weight
    np.testing.assert_allclose(total, 2.0 * state.a[0:2], atol=1e-12)
    np.testing.assert_allclose(state.force("B", on="bar2"), -at_B, atol=1e-13)
    # λ of the printed system is minus the labelled forces
    np.testing.assert_allclose(state.multipliers[2:4], -at_B, atol=1e-13)


def test_effective_tool_force_becomes_torques_as_on_page_6() -> None:
    case = scenario("straight_line")
    for t in (0.1, 0.9, 1.7):
        state = case.mechanism.inverse_dynamics(t)
        position = np.array(TOOL_START) + (np.array(TOOL_END) - TOOL_START) * t / 2.0
        np.testing.assert_allclose(state.point("bar3.C"), position, atol=1e-12)
        phi, theta = relative(state.q)
        r2, r3 = 1.0, 0.8
        J = np.array(
            [
                [-r2 * np.sin(phi) - r3 * np.sin(phi + theta), -r3 * np.sin(phi + theta)],
                [r2 * np.cos(phi) + r3 * np.cos(phi + theta), r3 * np.cos(phi + theta)],
            ]
        )
        printed = state.multipliers[4:6]  # F_EFF of the printed system, minus the force on bar 3
        np.testing.assert_allclose(state.effort("tool"), -printed)
        torques = state.equivalent_torques(["A", "B"])
        np.testing.assert_allclose(torques, -J.T @ printed, atol=1e-11)
        np.testing.assert_allclose(torques, case.lagrangian(state).array[:2], atol=1e-11)


def test_straight_line_driver_needs_its_gamma() -> None:
    """γ = A₃ s₃^C φ̇₃², not 0 as printed: C does not accelerate."""
    state = scenario("straight_line").mechanism.inverse_dynamics(1.0)
    s = state.point("bar3.C") - state.body("bar3")[:2]
    a = state.a[3:5] + state.a[5] * np.array([-s[1], s[0]]) - state.v[5] ** 2 * s
    np.testing.assert_allclose(a, 0.0, atol=1e-11)
    assert state.v[5] ** 2 * np.linalg.norm(s) > 1e-3


def test_computed_torque_tracks() -> None:
    case = SCENARIOS["computed_torque"]()
    last = case.states(np.linspace(0.02, 2.0, 3))[-1]
    expected = np.array([0.4, 0.9]) + 0.5 * np.sin(4.0)
    # critically damped at 6 rad/s from errors (0.4, 0.9): below 1e-3 after 2 s
    assert np.abs(relative(last.q) - expected).max() < 1e-3


@pytest.mark.parametrize("name", ["double_pendulum", "proximal_driven", "joint_interpolated"])
def test_states_are_at_the_times_that_were_asked_for(name: str) -> None:
    """In any order, twice, at no common interval, and at the start."""
    case = scenario(name)
    times = [0.17, 0.4, 0.05, 0.0, 0.4, 0.123]
    states = case.states(times)
    np.testing.assert_allclose([state.t for state in states], times, rtol=1e-15)
    even = dict(zip((0.05, 0.1, 0.4), case.states((0.05, 0.1, 0.4)), strict=True))
    for k in (1, 2, 4):
        same = even[times[k]]
        np.testing.assert_allclose(states[k].q, same.q, atol=1e-11)
        np.testing.assert_allclose(case.dae(states[k]).array, case.dae(same).array, atol=1e-9)
    np.testing.assert_array_equal(states[3].q, case.first().q)
    assert case.states([]) == []


def test_times_that_have_no_state_are_refused() -> None:
    case = scenario("double_pendulum")
    for times in ([0.1, np.nan], [np.inf], [[0.1]], 0.1):
        with pytest.raises(ParameterError, match="finite times"):
            case.states(times)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"times from 0 on, got -0\.1"):
        case.states([0.2, -0.1])


def test_unknown_scenario_suggests() -> None:
    with pytest.raises(UnknownNameError, match="straight_line"):
        scenario("straight")


OWN: dict[str, Any] = {
    "lengths": (0.7, 1.1),
    "masses": (1.4, 2.3),
    "centroids": (0.3, 0.6),
    "inertias": (0.08, 0.31),
    "g": 3.7,
}
NUMBERS: dict[str, dict[str, Any]] = {
    "joint_interpolated": {"phi_start": (0.2, 0.7), "phi_end": (-0.5, 1.6), "delta_t": 1.25},
    "straight_line": {"tool_start": (1.5, 0.2), "tool_end": (0.4, 1.2), "delta_t": 1.25},
    "double_pendulum": {"phi_start": (0.3, -0.8), "delta_t": 0.5},
    "proximal_driven": {"phi_center": 0.4, "delta": 0.3, "frequency": 1.1, "delta_t": 0.5},
    "computed_torque": {"phi_start": (0.1, 0.2), "phi_end": (0.9, -0.4), "delta_t": 0.5},
}


def printed(q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """T₂ and T₃ of p.1 with J_A, J_B, C, D, G₂, G₃ as they stand there, in OWN's numbers."""
    (d2, _), (m2, m3), (a2, a3) = OWN["lengths"], OWN["masses"], OWN["centroids"]
    (J2, J3), g = OWN["inertias"], OWN["g"]
    c3, s3 = np.cos(q[1]), np.sin(q[1])
    J_B = m3 * a3**2 + J3
    J_A = J_B + m2 * a2**2 + m3 * d2**2 + J2 + 2 * m3 * d2 * a3 * c3
    C, D = J_B + m3 * d2 * a3 * c3, m3 * d2 * a3 * s3
    G2, G3 = (m2 * a2 + m3 * d2) * g * np.cos(q[0]), m3 * a3 * g * np.cos(q[0] + q[1])
    inertia = np.array([[J_A, C], [C, J_B]]) @ qdd
    whirl = np.array([-D * qd[1] ** 2 - 2 * D * qd[0] * qd[1], D * qd[0] ** 2])
    return inertia + whirl + np.array([G2 + G3, G3])


@pytest.mark.parametrize("name", SCENARIOS)
def test_own_numbers_give_the_torques_of_the_printed_equations(name: str) -> None:
    case = scenario(name, **OWN, **NUMBERS[name])
    assert case.duration == NUMBERS[name]["delta_t"]
    for state in case.states([0.25, 0.5]):
        expected = printed(relative(state.q), relative(state.v), relative(state.a))
        np.testing.assert_allclose(case.dae(state).array[:2], expected, atol=1e-9)
        np.testing.assert_allclose(case.dae(state).array, case.newtonian(state).array, atol=1e-9)
        np.testing.assert_allclose(case.dae(state).array, case.lagrangian(state).array, atol=1e-9)


def test_scenarios_start_and_end_where_told() -> None:
    numbers = NUMBERS["joint_interpolated"]
    arm = scenario("joint_interpolated", **OWN, **numbers).mechanism
    np.testing.assert_allclose(relative(arm.kinematics(0.0).q), numbers["phi_start"], atol=1e-12)
    np.testing.assert_allclose(relative(arm.kinematics(1.25).q), numbers["phi_end"], atol=1e-12)
    speed = (np.array(numbers["phi_end"]) - numbers["phi_start"]) / 1.25
    np.testing.assert_allclose(relative(arm.kinematics(0.4).v), speed, atol=1e-12)
    line = scenario("straight_line", **OWN, phi_start=(0.2, 0.7), phi_end=(0.9, 0.8)).mechanism
    r2, r3 = OWN["lengths"]
    for t, (phi, theta) in ((0.0, (0.2, 0.7)), (2.0, (0.9, 0.8))):
        position = [
            r2 * np.cos(phi) + r3 * np.cos(phi + theta),
            r2 * np.sin(phi) + r3 * np.sin(phi + theta),
        ]
        np.testing.assert_allclose(line.kinematics(t).point("bar3.C"), position, atol=1e-11)
    moved = scenario("computed_torque", **OWN, **NUMBERS["computed_torque"]).states([0.5])[-1]
    np.testing.assert_allclose(relative(moved.q), (0.9, -0.4), atol=1e-8)


def test_a_scenario_file_is_the_same_call(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(
        "scenario = 'joint_interpolated'\nlengths = [0.7, 1.1]\nmasses = [1.4, 2.3]\n"
        "phi_start = [0.2, 0.7]\nphi_end = [-0.5, 1.6]\ndelta_t = 1.25\n"
    )
    expected = scenario(
        "joint_interpolated", lengths=(0.7, 1.1), masses=(1.4, 2.3), **NUMBERS["joint_interpolated"]
    )
    stored = read_scenario(path)
    for t in (0.0, 0.6):
        a, b = (case.mechanism.inverse_dynamics(t).multipliers for case in (stored, expected))
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("lengths = [0.7]", "line 2: lengths must be 2 finite numbers"),
        ("masses = [1.0, -2.0]", "line 2: masses must be positive"),
        ("delta_t = 'long'", "line 2: delta_t must be one finite number, not 'long'"),
        ("phi_stop = [0.0, 1.0]", "line 2: .*no 'phi_stop'; did you mean 'phi_start'"),
        ("frequency = 2.0", "line 2: scenario 'joint_interpolated' has no 'frequency'"),
    ],
)
def test_bad_numbers_of_a_file_are_named_with_their_line(line: str, message: str) -> None:
    with pytest.raises(ImportFileError, match=message):
        read_scenario(f"scenario = 'joint_interpolated'\n{line}\n")


def test_whole_numbers_beyond_64_bits_are_numbers() -> None:
    assert scenario("straight_line", delta_t=10**25).mechanism is not None
    with pytest.raises(ModelError, match="delta_t must be one finite number, not 1000"):
        scenario("straight_line", delta_t=10**400)


def test_numbers_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ConstraintError, match=r"reach from 0\.2 to 1\.8 m"):
        scenario("straight_line", tool_start=(2.0, 0.0))
    with pytest.raises(ParameterError, match="not both"):
        scenario("straight_line", tool_start=(1.0, 0.0), phi_start=(0.0, 1.0))
    with pytest.raises(ModelError, match="delta_t must be positive, not 0"):
        scenario("double_pendulum", delta_t=0.0)


@pytest.mark.parametrize("name", SCENARIOS)
def test_no_times_give_no_states(name: str) -> None:
    assert scenario(name).states([]) == []
