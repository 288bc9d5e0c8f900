"""Contacts of any two charts, in a system that has (η, d) among its coordinates.

The row of the normal is h = −d, so that its λ is the normal force, positive where the surface
pushes. Further rows, and friction, are those of V_{l_o l_f} in the finger's contact frame (000 p.78).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalembert.constraints import montana
from dalembert.constraints.contact import Contact, RollingRows
from dalembert.constraints.posture import Posture
from dalembert.constraints.sliding import limit_wrench, require_positive
from dalembert.constraints.surfaces import Surface
from dalembert.model.parameter import expression
from dalembert.systems.friction import LEAST_WIDTH

COORDINATES = (*montana.COORDINATES, "gap")


@dataclass(frozen=True, eq=False)
class SurfaceContact(Contact):
    """A finger's surface slides on an object's without friction: d = 0.

    Without frames, the finger moves against a fixed object and (η̇, ḋ) are the velocities.
    """

    obj: Surface
    finger: Surface
    coordinates: tuple[str, ...] = COORDINATES
    frame: str = ""
    on: str = ""
    name: str | None = None

    @property
    def surfaces(self) -> tuple[Surface, Surface]:
        return self.obj, self.finger

    def eta(self, at: Posture) -> Any:
        return np.stack([at.coordinate(name) for name in self.coordinates])

    def contact_frame(self, at: Posture) -> tuple[Any, Any]:
        eta = self.eta(at)
        g, tip = montana.relative_pose(*self.surfaces, eta), self.finger.at(eta[2:4])
        R, p = (g[0:3, 0:3], g[0:3, 3]) if not self.frame else at.pose(self.frame)
        return R @ tip.frame, p + R @ tip.point

    def twist_map(self, at: Posture) -> Any:
        if self.frame:
            return super().twist_map(at)
        return montana.contact_map(*self.surfaces, self.eta(at))

    def position(self, at: Posture) -> Any:
        return np.stack([-at.coordinate(self.coordinates[5])])

    def wrench(self, at: Posture, lam: Any) -> Any:
        axes, _ = self.contact_frame(at)
        return np.concatenate([-lam[0] * axes[:, 2], np.zeros(3)])


@dataclass(frozen=True, eq=False)
class SurfaceRolling(RollingRows, SurfaceContact):
    """The finger rolls: v_x = v_y = 0 and, unless `spin`, ω_z = 0."""

    spin: bool = False


@dataclass(frozen=True, eq=False)
class SurfaceSliding(SurfaceContact):
    """The finger slides with Coulomb friction μ λ and, with `torsion` (m), a moment against spin."""

    mu: Any = None
    torsion: Any = 0.0
    width: float = LEAST_WIDTH

    rubs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_positive(self, mu=self.mu, width=self.width)

    def rubbing(self, at: Posture, qd: Any) -> tuple[Any, Any]:
        axes, _ = self.contact_frame(at)
        J = self.twist_map(at)
        J = np.concatenate([axes @ J[0:3], axes @ J[3:6]])
        limits = expression(self.mu), expression(self.torsion)
        return limit_wrench(J, axes[:, 2], qd, limits, self.width), J
