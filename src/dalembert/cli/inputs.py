"""Arguments of commands: systems by name or file, changes to them, and numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import dalembert
from dalembert.cli.options import TRUSTED, number_and_unit
from dalembert.errors import DalembertError, ParameterError, SettingError, ShapeError
from dalembert.logs.units import DENOMINATORS, UNITS
from dalembert.report.facts import coordinates
from dalembert.systems.robot import Robot
from dalembert.systems.system import System

if TYPE_CHECKING:
    from dalembert.cli.app import ChangeOptions, ExciteOptions, PathOptions, StateOptions

MAX_VIOLATION = 1e-6  # of a constraint by a state, SI units
PAYLOAD = ("mass in kg", "x", "y", "z of its centre in the tool frame, m")
WRENCH = ("fx", "fy", "fz", "nx", "ny", "nz")


def load(name: str, **options: Any) -> Any:
    """The system of the zoo or in a file, which may open what ``dalembert --trust`` names."""
    if TRUSTED:
        options["trust"] = TRUSTED
    return dalembert.load(name, **options)


def load_changed(options: ChangeOptions) -> System:
    """The system with the tool, the payload and the locked joints of the options."""
    system, tip, payload = load(options.robot), options.tip, options.payload
    if tip is not None:
        system = _robot(system, f"--tip {tip}").with_tool(frame=tip)
    if payload is not None:
        mass, *com = parse(payload, "--payload", system.name, PAYLOAD[:1], PAYLOAD)
        robot = _robot(system, f"--payload {payload}")
        system = robot.with_payload(mass, com or (0.0, 0.0, 0.0))
    return with_locks(system, options.lock, options.deg)


def with_locks(system: System, locks: Sequence[str] | None, degrees: bool) -> System:
    """The system with joints locked: ``finger_joint1=0.04``, at 0 where no value is given."""
    for lock in locks or ():
        robot = _robot(system, f"--lock {lock}")
        system = robot.with_joint_locked(*joint_value(robot, "--lock", lock, degrees))
    return system


def joint_value(system: System, option: str, text: str, degrees: bool) -> tuple[str, float]:
    """A joint and its position, rad or m, from ``joint=position``; at 0 where there is none."""
    joint, _, number = (part.strip() for part in text.partition("="))
    known = joint in system.coordinates
    kind = system.kinds.q[system.coordinates.index(joint)] if known else ""
    return joint, _si(number or "0", f"{option} {joint}", kind, degrees=degrees)


def _robot(system: System, option: str) -> Robot:
    """The system, if it is an open chain: constraints of others name frames that would change."""
    if not isinstance(system, Robot):
        raise SettingError(
            f"{option}: expected a robot without loops, got {system.name}; change its file, or the "
            "robot in Python before its constraints are added"
        )
    return system


def load_robot(name: str) -> Robot:
    """The robot of the zoo or in a file; of a closed chain, its tree of links."""
    robot: Robot | None = load(name).robot
    if robot is None:
        raise DalembertError(f"{name} has no links to draw; give a robot")
    return robot


def known_frame(system: System, frame: str) -> str:
    """The frame of that name; the last one where there is no tool."""
    known = system.dynamics.frames
    chosen = known[-1] if frame == "tool" and known and "tool" not in known else frame
    system.dynamics.require_frame(chosen)
    return chosen


def parse(
    text: str,
    option: str,
    owner: str,
    *alternatives: Sequence[str],
    kinds: Sequence[str] = (),
    degrees: bool = False,
    per: str = "",
) -> np.ndarray:
    """Numbers separated by commas or spaces, exactly one for each name of an alternative, in SI units.

    Numbers of a kind, "angle" or "length", may have a unit, over `per` ("/s"); angles without one are
    in degrees with `degrees`.

    >>> parse("1, 2", "--q", "planar_2r", ["joint_1", "joint_2"])
    array([1., 2.])
    >>> parse("180deg 5mm", "--q", "rp", ["joint_1", "joint_2"], kinds=["angle", "length"]).round(4)
    array([3.1416, 0.005 ])
    """
    pieces = text.replace(",", " ").split()
    if len(pieces) not in map(len, alternatives):
        names = alternatives[-1]
        raise ShapeError(
            f"{option} of {owner} needs {len(names)} numbers, {len(pieces)} were given; "
            f"they are: {', '.join(names)}"
        )
    own = [*kinds, *[""] * len(pieces)]
    return np.array(
        [_si(x, option, kind, degrees, per) for x, kind in zip(pieces, own, strict=False)]
    )


def _si(piece: str, option: str, kind: str, degrees: bool = False, per: str = "") -> float:
    """A number of this kind in SI units."""
    try:
        value, unit, divisor = number_and_unit(piece)
    except ValueError:
        raise ShapeError(f"{option}: {piece!r} is not a number") from None
    if not math.isfinite(value):
        raise ShapeError(f"{option}: {piece!r} is not a finite number")
    if not unit:
        return math.radians(value) if degrees and kind == "angle" else value
    units = UNITS.get(kind, {})
    if unit not in units or divisor != per:
        known = ", ".join(f"{name}{per}" for name in units)
        raise SettingError(
            f"{option}: {piece!r} has a unit that this number cannot have; "
            + (f"give it in {known}" if known else "give it in SI units, without one")
        )
    return value * units[unit]


def parse_coordinates(
    system: System, quantity: str, text: str, degrees: bool, option: str | None = None
) -> np.ndarray:
    """An array of q, qd, qdd or tau in SI units, from numbers for each coordinate by its name."""
    entries = coordinates(system, quantity)
    names = [entry.name for entry in entries]
    moves = quantity in DENOMINATORS
    return parse(
        text,
        option or f"--{quantity}",
        system.name,
        names,
        kinds=[entry.kind for entry in entries] if moves else (),
        degrees=degrees,
        per=DENOMINATORS.get(quantity, ""),
    )


def state(
    system: System, options: StateOptions | ChangeOptions, *quantities: str
) -> dict[str, np.ndarray]:
    """The arrays of a state; by default zeros, and the reference posture for q."""
    arrays = {}
    for quantity in quantities:
        text = getattr(options, quantity)
        if text is not None:
            arrays[quantity] = parse_coordinates(system, quantity, text, options.deg)
        else:
            arrays[quantity] = system.neutral() if quantity == "q" else np.zeros(system.nv)
    dynamics = system.dynamics
    if dynamics.rows:  # a state that violates the constraints has no acceleration
        qd = arrays.get("qd", np.zeros(system.nv))
        rows = dynamics.bound().at(dynamics.normalised(arrays["q"]), qd, 0.0)
        for option, violation in (("--q", rows.h), ("--qd", rows.A @ qd - rows.b)):
            size = float(np.abs(violation).max(initial=0.0))
            if size > MAX_VIOLATION:
                raise ParameterError(
                    f"{option} misses the constraints of {system.name} by {size:.2g}; leave it out "
                    "for the reference state, or find one with assemble() and project_velocity() "
                    "in Python"
                )
    return arrays


def motion_limits(robot: Robot, options: PathOptions | ExciteOptions) -> dict[str, Any]:
    """The limits of the options on velocity, acceleration and torque."""
    kinds = ("velocity", "acceleration", "torque")
    return {kind: joint_limits(robot, kind, getattr(options, kind)) for kind in kinds}


def joint_limits(robot: System, kind: str, text: str | None) -> float | np.ndarray | None:
    """One number for all joints, or one for each; None without a text."""
    if text is None:
        return None
    names = [coordinate.name for coordinate in coordinates(robot, "qd")]
    limits = parse(text, f"--{kind}", robot.name, ["all joints"], names)
    return float(limits[0]) if len(limits) == 1 else limits
