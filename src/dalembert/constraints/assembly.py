"""Putting a mechanism together: h(q, t) = 0 from a guess, by Newton's method along its velocities."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dalembert.constraints.description import ConstrainedDynamics
from dalembert.errors import ConstraintError
from dalembert.systems.closing import CLOSED, close

STARTS = 40
DIGITS = 1e-6  # m or rad: how far the data of a mechanism may be from closing it
STUCK = 1e-6  # of Aᵀh beside |A| |h|


def assemble(
    system: ConstrainedDynamics,
    guess: np.ndarray,
    t: float = 0.0,
    fixed: tuple[int, ...] = (),
    starts: int = 0,
    span: float = np.pi,
) -> np.ndarray:
    """A configuration (nq,) with h(q, t) = 0, near `guess`; velocities `fixed` do not move.

    With `starts`, random postures around the guess are tried where the guess itself fails.
    """
    return _put_together(system, guess, t, fixed, starts, span, CLOSED)


def settle(
    system: ConstrainedDynamics, guess: np.ndarray, starts: int
) -> tuple[np.ndarray, np.ndarray]:
    """(An assembled q (nq,), h (held,) there): zero, or what no motion can close.

    Redundant rows, such as those out of a planar loop's plane, close to the digits of their data at
    best. What they are apart, below `DIGITS`, is theirs; all that moves is closed to rounding.
    """
    q = _put_together(system, guess, 0.0, (), starts, np.pi, DIGITS)
    h = system.at(q).h
    return q, np.where(np.abs(h) > CLOSED, h, 0.0)


def _put_together(
    system: ConstrainedDynamics,
    guess: np.ndarray,
    t: float,
    fixed: tuple[int, ...],
    starts: int,
    span: float,
    apart: float,
) -> np.ndarray:
    """The first posture that is closed, or open by no more than `apart` where no step closes it."""
    if not system.held:
        return guess
    free = [k for k in range(system.nv) if k not in fixed]
    best, worst = np.inf, guess
    for start in _starts(system, guess, free, starts, span):
        q, left = _newton(system, start, t, free)
        if left <= CLOSED or (left <= apart and _stuck(system, q, t, free)):
            return q
        if left < best:
            best, worst = left, q
    h = np.abs(system.at(worst, None, t).h)
    row = system.positions[int(h.argmax())]
    name = next(n for n, own in system.slices.items() if own.start <= row < own.stop)
    raise ConstraintError(
        f"{system.name}: no assembled posture found; constraint {name!r} is left open by "
        f"{h.max():.3g} at the nearest one. Give a better guess, fewer fixed coordinates, or "
        "constraints that do not contradict each other"
    )


def _stuck(system: ConstrainedDynamics, q: np.ndarray, t: float, free: list[int]) -> bool:
    """Whether |h| is least here: Aᵀh = 0, to the half of the digits that a least |h| leaves."""
    found = system.at(q, None, t)
    A = found.A[list(system.positions)][:, free]
    return bool(
        np.linalg.norm(A.T @ found.h) <= STUCK * np.linalg.norm(A) * np.linalg.norm(found.h)
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
    system: ConstrainedDynamics, q: np.ndarray, t: float, free: list[int]
) -> tuple[np.ndarray, float]:
    """(q, largest |h|) after Newton's steps along the velocities that are free."""
    held = list(system.positions)

    def rows(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = system.at(at, None, t)
        return found.h, found.A[held][:, free]

    def move(at: np.ndarray, step: np.ndarray) -> np.ndarray:
        whole = np.zeros(system.nv)
        whole[free] = step
        return np.asarray(system.dynamics.integrate(at, whole), dtype=float)

    return close(q, rows, move)
