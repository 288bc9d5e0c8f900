"""Numbers as users type them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dalembert.errors import ShapeError
from dalembert.report.coordinates import coordinates
from dalembert.systems.robot import Robot

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


def state(robot: Robot, given: dict[str, str | None], degrees: bool) -> dict[str, np.ndarray]:
    """The arrays of a state; what is not given is zero, or the reference posture for q."""
    arrays = {}
    for quantity, text in given.items():
        entries = coordinates(robot, quantity)
        if text is None:
            arrays[quantity] = robot.neutral() if quantity == "q" else np.zeros(robot.nv)
            continue
        values = parse(text, f"--{quantity}", robot.name, [entry.name for entry in entries])
        if degrees and quantity != "tau":
            values *= [math.pi / 180 if entry.kind == "angle" else 1.0 for entry in entries]
        arrays[quantity] = values
    return arrays


def _number(piece: str, option: str) -> float:
    try:
        value = float(piece)
    except ValueError:
        raise ShapeError(f"{option}: {piece!r} is not a number") from None
    if not math.isfinite(value):
        raise ShapeError(f"{option}: {piece!r} is not a finite number")
    return value
