"""The geometry of a mechanism's constraints: where it is assembled, how many rows hold, what moves.

Rows are scaled by what they are made of and judged by the policy of `linalg.geometry`, at several
configurations of the branch that the mechanism is on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.constraints.posture import Posture
from dalembert.errors import ConstraintError, ParameterError, ShapeError
from dalembert.linalg import geometry as rows_geometry
from dalembert.linalg.geometry import (
    CLEAR,
    CLOSED,
    DEPENDENT,
    OPEN,
    PARTED,
    RANK,
    close,
    floored,
    left_singular,
    null_space,
    singular_values,
    weakest,
)
from dalembert.linalg.row_space import EXTRA

if TYPE_CHECKING:
    from dalembert.constraints.description import ConstrainedDynamics

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
    """What the constraints leave of a system's freedom at a posture."""

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
    """How large velocities and rows are by nature, at one posture and those near to it."""

    columns: np.ndarray  # √M_jj (nv,), one where there is no inertia: no units are left then
    made_of: np.ndarray  # (rows,) of the motions each row is a difference of; zero where unknown


def sizes_at(system: ConstrainedDynamics, q: np.ndarray, t: Any = None) -> Sizes:
    """The sizes at a posture."""
    t = 0.0 if t is None else t
    diagonal = np.abs(np.diag(system.dynamics.at_time(t).mass_matrix(q)))
    columns = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    at, made_of = Posture(system.dynamics, q, t), np.zeros(system.rows)
    for name, rows in system.slices.items():
        parts = system.constraints[name].motions(at)
        if parts is not None:
            made_of[rows] = [np.linalg.norm(J / columns) for J in parts]
    return Sizes(columns, made_of)


def weighed(
    system: ConstrainedDynamics, A: np.ndarray, q: np.ndarray, t: Any, by: Sizes | None = None
) -> np.ndarray:
    """A (rows, nv) without units: row k over its natural size, column j over √M_jj.

    The natural size is that of the motions the row is a difference of, not the row's own: a row that
    cancels but for rounding stays as small as it is, in every orientation of the world.
    """
    by = sizes_at(system, q, t) if by is None else by
    return A / by.columns / _lengths(system, A, by)[:, None]


def _lengths(system: ConstrainedDynamics, A: np.ndarray, by: Sizes) -> np.ndarray:
    """(rows,) by which rows are divided."""
    size = np.linalg.norm(A / by.columns, axis=1)
    for rows in system.slices.values():
        # rows that are written together, and do not say what of, are taken to have one unit
        known = by.made_of[rows].any()
        size[rows] = np.maximum(size[rows], by.made_of[rows]) if known else size[rows].max()
    return floored(size)


def permitted(
    system: ConstrainedDynamics,
    A: np.ndarray,
    q: np.ndarray,
    t: Any,
    by: Sizes | None = None,
    usual: int | None = None,
) -> np.ndarray:
    """Velocities (nv, m) that span those with A q̇ = 0, orthonormal once × √M_jj."""
    by = sizes_at(system, q, t) if by is None else by
    usual = system.known_rank if usual is None else usual
    return (null_space(weighed(system, A, q, t, by), usual).T / by.columns).T


def named_rows(system: ConstrainedDynamics, rows: Sequence[int]) -> tuple[str, ...]:
    """Names of the constraints that own these rows."""
    return tuple(
        name for name, own in system.slices.items() if any(own.start <= k < own.stop for k in rows)
    )


def mobility(
    system: ConstrainedDynamics, q: np.ndarray, qd: np.ndarray, t: float, generic: int
) -> Mobility:
    """Counts at one posture; `generic` is the rank nearby."""
    rows = system.at(q, qd, t)
    B = weighed(system, rows.A, q, t)
    sizes = singular_values(B)
    rank = rows_geometry.count(sizes, generic)
    _, left = rows_geometry.least_squares(rows.A, rows.b, RANK)
    beyond = np.abs(left) > 1e-6 * (np.abs(rows.b).max(initial=0.0) + 1e-12)
    return Mobility(
        velocities=system.nv,
        rows=system.rows,
        rank=rank,
        gruebler=system.nv - system.rows,
        freedoms=system.nv - rank,
        redundant=_redundant(system, B, rank),
        conflicting=named_rows(system, np.flatnonzero(beyond).tolist()),
        singular=rank < generic,
        condition=float(sizes[0] / sizes[rank - 1]) if rank else np.inf,
    )


def _redundant(system: ConstrainedDynamics, B: np.ndarray, rank: int) -> tuple[str, ...]:
    """Constraints without which the rank is the same as long as the others stay, last ones first."""
    kept = list(range(B.shape[0]))
    named = []
    for name, rows in reversed(list(system.slices.items())):
        for k in reversed(range(rows.start, rows.stop)):
            without = [row for row in kept if row != k]
            if without and rows_geometry.rank(B[without], rank) == rank:
                kept = without
                named.append(name)
    return tuple(dict.fromkeys(reversed(named)))


# putting it together: h(q, t) = 0 from a guess


def assemble(
    system: ConstrainedDynamics,
    guess: np.ndarray,
    t: float = 0.0,
    fixed: tuple[int, ...] = (),
    starts: int = 0,
    span: float = np.pi,
    apart: float | None = None,
) -> np.ndarray:
    """A configuration (nq,) with h(q, t) = 0, near `guess`; velocities `fixed` do not move.

    With `starts`, random postures around the guess are tried where the guess itself fails. What
    redundant rows leave open, up to `apart` (m or rad), no motion can close: it stays theirs.
    """
    if not system.held:
        return guess
    if apart is None:
        apart = CLOSED if system.balanced or system.pivots is None else PARTED
    free = [k for k in range(system.nv) if k not in fixed]
    best, worst = np.inf, guess
    for start in _starts(system, guess, free, starts, span):
        q, left = _newton(system, start, t, free)
        if left <= CLOSED or _is_closed(system, q, t, apart):
            return q
        if apart > CLOSED:
            nearly = _closed_but_for_digits(system, start, t, free, apart)
            if nearly is not None:
                return nearly
        if left < best:
            best, worst = left, q
    h = np.abs(system.at(worst, None, t).h)
    (name,) = named_rows(system, [system.positions[int(h.argmax())]])
    raise ConstraintError(
        f"{system.name}: no assembled posture found; constraint {name!r} is left open by "
        f"{h.max():.3g} at the nearest one. Give a better guess, fewer fixed coordinates, or "
        "constraints that do not contradict each other"
    )


def _starts(
    system: ConstrainedDynamics, guess: np.ndarray, free: list[int], starts: int, span: float
) -> Iterator[np.ndarray]:
    yield guess
    rng = np.random.default_rng(0)
    for _ in range(starts):
        step = np.zeros(system.nv)
        step[free] = rng.uniform(-span, span, len(free))
        yield np.asarray(system.dynamics.integrate(guess, step), dtype=float)


def _newton(
    system: ConstrainedDynamics,
    q: np.ndarray,
    t: float,
    free: list[int],
    by: tuple[np.ndarray, np.ndarray] | None = None,
) -> tuple[np.ndarray, float]:
    """(q, largest |h|) after Newton's steps along the velocities that are free.

    With sizes `by` of rows and columns, all that differs by digits of the data counts as one row.
    """
    held = list(system.positions)
    lengths, columns = (np.ones(len(held)), np.ones(system.nv)) if by is None else by

    def residual(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = system.at(at, None, t)
        A = found.A[held] / lengths[:, None] / columns
        return found.h / lengths, A[:, free]

    def move(at: np.ndarray, step: np.ndarray) -> np.ndarray:
        whole = np.zeros(system.nv)
        whole[free] = step / columns[free]
        return np.asarray(system.dynamics.integrate(at, whole), dtype=float)

    if by is None:
        return close(q, residual, move)
    return close(q, residual, move, EXTRA)


def _closed_but_for_digits(
    system: ConstrainedDynamics, q: np.ndarray, t: float, free: list[int], apart: float
) -> np.ndarray | None:
    """q (nq,) where all independent rows are closed, and others open by `apart` at most."""
    held, by = list(system.positions), sizes_at(system, q, t)
    A = system.at(q, None, t).A
    if not np.isfinite(A).all():
        return None
    lengths = _lengths(system, A, by)[held]
    q, _ = _newton(system, q, t, free, (lengths, by.columns))
    return q if _is_closed(system, q, t, apart) else None


def _is_closed(system: ConstrainedDynamics, q: np.ndarray, t: float, apart: float) -> bool:
    """Whether h is open by `apart` at most, and not at all along rows that are independent."""
    found, held = system.at(q, None, t), list(system.positions)
    if not (np.isfinite(found.A).all() and np.abs(found.h).max(initial=0.0) <= apart):
        return False
    by = sizes_at(system, q, t)
    lengths = _lengths(system, found.A, by)[held]
    U, sizes = left_singular(found.A[held] / by.columns / lengths[:, None])
    along = U[:, : rows_geometry.count(sizes, least=EXTRA)].T @ (found.h / lengths)
    return bool(np.abs(along).max(initial=0.0) <= ALONG)


def _settled(system: ConstrainedDynamics, guess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(An assembled q (nq,), h (held,) there): zero, or what no motion can close.

    Redundant rows, such as those out of a planar loop's plane, close to the digits of their data at
    best. What they are apart, below `OPEN`, is theirs; all that moves is closed to rounding.
    """
    q = assemble(system, guess, starts=STARTS, apart=OPEN)
    A = system.at(q).A
    if system.held and np.isfinite(A).all():
        sizes = singular_values(weighed(system, A, q, 0.0))
        if ((sizes > RANK) & (sizes < EXTRA)).any():
            # rows that differ by digits close to rounding where they cross, which may be far away
            near = _closed_but_for_digits(system, guess, 0.0, list(range(system.nv)), OPEN)
            if near is not None and _distance(system, guess, q) > FAR + 2.0 * _distance(
                system, guess, near
            ):
                q = near
    h = system.at(q).h
    return q, np.where(np.abs(h) > CLOSED, h, 0.0)


def _distance(system: ConstrainedDynamics, q: np.ndarray, to: np.ndarray) -> float:
    return float(np.abs(system.dynamics.difference(q, to)).max(initial=0.0))


# the reference posture, where the rank is found and pivots are chosen


def reference(
    system: ConstrainedDynamics, guess: np.ndarray, independent: list[int]
) -> tuple[np.ndarray, dict[str, Any]]:
    """(An assembled posture (nq,), what was decided around it as fields of `ConstrainedDynamics`).

    These are the pivots of the best-conditioned posture, the h left open, the blocks of rows that
    share no velocity with others anywhere, and the rows that rounding or digits alone tell from
    others. Pivots that vanish at the posture itself, though it is a regular one, give way to its own.
    """
    if guess.shape != (system.nq,):
        raise ShapeError(f"{system.name}: guess has shape {guess.shape}, expected ({system.nq},)")
    system = _with_numbers(system)
    q, remainder = _settled(system, guess)
    system = replace(system, remainder=remainder)
    if not np.isfinite(system.at(q).A).all():
        raise ConstraintError(f"{system.name}: the constraints are not finite at q = {q}")
    by = sizes_at(system, q)
    rows = _along_branch(system, q, by)
    _refuse_idle(system, rows)
    ranks = [rows_geometry.rank(B) for B in rows]
    # the rank met most often, the larger of two met equally often
    others = ranks[1:] or ranks
    generic = max(set(others), key=lambda r: (others.count(r), r))
    best = max(
        (B for B, r in zip(rows, ranks, strict=True) if r == generic),
        key=lambda B: singular_values(B)[generic - 1] if generic else 0.0,
    )
    lower = rows_geometry.count(singular_values(best), least=DEPENDENT)
    digits = lower < generic
    if digits:  # the rest is digits of the data, or nobody can tell
        rows = _along_branch(system, q, by, lower)
        best = max(rows, key=lambda B: singular_values(B)[lower - 1] if lower else 0.0)
        if max(_next(B, lower) for B in rows) > EXTRA:
            raise _unclear(system, best, lower)
        generic, ranks = lower, [rows_geometry.rank(B, lower) for B in rows]
    elif generic and singular_values(rows_geometry.balanced(best))[generic - 1] < CLEAR:
        raise _unclear(system, best, generic - 1)
    chosen = rows_geometry.pivots(best, independent, generic)
    if ranks[0] == generic:
        here = rows_geometry.pivots(rows[0], independent, generic)
        if weakest(rows[0], chosen) < FAINT * weakest(rows[0], here):
            chosen = here
    uncertain = digits or not generic
    return q, {
        "pivots": chosen,
        "remainder": remainder,
        "blocks": rows_geometry.blocks(rows),
        "dependent": tuple(k for k in range(system.rows) if uncertain and k not in chosen.rows),
    }


def _with_numbers(system: ConstrainedDynamics) -> ConstrainedDynamics:
    if not system.parameters:
        return system
    try:
        return system.bind(system.parameter_values())
    except ParameterError as error:
        raise ParameterError(f"{error}; the rank of the constraints needs numbers") from None


def _along_branch(
    system: ConstrainedDynamics, q: np.ndarray, by: Sizes, usual: int | None = None
) -> list[np.ndarray]:
    """A without units at q, and at postures reached by steps along velocities that it permits.

    They stay on the branch of q, where the rank is the same but for single postures; postures put
    together from anywhere else may be of another branch with another rank. With `usual`, all rows
    beyond that rank are taken to be redundant: they may be apart by `PARTED`.
    """
    rng = np.random.default_rng(0)
    first = system.at(q).A
    found = [weighed(system, first, q, 0.0, by)]
    for _ in range(WALKS):
        at, A, wish = q, first, rng.normal(size=system.nv)
        for _ in range(STEPS):
            N = permitted(system, A, at, 0.0, by, usual)
            wish = N @ (N.T @ (by.columns**2 * wish))
            if not np.abs(wish).max() > 0.0:
                break  # nothing moves here
            step = SPREAD * wish / np.abs(wish).max()
            moved = np.asarray(system.dynamics.integrate(at, step), dtype=float)
            try:
                at = assemble(system, moved, apart=CLOSED if usual is None else PARTED)
            except ConstraintError:
                break  # out of reach from there; the others decide
            A = system.at(at).A
            if not np.isfinite(A).all():
                break
            found.append(weighed(system, A, at, 0.0, by))
    return found


def _next(B: np.ndarray, rank: int) -> float:
    """The largest singular value beyond a rank."""
    return float(np.append(singular_values(B)[rank:], 0.0)[0])


def _refuse_idle(system: ConstrainedDynamics, rows: Sequence[np.ndarray]) -> None:
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


def _unclear(system: ConstrainedDynamics, B: np.ndarray, rank: int) -> ConstraintError:
    """That the rows beyond a rank neither depend on the others nor hold for themselves."""
    U, sizes = left_singular(B)
    large = np.abs(U[:, rank])
    named = ", ".join(
        map(repr, named_rows(system, np.flatnonzero(large >= 0.3 * large.max()).tolist()))
    )
    shown = ", ".join(f"{x:.2g}" for x in sizes[max(rank - 2, 0) :])
    return ConstraintError(
        f"{system.name}: {named} nearly depend on each other, and it cannot be told whether they "
        f"leave {system.nv - rank} or {system.nv - rank - 1} degrees of freedom: the smallest "
        f"singular values of the constraints, without units, are {shown}, where {DEPENDENT:g} is "
        f"digits of the data. If they repeat each other, their lengths and points must agree to "
        f"{OPEN:g} m; else take one of them away"
    )
