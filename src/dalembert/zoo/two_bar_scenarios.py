"""The five scenarios of the DAE notes for the arm of two bars, each by three routes.

`dae` reads λ, `newtonian` solves the free-body distribution matrix of 004, p.2, and `lagrangian`
is the closed form of 004, p.1, through the robot `two_bar_arm`. Signs: forces ON the named body.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from dalembert.errors import UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.mechanisms import PlanarMechanism
from dalembert.mechanisms.motions import ConstantSpeed, Sine
from dalembert.mechanisms.newtonian import free_bodies
from dalembert.mechanisms.state import State
from dalembert.systems.robot import Robot
from dalembert.zoo import two_bar_arm
from dalembert.zoo.absolute import two_bars

START, END = np.array([0.4, 0.9]), np.array([1.5, -0.6])  # (φ₂, θ), rad
TOOL_START, TOOL_END = (1.45, 0.35), (0.35, 1.3)  # C, m
CENTRE, SWING, FREQUENCY = -np.pi / 3, 0.5, 0.8
OMEGA, ZETA = 6.0, 1.0  # of the computed-torque errors, rad/s and damping ratio

Torques = Callable[[float, np.ndarray, np.ndarray], Mapping[str, float]]


@dataclass(frozen=True)
class Loads:
    """Torques (N m) and pin forces (N): T₁on₂, T₂on₃, F₁on₂ at A and F₂on₃ at B."""

    T12: float
    T23: float
    A: np.ndarray
    B: np.ndarray

    @property
    def array(self) -> np.ndarray:
        """All six numbers."""
        return np.array([self.T12, self.T23, *self.A, *self.B])


@dataclass(frozen=True, eq=False)
class Scenario:
    """A named motion of the arm; `acceleration` is what the Lagrangian route knows of it."""

    name: str
    mechanism: PlanarMechanism
    duration: float
    inverse: bool  # all motion is prescribed
    acceleration: Callable[[State], np.ndarray]
    torques: Torques | None = None

    def states(self, times: Sequence[float]) -> list[State]:
        """The arm at these times: solved at each, or integrated up to it (DOP853, 1e-12)."""
        if self.inverse:
            return [self.mechanism.inverse_dynamics(float(t)) for t in times]
        given = np.asarray(times, dtype=float)
        gap = np.diff(given, prepend=0.0).min()
        even = gap > 0.0 and np.allclose(given / gap, np.round(given / gap), atol=1e-9)
        step = float(gap) if even else float(given[-1]) / 1000.0
        run = self.mechanism.simulate(
            float(given[-1]), step, torques=self.torques, rtol=1e-12, atol=1e-12
        )
        chosen = np.abs(run.time.values[None, :] - given[:, None]).argmin(axis=1)
        return self.mechanism.states(run.isel(time=chosen))

    def first(self) -> State:
        """The first instant, under the torques of the scenario."""
        q, v = self.mechanism.start()
        tau = None if self.torques is None else self.torques(0.0, q, v)
        return self.mechanism.forward_dynamics(0.0, q, v, tau)

    def moved(self, state: State) -> tuple[dict[str, float], State]:
        """Torques at the pins and the state they make: a led tool is moved by them (004, p.6)."""
        if self.name == "straight_line":
            torques, moved = state.through(["A", "B"])
            return dict(zip(("T12", "T23"), map(float, torques), strict=True)), moved
        return {name: _torque(state, name) for name in ("T12", "T23")}, state

    def dae(self, state: State) -> Loads:
        """From λ."""
        torques, moved = self.moved(state)
        pins = moved.force("A", "bar2"), moved.force("B", "bar3")
        return Loads(torques["T12"], torques["T23"], *pins)

    def newtonian(self, state: State) -> Loads:
        """From the free-body diagrams and the accelerations: all six unknowns at once."""
        bare = State(self.bare, state.t, state.q, state.v, state.a, np.zeros(4))
        found = free_bodies(bare, torques=("A", "B"))
        return Loads(found["T_A"], found["T_B"], found.force("A", "bar2"), found.force("B", "bar3"))

    @property
    def bare(self) -> Any:
        """The arm without drivers and motors."""
        return _bare().description

    def lagrangian(self, state: State) -> Loads:
        """From the closed form in (θ₂, θ₃), then the pins by Newton's law of each bar."""
        q, qd = relative(state.q), relative(state.v)
        qdd = self.acceleration(state)
        T12, T23 = _robot().inverse_dynamics(q, qd, qdd)
        a2, a3 = centre_accelerations(q, qd, qdd)
        gravity = np.array([0.0, -9.81])
        B = 1.0 * (a3 - gravity)
        return Loads(float(T12), float(T23), 2.0 * (a2 - gravity) + B, B)


@cache
def _robot() -> Robot:
    return two_bar_arm.build()


@cache
def _bare() -> PlanarMechanism:
    return two_bars()


def relative(x: np.ndarray) -> np.ndarray:
    """(φ₂, φ₃ − φ₂) from absolute coordinates, velocities or accelerations (6,)."""
    return np.array([x[2], x[5] - x[2]])


def centre_accelerations(
    q: np.ndarray, qd: np.ndarray, qdd: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Of the centres G₂ and G₃, from the angles alone: a e(φ) differentiated twice."""
    phi, rate, second = np.cumsum(q), np.cumsum(qd), np.cumsum(qdd)

    def whirl(k: int, length: float) -> np.ndarray:
        e = np.array([np.cos(phi[k]), np.sin(phi[k])])
        n = np.array([-e[1], e[0]])
        return length * (second[k] * n - rate[k] ** 2 * e)

    return whirl(0, 0.5), whirl(0, 1.0) + whirl(1, 0.4)


def _torque(state: State, name: str) -> float:
    everything = [*state.description.elements, *(f.element for f in state.description.forces)]
    return state.torque(name) if any(e.name == name for e in everything) else 0.0


def joint_interpolated() -> Scenario:
    """Independent position controllers: both angles at constant speed (004, p.5)."""
    arm = (
        two_bars(name="joint_interpolated")
        .drive("T12", "A", ConstantSpeed(START[0], END[0], 2.0))
        .drive("T23", "B", ConstantSpeed(START[1], END[1], 2.0))
    )
    return Scenario("joint_interpolated", arm, 2.0, True, lambda state: np.zeros(2))


def straight_line() -> Scenario:
    """C led along a straight line at constant speed (004, p.5–6)."""
    bent = [0.3, 0.0, 0.1, 0.9, 0.3, 1.2]  # a start with the elbow on the right side
    arm = (
        two_bars(name="straight_line")
        .drive("tool", "bar3.C", ConstantSpeed(TOOL_START, TOOL_END, 2.0))
        .assemble(bent)
    )

    def acceleration(state: State) -> np.ndarray:
        # C̈ = J q̈ + J̇ q̇ = 0
        q, qd = relative(state.q), relative(state.v)
        phi, rate = np.cumsum(q), np.cumsum(qd)
        e = np.stack([np.cos(phi), np.sin(phi)])
        n = np.stack([-np.sin(phi), np.cos(phi)])
        J = np.stack([1.0 * n[:, 0] + 0.8 * n[:, 1], 0.8 * n[:, 1]], axis=1)
        drift = -(1.0 * rate[0] ** 2 * e[:, 0] + 0.8 * rate[1] ** 2 * e[:, 1])
        return np.linalg.solve(J, -drift)

    return Scenario("straight_line", arm, 2.0, True, acceleration)


def _free(state: State, torques: np.ndarray) -> np.ndarray:
    return _robot().forward_dynamics(relative(state.q), relative(state.v), torques)


def double_pendulum() -> Scenario:
    """No actuators: let go from the horizontal (004, p.6)."""
    arm = two_bars(name="double_pendulum")
    return Scenario("double_pendulum", arm, 2.0, False, lambda state: _free(state, np.zeros(2)))


def proximal_driven() -> Scenario:
    """Bar 2 swings as a sine, bar 3 is a pendulum on it (004, p.7)."""
    sine = Sine(CENTRE, SWING, FREQUENCY)
    arm = (
        two_bars(name="proximal_driven")
        .drive("T12", "A", sine)
        .assemble([0.25, -0.4, CENTRE, 0.6, -1.2, CENTRE])
    )

    def acceleration(state: State) -> np.ndarray:
        w = 2.0 * np.pi * FREQUENCY
        second = -SWING * w * w * np.sin(w * state.t)
        q, qd = relative(state.q), relative(state.v)
        M, h = _robot().mass_matrix(q), _robot().bias(q, qd)
        return np.array([second, -(M[1, 0] * second + h[1]) / M[1, 1]])

    return Scenario("proximal_driven", arm, 2.0, False, acceleration)


def computed_torque() -> Scenario:
    """Torque controllers on both joints: τ = M(q̈_d + K_v ė + K_p e) + h (004, p.7)."""
    arm = two_bars(name="computed_torque").actuator("T12", "A").actuator("T23", "B")
    robot = _robot()

    def law(q: np.ndarray, qd: np.ndarray, t: float) -> np.ndarray:
        s, c = np.sin(2.0 * t), np.cos(2.0 * t)
        e = START + 0.5 * s - q
        ed = 1.0 * c - qd
        return robot.inverse_dynamics(q, qd, -2.0 * s + 2.0 * ZETA * OMEGA * ed + OMEGA**2 * e)

    def torques(t: float, q: np.ndarray, v: np.ndarray) -> Mapping[str, float]:
        T12, T23 = law(relative(q), relative(v), t)
        return {"T12": float(T12), "T23": float(T23)}

    def acceleration(state: State) -> np.ndarray:
        return _free(state, law(relative(state.q), relative(state.v), state.t))

    return Scenario("computed_torque", arm, 2.0, False, acceleration, torques)


SCENARIOS: Mapping[str, Callable[[], Scenario]] = {
    made.__name__: made
    for made in (
        joint_interpolated,
        straight_line,
        double_pendulum,
        proximal_driven,
        computed_torque,
    )
}


def scenario(name: str) -> Scenario:
    """A scenario by name.

    >>> arm = scenario("joint_interpolated")
    >>> state = arm.mechanism.inverse_dynamics(1.0)
    >>> print(round(state.torque("T12"), 4), state.force("A", on="bar2").round(4))
    13.2082 [-0.3592 28.9236]
    """
    if name not in SCENARIOS:
        raise UnknownNameError(f"no scenario {name!r}{suggest(name, list(SCENARIOS))}")
    return SCENARIOS[name]()
