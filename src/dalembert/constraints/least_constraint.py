"""Gauss's principle of least constraint with one-sided constraints, as a quadratic program.

Of all accelerations that the constraints permit, the actual one is nearest to the free a = M⁻¹f:

    Z = ½ (q̈ − a)ᵀM (q̈ − a) is least with A q̈ = γ and G q̈ ≥ g                 (Gauss 1829)

Rows G are those of one-sided constraints that touch: h = 0 and ḣ = 0, so that ḧ = G q̈ − g must not be
negative. With equalities alone the conditions of stationarity are Lagrange's equations; with
inequalities (Fourier, Ostrogradsky; Moreau 1966) they are those of Karush, Kuhn and Tucker,

    M q̈ + Aᵀλ + Gᵀλ_G = f,    λ_G ≤ 0,    G q̈ − g ≥ 0,    λ_G·(G q̈ − g) = 0:

a one-sided constraint pushes, −Gᵀλ_G, and pushes only while it touches. Where M is singular Z is
known up to a constant, ½ q̈ᵀM q̈ − q̈ᵀf, which has one minimiser where [M; A] has full column rank.

With A N = 0 and NᵀM N = 1, q̈ = q̈_A + N z and q̈_A the motion without inequalities, Z grows by ½ zᵀz,
so that z is the shortest vector with G N z ≥ g − G q̈_A.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.constraints.contact import Contact, RollingRows
from dalembert.constraints.coulomb_friction import require_smooth
from dalembert.constraints.dynamics import ConstrainedDynamics, describe
from dalembert.constraints.geometry import permitted
from dalembert.constraints.kinds import Constraint
from dalembert.constraints.multiplier import INCONSISTENT
from dalembert.constraints.udwadia_kalaba import require_determined, stacked_at
from dalembert.errors import ConstraintError, SingularMassMatrixError
from dalembert.linalg.factorisations import inverse_form
from dalembert.linalg.least_distance import Infeasible, least_distance
from dalembert.linalg.rank import RANK
from dalembert.spatial.arrays import Array
from dalembert.systems.energies import least_inertia

if TYPE_CHECKING:
    from dalembert.systems.system import System

REGULAR = (
    1e-13  # of the smallest eigenvalue of M beside its diagonal, and of NᵀM N beside the largest
)


@dataclass(frozen=True)
class LeastConstraint:
    """The motion of least constraint at a state, as `gauss_least_constraint` returns it."""

    qdd: Array  # (nv,)
    lam: Array  # λ (rows,) of the system's own constraints, of least norm where they are redundant
    one_sided: Mapping[str, float]  # λ of every one-sided row, zero where it does not push
    active: tuple[str, ...]  # one-sided rows that keep touching: h = ḣ = ḧ = 0
    Z: float | None  # Gauss's Z at q̈; None where M is singular


def gauss_least_constraint(
    system: System,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    one_sided: Sequence[Constraint] = (),
    t: float | None = None,
    tolerance: float = 1e-9,
) -> LeastConstraint:
    """Motion under one-sided constraints by Gauss's principle of least constraint.

    Z = ½ (q̈ − a)ᵀM (q̈ − a), a = M⁻¹(τ + ψ − C q̇ − N), is minimised subject to the system's own
    constraints A q̈ = γ and to ḧ ≥ 0 of every one-sided constraint that touches, h = 0 and ḣ = 0.
    Contacts are without friction.

    Parameters
    ----------
    system : System
        A robot, a Lagrangian, a constrained system.
    q, qd, tau : array_like
        State (nq,), (nv,) and generalised forces (nv,).
    one_sided : sequence of Constraint
        `Holonomic(h)` means h ≥ 0, `Pfaffian(A, b)` A q̇ ≥ b; `PointOnSurface` that the point stays
        outside the surface.
    t : float, optional
        Time, for systems that depend on it, s.
    tolerance : float
        Of h and ḣ, beside their change with unit steps and velocities, to be zero.

    Returns
    -------
    LeastConstraint
        q̈, λ, λ of the one-sided constraints by name (of h ≥ 0 it is λ ≤ 0 in
        M q̈ + C q̇ + N + Aᵀλ = τ + ψ; of a contact the normal force), the active ones, and Z. Where
        active rows depend on each other, as four corners of a box do, their λ are one of many.

    Raises
    ------
    ConstraintError
        If no acceleration meets all constraints, one is violated, or bodies collide.
    SingularMassMatrixError
        If M is singular and the constraints do not determine the motion.

    Examples
    --------
    A bead on a sphere of 1 m leaves it where v² > g cos θ:

    >>> import dalembert as dl
    >>> import numpy as np
    >>> bead = dl.load("spherical_pendulum_constrained").system
    >>> sphere = dl.Holonomic(lambda q: 0.5 * (q @ q - 1.0), name="sphere")
    >>> for speed in (3.0, 3.2):
    ...     result = gauss_least_constraint(bead, [0, 0, 1], [speed, 0, 0], np.zeros(3), [sphere])
    ...     print(result.active, round(result.one_sided["sphere"], 2))
    ('sphere',) -0.81
    () 0.0
    """
    dynamics: Any = system.dynamics.bound().at_time(t)
    x, v, force = dynamics.one_state(system.name, q=q, qd=qd, tau=tau).values()
    names: tuple[str, ...] = ()
    signs, touching = np.zeros(0), np.zeros(0, dtype=int)
    G, g = np.zeros((0, system.nv)), np.zeros(0)
    if one_sided:
        sides = describe(f"one-sided constraints of {system.name}", system.dynamics.free, one_sided)
        names, sides = sides.row_names, sides.bound().at_time(t)
        signs, touching = _touching(sides, x, v, tolerance)
        at = sides.at(x, v)
        G, g = signs[:, None] * at.A[touching], signs * at.drift[touching]

    # q̈_A, and the accelerations N z beside it
    M = np.asarray(dynamics.mass_matrix(x), dtype=float)
    f = force + dynamics.generalized_forces(x, v, t) - dynamics.bias(x, v)
    base = _orthonormal(dynamics, x, M)
    qdd, own = base @ (base.T @ f), dynamics.at(x, v)
    if dynamics.rows:
        require_smooth(dynamics, "Gauss's least constraint")
        start = stacked_at(dynamics, x).shortest(own.drift)
        qdd = start + base @ (base.T @ (f - M @ start))
        scale = (np.abs(own.A) @ np.abs(qdd) + np.abs(own.drift)).max()
        if np.abs(own.A @ qdd - own.drift).max() > INCONSISTENT * scale + 1e-12:
            raise ConstraintError(
                f"{system.name}: its own constraints contradict each other at q = {x}: no "
                "acceleration meets all of them; start from assemble() and project_velocity()"
            )

    # the shortest z, of rows that the other constraints leave something to decide
    F, missing = G @ base, g - G @ qdd
    sizes = np.linalg.norm(G / _units(M), axis=1), np.abs(G) @ np.abs(qdd) + np.abs(g)
    idle = np.linalg.norm(F, axis=1) <= RANK * sizes[0]
    stuck = idle & (missing > RANK * sizes[1])
    try:
        if stuck.any():
            raise Infeasible(stuck.astype(float))
        z, push = least_distance(np.where(idle[:, None], 0.0, F), np.where(idle, 0.0, missing))
    except Infeasible as error:
        among = ", ".join(repr(names[k]) for k in touching[error.weights > 0.0])
        also = " together with the constraints of the system" if dynamics.rows else ""
        raise ConstraintError(
            f"{system.name}: no acceleration meets the one-sided constraints {among}{also} at "
            f"q = {x}; leave one of them out, or let another give way"
        ) from None
    qdd, lam = qdd + base @ z, np.zeros(0)
    if dynamics.rows:
        _, lam, _ = stacked_at(dynamics, x).motion(f + G.T @ push, own.drift)
    forces = dict.fromkeys(names, 0.0)
    for k, sign, each in zip(touching, signs, push, strict=True):
        forces[names[k]] = float(0.0 - sign * each)
    stays = (push > 0.0) | (np.abs(G @ qdd - g) <= RANK * sizes[1])
    active = tuple(names[k] for k in touching[stays])
    regular = least_inertia(M)[0] > REGULAR
    Z = float(0.5 * inverse_form(M, M @ qdd - f)) if regular else None
    return LeastConstraint(qdd, lam, forces, active, Z)


def _touching(
    sides: ConstrainedDynamics, q: Array, qd: Array, tolerance: float
) -> tuple[Array, Array]:
    """(signs (k,), rows (k,)) of the rows that touch, ±(A q̈ − γ) ≥ 0; those that open are left out."""
    rows, positions = sides.at(q, qd), {row: k for k, row in enumerate(sides.positions)}
    signs, touching = [], []
    for name, own in sides.slices.items():
        kind = sides.constraints[name]
        if isinstance(kind, RollingRows) or kind.has_friction:
            raise ConstraintError(
                f"one-sided constraint {name!r}: expected one without friction, got "
                f"{type(kind).__name__}; take PointOnSurface, or a constraint that always touches"
            )
        sign = -1.0 if isinstance(kind, Contact) else 1.0  # a contact's h is minus its gap
        for k in range(own.start, own.stop):
            length = tolerance * float(np.linalg.norm(rows.A[k]))
            h = sign * rows.h[positions[k]] if k in positions else 0.0
            rate = sign * float(rows.A[k] @ qd - rows.b[k])
            if h > length:
                continue
            if h < -length:
                raise ConstraintError(
                    f"one-sided constraint {name!r}: violated by {-h:.3g} at q = {q}; move the "
                    "system until it holds"
                )
            if rate > length * (1.0 + float(np.linalg.norm(qd))):
                continue
            if rate < -length * (1.0 + float(np.linalg.norm(qd))):
                raise ConstraintError(
                    f"one-sided constraint {name!r}: bodies approach at ḣ = {rate:.3g} and collide: "
                    "that is an impact, not an acceleration; take the velocity after it"
                )
            signs.append(sign)
            touching.append(k)
    return np.array(signs), np.array(touching, dtype=int)


def _units(M: Array) -> Array:
    """√M_jj (nv,), one where there is no inertia."""
    diagonal = np.diag(M)
    return np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))


def _orthonormal(dynamics: Any, q: Array, M: Array) -> Array:
    """N (nv, m): velocities that the system's own constraints permit, orthonormal in the metric M."""
    N = permitted(dynamics, q) if dynamics.rows else np.diag(1.0 / _units(M))
    values, vectors = np.linalg.eigh(N.T @ M @ N)
    if values.min(initial=1.0) <= REGULAR * values.max(initial=1.0):
        if dynamics.rows:
            require_determined(dynamics, q)
        dynamics.require_regular()
        raise SingularMassMatrixError(f"{dynamics.name}: M(q) is singular at q = {q}")
    base: Array = N @ (vectors / np.sqrt(values))
    return base
