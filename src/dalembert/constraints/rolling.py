"""Contacts of a ball (or a point) carried by a frame with a surface fixed in another.

Rows are those of V_{l_o l_f} in the contact frame of the ball (000 p.76–78): v_z, and for rolling
v_x, v_y and, without spin, ω_z. λ_z is the normal force, positive where the surface pushes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import tracing
from dalembert.constraints import montana
from dalembert.constraints.contact import Contact, RollingRows
from dalembert.constraints.posture import Posture
from dalembert.constraints.surfaces import Sphere, Surface
from dalembert.errors import ConstraintError

AXES = {"x": 0, "y": 1, "z": 2}
POLE = "x"  # fingers mostly point along z


@dataclass(frozen=True, eq=False)
class PointOnSurface(Contact):
    """The origin of a frame, or a ball of this `radius` (m) around it, slides on a surface.

    `surface` is fixed in the frame `on`. Balls may touch spheres, planes, cylinders and tori; points
    any surface that has a height. Contact coordinates of a ball are those of `Sphere(radius, "x")`
    in its frame.
    """

    frame: str
    surface: Surface
    on: str = "base"
    radius: float = 0.0
    name: str | None = None

    def position(self, at: Posture) -> Any:
        return np.stack([self.radius - self._height(self._seen(at)[1])])

    def _height(self, p: Any) -> Any:
        self._require()
        return self.surface.height(p)  # type: ignore[misc]  # _require has seen that it is there

    def _require(self) -> None:
        surface = self.surface
        if surface.height is None or (self.radius > 0.0 and not surface.offset):
            raise ConstraintError(
                f"constraint {self.label!r}: a {'ball' if self.radius else 'point'} on this "
                f"{surface.name} needs its distance; use a sphere, plane or cylinder, a point on a "
                "surface with height=, or contact coordinates (ContactBody)"
            )

    def _seen(self, at: Posture) -> tuple[Any, Any]:
        """(rotation of the surface's frame, centre of the ball in it)."""
        (R_o, p_o), (_, p) = at.pose(self.on), at.pose(self.frame)
        return R_o, R_o.T @ (p - p_o)

    def normal(self, at: Posture) -> Any:
        """The surface's outward normal (3,) in the world."""
        R_o, p = self._seen(at)
        x = tracing.symbol("x", 3)
        (n,) = tracing.at([tracing.gradient(self._height(x), x)], [x], [p])
        return R_o @ (n / np.sqrt(n @ n))

    # the ball as a finger

    @property
    def has_coordinates(self) -> bool:
        return self.radius > 0.0 and self.surface.coordinates is not None

    @property
    def surfaces(self) -> tuple[Surface, Surface]:
        return self.surface, Sphere(self.radius, getattr(self, "pole", POLE))

    def contact_frame(self, at: Posture) -> tuple[Any, Any]:
        R_f, p_f = at.pose(self.frame)
        z = -self.normal(at)
        e = R_f[:, AXES[getattr(self, "pole", POLE)]]
        x = e - (e @ z) * z
        x = x / np.sqrt(x @ x)
        return np.stack([x, np.cross(z, x), z]).T, p_f + self.radius * z

    def eta(self, at: Posture) -> Any:
        obj, finger = self.surfaces
        (R_o, p), (R_f, p_f) = self._seen(at), at.pose(self.frame)
        axes, point = self.contact_frame(at)
        alpha_o, alpha_f = obj.coordinates(p), finger.coordinates(R_f.T @ (point - p_f))  # type: ignore[misc]  # has_coordinates
        psi = montana.angle(R_o @ obj.at(alpha_o).frame, axes)
        return np.concatenate([alpha_o, alpha_f, np.stack([psi, -self.position(at)[0]])])

    def wrench(self, at: Posture, lam: Any) -> Any:
        n = self.normal(at)
        return np.concatenate([lam[0] * n, np.zeros(3)])

    def point(self, at: Posture) -> Any:
        # as the contact frame says, which a ball that stands on its pole does not have
        return at.pose(self.frame)[1] - self.radius * self.normal(at)


@dataclass(frozen=True, eq=False)
class Rolling(RollingRows, PointOnSurface):
    """A ball rolls on a surface without slip and, unless `spin`, without turning about the normal.

    λ = (normal force, minus the friction along x and y of the ball's contact frame, minus the moment
    about its normal). `pole` is the axis of the frame about which the ball's chart turns; its two
    ends are singular points.
    """

    spin: bool = False
    pole: str = POLE

    def __post_init__(self) -> None:
        if not self.radius > 0.0:
            raise ConstraintError(f"rolling {self.label!r}: give the ball a positive radius")
        if self.pole not in AXES:
            raise ConstraintError(f"rolling {self.label!r}: pole {self.pole!r} must be x, y or z")
