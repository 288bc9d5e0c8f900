"""A joint between bodies in absolute coordinates as a constraint that knows where it acts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.constraints.kinds import Holonomic
from dalembert.constraints.posture import Posture
from dalembert.systems.bodies.data import Element


@dataclass(frozen=True, eq=False)
class Jointed(Holonomic):
    """Φ(q) = 0 of a joint; its force acts on the last of its bodies, where the joint is."""

    element: Any = None  # the `Element`
    bodies: tuple[str, ...] = ()  # names of all bodies, the ground first

    @property
    def at_frames(self) -> bool:
        return bool(self.element.at)

    @property
    def between(self) -> tuple[str, str]:
        return self.bodies[self.element.bodies[0]], self.bodies[self.element.bodies[-1]]

    def point(self, at: Posture) -> Any:
        return _in_space(self._place(at))

    def wrench(self, at: Posture, lam: Any) -> Any:
        """−Jᵀλ on the last body, (6,) about the joint along the world's axes."""
        made: Element = self.element
        space = made.kind.space
        J = made.rows(at.q, np.zeros(at.system.nv))[1][:, -space.nv :]
        found = space.wrench(self._body(at), -(J.T @ lam), self._place(at))
        if space.dimension == 3:
            return found
        none = 0.0 * found[0]
        return np.stack([found[0], found[1], none, none, none, found[2]])

    def _body(self, at: Posture) -> Any:
        """Coordinates (nq,) of its last body."""
        return self.element.poses(at.q)[-self.element.kind.space.nq :]

    def _place(self, at: Posture) -> Any:
        return self.element.kind.space.place(self._body(at), self.element.at[-1])


def _in_space(place: Any) -> Any:
    """(3,) of a place in the plane or in space."""
    return place if len(place) == 3 else np.stack([place[0], place[1], 0.0 * place[0]])
