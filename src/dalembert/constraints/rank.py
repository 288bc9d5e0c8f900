"""How many of the rows are independent, which, and which coordinates they determine: numbers only."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.constraints.description import ConstrainedDynamics, Pivots
from dalembert.linalg.row_space import RESOLVED

# singular values below this count as zero, the rows being without units
RANK_TOLERANCE = 1e-8
# of the size of a row beside the largest: rounding, 1e-16 of it, then stays below the tolerance
FLOOR = 1e-4
# of an entry of rows without units: below it, at a posture assembled to digits of a file, it is zero
SHARED = 1e-6


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


class Sizes(NamedTuple):
    """How large velocities and rows are by nature, at one posture and those near to it."""

    columns: np.ndarray  # √M_jj (nv,), one where there is no inertia: no units are left then
    made_of: np.ndarray  # (rows,) of the motions each row is a difference of; zero where unknown


def sizes_at(system: ConstrainedDynamics, q: np.ndarray, t: Any) -> Sizes:
    """The sizes at a posture."""
    diagonal, squares = system.scales(q, 0.0 if t is None else t)
    columns = np.sqrt(np.where(np.abs(diagonal) > 0.0, np.abs(diagonal), 1.0))
    return Sizes(columns, np.sqrt((squares / columns**2).sum(axis=1)))


def weighed(
    system: ConstrainedDynamics, A: np.ndarray, q: np.ndarray, t: Any, by: Sizes | None = None
) -> np.ndarray:
    """A (rows, nv) without units: row k over its natural size, column j over √M_jj.

    The natural size is that of the motions the row is a difference of, not the row's own: a row that
    cancels but for rounding stays as small as it is, in every orientation of the world.
    """
    columns, made_of = sizes_at(system, q, t) if by is None else by
    B = A / columns
    size = np.linalg.norm(B, axis=1)
    for rows in system.slices.values():
        # rows that are written together, and do not say what of, are taken to have one unit
        known = made_of[rows].any()
        size[rows] = np.maximum(size[rows], made_of[rows]) if known else size[rows].max()
    return B / floored(size)[:, None]


def permitted(
    system: ConstrainedDynamics, A: np.ndarray, q: np.ndarray, t: Any, by: Sizes | None = None
) -> np.ndarray:
    """Velocities (nv, m) that span those with A q̇ = 0, orthonormal once × √M_jj."""
    by = sizes_at(system, q, t) if by is None else by
    _, sizes, Vt = np.linalg.svd(weighed(system, A, q, t, by))
    return (Vt[_counted(sizes, system.known_rank) :] / by.columns).T


def floored(size: np.ndarray) -> np.ndarray:
    """Sizes (rows,) of rows, none of them so far below the largest that rounding would count."""
    return np.maximum(size, FLOOR * size.max(initial=0.0) or 1.0)


def unit(A: np.ndarray) -> np.ndarray:
    """A with rows of unit length, where nothing is known of what they are made of."""
    return A / floored(np.linalg.norm(A, axis=1))[:, None]


def rank(B: np.ndarray) -> int:
    """Numerical rank of rows without units, from `weighed` or `unit`."""
    return int((np.linalg.svd(B, compute_uv=False) > RANK_TOLERANCE).sum())


def _counted(sizes: np.ndarray, usual: int | None) -> int:
    """How many singular values count: as many as usually do, until rounding is all they are."""
    count = int((sizes > RANK_TOLERANCE).sum())
    return max(count, min(usual or 0, int((sizes > RESOLVED).sum())))


def pivots(B: np.ndarray, independent: Collection[int] = (), usual: int | None = None) -> Pivots:
    """Independent rows and the coordinates they determine, by complete pivoting.

    `B` are rows without units; `independent` are columns to keep free as far as the rank allows;
    `usual` is the rank at nearly every posture, once it is known.
    """
    left = B.copy()
    allowed = np.ones(B.shape[1], dtype=bool)
    allowed[list(independent)] = False
    rows: list[int] = []
    columns: list[int] = []
    for _ in range(_counted(np.linalg.svd(B, compute_uv=False), usual)):
        size = np.abs(left) * allowed
        if size.max(initial=0.0) <= RANK_TOLERANCE:  # the free ones wished for are not free
            allowed[:] = True
            size = np.abs(left)
        i, j = np.unravel_index(size.argmax(), size.shape)
        rows.append(int(i))
        columns.append(int(j))
        left = left - np.outer(left[:, j], left[i]) / left[i, j]
        left[i], left[:, j] = 0.0, 0.0
    return Pivots(tuple(rows), tuple(columns))


def blocks(rows: Sequence[np.ndarray]) -> tuple[tuple[int, ...], ...]:
    """Rows in groups of which none shares a column with another, from A without units at postures."""
    shared = np.max([np.abs(B) for B in rows], axis=0) > SHARED
    left, found = list(range(len(shared))), []
    while left:
        group = [left.pop(0)]
        columns = shared[group[0]].copy()
        while more := [k for k in left if (shared[k] & columns).any()]:
            group += more
            columns |= shared[more].any(axis=0)
            left = [k for k in left if k not in more]
        found.append(tuple(sorted(group)))
    return tuple(found)


def redundant(system: ConstrainedDynamics, B: np.ndarray) -> tuple[str, ...]:
    """Constraints without which the rank is the same as long as the others stay, last ones first."""
    kept = list(range(B.shape[0]))
    full = rank(B)
    named = []
    for name, rows in reversed(list(system.slices.items())):
        for k in reversed(range(rows.start, rows.stop)):
            without = [row for row in kept if row != k]
            if without and rank(B[without]) == full:
                kept = without
                named.append(name)
    return tuple(dict.fromkeys(reversed(named)))


def conflicting(system: ConstrainedDynamics, A: np.ndarray, b: np.ndarray) -> tuple[str, ...]:
    """Constraints that take part in a contradiction A x = b."""
    x = np.linalg.lstsq(A, b, rcond=RANK_TOLERANCE)[0]
    left = A @ x - b
    scale = 1e-6 * (np.abs(b).max(initial=0.0) + 1e-12)
    return named_rows(system, [k for k in range(len(b)) if abs(left[k]) > scale])


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
    found = rank(B)
    sizes = np.linalg.svd(B, compute_uv=False)
    return Mobility(
        velocities=system.nv,
        rows=system.rows,
        rank=found,
        gruebler=system.nv - system.rows,
        freedoms=system.nv - found,
        redundant=redundant(system, B),
        conflicting=conflicting(system, rows.A, rows.b),
        singular=found < generic,
        condition=float(sizes[0] / sizes[found - 1]) if found else np.inf,
    )
