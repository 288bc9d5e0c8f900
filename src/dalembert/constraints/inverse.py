"""Inverse dynamics: torques of the chosen actuators for a motion, and the constraint forces.

B u = f + Aᵀλ with f = M q̈ + C q̇ + N − ψ, and JᵀF of wrenches, and B the columns of the actuators
(000 p.80–81). The motion fixes P_ω B u = P_ω f; the rest of u does no work on it, and is of least
norm or gives a desired λ_d, with least δᵀ A M⁻¹Aᵀ δ for δ = λ − λ_d. Where contacts have friction, A
stands for A + E here (`friction`), and a λ that would pull at such a contact is no solution. With a
robot's own actuators B is the transpose of their moment arms B(q), and joints that none of them moves
are passive (`required_efforts`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert import tracing
from dalembert.constraints.kinds import index
from dalembert.constraints.kkt import Metric, demanded, metric, solution
from dalembert.constraints.multiplier import INCONSISTENT
from dalembert.constraints.quantities import load
from dalembert.constraints.registry import solved
from dalembert.linalg.factorisations import flagged, largest
from dalembert.linalg.row_space import AnyRowSpace, row_space
from dalembert.spatial.arrays import Array

if TYPE_CHECKING:
    from dalembert.constraints.dynamics import ConstrainedDynamics


def selected(system: ConstrainedDynamics, actuators: str | None) -> list[int]:
    """Velocities of the actuators, from names joined by commas; None is all of them."""
    if actuators is None:
        return list(range(system.nv))
    names = system.dynamics.velocities
    what = f"{system.name} has no velocity"
    return [index(names, name, what) for name in actuators.split(",")]


@solved("tau(nv), lam(rows)", "torques at the actuators that give a motion", "000 p.80–81")
def inverse_dynamics(
    system: ConstrainedDynamics,
    q: Array,
    qd: Array,
    qdd: Array,
    lam: Array | None = None,
    weights: Array | None = None,
    actuators: str | None = None,
    tip_wrench: Array | None = None,
    wrenches: Array | None = None,
) -> tuple[Array, Array]:
    """(τ (nv,), λ (rows,)): zero but at the actuators, Σ w u² least, or λ nearest to `lam`.

    NaN where the actuators cannot give this motion.
    """
    if actuators is not None or system.frictional_rows:
        columns = selected(system, actuators)
        B = np.eye(system.nv)[:, columns]
        own = None if weights is None else weights[columns]
        u, multipliers, ok = driven(system, (q, qd, qdd), B, own, lam, tip_wrench, wrenches)
        return flagged(ok, B @ u, multipliers)
    # where every velocity is driven and no contact has friction, τ = f + Aᵀλ with Σ w τ² least is
    # A W τ = 0: f across the rows in the metric W, without M
    f = demanded(system, q, qd, qdd) + load(system, q, tip_wrench, wrenches)
    A = system.at(q).A
    by = np.eye(system.nv) if weights is None else np.diag(1.0 / weights)
    maps = metric(system, by, A)
    if lam is not None:
        return f + A.T @ lam, maps.normal(A.T @ lam)
    # with unit factors L, half-solved forces are the forces themselves, in the order of the factors
    tau = maps.space.across(maps.space.across(maps.half(f)))[::-1]
    if not tracing.is_differentiating():
        return tau, -maps.normal(f)
    # the same as W⁻¹ v + Aᵀ(−λ) = f and A v = 0 with v = W τ
    v = tau if weights is None else weights * tau
    v, mu = solution(
        system, maps, (v, maps.normal(f)), lambda v, mu: (by @ v + A.T @ mu - f, A @ v)
    )
    return by @ v, -mu


@solved(
    "f(nu), lam(rows)",
    "forces of the actuators that give a motion, and what the constraints then carry",
    "000 p.80–81",
)
def required_efforts(
    system: ConstrainedDynamics,
    q: Array,
    qd: Array,
    qdd: Array,
    effort_weights: Array | None = None,
    lam: Array | None = None,
    tip_wrench: Array | None = None,
) -> tuple[Array, Array]:
    """(f (nu,), λ (rows,)) of a robot's own actuators; NaN where they cannot give this motion."""
    B = system.dynamics.compute("transmission", q=q)
    f, multipliers, ok = driven(system, (q, qd, qdd), B.T, effort_weights, lam, tip_wrench)
    return flagged(ok, f, multipliers)


def driven(
    system: ConstrainedDynamics,
    state: tuple[Array, Array, Array],
    B: Array,
    weights: Array | None = None,
    lam: Array | None = None,
    tip_wrench: Array | None = None,
    wrenches: Array | None = None,
) -> tuple[Array, Array, Array]:
    """(u, λ, whether they give the motion) with B (nv, k) u = f + Aᵀλ, `weights` (k,) of u."""
    q, qd, qdd = state
    M, A = system.dynamics.mass_matrix(q), system.at(q).A
    if system.frictional_rows:  # rows of A + E: their transpose times λ ≥ 0 is the force
        E = dict(zip(system.frictional_rows, system.friction_rows(q, qd)[0], strict=True))
        A = np.stack([A[k] + E[k] if k in E else A[k] for k in range(A.shape[0])])
    # f = M q̈ + C q̇ + N − ψ + JᵀF, in parts
    parts = [M @ qdd, system.dynamics.bias(q, qd), -system.generalized_forces(q, qd)]
    if tip_wrench is not None or wrenches is not None:
        parts.append(load(system, q, tip_wrench, wrenches))
    f, maps = sum(parts[1:], parts[0]), metric(system, M, A)
    scale = None if weights is None else 1.0 / np.sqrt(weights)
    B = B if scale is None else B * scale.reshape(1, -1)
    drives = drive_span(system, maps, B)
    u = drives.torques(maps, f)
    if lam is not None:
        # plus the internal u (P_ω B u = 0) that brings B u nearest to f + Aᵀ lam in the metric M⁻¹
        _, inside = drives.span.coordinates(np.eye(B.shape[1]))
        half, by = maps.half(B), maps.space.weights
        inner = (half @ inside).T
        space = row_space(inner, None, by, half.T, maps.A.shape[0])
        u = u + inside @ space.solve(inner @ (by * maps.half(f + A.T @ lam - B @ u)))[0]
    constraint_force = B @ u - f
    multipliers = maps.normal(constraint_force)
    # beside the parts of the force, which may cancel: a force over √M_jj has no units of its own
    size = np.sqrt(np.stack([M[k, k] for k in range(system.nv)]))
    sizes = [largest(part / size) for part in (*parts, B @ u, A.T @ multipliers)]
    error = largest((constraint_force - A.T @ multipliers) / size)
    ok = error <= INCONSISTENT * (1e-9 + sum(sizes[1:], sizes[0]))
    for row in system.frictional_rows:
        ok = ok * (multipliers[row] >= 0.0)
    return u if scale is None else scale * u, multipliers, ok


class DriveSpan(NamedTuple):
    """The effect of the drives on the motion, P_ω B u in the metric M⁻¹."""

    columns: Array  # L⁻¹ P_ω B, one row (nv,) for every drive
    span: AnyRowSpace  # their span

    def torques(self, maps: Metric, f: Array) -> Array:
        """u of least norm with P_ω B u = P_ω f, for f (nv,) or (nv, m)."""
        return self.span.solve(self.columns @ maps.weigh(maps.half(f)))[0]

    def behind(self, maps: Metric, u: Array) -> Array:
        """The permitted velocity v (nv,), A v = 0, with Bᵀv = u for u of least norm."""
        y = self.span.back(self.span.coordinates(u)[0])
        return maps.M.full_solve(list(maps.space.across(y)))


def drive_span(system: ConstrainedDynamics, maps: Metric, B: Array) -> DriveSpan:
    """Columns of L⁻¹ P_ω B, taken across the rows twice.

    Near a singular configuration no rounding then counts as part of the span.
    """
    half, across = maps.half(B).T, maps.space.across
    columns = np.stack([across(across(column)) for column in half])
    most = system.freedoms + 1  # one more where a row is lost
    return DriveSpan(columns, row_space(columns, None, maps.space.weights, half, most))
