"""Geometry of a mechanism's constraints: assembly, rank, mobility and singular configurations.

Rows are scaled by the motions they are differences of and judged by the policy of `linalg.rank`, at
several configurations of the branch that the mechanism is on. A frame moves with V = J N ẋ, N a basis
of the velocities with A q̇ = 0: it is singular where J N has less rank than nearby, and where A has.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.constraints.kinds import Posture
from dalembert.errors import ConstraintError, ParameterError, ShapeError
from dalembert.formulations.kinematics.operational import telling_task
from dalembert.linalg.rank import (
    CLEAR,
    CLOSED,
    DEPENDENT,
    OPEN,
    PARTED,
    RANK,
    RELATIVE,
    balanced,
    blocks,
    close,
    count,
    floored,
    least_squares,
    left_singular,
    null_space,
    pivots,
    rank,
    singular_values,
    weakest,
)
from dalembert.linalg.row_space import EXTRA
from dalembert.spatial.arrays import Array
from dalembert.systems.singularity import (
    NEARBY,
    SAMPLES,
    Singularity,
    analyse,
    checked_task,
    one_posture,
)

if TYPE_CHECKING:
    from dalembert.constraints.constrained import Constrained
    from dalembert.constraints.dynamics import ConstrainedDynamics
    from dalembert.systems.evaluator import Parameters

STARTS = 40  # random guesses that are tried where the one given leads nowhere
ALONG = 1e-11  # of h, scaled, along rows that are independent: closed
FAR = 1e-3  # of a step, rad or m, by which closing to rounding may leave what digits allow
WALKS, STEPS = 4, 3
SPREAD = 0.1  # of a step, rad or m
FAINT = 1e-6  # of the best pivots: others are taken to vanish


class HoldsNothing(ConstraintError):
    """Constraints none of whose rows depends on q; `names` are theirs."""

    def __init__(self, message: str, names: tuple[str, ...]) -> None:
        super().__init__(message)
        self.names = names


@dataclass(frozen=True)
class Mobility:
    """Degrees of freedom of a constrained system at a configuration."""

    velocities: int  # nv of the system without constraints
    rows: int  # number of equations
    rank: int  # how many of them are independent here
    gruebler: int  # nv − rows: the count that redundant equations make wrong
    freedoms: int  # nv − rank
    redundant: tuple[str, ...]  # constraints that others imply, wholly or in part
    conflicting: tuple[str, ...]  # constraints whose velocities cannot be met together
    singular: bool  # the rank here is below that of postures nearby
    condition: float  # largest over smallest nonzero singular value of A without units

    def __str__(self) -> str:
        text = f"{self.freedoms} degrees of freedom ({self.velocities} − rank {self.rank})"
        if self.gruebler != self.freedoms:
            text += f", where Grübler counts {self.gruebler}"
        for what, names in (("redundant", self.redundant), ("conflicting", self.conflicting)):
            text += f"; {what}: {', '.join(names)}" if names else ""
        return text + ("; singular posture" if self.singular else "")


# rows without units


class Sizes(NamedTuple):
    """Natural sizes of velocities and rows, at one configuration and near it."""

    columns: Array  # √M_jj (nv,), one where there is no inertia: no units are left then
    motions: Array  # (rows,) of the motions each row is a difference of; zero where unknown


def sizes_at(system: ConstrainedDynamics, q: Array) -> Sizes:
    """The sizes at a posture."""
    diagonal = np.abs(np.diag(system.dynamics.mass_matrix(q)))
    columns = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    at, motions = Posture(system.dynamics, q, system.now), np.zeros(system.rows)
    for name, rows in system.slices.items():
        parts = system.constraints[name].motions(at)
        if parts is not None:
            motions[rows] = [np.linalg.norm(J / columns) for J in parts]
    return Sizes(columns, motions)


def weighed(system: ConstrainedDynamics, q: Array, by: Sizes | None = None) -> Array:
    """A (rows, nv) at q without units: row k over its natural size, column j over √M_jj.

    The natural size is that of the motions the row is a difference of, not the row's own: a row that
    cancels but for rounding stays as small as it is, in every orientation of the world.
    """
    by = sizes_at(system, q) if by is None else by
    A = system.at(q).A
    B: Array = A / by.columns / _lengths(system, A, by)[:, None]
    return B


def _lengths(system: ConstrainedDynamics, A: Array, by: Sizes) -> Array:
    """(rows,) by which rows are divided."""
    size = np.linalg.norm(A / by.columns, axis=1)
    for rows in system.slices.values():
        # rows that are written together, and do not say what of, are taken to have one unit
        is_known = by.motions[rows].any()
        size[rows] = np.maximum(size[rows], by.motions[rows]) if is_known else size[rows].max()
    return floored(size)


def permitted(system: ConstrainedDynamics, q: Array) -> Array:
    """Velocities (nv, m) that span those with A q̇ = 0, orthonormal once × √M_jj."""
    by = sizes_at(system, q)
    return _free(weighed(system, q, by), by, system.known_rank)


def _free(B: Array, by: Sizes, usual: int | None) -> Array:
    """The same of rows without units."""
    N: Array = (null_space(B, usual).T / by.columns).T
    return N


def named_rows(system: ConstrainedDynamics, rows: Sequence[int]) -> tuple[str, ...]:
    """Names of the constraints that own these rows."""
    return tuple(
        name for name, own in system.slices.items() if any(own.start <= k < own.stop for k in rows)
    )


def mobility(system: ConstrainedDynamics, q: Array, qd: Array, generic: int) -> Mobility:
    """Counts at one posture; `generic` is the rank nearby."""
    rows = system.at(q, qd)
    B = weighed(system, q)
    sizes = singular_values(B)
    here = count(sizes, generic)
    _, residual = least_squares(rows.A, rows.b, RANK)
    beyond = np.abs(residual) > 1e-6 * (np.abs(rows.b).max(initial=0.0) + 1e-12)
    # constraints without which the rank is the same as long as the others stay, last ones first
    independent = list(range(B.shape[0]))
    names = []
    for name, own in reversed(list(system.slices.items())):
        for k in reversed(range(own.start, own.stop)):
            without = [row for row in independent if row != k]
            if without and rank(B[without], here) == here:
                independent = without
                names.append(name)
    return Mobility(
        velocities=system.nv,
        rows=system.rows,
        rank=here,
        gruebler=system.nv - system.rows,
        freedoms=system.nv - here,
        redundant=tuple(dict.fromkeys(reversed(names))),
        conflicting=named_rows(system, np.flatnonzero(beyond).tolist()),
        singular=here < generic,
        condition=float(sizes[0] / sizes[here - 1]) if here else np.inf,
    )


# assembly: h(q, t) = 0 from a guess


def assemble(
    system: ConstrainedDynamics,
    guess: Array,
    fixed: tuple[int, ...] = (),
    starts: int = 0,
    apart: float | None = None,
) -> Array:
    """A configuration (nq,) with h(q, t) = 0, near `guess`; velocities `fixed` do not move.

    With `starts`, random postures around the guess are tried where the guess itself fails. What
    redundant rows leave open, up to `apart` (m or rad), no motion can close: it stays theirs.
    """
    if not system.position_count:
        return guess
    if apart is None:
        apart = CLOSED if system.balanced or system.pivots is None else PARTED
    free = [k for k in range(system.nv) if k not in fixed]
    best, nearest, rng = np.inf, guess, np.random.default_rng(0)
    for attempt in range(starts + 1):
        start, step = guess, np.zeros(system.nv)
        if attempt:
            step[free] = rng.uniform(-np.pi, np.pi, len(free))
            start = np.asarray(system.dynamics.integrate(guess, step), dtype=float)
        q, residual = _newton(system, start, free)
        if residual <= CLOSED or _is_closed(system, q, apart):
            return q
        if apart > CLOSED:
            nearly = _closed_but_for_digits(system, start, free, apart)
            if nearly is not None:
                return nearly
        if residual < best:
            best, nearest = residual, q
    h = np.abs(system.at(nearest).h)
    (name,) = named_rows(system, [system.positions[int(h.argmax())]])
    raise ConstraintError(
        f"{system.name}: no assembled posture found; constraint {name!r} is left open by "
        f"{h.max():.3g} at the nearest one. Give a better guess, fewer fixed coordinates, or "
        "constraints that do not contradict each other"
    )


def _newton(
    system: ConstrainedDynamics, q: Array, free: list[int], by: tuple[Array, Array] | None = None
) -> tuple[Array, float]:
    """(q, largest |h|) after Newton's steps along the velocities that are free.

    With sizes `by` of rows and columns, all that differs by digits of the data counts as one row.
    """
    positions = list(system.positions)
    lengths, columns = (np.ones(len(positions)), np.ones(system.nv)) if by is None else by

    def residual(at: Array) -> tuple[Array, Array]:
        rows = system.at(at)
        A = rows.A[positions] / lengths[:, None] / columns
        if by is not None and np.abs(A).max(initial=0.0) <= EXTRA:
            A = np.zeros_like(A)  # digits or rounding alone: no motion changes h
        return rows.h / lengths, A[:, free]

    def move(at: Array, step: Array) -> Array:
        whole = np.zeros(system.nv)
        whole[free] = step / columns[free]
        return np.asarray(system.dynamics.integrate(at, whole), dtype=float)

    return close(q, residual, move, RELATIVE if by is None else EXTRA)


def _closed_but_for_digits(
    system: ConstrainedDynamics, q: Array, free: list[int], apart: float
) -> Array | None:
    """q (nq,) where all independent rows are closed, and others open by `apart` at most."""
    positions, by = list(system.positions), sizes_at(system, q)
    A = system.at(q).A
    if not np.isfinite(A).all():
        return None
    lengths = _lengths(system, A, by)[positions]
    q, _ = _newton(system, q, free, (lengths, by.columns))
    return q if _is_closed(system, q, apart) else None


def _is_closed(system: ConstrainedDynamics, q: Array, apart: float) -> bool:
    """Whether h is open by `apart` at most, and not at all along rows that are independent."""
    rows, positions = system.at(q), list(system.positions)
    if not (np.isfinite(rows.A).all() and np.abs(rows.h).max(initial=0.0) <= apart):
        return False
    by = sizes_at(system, q)
    lengths = _lengths(system, rows.A, by)[positions]
    U, sizes = left_singular(rows.A[positions] / by.columns / lengths[:, None])
    along = U[:, : count(sizes, least=EXTRA)].T @ (rows.h / lengths)
    return bool(np.abs(along).max(initial=0.0) <= ALONG)


def _assembled_reference(system: ConstrainedDynamics, guess: Array) -> tuple[Array, Array]:
    """(An assembled q (nq,), h (position_count,) there): zero, or what no motion can close.

    Redundant rows, such as those out of a planar loop's plane, close to the digits of their data at
    best. What they are apart, below `OPEN`, is theirs; all that moves is closed to rounding.
    """
    q = assemble(system, guess, starts=STARTS, apart=OPEN)
    difference = system.dynamics.difference
    moved = float(np.abs(difference(guess, q)).max(initial=0.0))
    is_far = moved > FAR and np.isfinite(system.at(q).A).all()
    if is_far and (singular_values(weighed(system, q)) < EXTRA).any():
        # rows that differ by digits close to rounding where they cross, which may be far away
        near = _closed_but_for_digits(system, guess, list(range(system.nv)), OPEN)
        if near is not None:
            nearer = float(np.abs(difference(guess, near)).max(initial=0.0))
            q = near if moved > FAR + 2.0 * nearer else q
    h = system.at(q).h
    return q, np.where(np.abs(h) > CLOSED, h, 0.0)


# the reference posture, where the rank is found and pivots are chosen


def reference(
    system: ConstrainedDynamics, guess: Array, independent: list[int]
) -> tuple[Array, dict[str, Any]]:
    """(An assembled posture (nq,), what was decided around it as fields of `ConstrainedDynamics`).

    These are the pivots of the best-conditioned posture, the h left open, the blocks of rows that
    share no velocity with others anywhere, and the rows that rounding or digits alone tell from
    others. Pivots that vanish at the posture itself, though it is a regular one, give way to its own.
    """
    if guess.shape != (system.nq,):
        raise ShapeError(f"{system.name}: guess has shape {guess.shape}, expected ({system.nq},)")
    if system.parameters:
        try:
            system = system.bind(system.parameter_values())
        except ParameterError as error:
            raise ParameterError(f"{error}; the rank of the constraints needs numbers") from None
    q, remainder = _assembled_reference(system, guess)
    system = replace(system, remainder=remainder)
    if not np.isfinite(system.at(q).A).all():
        raise ConstraintError(f"{system.name}: the constraints are not finite at q = {q}")
    by = sizes_at(system, q)
    rows = _along_branch(system, q, by)
    _require_effect(system, rows)
    ranks = [rank(B) for B in rows]
    # the rank met most often, the larger of two met equally often
    others = ranks[1:] or ranks
    generic = max(set(others), key=lambda r: (others.count(r), r))
    regular = [B for B, r in zip(rows, ranks, strict=True) if r == generic]
    best = max(regular, key=lambda B: singular_values(B)[generic - 1] if generic else 0.0)
    lower = count(singular_values(best), least=DEPENDENT)
    digits = lower < generic
    if digits:  # the rest is digits of the data, or nobody can tell
        rows = _along_branch(system, q, by, lower)
        best = max(rows, key=lambda B: singular_values(B)[lower - 1] if lower else 0.0)
        if max(float(np.append(singular_values(B)[lower:], 0.0)[0]) for B in rows) > EXTRA:
            raise _ambiguous_rank(system, best, lower)
        generic, ranks = lower, [rank(B, lower) for B in rows]
    elif generic and singular_values(balanced(best))[generic - 1] < CLEAR:
        raise _ambiguous_rank(system, best, generic - 1)
    chosen = pivots(best, independent, generic)
    if ranks[0] == generic:
        here = pivots(rows[0], independent, generic)
        if weakest(rows[0], chosen) < FAINT * weakest(rows[0], here):
            chosen = here
    uncertain = digits or not generic
    return q, {
        "pivots": chosen,
        "remainder": remainder,
        "blocks": blocks(rows),
        "dependent": tuple(k for k in range(system.rows) if uncertain and k not in chosen.rows),
    }


def _along_branch(
    system: ConstrainedDynamics, q: Array, by: Sizes, usual: int | None = None
) -> list[Array]:
    """A without units at q, and at postures reached by steps along velocities that it permits.

    They stay on the branch of q, where the rank is the same but for single postures; postures put
    together from anywhere else may be of another branch with another rank. With `usual`, all rows
    beyond that rank are taken to be redundant: they may be apart by `PARTED`.
    """
    rng = np.random.default_rng(0)
    results = [weighed(system, q, by=by)]
    for _ in range(WALKS):
        at, B, direction = q, results[0], rng.normal(size=system.nv)
        for _ in range(STEPS):
            N = _free(B, by, usual)
            direction = N @ (N.T @ (by.columns**2 * direction))
            if not np.abs(direction).max() > 0.0:
                break  # nothing moves here
            step = SPREAD * direction / np.abs(direction).max()
            moved = np.asarray(system.dynamics.integrate(at, step), dtype=float)
            try:
                at = assemble(system, moved, apart=CLOSED if usual is None else PARTED)
            except ConstraintError:
                break  # out of reach from there; the others decide
            B = weighed(system, at, by=by)
            if not np.isfinite(B).all():
                break
            results.append(B)
    return results


def _require_effect(system: ConstrainedDynamics, rows: Sequence[Array]) -> None:
    """Raise for constraints that hold nothing, though they should."""
    largest = np.max([np.abs(B).max(axis=1) for B in rows], axis=0)
    idle: dict[str, int] = {}
    for name, own in system.slices.items():
        empty, kind = largest[own] <= RANK, system.constraints[name]
        if empty.all() and not kind.may_hold_nothing(system.dynamics):
            idle[name] = 0
        elif empty.any() and kind.every_row_counts and not empty.all():
            idle[name] = int(empty.argmax())
    if idle:
        name, equation = next(iter(idle.items()))
        raise HoldsNothing(
            f"constraint {name!r}, equation {equation}: it does not depend on q at any posture "
            "tried, so it holds nothing",
            tuple(idle),
        )


def _ambiguous_rank(system: ConstrainedDynamics, B: Array, rank: int) -> ConstraintError:
    """That the rows beyond a rank neither depend on the others nor hold for themselves."""
    U, sizes = left_singular(B)
    large = np.abs(U[:, rank])
    rows = np.flatnonzero(large >= 0.3 * large.max()).tolist()
    names = ", ".join(map(repr, named_rows(system, rows)))
    values = ", ".join(f"{x:.2g}" for x in sizes[max(rank - 2, 0) :])
    return ConstraintError(
        f"{system.name}: {names} nearly depend on each other, and it cannot be told whether they "
        f"leave {system.nv - rank} or {system.nv - rank - 1} degrees of freedom: the smallest "
        f"singular values of the constraints, without units, are {values}, where {DEPENDENT:g} is "
        f"digits of the data. If they repeat each other, their lengths and points must agree to "
        f"{OPEN:g} m; else take one of them away"
    )


FARTHER = 10.0  # how much farther postures are that say what is usual


def singularity(
    system: Constrained,
    q: ArrayLike,
    frame: str,
    task: str | None,
    tolerance: float,
    t: float,
    parameters: Parameters,
) -> Singularity:
    """Lost motions of a frame at q (nq,), compared with assembled configurations nearby."""
    system.dynamics.require_frame(frame)
    q = one_posture(system, q)
    dynamics = system.dynamics.bound(parameters).at_time(t)
    apart = float(np.abs(dynamics.at(q).h).max(initial=0.0))
    if not apart <= OPEN:
        raise ConstraintError(
            f"{system.name}: q is no assembled posture, its constraints are open by {apart:.3g}; "
            "take q = assemble(q)"
        )

    def motions(at: Array) -> tuple[Array, Array]:
        """Velocities that are permitted, and those of the frame along them."""
        N = permitted(dynamics, at)
        return N, np.asarray(dynamics.frame_jacobian(at, frame, "world"), dtype=float) @ N

    (N, V), rng = motions(q), np.random.default_rng(0)
    steps = [N @ rng.normal(size=N.shape[1]) for _ in range(SAMPLES)]
    steps = [step / max(float(np.abs(step).max(initial=0.0)), 1e-300) for step in steps]
    others = []
    for size in (NEARBY, FARTHER * NEARBY):
        closed = []
        for step in steps:
            moved = np.asarray(dynamics.integrate(q, size * step), dtype=float)
            with suppress(ConstraintError):  # no assembled configuration next to it
                closed.append(assemble(dynamics, moved))
        others.append([motions(x)[1] for x in closed])
    nearby, usual = others[0] or [V], [*others[0], *others[1]] or [V]
    task = checked_task(telling_task(usual) if task is None else task)
    same = [J for J in nearby if J.shape[1] == N.shape[1]]
    result, _ = analyse(V, usual, same or nearby, frame, task, tolerance)
    mobility = system.mobility(q, t=t, parameters=parameters)
    reasons: tuple[str, ...] = ()
    if mobility.singular:
        reasons = (
            f"the constraints lose rank and leave {mobility.freedoms} freedoms (a dead point)",
        )
    singular = result.singular or mobility.singular
    return replace(result, singular=singular, motions=result.motions @ N.T, reasons=reasons)
