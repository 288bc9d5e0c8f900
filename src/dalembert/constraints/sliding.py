"""Contacts that slide with Coulomb friction, and soft fingers, which resist spin too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalembert.constraints.kinds import Constraint
from dalembert.constraints.posture import Posture
from dalembert.constraints.rolling import PointOnSurface
from dalembert.errors import ConstraintError
from dalembert.formulations.parts.drive import saturated
from dalembert.model.parameter import expression
from dalembert.systems.friction import LEAST_WIDTH


def limit_wrench(J: Any, n: Any, qd: Any, limits: tuple[Any, Any], width: float) -> Any:
    """Friction (6,) at unit normal force, against the slip J q̇ (6,) at a contact of normal n (3,).

    Force and moment lie on the ellipsoid |f|²/μ² + m²/γ² = 1 that dissipates most: μ² v and γ² ω_n
    over √(μ² |v|² + γ² ω_n²), with `limits` = (μ, γ) (Howe and Cutkosky 1996).
    """
    v, spin = J[0:3] @ qd, n @ (J[3:6] @ qd)
    slip = v - (v @ n) * n
    mu, gamma = limits
    floor = mu * width
    speed = np.sqrt(np.maximum(mu * mu * (slip @ slip) + gamma * gamma * spin * spin, floor**2))
    return saturated(np.concatenate([mu * mu * slip, gamma * gamma * spin * n]), speed, floor)


def require_positive(kind: Constraint, **values: Any) -> None:
    """Raise for numbers that are missing or not positive."""
    for what, value in values.items():
        if value is None or (isinstance(value, int | float) and not value > 0.0):
            raise ConstraintError(
                f"{type(kind).__name__} {kind.label!r}: give {what} a positive value"
            )


@dataclass(frozen=True, eq=False)
class Sliding(PointOnSurface):
    """A ball (or point) on a surface with Coulomb friction: μ times the normal force against slip.

    The direction of slip rises linearly over the speed `width` (m/s), as the friction of joints
    does where it is smoothed: below it the contact sticks but for a creep that carries the load. A
    ball passes from sliding into rolling by itself. Fixed steps should be shorter than
    2 m width/(μ λ), m the mass that the slip feels. λ, one row, is the normal force.
    """

    mu: Any = None
    width: float = LEAST_WIDTH

    rubs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_positive(self, mu=self.mu, width=self.width)

    @property
    def limits(self) -> tuple[Any, Any]:
        """(largest force, largest moment in m) per normal force."""
        return expression(self.mu), 0.0

    def rubbing(self, at: Posture, qd: Any) -> tuple[Any, Any]:
        n, (_, centre) = self.normal(at), at.pose(self.frame)
        point = centre - self.radius * n
        J = at.jacobian(self.frame, point) - at.jacobian(self.on, point)
        return limit_wrench(J, n, qd, self.limits, self.width), J


@dataclass(frozen=True, eq=False)
class SoftFinger(Sliding):
    """Sliding with friction against spin as well: a moment of up to `torsion` (m) times λ.

    For a round patch of radius a that presses evenly, torsion is ⅔ μ a. `Rolling` without spin is
    the soft finger that never slips.
    """

    torsion: Any = None

    def __post_init__(self) -> None:
        require_positive(self, mu=self.mu, width=self.width, torsion=self.torsion)

    @property
    def limits(self) -> tuple[Any, Any]:
        return expression(self.mu), expression(self.torsion)
