"""Quantities of the constraints at one state: rows, forces, wrenches at frames, and reactions.

Wrenches are what a frame's body exerts on its environment, J(q)ᵀF on the side of C q̇ + N; reactions
are force and moment at the named joint or contact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.constraints import coulomb_friction
from dalembert.constraints.kinds import Posture
from dalembert.constraints.registry import quantity, solved
from dalembert.errors import ShapeError
from dalembert.formulations.coupled import independent_rows
from dalembert.formulations.parts.joint_wrenches import outer_relief
from dalembert.spatial.arrays import Array
from dalembert.systems.dynamics import Dynamics

if TYPE_CHECKING:
    from dalembert.constraints.dynamics import ConstrainedDynamics


@quantity("A(rows, nv)", "A(q)")
def jacobian(system: ConstrainedDynamics, q: Array) -> Array:
    """A (rows, nv)."""
    return system.at(q).A


@quantity("h(position_count)", "h(q, t)")
def residual(system: ConstrainedDynamics, q: Array) -> Array:
    """h(q, t) (position_count,)."""
    return system.at(q).h


@quantity("w(rows)", "A q̇ − b")
def velocity_residual(system: ConstrainedDynamics, q: Array, qd: Array) -> Array:
    """A q̇ − b (rows,)."""
    rows = system.at(q, qd)
    w: Array = rows.A @ qd - rows.b
    return w


@quantity("gamma(rows)", "ḃ − Ȧ q̇")
def drift(system: ConstrainedDynamics, q: Array, qd: Array) -> Array:
    """γ (rows,) = ḃ − Ȧ q̇: what A q̈ must be."""
    return system.at(q, qd).drift


@quantity("f(nv)", "−Aᵀλ")
def constraint_force(system: ConstrainedDynamics, q: Array, lam: Array) -> Array:
    """−Aᵀλ (nv,): the generalised force the constraints exert on the system."""
    force: Array = -(system.at(q).A.T @ lam)
    return force


@solved("qd(nv), pd(nv), lam(rows)", "q̇ = ∂H/∂p and ṗ = −∂H/∂q + τ + ψ − Aᵀλ", "Greenwood 2003")
def canonical_equations(
    system: ConstrainedDynamics, q: Array, p: Array, tau: Array
) -> tuple[Array, Array, Array]:
    """(q̇ (nv,), ṗ (nv,), λ (rows,)): ṗ = −∂H/∂q + τ + ψ − Aᵀλ at momenta that the rows allow."""
    free = system.dynamics
    inputs = {"q": q, "p": p, "tau": tau}
    if system.clock is not None and "t" in free.quantity("canonical_equations").optional:
        inputs["t"] = np.asarray(system.clock)
    qd, pd = free.compute("canonical_equations", None, **inputs)
    _, lam = system.compute("forward_dynamics", q=q, qd=qd, tau=tau, t=system.clock)
    return qd, pd - system.reaction(q, qd, system.clock, lam), lam


def load(
    system: ConstrainedDynamics,
    q: Array,
    tip_wrench: Array | None = None,
    wrenches: Array | None = None,
) -> Array:
    """Σ J_fᵀ F_f (nv,): F of the tool and one row of `wrenches` (frames, 6) for every frame.

    Each is what the frame's body exerts on its environment, in that frame, J its body Jacobian.
    """
    plant = system.dynamics
    force = np.zeros(system.nv)
    if tip_wrench is not None:
        force = force + plant.frame_jacobian(q, "tool", "body").T @ tip_wrench
    if wrenches is not None:
        for k, frame in enumerate(plant.frames):
            force = force + plant.frame_jacobian(q, frame, "body").T @ wrenches[k]
    return force


def loaded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Forward dynamics that take wrenches: they act like −τ."""

    @wraps(function)
    def forward(
        system: ConstrainedDynamics,
        q: Array,
        qd: Array,
        tau: Array,
        tip_wrench: Array | None = None,
        wrenches: Array | None = None,
        **options: Any,
    ) -> Any:
        if tip_wrench is not None or wrenches is not None:
            tau = tau - load(system, q, tip_wrench, wrenches)
        return function(system, q, qd, tau, **options)

    return forward


def wrench_inputs(
    plant: Dynamics, tip_wrench: ArrayLike | None, wrenches: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The inputs that a user's wrenches are; names and shapes are checked."""
    if tip_wrench is not None:
        plant.require_frame("tool")
    if not isinstance(wrenches, Mapping):  # none, or all frames' as one array already
        return {"tip_wrench": tip_wrench, "wrenches": wrenches}
    rows = dict.fromkeys(plant.frames, np.zeros(6))
    for frame, wrench in wrenches.items():
        plant.require_frame(frame)
        rows[frame] = np.asarray(wrench, dtype=float)
        if rows[frame].shape[-1:] != (6,):
            raise ShapeError(
                f"{plant.name}: the wrench of frame {frame!r} has shape {rows[frame].shape}, "
                "expected (..., 6), force and moment"
            )
    stacked = np.stack(np.broadcast_arrays(*rows.values()), axis=-2)
    return {"tip_wrench": tip_wrench, "wrenches": stacked}


@quantity("F(6)", "force and moment of one constraint on its second body")
def wrench(system: ConstrainedDynamics, q: Array, lam: Array, constraint: str = "") -> Array:
    """(6,) force and moment ON the second body of a constraint, at its point, along world axes."""
    own = lam[system.slices[constraint]]
    return system.constraints[constraint].wrench(Posture(system.dynamics, q, system.now), own)


@quantity(
    "F(acting, 6), p(acting, 3)",
    "force and moment of every constraint between frames on its second body, and where",
)
def reaction_wrenches(
    system: ConstrainedDynamics, q: Array, qd: Array, lam: Array
) -> tuple[Array, Array]:
    """(F (acting, 6), p (acting, 3)): what every constraint between frames exerts, and where.

    Force and moment about the point p ON the second body, friction included, along world axes; the
    first body receives −F at the same point.
    """
    at = Posture(system.dynamics, q, system.now)
    F = []
    for name in system.acting_names:
        own = wrench(system, q, lam, name)
        if system.constraints[name].has_friction:
            own = own + coulomb_friction.wrench(system, q, qd, lam, name)
        F.append(own)
    points = [system.constraints[name].point(at) for name in system.acting_names]
    return np.stack(F), np.stack(points)


@quantity(
    "F(joints, 6)",
    "force and moment through every joint of a constrained robot",
    "Luh, Walker and Paul 1980; 000 §4.5",
    formulation=("newton_euler", "those of the open tree, less what the constraints exert on it"),
)
def joint_wrenches(
    system: ConstrainedDynamics, q: Array, qd: Array, qdd: Array, lam: Array
) -> Array:
    """(joints, 6) force and moment each joint of the robot exerts on its link, about its origin.

    Those of the open tree in this motion, less what constraints between frames exert on the links
    that a joint carries; components along the axes of the link frame. Gears and functions of the
    coordinates act like drives: what they give is part of what goes through the joint.
    """
    F: Array = system.dynamics.compute("joint_wrenches", q=q, qd=qd, qdd=qdd)
    if not system.acting_names:
        return F
    model, outer = system.dynamics.description, []
    on_second, points = reaction_wrenches(system, q, qd, lam)
    for k, name in enumerate(system.acting_names):
        f = on_second[k, 0:3]
        about_origin = np.concatenate([f, on_second[k, 3:6] + np.cross(points[k], f)])
        first, second = (model.frame(frame).body for frame in system.constraints[name].between)
        outer += [(first, -about_origin), (second, about_origin)]
    F = F + independent_rows(model, outer_relief(model.tree, model.expand(q), outer))
    return F
