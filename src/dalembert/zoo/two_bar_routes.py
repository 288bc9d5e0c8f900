"""A scenario of the arm of two bars, and its torques and pin forces by three routes.

`dae` reads λ, `newtonian` solves the free-body distribution matrix of 004, p.2, and `lagrangian`
is the closed form of 004, p.1, through the robot `two_bar_arm`. Signs: forces ON the named body.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.mechanisms import PlanarMechanism
from dalembert.mechanisms.newtonian import free_bodies
from dalembert.mechanisms.state import State
from dalembert.zoo.two_bar_numbers import Arm

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
    arm: Arm
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
        return self.arm.mechanism().description

    def lagrangian(self, state: State) -> Loads:
        """From the closed form in (θ₂, θ₃), then the pins by Newton's law of each bar."""
        q, qd = relative(state.q), relative(state.v)
        qdd = self.acceleration(state)
        T12, T23 = self.arm.robot.inverse_dynamics(q, qd, qdd)
        a2, a3 = centre_accelerations(q, qd, qdd, self.arm)
        gravity = np.array([0.0, -self.arm.g])
        B = self.arm.m[1] * (a3 - gravity)
        return Loads(float(T12), float(T23), self.arm.m[0] * (a2 - gravity) + B, B)


def relative(x: np.ndarray) -> np.ndarray:
    """(φ₂, φ₃ − φ₂) from absolute coordinates, velocities or accelerations (6,)."""
    return np.array([x[2], x[5] - x[2]])


def centre_accelerations(
    q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, arm: Arm
) -> tuple[np.ndarray, np.ndarray]:
    """Of the centres G₂ and G₃, from the angles alone: a e(φ) differentiated twice."""
    phi, rate, second = np.cumsum(q), np.cumsum(qd), np.cumsum(qdd)

    def whirl(k: int, length: float) -> np.ndarray:
        e = np.array([np.cos(phi[k]), np.sin(phi[k])])
        n = np.array([-e[1], e[0]])
        return length * (second[k] * n - rate[k] ** 2 * e)

    return whirl(0, arm.a[0]), whirl(0, arm.d[0]) + whirl(1, arm.a[1])


def _torque(state: State, name: str) -> float:
    everything = [*state.description.elements, *(f.element for f in state.description.forces)]
    return state.torque(name) if any(e.name == name for e in everything) else 0.0
