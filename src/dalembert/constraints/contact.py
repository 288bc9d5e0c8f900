"""What every contact of two surfaces has: contact coordinates η, their rates, the twist there.

V_{l_o l_f} = (v_x, v_y, v_z, ω_x, ω_y, ω_z) is the finger's twist against the object in the Gauss
frame of the finger (000 p.76–78): (v_x, v_y) is slip, (ω_x, ω_y) the rolling velocity, ω_z spin.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints import montana
from dalembert.constraints.kinds import Constraint
from dalembert.constraints.montana import COORDINATES as COORDINATES
from dalembert.constraints.posture import Posture, index
from dalembert.constraints.surfaces import Surface
from dalembert.errors import ConstraintError

if TYPE_CHECKING:
    from dalembert.constraints.description import ConstrainedDynamics


class Contact(Constraint):
    """A surface carried by one frame touches a surface fixed in another."""

    frame: str
    on: str

    @property
    def between(self) -> tuple[str, str]:
        return self.on, self.frame

    @property
    def units(self) -> tuple[str, ...]:
        return ("N",)

    def point(self, at: Posture) -> Any:
        return self.contact_frame(at)[1]

    def terms(self, F: Any, lam: Any) -> dict[str, Any]:
        """Force on the finger at its point, moment about it, and the normal force."""
        return {"force": F[..., 0:3], "moment": F[..., 3:6], "normal": lam[..., 0]}

    @property
    def has_coordinates(self) -> bool:
        """Whether η can be computed: both sides are surfaces with known charts."""
        return True

    @property
    @abstractmethod
    def surfaces(self) -> tuple[Surface, Surface]:
        """(object, finger), each in its own frame."""

    @abstractmethod
    def eta(self, at: Posture) -> Any:
        """(α_o, α_f, ψ, d) (6,), d the gap, m."""

    @abstractmethod
    def contact_frame(self, at: Posture) -> tuple[Any, Any]:
        """([x y z] (3, 3) of l_f in the world, z out of the finger, and the contact point (3,))."""

    def twist_map(self, at: Posture) -> Any:
        """J (6, nv) with V_{l_o l_f} = J q̇."""
        axes, point = self.contact_frame(at)
        # of the finger's material point against the object's, and of their angular velocities
        J = at.jacobian(self.frame, point) - at.jacobian(self.on, point)
        return np.concatenate([axes.T @ J[0:3], axes.T @ J[3:6]])

    def rate_map(self, at: Posture) -> Any:
        """(5, nv) with (α̇_o, α̇_f, ψ̇) = J q̇, by Montana's equations."""
        return montana.contact_rates(*self.surfaces, self.eta(at), self.twist_map(at))[0:5]


class RollingRows(Contact):
    """A contact that rolls: v_x = v_y = 0 and, unless `spin`, ω_z = 0, after the row of the normal.

    λ = (normal force, minus the friction along x and y of l_f, minus the moment about its z).
    """

    spin: bool

    @property
    def units(self) -> tuple[str, ...]:
        return ("N", "N", "N") if self.spin else ("N", "N", "N", "N m")

    def velocity(self, at: Posture) -> Any:
        J = self.twist_map(at)
        rows = J[[0, 1]] if self.spin else J[[0, 1, 5]]
        return rows, np.zeros(rows.shape[0])

    def wrench(self, at: Posture, lam: Any) -> Any:
        axes, _ = self.contact_frame(at)
        force = -(lam[1] * axes[:, 0] + lam[2] * axes[:, 1] + lam[0] * axes[:, 2])
        moment = 0.0 * force if self.spin else -lam[3] * axes[:, 2]
        return np.concatenate([force, moment])

    def terms(self, F: Any, lam: Any) -> dict[str, Any]:
        """Also the size of the friction."""
        return {**super().terms(F, lam), "friction": np.linalg.norm(lam[..., 1:3], axis=-1)}


def contacts(system: ConstrainedDynamics) -> tuple[str, ...]:
    """Names of the constraints that have contact coordinates."""
    found = system.constraints.items()
    return tuple(name for name, kind in found if isinstance(kind, Contact) and kind.has_coordinates)


def contact_name(system: ConstrainedDynamics, name: str | None, rubs: bool = False) -> str:
    """The contact of that name, or the only one, with friction where `rubs`."""
    if name is not None:
        every = tuple(system.constraints)
        return every[index(every, name, f"{system.name} has no contact")]
    known, what = contacts(system), "contact of two surfaces"
    if rubs:
        known = tuple(name for name, kind in system.constraints.items() if kind.rubs)
        what = "contact that rubs"
    if len(known) == 1:
        return known[0]
    found = ", ".join(known) if known else f"no {what}"
    raise ConstraintError(f"{system.name} has {found}; name one with contact=")


def _contact(system: ConstrainedDynamics, constraint: str, q: Any, t: Any) -> tuple[Any, Posture]:
    kind = system.constraints[constraint]
    if not isinstance(kind, Contact) or not kind.has_coordinates:
        raise ConstraintError(
            f"constraint {constraint!r} has no contact coordinates: it needs two surfaces, a ball "
            "with a radius and a surface with coordinates=, or contact coordinates (ContactBody)"
        )
    return kind, Posture(system.dynamics, q, 0.0 if t is None else t)


def coordinates(system: ConstrainedDynamics, q: Any, t: Any = None, constraint: str = "") -> Any:
    """η (5,) = (α_o, α_f, ψ) (000 p.76)."""
    kind, at = _contact(system, constraint, q, t)
    return kind.eta(at)[0:5]


def jacobian(system: ConstrainedDynamics, q: Any, t: Any = None, constraint: str = "") -> Any:
    """(5, nv) with η̇ = J q̇ (Montana 1988)."""
    kind, at = _contact(system, constraint, q, t)
    return kind.rate_map(at)


def rates(system: ConstrainedDynamics, q: Any, qd: Any, t: Any = None, constraint: str = "") -> Any:
    """η̇ (5,)."""
    return jacobian(system, q, t, constraint) @ qd


def twist(system: ConstrainedDynamics, q: Any, qd: Any, t: Any = None, constraint: str = "") -> Any:
    """V_{l_o l_f} (6,): slip, approach, rolling velocity and spin."""
    kind, at = _contact(system, constraint, q, t)
    return kind.twist_map(at) @ qd


def state(system: ConstrainedDynamics, q: Any, qd: Any, t: Any = None) -> tuple[Any, Any]:
    """(η, η̇) of all contacts, one after the other."""
    names = contacts(system)
    eta = [coordinates(system, q, t, name) for name in names]
    eta_dot = [rates(system, q, qd, t, name) for name in names]
    none = np.zeros(0)
    return np.concatenate([none, *eta]), np.concatenate([none, *eta_dot])
