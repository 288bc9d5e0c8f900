"""The equations of Boltzmann and Hamel, in quasi-velocities u = Y(q, t) q̇.

Lagrange's central equation d/dt(p_k δπ_k) = δL* + Q_k δπ_k with p = ∂L*/∂u and δπ = Y δq, where by
d/dt δq = δq̇ one has δu_k − d/dt δπ_k = −Σ_ij γᵏ_ij u_j δπ_i − Σ_i γᵏ_i0 δπ_i, gives for every i

    d/dt ∂L*/∂u_i − ∂L*/∂π_i + Σ_kj γᵏ_ij u_j ∂L*/∂u_k + Σ_k γᵏ_i0 ∂L*/∂u_k = Q_i,

    ∂/∂π_i = Σ_a (Y⁻¹)_ai ∂/∂q_a,    Q = Y⁻ᵀ (τ + ψ),
    γᵏ_ij = Σ_ab (∂Y_ka/∂q_b − ∂Y_kb/∂q_a + Σ_c Y_kc cᶜ_ab) (Y⁻¹)_ai (Y⁻¹)_bj,
    γᵏ_i0 = Σ_a ∂Y_ka/∂t (Y⁻¹)_ai.

The sign: [E_i, E_j] = Σ_k γᵏ_ij E_k of the fields E_i = ∂/∂π_i, and [E_i, ∂_t] = Σ_k γᵏ_i0 E_k. Where
q̇ are no velocities (ball and free joints) ∂/∂q_a are the fields X_a along which q moves with one unit
velocity, and cᶜ_ab their structure constants, [X_a, X_b] = cᶜ_ab X_c: with Y = 1 that is Euler's ω × p.
Momenta of rotors at such joints do not turn with their axes, and are left out there.
L*(q, u, t) = L(q, Y⁻¹u, t) is differentiated by all u. Only then the constraints are inserted, the
last u = A q̇ = b: their equations have Q_i − λ_i on the right, so they give λ.

Source: Neimark and Fufaev, Dynamics of Nonholonomic Systems (1972), ch. III; Greenwood, Advanced
Dynamics (2003), §4.1. The derivation shares T, V, ψ and A with the other routes, and the choice of
pivots with elimination; M q̈ + h of the system does not enter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from dalembert import tracing
from dalembert.constraints import multiplier
from dalembert.constraints.elimination import completed
from dalembert.linalg.factorisations import LU, ldl, lu
from dalembert.linalg.rank import Pivots
from dalembert.spatial.arrays import Array, Scalar
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.poisson import structure_constants

if TYPE_CHECKING:
    from dalembert.constraints.dynamics import ConstrainedDynamics


# of a pivot beside its row: Y⁻¹ is differentiated, which loses twice the digits of a solution by it
STEEP = 0.01


class Factors(Protocol):
    """A square matrix, by which is divided."""

    def solve(self, B: Array) -> Array:
        """X with Y X = B."""

    def transpose_solve(self, B: Array) -> Array:
        """X with Yᵀ X = B."""


class ColumnLU(NamedTuple):
    """Y with its columns in another order, so that their pivots are known not to vanish."""

    factors: LU
    order: list[int]

    def solve(self, B: Array) -> Array:
        X: Array = self.factors.solve(B)[np.argsort(self.order)]
        return X

    def transpose_solve(self, B: Array) -> Array:
        return self.factors.transpose_solve(B[self.order])


class Inverse(NamedTuple):
    """Y by its inverse."""

    W: Array

    def solve(self, B: Array) -> Array:
        X: Array = self.W @ B
        return X

    def transpose_solve(self, B: Array) -> Array:
        X: Array = self.W.T @ B
        return X


class Quasi(NamedTuple):
    """Quasi-velocities u = Y(q, t) q̇."""

    matrix: Callable[[Array, Scalar], Array]  # (q, t) → Y (nv, nv)
    factors: Callable[[Array], Factors]  # of Y


class Frame(NamedTuple):
    """Y and its derivatives on symbols x of q and t."""

    Y: Array  # (nv, nv)
    factors: Factors
    fields: Array  # (nq, nv): X_a as columns, q̇ per unit velocity
    constants: Array  # (nv, nv, nv) cᶜ_ab as c, a, b
    curls: Array  # (nv, nv, nv): k, a, b of the bracket in γᵏ_ij

    @staticmethod
    def of(plant: Dynamics, quasi: Quasi, x: Array, t: Array) -> Frame:
        """The frame of a plant on its symbols."""
        Y, v = quasi.matrix(x, t), tracing.symbol("v", plant.nv)
        fields = tracing.jacobian(plant.rate(x, v), v)
        by_field = tracing.jacobian(Y, x) @ fields  # X_b Y_ka as k, a, b
        c = structure_constants(plant)
        curls = by_field - np.swapaxes(by_field, 1, 2) + np.einsum("kc,cab->kab", Y, c)
        return Frame(Y, quasi.factors(Y), fields, c, curls)


def hamel_coefficients(plant: Dynamics, quasi: Quasi, q: Array, t: Scalar) -> Array:
    """γᵏ_ij (nv, nv, nv) as [k, i, j] at a configuration."""
    x, now = tracing.symbol("x", plant.nq), tracing.symbol("t")
    frame = Frame.of(plant, quasi, x, now)
    W = frame.factors.solve(np.eye(plant.nv))
    gamma = np.einsum("kaj,ai->kij", np.einsum("kab,bj->kaj", frame.curls, W), W)
    return tracing.at([gamma], [x, now], [q, t])[0]


def lagrangian(plant: Dynamics, q: Array, v: Array) -> Scalar:
    """L = T − V, J, with what is linear in the velocities."""
    V = plant.potential_energy(q)
    if not (plant.gyroscopic or plant.has_chart_energy):
        L: Scalar = plant.kinetic_energy(q, v) - V
        return L
    T2, _, T0 = plant.kinetic_energy_parts(q, v)
    a = plant.compute("generalized_momentum", q=q, qd=np.zeros(plant.nv))
    L = T2 + a @ v + T0 - V
    return L


class Sides(NamedTuple):
    """M_u u̇ + h_u = Q of every direction, before constraints are inserted."""

    M_u: Array  # (nv, nv) ∂²L*/∂u²
    h_u: Array  # (nv,) the left side at u̇ = 0
    Y: Array  # (nv, nv)
    turn: Array  # Ẏ q̇ (nv,) = u̇ − Y q̈


def left_side(plant: Dynamics, quasi: Quasi, q: Array, u: Array, t: Scalar) -> Sides:
    """The left side of the equations, from derivatives of L*(q, u, t)."""
    x, w, now = tracing.symbol("x", plant.nq), tracing.symbol("u", plant.nv), tracing.symbol("t")
    frame = Frame.of(plant, quasi, x, now)
    v = frame.factors.solve(w)
    rate = frame.fields @ v
    L = lagrangian(plant.at_time(now), x, v)
    p = tracing.gradient(L, w)
    p_rate = tracing.directional(p, x, rate) + tracing.jacobian(p, now)
    Y_now = tracing.jacobian(frame.Y, now)
    # Σ_kb p_k (X_b Y_ka − X_a Y_kb + …) v_b, and what Y itself changes by
    turned = np.stack([p @ (row @ v) for row in np.swapaxes(frame.curls, 0, 1)]) + Y_now.T @ p
    # momenta of rotors keep their axes: no ω × p
    rotors = plant.rotor_inertia * v
    turned = turned - np.stack([rotors @ (row @ v) for row in np.swapaxes(frame.constants, 0, 1)])
    along = frame.fields.T @ tracing.gradient(L, x)
    h_u = p_rate + frame.factors.transpose_solve(turned - along)
    turn = (tracing.directional(frame.Y, x, rate) + Y_now) @ v
    return Sides(*tracing.at([tracing.jacobian(p, w), h_u, frame.Y, turn], [x, w, now], [q, u, t]))


def solved(sides: Sides, force: Array, constrained_rate: Array) -> tuple[Array, Array]:
    """(u̇ (nv,), λ of the rows that are the last u): these have u̇ = `constrained_rate` and Q_i − λ_i."""
    m = len(force) - len(constrained_rate)
    M, unbalanced = sides.M_u, force - sides.h_u
    pushed = unbalanced - M[:, m:] @ constrained_rate
    free_rate = ldl(M[:m, :m]).solve(pushed[:m]) if m else np.zeros(0)
    return np.concatenate([free_rate, constrained_rate]), pushed[m:] - M[m:, :m] @ free_rate


def forward_dynamics(
    system: ConstrainedDynamics, q: Array, qd: Array, tau: Array, pivots: str | None = None
) -> tuple[Array, Array]:
    """(q̈ (nv,), λ (rows,)), u the independent velocities of elimination and A q̇; NaN as there."""
    if not system.rank:  # there is nothing to insert
        return multiplier.forward_dynamics(system, q, qd, tau)
    chosen = system.require_pivots() if pivots is None else Pivots.parse(pivots)
    rows, columns = list(chosen.rows), list(chosen.columns)
    free = [k for k in range(system.nv) if k not in columns]
    order, unit = [*free, *columns], np.eye(system.nv)[free]
    quasi = Quasi(
        lambda x, t: np.concatenate([unit, system.at(x, None, t).A[rows]]),
        lambda Y: ColumnLU(lu(Y[:, order]), order),
    )
    plant, at = system.dynamics, system.at(q, qd)
    Y = quasi.matrix(q, system.now)
    sides, factors = left_side(plant, quasi, q, Y @ qd, system.now), quasi.factors(Y)
    force = factors.transpose_solve(tau + system.generalized_forces(q, qd))
    # ḃ of A q̇ = b, where A q̈ is the drift
    u_rate, basic = solved(sides, force, at.drift[rows] + sides.turn[len(free) :])
    qdd = factors.solve(u_rate - sides.turn)
    M = plant.mass_matrix(q)
    return completed(system, chosen, M, at.A, at.drift, qdd, basic, STEEP)
