"""Explicit multipliers: (A M⁻¹ Aᵀ) λ = A M⁻¹ f − γ, then M q̈ = f − Aᵀλ (000 p.56), by `Metric`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints.kinds import Time
from dalembert.constraints.kkt import metric, terms
from dalembert.linalg.factorisations import flagged, largest
from dalembert.linalg.row_space import EXTRA
from dalembert.spatial.arrays import Array, Scalar
from dalembert.systems.status import Status

if TYPE_CHECKING:
    from dalembert.constraints.dynamics import ConstrainedDynamics

# residual of A q̈ = γ of a consistent set, relative to the accelerations in it
INCONSISTENT = 1e-6
# and where rows have come to depend on others: they hold nothing more only if rounding is left
LOST = 1e-13
# rows that are redundant on the constraints, beside them: how often their estimate is allowed for
APART = 10.0
# of rows beside all: shorter ones are judged as if they were so long
SHORT = 1e-4


def forward_dynamics(
    system: ConstrainedDynamics,
    q: Array,
    qd: Array,
    tau: Array,
    t: Time = None,
    underway: bool = False,
) -> tuple[Array, Array]:
    """(q̈ (nv,), λ (rows,)), λ the one of least norm; NaN where the constraints contradict.

    A state `underway` is a stage of an integrator, beside the constraints by its error.
    """
    M, f, A, drift = terms(system, q, qd, tau, t)
    maps = metric(system, M, A)
    qdd, lam, residual = maps.motion(f, drift)
    z = maps.half(f)
    most = bound(maps.space.squares, maps.weigh(z) @ z)
    apart = 0.0
    if underway and not system.balanced:
        # what redundant rows may disagree by () at a state that misses the constraints
        scale = largest(most) + largest(drift)
        # how far a state is off: the steps of q (), and of q̇ (), that would change the rows as
        # much
        at = system.at(q, None, t)
        groups = _groups(system)
        sizes = _sizes(groups, at.A)
        positions = dict(zip(system.positions, at.h, strict=True)) if system.position_count else {}
        h, w = [positions.get(k, 0.0) for k in range(system.rows)], list(at.A @ qd - at.b)
        worst = []
        for missed in (h, w):
            own = [
                sum(missed[k] * missed[k] for k in rows) / (size + 1e-300)
                for rows, size in zip(groups, sizes, strict=True)
            ]
            worst.append(np.sqrt(largest(np.stack([np.zeros(()), *own]))))
        by_h, by_w = worst
        apart = APART * (by_h + by_w / (1e-9 + np.sqrt(qd @ qd))) * scale
    return flagged(
        consistent(system, residual, maps.space.lost, most, drift, apart=apart), qdd, lam
    )


def bound(squares: list[Scalar], square: Scalar) -> Array:
    """Largest |A M⁻¹ f| there can be (1,): √(S_kk fᵀM⁻¹f), however much of it cancels."""
    largest_part: Array = np.sqrt(np.stack([largest(np.stack(squares)) * square]))
    return largest_part


def consistent(
    system: ConstrainedDynamics, residual: Array, lost: Scalar, *parts: Array, apart: Scalar = 0.0
) -> Scalar:
    """Whether the residual is small relative to its terms before they cancel.

    `apart` is how much of it the state explains. Rows that depend on others by the digits of their
    data may ask for accelerations that are as far apart.

    Where rows are `lost`, another direction is free in name only: as near to the singular posture as
    rounding lets one see, what is left of its row still decides the motion.
    """
    scale = np.asarray(1e-9)
    for part in parts:
        scale = scale + largest(part)
    usual = EXTRA if system.dependent else INCONSISTENT
    return largest(residual) <= np.where(lost > 0.0, LOST, usual) * scale + apart


def off(
    system: ConstrainedDynamics,
    q: Array,
    qd: Array | None,
    t: Time,
    tolerance: float | Array,
    status: Scalar = 0.0,
) -> Scalar:
    """OFF_POSITION or OFF_VELOCITY (), where constraints are missed, else this `status`."""
    rows = system.at(q, None, t)
    groups = _groups(system)
    sizes = _sizes(groups, rows.A)
    if qd is not None:
        w, square = rows.A @ qd - rows.b, tolerance**2 * (1.0 + qd @ qd)
        beyond = _beyond(list(w), groups, sizes, square)
        status = np.where(beyond, float(Status.OFF_VELOCITY), status)
    if system.position_count:
        h = dict(zip(system.positions, rows.h, strict=True))
        beyond = _beyond([h.get(k, 0.0) for k in range(system.rows)], groups, sizes, tolerance**2)
        status = np.where(beyond, float(Status.OFF_POSITION), status)
    return status


def _groups(system: ConstrainedDynamics) -> list[list[int]]:
    """Rows of the same constraint in the same unit: what they leave open adds up.

    What rows that depend on others by digits leave open is that of their data, and does not count.
    """
    units = system.row_units
    groups: dict[Any, list[int]] = {}
    for name, rows in system.slices.items():
        for k in range(rows.start, rows.stop):
            if k not in system.dependent:
                groups.setdefault((name, units[k]), []).append(k)
    return list(groups.values())


def _sizes(groups: list[list[int]], A: Array) -> list[Scalar]:
    """Σ A² of each group: how much its rows change with unit steps of the coordinates."""
    own = [sum(A[k] @ A[k] for k in rows) for rows in groups]
    floor = SHORT**2 * sum(own) if len(own) > 1 else 0.0
    return [size + floor for size in own]


def _beyond(
    residual: list[Scalar], groups: list[list[int]], sizes: list[Scalar], square: Scalar
) -> Scalar:
    """Whether Σ r² of a group is beyond `square` of its size; NaN is."""
    within: Scalar = 1.0
    for rows, size in zip(groups, sizes, strict=True):
        within = within * (sum(residual[k] * residual[k] for k in rows) <= square * size)
    return within < 0.5
