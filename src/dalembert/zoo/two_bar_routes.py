"""A scenario of the arm of two bars, and its torques and pin forces by three routes.

`dae` reads λ, `newtonian` solves the free-body distribution matrix of 004, p.2, and `lagrangian`
is the closed form of 004, p.1, through the robot `two_bar_arm`. Signs: forces ON the named body.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import ParameterError, SimulationError
from dalembert.mechanisms import PlanarMechanism
from dalembert.mechanisms.newtonian import free_bodies
from dalembert.mechanisms.state import State
from dalembert.zoo.two_bar_numbers import Arm

Torques = Callable[[float, np.ndarray, np.ndarray], Mapping[str, float]]
MOST_SAMPLES = 1000  # of one run for several times


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
        """The arm at these times, in their order: solved at each, or integrated up to it.

        Parameters
        ----------
        times : sequence of float
            s; from 0 on where the motion is integrated.

        Returns
        -------
        list of State
            One for each time. Integrated motions are those of DOP853 with tolerances of 1e-12, by
            one run for times that are multiples of their smallest difference, else by one for each.

        Raises
        ------
        ParameterError
            Times that are no finite numbers, or lie before the start of an integrated motion.
        SimulationError
            A run that ends before the time it was asked for.
        """
        given = np.asarray(times, dtype=float)
        if given.ndim != 1 or not np.isfinite(given).all():
            raise ParameterError(f"{self.name}: expected a list of finite times, got {times!r}")
        if self.inverse:
            return [self.mechanism.inverse_dynamics(float(t)) for t in given]
        if (given < 0.0).any():
            raise ParameterError(
                f"{self.name} is integrated from t = 0: expected times from 0 on, got {given.min():g}"
            )
        distinct, places = np.unique(given, return_inverse=True)
        later = distinct[distinct > 0.0]
        states = [self.first()] * (len(distinct) - len(later))
        if len(later):
            count = round(float(later[-1] / np.diff(later, prepend=0.0).min()))
            steps = np.round(later / later[-1] * count).astype(int)
            even = count <= MOST_SAMPLES and np.allclose(
                steps * (later[-1] / count), later, rtol=1e-14, atol=0.0
            )
            if even:
                states += self._integrated(float(later[-1]), count, steps)
            else:
                states += [self._integrated(float(t), 1, np.array([1]))[0] for t in later]
        return [states[k] for k in places]

    def _integrated(self, duration: float, count: int, chosen: np.ndarray) -> list[State]:
        """The states of these samples of a run with `count` even intervals."""
        run = self.mechanism.simulate(
            duration, duration / count, torques=self.torques, rtol=1e-12, atol=1e-12
        )
        if run.attrs["status"] != "complete":
            raise SimulationError(f"{self.name}: {run.attrs['message']}")
        return self.mechanism.states(run.isel(time=chosen))

    def first(self) -> State:
        """The first instant, under the torques of the scenario."""
        q, v = self.mechanism.start()
        tau = None if self.torques is None else self.torques(0.0, q, v)
        return self.mechanism.forward_dynamics(q, v, torques=tau)

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
