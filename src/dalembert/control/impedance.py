"""The tool as a mass on springs and dampers: impedance and admittance control (Hogan 1985)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.control.joint_space import gain
from dalembert.control.line import Waypoint
from dalembert.control.operational import OperationalSpace
from dalembert.errors import ParameterError, SettingError
from dalembert.linalg.cholesky import cholesky_solve
from dalembert.spatial.rotations import exp_so3, left_jacobian_inverse_so3

Force = Callable[[Any, Any, Any], Any]


@dataclass(frozen=True, eq=False)
class Impedance(OperationalSpace):
    """τ = Jᵀ(Λ (V̇_d − J̇ q̇) − D Ṽ − K e) + h − ψ: a tool that gives way to forces F on it.

    With the true model Λ Ṽ̇ + D Ṽ + K e = F: the inertia is the arm's own Λ, as no force is
    measured; `kp` is the stiffness K, N/m and N m/rad, `kd` the damping D, N s/m and N m s/rad, a
    number or one for each coordinate of the task. Otherwise the arguments of `OperationalSpace`.

    >>> import numpy as np, dalembert as dl
    >>> robot = dl.load("ur5")
    >>> q0 = np.array([0.3, -1.2, 1.4, -1.0, -1.5, 0.2])
    >>> law = dl.control.Impedance(robot, robot.pose(q0), kp=500.0, kd=80.0)
    >>> tau, _ = law.law(0.0, q0, np.zeros(6), np.zeros(0), law.constants)
    >>> np.allclose(tau, robot.gravity_torque(q0))  # at its target it bears the weight alone
    True
    """

    def task_force(
        self, mobility: Any, a: Any, e: Any, de: Any, constants: Mapping[str, Any]
    ) -> Any:
        """Λ a − D Ṽ − K e (rows,), from Λ⁻¹."""
        return cholesky_solve(mobility, a) - constants["kd"] * de - constants["kp"] * e


@dataclass(frozen=True, eq=False, kw_only=True)
class Admittance(OperationalSpace):
    """A stiff arm that moves as forces on its tool would move a body of another inertia.

    The measured force F drives the offset ξ of the tool from its target, with ν = ξ̇ (of
    orientation: the angular velocity),

        inertia · ν̇ + viscosity · ν + stiffness · ξ = F,

    and the tool follows target and offset with the poles of `kp` and `kd`, as in
    `OperationalSpace`; (ξ, ν) is the law's own state. `force` is the sensor: a function (t, q, q̇)
    → F (3,) or (6,) on the frame's origin, along the world's axes, in plain NumPy that traces. What
    it measures acts on the arm too, and is compensated.

    >>> import numpy as np, dalembert as dl
    >>> robot = dl.load("ur5")
    >>> q0 = np.array([0.3, -1.2, 1.4, -1.0, -1.5, 0.2])
    >>> law = dl.control.Admittance(
    ...     robot, robot.pose(q0), kp=400.0, kd=40.0, position_only=True,
    ...     force=lambda t, q, qd: np.array([10.0, 0.0, 0.0]),
    ...     inertia=5.0, viscosity=50.0, stiffness=200.0,
    ... )
    >>> law.initial.shape
    (6,)
    """

    force: Force
    inertia: Any
    viscosity: Any
    stiffness: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("inertia", "viscosity", "stiffness"):
            object.__setattr__(self, name, gain(getattr(self, name), self.rows, name))
        if not (self.inertia > 0.0).all():
            raise ParameterError("Admittance: inertia must be positive")
        found = np.shape(self.force(0.0, self.robot.neutral(), np.zeros(self.robot.nv)))
        if found != (self.rows,):
            raise SettingError(f"Admittance: force must return ({self.rows},), not {found}")

    @property
    def initial(self) -> np.ndarray:
        """ξ and ν: at rest on the target."""
        return np.zeros(2 * self.rows)

    @property
    def constants(self) -> dict[str, np.ndarray]:
        """Gains, target and the body it imitates."""
        body = {name: getattr(self, name) for name in ("inertia", "viscosity", "stiffness")}
        return {**body, **super().constants}

    @property
    def structure(self) -> Hashable:
        """What decides the law besides its constants."""
        return super().structure, self.force

    def law(self, t: Any, q: Any, qd: Any, z: Any, constants: Mapping[str, Any]) -> tuple[Any, Any]:
        """(τ, ż), traceable."""
        xi, nu, F = z[: self.rows], z[self.rows :], self.force(t, q, qd)
        pull = F - constants["viscosity"] * nu - constants["stiffness"] * xi
        nu_dot = pull / constants["inertia"]
        wanted = shifted(self.target.at(t, constants), xi, nu, nu_dot)
        view = {"frame": self.frame, "expressed_in": "world"}
        J = self.model.compute("jacobian", q=q, **view)[: self.rows]
        tau = self.towards(wanted, t, q, qd, constants) - J.T @ F
        turn = [] if self.position_only else [left_jacobian_inverse_so3(xi[3:]) @ nu[3:]]
        return tau, np.concatenate([nu[:3], *turn, nu_dot])


def shifted(wanted: Waypoint, xi: Any, nu: Any, nu_dot: Any) -> Waypoint:
    """The placement moved by ξ and turned by exp(ξ), ν and ν̇ its twist and rate: (3,) or (6,)."""
    if xi.shape[0] == 3:
        still = np.zeros(3)
        V = wanted.V + np.concatenate([nu, still])
        return Waypoint(wanted.p + xi, wanted.R, V, wanted.V_dot + np.concatenate([nu_dot, still]))
    R = exp_so3(xi[3:])
    omega, alpha = R @ wanted.V[3:], R @ wanted.V_dot[3:]
    alpha = alpha + np.cross(nu[3:], omega)
    V = np.concatenate([wanted.V[:3] + nu[:3], omega + nu[3:]])
    V_dot = np.concatenate([wanted.V_dot[:3] + nu_dot[:3], alpha + nu_dot[3:]])
    return Waypoint(wanted.p + xi[:3], R @ wanted.R, V, V_dot)
