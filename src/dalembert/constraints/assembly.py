"""Putting a mechanism together: h(q, t) = 0 from a guess, by Newton's method along its velocities."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dalembert.constraints.description import ConstrainedDynamics
from dalembert.errors import ConstraintError
from dalembert.systems.closing import CLOSED, close

STARTS = 40


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
    if not system.held:
        return guess
    free = [k for k in range(system.nv) if k not in fixed]
    best, worst = np.inf, guess
    for start in _starts(system, guess, free, starts, span):
        q, left = _newton(system, start, t, free)
        if left <= CLOSED:
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
