"""Putting a mechanism together: h(q, t) = 0 from a guess, by Newton's method along its velocities."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dalembert.constraints.description import ConstrainedDynamics
from dalembert.errors import ConstraintError

ITERATIONS = 60
SLOW, PATIENCE = (
    0.9,
    6,
)  # a residual that falls by less, so many times on end, is not going to vanish
LARGEST_STEP = 0.5  # rad or m
CLOSED = 1e-12  # of a residual, beside one metre or radian
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
    """(q, largest |h|) after steps of least norm, each halved until the residual falls."""
    rows = list(system.positions)
    found = system.at(q, None, t)
    left, tried = np.abs(found.h).max(), 0
    for _ in range(ITERATIONS):
        if not np.isfinite(left) or left <= 1e-15 or tried >= PATIENCE:
            break
        A = found.A[rows][:, free]
        step = np.zeros(system.nv)
        step[free] = -np.linalg.lstsq(A, found.h, rcond=1e-9)[0]
        step *= min(1.0, LARGEST_STEP / max(np.abs(step).max(), 1e-300))
        for _ in range(10):
            trial = np.asarray(system.dynamics.integrate(q, step), dtype=float)
            after = system.at(trial, None, t)
            if np.linalg.norm(after.h) < np.linalg.norm(found.h):
                break
            step = 0.5 * step
        else:
            break
        tried = tried + 1 if np.linalg.norm(after.h) > SLOW * np.linalg.norm(found.h) else 0
        q, found, left = trial, after, np.abs(after.h).max()
    return q, float(left)
