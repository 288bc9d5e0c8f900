"""A body that touches a fixed one, in contact coordinates η = (α_o, α_f, ψ), for any two charts."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert import tracing
from dalembert.constraints import montana
from dalembert.constraints.kinds import Constraint, Pfaffian
from dalembert.constraints.surface_contact import (
    COORDINATES,
    SurfaceContact,
    SurfaceRolling,
    SurfaceSliding,
)
from dalembert.constraints.surfaces import Surface
from dalembert.errors import ConstraintError
from dalembert.spatial import se3
from dalembert.systems.friction import LEAST_WIDTH
from dalembert.systems.lagrangian import Lagrangian


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
        inertia: Any,
        gravity: Any = (0.0, 0.0, 0.0),
        name: str = "contact_body",
        gap: bool = False,
    ) -> None:
        self.object, self.finger, self.gap = obj, finger, gap
        self.mass, self.inertia = float(mass), np.array(inertia, dtype=float)
        self.gravity = np.array(gravity, dtype=float)
        names = COORDINATES if gap else montana.COORDINATES
        eta, rate = (tracing.symbol(x, len(names)) for x in ("eta", "eta_dot"))
        V = montana.body_map(obj, finger, eta) @ rate
        kinetic = 0.5 * (self.mass * (V[0:3] @ V[0:3]) + V[3:6] @ (self.inertia @ V[3:6]))
        height = self.gravity @ montana.relative_pose(obj, finger, eta)[0:3, 3]
        super().__init__(eta, kinetic, -self.mass * height, qd=rate, names=names, name=name)

    def pose_of_finger(self, eta: Any) -> np.ndarray:
        """g_of (4, 4) at one η."""
        return montana.relative_pose(self.object, self.finger, np.asarray(eta, dtype=float))

    def body_map(self, eta: Any) -> np.ndarray:
        """(6, 5) with V_of = J η̇; with a gap (6, 6)."""
        return montana.body_map(self.object, self.finger, np.asarray(eta, dtype=float))

    # constraints

    def contact(self, name: str = "contact") -> Constraint:
        """The surfaces touch, d = 0; λ is the normal force, N."""
        self._require_gap()
        return SurfaceContact(self.object, self.finger, name=name)

    def rolling(self, spin: bool = False, name: str = "rolling") -> Constraint:
        """The constraint of rolling, rows v_x, v_y and, unless `spin`, ω_z; with a gap d = 0 first."""
        if self.gap:
            return SurfaceRolling(self.object, self.finger, spin=spin, name=name)
        return Pfaffian(
            lambda eta: montana.rolling_rows(self.object, self.finger, eta, spin), name=name
        )

    def sliding(
        self, mu: Any, torsion: Any = 0.0, width: float = LEAST_WIDTH, name: str = "contact"
    ) -> Constraint:
        """Contact with Coulomb friction and, with `torsion` (m), resistance to spin: `SoftFinger`."""
        self._require_gap()
        given = {"mu": mu, "torsion": torsion, "width": width}
        return SurfaceSliding(self.object, self.finger, name=name, **given)

    def _require_gap(self) -> None:
        if not self.gap:
            raise ConstraintError(
                f"{self.name}: five coordinates keep the contact by themselves, so no constraint has "
                "its normal force; make it with gap=True"
            )

    # forces

    def finger_wrench(self, eta: Any, wrench: Any) -> np.ndarray:
        """Generalised force (5,), with a gap (6,), of a wrench (6,) on the finger, in its frame."""
        return self.body_map(eta).T @ np.asarray(wrench, dtype=float)

    def normal_force(self, eta: Any, rate: Any, acceleration: Any, wrench: Any = None) -> float:
        """λ, N, of a motion (η, η̇, η̈) under a wrench F_m: φ₃ + λ = (F_m + G)₃ (000 p.77).

        All along the finger's normal, which points into the object.
        """
        eta, rate, acceleration = (np.asarray(x, dtype=float) for x in (eta, rate, acceleration))
        obj, finger = self.object, self.finger
        (J,), (J_dot,) = tracing.along(
            lambda x: [montana.body_map(obj, finger, x)], lambda x, v: v, eta, rate
        )
        V, V_dot = J @ rate, J @ acceleration + J_dot @ rate
        M = np.zeros((6, 6))
        M[:3, :3], M[3:, 3:] = self.mass * np.eye(3), self.inertia
        R = self.pose_of_finger(eta)[:3, :3]
        given = np.zeros(6) if wrench is None else np.array(wrench, dtype=float)
        given[:3] += self.mass * (R.T @ self.gravity)
        # M V̇ − ad_Vᵀ M V − F_m − G is what the contact exerts, −λ along the finger's normal
        missing = M @ V_dot - se3.ad(V).T @ (M @ V) - given
        return -float(montana.normal_inertial_force(finger, eta[2:4], missing))


def twist_at_contact(finger: Surface, alpha: Any, twist: Any) -> Any:
    """V_{l_o l_f} = Ad_{g_{f l_f}}⁻¹ V_of."""
    return se3.Ad_inv(montana.finger_pose(finger, alpha)) @ twist
