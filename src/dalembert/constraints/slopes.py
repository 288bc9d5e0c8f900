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
from dalembert.constraints.friction import require_smooth, rubbed
from dalembert.constraints.inverse import inverse_dynamics, reach, selected
from dalembert.constraints.metric import Metric, metric, metric_at
from dalembert.constraints.multiplier import forward_dynamics
from dalembert.linalg.entries import flagged
from dalembert.linalg.lu import lu

if TYPE_CHECKING:
    from dalembert.constraints.description import ConstrainedDynamics


class MotionSlopes(NamedTuple):
    """Derivatives of q̈, each (nv, nv), and of λ, each (rows, nv)."""

    dqdd_dq: Any
    dqdd_dqd: Any
    dqdd_dtau: Any
    dlam_dq: Any
    dlam_dqd: Any
    dlam_dtau: Any


class TorqueSlopes(NamedTuple):
    """Derivatives of τ, each (nv, nv), and of λ, each (rows, nv)."""

    dtau_dq: Any
    dtau_dqd: Any
    dtau_dqdd: Any
    dlam_dq: Any
    dlam_dqd: Any
    dlam_dqdd: Any


class Slopes(NamedTuple):
    """Derivatives of the residuals at fixed q̈ and λ, each (·, 2 nv): by q, then by q̇."""

    force: Any  # of M q̈ + h − ψ + Aᵀλ (nv, 2 nv)
    row: Any  # of A q̈ − γ (rows, 2 nv)
    turned: tuple[Any, ...]  # of A y (rows, 2 nv), for every y


def residual_slopes(
    system: ConstrainedDynamics, state: tuple[Any, ...], lam: Any, *along: Any
) -> Slopes:
    """The derivatives of the residuals at a state (q, q̇, q̈, t); of Coulomb friction, none.

    Those of A y are for every velocity y (nv,) of `along`.
    """
    q, qd, qdd, t = state
    given = (q, qd, qdd, np.zeros(()) if t is None else t, lam, *along)
    shapes = [tracing.shape_of(value) for value in given]
    symbols = [tracing.symbol(f"s{k}", *shape) for k, shape in enumerate(shapes)]
    x, w, a, now, carried, *ways = symbols
    plant, rows = system.dynamics.at_time(now), system.at(x, w, now)
    known = "inverse_dynamics_derivatives" in plant.catalogue
    force = system.reaction(x, w, now, carried)
    if not known:
        own = plant.mass_matrix(x) @ a + plant.bias(x, w)
        force = force + own - plant.generalized_forces(x, w, now)
    spread = tracing.jacobian(system.rate(x, w), w)  # dq/dδ (nq, nv)
    slopes = [
        np.concatenate([tracing.jacobian(r, x) @ spread, tracing.jacobian(r, w)], axis=1)
        for r in (force, rows.A @ a - rows.drift, *(rows.A @ y for y in ways))
    ]
    own, row, *turned = tracing.at(slopes, symbols, given)
    found = Slopes(own, row, tuple(turned))
    if not known:
        return found
    by_q, by_qd, _ = system.dynamics.at_time(t).compute(
        "inverse_dynamics_derivatives", q=q, qd=qd, qdd=qdd
    )
    return found._replace(force=found.force + np.concatenate([by_q, by_qd], axis=1))


def forward_dynamics_derivatives(
    system: ConstrainedDynamics, q: Any, qd: Any, tau: Any, t: Any = None
) -> MotionSlopes:
    """∂q̈ and ∂λ by q, q̇ and τ."""
    qdd, lam = rubbed(forward_dynamics)(system, q, qd, tau, t)
    maps = metric_at(system, q, t)
    slopes = residual_slopes(system, (q, qd, qdd, t), lam, *_behind(system, maps, lam))
    unit, still = np.eye(system.nv), np.zeros((system.rows, system.nv))
    f = np.concatenate([-slopes.force, unit], axis=1)
    by_qdd, by_lam, _ = maps.motion(f, np.concatenate([-slopes.row, still], axis=1))
    by_qdd, by_lam = _pressed(system, maps, (q, qd, t), lam, by_qdd, by_lam)
    by_lam = by_lam + np.concatenate([_turned(system, maps, slopes), still], axis=1)
    return MotionSlopes(*_parts(maps, by_qdd, system.nv), *_parts(maps, by_lam, system.nv))


def inverse_dynamics_derivatives(
    system: ConstrainedDynamics,
    q: Any,
    qd: Any,
    qdd: Any,
    t: Any = None,
    actuators: str | None = None,
) -> TorqueSlopes:
    """∂τ and ∂λ by q, q̇ and q̈.

    The torques u of least norm are u = Bᵀv with a velocity v that the constraints permit, A v = 0:
    B u − Aᵀλ = f and A v = 0 are differentiated, A v′ = −A′v with the shortest v′, and the rest of
    u′ is of least norm again.
    """
    require_smooth(system, "the derivative of inverse dynamics")
    tau, lam = inverse_dynamics(system, q, qd, qdd, t=t, actuators=actuators)
    plant, A = system.dynamics.at_time(t), system.at(q, None, t).A
    M = plant.mass_matrix(q)
    # where all velocities are driven, B = 1 and v = τ: the same equations with unit masses
    maps = metric(system, np.eye(system.nv) if actuators is None else M, A)
    columns = selected(system, actuators)
    B = np.eye(system.nv)[:, columns]
    drives = None if actuators is None else reach(system, maps, B)
    v = tau if drives is None else drives.behind(maps, tau[columns])
    slopes = residual_slopes(system, (q, qd, qdd, t), lam, v, *_behind(system, maps, lam))
    still = np.zeros((system.rows, system.nv))
    g, turn = (
        np.concatenate(pair, axis=1) for pair in ([slopes.force, M], [-slopes.turned[0], still])
    )
    if drives is None:
        by_tau, against, _ = maps.motion(g, turn)
        by_lam = -against
    else:
        u = maps.shortest(turn)[columns]
        by_tau = B @ (u + drives.torques(maps, g - B @ u))
        by_lam = maps.normal(by_tau - g)
    by_lam = by_lam + np.concatenate([_turned(system, maps, slopes), still], axis=1)
    return TorqueSlopes(*_parts(maps, by_tau, system.nv), *_parts(maps, by_lam, system.nv))


def _parts(maps: Metric, slopes: Any, n: int) -> tuple[Any, ...]:
    """Columns (·, 3 n) by the three inputs; NaN where a row is lost, as nothing is smooth there."""
    parts = (slopes[:, k * n : (k + 1) * n] for k in range(3))
    return flagged(maps.space.lost < 0.5, *parts)


def _behind(system: ConstrainedDynamics, maps: Metric, lam: Any) -> tuple[Any, ...]:
    """y (nv,) with A y = λ, where rows are redundant."""
    return () if system.balanced else (maps.shortest(lam),)


def _turned(system: ConstrainedDynamics, maps: Metric, slopes: Slopes) -> Any:
    """(1 − A A⁺) A′ y (rows, 2 nv): zero where no row is redundant."""
    if system.balanced:
        return np.zeros((system.rows, 2 * system.nv))
    return maps.space.coordinates(slopes.turned[-1])[1]


def _pressed(
    system: ConstrainedDynamics, maps: Metric, state: tuple[Any, ...], lam: Any, qdd: Any, by: Any
) -> tuple[Any, Any]:
    """(q̈′, λ′) where friction follows λ′ of the contacts that press: λ′_n = λ′_n⁰ + R λ′_n."""
    if not system.rubbing:
        return qdd, by
    rows = list(system.rubbing)
    E = system.friction_rows(*state)[0]
    presses = np.stack([np.where(lam[k] > 0.0, 1.0, 0.0) for k in rows])
    still = np.zeros((system.rows, len(rows)))
    by_qdd, by_lam, _ = maps.motion(-E.T * presses, still)
    pressed = lu(np.eye(len(rows)) - by_lam[rows]).solve(by[rows])
    return qdd + by_qdd @ pressed, by + by_lam @ pressed
