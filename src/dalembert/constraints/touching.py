"""`Touching`: an arm whose finger, of any chart, touches an object of any chart.

It carries the contact coordinates (η, d) along with q. They are functions of q, but no formula gives
them for two general charts; their rates are Montana's equations. So they are coordinates without
velocities of their own: dη/dt follows from q̇, and a step along the manifold ends with Newton's method
on g_of(q) = g(η, d) from where they were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np

from dalembert import tracing
from dalembert.constraints import montana
from dalembert.constraints.description import TRACED_FROM
from dalembert.constraints.kinds import Constraint
from dalembert.constraints.posture import Posture
from dalembert.constraints.surface_contact import (
    COORDINATES,
    SurfaceContact,
    SurfaceRolling,
    SurfaceSliding,
)
from dalembert.constraints.surfaces import Surface
from dalembert.errors import ConstraintError, FormulationError, ShapeError
from dalembert.formulations.registry import Formulation, Quantity
from dalembert.model.jointed import Kinds
from dalembert.spatial import se3
from dalembert.spatial.rotations import vee
from dalembert.systems.carried import Around, passed_on
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.friction import LEAST_WIDTH
from dalembert.systems.system import System

TRACED_STEPS = 5  # of Newton's method in a program: each squares the error
STEPS, STILL = 60, 1e-15  # on numbers
LARGEST = 0.5  # of a step on numbers, in units of the charts
# chart coordinates to begin from where none are given, and how many of the best pairs are tried
GRID = tuple(product(np.linspace(-1.4, 1.4, 5), np.linspace(-2.8, 2.8, 8)))
PAIRS = 12
MET = 1e-9  # of g(η, d) beside g_of


def nearer(obj: Surface, finger: Surface, g: Any, eta: Any) -> Any:
    """The step (6,) of Newton's method toward g(η, d) = g: the rates of the twist that is missing."""
    missing = se3.inverse(montana.relative_pose(obj, finger, eta)) @ g
    R = missing[0:3, 0:3]
    twist = np.concatenate([missing[0:3, 3], vee(0.5 * (R - R.T))])
    at_contact = se3.Ad_inv(montana.finger_pose(finger, eta[2:4])) @ twist
    return montana.contact_rates(obj, finger, eta, at_contact)


def closest(obj: Surface, finger: Surface, g: Any, eta: Any) -> Any:
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


@dataclass(frozen=True, eq=False)
class TouchingDynamics(Around):
    """`dynamics` with (η, d) of `contact` after its coordinates; velocities and forces are its own."""

    dynamics: Dynamics
    contact: SurfaceContact
    first: np.ndarray  # (q, η, d), the reference posture

    traced_from: ClassVar = TRACED_FROM

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", self.dynamics.inputs)

    @property
    def name(self) -> str:
        return self.dynamics.name

    @cached_property
    def content(self) -> str:
        charts = [surface._patch.serialize() for surface in self.contact.surfaces]
        named = (self.contact.frame, self.contact.on, self.contact.coordinates)
        text = f"{self.dynamics.content}{named!r}{charts}"
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def parameters(self) -> Mapping[str, float | None]:
        return self.dynamics.parameters

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
    def kinds(self) -> Kinds:
        kinds = self.dynamics.kinds
        return Kinds((*kinds.q, *["unknown"] * 5, "length"), kinds.v)

    def neutral(self) -> np.ndarray:
        return self.first.copy()

    def own(self, q: Any) -> Any:
        """The coordinates (dynamics.nq,) of the system itself."""
        return q[..., : self.dynamics.nq] if isinstance(q, np.ndarray) else q[: self.dynamics.nq]

    def relative_pose(self, q: Any) -> Any:
        """g_of (4, 4) of the system's own coordinates."""
        poses = self.dynamics.poses(q)
        return se3.inverse(poses[self.contact.on]) @ poses[self.contact.frame]

    def integrate(self, q: Any, step: Any) -> Any:
        moved = self.dynamics.integrate(self.own(q), step)
        eta = closest(*self.contact.surfaces, self.relative_pose(moved), q[self.dynamics.nq :])
        return np.concatenate([moved, eta])

    def difference(self, q: Any, to: Any) -> Any:
        return self.dynamics.difference(self.own(q), self.own(to))

    def rate(self, q: Any, qd: Any) -> Any:
        twist = self.contact.twist_map(Posture(self, q)) @ qd
        rates = montana.contact_rates(*self.contact.surfaces, q[self.dynamics.nq :], twist)
        return np.concatenate([self.dynamics.rate(self.own(q), qd), rates])

    def normalised(self, q: Any) -> Any:
        return np.concatenate(
            [self.dynamics.normalised(self.own(q)), q[..., self.dynamics.nq :]], axis=-1
        )

    # what there is to compute: the quantities of the system, at its own coordinates

    @cached_property
    def catalogue(self) -> Mapping[str, Quantity]:
        found = {
            name: passed_on(quantity, lambda s: s.dynamics, lambda s, q: s.own(q))
            for name, quantity in self.dynamics.catalogue.items()
        }
        for name in ("integrate", "difference"):
            move = getattr(TouchingDynamics, name)
            way = Formulation("contact", move, "Montana 1988", "contact coordinates along")
            found[name] = replace(found[name], formulations=(way,), best=None)
        return found

    def size(self, symbol: str) -> int:
        own = {"nq": self.nq, "nv": self.nv}
        return own[symbol] if symbol in own else self.dynamics.size(symbol)

    def generalized_forces(self, q: Any, qd: Any, t: Any = None) -> Any:
        return self.dynamics.generalized_forces(self.own(q), qd, t)

    def poses(self, q: Any) -> Mapping[str, Any]:
        return self.dynamics.poses(self.own(q))

    def poses_apart(self, q: Any, a: str, b: str) -> tuple[Any, Any, Any]:
        return self.dynamics.poses_apart(self.own(q), a, b)

    def pose(self, q: Any, frame: str) -> Any:
        return self.dynamics.pose(self.own(q), frame)

    def frame_jacobian(self, q: Any, frame: str, expressed_in: str = "world") -> Any:
        return self.dynamics.frame_jacobian(self.own(q), frame, expressed_in)


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
        q: Any = None,
        start: Any = None,
        name: str = "contact",
    ) -> None:
        inner = system.dynamics
        if inner.rows:
            raise FormulationError(
                f"{system.name} is held by constraints already; make it Touching first, and give "
                "the constraints to Constrained(touching, …)"
            )
        for known in (frame, on):
            inner.require_frame(known)
        names = tuple(f"{name}.{x}" for x in COORDINATES)
        self.system = system
        self._kind = SurfaceContact(surface, finger, names, frame, on, name)
        self.dynamics: TouchingDynamics
        super().__init__(TouchingDynamics(inner, self._kind, np.zeros(system.nq + 6)))
        first = self.configuration(system.neutral() if q is None else q, start)
        super().__init__(TouchingDynamics(inner, self._kind, first))

    def __repr__(self) -> str:
        return f"<Touching {self.name}: {self._kind.frame} on {self._kind.on}>"

    def configuration(self, q: Any, start: Any = None) -> np.ndarray:
        """(q, η, d) (nq,) for a q of the system: where the normals of both surfaces meet.

        From (u_o, v_o, u_f, v_f) = `start` (4,), or the solution of least gap of several starts.
        """
        own = np.asarray(q, dtype=float)
        if own.shape != (self.system.nq,):
            raise ShapeError(
                f"{self.name}: q has shape {own.shape}, expected ({self.system.nq},) without contact "
                "coordinates"
            )
        g = np.asarray(self.dynamics.bound().relative_pose(own), dtype=float)
        tried = self._starts(g) if start is None else [tuple(start)]
        found = [eta for alpha in tried if (eta := self._from(g, alpha)) is not None]
        if not found:
            raise ConstraintError(
                f"{self.name}: the normals of the surfaces of {self._kind.frame!r} and "
                f"{self._kind.on!r} do not meet at q = {own}; give another q, or "
                "start=(u_o, v_o, u_f, v_f) near the contact"
            )
        # of equal gaps the one without whole turns
        best = min(found, key=lambda eta: (round(abs(eta[5]), 9), np.abs(eta[:5]).max()))
        return np.concatenate([own, best])

    def _starts(self, g: np.ndarray) -> list[tuple[float, ...]]:
        """Pairs of chart coordinates (4,) whose points are near and whose normals are opposite."""
        o, f = ([side.at(np.array(a)) for a in GRID] for side in self._kind.surfaces)
        points, normals = (np.stack([getattr(p, k) for p in o]) for k in ("point", "frame"))
        tips, axes = (np.stack([getattr(p, k) for p in f]) for k in ("point", "frame"))
        apart = points[:, None] - (tips @ g[:3, :3].T + g[:3, 3])
        facing = normals[:, :, 2] @ (axes[:, :, 2] @ g[:3, :3].T).T
        size = np.abs(tips).max()
        score = np.linalg.norm(apart, axis=-1) + size * (1.0 + facing)
        best = np.argsort(score, axis=None)[:PAIRS]
        return [(*GRID[k // len(GRID)], *GRID[k % len(GRID)]) for k in best.tolist()]

    def _from(self, g: np.ndarray, alpha: tuple[float, ...]) -> np.ndarray | None:
        """(η, d) reached from chart coordinates (4,), or None."""
        obj, finger = self._kind.surfaces
        o, f = obj.at(np.array(alpha[:2])), finger.at(np.array(alpha[2:]))
        psi = montana.angle(o.frame, g[:3, :3] @ f.frame)
        eta = closest(obj, finger, g, np.array([*alpha, psi, 0.0]))
        met = np.abs(montana.relative_pose(obj, finger, eta) - g).max() <= MET
        return eta if met else None

    # constraints

    def contact(self) -> Constraint:
        """The surfaces touch without friction; λ is the normal force, N."""
        return self._kind

    def rolling(self, spin: bool = False) -> Constraint:
        """They roll, without turning about the normal unless `spin`."""
        return SurfaceRolling(**vars(self._kind), spin=spin)

    def sliding(self, mu: Any, torsion: Any = 0.0, width: float = LEAST_WIDTH) -> Constraint:
        """They slide with Coulomb friction and, with `torsion` (m), resist spin."""
        return SurfaceSliding(**vars(self._kind), mu=mu, torsion=torsion, width=width)
