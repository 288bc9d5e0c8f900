"""The metric M of the velocities and the one it induces on the rows: what λ and q̈ are solved with.

    M q̈ + Aᵀλ = f,  A q̈ = γ:    (A M⁻¹ Aᵀ) λ = A M⁻¹ f − γ,    M q̈ = f − Aᵀλ        (000 p.56, p.67)

With M = L D Lᵀ, coordinates in reverse so that L keeps the zeros of a tree, and B = A L⁻ᵀ it is
(B D⁻¹ Bᵀ) λ = B D⁻¹ z − γ, z = L⁻¹ f, solved from an orthogonal basis of the rows of B: near a
singular posture errors grow like their condition, not its square. Right sides may have several
columns, all solved with the same factors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.linalg.blocked_rows import BlockedRowSpace, blocked_rows
from dalembert.linalg.dense import is_large
from dalembert.linalg.ldl import LeavesFirst, leaves_first
from dalembert.linalg.row_space import AnyRowSpace, row_space

if TYPE_CHECKING:
    from dalembert.constraints.description import ConstrainedDynamics


class Metric(NamedTuple):
    """The maps between T*E, TE and the space of the constraints (000 p.67)."""

    M: LeavesFirst  # L D Lᵀ, the last coordinate first
    A: Any  # h_* (rows, nv)
    B: Any  # A L⁻ᵀ (rows, nv): M₂♯ = B D⁻¹ Bᵀ = A M⁻¹ Aᵀ
    space: AnyRowSpace | BlockedRowSpace  # of the rows of B, by which M₂♭ is applied

    def flat(self, a: Any) -> tuple[Any, Any]:
        """(M₂♭ a, what no constraint force can do of a), for a (rows,) or (rows, m)."""
        return self.space.solve(a)

    def weigh(self, z: Any) -> Any:
        """D⁻¹ z, for z (nv,) or (nv, m)."""
        weights = self.space.weights
        return weights * z if len(z.shape) == 1 else weights.reshape(-1, 1) * z

    def sharp(self, f: Any) -> Any:
        """h_* M♯ f (rows,) = A M⁻¹ f."""
        return self.B @ self.weigh(self.half(f))

    def half(self, f: Any) -> Any:
        """L⁻¹ f (nv,) or (nv, m)."""
        return np.stack(self.M.half_solve(f))

    def normal(self, f: Any) -> Any:
        """M₂♭ h_* M♯ f (rows,): Aᵀ times it is (1 − P_ω) f."""
        return self.flat(self.sharp(f))[0]

    def project(self, f: Any) -> Any:
        """P_ω f (nv,)."""
        return f - self.A.T @ self.normal(f)

    def motion(self, f: Any, drift: Any) -> tuple[Any, Any, Any]:
        """(q̈, λ of least norm, what is left of A M⁻¹ f − γ) under forces f."""
        z = self.half(f)
        lam, left = self.space.solve(self.B @ self.weigh(z) - drift)
        return self.M.full_solve(list(z - self.B.T @ lam)), lam, left

    def shortest(self, a: Any) -> Any:
        """The shortest velocity v in the metric M with A v = a, for a (rows,) or (rows, m)."""
        y, _ = self.space.coordinates(a)
        return self.M.full_solve(list(self.space.back(y)))

    @property
    def A_sharp(self) -> Any:
        """h_* ∘ M♯ = A M⁻¹ (rows, nv)."""
        return self.M.full_solve(list(self.B.T)).T


def metric(system: ConstrainedDynamics, M: Any, A: Any) -> Metric:
    """M♯ and M₂♯ = h_* ∘ M♯ ∘ h*, with M₂♭ its pseudo-inverse where rows are redundant."""
    mass = leaves_first(M)
    B = np.stack(mass.half_solve(A.T)).T
    blocks = system.row_blocks
    if len(blocks) > 1 and system.known_rank and not system.balanced and not is_large(B):
        return Metric(mass, A, B, blocked_rows(B, mass.weights, blocks))
    return Metric(mass, A, B, row_space(B, system.known_rank, weights=mass.weights))


def metric_at(system: ConstrainedDynamics, q: Any, t: Any = None) -> Metric:
    """The metric of a system at a posture."""
    return metric(system, system.dynamics.at_time(t).mass_matrix(q), system.at(q, None, t).A)


class Terms(NamedTuple):
    """M q̈ + Aᵀλ = f and A q̈ = γ."""

    M: Any  # (nv, nv)
    f: Any  # τ + ψ − C q̇ − N (nv,)
    A: Any  # (rows, nv)
    drift: Any  # γ = ḃ − Ȧ q̇ (rows,)


def terms(system: ConstrainedDynamics, q: Any, qd: Any, tau: Any, t: Any = None) -> Terms:
    """The terms at a state, traceable."""
    plant = system.dynamics.at_time(t)
    rows = system.at(q, qd, t)
    f = tau + plant.generalized_forces(q, qd, t) - plant.bias(q, qd)
    return Terms(plant.mass_matrix(q), f, rows.A, rows.drift)
