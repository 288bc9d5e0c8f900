"""Operational space control (Khatib 1987): the tool as a body with the inertia Λ that it shows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.control.joint_space import gain, known, require_one_degree
from dalembert.control.line import Line, Waypoint
from dalembert.control.trajectory import hold
from dalembert.errors import FormulationError
from dalembert.formulations.kinematics.operational import task_mobility
from dalembert.linalg.cholesky import cholesky_solve
from dalembert.spatial.rotations import log_so3
from dalembert.systems.system import Dynamics, System
from dalembert.travel import Portable


@dataclass(frozen=True, eq=False)
class OperationalSpace(Portable):
    """τ = Jᵀ Λ (a − J̇ q̇) + h − ψ + (1 − Jᵀ J̄ᵀ)(−k M q̇), a = V̇_d − K_d Ṽ − K_p e.

    The task is the position of a frame, and its orientation unless ``position_only``; the target is
    a path such as `Line`, or a pose (4, 4) to hold. What the task
    leaves free is damped with the rate `damping`, without disturbing the task. Where the task
    is singular, Λ is not finite: `regularisation` (in 1/kg) added to Λ⁻¹ keeps it bounded.
    """

    robot: System
    target: Line | Any
    kp: Any
    kd: Any
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
        self._require_full_task()
        for name in ("kp", "kd"):
            object.__setattr__(self, name, gain(getattr(self, name), self.rows, name))

    def _require_full_task(self) -> None:
        """Λ must exist at some posture: the frame can move in all directions of the task there."""
        q = np.random.default_rng(0).uniform(-1.0, 1.0, self.robot.nq)
        J = self.model.compute("jacobian", q=q, frame=self.frame, expressed_in="world")[: self.rows]
        rank = int(np.linalg.matrix_rank(J))
        if rank < self.rows and not self.regularisation:
            raise FormulationError(
                f"{self.frame!r} moves in {rank} of the task's {self.rows} directions in any posture "
                f"of {self.robot.name}: take another frame, position_only=True or regularisation="
            )

    @property
    def rows(self) -> int:
        """Number of task coordinates."""
        return 3 if self.position_only else 6

    @cached_property
    def model(self) -> Dynamics:
        """The dynamics the law computes with."""
        return known(self.robot)

    @property
    def initial(self) -> np.ndarray:
        """No state of its own."""
        return np.zeros(0)

    @property
    def constants(self) -> dict[str, np.ndarray]:
        """Gains and target."""
        rates = {"damping": np.array(self.damping), "extra": np.array(self.regularisation)}
        return {"kp": self.kp, "kd": self.kd, **rates, **self.target.constants}

    @property
    def structure(self) -> Hashable:
        """What decides the law besides its constants."""
        return type(self).__name__, self.robot, self.frame, self.position_only

    def error(self, q: Any, qd: Any, wanted: Any, J: Any) -> tuple[Any, Any]:
        """(e, ė) of the task (rows,): position, and the rotation vector of R R_dᵀ."""
        pose = self.model.compute("pose", q=q, frame=self.frame)
        V = J @ qd - wanted.V[: self.rows]
        e = pose[:3, 3] - wanted.p
        if self.position_only:
            return e, V
        return np.concatenate([e, log_so3(pose[:3, :3] @ wanted.R.T)]), V

    def task_force(
        self, mobility: Any, a: Any, e: Any, de: Any, constants: Mapping[str, Any]
    ) -> Any:
        """Λ (a − K_d Ṽ − K_p e) (rows,), from Λ⁻¹."""
        return cholesky_solve(mobility, a - constants["kd"] * de - constants["kp"] * e)

    def law(self, t: Any, q: Any, qd: Any, z: Any, constants: Mapping[str, Any]) -> tuple[Any, Any]:
        """(τ, ż), traceable."""
        return self.towards(self.target.at(t, constants), t, q, qd, constants), np.zeros(0)

    def towards(
        self, wanted: Waypoint, t: Any, q: Any, qd: Any, constants: Mapping[str, Any]
    ) -> Any:
        """τ (nv,) that follows a placement on its way."""
        view = {"frame": self.frame, "expressed_in": "world"}
        J = self.model.compute("jacobian", q=q, **view)[: self.rows]
        J_dot = self.model.compute("jacobian_rate", q=q, qd=qd, **view)[: self.rows]
        e, de = self.error(q, qd, wanted, J)
        a = wanted.V_dot[: self.rows]
        plant = self.model.at_time(t)
        M = plant.mass_matrix(q)
        carried, mobility = task_mobility(M, J, constants["extra"])  # J M⁻¹, Λ⁻¹
        idle = -constants["damping"] * (M @ qd)
        # the task's force, less the share of the damping that would act on the task
        force = self.task_force(mobility, a - J_dot @ qd - carried @ idle, e, de, constants)
        compensated = plant.bias(q, qd) - plant.generalized_forces(q, qd, t)
        return J.T @ force + compensated + idle
