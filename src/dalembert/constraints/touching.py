"""`Touching`: an arm whose finger, of any chart, touches an object of any chart."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from dalembert.constraints import montana
from dalembert.constraints.kinds import Constraint
from dalembert.constraints.surface_contact import (
    COORDINATES,
    SurfaceContact,
    SurfaceRolling,
    SurfaceSliding,
)
from dalembert.constraints.surfaces import Surface
from dalembert.constraints.touching_dynamics import TouchingDynamics, closest
from dalembert.errors import ConstraintError, FormulationError, ShapeError
from dalembert.systems.friction import LEAST_WIDTH
from dalembert.systems.system import System

# chart coordinates to begin from where none are given, and how many of the best pairs are tried
GRID = tuple(product(np.linspace(-1.4, 1.4, 5), np.linspace(-2.8, 2.8, 8)))
PAIRS = 12
MET = 1e-9  # of g(η, d) beside g_of


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
