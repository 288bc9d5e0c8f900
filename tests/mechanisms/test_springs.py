"""Springs and dampers everywhere: against closed forms, and the same in a robot and its loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as dl
from dalembert import PlanarMechanism, SpatialMechanism
from dalembert.constraints import Constrained
from dalembert.errors import DalembertError, ModelError
from dalembert.mechanisms.state import State
from dalembert.zoo.absolute import four_bar, two_bars
from tests.mechanisms.robots_in_space import absolute_state


def state_of(mechanism: Any, seed: int = 3) -> State:
    rng = np.random.default_rng(seed)
    q, _ = mechanism.start()
    return mechanism.forward_dynamics(
        q, mechanism._solver.velocity(0.4, q, rng.normal(size=mechanism.nv)), t=0.4
    )


def same_in_the_robot(mechanism: Any) -> Any:
    """q̈ of the mechanism is q̈ of the robot with its springs."""
    state, converted = state_of(mechanism), mechanism.to_robot()
    q, qd, qdd = converted.coordinates(state)
    system = converted.system()
    acceleration = system.dynamics.bound().motion(state.t, q, qd, np.zeros(system.nv))[0]
    np.testing.assert_allclose(acceleration, qdd, atol=1e-8 * max(1.0, np.abs(qdd).max()))
    return system


def test_planar_springs_dampers_and_loads_go_into_the_robot() -> None:
    mechanism = (
        two_bars()
        .assemble([0.3, 0.4, 0.9, 0.8, 1.0, 1.2])
        .spring("torsion", "B", stiffness=3.0, free=0.2, damping=0.4)
        .spring("rope", between=("ground", "bar3.C"), stiffness=7.0, free=0.5, damping=0.3)
        .spring("to_the_world", "bar3.phi", stiffness=2.0)
        .damper("oil", "A", damping=0.5)
        .force("push", "bar3.C", (1.0, 2.0), 0.3, follows=True)
        .force("hang", "bar2.B", (0.0, -2.0))
        .actuator("pulse", "B", value=lambda t: 2.0 + np.sin(t))
    )
    system = same_in_the_robot(mechanism)
    # U of the robot is that of the mechanism
    converted, state = mechanism.to_robot(), state_of(mechanism)
    q, qd, _ = converted.coordinates(state)
    assert abs(system.potential_energy(q) - mechanism.description.potential_energy(state.q)) < 1e-12
    assert abs(system.kinetic_energy(q, qd) - state.kinetic_energy()) < 1e-12


def test_springs_of_a_closed_chain_go_into_the_robot() -> None:
    mechanism = (
        four_bar(start=0.5)
        .spring("cut", "C", stiffness=4.0, free=-0.3, damping=0.2)
        .spring("tie", between=("crank.B", "ground.D"), stiffness=9.0, free=0.1, damping=0.6)
    )
    assert isinstance(same_in_the_robot(mechanism), Constrained)


def test_spatial_springs_of_every_kind_go_into_the_robot() -> None:
    cross = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)
    mechanism = (
        SpatialMechanism("springs")
        .body("a", 1.3, (0.05, 0.1, 0.12), at=(0.3, 0.1, 0.0))
        .body("b", 0.7, (0.03, 0.06, 0.05), at=(0.9, 0.4, -0.3))
        .body("c", 0.5, (0.02, 0.02, 0.03), at=(1.2, 0.4, -0.3), rotation=(0.1, 0.0, 0.0, 1.0))
        .cylindrical("tube", "ground", "a", at=(0.0, 0.0, 0.0), axis=(0.2, 1.0, 0.1))
        .universal("cross", "a", "b", cross, at=(0.6, 0.2, 0.0))
        .planar("table", "b", "c", at=(1.0, 0.4, -0.3), normal=(0.0, 0.3, 1.0))
        .spring("turn", "tube", stiffness=2.0, free=0.1, damping=0.1)
        .spring("slide", "tube.slide", stiffness=30.0, free=0.05, damping=0.7)
        .spring("first", "cross.first", stiffness=1.5, damping=0.2)
        .spring("second", "cross.second", stiffness=2.5, free=1.4)
        .spring("x", "table.x", stiffness=20.0, damping=0.1)
        .damper("spin", "table", damping=0.05)
        .spring("rope", between=("ground", ("c", (0.1, 0.0, 0.0))), stiffness=11.0, free=0.4)
        .force("push", ("c", (0.0, 0.1, 0.0)), (1.0, 2.0, 3.0), (0.1, 0.2, 0.3), follows=True)
        .force("hang", "b", (1.0, 0.0, -3.0), (0.0, 0.1, 0.0))
    )
    same_in_the_robot(mechanism)


def test_actuators_are_columns_of_torques() -> None:
    mechanism = two_bars().assemble([0.3, 0.4, 0.9, 0.8, 1.0, 1.2])
    mechanism.actuator("motor", "A").actuator("cylinder", between=("ground", "bar3"))
    q, _ = mechanism.start()
    pushed = mechanism.forward_dynamics(q, np.zeros(6), torques={"motor": 2.0, "cylinder": -5.0})
    converted = mechanism.to_robot()
    x, xd, xdd = converted.coordinates(pushed)
    tau = converted.actuation(x) @ [2.0, -5.0]
    np.testing.assert_allclose(converted.robot.forward_dynamics(x, xd, tau), xdd, atol=1e-10)


def test_a_simulated_robot_with_springs_is_the_mechanism() -> None:
    mechanism = two_bars().spring("k", "B", stiffness=20.0, damping=0.3)
    mechanism.spring("rope", between=("ground", "bar3.C"), stiffness=15.0, free=1.0, damping=0.5)
    converted = mechanism.to_robot()
    q0, qd0 = converted.start()
    run = dl.simulate(converted.system(), q0, qd0, duration=0.5, dt=0.1, rtol=1e-10, atol=1e-11)
    own = mechanism.simulate(0.5, 0.1, rtol=1e-10, atol=1e-11)
    for state, q in zip(mechanism.states(own), run.q.values, strict=True):
        np.testing.assert_allclose(converted.coordinates(state)[0], q, atol=1e-8)


def test_a_spring_pendulum_is_that_of_scipy() -> None:
    """A point of 1 kg on a spring to the origin: r̈ = r φ̇² + g cos − k(r − l), with damping."""
    mechanism = (
        SpatialMechanism("spring")
        .body("bob", 1.0, (1.0, 1.0, 1.0), at=(0.9, 0.0, 0.0))
        .spring("rope", between=("ground", "bob"), stiffness=40.0, free=0.8, damping=0.6)
    )

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        r = np.linalg.norm(y[:3])
        u = y[:3] / r
        pull = -40.0 * (r - 0.8) - 0.6 * (u @ y[3:])
        return np.concatenate([y[3:], pull * u + [0.0, 0.0, -9.81]])

    exact = solve_ivp(rates, (0, 1), [0.9, 0, 0, 0, 0, 0], rtol=1e-11, atol=1e-12).y[:3, -1]
    run = mechanism.simulate(1.0, 0.5, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(run.q.values[-1, :3], exact, atol=1e-8)


def test_springs_hold_mechanism_and_robot_at_the_same_rest() -> None:
    mechanism = two_bars().spring("a", "A", stiffness=100.0).spring("b", "B", stiffness=50.0)
    converted = mechanism.to_robot()
    own = dl.equilibrium(mechanism, mechanism.neutral()).q
    turned = dl.equilibrium(converted.system(), converted.start()[0]).q
    np.testing.assert_allclose(own[[2, 5]], np.cumsum(turned), atol=1e-9)
    # by hand: k θ = the moment of the weights
    first, second = np.cumsum(turned)
    outer = 9.81 * 0.4 * np.cos(second)
    assert abs(50.0 * turned[1] + outer) < 1e-7
    assert abs(100.0 * turned[0] + 9.81 * (2.0 * 0.5 + 1.0) * np.cos(first) + outer) < 1e-7


def test_viscous_friction_of_a_robot_becomes_dampers() -> None:
    rod = {"mass": 1.2, "com": [0.3, 0.0, 0.1], "inertia": np.diag([0.02, 0.05, 0.04])}
    turn = {"type": "revolute", "axis": [0.0, 0.6, 0.8], "viscous": 0.7}
    slide = {"type": "prismatic", "axis": [1.0, 0.0, 0.0], "viscous": 2.5}
    robot = dl.Robot.from_links(
        [
            {"name": "a", "joint": {**turn, "name": "turn"}, **rod},
            {"name": "b", "parent": "a", "joint": {**slide, "name": "slide"}, **rod},
        ]
    )
    q, qd = np.array([0.4, 0.2]), np.array([1.1, -0.7])
    mechanism = SpatialMechanism.from_robot(robot, q)
    state = mechanism.forward_dynamics(*absolute_state(robot, q, qd))
    back = mechanism.to_robot()
    np.testing.assert_allclose(
        back.coordinates(state)[2], robot.forward_dynamics(q, qd, np.zeros(2)), atol=1e-10
    )
    ball = {"name": "ball", "joint": {"type": "spherical", "viscous": 0.1}, **rod}
    with pytest.raises(ModelError, match="viscous friction of a spherical joint"):
        SpatialMechanism.from_robot(dl.Robot.from_links([ball]))


# points that coincide


def ball(space: type, **numbers: float) -> Any:
    """A body at the origin on a spring to the origin."""
    inertia = 1.0 if space is PlanarMechanism else (1.0, 1.0, 1.0)
    mechanism = space("ball").body("ball", 1.0, inertia)
    return mechanism.spring("k", between=("ground", "ball"), **numbers)


@pytest.mark.parametrize("space", [PlanarMechanism, SpatialMechanism])
def test_a_spring_without_free_length_has_its_limit_where_it_has_no_length(space: type) -> None:
    """−k d is zero at d = 0: the body falls as if there were none, then swings about −m g/k."""
    mechanism = ball(space, stiffness=9.81 * 10.0)
    last = mechanism.description.space.dimension - 1
    assert abs(mechanism.forward_dynamics().a[last] + 9.81) < 1e-12
    run = mechanism.simulate(1.0, 0.25, rtol=1e-10, atol=1e-12)
    exact = 0.1 * (np.cos(np.sqrt(98.1) * run.time.values) - 1.0)
    np.testing.assert_allclose(run.q.values[:, last], exact, atol=1e-8)
    # the same as one kernel
    a = mechanism.system.forward_dynamics(
        mechanism.neutral(), np.zeros(mechanism.nv), np.zeros(mechanism.nv)
    )
    assert abs(a[last] + 9.81) < 1e-12


@pytest.mark.parametrize("space", [PlanarMechanism, SpatialMechanism])
@pytest.mark.parametrize("numbers", [{"stiffness": 5.0, "free": 0.3}, {"damping": 2.0}])
def test_a_spring_that_has_no_direction_is_refused(space: type, numbers: dict[str, float]) -> None:
    mechanism = ball(space, **numbers)
    with pytest.raises(DalembertError, match=r"'k': its two points coincide"):
        mechanism.forward_dynamics()


@pytest.mark.parametrize("space", [PlanarMechanism, SpatialMechanism])
def test_a_rod_or_a_driven_distance_without_length_is_refused(space: type) -> None:
    inertia = 1.0 if space is PlanarMechanism else (1.0, 1.0, 1.0)
    with pytest.raises(ModelError, match="positive length"):
        space("rod").body("ball", 1.0, inertia).distance("rod", "ground", "ball")
    led = space("led").body("ball", 1.0, inertia)
    led.drive("lead", between=("ground", "ball"), motion=lambda t: 0.5 + t)
    with pytest.raises(DalembertError, match=r"'lead' leads two points that coincide"):
        led.forward_dynamics()
