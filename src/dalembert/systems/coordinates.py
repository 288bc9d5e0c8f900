"""Where a system may be: the coordinates q, their units and limits, and the manifold they move on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.model.jointed import Kinds
from dalembert.travel import Portable

UNITS = {
    "q": {"angle": "rad", "length": "m", "quaternion": "1", "unknown": ""},
    "qd": {"angle": "rad/s", "length": "m/s", "unknown": ""},
    "qdd": {"angle": "rad/s²", "length": "m/s²", "unknown": ""},
    "tau": {"angle": "N m", "length": "N", "unknown": ""},
}


class Coordinates(Portable):
    """Names, kinds and limits of q and q̇; those of a vector space without limits."""

    if TYPE_CHECKING:

        @property
        def name(self) -> str: ...
        @property
        def coordinates(self) -> tuple[str, ...]: ...

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return len(self.coordinates)

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return len(self.velocities)

    @property
    def velocities(self) -> tuple[str, ...]:
        """Names of the velocities (nv)."""
        return self.coordinates

    @property
    def kinds(self) -> Kinds:
        """What each entry of q, and of q̇ and τ, is: angle, length, quaternion or unknown."""
        return Kinds(("unknown",) * self.nq, ("unknown",) * self.nv)

    def units(self, of: str) -> tuple[str, ...]:
        """Units of the entries of "q", "qd", "qdd" or "tau", empty where unknown."""
        kinds = self.kinds.q if of == "q" else self.kinds.v
        return tuple(UNITS[of][kind] for kind in kinds)

    @property
    def lower(self) -> np.ndarray:
        """Lower limits (nv,) of the joints, −∞ where there is none."""
        return np.full(self.nv, -np.inf)

    @property
    def upper(self) -> np.ndarray:
        """Upper limits (nv,) of the joints, ∞ where there is none."""
        return np.full(self.nv, np.inf)

    @property
    def velocity_limit(self) -> np.ndarray:
        """Largest speeds (nv,) of the joints, ∞ where there is none."""
        return np.full(self.nv, np.inf)

    @property
    def effort_limit(self) -> np.ndarray:
        """Largest torques or forces (nv,) of the drives, ∞ where there is none."""
        return np.full(self.nv, np.inf)

    # the manifold of q

    def neutral(self) -> np.ndarray:
        """The reference configuration (nq,)."""
        return np.zeros(self.nq)

    def first_velocity(self, q: Any) -> np.ndarray:
        """The velocity (nv,) a motion starts with where none is given: rest."""
        return np.zeros((*q.shape[:-1], self.nv))

    def integrate(self, q: Any, step: Any) -> Any:
        """q (nq,) moved by the velocity `step` (nv,) for unit time."""
        return q + step

    def difference(self, q: Any, to: Any) -> Any:
        """The shortest step (nv,) with integrate(q, step) = to."""
        return to - q

    def rate(self, q: Any, qd: Any) -> Any:
        """dq/dt (nq,) for the velocity qd (nv,)."""
        return qd

    def pull_back(self, step: Any, velocity: Any) -> Any:
        """The rate (nv,) of Ω = `step` at which integrate(q, Ω) moves with `velocity`."""
        return velocity

    def normalised(self, q: Any) -> Any:
        """q (..., nq) with quaternions of unit length."""
        return q
