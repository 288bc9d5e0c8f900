"""Adaptive control of a robot whose inertias are not known (Slotine and Li 1987).

With e = q − q_d, q̇_r = q̇_d − Λ e and s = q̇ − q̇_r,

    τ = Y(q, q̇, q̇_r, q̈_r) θ̂ − K_d s,    θ̂̇ = −Γ Yᵀ s,    Y θ = M q̈_r + C(q, q̇) q̇_r + N

and V = ½ sᵀ M s + ½ (θ̂ − θ)ᵀ Γ⁻¹ (θ̂ − θ) never rises: V̇ = −sᵀ K_d s, because Ṁ − 2C is skew.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.control.joint_space import JointController, gain
from dalembert.control.trajectory import Array, Constants, Output, Scalar
from dalembert.errors import FormulationError, ShapeError
from dalembert.version import renamed_arguments


@dataclass(frozen=True, eq=False)
class Adaptive(JointController):
    """τ = Y θ̂ − K_d s, θ̂̇ = −Γ Yᵀ s (Slotine and Li 1987).

    `bandwidth` Λ in 1/s and `kd` K_d for each joint; `rate` Γ, a number or one for each of the robot's
    ``parameters``, zero for those that are known. `estimate` is the initial θ̂, by default that of the
    robot. Rotors, friction and springs are those of the model.

    Parameters
    ----------
    system : Robot
        The robot whose parameters are adapted.
    target : Trajectory or array_like
        Desired motion, or a posture (nv,) to hold.
    bandwidth : array_like
        Λ, 1/s.
    kd : array_like
        K_d, N m s/rad.
    rate : array_like
        Γ, a number or one for each of the ``parameters``.
    estimate : array_like, optional
        Initial θ̂; default that of the robot.

    Examples
    --------
    >>> import dalembert as dl
    >>> robot = dl.load("elbow_3r")
    >>> loaded = robot.with_payload(0.5, [0.0, 0.0, 0.0])  # unknown to the controller
    >>> path = dl.control.quintic([0.0, 0.5, -0.6], [1.0, 0.2, -0.2], duration=1.0)
    >>> controller = dl.control.Adaptive(robot, path, bandwidth=20.0, kd=40.0, rate=1.0)
    >>> run = dl.simulate(loaded, [0.0, 0.5, -0.6], None, controller, duration=3.0, dt=0.1)
    >>> bool(abs(run.q[-1] - [1.0, 0.2, -0.2]).max() < 1e-3)
    True
    """

    GAINS = ("bandwidth", "kd")

    bandwidth: ArrayLike
    kd: ArrayLike
    rate: ArrayLike
    estimate: ArrayLike | None = None
    theta: np.ndarray = field(init=False)  # initial θ̂

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
        """Initial θ̂."""
        return self.theta

    @property
    def constants(self) -> dict[str, np.ndarray]:
        """Gains and target."""
        return {"rate": np.asarray(self.rate), **super().constants}

    def reference(
        self, t: Scalar, q: Array, qd: Array, constants: Constants
    ) -> tuple[Array, Array, Array]:
        """(q̇_r, q̈_r, s), each (nv,)."""
        e, de, desired = self._error(t, q, qd, constants)
        Lambda = constants["bandwidth"]
        return desired.qd - Lambda * e, desired.qdd - Lambda * de, de + Lambda * e

    def command(self, t: Scalar, q: Array, qd: Array, z: Array, constants: Constants) -> Output:
        """(τ, ż), traceable."""
        qd_r, qdd_r, s = self.reference(t, q, qd, constants)
        Y = self.regressor(q, qd, qd_r, qdd_r)
        massless = self.model.with_inertia(np.zeros(len(self.theta)))
        rest = massless.compute("inverse_dynamics", q=q, qd=qd, qdd=qdd_r)
        return Y @ z + rest - constants["kd"] * s, -constants["rate"] * (Y.T @ s)

    def regressor(self, q: Array, qd: Array, qd_r: Array, qdd_r: Array) -> Array:
        """Y (nv, 10 bodies) with Y θ = M q̈_r + C(q, q̇) q̇_r + N, C of Christoffel's symbols.

        C(q, u) v is symmetric in u and v and C(q, v) v is quadratic, so that
        4 C(q, u) v = C(q, u + v)(u + v) − C(q, u − v)(u − v).
        """

        def Y(qd: Array, qdd: Array) -> Any:
            return self.model.compute("regressor", q=q, qd=qd, qdd=qdd)

        zero = np.zeros(self.system.nv)
        quadratic = Y(qd + qd_r, zero) - Y(qd - qd_r, zero)
        regressor: Array = Y(zero, qdd_r) + 0.25 * quadratic
        return regressor


Adaptive.__init__ = renamed_arguments(slope="bandwidth")(Adaptive.__init__)  # type: ignore[method-assign]
