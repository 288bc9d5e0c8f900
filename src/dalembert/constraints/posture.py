"""What a constraint may ask of the system it holds, at one configuration: names, frames, Jacobians."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.errors import ConstraintError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.systems.dynamics import Dynamics

Pose = tuple[Any, Any]  # (R, p)
Placed = tuple[str, Any]  # a frame, and a pose (4, 4) fixed in it or None


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

    def tendon(self, name: str) -> Any:
        """The length of the tendon of that name, m."""
        names = tuple(tendon.name for tendon in getattr(self.system.description, "tendons", ()))
        return self._lengths[index(names, name, f"{self.system.name} has no tendon")]

    def tendon_motions(self, name: str) -> Any:
        """(m, nv) of the velocities of its points, which its length is a difference of, m/s.

        None where it runs over joints, whose coordinates do not cancel.
        """
        tree = self.system.description.tree
        tendon = next(x for x in tree.tendons if x.name == name)
        frames = {frame.body: name for name, frame in tree.frames.items()}
        anchors = [end for part in tendon.segments for end in (part.start, part.end)]
        found = []
        for anchor in anchors:
            J = self.jacobian(frames[anchor.body], self.pose(frames[anchor.body])[1])
            found += [J[0:3], np.linalg.norm(anchor.point) * J[3:6]]
        return np.concatenate(found) if found else None

    @cached_property
    def _lengths(self) -> Any:
        return self.system.compute("tendon_length", q=self.q)

    @cached_property
    def _poses(self) -> Mapping[str, Any]:
        return self.system.poses(self.q)

    def _require(self, frame: str) -> None:
        if not self.system.frames:
            raise ConstraintError(
                f"{self.system.name} has no frames: hold it by Holonomic or Pfaffian constraints "
                "on its coordinates"
            )
        self.system.require_frame(frame)

    def pose(self, frame: str, offset: Any = None) -> Pose:
        """(R, p) in the world of a named frame, moved by a pose (4, 4) fixed in it."""
        self._require(frame)
        found = self._poses[frame]
        moved = found if offset is None else found @ offset
        return moved[0:3, 0:3], moved[0:3, 3]

    def poses_apart(self, a: Placed, b: Placed) -> tuple[Pose, Pose, Pose]:
        """Poses of the nearest body that carries both frames, and of a and b in that body."""
        self._require(a[0])
        self._require(b[0])
        poses = self.system.poses_apart(self.q, a[0], b[0])
        moved = [
            T if offset is None else T @ offset
            for T, offset in zip(poses, (None, a[1], b[1]), strict=True)
        ]
        carrier, first, second = ((T[0:3, 0:3], T[0:3, 3]) for T in moved)
        return carrier, first, second

    def jacobian(self, frame: str, point: Any) -> Any:
        """(6, nv): velocity of the `point` carried by the frame, and its angular velocity."""
        J = self.system.frame_jacobian(self.q, frame, expressed_in="spatial")
        if isinstance(J, np.ndarray) and isinstance(point, np.ndarray):
            return np.concatenate([J[0:3] + np.cross(J[3:6].T, point).T, J[3:6]])
        linear = [J[0:3, k] + np.cross(J[3:6, k], point) for k in range(J.shape[1])]
        return np.concatenate([np.stack(linear).T, J[3:6]])


def index(names: tuple[str, ...], name: str, what: str) -> int:
    """Position of a name; an unknown one is an error that suggests the nearest."""
    if name not in names:
        raise UnknownNameError(f"{what} {name!r}{suggest(name, list(names))}")
    return names.index(name)
