"""Names and units of a robot's coordinates, and numbers as users type them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.errors import ShapeError
from dalembert.robot import Robot

WRENCH = ("fx", "fy", "fz", "nx", "ny", "nz")
_UNITS = {
    "q": {"angle": "rad", "length": "m", "quaternion": ""},
    "qd": {"angle": "rad/s", "length": "m/s"},
    "qdd": {"angle": "rad/s²", "length": "m/s²"},
    "tau": {"angle": "N m", "length": "N"},
}


@dataclass(frozen=True)
class Coordinate:
    """One entry of q, or of qd, qdd and tau."""

    name: str
    kind: str  # angle, length or quaternion

    def unit(self, quantity: str) -> str:
        """Its unit as an entry of q, qd, qdd or tau."""
        return _UNITS[quantity][self.kind]


def coordinates(robot: Robot, quantity: str) -> list[Coordinate]:
    """The entries of q (nq), or of qd, qdd and tau (nv).

    >>> import dalembert as dl
    >>> [(c.name, c.unit("tau")) for c in coordinates(dl.load("rp"), "tau")]
    [('link1_joint', 'N m'), ('link2_joint', 'N')]
    """
    found = []
    for joint in robot.joints:
        kinds: list[str] = []
        for index in joint.bodies:
            chart = robot.model.bodies[index].chart
            columns = np.asarray(chart.subspace).T
            rates = ["angle" if column[3:6].any() else "length" for column in columns]
            # spherical and free joints have a quaternion where their velocity has three angles
            quaternion = chart.nq > chart.nv and quantity == "q"
            kinds += [*rates[:-3], *["quaternion"] * 4] if quaternion else rates
        names = (
            [joint.name] if len(kinds) == 1 else [f"{joint.name}[{k}]" for k in range(len(kinds))]
        )
        found += [Coordinate(name, kind) for name, kind in zip(names, kinds, strict=True)]
    return found


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
