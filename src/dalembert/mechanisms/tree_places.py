"""Where the bodies of a mechanism are, from the coordinates of the robot made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.mechanisms.branches import Branch, Loose
from dalembert.mechanisms.description import Description
from dalembert.systems.bodies.data import Element
from dalembert.systems.robot import Robot


@dataclass(frozen=True, eq=False)
class TreePlaces:
    """Rows of numbers that the kinds of joints and measures take, on numbers or symbols.

    A planar body is (x, y, φ), φ the sum of the angles up to it, so that full turns are not lost; a
    spatial one its position and the nine entries of R.
    """

    description: Description
    robot: Robot
    branches: tuple[Branch | Loose, ...]

    def __call__(self, q: Any, element: Element) -> Any:
        """Rows (bodies, 3) or (bodies, 12) of the bodies of an element at q (nq,)."""
        d = self.description
        poses = self.robot.dynamics.poses(q)
        plane = d.space.dimension == 2
        angles = self._angles(q) if plane else []
        rows = []
        for k in element.bodies:
            T = poses["base" if k == 0 else d.names[k]]
            if plane:
                rows.append(np.stack([T[0, 3], T[1, 3], angles[k]]))
            else:
                rows.append(np.concatenate([T[:3, 3], T[:3, :3].reshape(9)]))
        return np.stack(rows)

    def _angles(self, q: Any) -> list[Any]:
        """φ of the ground and of every body in the plane."""
        angles: list[Any] = [0.0 * q[0]] * (len(self.description.bodies) + 1)
        start = 0
        for each in self.branches:
            if isinstance(each, Loose):
                angles[each.child] = q[start + 2]
                start += 3
                continue
            sense, p = (1.0 if each.forward else -1.0), each.element.parameters
            turn = q[start] if each.kind == "revolute" else p[-1]  # others keep theirs
            angles[each.child] = angles[each.parent] + sense * turn
            start += each.kind != "rigid"
        return angles
