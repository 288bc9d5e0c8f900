"""From logs to records: even rates, positions filtered without delay, their derivatives, torques.

A log is cut where nothing was recorded; each stretch has an even rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import IdentificationError, SettingError
from dalembert.identification.record import (
    MAX_CUTOFF,
    Record,
    Spectrum,
    best_cutoff,
    is_motion,
    noise_gain,
    quantization_step,
    rounding_deviation,
    samples_between,
    spectrum,
)
from dalembert.identification.regressor import may_be_passive
from dalembert.logs.derivatives import continuous, differentiate, fit_curve, manifold_velocities
from dalembert.logs.repair import repair
from dalembert.logs.units import to_si
from dalembert.systems.system import System

if TYPE_CHECKING:
    import xarray

GAP = 5.5  # usual steps between rows: a longer pause is bridged, or ends a stretch
MAX_BRIDGE = 0.05  # s of a pause that is bridged
NEAR = 20  # rows on either side of a pause, and as many as are missing, for the cubic
EVEN = 0.02  # of a step that stamps may be off an even rate
JITTER = 0.5  # of the noise: even times that leave less are the true ones
PROBED = 20_000  # rows by which stamps are compared
SHORTEST = 50  # rows of a stretch
RINGING = 1.5  # 1/cut-off that are cut off at both ends of a stretch
BETTER = 0.5  # of the derivative's noise that a recorded velocity may have to be used
NOT_USED = "not used"  # last words of the note on a velocity that is discarded
AGREES = 2e-3  # of its size that a recorded velocity may be off the derivative, beside noise
ENOUGH = 30_000  # samples by which a filter is chosen
STILL = 2e-3  # rad or m: a smaller range is no motion
NOISE = 5.0  # deviations of its noise that the velocity of a moving joint exceeds

Stretch = tuple[np.ndarray, np.ndarray, tuple[str, ...]]  # t, [q, tau, recorded q̇] over it, notes
Log = Any  # xarray.Dataset or Record; `identify` also takes a path, or a list of them


def load_logs(system: System, log: Log) -> tuple[Log, ...]:
    """Datasets or Records of one of them, a path, or several of these."""
    if isinstance(log, str | PathLike):
        from dalembert.logs.read import read_log

        return (read_log(log, system),)
    if isinstance(log, list | tuple):
        return tuple(each for one in log for each in load_logs(system, one))
    if isinstance(log, Record):
        return (log,)
    if not hasattr(log, "data_vars"):
        raise IdentificationError(
            f"a log is an xarray.Dataset, a path, or a list of them, not {type(log).__name__}"
        )
    q = dict(zip(system.dynamics.coordinates, system.kinds.q, strict=True))
    v = dict(zip(system.dynamics.velocities, system.kinds.v, strict=True))
    return (to_si(log, {"q": q, "qd": v, "tau": v}),)


def load_records(
    system: System, log: Log, cutoff: float | None = None, delay: float = 0.0
) -> tuple[Record, ...]:
    """Records of logs of any kind; `cutoff`, Hz, and `delay`, s, of those that are Datasets."""
    records: list[Record] = []
    for one in load_logs(system, log):
        records += [one] if isinstance(one, Record) else prepare(system, one, cutoff, delay)
    return tuple(records)


def driven_joints(system: System, logs: Sequence[Log]) -> np.ndarray:
    """(nv,) bool: joints that have a drive.

    All joints of a serial arm; joints of a closed chain or of a floating robot where a torque that
    is not always zero was recorded.
    """
    torques = [log_arrays(system, log)[2] for log in logs]
    recorded = np.any([np.nan_to_num(tau).any(axis=0) for tau in torques], axis=0)
    return np.asarray(recorded | (not may_be_passive(system)))


def longest_fitted_part(logs: Sequence[Log], held_out: Any) -> tuple[Log, ...]:
    """The beginning of the log with most samples to fit: enough to choose a filter by."""
    rows = np.array([len(log.t if isinstance(log, Record) else log.time) for log in logs])
    share = float(held_out) if is_share(held_out) and held_out is not None else 0.0
    fitted = np.clip((1.0 - share) * rows.sum() - (np.cumsum(rows) - rows), 0, rows).astype(int)
    most = int(np.argmax(fitted))
    part = slice(0, min(ENOUGH, int(fitted[most])))
    log = logs[most]
    return (log.part(part) if isinstance(log, Record) else log.isel(time=part),)


def is_share(held_out: Any) -> bool:
    """Whether `held_out` is a number or None, not another log."""
    return held_out is None or isinstance(held_out, int | float | np.generic)


def split(
    records: Sequence[Record], held_out: float
) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
    """(records to fit, records held out): the last part of the time."""
    total = sum(len(record.t) for record in records)
    fitted = total - round(float(held_out) * total)
    return samples_between(records, 0, fitted), samples_between(records, fitted, total)


def still_joints(system: System, records: Sequence[Record]) -> tuple[str, ...]:
    """Names of the velocities that are nothing but noise in every record."""
    names, moving = system.dynamics.velocities, np.zeros(system.nv, dtype=bool)
    for record in records:
        moving |= np.abs(record.qd).max(axis=0) > NOISE * record.rate_noise
    return tuple(name for name, moves in zip(names, moving, strict=True) if not moves)


def without_dither(system: System, *parts: tuple[Record, ...]) -> tuple[tuple[Record, ...], ...]:
    """The parts with joints at rest that only show noise in the first part."""
    if system.nq != system.nv:
        return parts
    is_still = np.isin(system.dynamics.velocities, still_joints(system, parts[0]))

    def at_rest(record: Record) -> Record:
        q = np.where(is_still, record.q.mean(axis=0), record.q)
        qd, qdd = (np.where(is_still, 0.0, x) for x in (record.qd, record.qdd))
        return replace(record, q=q, qd=qd, qdd=qdd)

    return tuple(tuple(map(at_rest, part)) for part in parts) if is_still.any() else parts


def prepare(
    system: System, log: xarray.Dataset, cutoff: float | None = None, delay: float = 0.0
) -> tuple[Record, ...]:
    """Records of a log, one for each stretch without a pause.

    Parameters
    ----------
    cutoff : float, optional
        Hz of the Butterworth filter of fourth order, forward and backward, of the positions. By
        default it is chosen where the noise and the motion removed are least in q̈.
    delay : float
        Seconds by which torques in the log come after the motion they belong to.

    Returns
    -------
    tuple of Record
        Torques are as measured, not filtered. `Record.notes` lists the processing steps.

    Examples
    --------
    >>> import dalembert as dl
    >>> arm, t = dl.load("pendulum"), np.linspace(0.0, 10.0, 1001)
    >>> q = np.round(np.sin(t)[:, None], 4)
    >>> import xarray
    >>> log = xarray.Dataset({"q": (("time", "joint"), q), "tau": (("time", "joint"), q)}, {"time": t})
    >>> record, = prepare(arm, log)
    >>> bool(abs(record.qdd[:, 0] + np.sin(record.t)).max() < 0.02), record.resolution.round(9)
    (True, array([0.0001]))
    """
    t, q, tau, qd = log_arrays(system, log)
    notes = str(log.attrs.get("preparation", "")).splitlines()
    if _is_recorded(log, "qdd"):
        notes.append("recorded accelerations are not used: q̈ is that of filtered positions")
    columns = [q, tau] if qd is None else [q, tau, qd]
    t, x, _, repairs = repair(t, np.hstack(columns), q.shape[1])
    _require_rows(log, t, "whole rows")
    resolution = np.array([quantization_step(x[:, k]) for k in range(q.shape[1])])
    stretches, cuts = _stretches(system, t, x, delay)
    notes += repairs + cuts
    if delay:
        notes.append(f"torques taken {delay:.4g} s earlier")
    longest, x_longest, _ = max(stretches, key=lambda stretch: len(stretch[0]))
    noise = spectrum(x_longest[:, : q.shape[1]], _rate(longest), resolution)
    highest = 0.5 * noise.rate  # stands for no filter
    if cutoff is not None:
        if not (np.isfinite(cutoff) and 0.0 < cutoff < highest):
            raise SettingError(
                f"cutoff={cutoff!r} must be between 0 and {highest:g} Hz, half the log's rate"
            )
        cutoff, reason = float(cutoff), f"positions filtered at {cutoff:.4g} Hz without delay"
    elif (cutoff := best_cutoff(noise)) >= highest:
        cutoff = highest
        reason = "positions not filtered: no noise is seen that a filter would take"
    else:
        level = np.sqrt(noise.floor * highest)
        reason = (
            f"positions filtered at {cutoff:.3g} Hz without delay: there noise (of {level.min():.2g} "
            f"to {level.max():.2g} in q) and what the filter takes of q̈ are least together"
        )
    rounding = rounding_deviation(x[:, q.shape[1] : q.shape[1] + tau.shape[1]])
    records = []
    for even, rows, own in stretches:
        stretch = even, rows, (*notes, *own, reason)
        record = _record(system, stretch, cutoff, noise, resolution)
        records += [] if record is None else [replace(record, rounding=rounding)]
    if not records:
        raise IdentificationError(
            f"{log.attrs.get('source', 'the log')}: no stretch is longer than what a filter of "
            f"{cutoff:.3g} Hz needs at its ends; give a higher cutoff=, or a longer log"
        )
    return tuple(records)


def log_arrays(
    system: System, log: Log
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """(t, q, tau, recorded q̇ or None), in the order of the system's joints."""
    if isinstance(log, Record):
        return log.t, log.q, log.tau, log.qd
    source, dynamics = log.attrs.get("source", "the log"), system.dynamics
    fields = {"q": dynamics.coordinates, "tau": dynamics.velocities}
    fields |= {"qd": dynamics.velocities} if _is_recorded(log, "qd") else {}
    arrays = {}
    for name, labels in fields.items():
        if name not in log:
            what = {"q": "positions", "tau": "torques"}[name]
            raise IdentificationError(f"{source} has no {what} {name!r}; a fit needs them")
        field = log[name]
        needed = f"{system.name} needs time and {len(labels)}: {', '.join(labels)}"
        if field.ndim != 2 or field.dims[0] != "time" or field.shape[1] != len(labels):
            sizes = dict(field.sizes)
            raise IdentificationError(f"{source}: {name} has the dimensions {sizes}, and {needed}")
        along = field.dims[1]
        if along in log.coords:
            recorded = list(map(str, log[along].values))
            if set(recorded) != set(labels):
                joints = ", ".join(recorded)
                raise IdentificationError(f"{source} has the joints {joints}, and {needed}")
            field = field.sel({along: list(labels)})
        arrays[name] = np.asarray(field.values, float)
    stamps = np.asarray(log["time"].values)
    if stamps.dtype.kind in "mM":  # dates, or times since a start
        stamps = (stamps - stamps[0]) / np.timedelta64(1, "s")
    t = stamps.astype(float)
    _require_rows(log, t, "rows")
    unmeasured = np.isnan(arrays["tau"]).all(axis=0)
    if unmeasured.any() and not unmeasured.all() and not may_be_passive(system):
        names = ", ".join(np.array(dynamics.velocities)[unmeasured])
        raise IdentificationError(f"{source} has no torque of {names}; a fit needs it")
    return t, arrays["q"], np.where(unmeasured, 0.0, arrays["tau"]), arrays.get("qd")


def _is_recorded(log: xarray.Dataset, quantity: str) -> bool:
    """Whether a log has a quantity that was measured, not derived by `read_log`."""
    recorded = log.attrs.get("recorded")
    return quantity in log and (recorded is None or quantity in str(recorded).split(", "))


def _require_rows(log: xarray.Dataset, t: np.ndarray, what: str) -> None:
    if len(t) < SHORTEST:
        source = log.attrs.get("source", "the log")
        raise IdentificationError(f"{source} has {len(t)} {what}; a fit needs at least {SHORTEST}")


def _stretches(
    system: System, t: np.ndarray, x: np.ndarray, delay: float
) -> tuple[list[Stretch], list[str]]:
    """The log cut where nothing was recorded, and notes; parts too short for a fit are dropped."""
    steps = np.diff(t)
    usual = float(np.median(steps))
    if np.mean(steps > GAP * usual) > 0.1:  # rows came in bursts
        usual = float(np.mean(steps))
    nq, torques = system.nq, slice(system.nq, system.nq + system.nv)
    t, x, notes = _bridge(t, np.hstack([continuous(system, x[:, :nq]), x[:, nq:]]), usual)
    steps = np.diff(t)
    pauses = np.flatnonzero(steps > GAP * usual)
    parts = [slice(a, b) for a, b in pairwise([0, *(pauses + 1), len(t)])]
    if len(pauses):
        gaps = f"{len(pauses)} pauses of up to {steps.max():.3g} s, where {usual:.3g} s is usual"
        notes.append(f"{gaps}: cut into {len(parts)} stretches")
    short = [p.stop - p.start for p in parts if p.stop - p.start < SHORTEST]
    if short:
        below = f"{len(short)} stretches of less than {SHORTEST} rows"
        notes.append(f"{below} left out, {sum(short)} rows")
    if len(short) == len(parts):
        raise IdentificationError(
            f"no stretch of {SHORTEST} rows has no pause over {GAP * usual:.3g} s"
        )
    long = [p for p in parts if p.stop - p.start >= SHORTEST]
    return [_even_stretch(torques, t[p], x[p], usual, delay) for p in long], notes


def _bridge(t: np.ndarray, x: np.ndarray, usual: float) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """(t, x, notes) with rows in short pauses: a cubic fitted to a few rows on either side.

    A spline through single noisy rows would oscillate in a pause of many steps.
    """
    steps = np.diff(t)
    short = np.flatnonzero((steps > GAP * usual) & (steps <= MAX_BRIDGE))
    if not len(short):
        return t, x, []
    added_t, added_x = [t], [x]
    for k in short:
        count = round(steps[k] / usual) - 1
        inside = t[k] + steps[k] * np.arange(1, count + 1) / (count + 1)
        near = slice(max(0, k + 1 - NEAR - count), k + 1 + NEAR + count)
        middle = inside.mean()
        beside = np.abs(t[near] - middle) < MAX_BRIDGE + 2.0 * steps[k]
        cubic = np.vander((t[near][beside] - middle) / steps[k], 4)
        coefficients = np.linalg.lstsq(cubic, x[near][beside], rcond=None)[0]
        added_t.append(inside)
        added_x.append(np.vander((inside - middle) / steps[k], 4) @ coefficients)
    all_t, all_x = np.concatenate(added_t), np.concatenate(added_x)
    order = np.argsort(all_t, kind="stable")
    note = f"{len(short)} pauses of up to {steps[short].max():.3g} s bridged by cubics"
    return all_t[order], all_x[order], [note]


def _even_stretch(
    torques: slice, t: np.ndarray, x: np.ndarray, step: float, delay: float
) -> Stretch:
    """Rows at an even rate: as they are, with straightened stamps, or on a spline."""
    notes: tuple[str, ...] = ()
    for attempt in range(2):  # the second with straightened stamps
        even = _line(np.arange(len(t)), t)
        if _rms(t - even) <= EVEN * step and np.abs(t - even).max() <= 0.5 * step:
            if delay:
                x[:, torques] = _torques_at(even, x[:, torques], even + delay)
            return even, x, notes
        grid = np.linspace(t[0], t[-1], max(round((t[-1] - t[0]) / step), 1) + 1)
        straight = None if attempt else _straighten(t, step)
        if straight is None or not _is_smoother(straight, t, x[:, : torques.start], grid):
            break
        notes = (
            f"stamps are off an even rate by {_rms(t - straight):.3g} s, but the motion is "
            "smoother without that: taken as even",
        )
        t = straight
    notes += (f"uneven stamps: resampled at {_rate(grid):.6g} Hz on a spline",)
    on_grid = fit_curve(t, x)(grid)
    on_grid[:, torques] = _torques_at(t, x[:, torques], grid + delay)
    return grid, on_grid, notes


def _rms(x: np.ndarray) -> float:
    return float(np.sqrt(np.mean(x**2)))


def _rate(t: np.ndarray) -> float:
    """Rows per second of even times."""
    return float((len(t) - 1) / (t[-1] - t[0]))


def _straighten(t: np.ndarray, step: float) -> np.ndarray | None:
    """Times of rows that were taken at an even rate but stamped late or early; None if they drift.

    Rows may be missing. The line through the stamps is fitted to twice as many rows each time, each
    row at the index nearest to where the previous line expects it.
    """
    indices, count = np.arange(len(t)), min(64, len(t))
    line = np.polynomial.Polynomial.fit(indices[:count], t[:count], 1).convert()
    while True:
        indices = np.round((t - line.coef[0]) / line.coef[1]).astype(int)
        line = np.polynomial.Polynomial.fit(indices[:count], t[:count], 1).convert()
        if count == len(t):
            break
        count = min(2 * count, len(t))
    for rows in (indices, np.arange(len(t))):
        straight = _line(rows, t)
        parts = np.array_split(t - straight, max(1, len(t) // 200))
        drift = max(abs(float(part.mean())) for part in parts)
        if (np.diff(rows) > 0).all() and drift < 0.3 * step:
            return straight
    return None


def _is_smoother(straight: np.ndarray, t: np.ndarray, q: np.ndarray, grid: np.ndarray) -> bool:
    """Whether positions have much less noise at straightened times than at stamped ones."""
    start = max(0, (len(t) - PROBED) // 2)  # a part in the middle is enough
    part = slice(start, start + PROBED)
    inside = grid[(grid >= t[part][0]) & (grid <= t[part][-1])]
    straightened, stamped = (
        spectrum(fit_curve(times[part], q[part])(inside), _rate(grid)) for times in (straight, t)
    )
    moving = is_motion(straightened).any(axis=0)
    ratio = straightened.floor[moving] / np.maximum(stamped.floor[moving], 1e-300)
    return bool(moving.any() and np.median(ratio) < JITTER**2)


def _line(indices: np.ndarray, t: np.ndarray) -> np.ndarray:
    """The even times nearest to t, at these indices: the line of least squares."""
    s, middle = indices - indices.mean(), t.mean()
    return np.asarray(middle + s * (s @ (t - middle) / (s @ s)))


def _torques_at(t: np.ndarray, tau: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Torques at `times`: a cubic spline through their rows at t, constant beyond."""
    from scipy.interpolate import make_interp_spline

    return np.asarray(make_interp_spline(t, tau, k=3)(np.clip(times, t[0], t[-1])))


def _record(
    system: System, stretch: Stretch, cutoff: float, noise: Spectrum, resolution: np.ndarray
) -> Record | None:
    """The stretch filtered, with its derivatives, without its ends; None where nothing remains."""
    times, x, notes = stretch
    rate, (q, tau, recorded) = _rate(times), np.split(x, [system.nq, system.nq + system.nv], axis=1)
    lowpass = cutoff if cutoff < MAX_CUTOFF * rate else None
    ends = int(np.ceil(RINGING * rate / cutoff)) if lowpass else 3
    if len(times) - 2 * ends < SHORTEST // 2:
        return None
    raw, (q, qd, qdd) = q, differentiate(system, times, q, lowpass)
    deviation = np.sqrt(noise.floor * 0.5 * noise.rate)
    per_rate = np.eye(system.nq)  # (nv, nq): velocities per rate of the coordinates
    if system.nq != system.nv:
        middle = np.tile(q[len(q) // 2], (system.nq, 1))
        per_rate = manifold_velocities(system, middle, per_rate).T
    rate_noise = np.sqrt(per_rate**2 @ deviation**2) * noise_gain(rate, cutoff)
    inner = slice(ends, len(times) - ends)
    if recorded.size:
        # recorded velocities where these are better, compared where the filter does not ring
        curve, floor = fit_curve(times, recorded, lowpass), spectrum(recorded, rate).floor
        own_noise = np.sqrt(floor * 0.5 * rate) * noise_gain(rate, lowpass or 0.5 * rate, 0)
        smooth, derivative = curve(times), curve(times, 1)
        for k, name in enumerate(system.dynamics.velocities):
            off, size = _rms(smooth[inner, k] - qd[inner, k]), _rms(qd[:, k])
            if off > AGREES * size + 3.0 * np.hypot(rate_noise[k], own_noise[k]):
                notes += (
                    f"{name}: recorded velocity is off the derivative of its position by {off:.2g}, "
                    f"of {size:.2g}: {NOT_USED}",
                )
            elif own_noise[k] < BETTER * rate_noise[k]:
                qd[:, k], qdd[:, k], rate_noise[k] = smooth[:, k], derivative[:, k], own_noise[k]
                notes += (f"{name}: recorded velocity used, with less noise than the derivative",)
    steps = np.abs(per_rate * resolution).max(axis=1, initial=0.0)
    t = np.linspace(times[0], times[-1], len(times))[inner]
    notes = (*notes, f"{ends / rate:.3g} s cut off at both ends, where a filter rings")
    arrays = (t, q[inner], qd[inner], qdd[inner], tau[inner])
    return Record(*arrays, steps, rate_noise, notes, cutoff, raw[inner])
