"""First derivatives of motions, torques and λ, through the solve by its own factors.

At fixed q̈ and λ the residuals r = M q̈ + h − ψ + Aᵀλ − τ and A q̈ − γ are differentiated by q and q̇;
what they leave is solved with the factors at hand, never differentiated itself:

    M q̈′ + Aᵀλ′ = −r′,    A q̈′ = −(A q̈ − γ)′.

Where rows are redundant, λ of least norm lies in the range of A and turns with it: with A y = λ,
(1 − A A⁺) λ′ = (1 − A A⁺) A′ y, as long as the rank stays, that is along the constraints.
Primes are along `integrate(q, δ)`: nv numbers whatever nq is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert import tracing
from dalembert.constraints.coulomb_friction import require_smooth, with_friction
from dalembert.constraints.inverse import drive_span, inverse_dynamics, selected
from dalembert.constraints.kkt import Metric, metric, metric_at
from dalembert.constraints.multiplier import forward_dynamics
from dalembert.constraints.registry import solved
from dalembert.linalg.factorisations import flagged, lu
from dalembert.spatial.arrays import Array

if TYPE_CHECKING:
    from dalembert.constraints.dynamics import ConstrainedDynamics


class AccelerationDerivatives(NamedTuple):
    """Derivatives of q̈, each (nv, nv), and of λ, each (rows, nv)."""

    dqdd_dq: Array
    dqdd_dqd: Array
    dqdd_dtau: Array
    dlam_dq: Array
    dlam_dqd: Array
    dlam_dtau: Array


class TorqueDerivatives(NamedTuple):
    """Derivatives of τ, each (nv, nv), and of λ, each (rows, nv)."""

    dtau_dq: Array
    dtau_dqd: Array
    dtau_dqdd: Array
    dlam_dq: Array
    dlam_dqd: Array
    dlam_dqdd: Array


def _shapes(derivatives: Any) -> str:
    """Shapes of the derivatives of q̈ or τ and of λ, by the names of these fields."""
    fields = derivatives._fields
    return ", ".join(f"{x}({'rows' if x.startswith('dlam') else 'nv'}, nv)" for x in fields)


def residual_derivatives(
    system: ConstrainedDynamics, q: Array, qd: Array, qdd: Array, lam: Array, *along: Array
) -> tuple[Array, Array, list[Array]]:
    """Derivatives (·, 2 nv), by q, then by q̇, of the residuals at fixed q̈ and λ.

    They are those of M q̈ + h − ψ + Aᵀλ, without Coulomb friction, of A q̈ − γ, and of A y for every
    velocity y (nv,) of `along`.
    """
    values = (q, qd, qdd, np.asarray(system.now), lam, *along)
    shapes = [tracing.shape_of(value) for value in values]
    symbols = [tracing.symbol(f"s{k}", *shape) for k, shape in enumerate(shapes)]
    x, w, a, now, multipliers, *directions = symbols
    plant, rows = system.dynamics.at_time(now), system.at(x, w, now)
    has_derivatives = "inverse_dynamics_derivatives" in plant.catalogue
    force = system.reaction(x, w, now, multipliers)
    if not has_derivatives:
        own = plant.mass_matrix(x) @ a + plant.bias(x, w)
        force = force + own - plant.generalized_forces(x, w, now)
    spread = tracing.jacobian(system.rate(x, w), w)  # dq/dδ (nq, nv)
    jacobians = [
        np.concatenate([tracing.jacobian(r, x) @ spread, tracing.jacobian(r, w)], axis=1)
        for r in (force, rows.A @ a - rows.drift, *(rows.A @ y for y in directions))
    ]
    by_force, by_row, *turned = tracing.at(jacobians, symbols, values)
    if has_derivatives:
        by_q, by_qd, _ = system.dynamics.compute(
            "inverse_dynamics_derivatives", q=q, qd=qd, qdd=qdd
        )
        by_force = by_force + np.concatenate([by_q, by_qd], axis=1)
    return by_force, by_row, turned


@solved(_shapes(AccelerationDerivatives), "∂q̈ and ∂λ by q, q̇ and τ")
def forward_dynamics_derivatives(
    system: ConstrainedDynamics, q: Array, qd: Array, tau: Array
) -> AccelerationDerivatives:
    """∂q̈ and ∂λ by q, q̇ and τ."""
    qdd, lam = with_friction(forward_dynamics)(system, q, qd, tau)
    maps = metric_at(system, q)
    # y with A y = λ, where rows are redundant
    y = () if system.balanced else (maps.shortest(lam),)
    force, row, turned = residual_derivatives(system, q, qd, qdd, lam, *y)
    unit, still = np.eye(system.nv), np.zeros((system.rows, system.nv))
    f = np.concatenate([-force, unit], axis=1)
    by_qdd, by_lam, _ = maps.motion(f, np.concatenate([-row, still], axis=1))
    if system.frictional_rows:
        # friction follows λ′ of the contacts that press: λ′_n = λ′_n⁰ + R λ′_n
        rows = list(system.frictional_rows)
        E = system.friction_rows(q, qd)[0]
        presses = np.stack([np.where(lam[k] > 0.0, 1.0, 0.0) for k in rows])
        zero = np.zeros((system.rows, len(rows)))
        qdd_by_n, lam_by_n, _ = maps.motion(-E.T * presses, zero)
        normal_forces = lu(np.eye(len(rows)) - lam_by_n[rows]).solve(by_lam[rows])
        by_qdd, by_lam = by_qdd + qdd_by_n @ normal_forces, by_lam + lam_by_n @ normal_forces
    return AccelerationDerivatives(*_parts(system, maps, turned, by_qdd, by_lam))


@solved(_shapes(TorqueDerivatives), "∂τ and ∂λ by q, q̇ and q̈")
def inverse_dynamics_derivatives(
    system: ConstrainedDynamics, q: Array, qd: Array, qdd: Array, actuators: str | None = None
) -> TorqueDerivatives:
    """∂τ and ∂λ by q, q̇ and q̈.

    The torques u of least norm are u = Bᵀv with a velocity v that the constraints permit, A v = 0:
    B u − Aᵀλ = f and A v = 0 are differentiated, A v′ = −A′v with the shortest v′, and the rest of
    u′ is of least norm again.
    """
    require_smooth(system, "the derivative of inverse dynamics")
    tau, lam = inverse_dynamics(system, q, qd, qdd, actuators=actuators)
    plant, A = system.dynamics, system.at(q).A
    M = plant.mass_matrix(q)
    # where all velocities are driven, B = 1 and v = τ: the same equations with unit masses
    maps = metric(system, np.eye(system.nv) if actuators is None else M, A)
    columns = selected(system, actuators)
    B = np.eye(system.nv)[:, columns]
    drives = None if actuators is None else drive_span(system, maps, B)
    v = tau if drives is None else drives.behind(maps, tau[columns])
    y = () if system.balanced else (maps.shortest(lam),)
    force, _, turned = residual_derivatives(system, q, qd, qdd, lam, v, *y)
    still = np.zeros((system.rows, system.nv))
    g = np.concatenate([force, M], axis=1)
    turn = np.concatenate([-turned[0], still], axis=1)
    if drives is None:
        by_tau, against, _ = maps.motion(g, turn)
        by_lam = -against
    else:
        u = maps.shortest(turn)[columns]
        by_tau = B @ (u + drives.torques(maps, g - B @ u))
        by_lam = maps.normal(by_tau - g)
    return TorqueDerivatives(*_parts(system, maps, turned, by_tau, by_lam))


def _parts(
    system: ConstrainedDynamics, maps: Metric, turned: list[Array], by_x: Array, by_lam: Array
) -> tuple[Array, ...]:
    """Columns (·, 3 nv) by the three inputs; NaN where a row is lost, as nothing is smooth there."""
    if not system.balanced:  # (1 − A A⁺) A′ y
        redundant = maps.space.coordinates(turned[-1])[1]
        still = np.zeros((system.rows, system.nv))
        by_lam = by_lam + np.concatenate([redundant, still], axis=1)
    ok = maps.space.lost < 0.5
    return *flagged(ok, *np.split(by_x, 3, axis=1)), *flagged(ok, *np.split(by_lam, 3, axis=1))
