"""Numbers as users type them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.errors import ParameterError, ShapeError
from dalembert.report.coordinates import coordinates
from dalembert.systems.system import System

OFF = 1e-6  # of a state from its constraints, SI units
WRENCH = ("fx", "fy", "fz", "nx", "ny", "nz")


def parse(text: str, option: str, owner: str, names: Sequence[str]) -> np.ndarray:
    """Numbers separated by commas or spaces, exactly one for each name.

    >>> parse("1, 2", "--q", "planar_2r", ["joint_1", "joint_2"])
    array([1., 2.])
    """
    pieces = text.replace(",", " ").split()
    values = [_number(piece, option) for piece in pieces]
    if len(values) != len(names):
        raise ShapeError(
            f"{option} of {owner} needs {len(names)} numbers, {len(values)} were given; "
            f"they are: {', '.join(names)}"
        )
    return np.array(values)


def state(system: System, given: dict[str, str | None], degrees: bool) -> dict[str, np.ndarray]:
    """The arrays of a state; what is not given is zero, or the reference posture for q."""
    arrays = {}
    for quantity, text in given.items():
        entries = coordinates(system, quantity)
        if text is None:
            arrays[quantity] = system.neutral() if quantity == "q" else np.zeros(system.nv)
            continue
        values = parse(text, f"--{quantity}", system.name, [entry.name for entry in entries])
        if degrees and quantity != "tau":
            values *= [math.pi / 180 if entry.kind == "angle" else 1.0 for entry in entries]
        arrays[quantity] = values
    _require_closed(system, arrays)
    return arrays


def _require_closed(system: System, arrays: dict[str, np.ndarray]) -> None:
    """A state off the constraints has no acceleration: say how far, and which constraint."""
    made = system.dynamics
    if not made.rows:
        return
    q, qd = made.normalised(arrays["q"]), arrays.get("qd", np.zeros(system.nv))
    found = made.bound().at(q, qd, 0.0)
    slip = found.A @ qd - found.b
    for option, gap in (("--q", found.h), ("--qd", slip)):
        off = float(np.abs(gap).max(initial=0.0))
        if off > OFF:
            raise ParameterError(
                f"{option} misses the constraints of {system.name} by {off:.2g}; leave it out for "
                "the reference state, or find one with assemble() and project_velocity() in Python"
            )


def _number(piece: str, option: str) -> float:
    try:
        value = float(piece)
    except ValueError:
        raise ShapeError(f"{option}: {piece!r} is not a number") from None
    if not math.isfinite(value):
        raise ShapeError(f"{option}: {piece!r} is not a finite number")
    return value


def joint_limits(robot: System, kind: str, text: str | None) -> Any:
    """One number for all joints, or one for each; None where nothing is given."""
    if text is None:
        return None
    names = [coordinate.name for coordinate in coordinates(robot, "qd")]
    count = len(text.replace(",", " ").split())
    found = parse(text, f"--{kind}", robot.name, ["all joints"] if count == 1 else names)
    return float(found[0]) if count == 1 else found
