"""All inverse-kinematics solutions on arrays of JAX and PyTorch, differentiable by the target.

The candidates of the algebra (`branches`) are constants to a framework. Two Newton steps from each,

    q ← q + J(q)⁻¹ e(q, T) ,   e the displacement from the frame to the target T ,

leave the values as they are and carry the derivatives: with e = 0 at the candidate, the first has
δq = J⁻¹ (T⁻¹ δT)^∨ in body coordinates, which is the implicit-function theorem for pose(q) = T. A
Newton step doubles the orders that are right, as it doubles digits, so that after two of them third
derivatives are exact, too. No step divides by zero: J⁻¹ is that of `ik_step`, damped by 1e-14, so that
a singular solution has large derivatives (of up to 5e6 rad per rad) and never NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np

from dalembert.errors import ShapeError
from dalembert.formulations.inverse_kinematics import branches
from dalembert.formulations.kinematics import ik_step
from dalembert.formulations.registry import Formulation, Quantity
from dalembert.systems.derivatives import Operation, quantity_operation
from dalembert.systems.evaluator import Variant
from dalembert.systems.ik.algebraic import (
    AT_LIMIT,
    CLOSE_MARGIN,
    POLISHED_RESIDUAL,
    SAME_SOLUTION,
    AlgebraicArm,
    IKFlags,
)

if TYPE_CHECKING:
    from dalembert.frameworks.facade import Array, Facade
    from dalembert.systems.dynamics import Dynamics
    from dalembert.systems.system import System

Numbers: TypeAlias = np.ndarray
STEPS = 2  # of Newton's method: derivatives are exact up to the third


class Solutions(NamedTuple):
    """Every solution of each target, in arrays of a framework."""

    solutions: Array  # (..., K, nq), NaN after the last
    count: Array  # (...) int
    flags: Array  # (...) int, of IKFlags


class _ArmJoints(NamedTuple):
    """A mechanism of which only the joints of an arm move."""

    dynamics: Dynamics
    moves: Numbers  # (nv,) 1 or 0

    def pose(self, q: Numbers, frame: str) -> Numbers:
        return self.dynamics.pose(q, frame)

    def frame_jacobian(self, q: Numbers, frame: str, expressed_in: str = "world") -> Numbers:
        J: Numbers = self.dynamics.frame_jacobian(q, frame, expressed_in) * self.moves
        return J

    def closing(self, q: Numbers) -> tuple[Numbers, Numbers]:
        return self.dynamics.closing(q)

    def integrate(self, q: Numbers, step: Numbers) -> Numbers:
        return self.dynamics.integrate(q, step)


@dataclass(frozen=True, eq=False)
class ArmOperations:
    """What solves one arm: candidates of a target, and the refinement of one of them."""

    candidates: Operation  # T → q (K, nq), residual (K,), margin (K,)
    refinement: Operation  # T, q, to → q, residual
    almost: float  # the residual below which a candidate is refined
    start: Numbers  # (nq,) where there is no candidate
    periods: Numbers  # (nq,) 2π for angles, else 0


def arm_operations(
    system: System, frame: str, limits: bool, fixed: Mapping[str, float] | None
) -> ArmOperations:
    """The operations of a frame's arm, cached with the system."""
    text = branches.fixed_text(fixed or {})
    cache: dict[object, ArmOperations] = system.__dict__.setdefault("_arm_operations", {})
    key = (frame, limits, text)
    if key not in cache:
        dynamics = system.dynamics
        dynamics.require_frame(frame)
        arm = branches.solved_arm(dynamics, frame, text)
        chain, turning = arm.decomposition.chain, np.zeros(dynamics.nq, dtype=bool)
        turning[arm.entries] = ~chain.prismatic
        start = arm.rest.copy()
        start[arm.entries] += 0.5  # away from zero, where arms are often singular
        choices = {"frame": frame} | ({"fixed": text} if text else {})
        cache[key] = ArmOperations(
            quantity_operation(system, system._variant(branches.NAME, None, choices)),
            quantity_operation(system, _refinement(arm, key)),
            AlgebraicArm(chain, arm.decomposition).almost,
            start,
            np.where(turning, 2.0 * np.pi, 0.0),
        )
    return cache[key]


def _refinement(arm: branches.SolvedArm, key: tuple[str, bool, str]) -> Variant:
    """Newton steps from a candidate; then angles are turned to the side of `to`, and within limits.

    The residual is infinite outside of the limits.
    """
    dynamics, (frame, limits, text) = arm.mechanism, key
    task, chain = ik_step.Task(frame, "pose"), arm.decomposition.chain
    moves = np.zeros(dynamics.nv)
    moves[arm.entries] = 1.0
    joints = cast(ik_step.Mechanism, _ArmJoints(dynamics, moves))  # all that a plain step needs

    def refined(
        model: object, T: Numbers, q: Numbers, to: Numbers, **chosen: str
    ) -> tuple[Numbers, Numbers]:
        for _ in range(STEPS):
            (q,) = ik_step.follow(joints, task, q=q, target=T, gain=0.0)
        e, _ = ik_step.error(joints, q, T, task)
        residual, inside = np.max(np.abs(np.concatenate([e[:3] / chain.size, e[3:]]))), True
        row = [q[k] for k in range(dynamics.nq)]
        for k, slides in zip(arm.entries, chain.prismatic, strict=True):
            lower, upper = dynamics.lower[k] - AT_LIMIT, dynamics.upper[k] + AT_LIMIT
            x = row[k]
            if not slides:
                x = x + _turns(to[k] - x, np.round)
                if limits and np.isfinite(upper):
                    x = np.where(x > upper, x - _turns(x - upper, np.ceil), x)
                if limits and np.isfinite(lower):
                    x = np.where(x < lower, x + _turns(lower - x, np.ceil), x)
            if limits and np.isfinite(lower):
                inside = np.logical_and(inside, x >= lower)
            if limits and np.isfinite(upper):
                inside = np.logical_and(inside, x <= upper)
            row[k] = x
        return np.stack(row), np.where(inside, residual, np.inf)

    quantity = Quantity(
        "inverse_kinematics_refinement",
        "the solution beside a candidate of inverse kinematics",
        ("T", "q", "to"),
        {"q": ("nq",), "residual": ()},
        (Formulation("newton", refined, "Newton–Raphson", "two steps"),),
        static=("frame", "limits", "fixed"),
    )
    static = (("frame", frame), ("limits", str(limits)), ("fixed", text))
    return Variant(quantity, quantity.formulations[0], static)


def _turns(x: Numbers, rounded: Any) -> Numbers:
    """Whole turns in x, rad."""
    turns: Numbers = 2.0 * np.pi * rounded(x / (2.0 * np.pi))
    return turns


def all_solutions(
    facade: Facade, T: object, frame: str, limits: bool, fixed: Mapping[str, float] | None
) -> Solutions:
    """See `Facade.all_inverse_kinematics`."""
    arm = arm_operations(facade.system, frame, limits, fixed)
    target, near, *parameters = _targets(facade, arm, T, np.zeros(facade.system.nq))
    q, keep, flags = _solutions(facade, arm, target, near, parameters)
    xp = facade._xp
    order = xp.argsort(xp.where(keep, 0, 1), stable=True)
    q = facade._taken(xp.where(keep[..., None], q, np.nan), order[..., None], -2)
    return Solutions(q, keep.sum(-1), flags)


def nearest_solution(
    facade: Facade,
    T: object,
    frame: str,
    q0: object,
    limits: bool,
    fixed: Mapping[str, float] | None,
) -> tuple[Array, Array]:
    """See `Facade.inverse_kinematics`."""
    arm = arm_operations(facade.system, frame, limits, fixed)
    start = facade.system.neutral() if q0 is None else q0
    target, near, *parameters = _targets(facade, arm, T, start)
    q, keep, _ = _solutions(facade, arm, target, near, parameters)
    xp = facade._xp
    step = facade._detached(q) - near[..., None, :]
    cost = xp.where(keep, (step * step).sum(-1), np.inf)
    best = xp.argsort(cost, stable=True)[..., :1]
    solved = keep.any(-1)
    nearest = facade._taken(q, best[..., None], -2)[..., 0, :]
    return xp.where(solved[..., None], nearest, np.nan), solved


def _targets(facade: Facade, arm: ArmOperations, T: object, to: object) -> list[Array]:
    """Targets (..., 4, 4), configurations (..., nq) to be near to, and parameters, if there are any.

    All have equally many axes, and double precision.
    """
    target, near, _, *parameters = facade._arrays(arm.refinement, (T, to, to), None)
    if "float64" not in str(target.dtype):
        raise ShapeError(
            f"{facade.system.name}: inverse kinematics expects T in float64, got {target.dtype}; "
            "convert it (in JAX: jax.config.update('jax_enable_x64', True))"
        )
    return [target, near, *parameters]


def _solutions(
    facade: Facade, arm: ArmOperations, T: Array, to: Array, parameters: list[Array]
) -> tuple[Array, Array, Array]:
    """All candidates refined (..., K, nq), which of them are solutions (..., K), and flags (...)."""
    xp, constant = facade._xp, facade._detached
    q, residual, margin = map(constant, facade._apply(arm.candidates, [constant(T), *parameters]))
    near = residual <= arm.almost
    q = xp.where(near[..., None], q, facade._like(arm.start, q))
    one = [x[..., None, :] for x in (constant(to), *parameters)]
    q, error = facade._apply(arm.refinement, [T[..., None, :, :], q, *one])
    keep = near & (constant(error) <= POLISHED_RESIDUAL)
    # one that an earlier one equals
    apart = constant(q)[..., :, None, :] - constant(q)[..., None, :, :]
    periods = facade._like(arm.periods, q)
    apart = apart - periods * xp.round(apart / facade._like(arm.periods + (arm.periods == 0.0), q))
    K = q.shape[-2]
    earlier = facade._like(np.tri(K, k=-1), q) > 0.0
    same = (abs(apart) < SAME_SOLUTION).all(-1) & earlier & keep[..., None, :]
    again = keep & same.any(-1)
    several = xp.where(again.any(-1), int(IKFlags.MULTIPLE), 0)
    close = xp.where((near & (margin < CLOSE_MARGIN)).any(-1), int(IKFlags.INCOMPLETE), 0)
    return q, keep & ~again, several + close
