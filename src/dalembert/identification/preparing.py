"""From a log to records: even rates, positions filtered without delay, their derivatives, torques.

A log is cut where nothing was recorded; each stretch has an even rate.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.errors import IdentificationError, SettingError
from dalembert.identification.columns import may_be_passive
from dalembert.identification.noise import (
    HIGHEST,
    Spectrum,
    above,
    best_cutoff,
    rate_gain,
    rounding_of,
    spectrum,
    step_of,
)
from dalembert.identification.record import Record
from dalembert.simulation.log_rates import continuous, curve, manifold_rates, rates
from dalembert.simulation.log_repair import repaired
from dalembert.systems.system import System

if TYPE_CHECKING:
    import xarray

GAP = 5.5  # usual steps between rows: a longer pause is bridged, or ends a stretch
BRIDGED = 0.05  # s of a pause that is bridged
NEAR = 20  # rows on either side of a pause, and as many as are missing, through which it is
EVEN = 0.02  # of a step that stamps may be off an even rate and count as even
JITTER = 0.5  # of the noise: even times that leave less than that are the true ones
PROBED = 20_000  # rows by which stamps are judged
SHORTEST = 50  # rows of a stretch
RINGING = 1.5  # 1/cut-off that are cut off at both ends of a stretch
BETTER = 0.5  # of the noise of the derivative that a recorded velocity may have to be taken
NOT_USED = "not used"  # the last words of what is said of a velocity that is discarded
AGREES = 2e-3  # of its size that a recorded velocity may be off the derivative, beside noise


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
    moving = above(floors[0]).any(axis=0)
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


def prepare(
    system: System,
    log: xarray.Dataset,
    cutoff: float | None = None,
    delay: float | np.ndarray = 0.0,
) -> tuple[Record, ...]:
    """Records of a log, one for each stretch without a pause: what a fit is made from.

    `cutoff`, Hz, is that of Butterworth's filter of fourth order, forward and backward, for the
    positions; None chooses it where noise let through and motion taken away are least in q̈.
    `delay`, s, one or (nv,), is by how much torques in the log come after the motion they belong to.
    Torques are as measured, not filtered. `Record.said` lists what was done.

    >>> import dalembert as dl
    >>> arm, t = dl.load("pendulum"), np.linspace(0.0, 10.0, 1001)
    >>> q = np.round(np.sin(t)[:, None], 4)
    >>> import xarray
    >>> log = xarray.Dataset({"q": (("time", "joint"), q), "tau": (("time", "joint"), q)}, {"time": t})
    >>> record, = prepare(arm, log)
    >>> bool(abs(record.qdd[:, 0] + np.sin(record.t)).max() < 0.02), record.resolution.round(9)
    (True, array([0.0001]))
    """
    t, q, tau, qd = arrays_of(system, log)
    said = str(log.attrs.get("preparation", "")).splitlines()
    if _is_recorded(log, "qdd"):
        said.append(
            "recorded accelerations are not used: q̈ is the derivative of filtered positions"
        )
    parts = [q, tau] if qd is None else [q, tau, qd]
    t, x, _, done = repaired(t, np.hstack(parts), q.shape[1])
    _require_rows(log, t, "whole rows")
    resolution = np.array([step_of(x[:, k]) for k in range(q.shape[1])])
    shift = np.broadcast_to(np.asarray(delay, float), (tau.shape[1],))
    pieces, lost = stretches(system, t, x, shift, qd is not None)
    said += done + lost
    if shift.any():
        said.append(f"torques taken {shift.max():.4g} s earlier")
    longest = max(pieces, key=lambda s: len(s.t))
    rate = rate_of(longest.t)
    noise = spectrum(longest.q, rate, resolution)
    cutoff, why = _cutoff(cutoff, noise)
    made = [_record(system, s, cutoff, noise, resolution, (*said, *s.said, why)) for s in pieces]
    coarse = rounding_of(x[:, q.shape[1] : q.shape[1] + tau.shape[1]])
    found = tuple(replace(record, rounding=coarse) for record in made if record is not None)
    if not found:
        raise IdentificationError(
            f"{log.attrs.get('source', 'the log')}: no stretch is longer than what a filter of "
            f"{cutoff:.3g} Hz needs at its ends; give a higher cutoff=, or a longer log"
        )
    return found


def arrays_of(
    system: System, log: xarray.Dataset | Record
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """(t, q, tau, recorded q̇ or None), in the order of the system's joints."""
    if isinstance(log, Record):
        return log.t, log.q, log.tau, log.qd
    where = log.attrs.get("source", "the log")
    made = system.dynamics
    for quantity, what in (("q", "positions"), ("tau", "torques")):
        if quantity not in log:
            raise IdentificationError(f"{where} has no {what} {quantity!r}; a fit needs them")
    wanted = {"q": made.coordinates, "tau": made.velocities}
    if _is_recorded(log, "qd"):
        wanted["qd"] = made.velocities
    found = {}
    for quantity, names in wanted.items():
        values = log[quantity]
        if values.ndim != 2 or values.dims[0] != "time" or values.shape[1] != len(names):
            raise IdentificationError(
                f"{where}: {quantity} has the dimensions {dict(values.sizes)}, and {system.name} "
                f"needs time and {len(names)}: {', '.join(names)}"
            )
        along = values.dims[1]
        if along in log.coords and set(map(str, log[along].values)) != set(names):
            raise IdentificationError(
                f"{where} has the joints {', '.join(map(str, log[along].values))}, and "
                f"{system.name} has {', '.join(names)}"
            )
        ordered = values.sel({along: list(names)}) if along in log.coords else values
        found[quantity] = np.asarray(ordered.values, float)
    stamps = np.asarray(log["time"].values)
    if stamps.dtype.kind in "mM":  # moments, or times since a start
        stamps = (stamps - stamps[0]) / np.timedelta64(1, "s")
    t = stamps.astype(float)
    _require_rows(log, t, "rows")
    never = np.isnan(found["tau"]).all(axis=0)
    if never.any() and not never.all() and not may_be_passive(system):
        unknown = ", ".join(np.array(made.velocities)[never])
        raise IdentificationError(f"{where} has no torque of {unknown}; a fit needs it")
    return t, found["q"], np.where(never, 0.0, found["tau"]), found.get("qd")


def _is_recorded(log: xarray.Dataset, quantity: str) -> bool:
    """Whether a log has a quantity that was measured, not derived by `read_log`."""
    recorded = log.attrs.get("recorded")
    return quantity in log and (recorded is None or quantity in str(recorded).split(", "))


def _require_rows(log: xarray.Dataset, t: np.ndarray, what: str) -> None:
    if len(t) < SHORTEST:
        where = log.attrs.get("source", "the log")
        raise IdentificationError(f"{where} has {len(t)} {what}; a fit needs at least {SHORTEST}")


def _cutoff(cutoff: float | None, noise: Spectrum) -> tuple[float, str]:
    """(Hz, why); half the rate stands for no filter."""
    highest = 0.5 * noise.rate
    if cutoff is not None:
        if not (np.isfinite(cutoff) and 0.0 < cutoff < highest):
            raise SettingError(
                f"cutoff={cutoff!r} must be between 0 and {highest:g} Hz, half the rate of the log"
            )
        return float(cutoff), f"positions filtered at {cutoff:.4g} Hz without delay"
    best = best_cutoff(noise)
    if best >= highest:
        return highest, "positions not filtered: no noise is seen that a filter would take"
    level = np.sqrt(noise.floor * highest)
    return best, (
        f"positions filtered at {best:.3g} Hz without delay: there noise (of {level.min():.2g} to "
        f"{level.max():.2g} in q) and what the filter takes of q̈ are least together"
    )


def _record(
    system: System,
    part: Stretch,
    cutoff: float,
    noise: Spectrum,
    resolution: np.ndarray,
    said: tuple[str, ...],
) -> Record | None:
    """The stretch filtered, with its derivatives, without its ends; None where nothing is left."""
    rate = rate_of(part.t)
    lowpass = cutoff if cutoff < HIGHEST * rate else None
    ends = int(np.ceil(RINGING * rate / cutoff)) if lowpass else 3
    if len(part.t) - 2 * ends < SHORTEST // 2:
        return None
    q, qd, qdd = rates(system, part.t, part.q, lowpass)
    deviation = np.sqrt(noise.floor * 0.5 * noise.rate)
    per = np.eye(system.nq)  # (nv, nq): how velocities grow with rates of coordinates
    if system.nq != system.nv:
        middle = np.tile(q[len(q) // 2], (system.nq, 1))
        per = manifold_rates(system, middle, per).T
    rate_noise = np.sqrt(per**2 @ deviation**2) * rate_gain(rate, cutoff)
    inner = slice(ends, len(part.t) - ends)
    if part.qd is not None:
        words = _take_recorded(system, part, lowpass, (qd, qdd, rate_noise), inner)
        said = (*said, *words)
    steps = np.abs(per * resolution).max(axis=1, initial=0.0)
    t = np.linspace(part.t[0], part.t[-1], len(part.t))[inner]
    said = (*said, f"{ends / rate:.3g} s cut off at both ends, where a filter rings")
    moved = (t, q[inner], qd[inner], qdd[inner], part.tau[inner])
    return Record(*moved, steps, rate_noise, said, cutoff, part.q[inner])


def _take_recorded(
    system: System,
    part: Stretch,
    lowpass: float | None,
    made: tuple[np.ndarray, np.ndarray, np.ndarray],
    inner: slice,
) -> list[str]:
    """Put recorded velocities in where they are better than the derivative of q, in place.

    They are compared in the `inner` rows, where the filter does not ring.
    """
    assert part.qd is not None
    qd, qdd, rate_noise = made
    rate = rate_of(part.t)
    own = spectrum(part.qd, rate)
    noise = np.sqrt(own.floor * 0.5 * rate) * rate_gain(rate, lowpass or 0.5 * rate, 0)
    shape = curve(part.t, part.qd, lowpass)
    smooth, slope, said = shape(part.t), shape(part.t, 1), []
    for k, name in enumerate(system.dynamics.velocities):
        off = float(np.sqrt(np.mean((smooth[inner, k] - qd[inner, k]) ** 2)))
        size = float(np.sqrt(np.mean(qd[:, k] ** 2)))
        if off > AGREES * size + 3.0 * np.hypot(rate_noise[k], noise[k]):
            said.append(
                f"{name}: recorded velocity is off the derivative of its position by {off:.2g}, of "
                f"{size:.2g}: {NOT_USED}"
            )
        elif noise[k] < BETTER * rate_noise[k]:
            qd[:, k], qdd[:, k], rate_noise[k] = smooth[:, k], slope[:, k], noise[k]
            said.append(f"{name}: recorded velocity used, with less noise than the derivative")
    return said
