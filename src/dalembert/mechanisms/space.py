"""Where a body lives: its coordinates, its velocities, and how one moves the other.

A planar body has (x, y, φ); a spatial one the position of its centre of mass and a quaternion
(x, y, z, w), with the velocity (ṗ in world axes, ω in body axes). There are no quaternion rates
among the velocities, so no multiplier is spent on keeping a quaternion long; M is constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.spatial.quaternions import rate_map


@dataclass(frozen=True)
class Space:
    """Sizes and names of the coordinates of one body."""

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
    def reference(self) -> np.ndarray:
        """The coordinates (nq,) of the ground."""
        return np.zeros(3) if self.dimension == 2 else np.array([0.0, 0, 0, 0, 0, 0, 1])

    def rate(self, q: Any, v: Any) -> Any:
        """q̇ (nq,) of one body with velocity v (nv,), numbers or symbols."""
        if self.dimension == 2:
            return v
        return np.concatenate([v[:3], rate_map(q[3:]) @ v[3:]])

    def rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """q̇ (bodies, nq) of many bodies."""
        if self.dimension == 2:
            return v
        return np.concatenate([v[:, :3], 0.5 * _product(q[:, 3:], v[:, 3:])], axis=1)

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Coordinates (bodies, nq) after unit time at the velocity `step` (bodies, nv)."""
        if self.dimension == 2:
            return q + step
        half = 0.5 * step[:, 3:]
        angle = np.sqrt((half * half).sum(axis=1, keepdims=True))
        # q ⊗ exp(φ) = cos |φ/2| q + q ⊗ (φ/2 sinc |φ/2|, 0)
        turned = np.cos(angle) * q[:, 3:] + _product(q[:, 3:], half * np.sinc(angle / np.pi))
        return np.concatenate([q[:, :3] + step[:, :3], turned], axis=1)

    def normalised(self, q: np.ndarray) -> np.ndarray:
        """The same postures (bodies, nq) with unit quaternions."""
        if self.dimension == 2:
            return q
        length = np.sqrt((q[:, 3:] ** 2).sum(axis=1, keepdims=True))
        return np.concatenate([q[:, :3], q[:, 3:] / length], axis=1)


def _product(q: np.ndarray, w: np.ndarray) -> np.ndarray:
    """q ⊗ (w, 0) (n, 4)."""
    u, s = q[:, :3], q[:, 3:]
    vector = s * w + np.cross(u, w)
    return np.concatenate([vector, -(u * w).sum(axis=1, keepdims=True)], axis=1)


PLANAR = Space("planar", ("x", "y", "phi"), ("vx", "vy", "omega"), 2)
SPATIAL = Space(
    "spatial",
    ("x", "y", "z", "qx", "qy", "qz", "qw"),
    ("vx", "vy", "vz", "omega_x", "omega_y", "omega_z"),
    3,
)
