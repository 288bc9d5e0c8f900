"""A body that slides on a fixed one, in contact coordinates η = (α_o, α_f, ψ), for any two charts."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert import bridge
from dalembert.constraints import montana
from dalembert.constraints.kinds import Pfaffian
from dalembert.constraints.surfaces import Surface
from dalembert.spatial import se3
from dalembert.systems.lagrangian import Lagrangian

COORDINATES = ("u_o", "v_o", "u_f", "v_f", "psi")


class ContactBody(Lagrangian):
    """A rigid finger touching a fixed object: K = ½ Vᵀ M V with V_of = J η̇ (000 p.76).

    `inertia` (3, 3) is about the centre of mass, which is the origin of the finger's frame;
    `gravity` in the object's frame. The generalised force of a wrench F_m on the finger, in its
    frame, is Jᵀ F_m with J = `body_map(η)`. A contact between general charts rolls by adding
    `rolling()` as a constraint.
    """

    def __init__(
        self,
        obj: Surface,
        finger: Surface,
        mass: float,
        inertia: Any,
        gravity: Any = (0.0, 0.0, 0.0),
        name: str = "contact_body",
    ) -> None:
        self.object, self.finger = obj, finger
        eta, rate = (bridge.symbol(x, 5) for x in ("eta", "eta_dot"))
        V = montana.body_map(obj, finger, eta) @ rate
        g = np.asarray(gravity, dtype=float)
        kinetic = 0.5 * (mass * (V[0:3] @ V[0:3]) + V[3:6] @ (np.asarray(inertia) @ V[3:6]))
        super().__init__(
            eta,
            kinetic,
            -mass * (g @ montana.relative_pose(obj, finger, eta)[0:3, 3]),
            qd=rate,
            names=COORDINATES,
            name=name,
        )

    def pose_of_finger(self, eta: Any) -> np.ndarray:
        """g_of (4, 4) at one η."""
        return montana.relative_pose(self.object, self.finger, np.asarray(eta, dtype=float))

    def body_map(self, eta: Any) -> np.ndarray:
        """(6, 5) with V_of = J η̇."""
        return montana.body_map(self.object, self.finger, np.asarray(eta, dtype=float))

    def rolling(self, spin: bool = False, name: str = "rolling") -> Pfaffian:
        """The constraint of rolling, rows v_x, v_y and, unless `spin`, ω_z."""
        return Pfaffian(
            lambda eta: montana.rolling_rows(self.object, self.finger, eta, spin), name=name
        )

    def finger_wrench(self, eta: Any, wrench: Any) -> np.ndarray:
        """Generalised force (5,) of a wrench (6,) on the finger, in its frame."""
        return self.body_map(eta).T @ np.asarray(wrench, dtype=float)


def twist_at_contact(finger: Surface, alpha: Any, twist: Any) -> Any:
    """V_{l_o l_f} = Ad_{g_{f l_f}}⁻¹ V_of."""
    return se3.Ad_inv(montana.finger_pose(finger, alpha)) @ twist
