"""The five scenarios of the DAE notes for the arm of two bars, with one's own numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from inspect import signature
from typing import Any

import numpy as np

from dalembert.control.trajectory import Point, quintic
from dalembert.errors import ParameterError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.mechanisms.motions import ConstantSpeed, Sine
from dalembert.mechanisms.state import State
from dalembert.zoo.two_bar_numbers import Arm, Pair, number, two_numbers
from dalembert.zoo.two_bar_routes import Loads, Scenario, relative

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
    start, end = two_numbers(phi_start, "phi_start"), two_numbers(phi_end, "phi_end")
    made = arm.mechanism("joint_interpolated", start)
    for name, pin, k in (("T12", "A", 0), ("T23", "B", 1)):
        made.drive(name, pin, ConstantSpeed(start[k], end[k], delta_t))
    return Scenario("joint_interpolated", arm, made, delta_t, True, lambda state: np.zeros(2))


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
    bent = arm.reach(first) if phi_start is None else two_numbers(phi_start, "phi_start")
    made = arm.mechanism("straight_line", bent)
    made.drive("tool", "bar3.C", ConstantSpeed(first, last, delta_t))

    def acceleration(state: State) -> np.ndarray:
        # C̈ = J q̈ + J̇ q̇ = 0
        phi, rate = np.cumsum(relative(state.q)), np.cumsum(relative(state.v))
        e = np.stack([np.cos(phi), np.sin(phi)])
        n = np.stack([-np.sin(phi), np.cos(phi)])
        J = np.stack([n @ arm.d, arm.d[1] * n[:, 1]], axis=1)
        drift = -(e @ (arm.d * rate**2))
        return np.linalg.solve(J, -drift)

    return Scenario("straight_line", arm, made, delta_t, True, acceleration)


def _end(arm: Arm, which: str, tool: Any, phi: Any, usual: Pair) -> np.ndarray:
    """Where the line starts or ends, given one way or the other."""
    if tool is not None and phi is not None:
        raise ParameterError(f"give tool_{which} or phi_{which}, not both: each says where C is")
    if phi is not None:
        return arm.tool(two_numbers(phi, f"phi_{which}"))
    found = two_numbers(usual if tool is None else tool, f"tool_{which}")
    arm.reach(found)
    return found


def double_pendulum(
    arm: Arm = USUAL, phi_start: Pair = (0.0, 0.0), delta_t: float = DELTA_T
) -> Scenario:
    """No actuators: let go at (φ₂, θ), from the horizontal if nothing is said (004, p.6)."""
    made = arm.mechanism("double_pendulum", two_numbers(phi_start, "phi_start"))

    def acceleration(state: State) -> np.ndarray:
        return arm.robot.forward_dynamics(relative(state.q), relative(state.v), np.zeros(2))

    return Scenario("double_pendulum", arm, made, delta_t, False, acceleration)


def proximal_driven(
    arm: Arm = USUAL,
    phi_center: float = -np.pi / 3,
    delta: float = 0.5,
    frequency: float = 0.8,
    delta_t: float = DELTA_T,
) -> Scenario:
    """Bar 2 swings as φ_CENTER + Δ sin 2πft, bar 3 is a pendulum on it (004, p.7)."""
    centre = number(phi_center, "phi_center")
    sine = Sine(centre, number(delta, "delta"), number(frequency, "frequency", positive=True))
    made = arm.mechanism("proximal_driven", (centre, 0.0)).drive("T12", "A", sine).assemble()

    def acceleration(state: State) -> np.ndarray:
        w = 2.0 * np.pi * frequency
        second = -delta * w * w * np.sin(w * state.t)
        q, qd = relative(state.q), relative(state.v)
        M, h = arm.robot.mass_matrix(q), arm.robot.bias(q, qd)
        return np.array([second, -(M[1, 0] * second + h[1]) / M[1, 1]])

    return Scenario("proximal_driven", arm, made, delta_t, False, acceleration)


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
    start = two_numbers(phi_start, "phi_start")
    made = arm.mechanism("computed_torque", start).actuator("T12", "A").actuator("T23", "B")
    w, damped = number(omega, "omega", positive=True), number(zeta, "zeta")
    desired = (
        _swing if phi_end is None else quintic(start, two_numbers(phi_end, "phi_end"), delta_t)
    )

    def law(q: np.ndarray, qd: np.ndarray, t: float) -> np.ndarray:
        wanted = desired(t)
        second = wanted.qdd + 2.0 * damped * w * (wanted.qd - qd) + w * w * (wanted.q - q)
        return arm.robot.inverse_dynamics(q, qd, second)

    def torques(t: float, q: np.ndarray, v: np.ndarray) -> Mapping[str, float]:
        T12, T23 = law(relative(q), relative(v), t)
        return {"T12": float(T12), "T23": float(T23)}

    def acceleration(state: State) -> np.ndarray:
        q, qd = relative(state.q), relative(state.v)
        return arm.robot.forward_dynamics(q, qd, law(q, qd, state.t))

    return Scenario("computed_torque", arm, made, delta_t, False, acceleration, torques)


def _swing(t: float) -> Point:
    """(0.4, 0.9) + ½ sin 2t and its rates."""
    s, c = np.sin(2.0 * t), np.cos(2.0 * t)
    return Point(np.array(START) + 0.5 * s, np.full(2, c), np.full(2, -2.0 * s))


SCENARIOS: Mapping[str, Callable[..., Scenario]] = {
    made.__name__: made
    for made in (
        joint_interpolated,
        straight_line,
        double_pendulum,
        proximal_driven,
        computed_torque,
    )
}
OF_THE_ARM = tuple(part.name for part in fields(Arm))


def numbers_of(name: str) -> tuple[str, ...]:
    """What can be said of a scenario: numbers of the arm, then its own.

    >>> numbers_of("joint_interpolated")[-3:]
    ('phi_start', 'phi_end', 'delta_t')
    """
    if name not in SCENARIOS:
        raise UnknownNameError(f"no scenario {name!r}{suggest(name, list(SCENARIOS))}")
    own = [key for key in signature(SCENARIOS[name]).parameters if key != "arm"]
    return (*OF_THE_ARM, *own)


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
        number(numbers["delta_t"], "delta_t", positive=True)
    arm = Arm(**{key: numbers.pop(key) for key in OF_THE_ARM if key in numbers})
    return SCENARIOS[name](arm, **numbers)
