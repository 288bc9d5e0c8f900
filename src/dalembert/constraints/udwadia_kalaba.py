"""Udwadia and Kalaba's equation of motion, also for singular M (Udwadia and Phohomsiri 2006).

Ideal constraints exert −Aᵀλ, which I − A⁺A takes out of M q̈ + Aᵀλ = f. With A q̈ = γ that leaves

    [(I − A⁺A) M; A] q̈ = [(I − A⁺A) f; γ]    and so    q̈ = [(I − A⁺A) M; A]⁺ [f; γ],

as (I − A⁺A) f and f have the same product with the transposed matrix. The matrix has full column rank
where no velocity v ≠ 0 has M v = 0 and A v = 0: (I − A⁺A) M v = 0 with A v = 0 means vᵀM v = 0, and
M is positive semidefinite. Otherwise the motion is not determined.

For M > 0 the result is the minimiser of Gauss's Z = ½ (q̈ − a)ᵀM (q̈ − a), a = M⁻¹f, among A q̈ = γ:
Z is stationary along all δ = (I − A⁺A) w where (I − A⁺A)(M q̈ − f) = 0, which are the first rows. Its
closed form a + M^{−½} (A M^{−½})⁺ (γ − A a) is that of Udwadia and Kalaba 1992.

The two parts of the system lie in orthogonal spaces, so that they may be added: K q̈ = (I − A⁺A) f + A⁺γ
with the square K = (I − A⁺A) M + A⁺A has KᵀK, hence the pseudo-inverse, of [(I − A⁺A) M; A⁺A]. It is
solved by K = Q R. A⁺A comes from a basis of the rows of A, whose rank is known, and velocities are
measured by √M_jj, which leaves no units. λ is the one of least norm with Aᵀλ = f − M q̈.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.constraints.geometry import sizes_at, weighed
from dalembert.constraints.kkt import span, terms
from dalembert.constraints.multiplier import bound, consistent
from dalembert.errors import SingularMassMatrixError
from dalembert.linalg.factorisations import back_substitution, flagged, largest
from dalembert.linalg.orthogonal import qr
from dalembert.linalg.rank import null_space
from dalembert.linalg.row_space import AnyRowSpace, BlockedRowSpace
from dalembert.spatial.arrays import Array, Scalar
from dalembert.systems.energies import combination

if TYPE_CHECKING:
    from dalembert.constraints.dynamics import ConstrainedDynamics

# of M_jj beside the largest, and of a column of K beside those before it: rounding below that
ROUNDING = 1e-13


class Stacked(NamedTuple):
    """K = Q R at a configuration, of velocities × √M_jj."""

    A: Array  # (rows, nv)
    unit: Array  # 1/√M_jj (nv,), one where there is no inertia
    M: Array  # (nv, nv) without units
    B: Array  # A (rows, nv) without units
    space: AnyRowSpace | BlockedRowSpace  # of the rows of B
    Q: Array  # (nv, nv)
    R: Array  # (nv, nv), upper triangular; NaN where K is singular

    def motion(self, f: Array, drift: Array) -> tuple[Array, Array, Array]:
        """(q̈, λ of least norm, A q̈ − γ) under forces f (nv,) or (nv, m)."""
        g = (self.unit * f.T).T
        right = across(self.space, g) + self.space.back(self.space.coordinates(drift)[0])
        x = back_substitution(self.R, self.Q.T @ right)
        lam, _ = self.space.solve(self.B @ (g - self.M @ x))
        return (self.unit * x.T).T, lam, self.B @ x - drift

    def shortest(self, a: Array) -> Array:
        """The shortest velocity v without units with A v = a (rows,)."""
        v: Array = self.unit * self.space.back(self.space.coordinates(a)[0])
        return v


def across(space: AnyRowSpace | BlockedRowSpace, X: Array) -> Array:
    """(I − A⁺A) X, for X (nv,) or (nv, m); twice, so that no more than rounding is left along A."""
    for _ in range(2):
        X = X - space.back(space.P @ X)
    return X


def stacked(system: ConstrainedDynamics, M: Array, A: Array) -> Stacked:
    """The factors of K = (I − A⁺A) M + A⁺A."""
    diagonal = np.stack([M[k, k] for k in range(system.nv)])
    has_inertia = diagonal > ROUNDING * largest(diagonal)
    unit = 1.0 / np.sqrt(np.where(has_inertia, diagonal, 1.0))
    scaled, B = M * unit * unit.reshape(-1, 1), A * unit
    space = span(system, B)
    K = across(space, scaled) + space.back(space.P)
    Q, R = qr(K)
    ok: Scalar = 1.0
    for k in range(system.nv):
        ok = ok * (R[k, k] > ROUNDING * np.sqrt(K[:, k] @ K[:, k]))
    (R,) = flagged(ok, R)
    return Stacked(A, unit, scaled, B, space, Q, R)


def stacked_at(system: ConstrainedDynamics, q: Array) -> Stacked:
    """The factors at a configuration."""
    return stacked(system, system.dynamics.mass_matrix(q), system.at(q).A)


def forward_dynamics(
    system: ConstrainedDynamics, q: Array, qd: Array, tau: Array
) -> tuple[Array, Array]:
    """(q̈ (nv,), λ (rows,)); NaN where the motion is not determined or the constraints contradict."""
    M, f, A, drift = terms(system, q, qd, tau)
    factors = stacked(system, M, A)
    qdd, lam, residual = factors.motion(f, drift)
    x = qdd / factors.unit
    most = bound(factors.space.squares, x @ x)  # of A q̈, however much of it cancels
    ok = consistent(system, residual, factors.space.lost, most, drift)
    return flagged(ok, qdd, lam)


def require_determined(system: ConstrainedDynamics, q: Array) -> None:
    """Raise if [M; A] has no full column rank at q, naming the velocity that nothing determines."""
    by = sizes_at(system, q)
    M = system.dynamics.mass_matrix(q) / np.outer(by.columns, by.columns)
    free = null_space(np.concatenate([M, weighed(system, q, by)])) / by.columns.reshape(-1, 1)
    if free.shape[1]:
        along = combination(free[:, 0], system.velocities)
        raise SingularMassMatrixError(
            f"{system.name}: the constraints do not determine the motion at q = {q}: along {along} "
            "neither inertia nor a constraint acts (M v = 0 and A v = 0); give it mass, hold it by a "
            "constraint, or leave out a coordinate"
        )
