"""Explicit multipliers: (A M⁻¹ Aᵀ) λ = A M⁻¹ f − γ, then M q̈ = f − Aᵀλ (000 p.56), by `Metric`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints.kkt import metric, terms
from dalembert.linalg.factorisations import flagged, largest
from dalembert.linalg.row_space import EXTRA
from dalembert.spatial.arrays import Array, Scalar
from dalembert.systems.dynamics import Rows
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
    system: ConstrainedDynamics, q: Array, qd: Array, tau: Array, underway: bool = False
) -> tuple[Array, Array]:
    """(q̈ (nv,), λ (rows,)), λ the one of least norm; NaN where the constraints contradict.

    A state `underway` is a stage of an integrator, beside the constraints by its error.
    """
    M, f, A, drift = terms(system, q, qd, tau)
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
        at, worst = system.at(q), []
        groups = _groups(system, at.A)
        for missed in _missed(system, at, qd):
            own = [
                sum(missed[k] * missed[k] for k in rows) / (size + 1e-300) for rows, size in groups
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
    tolerance: float | Array,
    status: Scalar = 0.0,
) -> Scalar:
    """OFF_POSITION or OFF_VELOCITY (), where constraints are missed, else this `status`."""
    rows = system.at(q)
    groups = _groups(system, rows.A)
    h, w = _missed(system, rows, np.zeros(system.nv) if qd is None else qd)
    if qd is not None:
        beyond = _beyond(w, groups, tolerance**2 * (1.0 + qd @ qd))
        status = np.where(beyond, float(Status.OFF_VELOCITY), status)
    if system.position_count:
        beyond = _beyond(h, groups, tolerance**2)
        status = np.where(beyond, float(Status.OFF_POSITION), status)
    return status


Groups = list[tuple[list[int], Scalar]]  # rows, and how much they change with unit steps of q


def _groups(system: ConstrainedDynamics, A: Array) -> Groups:
    """Rows of the same constraint in the same unit, whose errors add up, with Σ A² of each group.

    What rows that depend on others by digits leave open is that of their data, and does not count.
    """
    units = system.row_units
    groups: dict[Any, list[int]] = {}
    for name, rows in system.slices.items():
        for k in range(rows.start, rows.stop):
            if k not in system.dependent:
                groups.setdefault((name, units[k]), []).append(k)
    sizes = [sum(A[k] @ A[k] for k in rows) for rows in groups.values()]
    floor = SHORT**2 * sum(sizes) if len(sizes) > 1 else 0.0
    return [(rows, size + floor) for rows, size in zip(groups.values(), sizes, strict=True)]


def _missed(system: ConstrainedDynamics, at: Rows, qd: Array) -> tuple[list[Scalar], list[Scalar]]:
    """(h, zero where a row holds no position, and A q̇ − b) of every row."""
    h = dict(zip(system.positions, at.h, strict=True))
    return [h.get(k, 0.0) for k in range(system.rows)], list(at.A @ qd - at.b)


def _beyond(missed: list[Scalar], groups: Groups, square: Scalar) -> Scalar:
    """Whether the squares missed in a group add up to more than `square` of its size; NaN does."""
    within: Scalar = 1.0
    for rows, size in groups:
        within = within * (sum(missed[k] * missed[k] for k in rows) <= square * size)
    return within < 0.5
