"""What a constraint may ask of the system it holds, at one configuration: names, frames, Jacobians."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.errors import ConstraintError, UnknownNameError
from dalembert.formulations.kinematics.frames import Pose, body_poses, chain, frame_pose, jacobian
from dalembert.formulations.registry import suggest
from dalembert.model import Model
from dalembert.systems.system import Dynamics


class Posture:
    """A system at a configuration q (nq,), numbers or symbols, and at a time t."""

    def __init__(
        self, system: Dynamics, q: Any, t: Any = 0.0, names: Mapping[str, Any] | None = None
    ) -> None:
        self.system, self.q, self.t = system, q, t
        self.names = names or {}  # symbols of coordinates, time and parameters

    def coordinate(self, name: str) -> Any:
        """The coordinate of that name."""
        return self.q[index(self.system.coordinates, name, f"{self.system.name} has no coordinate")]

    @cached_property
    def _tree(self) -> tuple[Model, Any]:
        """The robot's tree with its own coordinates; other systems have no frames."""
        model = self.system.description
        if not isinstance(model, Model):
            raise ConstraintError(
                f"{self.system.name} has no frames: hold it by Holonomic or Pfaffian constraints "
                "on its coordinates"
            )
        if model.coupling is None:
            return model, self.q
        return model.tree, model.coupling.expand(self.q)

    @cached_property
    def _poses(self) -> list[Pose]:
        return body_poses(*self._tree)

    def pose(self, frame: str, offset: Any = None) -> Pose:
        """(R, p) in the world of a named frame, moved by a pose (4, 4) fixed in it."""
        found = frame_pose(self._tree[0], self._poses, frame)
        return found if offset is None else chain(found, (offset[0:3, 0:3], offset[0:3, 3]))

    def jacobian(self, frame: str, point: Any) -> Any:
        """(6, nv): velocity of the `point` carried by the frame, and its angular velocity."""
        model, q = self._tree
        J = jacobian(model, q, frame, expressed_in="spatial")
        if model is not self.system.description:
            J = J @ self.system.description.coupling.G
        linear = [J[0:3, k] + np.cross(J[3:6, k], point) for k in range(J.shape[1])]
        return np.concatenate([np.stack(linear).T, J[3:6]])


def index(names: tuple[str, ...], name: str, what: str) -> int:
    """Position of a name; an unknown one is an error that suggests the nearest."""
    if name not in names:
        raise UnknownNameError(f"{what} {name!r}{suggest(name, list(names))}")
    return names.index(name)
