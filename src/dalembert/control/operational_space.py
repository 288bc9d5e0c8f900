"""Operational space control (Khatib 1987), impedance and admittance control (Hogan 1985)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dalembert.control.cartesian import Line, Waypoint
from dalembert.control.joint_space import TracedController, gain, require_one_degree
from dalembert.control.trajectory import Array, Constants, Output, Scalar, hold
from dalembert.errors import FormulationError, ParameterError, SettingError
from dalembert.formulations.kinematics.operational import task_mobility
from dalembert.linalg.factorisations import cholesky_solve
from dalembert.spatial.rotations import exp_so3, left_jacobian_inverse_so3, log_so3
from dalembert.systems.system import System


@dataclass(frozen=True, eq=False)
class OperationalSpace(TracedController):
    """τ = Jᵀ Λ (a − J̇ q̇) + h − ψ + (1 − Jᵀ J̄ᵀ)(−k M q̇), a = V̇_d − K_d Ṽ − K_p e.

    The task is the position of a frame, and its orientation unless ``position_only``; the target is
    a path such as `Line`, or a constant pose (4, 4). Motions in the null space of the task are damped
    with the rate `damping`. Where the task is singular, Λ is not finite: `regularisation` (in 1/kg)
    added to Λ⁻¹ makes it bounded.

    Parameters
    ----------
    robot : Robot
        The model.
    target : Line, CartesianPath or array_like (4, 4)
        Path of the frame, or a constant pose.
    kp : array_like
        K_p, a number or one for each coordinate of the task.
    kd : array_like
        K_d, a number or one for each coordinate of the task.
    frame : str
        Name of the frame.
    position_only : bool
        Whether the orientation is left free.
    damping : float
        Rate of motions in the null space of the task, 1/s.
    regularisation : float
        Added to Λ⁻¹, 1/kg.
    """

    GAINS: ClassVar[tuple[str, ...]] = ("kp", "kd", "damping", "regularisation")

    robot: System
    target: Line | Any
    kp: ArrayLike
    kd: ArrayLike
    frame: str = "tool"
    position_only: bool = False
    damping: float = 1.0
    regularisation: float = 0.0

    def __post_init__(self) -> None:
        require_one_degree(self.robot)
        pose: Any = self.target
        if not hasattr(pose, "at"):
            object.__setattr__(self, "target", Line(pose, pose, hold([0.0])))
        if self.rows > self.robot.nv:
            raise FormulationError(
                f"{self.robot.name} has {self.robot.nv} joints and cannot follow {self.rows} "
                "coordinates of a task; take position_only=True"
            )
        self.robot.dynamics.require_frame(self.frame)
        # Λ must exist at some posture, where the frame can move in all directions of the task
        q = np.random.default_rng(0).uniform(-1.0, 1.0, self.robot.nq)
        J = self.model.compute("jacobian", q=q, frame=self.frame, expressed_in="world")[: self.rows]
        rank = int(np.linalg.matrix_rank(J))
        if rank < self.rows and not self.regularisation:
            raise FormulationError(
                f"{self.frame!r} moves in {rank} of the task's {self.rows} directions in any posture "
                f"of {self.robot.name}: take another frame, position_only=True or regularisation="
            )
        for name in ("kp", "kd"):
            object.__setattr__(self, name, gain(getattr(self, name), self.rows, name))

    @property
    def rows(self) -> int:
        """Number of task coordinates."""
        return 3 if self.position_only else 6

    @property
    def system(self) -> System:  # type: ignore[override]
        """The robot."""
        return self.robot

    def error(self, q: Array, qd: Array, desired: Waypoint, J: Array) -> tuple[Array, Array]:
        """(e, ė) of the task (rows,): position, and the rotation vector of R R_dᵀ."""
        pose = self.model.compute("pose", q=q, frame=self.frame)
        V = J @ qd - desired.V[: self.rows]
        e = pose[:3, 3] - desired.p
        if self.position_only:
            return e, V
        return np.concatenate([e, log_so3(pose[:3, :3] @ desired.R.T)]), V

    def task_force(
        self, mobility: Array, a: Array, e: Array, de: Array, constants: Constants
    ) -> Array:
        """Λ (a − K_d Ṽ − K_p e) (rows,), from Λ⁻¹."""
        return cholesky_solve(mobility, a - constants["kd"] * de - constants["kp"] * e)

    def command(self, t: Scalar, q: Array, qd: Array, z: Array, constants: Constants) -> Output:
        """(τ, ż), traceable."""
        return self.torque(self.target.at(t, constants), t, q, qd, constants), np.zeros(0)

    def torque(
        self, desired: Waypoint, t: Scalar, q: Array, qd: Array, constants: Constants
    ) -> Array:
        """τ (nv,) for the desired motion of the frame at time t."""
        view = {"frame": self.frame, "expressed_in": "world"}
        J = self.model.compute("jacobian", q=q, **view)[: self.rows]
        J_dot = self.model.compute("jacobian_rate", q=q, qd=qd, **view)[: self.rows]
        e, de = self.error(q, qd, desired, J)
        a = desired.V_dot[: self.rows]
        plant = self.model.at_time(t)
        M = plant.mass_matrix(q)
        JM, mobility = task_mobility(M, J, constants["regularisation"])  # J M⁻¹, Λ⁻¹
        damping = -constants["damping"] * (M @ qd)
        # the force of the task, less the share of the damping that would act on the task
        force = self.task_force(mobility, a - J_dot @ qd - JM @ damping, e, de, constants)
        compensation = plant.bias(q, qd) - plant.generalized_forces(q, qd, t)
        tau: Array = J.T @ force + compensation + damping
        return tau


Force = Callable[[Scalar, Array, Array], Array]


@dataclass(frozen=True, eq=False)
class Impedance(OperationalSpace):
    """τ = Jᵀ(Λ (V̇_d − J̇ q̇) − D Ṽ − K e) + h − ψ: a tool that yields to forces F on it.

    With the true model Λ Ṽ̇ + D Ṽ + K e = F: the inertia is the arm's own Λ, as no force is
    measured; `kp` is the stiffness K, N/m and N m/rad, `kd` the damping D, N s/m and N m s/rad, a
    number or one for each coordinate of the task. Otherwise the arguments of `OperationalSpace`.

    Parameters
    ----------
    robot : Robot
        The model.
    target : Line, CartesianPath or array_like (4, 4)
        Path of the frame, or a constant pose.
    kp : array_like
        Stiffness K, N/m and N m/rad.
    kd : array_like
        Damping D, N s/m and N m s/rad.
    frame : str
        Name of the frame.
    position_only : bool
        Whether the orientation is left free.
    damping : float
        Rate of motions in the null space of the task, 1/s.
    regularisation : float
        Added to Λ⁻¹, 1/kg.

    Examples
    --------
    >>> import numpy as np, dalembert as dl
    >>> robot = dl.load("ur5")
    >>> q0 = np.array([0.3, -1.2, 1.4, -1.0, -1.5, 0.2])
    >>> controller = dl.control.Impedance(robot, robot.pose(q0), kp=500.0, kd=80.0)
    >>> tau, _ = controller.command(0.0, q0, np.zeros(6), np.zeros(0), controller.constants)
    >>> np.allclose(tau, robot.gravity_torque(q0))  # at its target: the weight alone
    True
    """

    def task_force(
        self, mobility: Array, a: Array, e: Array, de: Array, constants: Constants
    ) -> Array:
        """Λ a − D Ṽ − K e (rows,), from Λ⁻¹."""
        force: Array = cholesky_solve(mobility, a) - constants["kd"] * de - constants["kp"] * e
        return force


@dataclass(frozen=True, eq=False, kw_only=True)
class Admittance(OperationalSpace):
    """A stiff arm that moves as a body of another inertia would under the forces on the tool.

    The measured force F drives the offset ξ of the tool from its target, with ν = ξ̇ (of
    orientation: the angular velocity),

        inertia · ν̇ + viscosity · ν + stiffness · ξ = F,

    and the tool follows target and offset with the poles of `kp` and `kd`, as in
    `OperationalSpace`; (ξ, ν) is the state of the controller. `force` is the sensor: a function
    (t, q, q̇) → F (3,) or (6,) on the frame's origin, along the world's axes, in NumPy that traces.
    The measured force acts on the arm too, and is compensated.

    Parameters
    ----------
    robot : Robot
        The model.
    target : Line, CartesianPath or array_like (4, 4)
        Path of the frame, or a constant pose.
    kp : array_like
        K_p, a number or one for each coordinate of the task.
    kd : array_like
        K_d, a number or one for each coordinate of the task.
    frame : str
        Name of the frame.
    position_only : bool
        Whether the orientation is left free.
    damping : float
        Rate of motions in the null space of the task, 1/s.
    regularisation : float
        Added to Λ⁻¹, 1/kg.
    force : callable
        (t, q, q̇) → F (3,) or (6,) on the frame's origin, along the world's axes.
    inertia : array_like
        Of the body that the tool imitates, kg and kg m².
    viscosity : array_like
        N s/m and N m s/rad.
    stiffness : array_like
        N/m and N m/rad.

    Examples
    --------
    >>> import numpy as np, dalembert as dl
    >>> robot = dl.load("ur5")
    >>> q0 = np.array([0.3, -1.2, 1.4, -1.0, -1.5, 0.2])
    >>> controller = dl.control.Admittance(
    ...     robot, robot.pose(q0), kp=400.0, kd=40.0, position_only=True,
    ...     force=lambda t, q, qd: np.array([10.0, 0.0, 0.0]),
    ...     inertia=5.0, viscosity=50.0, stiffness=200.0,
    ... )
    >>> controller.initial.shape
    (6,)
    """

    GAINS = ("inertia", "viscosity", "stiffness", *OperationalSpace.GAINS)

    force: Force
    inertia: ArrayLike
    viscosity: ArrayLike
    stiffness: ArrayLike

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.GAINS[:3]:
            object.__setattr__(self, name, gain(getattr(self, name), self.rows, name))
        if not (np.asarray(self.inertia) > 0.0).all():
            raise ParameterError("Admittance: inertia must be positive")
        shape = np.shape(self.force(0.0, self.robot.neutral(), np.zeros(self.robot.nv)))
        if shape != (self.rows,):
            raise SettingError(f"Admittance: force must return ({self.rows},), not {shape}")

    @property
    def initial(self) -> np.ndarray:
        """Initial (ξ, ν): at rest on the target."""
        return np.zeros(2 * self.rows)

    def command(self, t: Scalar, q: Array, qd: Array, z: Array, constants: Constants) -> Output:
        """(τ, ż), traceable."""
        xi, nu, F = z[: self.rows], z[self.rows :], self.force(t, q, qd)
        resultant = F - constants["viscosity"] * nu - constants["stiffness"] * xi
        nu_dot = resultant / constants["inertia"]
        desired = shifted(self.target.at(t, constants), xi, nu, nu_dot)
        view = {"frame": self.frame, "expressed_in": "world"}
        J = self.model.compute("jacobian", q=q, **view)[: self.rows]
        tau = self.torque(desired, t, q, qd, constants) - J.T @ F
        turn = [] if self.position_only else [left_jacobian_inverse_so3(xi[3:]) @ nu[3:]]
        return tau, np.concatenate([nu[:3], *turn, nu_dot])


def shifted(frame: Waypoint, xi: Array, nu: Array, nu_dot: Array) -> Waypoint:
    """The frame moved by ξ and turned by exp(ξ), with the twist ν and its rate ν̇: (3,) or (6,)."""
    if xi.shape[0] == 3:
        xi, nu, nu_dot = (np.concatenate([x, np.zeros(3)]) for x in (xi, nu, nu_dot))
    R = exp_so3(xi[3:])
    omega, alpha = R @ frame.V[3:], R @ frame.V_dot[3:]
    alpha = alpha + np.cross(nu[3:], omega)
    V = np.concatenate([frame.V[:3] + nu[:3], omega + nu[3:]])
    V_dot = np.concatenate([frame.V_dot[:3] + nu_dot[:3], alpha + nu_dot[3:]])
    return Waypoint(frame.p + xi[:3], R @ frame.R, V, V_dot)
