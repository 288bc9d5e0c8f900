"""Nonholonomic constraints substituted into the Lagrangian too early, against the right equations.

With q = (r, s) and ṡ = −a(q) ṙ, the right equations (Lagrange–d'Alembert) are

    (d/dt ∂L/∂ṙ − ∂L/∂r) − aᵀ (d/dt ∂L/∂ṡ − ∂L/∂s) = 0.

Those of the constrained Lagrangian L_c(q, ṙ) = L(q, ṙ, −a ṙ) lack the difference term ∂L/∂ṡ (ȧ_i −
Σ_j ∂a_j/∂r_i ṙ_j), which vanishes where the constraint is holonomic (000 p.63–64).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert import tracing
from dalembert.errors import ConstraintError
from dalembert.linalg.factorisations import adjugate
from dalembert.spatial.arrays import Array

if TYPE_CHECKING:
    from dalembert.constraints.constrained import Constrained
    from dalembert.constraints.dynamics import ConstrainedDynamics


@dataclass(frozen=True)
class EarlySubstitution:
    """Both equations of motion at a state, in the independent velocities ṙ: M r̈ + c = τ_r − aᵀτ_s."""

    independent: tuple[str, ...]
    M: Array  # (m, m), the same for both
    right: Array  # c of Lagrange and d'Alembert (m,)
    wrong: Array  # c of the constrained Lagrangian (m,)
    difference: Array  # right − wrong, by the formula of p.64 (m,)
    right_acceleration: Array  # r̈ (m,)
    wrong_acceleration: Array  # what r̈ the wrong equations would give (m,)


def early_substitution(
    closed: Constrained, q: Array, qd: Array, tau: Array | None = None
) -> EarlySubstitution:
    """The right equations of motion, those of the constrained Lagrangian, and their difference.

    Parameters
    ----------
    closed : Constrained
        Constraints that do not move (b = 0); forces without potential are left out.
    q, qd : array_like
        State (nq,), (nv,) that meets the constraints.
    tau : array_like, optional
        Generalised forces (nv,), default zero.

    Returns
    -------
    EarlySubstitution

    Raises
    ------
    ConstraintError
        If the velocity violates the constraints, or the system has no such comparison.

    Examples
    --------
    >>> import dalembert as dl
    >>> sleigh = dl.load("chaplygin_sleigh")
    >>> comparison = early_substitution(sleigh, [0, 0, 0], [1.0, 0, 0.5])
    >>> bool(abs(comparison.difference).max() > 0.1)  # not zero: the blade is nonholonomic
    True
    """
    system = closed.dynamics.bound()
    _require_plain(system)
    state = [np.asarray(x, dtype=float) for x in (q, qd)]
    violation = np.abs(closed.velocity_residual(*state)).max()
    if violation > 1e-8 * (1.0 + np.abs(state[1]).max()):
        raise ConstraintError(
            f"{system.name}: the velocity violates the constraints by {violation:.3g}; start from "
            "project_velocity(q, qd)"
        )
    x, v = tracing.symbol("q", system.nq), tracing.symbol("qd", system.nv)
    function = tracing.Function([x, v], _equations(system, x, v))
    M, right, wrong, difference, a = function(*state)
    force = np.zeros(system.nv) if tau is None else np.asarray(tau, dtype=float)
    free = system.free_columns
    along = force[free] - a.T @ force[list(system.require_pivots().columns)]
    names = tuple(system.dynamics.velocities[k] for k in free)
    accelerations = (np.linalg.solve(M, along - c) for c in (right, wrong))
    return EarlySubstitution(names, M, right, wrong, difference, *accelerations)


def difference_term(system: ConstrainedDynamics, q: Array, qd: Array) -> Array:
    """right − wrong (freedoms,) at a state that meets the constraints, numbers or symbols."""
    _require_plain(system)
    x, v = tracing.symbol("q", system.nq), tracing.symbol("qd", system.nv)
    difference: Array = tracing.at([_equations(system, x, v)[3]], [x, v], [q, qd])[0]
    return difference


def _require_plain(system: ConstrainedDynamics) -> None:
    if system.moving or system.gyroscopic or system.nq != system.nv:
        raise ConstraintError(
            f"{system.name}: the comparison needs coordinates whose rates are the velocities, L "
            "without terms linear in them, and constraints that do not move"
        )


def _equations(
    system: ConstrainedDynamics, q: Array, qd: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """(M, right c, wrong c, difference, a) of symbols q and q̇."""
    chosen = system.require_pivots()
    rows, dependent, free = list(chosen.rows), list(chosen.columns), system.free_columns
    r_dot, s_dot = qd[free], qd[dependent]
    A = system.at(q).A
    adjugated, det = adjugate(A[rows][:, dependent])
    a = adjugated @ A[rows][:, free] / det
    L = system.dynamics.kinetic_energy(q, qd) - system.dynamics.potential_energy(q)
    # d/dt at r̈ = 0, where s̈ = −ȧ ṙ; c = d/dt ∂L/∂q̇ − ∂L/∂q there
    a_dot = tracing.directional(a, q, qd)
    order = np.argsort([*free, *dependent])
    qdd = np.concatenate([np.zeros(len(free)), -(a_dot @ r_dot)])[order]
    p = tracing.gradient(L, qd)
    momentum_rate = tracing.directional(p, q, qd) + tracing.directional(p, qd, qdd)
    c = momentum_rate - tracing.gradient(L, q)
    right = c[free] - a.T @ c[dependent]
    # L_c on (q, ṙ), the dependent velocities replaced
    inserted, moving = tracing.at([L, qd], [s_dot], [-(a @ r_dot)])
    momentum = tracing.gradient(inserted, r_dot)
    by_q = tracing.gradient(inserted, q)
    wrong = tracing.directional(momentum, q, moving) - (by_q[free] - a.T @ by_q[dependent])
    M = tracing.jacobian(momentum, r_dot)
    # Σ_s ∂L/∂ṡ (ȧ_si − Σ_j (∂a_sj/∂r_i − Σ_s' ∂a_sj/∂s' a_s'i) ṙ_j), ṙ fixed while q varies
    rates_by_q = tracing.jacobian(a @ r_dot, q)
    along = rates_by_q[:, free] - rates_by_q[:, dependent] @ a
    difference = (a_dot - along).T @ tracing.gradient(L, qd)[dependent]
    return M, right, wrong, difference, a
