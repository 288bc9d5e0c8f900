"""The inputs of inverse dynamics, and what every formulation takes from them.

A formulation is written as a function of `Inputs`; `as_inverse_dynamics` makes of it the function
(model, q, qd, qdd, …) → τ that the catalogue names, and `joint_wrenches_of` that of its wrenches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.formulations.kinematics.frames import jacobian
from dalembert.formulations.parts.base_motion import gravity_in_links, is_by_base, weight_torque
from dalembert.formulations.parts.elements import with_joint_torques
from dalembert.formulations.parts.joint_wrenches import in_link_frames
from dalembert.formulations.parts.recursion_table import Record, nothing
from dalembert.formulations.parts.sweeps import Placements, transforms
from dalembert.model import Body, Model
from dalembert.model.model import Frame
from dalembert.spatial.arrays import Matrix, Twist, Vector, Vector3, Wrench
from dalembert.spatial.se3 import Force, Motion
from dalembert.tracing import is_symbolic


@dataclass(frozen=True, eq=False)
class Inputs:
    """A mechanism in motion, the known motion of its base, and the wrench that its tool exerts."""

    model: Model
    q: Vector
    qd: Vector
    qdd: Vector
    tip_wrench: Wrench | None = None
    base_twist: Twist | None = None
    base_acceleration: Twist | None = None
    gravity: str = "base"  # or "potential": the base accelerates with −g, or links have weights
    record: Record = nothing

    @cached_property
    def placements(self) -> Placements:
        """Every body frame in its parent's."""
        return transforms(self.model, self.q)

    @cached_property
    def tool(self) -> Frame:
        """The frame of the tool."""
        return self.model.frame(self.model.tool)

    @property
    def is_by_base(self) -> bool:
        """Whether gravity is an acceleration −g of the base."""
        return is_by_base(self.gravity)

    @property
    def base(self) -> tuple[Vector3, Vector3, Vector3]:
        """ω, ω̇ and a of the base's origin, V̇_0 of 000 p.39; gravity by "base" adds −g to a."""
        V_0, V_dot_0 = self.base_twist, self.base_acceleration
        v, omega = Motion.zero() if V_0 is None else Motion.of(V_0)
        linear, alpha = Motion.zero() if V_dot_0 is None else Motion.of(V_dot_0)
        a = linear + np.cross(omega, v)
        return omega, alpha, a - self.model.gravity if self.is_by_base else a

    @property
    def base_twists(self) -> tuple[Twist, Twist]:
        """V_0 and V̇_0 (6,) of the base, zero where not given; gravity by "base" adds (−g, 0)."""
        V_0 = np.zeros(6) if self.base_twist is None else self.base_twist
        V_dot_0 = self.base_acceleration
        if self.is_by_base:
            fall = np.concatenate([-self.model.gravity, np.zeros(3)])
            return V_0, fall if V_dot_0 is None else V_dot_0 + fall
        return V_0, np.zeros(6) if V_dot_0 is None else V_dot_0

    @property
    def g(self) -> list[Vector3] | None:
        """Gravity (3,) in the axes of every link, where links have weights."""
        return None if self.is_by_base else gravity_in_links(self.model, self.placements)

    @property
    def weight_torques(self) -> Vector:
        """∂U/∂q (nv,) of the weights of links; zero where gravity is an acceleration of the base."""
        return np.zeros(self.model.nv) if self.is_by_base else weight_torque(self.model, self.q)

    def tip_forces(self, link: int) -> list[Force]:
        """The tool's wrench about the link's origin, in its axes; none where it has no tool."""
        if self.tip_wrench is None or link != self.tool.body:
            return []
        return [self.tool.placement.act(Force.of(self.tip_wrench))]

    def with_joint_torques(self, tau: Vector) -> Vector:
        """τ (nv,) of the bodies, plus rotors, friction and elements."""
        return with_joint_torques(self.model, tau, self.q, self.qd, self.qdd)

    def with_tip_torques(self, tau: Vector) -> Vector:
        """τ (nv,) plus J_tᵀ F_t."""
        if self.tip_wrench is None:
            return tau
        return tau + jacobian(self.model, self.q, frame=self.model.tool).T @ self.tip_wrench


def as_inverse_dynamics(
    gravity: str = "base",
) -> Callable[[Callable[[Inputs], Vector]], Callable[..., Vector]]:
    """Decorator: a function of `Inputs` as one of (model, q, qd, qdd, …), `gravity` the default."""

    def decorate(torques: Callable[[Inputs], Vector]) -> Callable[..., Vector]:
        default = gravity

        def inverse_dynamics(
            model: Model,
            q: Vector,
            qd: Vector,
            qdd: Vector,
            tip_wrench: Wrench | None = None,
            base_twist: Twist | None = None,
            base_acceleration: Twist | None = None,
            gravity: str = default,
            record: Record = nothing,
        ) -> Vector:
            base = base_twist, base_acceleration
            return torques(Inputs(model, q, qd, qdd, tip_wrench, *base, gravity, record))

        inverse_dynamics.__doc__ = torques.__doc__
        return inverse_dynamics

    return decorate


def joint_wrenches_of(forces: Callable[[Inputs], list[Force]]) -> Callable[..., Matrix]:
    """(joints, 6) wrench (force, moment) through every joint on its link, in the user's link frames.

    `forces` are those of the joints in the body frames. The result is a function of (model, q, qd,
    qdd) and, by name, of `tip_wrench`, `base_twist` and `base_acceleration`.
    """

    def joint_wrenches(model: Model, q: Vector, qd: Vector, qdd: Vector, **options: Any) -> Matrix:
        inputs = Inputs(model, q, qd, qdd, **options)
        return in_link_frames(model, q, qd, qdd, forces(inputs))

    return joint_wrenches


def axes(body: Body) -> tuple[Matrix | None, Matrix | None]:
    """Axes (3, k) about which and along which a joint moves its link, each None where it is zero."""
    turning, sliding = body.subspace[3:6], body.subspace[0:3]
    return (
        turning if is_symbolic(turning) or np.any(turning) else None,
        sliding if is_symbolic(sliding) or np.any(sliding) else None,
    )


def along_axes(model: Model, forces: list[Force]) -> Vector:
    """τ_i = n_i·Z where joint i turns, f_i·Z where it slides, (nv,)."""
    tau = []
    for body, (f, n) in zip(model.bodies, forces, strict=True):
        turning, sliding = axes(body)
        along = [Z.T @ x for Z, x in ((sliding, f), (turning, n)) if Z is not None]
        tau.append(sum(along[1:], start=along[0]))
    return np.concatenate(tau)
