"""Constraints of contact: sliding, rolling and soft-finger contacts of two surfaces.

V_{l_o l_f} = (v_x, v_y, v_z, ω_x, ω_y, ω_z) is the finger's twist against the object in the Gauss
frame of the finger (000 p.76–78): (v_x, v_y) is the slip, (ω_x, ω_y) the rolling velocity, ω_z the
spin. The first row holds the gap closed, and its λ is the normal force, positive where the surface
pushes; rolling adds v_x = v_y = 0 and, without spin, ω_z = 0. Friction is Coulomb's (`friction`).

`PointOnSurface`, `Rolling`, `Sliding` and `SoftFinger` are contacts of a ball or point carried by a
frame; `SurfaceContact` and its subclasses are contacts of any two charts, in a system that has (η, d)
among its coordinates (`contact_systems`).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dalembert import tracing
from dalembert.constraints.coulomb_friction import limit_wrench, require_positive
from dalembert.constraints.kinds import Constraint, Posture, index
from dalembert.constraints.registry import quantity
from dalembert.constraints.surfaces import (
    CONTACT_COORDINATES,
    Sphere,
    Surface,
    contact_angle,
    contact_map,
    contact_rates,
    relative_pose,
)
from dalembert.errors import ConstraintError
from dalembert.model.parameter import expression
from dalembert.spatial.arrays import Array, Scalar
from dalembert.systems.friction import LEAST_WIDTH

if TYPE_CHECKING:
    from dalembert.constraints.dynamics import ConstrainedDynamics


class Contact(Constraint):
    """A surface carried by one frame touches a surface fixed in another."""

    frame: str
    on: str

    @property
    def between(self) -> tuple[str, str]:
        return self.on, self.frame

    units = ("N",)
    # whether η can be computed: both sides are surfaces with known charts
    has_coordinates = True

    def point(self, at: Posture) -> Array:
        return self.contact_frame(at)[1]

    def terms(self, F: Array, lam: Array) -> dict[str, Any]:
        """Force on the finger at its point, moment about it, and the normal force."""
        return {"force": F[..., 0:3], "moment": F[..., 3:6], "normal": lam[..., 0]}

    @property
    @abstractmethod
    def surfaces(self) -> tuple[Surface, Surface]:
        """(object, finger), each in its own frame."""

    @abstractmethod
    def eta(self, at: Posture) -> Array:
        """(α_o, α_f, ψ, d) (6,), d the gap, m."""

    @abstractmethod
    def contact_frame(self, at: Posture) -> tuple[Array, Array]:
        """([x y z] (3, 3) of l_f in the world, z out of the finger, and the contact point (3,))."""

    def twist_map(self, at: Posture) -> Array:
        """J (6, nv) with V_{l_o l_f} = J q̇."""
        axes, point = self.contact_frame(at)
        # of the finger's material point against the object's, and of their angular velocities
        J = at.jacobian(self.frame, point) - at.jacobian(self.on, point)
        return np.concatenate([axes.T @ J[0:3], axes.T @ J[3:6]])


class CoulombContact(Contact):
    """A contact that slides with friction: `mu` times the normal force, and `torsion` (m) against spin.

    The direction of slip rises linearly over the speed `width` (m/s).
    """

    mu: Any
    torsion: Any = 0.0
    width: float

    has_friction: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_positive(self, mu=self.mu, width=self.width)

    @abstractmethod
    def relative_motion(self, at: Posture) -> tuple[Array, Array]:
        """(normal (3,), J (6, nv) of the finger's point against the object's), along world axes."""

    def unit_friction(self, at: Posture, qd: Array) -> tuple[Array, Array]:
        n, J = self.relative_motion(at)
        limits = expression(self.mu), expression(self.torsion)
        return limit_wrench(J, n, qd, limits, self.width), J


class RollingRows(Contact):
    """A contact that rolls: v_x = v_y = 0 and, unless `spin`, ω_z = 0, after the row of the normal.

    λ = (normal force, minus the friction along x and y of l_f, minus the moment about its z).
    """

    spin: bool

    @property
    def units(self) -> tuple[str, ...]:  # type: ignore[override]  # by `spin`
        return ("N", "N", "N") if self.spin else ("N", "N", "N", "N m")

    def velocity(self, at: Posture) -> tuple[Array, Array]:
        J = self.twist_map(at)
        rows = J[[0, 1]] if self.spin else J[[0, 1, 5]]
        return rows, np.zeros(rows.shape[0])

    def wrench(self, at: Posture, lam: Array) -> Array:
        axes, _ = self.contact_frame(at)
        force = -(lam[1] * axes[:, 0] + lam[2] * axes[:, 1] + lam[0] * axes[:, 2])
        moment = 0.0 * force if self.spin else -lam[3] * axes[:, 2]
        return np.concatenate([force, moment])

    def terms(self, F: Array, lam: Array) -> dict[str, Any]:
        """Also the size of the friction."""
        return {**super().terms(F, lam), "friction": np.linalg.norm(lam[..., 1:3], axis=-1)}


def contacts(system: ConstrainedDynamics) -> tuple[str, ...]:
    """Names of the constraints that have contact coordinates."""
    constraints = system.constraints.items()
    return tuple(
        name for name, kind in constraints if isinstance(kind, Contact) and kind.has_coordinates
    )


def contact_name(system: ConstrainedDynamics, name: str | None, with_friction: bool = False) -> str:
    """The contact of that name, or the only one; with friction if `with_friction`."""
    if name is not None:
        every = tuple(system.constraints)
        return every[index(every, name, f"{system.name} has no contact")]
    names, what = contacts(system), "contact of two surfaces"
    if with_friction:
        names = tuple(name for name, kind in system.constraints.items() if kind.has_friction)
        what = "contact with friction"
    if len(names) == 1:
        return names[0]
    choices = ", ".join(names) if names else f"no {what}"
    raise ConstraintError(f"{system.name} has {choices}; name one with contact=")


of_contact = partial(quantity, citation="Montana 1988; 000 p.76")


def _contact(system: ConstrainedDynamics, constraint: str, q: Array) -> tuple[Contact, Posture]:
    kind = system.constraints[constraint]
    if not isinstance(kind, Contact) or not kind.has_coordinates:
        raise ConstraintError(
            f"constraint {constraint!r} has no contact coordinates: it needs two surfaces, a ball "
            "with a radius and a surface with coordinates=, or contact coordinates (ContactBody)"
        )
    return kind, Posture(system.dynamics, q, system.now)


@of_contact("eta(5)", "η = (α_o, α_f, ψ) of a contact", name="contact_coordinates")
def coordinates(system: ConstrainedDynamics, q: Array, constraint: str = "") -> Array:
    """η (5,) = (α_o, α_f, ψ) (000 p.76)."""
    kind, at = _contact(system, constraint, q)
    return kind.eta(at)[0:5]


@of_contact("J(5, nv)", "the matrix of η̇ = J q̇", name="contact_jacobian")
def jacobian(system: ConstrainedDynamics, q: Array, constraint: str = "") -> Array:
    """(5, nv) with η̇ = (α̇_o, α̇_f, ψ̇) = J q̇, by Montana's equations (Montana 1988)."""
    kind, at = _contact(system, constraint, q)
    return contact_rates(*kind.surfaces, kind.eta(at), kind.twist_map(at))[0:5]


@of_contact("eta_dot(5)", "η̇ of a contact", name="contact_rates")
def rates(system: ConstrainedDynamics, q: Array, qd: Array, constraint: str = "") -> Array:
    """η̇ (5,)."""
    eta_dot: Array = jacobian(system, q, constraint) @ qd
    return eta_dot


@of_contact(
    "V(6)",
    "V_{l_o l_f}: slip, approach, rolling velocity and spin of a contact",
    name="contact_twist",
)
def twist(system: ConstrainedDynamics, q: Array, qd: Array, constraint: str = "") -> Array:
    """V_{l_o l_f} (6,): slip, approach, rolling velocity and spin."""
    kind, at = _contact(system, constraint, q)
    V: Array = kind.twist_map(at) @ qd
    return V


AXES = {"x": 0, "y": 1, "z": 2}
POLE = "x"  # fingers mostly point along z


@dataclass(frozen=True, eq=False)
class PointOnSurface(Contact):
    """The origin of a frame, or a ball of this `radius` (m) around it, slides on a surface.

    `surface` is fixed in the frame `on`. Balls may touch spheres, planes, cylinders and tori; points
    any surface that has a height. Contact coordinates of a ball are those of `Sphere(radius, "x")`
    in its frame.

    Parameters
    ----------
    frame : str
        Frame at the point, or at the centre of the ball.
    surface : Surface
        The surface.
    on : str
        Frame that carries the surface.
    radius : float
        Radius of the ball, m; 0 is a point.
    name : str, optional
        Its name; default its kind and a number.
    """

    frame: str
    surface: Surface
    on: str = "base"
    radius: float = 0.0
    name: str | None = None

    def position(self, at: Posture) -> Array:
        return np.stack([self.radius - self._height(self._centre(at)[1])])

    def _height(self, p: Array) -> Scalar:
        surface = self.surface
        if surface.height is None or (self.radius > 0.0 and not surface.offset):
            raise ConstraintError(
                f"constraint {self.label!r}: a {'ball' if self.radius else 'point'} on this "
                f"{surface.name} needs its distance; use a sphere, plane or cylinder, a point on a "
                "surface with height=, or contact coordinates (ContactBody)"
            )
        return self.surface.height(p)  # type: ignore[misc]  # checked above

    def _centre(self, at: Posture) -> tuple[Array, Array]:
        """(rotation of the surface's frame, centre of the ball in it)."""
        (R_o, p_o), (_, p) = at.pose(self.on), at.pose(self.frame)
        return R_o, R_o.T @ (p - p_o)

    def normal(self, at: Posture) -> Array:
        """The surface's outward normal (3,) in the world."""
        R_o, p = self._centre(at)
        x = tracing.symbol("x", 3)
        (n,) = tracing.at([tracing.gradient(self._height(x), x)], [x], [p])
        normal: Array = R_o @ (n / np.sqrt(n @ n))
        return normal

    # the ball as a finger

    @property
    def has_coordinates(self) -> bool:  # type: ignore[override]  # of a ball
        return self.radius > 0.0 and self.surface.coordinates is not None

    @property
    def surfaces(self) -> tuple[Surface, Surface]:
        return self.surface, Sphere(self.radius, getattr(self, "pole", POLE))

    def contact_frame(self, at: Posture) -> tuple[Array, Array]:
        R_f, p_f = at.pose(self.frame)
        z = -self.normal(at)
        e = R_f[:, AXES[getattr(self, "pole", POLE)]]
        x = e - (e @ z) * z
        x = x / np.sqrt(x @ x)
        return np.stack([x, np.cross(z, x), z]).T, p_f + self.radius * z

    def eta(self, at: Posture) -> Array:
        obj, finger = self.surfaces
        (R_o, p), (R_f, p_f) = self._centre(at), at.pose(self.frame)
        axes, point = self.contact_frame(at)
        alpha_o, alpha_f = obj.coordinates(p), finger.coordinates(R_f.T @ (point - p_f))  # type: ignore[misc]  # has_coordinates
        psi = contact_angle(R_o @ obj.at(alpha_o).frame, axes)
        return np.concatenate([alpha_o, alpha_f, np.stack([psi, -self.position(at)[0]])])

    def wrench(self, at: Posture, lam: Array) -> Array:
        n = self.normal(at)
        return np.concatenate([lam[0] * n, np.zeros(3)])

    def point(self, at: Posture) -> Array:
        # as the contact frame says, which a ball that stands on its pole does not have
        return at.pose(self.frame)[1] - self.radius * self.normal(at)


@dataclass(frozen=True, eq=False)
class Rolling(RollingRows, PointOnSurface):
    """A ball rolls on a surface without slip and, unless `spin`, without turning about the normal.

    λ = (normal force, minus the friction along x and y of the ball's contact frame, minus the moment
    about its normal). `pole` is the axis of the frame about which the ball's chart turns; its two
    ends are singular points.

    Parameters
    ----------
    frame : str
        Frame at the point, or at the centre of the ball.
    surface : Surface
        The surface.
    on : str
        Frame that carries the surface.
    radius : float
        Radius of the ball, m; 0 is a point.
    name : str, optional
        Its name; default its kind and a number.
    spin : bool
        Whether the ball may turn about the normal.
    pole : str
        Axis of the frame about which the ball's chart turns.
    """

    spin: bool = False
    pole: str = POLE

    def __post_init__(self) -> None:
        if not self.radius > 0.0:
            raise ConstraintError(f"rolling {self.label!r}: give the ball a positive radius")
        if self.pole not in AXES:
            raise ConstraintError(f"rolling {self.label!r}: pole {self.pole!r} must be x, y or z")


@dataclass(frozen=True, eq=False)
class Sliding(CoulombContact, PointOnSurface):
    """A ball (or point) on a surface with Coulomb friction: μ times the normal force against slip.

    The direction of slip rises linearly over the speed `width` (m/s), as the friction of joints
    does where it is smoothed: below it the contact sticks but for a creep that carries the load. A
    ball passes from sliding into rolling by itself. Fixed steps should be shorter than
    2 m width/(μ λ), m the mass that the slip feels. λ, one row, is the normal force.

    Parameters
    ----------
    frame : str
        Frame at the point, or at the centre of the ball.
    surface : Surface
        The surface.
    on : str
        Frame that carries the surface.
    radius : float
        Radius of the ball, m; 0 is a point.
    name : str, optional
        Its name; default its kind and a number.
    mu : float
        Coefficient of friction.
    width : float
        Speed over which the direction of slip rises, m/s.
    """

    mu: Any = None
    width: float = LEAST_WIDTH

    def relative_motion(self, at: Posture) -> tuple[Array, Array]:
        n, (_, centre) = self.normal(at), at.pose(self.frame)
        point = centre - self.radius * n
        return n, at.jacobian(self.frame, point) - at.jacobian(self.on, point)


@dataclass(frozen=True, eq=False)
class SoftFinger(Sliding):
    """Sliding with friction against spin as well: a moment of up to `torsion` (m) times λ.

    For a round patch of radius a that presses evenly, torsion is ⅔ μ a. `Rolling` without spin is
    the soft finger that never slips.

    Parameters
    ----------
    frame : str
        Frame at the point, or at the centre of the ball.
    surface : Surface
        The surface.
    on : str
        Frame that carries the surface.
    radius : float
        Radius of the ball, m; 0 is a point.
    name : str, optional
        Its name; default its kind and a number.
    mu : float
        Coefficient of friction.
    width : float
        Speed over which the direction of slip rises, m/s.
    torsion : float
        Largest moment about the normal beside λ, m.
    """

    torsion: Any = None

    def __post_init__(self) -> None:
        require_positive(self, mu=self.mu, width=self.width, torsion=self.torsion)


GAP_COORDINATES = (*CONTACT_COORDINATES, "gap")


@dataclass(frozen=True, eq=False)
class SurfaceContact(Contact):
    """A finger's surface slides on an object's without friction: d = 0.

    Without frames, the finger moves against a fixed object and (η̇, ḋ) are the velocities.
    """

    obj: Surface
    finger: Surface
    coordinates: tuple[str, ...] = GAP_COORDINATES
    frame: str = ""
    on: str = ""
    name: str | None = None

    @property
    def surfaces(self) -> tuple[Surface, Surface]:
        return self.obj, self.finger

    def eta(self, at: Posture) -> Array:
        return np.stack([at.coordinate(name) for name in self.coordinates])

    def contact_frame(self, at: Posture) -> tuple[Array, Array]:
        eta = self.eta(at)
        g, tip = relative_pose(*self.surfaces, eta), self.finger.at(eta[2:4])
        R, p = (g[0:3, 0:3], g[0:3, 3]) if not self.frame else at.pose(self.frame)
        return R @ tip.frame, p + R @ tip.point

    def twist_map(self, at: Posture) -> Array:
        if self.frame:
            return super().twist_map(at)
        return contact_map(*self.surfaces, self.eta(at))

    def position(self, at: Posture) -> Array:
        return np.stack([-at.coordinate(self.coordinates[5])])

    def wrench(self, at: Posture, lam: Array) -> Array:
        axes, _ = self.contact_frame(at)
        return np.concatenate([-lam[0] * axes[:, 2], np.zeros(3)])


@dataclass(frozen=True, eq=False)
class SurfaceRolling(RollingRows, SurfaceContact):
    """The finger rolls: v_x = v_y = 0 and, unless `spin`, ω_z = 0."""

    spin: bool = False


@dataclass(frozen=True, eq=False)
class SurfaceSliding(CoulombContact, SurfaceContact):
    """The finger slides with Coulomb friction μ λ and, with `torsion` (m), a moment against spin."""

    mu: Any = None
    torsion: Any = 0.0
    width: float = LEAST_WIDTH

    def relative_motion(self, at: Posture) -> tuple[Array, Array]:
        axes, _ = self.contact_frame(at)
        J = self.twist_map(at)
        return axes[:, 2], np.concatenate([axes @ J[0:3], axes @ J[3:6]])
