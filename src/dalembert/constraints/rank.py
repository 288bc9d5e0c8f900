"""How many of the rows are independent, which, and which coordinates they determine: numbers only."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.constraints.description import ConstrainedDynamics, Pivots

# singular values below this, beside the largest, count as zero
RANK_TOLERANCE = 1e-8


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
    condition: float  # largest over smallest nonzero singular value of A, rows of unit length

    def __str__(self) -> str:
        text = f"{self.freedoms} degrees of freedom ({self.velocities} − rank {self.rank})"
        if self.gruebler != self.freedoms:
            text += f", where Grübler counts {self.gruebler}"
        for what, names in (("redundant", self.redundant), ("conflicting", self.conflicting)):
            text += f"; {what}: {', '.join(names)}" if names else ""
        return text + ("; singular posture" if self.singular else "")


def scaled(A: np.ndarray) -> np.ndarray:
    """A with rows of unit length, so that units do not decide the rank."""
    length = np.linalg.norm(A, axis=-1, keepdims=True)
    return A / np.where(length > 0.0, length, 1.0)


def rank(A: np.ndarray) -> int:
    """Numerical rank of the rows, each of unit length."""
    sizes = np.linalg.svd(scaled(A), compute_uv=False)
    return int((sizes > RANK_TOLERANCE * sizes[0]).sum()) if sizes.size and sizes[0] > 0 else 0


def pivots(A: np.ndarray, independent: Collection[int] = ()) -> Pivots:
    """Independent rows and the coordinates they determine, by complete pivoting.

    `independent` are columns to keep free as far as the rank allows.
    """
    left = scaled(A).copy()
    allowed = np.ones(A.shape[1], dtype=bool)
    allowed[list(independent)] = False
    rows: list[int] = []
    columns: list[int] = []
    for _ in range(rank(A)):
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


def redundant(system: ConstrainedDynamics, A: np.ndarray) -> tuple[str, ...]:
    """Constraints without which the rank is the same as long as the others stay, last ones first."""
    kept = list(range(A.shape[0]))
    full = rank(A)
    named = []
    for name, rows in reversed(list(system.slices.items())):
        for k in reversed(range(rows.start, rows.stop)):
            without = [row for row in kept if row != k]
            if without and rank(A[without]) == full:
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
    found = rank(rows.A)
    sizes = np.linalg.svd(scaled(rows.A), compute_uv=False)
    return Mobility(
        velocities=system.nv,
        rows=system.rows,
        rank=found,
        gruebler=system.nv - system.rows,
        freedoms=system.nv - found,
        redundant=redundant(system, rows.A),
        conflicting=conflicting(system, rows.A, rows.b),
        singular=found < generic,
        condition=float(sizes[0] / sizes[found - 1]) if found else np.inf,
    )
