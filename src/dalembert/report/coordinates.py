"""Names and units of a robot's coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.systems.robot import Robot

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
