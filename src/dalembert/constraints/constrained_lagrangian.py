"""Nonholonomic constraints substituted into the Lagrangian too early, against the right equations.

With q = (r, s) and ṡ = B(q) ṙ (a = −B on p.63), the right equations (Lagrange–d'Alembert) are

    (d/dt ∂L/∂ṙ − ∂L/∂r) + Bᵀ (d/dt ∂L/∂ṡ − ∂L/∂s) = 0.

Those of the constrained Lagrangian L_c(q, ṙ) = L(q, ṙ, B ṙ) lack the difference term of `voronec`,
which vanishes where the constraint is holonomic (000 p.63–64).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert import tracing
from dalembert.constraints import voronec
from dalembert.constraints.boltzmann_hamel import lagrangian
from dalembert.constraints.voronec import require_plain
from dalembert.errors import ConstraintError
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
    require_plain(system, "the comparison")
    state = [np.asarray(x, dtype=float) for x in (q, qd)]
    violation = np.abs(closed.velocity_residual(*state)).max()
    if violation > 1e-8 * (1.0 + np.abs(state[1]).max()):
        raise ConstraintError(
            f"{system.name}: the velocity violates the constraints by {violation:.3g}; start from "
            "project_velocity(q, qd)"
        )
    x, v = tracing.symbol("q", system.nq), tracing.symbol("qd", system.nv)
    free = system.free_columns
    parts = voronec.equations(system, x, v[free], free)
    function = tracing.Function([x, v], [*parts, _right(system, x, v)])
    M, wrong, difference, B, right = function(*state)
    force = np.zeros(system.nv) if tau is None else np.asarray(tau, dtype=float)
    along = force[free] + B.T @ force[voronec.dependent_velocities(system, free)]
    names = tuple(system.dynamics.velocities[k] for k in free)
    accelerations = (np.linalg.solve(M, along - c) for c in (right, wrong))
    return EarlySubstitution(names, M, right, wrong, difference, *accelerations)


def difference_term(system: ConstrainedDynamics, q: Array, qd: Array) -> Array:
    """right − wrong (freedoms,) at a state that meets the constraints, numbers or symbols."""
    require_plain(system, "the comparison")
    free = system.free_columns
    return voronec.equations(system, q, qd[free], free).difference


def _right(system: ConstrainedDynamics, q: Array, qd: Array) -> Array:
    """c (m,) of Lagrange and d'Alembert, of symbols q and q̇."""
    free = system.free_columns
    dependent = voronec.dependent_velocities(system, free)
    B = voronec.substitution(system, q, free)
    L = lagrangian(system.dynamics, q, qd)
    # d/dt at r̈ = 0, where s̈ = Ḃ ṙ; c = d/dt ∂L/∂q̇ − ∂L/∂q there
    s_ddot = tracing.directional(B, q, qd) @ qd[free]
    qdd = np.concatenate([np.zeros(len(free)), s_ddot])[np.argsort([*free, *dependent])]
    p = tracing.gradient(L, qd)
    momentum_rate = tracing.directional(p, q, qd) + tracing.directional(p, qd, qdd)
    c = momentum_rate - tracing.gradient(L, q)
    right: Array = c[free] + B.T @ c[dependent]
    return right
