"""Which torques at the chosen actuators give a motion, and what the constraints then carry.

B u = f + Aᵀλ with f = M q̈ + C q̇ + N − ψ, and JᵀF of wrenches, and B the columns of the actuators
(000 p.80–81). The motion fixes P_ω B u = P_ω f; what is left of u does no work on it, and is of least
norm or gives a wanted λ: of what it cannot give, δ = λ − λ_d has least δᵀ A M⁻¹Aᵀ δ. Where contacts
rub, A stands for A + E here (`friction`), which the forces need, and a λ that would pull at such a
contact is none. With a robot's own actuators B is the transpose of their moment arms B(q), and joints
that none of them moves are passive (`required_efforts`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert import tracing
from dalembert.constraints.geometry import permitted
from dalembert.constraints.implicit import demanded, solution
from dalembert.constraints.loads import load
from dalembert.constraints.metric import Metric, metric
from dalembert.constraints.multiplier import INCONSISTENT
from dalembert.constraints.posture import index
from dalembert.linalg.entries import flagged, largest
from dalembert.linalg.geometry import null_space, singular_values
from dalembert.linalg.row_space import AnyRowSpace, row_space

if TYPE_CHECKING:
    from dalembert.constraints.description import ConstrainedDynamics


def selected(system: ConstrainedDynamics, actuators: str | None) -> list[int]:
    """Velocities of the actuators, from names joined by commas; None is all of them."""
    if actuators is None:
        return list(range(system.nv))
    names = system.dynamics.velocities
    what = f"{system.name} has no velocity"
    return [index(names, name, what) for name in actuators.split(",")]


def inverse_dynamics(
    system: ConstrainedDynamics,
    q: Any,
    qd: Any,
    qdd: Any,
    lam: Any = None,
    weights: Any = None,
    t: Any = None,
    actuators: str | None = None,
    tip_wrench: Any = None,
    wrenches: Any = None,
) -> tuple[Any, Any]:
    """(τ (nv,), λ (rows,)): zero but at the actuators, Σ w u² least, or λ nearest to `lam`.

    NaN where the actuators cannot give this motion.
    """
    if actuators is None and not system.rubbing:
        f = demanded(system, q, qd, qdd, t) + load(system, q, tip_wrench, wrenches)
        return everywhere(system, f, system.at(q, None, t).A, weights, lam)
    wanted = asked(system, q, qd, qdd, t, tip_wrench, wrenches)
    columns = selected(system, actuators)
    B = np.eye(system.nv)[:, columns]
    own = None if weights is None else weights[columns]
    u, found, ok = driven(system, wanted, B, own, lam)
    return flagged(ok, B @ u, found)


def required_efforts(
    system: ConstrainedDynamics,
    q: Any,
    qd: Any,
    qdd: Any,
    effort_weights: Any = None,
    lam: Any = None,
    t: Any = None,
    tip_wrench: Any = None,
) -> tuple[Any, Any]:
    """(f (nu,), λ (rows,)) of a robot's own actuators; NaN where they cannot give this motion."""
    B = system.dynamics.at_time(t).compute("transmission", q=q)
    wanted = asked(system, q, qd, qdd, t, tip_wrench)
    f, found, ok = driven(system, wanted, B.T, effort_weights, lam)
    return flagged(ok, f, found)


class Asked(NamedTuple):
    """What a motion asks for: M q̈ + C q̇ + N − ψ + JᵀF, in parts, with M and the rows."""

    M: Any
    A: Any
    parts: list[Any]  # (nv,) each


def asked(
    system: ConstrainedDynamics,
    q: Any,
    qd: Any,
    qdd: Any,
    t: Any = None,
    tip_wrench: Any = None,
    wrenches: Any = None,
) -> Asked:
    """The forces of a motion, before anybody is asked for them."""
    plant = system.dynamics.at_time(t)
    M, A = plant.mass_matrix(q), system.force_rows(q, qd, t)
    parts = [M @ qdd, plant.bias(q, qd), -plant.generalized_forces(q, qd, t)]
    if tip_wrench is not None or wrenches is not None:
        parts.append(load(system, q, tip_wrench, wrenches))
    return Asked(M, A, parts)


def driven(
    system: ConstrainedDynamics, wanted: Asked, B: Any, weights: Any = None, lam: Any = None
) -> tuple[Any, Any, Any]:
    """(u, λ, whether they give the motion) with B (nv, k) u = f + Aᵀλ, `weights` (k,) of u."""
    M, A, parts = wanted
    f, maps = sum(parts[1:], parts[0]), metric(system, M, A)
    scale = None if weights is None else 1.0 / np.sqrt(weights)
    B = B if scale is None else B * scale.reshape(1, -1)
    drives = reach(system, maps, B)
    u = drives.torques(maps, f)
    if lam is not None:
        u = u + _toward(maps, drives.reached, B, f + A.T @ lam - B @ u)
    carried = B @ u - f
    found = maps.normal(carried)
    # beside the forces it was made of, which may cancel: a force over √M_jj has no units of its own
    size = np.sqrt(np.stack([M[k, k] for k in range(system.nv)]))
    made_of = [largest(part / size) for part in (*parts, B @ u, A.T @ found)]
    missed = largest((carried - A.T @ found) / size)
    ok = missed <= INCONSISTENT * (1e-9 + sum(made_of[1:], made_of[0]))
    for row in system.rubbing:
        ok = ok * (found[row] >= 0.0)
    return u if scale is None else scale * u, found, ok


def everywhere(
    system: ConstrainedDynamics, f: Any, A: Any, weights: Any = None, lam: Any = None
) -> tuple[Any, Any]:
    """(τ, λ) of forces f where every velocity is driven and no contact rubs: every motion can be given.

    τ = f + Aᵀλ with Σ w τ² least is A W τ = 0: f across the rows in the metric W, without M.
    """
    by = np.eye(system.nv) if weights is None else np.diag(1.0 / weights)
    maps = metric(system, by, A)
    if lam is not None:
        return f + A.T @ lam, maps.normal(A.T @ lam)
    # with unit factors L, half-solved forces are the forces themselves, in the order of the factors
    tau = maps.space.across(maps.space.across(maps.half(f)))[::-1]
    if not tracing.is_watched():
        return tau, -maps.normal(f)
    # the same as W⁻¹ v + Aᵀ(−λ) = f and A v = 0 with v = W τ
    v = tau if weights is None else weights * tau
    v, mu = solution(
        system, maps, (v, maps.normal(f)), lambda v, mu: (by @ v + A.T @ mu - f, A @ v)
    )
    return by @ v, -mu


class Reach(NamedTuple):
    """What the drives do to the motion: P_ω B u in the metric M⁻¹."""

    columns: Any  # L⁻¹ P_ω B, one row (nv,) for every drive
    reached: AnyRowSpace  # their span

    def torques(self, maps: Metric, f: Any) -> Any:
        """u of least norm with P_ω B u = P_ω f, for f (nv,) or (nv, m)."""
        return self.reached.solve(self.columns @ maps.weigh(maps.half(f)))[0]

    def behind(self, maps: Metric, u: Any) -> Any:
        """The permitted velocity v (nv,), A v = 0, with Bᵀv = u for u of least norm."""
        y = self.reached.back(self.reached.coordinates(u)[0])
        return maps.M.full_solve(list(maps.space.across(y)))


def reach(system: ConstrainedDynamics, maps: Metric, B: Any) -> Reach:
    """Columns of L⁻¹ P_ω B, taken across the rows twice.

    Near a singular posture no rounding is then left that would count as reached.
    """
    half, across = maps.half(B).T, maps.space.across
    columns = np.stack([across(across(column)) for column in half])
    most = system.freedoms + 1  # one more where a row is lost
    return Reach(columns, row_space(columns, None, maps.space.weights, half, most))


def _toward(maps: Metric, reached: AnyRowSpace, B: Any, wanted: Any) -> Any:
    """The internal u (P_ω B u = 0) that brings B u nearest to `wanted` in the metric M⁻¹."""
    _, inside = reached.coordinates(np.eye(B.shape[1]))
    half, weights = maps.half(B), maps.space.weights
    inner = (half @ inside).T
    space = row_space(inner, None, weights, half.T, maps.A.shape[0])
    u, _ = space.solve(inner @ (weights * maps.half(wanted)))
    return inside @ u


def internal_forces(
    system: ConstrainedDynamics, q: np.ndarray, columns: list[int], t: float
) -> np.ndarray:
    """Orthonormal actuator forces (len(columns), k) that move nothing: Nᵀ B u = 0 with A N = 0."""
    working = permitted(system, system.at(q, None, t).A, q, t)[columns].T
    if not working.size:
        return np.eye(len(columns))
    return null_space(working / singular_values(working).max(initial=1e-300))
