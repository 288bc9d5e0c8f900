"""Mechanisms and robots with loops describe the same machine."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dalembert import PlanarMechanism, SpatialMechanism
from dalembert.constraints import Constrained, Driver, Loop
from dalembert.mechanisms import Sine
from dalembert.mechanisms.state import State
from dalembert.mechanisms.to_robot import Converted, robot_with_loops
from dalembert.zoo.absolute import double_four_bar, four_bar, slider_crank, two_bars
from tests.constraints.states import ROUTES


def moving(mechanism: PlanarMechanism, seed: int) -> State:
    """The mechanism in its first posture with a random velocity that its joints allow."""
    rng = np.random.default_rng(seed)
    q, _ = mechanism.start()
    v = mechanism._solver.velocity(0.0, q, rng.normal(size=mechanism.nv))
    return mechanism.forward_dynamics(q, v)


def accelerations(mechanism: Converted, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    system = mechanism.system()
    result = system.forward_dynamics(q, qd, np.zeros(len(q)))
    return result[0] if isinstance(system, Constrained) else result


@pytest.mark.parametrize("build", [two_bars, four_bar, slider_crank])
def test_accelerations_agree(build: Callable[[], PlanarMechanism]) -> None:
    mechanism = build()
    state = moving(mechanism, 3)
    converted = robot_with_loops(mechanism)
    q, qd, qdd = converted.coordinates(state)
    np.testing.assert_allclose(accelerations(converted, q, qd), qdd, atol=1e-10 * np.abs(qdd).max())


def test_loop_forces_agree() -> None:
    """λ of the cut pin is the force that the other description finds there."""
    mechanism = four_bar(start=0.6)
    state = moving(mechanism, 4)
    converted = robot_with_loops(mechanism)
    system = converted.system()
    assert isinstance(system, Constrained)
    assert [loop.label for loop in converted.loops] == ["C"]
    q, qd, _ = converted.coordinates(state)
    _, lam = system.forward_dynamics(q, qd, np.zeros(3))
    # rows stand along the axes of the first body; b receives −λ
    R = state.rotation("coupler")
    np.testing.assert_allclose(R @ -np.ravel(lam), state.force("C", on="rocker"), atol=1e-9)


def test_rows_of_the_tree_and_the_loops() -> None:
    converted = robot_with_loops(double_four_bar())
    assert converted.robot.nv == 5
    assert len(converted.loops) == 2


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_of_the_constraint_layer_finds_the_same_multipliers(route: str) -> None:
    mechanism = four_bar(start=0.5)
    state = moving(mechanism, 5)
    a, lam = mechanism.constrained().forward_dynamics(
        state.q, state.v, np.zeros(9), formulation=route
    )
    np.testing.assert_allclose(a, state.a, atol=1e-10)
    np.testing.assert_allclose(lam, state.multipliers, atol=1e-10)


def test_drivers_in_the_constraint_layer() -> None:
    mechanism = slider_crank().drive("M", "A", Sine(np.pi / 3, 0.3, 2.0))
    q, v = mechanism.start()
    state = mechanism.forward_dynamics(q, v)
    a, lam = mechanism.constrained().forward_dynamics(q, v, np.zeros(9), t=0.0)
    np.testing.assert_allclose(a, state.a, atol=1e-9)
    np.testing.assert_allclose(lam, state.multipliers, atol=1e-9)


def test_spatial_bodies_in_the_constraint_layer() -> None:
    mechanism = (
        SpatialMechanism("pendulum")
        .body("a", 1.0, (0.02, 0.1, 0.11), at=(0.5, 0.0, 0.0))
        .body("b", 0.7, (0.03, 0.1, 0.12), at=(1.4, 0.1, 0.0))
        .revolute("A", "ground", "a", at=(0.0, 0.0, 0.0), axis=(0.0, 1.0, 0.0))
        .spherical("B", "a", "b", at=(1.0, 0.0, 0.0))
    )
    q, _ = mechanism.start()
    rng = np.random.default_rng(2)
    v = mechanism._solver.velocity(0.0, q, rng.normal(size=12))
    state = mechanism.forward_dynamics(q, v)
    a, lam = mechanism.constrained().forward_dynamics(q, v, np.zeros(12))
    np.testing.assert_allclose(lam, state.multipliers, atol=1e-9)
    np.testing.assert_allclose(a, state.a, atol=1e-9)


def test_springs_and_loads_go_along_into_the_constraint_layer() -> None:
    mechanism = (
        two_bars()
        .spring("k", "A", stiffness=3.0, free=0.1, damping=0.2)
        .force("F", "bar3.C", (1.0, 2.0), 0.3, follows=True)
        .actuator("t", "B", value=lambda t: 2.0 + np.sin(t))
    )
    q, _ = mechanism.start()
    v = mechanism._solver.velocity(0.0, q, np.arange(6.0))
    state = mechanism.forward_dynamics(q, v, t=0.7)
    a, lam = mechanism.constrained().forward_dynamics(q, v, np.zeros(6), t=0.7)
    np.testing.assert_allclose(a, state.a, atol=1e-11)
    np.testing.assert_allclose(lam, state.multipliers, atol=1e-11)


def test_a_mechanism_takes_further_constraints() -> None:
    mechanism = four_bar(start=0.5)
    more = [Driver(lambda q, t: q[2:3] - 0.5 - t, name="crank")]
    q, _ = mechanism.start()
    driven = mechanism.drive("crank", "crank.phi", lambda t: 0.5 + t)
    v = driven._solver.velocity(0.0, q, np.zeros(9))
    expected = driven.forward_dynamics(q, v)
    bare = four_bar(start=0.5)
    for closed in (Constrained(bare, more), Constrained(bare.constrained(), more)):
        a, lam = closed.forward_dynamics(q, v, np.zeros(9), t=0.0)
        np.testing.assert_allclose(a, expected.a, atol=1e-10)
        np.testing.assert_allclose(lam, expected.multipliers, atol=1e-10)


def test_bodies_have_frames() -> None:
    """A pin given as a `Loop` between the frames of two bodies is the pin of the mechanism."""
    q, _ = two_bars().start()
    state = two_bars().forward_dynamics()
    bars = two_bars()
    pose = np.eye(4)
    first, second = pose.copy(), pose.copy()
    first[0, 3], second[0, 3] = 0.5, -0.4
    loop = Loop("bar2", "bar3", ("x", "y"), first, second, name="B")
    free = (
        PlanarMechanism("bars")
        .body("bar2", 2.0, 1 / 6, at=(0.5, 0.0))
        .body("bar3", 1.0, 0.16 / 3, at=(1.4, 0.0))
    )
    free.revolute("A", "ground", ("bar2", (-0.5, 0.0)))
    a, _ = Constrained(free, [loop]).forward_dynamics(q, np.zeros(6), np.zeros(6))
    np.testing.assert_allclose(a, state.a, atol=1e-10)
    J = bars.system.dynamics.frame_jacobian(q, "bar3", "spatial")
    assert J.shape == (6, 6)
