"""The trap of nonholonomic constraints: putting them into the Lagrangian gives wrong equations.

With q = (r, s) and ṡ = −a(q) ṙ, the right equations are

    (d/dt ∂L/∂ṙ − ∂L/∂r) − aᵀ (d/dt ∂L/∂ṡ − ∂L/∂s) = 0.

Those of the constrained Lagrangian L_c(q, ṙ) = L(q, ṙ, −a ṙ) are less by the difference term
∂L/∂ṡ (ȧ_i − Σ_j ∂a_j/∂r_i ṙ_j), which vanishes where the constraint is holonomic (000 p.63–64).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import tracing
from dalembert.errors import ConstraintError
from dalembert.linalg.cramer import adjugate

if TYPE_CHECKING:
    from dalembert.constraints.constrained import Constrained
    from dalembert.constraints.description import ConstrainedDynamics


@dataclass(frozen=True)
class Trap:
    """Both equations of motion at a state, in the independent velocities ṙ: M r̈ + c = τ_r − aᵀτ_s."""

    independent: tuple[str, ...]
    M: np.ndarray  # (m, m), the same for both
    right: np.ndarray  # c of Lagrange and d'Alembert (m,)
    wrong: np.ndarray  # c of the constrained Lagrangian (m,)
    difference: np.ndarray  # right − wrong, by the formula of p.64 (m,)
    right_acceleration: np.ndarray  # r̈ (m,)
    wrong_acceleration: np.ndarray  # what r̈ the wrong equations would give (m,)


def nonholonomic_trap(closed: Constrained, q: Any, qd: Any, tau: Any = None) -> Trap:
    """The right equations, those of the constrained Lagrangian, and the term between them.

    The state must meet the constraints; they must not move (b = 0), and forces without potential
    are left out.

    >>> import dalembert as dl
    >>> sleigh = dl.load("chaplygin_sleigh")
    >>> found = nonholonomic_trap(sleigh, [0, 0, 0], [1.0, 0, 0.5])
    >>> bool(abs(found.difference).max() > 0.1)  # it is not zero: the blade is nonholonomic
    True
    """
    system = closed.dynamics.bound()
    _require_plain(system)
    state = [np.asarray(x, dtype=float) for x in (q, qd)]
    left = np.abs(closed.velocity_residual(*state)).max()
    if left > 1e-8 * (1.0 + np.abs(state[1]).max()):
        raise ConstraintError(
            f"{system.name}: the velocity violates the constraints by {left:.3g}; start from "
            "project_velocity(q, qd)"
        )
    x, v = tracing.symbol("q", system.nq), tracing.symbol("qd", system.nv)
    function = tracing.Function([x, v], _equations(system, x, v))
    M, right, wrong, difference, a = function(*state)
    force = np.zeros(system.nv) if tau is None else np.asarray(tau, dtype=float)
    free = system.free_columns
    along = force[free] - a.T @ force[list(system.require_pivots().columns)]
    return Trap(
        tuple(system.dynamics.velocities[k] for k in free),
        M,
        right,
        wrong,
        difference,
        np.linalg.solve(M, along - right),
        np.linalg.solve(M, along - wrong),
    )


def difference_term(system: ConstrainedDynamics, q: Any, qd: Any) -> Any:
    """right − wrong (freedoms,) at a state that meets the constraints, numbers or symbols."""
    _require_plain(system)
    x, v = tracing.symbol("q", system.nq), tracing.symbol("qd", system.nv)
    return tracing.at([_equations(system, x, v)[3]], [x, v], [q, qd])[0]


def _require_plain(system: ConstrainedDynamics) -> None:
    if system.moving or system.gyroscopic or system.nq != system.nv:
        raise ConstraintError(
            f"{system.name}: the comparison needs coordinates whose rates are the velocities, L "
            "without terms linear in them, and constraints that do not move"
        )


def _equations(system: ConstrainedDynamics, q: Any, qd: Any) -> tuple[Any, Any, Any, Any, Any]:
    """(M, right c, wrong c, difference, a) of symbols q and q̇."""
    chosen = system.require_pivots()
    rows, held, free = list(chosen.rows), list(chosen.columns), system.free_columns
    r_dot, s_dot = qd[free], qd[held]
    A = system.at(q).A
    adjugated, det = adjugate(A[rows][:, held])
    a = adjugated @ A[rows][:, free] / det
    L = system.dynamics.kinetic_energy(q, qd) - system.dynamics.potential_energy(q)
    # d/dt at r̈ = 0, where s̈ = −ȧ ṙ; c = d/dt ∂L/∂q̇ − ∂L/∂q there
    a_dot = tracing.directional(a, q, qd)
    order = np.argsort([*free, *held])
    qdd = np.concatenate([np.zeros(len(free)), -(a_dot @ r_dot)])[order]
    c = _euler_lagrange(L, q, qd, qdd)
    right = c[free] - a.T @ c[held]
    # L_c on (q, ṙ), the dependent velocities replaced
    inserted, moving = tracing.at([L, qd], [s_dot], [-(a @ r_dot)])
    slope = tracing.gradient(inserted, r_dot)
    by_q = tracing.gradient(inserted, q)
    wrong = tracing.directional(slope, q, moving) - (by_q[free] - a.T @ by_q[held])
    M = tracing.jacobian(slope, r_dot)
    difference = _difference(L, a, a_dot, q, qd, free, held)
    return M, right, wrong, difference, a


def _euler_lagrange(L: Any, q: Any, qd: Any, qdd: Any) -> Any:
    """d/dt ∂L/∂q̇ − ∂L/∂q (n,)."""
    p = tracing.gradient(L, qd)
    carried = tracing.directional(p, q, qd) + tracing.directional(p, qd, qdd)
    return carried - tracing.gradient(L, q)


def _difference(
    L: Any, a: Any, a_dot: Any, q: Any, qd: Any, free: list[int], held: list[int]
) -> Any:
    """Σ_s ∂L/∂ṡ (ȧ_si − Σ_j (∂a_sj/∂r_i − Σ_s' ∂a_sj/∂s' a_s'i) ṙ_j), i over the free velocities."""
    momentum = tracing.gradient(L, qd)[held]
    carried = a @ qd[free]  # Σ_j a_sj ṙ_j, the rates held fixed while q varies
    by_q = tracing.jacobian(carried, q)
    along = by_q[:, free] - by_q[:, held] @ a
    return (a_dot - along).T @ momentum
