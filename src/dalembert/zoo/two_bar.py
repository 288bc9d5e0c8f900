"""The arm of two bars of the DAE notes (004): numbers, five scenarios, three routes to its forces.

`dae` reads λ, `newtonian` solves the free-body distribution matrix of 004, p.2, and `lagrangian` is the
closed form of 004, p.1, through the robot `two_bar_arm`. Signs: forces ON the named body.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.control.trajectory import Point, quintic
from dalembert.errors import (
    ConstraintError,
    DalembertError,
    ModelError,
    ParameterError,
    SimulationError,
    UnknownNameError,
)
from dalembert.formulations.registry import suggest
from dalembert.mechanisms import PlanarMechanism
from dalembert.mechanisms.motions import ConstantSpeed, Sine
from dalembert.mechanisms.newtonian import free_bodies
from dalembert.mechanisms.state import State
from dalembert.mechanisms.tables import parsed, source_of
from dalembert.model import validation
from dalembert.systems.robot import Robot
from dalembert.text import short
from dalembert.tracing import is_symbolic
from dalembert.zoo.absolute import two_bars
from dalembert.zoo.textbook import two_bar_arm

Pair = tuple[float, float]


def checked(
    value: object, name: str, shape: tuple[int, ...] = (2,), positive: bool = False
) -> np.ndarray:
    """Two finite numbers (2,) or one (), or an error that says which."""
    array: np.ndarray = validation.numbers(value, shape, name)
    if is_symbolic(array) or (positive and not (array > 0.0).all()):
        raise ModelError(
            f"{name} must be {'positive' * positive or 'a number'}, not {short(value)}"
        )
    return array


def direction(angle: float) -> np.ndarray:
    """(cos φ, sin φ)."""
    return np.array([np.cos(angle), np.sin(angle)])


@dataclass(frozen=True)
class Arm:
    """Bars 2 and 3, from A to B and from B to C; uniform where nothing else is said."""

    lengths: Pair = (1.0, 0.8)  # d₂, d₃, m
    masses: Pair = (2.0, 1.0)  # m₂, m₃, kg
    centroids: Pair | None = None  # a₂ from A, a₃ from B, m; None: the middle
    inertias: Pair | None = None  # J_G2, J_G3, kg m²; None: m d²/12
    g: float = 9.81  # along −y, m/s²

    def __post_init__(self) -> None:
        (self.d, self.m, self.a, self.J, checked(self.g, "g", ()))  # checks all of them

    @cached_property
    def d(self) -> np.ndarray:
        """d₂ and d₃, m."""
        return checked(self.lengths, "lengths", positive=True)

    @cached_property
    def m(self) -> np.ndarray:
        """m₂ and m₃, kg."""
        return checked(self.masses, "masses", positive=True)

    @cached_property
    def a(self) -> np.ndarray:
        """a₂ and a₃, m."""
        return 0.5 * self.d if self.centroids is None else checked(self.centroids, "centroids")

    @cached_property
    def J(self) -> np.ndarray:
        """J_G2 and J_G3, kg m²."""
        uniform = self.m * self.d**2 / 12.0
        return (
            uniform if self.inertias is None else checked(self.inertias, "inertias", positive=True)
        )

    @property
    def _numbers(self) -> dict[str, float]:
        pairs = {"m": self.m, "d": self.d, "a": self.a, "J": self.J}
        own = {f"{x}{k + 2}": float(pairs[x][k]) for x in pairs for k in range(2)}
        return {**own, "g": float(self.g)}

    def mechanism(
        self, name: str = "two_bars", phi: Sequence[float] | np.ndarray = (0.0, 0.0)
    ) -> PlanarMechanism:
        """The arm in absolute coordinates at (φ₂, θ)."""
        first, second = phi[0], phi[0] + phi[1]
        B = self.d[0] * direction(first)
        q = [*self.a[0] * direction(first), first, *(B + self.a[1] * direction(second)), second]
        return two_bars(**self._numbers, name=name).assemble(np.array(q))

    @cached_property
    def robot(self) -> Robot:
        """The same arm in (θ₂, θ₃), for the Lagrangian route."""
        return two_bar_arm(**self._numbers)

    def tool(self, phi: Sequence[float] | np.ndarray) -> np.ndarray:
        """Position of C (2,) at (φ₂, θ), m."""
        return np.asarray(self.d[0] * direction(phi[0]) + self.d[1] * direction(phi[0] + phi[1]))

    def inverse_kinematics(self, tool: ArrayLike) -> np.ndarray:
        """(φ₂, θ) with the tool at a position (2,), 0 < θ < π, from the law of cosines."""
        x, y = checked(tool, "the position of the tool")
        d2, d3 = self.d
        cosine = (x * x + y * y - d2 * d2 - d3 * d3) / (2.0 * d2 * d3)
        if not abs(cosine) < 1.0:
            raise ConstraintError(
                f"the tool cannot be at ({x:g}, {y:g}) m: bars of {d2:g} and {d3:g} m reach from "
                f"{abs(d2 - d3):g} to {d2 + d3:g} m"
            )
        theta = float(np.arccos(cosine))
        turned = np.arctan2(d3 * np.sin(theta), d2 + d3 * cosine)
        return np.array([np.arctan2(y, x) - turned, theta])


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
        instants = np.asarray(times, dtype=float)
        if instants.ndim != 1 or not np.isfinite(instants).all():
            raise ParameterError(f"{self.name}: expected a list of finite times, got {times!r}")
        if self.inverse:
            return [self.mechanism.inverse_dynamics(float(t)) for t in instants]
        if (instants < 0.0).any():
            raise ParameterError(
                f"{self.name} is integrated from t = 0: expected times from 0 on, "
                f"got {instants.min():g}"
            )
        distinct, indices = np.unique(instants, return_inverse=True)
        later = distinct[distinct > 0.0]
        states = [self.first()] * (len(distinct) - len(later))
        if len(later):
            count = round(float(later[-1] / np.diff(later, prepend=0.0).min()))
            steps = np.round(later / later[-1] * count).astype(int)
            sampled = steps * (later[-1] / count)
            if count <= MOST_SAMPLES and np.allclose(sampled, later, rtol=1e-14, atol=0.0):
                states += self._integrated(float(later[-1]), count, steps)
            else:
                states += [self._integrated(float(t), 1, np.array([1]))[0] for t in later]
        return [states[k] for k in indices]

    def _integrated(self, duration: float, count: int, chosen: np.ndarray) -> list[State]:
        """The states of these samples of a run with `count` even intervals."""
        options: dict[str, Any] = {"torques": self.torques, "rtol": 1e-12, "atol": 1e-12}
        run = self.mechanism.simulate(duration, duration / count, **options)
        if run.attrs["status"] != "complete":
            raise SimulationError(f"{self.name}: {run.attrs['message']}")
        return self.mechanism.states(run.isel(time=chosen))

    def first(self) -> State:
        """The first instant, under the torques of the scenario."""
        q, v = self.mechanism.start()
        tau = None if self.torques is None else self.torques(0.0, q, v)
        state: State = self.mechanism.forward_dynamics(q, v, torques=tau)
        return state

    def moved(self, state: State) -> tuple[dict[str, float], State]:
        """Torques at the pins and the state they make: a led tool is moved by them (004, p.6)."""
        if self.name == "straight_line":
            torques, moved = state.through(["A", "B"])
            return dict(zip(("T12", "T23"), map(float, torques), strict=True)), moved
        description = state.description
        elements = [*description.elements, *(f.element for f in description.forces)]
        known = {element.name for element in elements}
        pins = ("T12", "T23")
        return {name: state.torque(name) if name in known else 0.0 for name in pins}, state

    def dae(self, state: State) -> Loads:
        """From λ."""
        torques, moved = self.moved(state)
        pins = moved.force("A", "bar2"), moved.force("B", "bar3")
        return Loads(torques["T12"], torques["T23"], *pins)

    def newtonian(self, state: State) -> Loads:
        """From the free-body diagrams and the accelerations: all six unknowns at once."""
        without_drivers = self.arm.mechanism().description
        bare = State(without_drivers, state.t, state.q, state.v, state.a, np.zeros(4))
        forces = free_bodies(bare, torques=("A", "B"))
        pins = forces.force("A", "bar2"), forces.force("B", "bar3")
        return Loads(forces["T_A"], forces["T_B"], *pins)

    def lagrangian(self, state: State) -> Loads:
        """From the closed form in (θ₂, θ₃), then the pins by Newton's law of each bar."""
        q, qd = relative(state.q), relative(state.v)
        qdd = self.acceleration(state)
        T12, T23 = self.arm.robot.inverse_dynamics(q, qd, qdd)
        # accelerations of the centres from the angles alone: a e(φ) differentiated twice
        phi, rate, second = np.cumsum(q), np.cumsum(qd), np.cumsum(qdd)
        e = np.stack([direction(angle) for angle in phi])
        n = np.stack([-e[:, 1], e[:, 0]], axis=1)
        circular = second[:, None] * n - rate[:, None] ** 2 * e
        a2 = self.arm.a[0] * circular[0]
        a3 = self.arm.d[0] * circular[0] + self.arm.a[1] * circular[1]
        gravity = np.array([0.0, -self.arm.g])
        B = self.arm.m[1] * (a3 - gravity)
        return Loads(float(T12), float(T23), self.arm.m[0] * (a2 - gravity) + B, B)


def relative(x: np.ndarray) -> np.ndarray:
    """(φ₂, φ₃ − φ₂) from absolute coordinates, velocities or accelerations (6,)."""
    return np.array([x[2], x[5] - x[2]])


__all__ = ["Arm", "Loads", "Scenario", "numbers_of", "relative", "scenario"]

START, END = (0.4, 0.9), (1.5, -0.6)  # (φ₂, θ), rad
TOOL_START, TOOL_END = (1.45, 0.35), (0.35, 1.3)  # C, m
DELTA_T = 2.0  # s
USUAL = Arm()


def joint_interpolated(
    arm: Arm = USUAL, phi_start: Pair = START, phi_end: Pair = END, delta_t: float = DELTA_T
) -> Scenario:
    """Independent position controllers: both angles at constant speed (004, p.5).

    From `phi_start` = (φ₂, θ) to `phi_end` in Δt: ω = (φ_END − φ_START) / Δt.
    """
    start, end = checked(phi_start, "phi_start"), checked(phi_end, "phi_end")
    mechanism = arm.mechanism("joint_interpolated", start)
    for name, pin, k in (("T12", "A", 0), ("T23", "B", 1)):
        mechanism.drive(name, pin, ConstantSpeed(start[k], end[k], delta_t))
    return Scenario("joint_interpolated", arm, mechanism, delta_t, True, lambda state: np.zeros(2))


def straight_line(
    arm: Arm = USUAL,
    tool_start: Pair | None = None,
    tool_end: Pair | None = None,
    phi_start: Pair | None = None,
    phi_end: Pair | None = None,
    delta_t: float = DELTA_T,
) -> Scenario:
    """C led along a straight line at constant speed (004, p.5–6).

    Its ends are places of C, m, or those of the angles (φ₂, θ) at start and end.
    """
    first = _end(arm, "start", tool_start, phi_start, TOOL_START)
    last = _end(arm, "end", tool_end, phi_end, TOOL_END)
    bent = arm.inverse_kinematics(first) if phi_start is None else checked(phi_start, "phi_start")
    mechanism = arm.mechanism("straight_line", bent)
    mechanism.drive("tool", "bar3.C", ConstantSpeed(first, last, delta_t))

    def acceleration(state: State) -> np.ndarray:
        # C̈ = J q̈ + J̇ q̇ = 0
        phi, rate = np.cumsum(relative(state.q)), np.cumsum(relative(state.v))
        e = np.stack([np.cos(phi), np.sin(phi)])
        n = np.stack([-np.sin(phi), np.cos(phi)])
        J = np.stack([n @ arm.d, arm.d[1] * n[:, 1]], axis=1)
        drift = -(e @ (arm.d * rate**2))
        return np.linalg.solve(J, -drift)

    return Scenario("straight_line", arm, mechanism, delta_t, True, acceleration)


def _end(arm: Arm, which: str, tool: Pair | None, phi: Pair | None, usual: Pair) -> np.ndarray:
    """Where the line starts or ends, given one way or the other."""
    if tool is not None and phi is not None:
        raise ParameterError(f"give tool_{which} or phi_{which}, not both: each says where C is")
    if phi is not None:
        return arm.tool(checked(phi, f"phi_{which}"))
    point = checked(usual if tool is None else tool, f"tool_{which}")
    arm.inverse_kinematics(point)  # raises where C cannot be
    return point


def double_pendulum(
    arm: Arm = USUAL, phi_start: Pair = (0.0, 0.0), delta_t: float = DELTA_T
) -> Scenario:
    """No actuators: let go at (φ₂, θ), from the horizontal if nothing is said (004, p.6)."""
    mechanism = arm.mechanism("double_pendulum", checked(phi_start, "phi_start"))

    def acceleration(state: State) -> np.ndarray:
        q, qd = relative(state.q), relative(state.v)
        return np.asarray(arm.robot.forward_dynamics(q, qd, np.zeros(2)))

    return Scenario("double_pendulum", arm, mechanism, delta_t, False, acceleration)


def proximal_driven(
    arm: Arm = USUAL,
    phi_center: float = -np.pi / 3,
    delta: float = 0.5,
    frequency: float = 0.8,
    delta_t: float = DELTA_T,
) -> Scenario:
    """Bar 2 swings as φ_CENTER + Δ sin 2πft, bar 3 is a pendulum on it (004, p.7)."""
    centre, swing = float(checked(phi_center, "phi_center", ())), float(checked(delta, "delta", ()))
    sine = Sine(centre, swing, float(checked(frequency, "frequency", (), positive=True)))
    mechanism = arm.mechanism("proximal_driven", (centre, 0.0)).drive("T12", "A", sine).assemble()

    def acceleration(state: State) -> np.ndarray:
        w = 2.0 * np.pi * frequency
        second = -delta * w * w * np.sin(w * state.t)
        q, qd = relative(state.q), relative(state.v)
        M, h = arm.robot.mass_matrix(q), arm.robot.bias(q, qd)
        return np.array([second, -(M[1, 0] * second + h[1]) / M[1, 1]])

    return Scenario("proximal_driven", arm, mechanism, delta_t, False, acceleration)


def computed_torque(
    arm: Arm = USUAL,
    phi_start: Pair = (0.0, 0.0),
    phi_end: Pair | None = None,
    delta_t: float = DELTA_T,
    omega: float = 6.0,
    zeta: float = 1.0,
) -> Scenario:
    """Torque controllers on both joints: τ = M(q̈_d + K_v ė + K_p e) + h (004, p.7).

    From rest at `phi_start` along a quintic to `phi_end`; without an end after a swing about
    (0.4, 0.9), which starts elsewhere, so that the error dies away with `omega` (rad/s) and `zeta`.
    """
    start = checked(phi_start, "phi_start")
    mechanism = arm.mechanism("computed_torque", start).actuator("T12", "A").actuator("T23", "B")
    w, damping = checked(omega, "omega", (), positive=True), checked(zeta, "zeta", ())
    to_end = None
    if phi_end is not None:
        to_end = quintic(start, checked(phi_end, "phi_end"), delta_t)

    def controller(q: np.ndarray, qd: np.ndarray, t: float) -> np.ndarray:
        s, c = np.sin(2.0 * t), np.cos(2.0 * t)  # (0.4, 0.9) + ½ sin 2t and its rates
        swing = Point(np.array(START) + 0.5 * s, np.full(2, c), np.full(2, -2.0 * s))
        target = swing if to_end is None else to_end(t)
        qdd = target.qdd + 2.0 * damping * w * (target.qd - qd) + w * w * (target.q - q)
        return np.asarray(arm.robot.inverse_dynamics(q, qd, qdd))

    def torques(t: float, q: np.ndarray, v: np.ndarray) -> Mapping[str, float]:
        T12, T23 = controller(relative(q), relative(v), t)
        return {"T12": float(T12), "T23": float(T23)}

    def acceleration(state: State) -> np.ndarray:
        q, qd = relative(state.q), relative(state.v)
        return np.asarray(arm.robot.forward_dynamics(q, qd, controller(q, qd, state.t)))

    return Scenario("computed_torque", arm, mechanism, delta_t, False, acceleration, torques)


_BUILDERS = (joint_interpolated, straight_line, double_pendulum, proximal_driven, computed_torque)
SCENARIOS: Mapping[str, Callable[..., Scenario]] = {build.__name__: build for build in _BUILDERS}
ARM_NUMBERS = tuple(part.name for part in fields(Arm))


def numbers_of(name: str) -> tuple[str, ...]:
    """Names of the numbers of a scenario: those of the arm, then its own.

    >>> numbers_of("joint_interpolated")[-3:]
    ('phi_start', 'phi_end', 'delta_t')
    """
    if name not in SCENARIOS:
        raise UnknownNameError(f"no scenario {name!r}{suggest(name, list(SCENARIOS))}")
    own = [key for key in signature(SCENARIOS[name]).parameters if key != "arm"]
    return (*ARM_NUMBERS, *own)


def scenario(name: str, **numbers: Any) -> Scenario:
    """A scenario by name, with one's own `lengths`, `masses`, `phi_start`, `phi_end`, `delta_t` …

    >>> arm = scenario("joint_interpolated")
    >>> state = arm.mechanism.inverse_dynamics(1.0)
    >>> print(round(state.torque("T12"), 4), state.force("A", on="bar2").round(4))
    13.2082 [-0.3592 28.9236]
    >>> own = scenario("joint_interpolated", lengths=(0.5, 0.5), phi_end=(1.0, 1.0), delta_t=0.5)
    >>> round(own.mechanism.inverse_dynamics(0.25).torque("T12"), 4)
    7.2562
    """
    known = numbers_of(name)
    for key in numbers:
        if key not in known:
            raise ParameterError(f"scenario {name!r} has no {key!r}{suggest(key, list(known))}")
    if "delta_t" in numbers:
        checked(numbers["delta_t"], "delta_t", (), positive=True)
    arm = Arm(**{key: numbers.pop(key) for key in ARM_NUMBERS if key in numbers})
    return SCENARIOS[name](arm, **numbers)


def names_scenario(source: str | Path) -> bool:
    """Whether a TOML file is a scenario, not a mechanism of its own."""
    return "scenario" in parsed(source_of(source))


def read_scenario(source: str | Path, **numbers: Any) -> Scenario:
    """The scenario in a TOML file or text; `numbers` come before those of the file.

    >>> read_scenario("scenario = 'double_pendulum'\\ndelta_t = 0.5\\n").duration
    0.5
    """
    at = source_of(source)
    data = parsed(at)
    name = data.pop("scenario", None)
    if not isinstance(name, str):
        at.fail('a scenario file says scenario = "joint_interpolated", or another one')
    try:
        return scenario(name, **{**data, **numbers})
    except DalembertError as error:
        named = (key for key in data if re.search(rf"\b{re.escape(key)}\b", str(error)))
        at.fail(str(error), None, 0, next(named, "scenario"))
