"""A log cut where nothing was recorded, each stretch at an even rate."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dalembert.errors import IdentificationError
from dalembert.identification.noise import moves, spectrum
from dalembert.simulation.log_rates import continuous, curve
from dalembert.systems.system import System

GAP = 5.5  # usual steps between rows: a longer pause is bridged, or ends a stretch
BRIDGED = 0.05  # s of a pause that is bridged
NEAR = 20  # rows on either side of a pause, and as many as are missing, through which it is
EVEN = 0.02  # of a step that stamps may be off an even rate and count as even
JITTER = 0.5  # of the noise: even times that leave less than that are the true ones
PROBED = 20_000  # rows by which stamps are judged
SHORTEST = 50  # rows of a stretch


class Stretch(NamedTuple):
    """Rows without a pause, as recorded but at an even rate."""

    t: np.ndarray
    q: np.ndarray
    tau: np.ndarray
    qd: np.ndarray | None  # where velocities were recorded
    said: tuple[str, ...]


def stretches(
    system: System,
    t: np.ndarray,
    x: np.ndarray,
    shift: np.ndarray,
    velocities: bool,
) -> tuple[list[Stretch], list[str]]:
    """The log cut where nothing was recorded; parts too short for a fit are left out, and said."""
    steps = np.diff(t)
    usual = float(np.median(steps))
    if np.mean(steps > GAP * usual) > 0.1:  # rows came in bursts
        usual = float(np.mean(steps))
    nq, nv = system.nq, system.nv
    t, x, said = _bridged(t, np.hstack([continuous(system, x[:, :nq]), x[:, nq:]]), usual)
    steps = np.diff(t)
    pauses = np.flatnonzero(steps > GAP * usual)
    ends = [0, *(pauses + 1), len(t)]
    parts = [slice(a, b) for a, b in pairwise(ends)]
    if len(pauses):
        said.append(
            f"{len(pauses)} pauses of up to {steps.max():.3g} s, where {usual:.3g} s is usual: cut "
            f"into {len(parts)} stretches"
        )
    kept = [p for p in parts if p.stop - p.start >= SHORTEST]
    if len(kept) < len(parts):
        rows = len(t) - sum(p.stop - p.start for p in kept)
        said.append(
            f"{len(parts) - len(kept)} stretches of less than {SHORTEST} rows left out, {rows} rows"
        )
    if not kept:
        raise IdentificationError(
            f"no stretch of {SHORTEST} rows is without a pause of more than {GAP * usual:.3g} s"
        )
    found = []
    for p in kept:
        q, tau = x[p, :nq], x[p, nq : nq + nv]
        found.append(_even(t[p], q, tau, x[p, nq + nv :] if velocities else None, usual, shift))
    return found, said


def _bridged(
    t: np.ndarray, x: np.ndarray, usual: float
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """(t, x, what was done) with rows in short pauses: a cubic through a few rows on either side.

    A spline through single noisy rows would swing in a pause of many steps; this does not.
    """
    steps = np.diff(t)
    short = np.flatnonzero((steps > GAP * usual) & (steps <= BRIDGED))
    added_t, added_x = [t], [x]
    for k in short:
        count = round(steps[k] / usual) - 1
        inside = t[k] + steps[k] * np.arange(1, count + 1) / (count + 1)
        near = slice(max(0, k + 1 - NEAR - count), k + 1 + NEAR + count)
        beside = np.abs(t[near] - inside.mean()) < BRIDGED + 2.0 * steps[k]
        middle, reach = inside.mean(), steps[k]
        cubic = np.vander((t[near][beside] - middle) / reach, 4)
        fitted = np.linalg.lstsq(cubic, x[near][beside], rcond=None)[0]
        added_t.append(inside)
        added_x.append(np.vander((inside - middle) / reach, 4) @ fitted)
    if not len(short):
        return t, x, []
    whole, rows = np.concatenate(added_t), np.concatenate(added_x)
    order = np.argsort(whole, kind="stable")
    said = f"{len(short)} pauses of up to {steps[short].max():.3g} s bridged by cubics"
    return whole[order], rows[order], [said]


def _even(
    t: np.ndarray,
    q: np.ndarray,
    tau: np.ndarray,
    qd: np.ndarray | None,
    step: float,
    shift: np.ndarray,
) -> Stretch:
    """A stretch at an even rate: as it is, with its stamps straightened, or on a spline."""
    said: tuple[str, ...] = ()
    even = _line(np.arange(len(t)), t)
    if _uneven(t, even, step):
        straight = _straightened(t, step)
        grid = np.linspace(t[0], t[-1], max(round((t[-1] - t[0]) / step), 1) + 1)
        if straight is not None and _smoother(straight, t, q, grid):
            jitter = _off(t, straight)
            said = (
                f"stamps are off an even rate by {jitter:.3g} s, but the motion is smoother without "
                "that: taken as even",
            )
            t, even = straight, _line(np.arange(len(t)), straight)
    if _uneven(t, even, step):
        grid = np.linspace(t[0], t[-1], max(round((t[-1] - t[0]) / step), 1) + 1)
        said += (f"uneven stamps: resampled at {rate_of(grid):.6g} Hz on a spline",)
        qd = None if qd is None else curve(t, qd)(grid)
        return Stretch(grid, curve(t, q)(grid), _shifted(t, tau, grid, shift), qd, said)
    return Stretch(even, q, _shifted(even, tau, even, shift) if shift.any() else tau, qd, said)


def _uneven(t: np.ndarray, even: np.ndarray, step: float) -> bool:
    return _off(t, even) > EVEN * step or float(np.abs(t - even).max()) > 0.5 * step


def _off(t: np.ndarray, even: np.ndarray) -> float:
    return float(np.sqrt(np.mean((t - even) ** 2)))


def _straightened(t: np.ndarray, step: float) -> np.ndarray | None:
    """Times of rows that were taken at an even rate but stamped late or early; None if they drift.

    Rows may be missing. The line through the stamps is drawn through twice as many rows each time,
    each row at the slot nearest to where the line so far expects it.
    """
    slots, count = np.arange(len(t)), min(64, len(t))
    found = np.polynomial.Polynomial.fit(slots[:count], t[:count], 1).convert()
    while True:
        slots = np.round((t - found.coef[0]) / found.coef[1]).astype(int)
        found = np.polynomial.Polynomial.fit(slots[:count], t[:count], 1).convert()
        if count == len(t):
            break
        count = min(2 * count, len(t))
    for places in (slots, np.arange(len(t))):
        line = _line(places, t)
        parts = np.array_split(t - line, max(1, len(t) // 200))
        drift = max(abs(float(part.mean())) for part in parts)
        if (np.diff(places) > 0).all() and drift < 0.3 * step:
            return line
    return None


def _smoother(straight: np.ndarray, t: np.ndarray, q: np.ndarray, grid: np.ndarray) -> bool:
    """Whether positions have much less noise at straightened times than at stamped ones."""
    rate = rate_of(grid)
    start = max(0, (len(t) - PROBED) // 2)  # a part in the middle tells
    own = slice(start, start + PROBED)
    inside = grid[(grid >= t[own][0]) & (grid <= t[own][-1])]
    floors = [spectrum(curve(at[own], q[own])(inside), rate) for at in (straight, t)]
    moving = moves(floors[0])
    ratio = floors[0].floor[moving] / np.maximum(floors[1].floor[moving], 1e-300)
    return bool(moving.any() and np.median(ratio) < JITTER**2)


def _line(slots: np.ndarray, t: np.ndarray) -> np.ndarray:
    """The even times nearest to t, at these slots: the line of least squares."""
    s, middle = slots - slots.mean(), t.mean()
    return middle + s * (s @ (t - middle) / (s @ s))


def _shifted(t: np.ndarray, tau: np.ndarray, at: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Torques as recorded `shift` after `at`: a cubic spline through their rows; ends are held."""
    from scipy.interpolate import make_interp_spline

    if not shift.any():
        return make_interp_spline(t, tau, k=3)(at)
    late = [np.clip(at + s, t[0], t[-1]) for s in shift]
    return np.column_stack(
        [make_interp_spline(t, y, k=3)(a) for a, y in zip(late, tau.T, strict=True)]
    )


def rate_of(t: np.ndarray) -> float:
    """Rows per second of even times."""
    return float((len(t) - 1) / (t[-1] - t[0]))
