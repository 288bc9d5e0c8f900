"""The five scenarios of the DAE notes: three routes, one answer."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.errors import UnknownNameError
from dalembert.zoo.two_bar_scenarios import (
    SCENARIOS,
    TOOL_END,
    TOOL_START,
    relative,
    scenario,
)


@pytest.mark.parametrize("name", SCENARIOS)
def test_dae_newtonian_and_lagrangian_agree(name: str) -> None:
    made = scenario(name)
    states = made.states(np.linspace(0.02, made.duration, 100))
    dae, newtonian, lagrangian = (
        np.array([route(state).array for state in states])
        for route in (made.dae, made.newtonian, made.lagrangian)
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
    made = scenario("straight_line")
    for t in (0.1, 0.9, 1.7):
        state = made.mechanism.inverse_dynamics(t)
        place = np.array(TOOL_START) + (np.array(TOOL_END) - TOOL_START) * t / 2.0
        np.testing.assert_allclose(state.point("bar3.C"), place, atol=1e-12)
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
        np.testing.assert_allclose(torques, made.lagrangian(state).array[:2], atol=1e-11)


def test_straight_line_driver_needs_its_gamma() -> None:
    """γ = A₃ s₃^C φ̇₃², not 0 as printed: C does not accelerate."""
    state = scenario("straight_line").mechanism.inverse_dynamics(1.0)
    s = state.point("bar3.C") - state.body("bar3")[:2]
    a = state.a[3:5] + state.a[5] * np.array([-s[1], s[0]]) - state.v[5] ** 2 * s
    np.testing.assert_allclose(a, 0.0, atol=1e-11)
    assert state.v[5] ** 2 * np.linalg.norm(s) > 1e-3


def test_computed_torque_tracks() -> None:
    made = scenario("computed_torque")
    last = made.states(np.linspace(0.02, 2.0, 3))[-1]
    wanted = np.array([0.4, 0.9]) + 0.5 * np.sin(4.0)
    # critically damped at 6 rad/s from errors (0.4, 0.9): below 1e-3 after 2 s
    assert np.abs(relative(last.q) - wanted).max() < 1e-3


def test_unknown_scenario_suggests() -> None:
    with pytest.raises(UnknownNameError, match="straight_line"):
        scenario("straight")
