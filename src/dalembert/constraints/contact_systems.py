"""Systems with contact coordinates (η, d) of two surfaces: `ContactBody` and `Touching`.

A `ContactBody` is a rigid finger on a fixed object, with η as its only coordinates. `Touching` adds
(η, d) to the coordinates of an arm: they are functions of q, but no formula gives them for two
general charts; their rates are Montana's equations. They have no velocities of their own: dη/dt
follows from q̇, and a step along the manifold ends with Newton's method on g_of(q) = g(η, d), started
at the previous (η, d).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dalembert import tracing
from dalembert.constraints.contact import (
    GAP_COORDINATES,
    SurfaceContact,
    SurfaceRolling,
    SurfaceSliding,
)
from dalembert.constraints.dynamics import TRACED_FROM
from dalembert.constraints.kinds import Constraint, Pfaffian, Posture
from dalembert.constraints.surfaces import (
    CONTACT_COORDINATES,
    Surface,
    body_map,
    contact_angle,
    contact_rates,
    finger_pose,
    normal_inertial_force,
    relative_pose,
    rolling_rows,
)
from dalembert.errors import ConstraintError, FormulationError, ShapeError
from dalembert.formulations.registry import Formulation, Quantity
from dalembert.model.model import CoordinateKinds
from dalembert.spatial import se3
from dalembert.spatial.arrays import Array
from dalembert.spatial.rotations import vee
from dalembert.systems.dynamics import Dynamics, WrappedDynamics, delegated_quantity, delegates
from dalembert.systems.friction import LEAST_WIDTH
from dalembert.systems.lagrangian import Lagrangian
from dalembert.systems.system import System


class ContactBody(Lagrangian):
    """A rigid finger touching a fixed object: K = ½ Vᵀ M V with V_of = J η̇ (000 p.76).

    `inertia` (3, 3) is about the centre of mass, which is the origin of the finger's frame;
    `gravity` in the object's frame. The generalised force of a wrench F_m on the finger, in its
    frame, is Jᵀ F_m with J = `body_map(η)`. A contact between general charts rolls by adding
    `rolling()` as a constraint.

    Five coordinates keep the contact by themselves, and `normal_force` reads its force off a motion.
    With ``gap=True`` the distance d of the surfaces is a sixth coordinate, "gap": `contact()`,
    `rolling()` or `sliding(mu)` close it, and their first λ is the normal force, N, positive where
    the object pushes; forces of controllers are wanted values of it.
    """

    def __init__(
        self,
        obj: Surface,
        finger: Surface,
        mass: float,
        inertia: Array,
        gravity: Any = (0.0, 0.0, 0.0),
        name: str = "contact_body",
        gap: bool = False,
    ) -> None:
        self.object, self.finger, self.gap = obj, finger, gap
        self.mass, self.inertia = float(mass), np.array(inertia, dtype=float)
        self.gravity = np.array(gravity, dtype=float)
        names = GAP_COORDINATES if gap else CONTACT_COORDINATES
        eta, rate = (tracing.symbol(x, len(names)) for x in ("eta", "eta_dot"))
        V = body_map(obj, finger, eta) @ rate
        kinetic = 0.5 * (self.mass * (V[0:3] @ V[0:3]) + V[3:6] @ (self.inertia @ V[3:6]))
        height = self.gravity @ relative_pose(obj, finger, eta)[0:3, 3]
        super().__init__(eta, kinetic, -self.mass * height, qd=rate, names=names, name=name)

    def pose_of_finger(self, eta: ArrayLike) -> Array:
        """g_of (4, 4) at one η.

        Parameters
        ----------
        eta : array_like
            (5,) contact coordinates (u_o, v_o, u_f, v_f, ψ); with a gap (6,).

        Returns
        -------
        ndarray
            (4, 4).
        """
        return relative_pose(self.object, self.finger, np.asarray(eta, dtype=float))

    def body_map(self, eta: ArrayLike) -> Array:
        """(6, 5) with V_of = J η̇; with a gap (6, 6).

        Parameters
        ----------
        eta : array_like
            (5,) contact coordinates (u_o, v_o, u_f, v_f, ψ); with a gap (6,).

        Returns
        -------
        ndarray
            (6, 5); with a gap (6, 6).
        """
        return body_map(self.object, self.finger, np.asarray(eta, dtype=float))

    # constraints

    def contact(self, name: str = "contact") -> Constraint:
        """The surfaces touch, d = 0; λ is the normal force, N.

        Parameters
        ----------
        name : str
            Name of its rows.

        Returns
        -------
        Constraint

        Raises
        ------
        ModelError
            Without a gap coordinate.
        """
        self._require_gap()
        return SurfaceContact(self.object, self.finger, name=name)

    def rolling(self, spin: bool = False, name: str = "rolling") -> Constraint:
        """The constraint of rolling, rows v_x, v_y and, unless `spin`, ω_z; with a gap d = 0 first.

        Parameters
        ----------
        spin : bool
            Whether turning about the normal is free.
        name : str
            Name of its rows.

        Returns
        -------
        Constraint
        """
        if self.gap:
            return SurfaceRolling(self.object, self.finger, spin=spin, name=name)
        return Pfaffian(lambda eta: rolling_rows(self.object, self.finger, eta, spin), name=name)

    def sliding(
        self, mu: Any, torsion: Any = 0.0, width: float = LEAST_WIDTH, name: str = "contact"
    ) -> Constraint:
        """Contact with Coulomb friction and, with `torsion` (m), resistance to spin: `SoftFinger`.

        Parameters
        ----------
        mu : float or Parameter
            Coefficient of friction.
        torsion : float or Parameter
            Resistance to spin, m.
        width : float
            Speed below which friction is smooth, m/s.
        name : str
            Name of its rows.

        Returns
        -------
        Constraint
        """
        self._require_gap()
        options = {"mu": mu, "torsion": torsion, "width": width}
        return SurfaceSliding(self.object, self.finger, name=name, **options)

    def _require_gap(self) -> None:
        if not self.gap:
            raise ConstraintError(
                f"{self.name}: five coordinates keep the contact by themselves, so no constraint has "
                "its normal force; make it with gap=True"
            )

    # forces

    def finger_wrench(self, eta: ArrayLike, wrench: ArrayLike) -> Array:
        """Generalised force (5,), with a gap (6,), of a wrench (6,) on the finger, in its frame.

        Parameters
        ----------
        eta : array_like
            (5,) contact coordinates (u_o, v_o, u_f, v_f, ψ); with a gap (6,).
        wrench : array_like
            (6,) N and N m.

        Returns
        -------
        ndarray
            (5,); with a gap (6,).
        """
        force: Array = self.body_map(eta).T @ np.asarray(wrench, dtype=float)
        return force

    def normal_force(
        self,
        eta: ArrayLike,
        rate: ArrayLike,
        acceleration: ArrayLike,
        wrench: ArrayLike | None = None,
    ) -> float:
        """λ, N, of a motion (η, η̇, η̈) under a wrench F_m: φ₃ + λ = (F_m + G)₃ (000 p.77).

        All along the finger's normal, which points into the object.

        Parameters
        ----------
        eta : array_like
            (5,) contact coordinates (u_o, v_o, u_f, v_f, ψ); with a gap (6,).
        rate : array_like
            η̇.
        acceleration : array_like
            η̈.
        wrench : array_like, optional
            (6,) on the finger, in its frame.

        Returns
        -------
        float
            N.
        """
        eta, rate, acceleration = (np.asarray(x, dtype=float) for x in (eta, rate, acceleration))
        obj, finger = self.object, self.finger
        (J,), (J_dot,) = tracing.along(
            lambda x: [body_map(obj, finger, x)], lambda x, v: v, eta, rate
        )
        V, V_dot = J @ rate, J @ acceleration + J_dot @ rate
        M = np.zeros((6, 6))
        M[:3, :3], M[3:, 3:] = self.mass * np.eye(3), self.inertia
        R = self.pose_of_finger(eta)[:3, :3]
        wrench_and_gravity = np.zeros(6) if wrench is None else np.array(wrench, dtype=float)
        wrench_and_gravity[:3] += self.mass * (R.T @ self.gravity)
        # M V̇ − ad_Vᵀ M V − F_m − G is what the contact exerts, −λ along the finger's normal
        missing = M @ V_dot - se3.ad(V).T @ (M @ V) - wrench_and_gravity
        return -float(normal_inertial_force(finger, eta[2:4], missing))


TRACED_STEPS = 5  # of Newton's method in a program: each squares the error
STEPS, STILL = 60, 1e-15  # on numbers
LARGEST = 0.5  # of a step on numbers, in units of the charts
# chart coordinates to begin from where none are given, and how many of the best pairs are tried
GRID = tuple(product(np.linspace(-1.4, 1.4, 5), np.linspace(-2.8, 2.8, 8)))
PAIRS = 12
MET = 1e-9  # of g(η, d) beside g_of


def nearer(obj: Surface, finger: Surface, g: Array, eta: Array) -> Array:
    """The step (6,) of Newton's method toward g(η, d) = g: the rates of the twist that is missing."""
    missing = se3.inverse(relative_pose(obj, finger, eta)) @ g
    R = missing[0:3, 0:3]
    twist = np.concatenate([missing[0:3, 3], vee(0.5 * (R - R.T))])
    at_contact = se3.Ad_inv(finger_pose(finger, eta[2:4])) @ twist
    return contact_rates(obj, finger, eta, at_contact)


def closest(obj: Surface, finger: Surface, g: Array, eta: Array) -> Array:
    """(η, d) (6,) of the pose g (4, 4) of the finger in the object, from a guess nearby."""
    if tracing.is_symbolic(g) or tracing.is_symbolic(eta):
        for _ in range(TRACED_STEPS):
            eta = eta + nearer(obj, finger, g, eta)
        return eta
    for _ in range(STEPS):
        with np.errstate(all="ignore"):  # charts have poles; what is not finite is seen below
            step = nearer(obj, finger, g, eta)
        size = np.abs(step).max()
        if not np.isfinite(size):
            return np.full(6, np.nan)
        eta = eta + step * min(1.0, LARGEST / max(size, LARGEST))
        if size <= STILL:
            break
    return eta


def _at_own_coordinates(name: str) -> Any:
    """The method of this name of the dynamics inside, at the coordinates of these."""

    def method(self: TouchingDynamics, q: Array, *arguments: Any, **options: Any) -> Any:
        return getattr(self.dynamics, name)(self.own(q), *arguments, **options)

    return wraps(getattr(Dynamics, name))(method)


@delegates("dynamics", "name parameters inputs")
@dataclass(frozen=True, eq=False)
class TouchingDynamics(WrappedDynamics):
    """`dynamics` with (η, d) of `contact` after its coordinates; velocities and forces are its own."""

    dynamics: Dynamics
    contact: SurfaceContact
    first: Array  # (q, η, d), the reference posture

    traced_from: ClassVar = TRACED_FROM

    @cached_property
    def content(self) -> str:
        charts = [surface._patch.serialize() for surface in self.contact.surfaces]
        named = (self.contact.frame, self.contact.on, self.contact.coordinates)
        text = f"{self.dynamics.content}{named!r}{charts}"
        return hashlib.sha256(text.encode()).hexdigest()

    def bind(self, values: Any) -> TouchingDynamics:
        return self._with(self.dynamics.bind(values))

    # coordinates

    @property
    def nq(self) -> int:
        return self.dynamics.nq + 6

    @property
    def coordinates(self) -> tuple[str, ...]:
        return (*self.dynamics.coordinates, *self.contact.coordinates)

    @property
    def kinds(self) -> CoordinateKinds:
        kinds = self.dynamics.kinds
        return CoordinateKinds((*kinds.q, *["unknown"] * 5, "length"), kinds.v)

    def neutral(self) -> Array:
        return self.first.copy()

    def own(self, q: Array) -> Array:
        """The coordinates (dynamics.nq,) of the system itself."""
        return q[..., : self.dynamics.nq]

    def relative_pose(self, q: Array) -> Array:
        """g_of (4, 4) of the system's own coordinates."""
        poses = self.dynamics.poses(q)
        g: Array = se3.inverse(poses[self.contact.on]) @ poses[self.contact.frame]
        return g

    def integrate(self, q: Array, step: Array) -> Array:
        moved = self.dynamics.integrate(self.own(q), step)
        eta = closest(*self.contact.surfaces, self.relative_pose(moved), q[self.dynamics.nq :])
        return np.concatenate([moved, eta])

    def difference(self, q: Array, to: Array) -> Array:
        return self.dynamics.difference(self.own(q), self.own(to))

    def rate(self, q: Array, qd: Array) -> Array:
        twist = self.contact.twist_map(Posture(self, q)) @ qd
        rates = contact_rates(*self.contact.surfaces, q[self.dynamics.nq :], twist)
        return np.concatenate([self.dynamics.rate(self.own(q), qd), rates])

    def normalised(self, q: Array) -> Array:
        return np.concatenate(
            [self.dynamics.normalised(self.own(q)), q[..., self.dynamics.nq :]], axis=-1
        )

    # what there is to compute: the quantities of the system, at its own coordinates

    @cached_property
    def catalogue(self) -> Mapping[str, Quantity]:
        quantities = {
            name: delegated_quantity(quantity, lambda s: s.dynamics, lambda s, q: s.own(q))
            for name, quantity in self.dynamics.catalogue.items()
        }
        for name in ("integrate", "difference"):
            move = getattr(TouchingDynamics, name)
            formulation = Formulation("contact", move, "Montana 1988", "contact coordinates along")
            quantities[name] = replace(quantities[name], formulations=(formulation,), best=None)
        return quantities

    def size(self, symbol: str) -> int:
        own = {"nq": self.nq, "nv": self.nv}
        return own[symbol] if symbol in own else self.dynamics.size(symbol)

    generalized_forces = _at_own_coordinates("generalized_forces")
    poses = _at_own_coordinates("poses")
    poses_apart = _at_own_coordinates("poses_apart")
    pose = _at_own_coordinates("pose")
    frame_jacobian = _at_own_coordinates("frame_jacobian")


class Touching(System):
    """A robot or other system with frames, whose frame `frame` carries the surface `finger`.

    `surface` is fixed in the frame `on`. The contact coordinates and the gap, "contact.u_o" …
    "contact.psi", "contact.gap" with the contact's `name`, follow the coordinates of the system;
    velocities and forces are the system's own. `contact()`, `rolling()` or `sliding(mu)` are the
    constraints that close the gap, for `Constrained`; `configuration(q)` adds the contact
    coordinates to a q of the system. `q`, default the neutral one, is a posture at which the
    surfaces face each other away from the poles of their charts, and `start` (4,) says near which
    (u_o, v_o, u_f, v_f), default where the gap is least.

    >>> import dalembert as dl
    >>> arm = dl.load("arm_on_sphere").system
    >>> tip, ball = dl.Ellipsoid(0.05, 0.06, 0.04), dl.Sphere(0.3, pole="y")
    >>> touching = dl.Touching(arm, "finger", tip, ball, "object", q=[0.1, 0.2, 1.5, 0.3, 0.9, 0.2])
    >>> dl.Constrained(touching, [touching.rolling()])
    <Constrained arm: 2 degrees of freedom, held by contact>
    """

    def __init__(
        self,
        system: System,
        frame: str,
        finger: Surface,
        surface: Surface,
        on: str = "base",
        q: ArrayLike | None = None,
        start: Sequence[float] | None = None,
        name: str = "contact",
    ) -> None:
        inner = system.dynamics
        if inner.rows:
            raise FormulationError(
                f"{system.name} is held by constraints already; make it Touching first, and give "
                "the constraints to Constrained(touching, …)"
            )
        for name_of_frame in (frame, on):
            inner.require_frame(name_of_frame)
        names = tuple(f"{name}.{x}" for x in GAP_COORDINATES)
        self.system = system
        self._kind = SurfaceContact(surface, finger, names, frame, on, name)
        self.dynamics: TouchingDynamics
        super().__init__(TouchingDynamics(inner, self._kind, np.zeros(system.nq + 6)))
        first = self.configuration(system.neutral() if q is None else q, start)
        super().__init__(TouchingDynamics(inner, self._kind, first))

    def __repr__(self) -> str:
        return f"<Touching {self.name}: {self._kind.frame} on {self._kind.on}>"

    def configuration(self, q: ArrayLike, start: Sequence[float] | None = None) -> Array:
        """(q, η, d) (nq,) for a q of the system: where the normals of both surfaces meet.

        From (u_o, v_o, u_f, v_f) = `start` (4,), or the solution of least gap of several starts.

        Parameters
        ----------
        q : array_like
            (nq,) of the system without contact coordinates.
        start : sequence of float, optional
            (4,) u_o, v_o, u_f, v_f.

        Returns
        -------
        ndarray
            (nq + 6,).

        Raises
        ------
        ShapeError
            For a q of another length.
        """
        own = np.asarray(q, dtype=float)
        if own.shape != (self.system.nq,):
            raise ShapeError(
                f"{self.name}: q has shape {own.shape}, expected ({self.system.nq},) without contact "
                "coordinates"
            )
        g = np.asarray(self.dynamics.bound().relative_pose(own), dtype=float)
        obj, finger = self._kind.surfaces
        solutions, starts = [], [] if start is None else [tuple(start)]
        if start is None:  # pairs of points that are near, with opposite normals
            o, f = ([side.at(np.array(a)) for a in GRID] for side in (obj, finger))
            points, tips = (np.stack([patch.point for patch in side]) for side in (o, f))
            normals, axes = (np.stack([patch.frame[:, 2] for patch in side]) for side in (o, f))
            apart = points[:, None] - (tips @ g[:3, :3].T + g[:3, 3])
            facing = normals @ (axes @ g[:3, :3].T).T
            score = np.linalg.norm(apart, axis=-1) + np.abs(tips).max() * (1.0 + facing)
            best = np.argsort(score, axis=None)[:PAIRS]
            starts = [(*GRID[k // len(GRID)], *GRID[k % len(GRID)]) for k in best.tolist()]
        for alpha in starts:
            frames = obj.at(np.array(alpha[:2])).frame, finger.at(np.array(alpha[2:])).frame
            psi = contact_angle(frames[0], g[:3, :3] @ frames[1])
            eta = closest(obj, finger, g, np.array([*alpha, psi, 0.0]))
            if np.abs(relative_pose(obj, finger, eta) - g).max() <= MET:
                solutions.append(eta)
        if not solutions:
            raise ConstraintError(
                f"{self.name}: the normals of the surfaces of {self._kind.frame!r} and "
                f"{self._kind.on!r} do not meet at q = {own}; give another q, or "
                "start=(u_o, v_o, u_f, v_f) near the contact"
            )
        # of equal gaps the one without whole turns
        eta = min(solutions, key=lambda eta: (round(abs(eta[5]), 9), np.abs(eta[:5]).max()))
        return np.concatenate([own, eta])

    # constraints

    def contact(self) -> Constraint:
        """The surfaces touch without friction; λ is the normal force, N.

        Returns
        -------
        Constraint
        """
        return self._kind

    def rolling(self, spin: bool = False) -> Constraint:
        """They roll, without turning about the normal unless `spin`.

        Parameters
        ----------
        spin : bool
            Whether turning about the normal is free.

        Returns
        -------
        Constraint
        """
        return SurfaceRolling(**vars(self._kind), spin=spin)

    def sliding(self, mu: Any, torsion: Any = 0.0, width: float = LEAST_WIDTH) -> Constraint:
        """They slide with Coulomb friction and, with `torsion` (m), resist spin.

        Parameters
        ----------
        mu : float or Parameter
            Coefficient of friction.
        torsion : float or Parameter
            Resistance to spin, m.
        width : float
            Speed below which friction is smooth, m/s.

        Returns
        -------
        Constraint
        """
        return SurfaceSliding(**vars(self._kind), mu=mu, torsion=torsion, width=width)
