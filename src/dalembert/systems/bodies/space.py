"""The space of a body, planar or spatial: coordinates, velocities, and their manifold.

A planar body has (x, y, φ); a spatial one the position of its centre of mass and a quaternion
(x, y, z, w), with the velocity (ṗ in world axes, ω in body axes). There are no quaternion rates
among the velocities, so no multiplier is spent on keeping a quaternion long; M is constant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.model.joint import Ball
from dalembert.spatial import se3
from dalembert.spatial.quaternions import matrix_from_quaternion
from dalembert.spatial.rotations import hat, rotation_z

Array = np.ndarray  # of floats or of symbols
TURN = Ball()


@dataclass(frozen=True)
class Space:
    """Sizes and names of the coordinates of one body; every method is traceable."""

    name: str
    coordinates: tuple[str, ...]
    velocities: tuple[str, ...]
    dimension: int

    @property
    def nq(self) -> int:
        """Coordinates of a body."""
        return len(self.coordinates)

    @property
    def nv(self) -> int:
        """Velocities of a body."""
        return len(self.velocities)

    @property
    def reference(self) -> Array:
        """The coordinates (nq,) of the ground."""
        return np.zeros(3) if self.dimension == 2 else np.array([0.0, 0, 0, 0, 0, 0, 1])

    @property
    def kinds(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The kind of each entry of q and of the velocity of a body."""
        if self.dimension == 2:
            return ("length", "length", "angle"), ("length", "length", "angle")
        return ("length",) * 3 + ("quaternion",) * 4, ("length",) * 3 + ("angle",) * 3

    def rate(self, q: Array, v: Array) -> Array:
        """q̇ (nq,) of one body with velocity v (nv,)."""
        return v if self.dimension == 2 else np.concatenate([v[:3], TURN.rate(q[3:7], v[3:6])])

    def integrate(self, q: Array, step: Array) -> Array:
        """Coordinates (nq,) after unit time at the velocity `step` (nv,)."""
        if self.dimension == 2:
            return q + step
        return np.concatenate([q[:3] + step[:3], TURN.integrate(q[3:7], step[3:6])])

    def difference(self, q: Array, to: Array) -> Array:
        """The shortest step (nv,) with integrate(q, step) = to."""
        if self.dimension == 2:
            return to - q
        return np.concatenate([to[:3] - q[:3], TURN.difference(q[3:7], to[3:7])])

    def pull_back(self, step: Array, velocity: Array) -> Array:
        """The rate (nv,) of the step Ω at which integrate(q, Ω) moves with the velocity."""
        if self.dimension == 2:
            return velocity
        return np.concatenate([velocity[:3], TURN.pull_back(step[3:6], velocity[3:6])])

    def normalised(self, q: Array) -> Array:
        """q (nq,) with its quaternion of unit length."""
        return q if self.dimension == 2 else np.concatenate([q[:3], TURN.normalised(q[3:7])])

    def rotation(self, q: Array) -> Array:
        """Axes of a body in the world, as columns: (2, 2) or (3, 3)."""
        if self.dimension == 3:
            return matrix_from_quaternion(q[3:7])
        c, s = np.cos(q[2]), np.sin(q[2])
        return np.stack([np.stack([c, -s]), np.stack([s, c])])

    def place(self, q: Array, local: Array) -> Array:
        """Position of a local point in the world, (2,) or (3,)."""
        return q[: self.dimension] + self.rotation(q) @ local

    def wrench(self, q: Array, pull: Array, about: Array) -> Array:
        """A force `pull` (nv,) along a body's velocities as force and moment about a point.

        (Fx, Fy, M) in the plane and (F, M) (6,) in space, along the world's axes.
        """
        arm = q[: self.dimension] - about
        if self.dimension == 2:
            return np.stack([pull[0], pull[1], pull[2] + arm[0] * pull[1] - arm[1] * pull[0]])
        moment = self.rotation(q) @ pull[3:6] + np.cross(arm, pull[0:3])
        return np.concatenate([pull[0:3], moment])

    def pose(self, q: Array) -> Array:
        """The (4, 4) pose of a body; the plane is that of x and y."""
        if self.dimension == 3:
            return se3.pose(self.rotation(q), q[:3])
        return se3.pose(rotation_z(q[2]), np.concatenate([q[:2], 0.0 * q[:1]]))

    def jacobian(self, q: Array, expressed_in: str = "world") -> Array:
        """(6, nv) from a body's velocity to that of its frame: world, body or spatial axes."""
        T = self.pose(q)
        R, p = T[:3, :3], T[:3, 3]
        if self.dimension == 2:
            linear, angular = (
                np.eye(3)[:, [0, 1]] @ np.eye(2, 3),
                np.outer(np.eye(3)[2], np.eye(3)[2]),
            )
        else:
            linear, angular = np.eye(3, 6), np.concatenate([np.zeros((3, 3)), R], axis=1)
        if expressed_in == "body":
            return np.concatenate([R.T @ linear, R.T @ angular])
        if expressed_in == "spatial":  # of the point of the body at the origin: v + p × ω
            linear = linear + hat(p) @ angular
        return np.concatenate([linear + 0.0 * q[0], angular + 0.0 * q[0]])


PLANAR = Space("planar", ("x", "y", "phi"), ("vx", "vy", "omega"), 2)
SPATIAL = Space(
    "spatial",
    ("x", "y", "z", "qx", "qy", "qz", "qw"),
    ("vx", "vy", "vz", "omega_x", "omega_y", "omega_z"),
    3,
)
