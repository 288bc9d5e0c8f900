"""Adaptive control of a robot whose inertias are not known (Slotine and Li 1987).

With e = q − q_d, q̇_r = q̇_d − Λ e and s = q̇ − q̇_r,

    τ = Y(q, q̇, q̇_r, q̈_r) θ̂ − K_d s,    θ̂̇ = −Γ Yᵀ s,    Y θ = M q̈_r + C(q, q̇) q̇_r + N

and V = ½ sᵀ M s + ½ (θ̂ − θ)ᵀ Γ⁻¹ (θ̂ − θ) never rises: V̇ = −sᵀ K_d s, because Ṁ − 2C is skew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.control.joint_space import JointLaw, gain
from dalembert.errors import FormulationError, ShapeError


@dataclass(frozen=True, eq=False)
class Adaptive(JointLaw):
    """τ = Y θ̂ − K_d s, θ̂̇ = −Γ Yᵀ s (Slotine and Li 1987).

    `slope` Λ in 1/s and `kd` K_d for each joint; `rate` Γ, a number or one for each of the robot's
    ``parameters``: zero keeps one as it is believed to be. `estimate` is where θ̂ begins, by
    default the robot's own. Rotors, friction and springs count as they stand in the model.

    >>> import dalembert as dl
    >>> robot = dl.load("elbow_3r")
    >>> loaded = robot.with_payload(0.5, [0.0, 0.0, 0.0])  # what the law does not know
    >>> path = dl.control.quintic([0.0, 0.5, -0.6], [1.0, 0.2, -0.2], duration=1.0)
    >>> law = dl.control.Adaptive(robot, path, slope=20.0, kd=40.0, rate=1.0)
    >>> run = dl.simulate(loaded, [0.0, 0.5, -0.6], None, law, duration=3.0, dt=0.1)
    >>> bool(abs(run.q[-1] - [1.0, 0.2, -0.2]).max() < 1e-3)
    True
    """

    GAINS = ("slope", "kd")

    slope: Any
    kd: Any
    rate: Any
    estimate: Any = None
    theta: np.ndarray = field(init=False)  # where θ̂ begins

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.system.dynamics.rows or "regressor" not in self.system.dynamics.catalogue:
            raise FormulationError(
                f"Adaptive: {self.system.name} must be a robot without constraints, whose torques "
                "are linear in its inertias (a regressor)"
            )
        own = np.asarray(self.model.inertia, dtype=float)
        theta = own if self.estimate is None else np.asarray(self.estimate, dtype=float)
        if theta.shape != own.shape or not np.isfinite(theta).all():
            raise ShapeError(f"estimate must have the shape {own.shape}, not {theta.shape}")
        object.__setattr__(self, "theta", theta)
        object.__setattr__(self, "rate", gain(self.rate, len(own), "rate"))

    @property
    def initial(self) -> np.ndarray:
        """Where θ̂ begins."""
        return self.theta

    @property
    def constants(self) -> dict[str, np.ndarray]:
        """Gains and target."""
        return {"rate": self.rate, **super().constants}

    def reference(self, t: Any, q: Any, qd: Any, constants: Mapping[str, Any]) -> tuple[Any, ...]:
        """(q̇_r, q̈_r, s), each (nv,)."""
        e, de, wanted = self._error(t, q, qd, constants)
        slope = constants["slope"]
        return wanted.qd - slope * e, wanted.qdd - slope * de, de + slope * e

    def law(self, t: Any, q: Any, qd: Any, z: Any, constants: Mapping[str, Any]) -> tuple[Any, Any]:
        """(τ, ż), traceable."""
        qd_r, qdd_r, s = self.reference(t, q, qd, constants)
        Y = self.regressor(q, qd, qd_r, qdd_r)
        massless = self.model.with_inertia(np.zeros(len(self.theta)))
        rest = massless.compute("inverse_dynamics", q=q, qd=qd, qdd=qdd_r)
        return Y @ z + rest - constants["kd"] * s, -constants["rate"] * (Y.T @ s)

    def regressor(self, q: Any, qd: Any, qd_r: Any, qdd_r: Any) -> Any:
        """Y (nv, 10 bodies) with Y θ = M q̈_r + C(q, q̇) q̇_r + N, C of Christoffel's symbols.

        C(q, u) v is symmetric in u and v and C(q, v) v is quadratic, so that
        4 C(q, u) v = C(q, u + v)(u + v) − C(q, u − v)(u − v).
        """

        def Y(qd: Any, qdd: Any) -> Any:
            return self.model.compute("regressor", q=q, qd=qd, qdd=qdd)

        still = np.zeros(self.system.nv)
        turned = Y(qd + qd_r, still) - Y(qd - qd_r, still)
        return Y(still, qdd_r) + 0.25 * turned
