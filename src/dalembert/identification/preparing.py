"""From a log to records: even rates, positions filtered without delay, their derivatives, torques."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import IdentificationError, SettingError
from dalembert.identification.columns import may_be_passive
from dalembert.identification.noise import (
    HIGHEST,
    Spectrum,
    best_cutoff,
    rate_gain,
    rounding_of,
    spectrum,
    step_of,
)
from dalembert.identification.record import Record
from dalembert.identification.stretches import SHORTEST, Stretch, rate_of, stretches
from dalembert.simulation.log_rates import curve, manifold_rates, rates
from dalembert.simulation.log_repair import repaired
from dalembert.systems.system import System

if TYPE_CHECKING:
    import xarray

RINGING = 1.5  # 1/cut-off that are cut off at both ends of a stretch
BETTER = 0.5  # of the noise of the derivative that a recorded velocity may have to be taken
AGREES = 2e-3  # of its size that a recorded velocity may be off the derivative, beside noise


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
    t, q, tau, qd = _arrays(system, log)
    said = str(log.attrs.get("preparation", "")).splitlines()
    parts = [q, tau] if qd is None else [q, tau, qd]
    t, x, _, done = repaired(t, np.hstack(parts), q.shape[1])
    _require_rows(log, t, "whole rows")
    resolution = np.array([step_of(x[:, k]) for k in range(q.shape[1])])
    shift = np.broadcast_to(np.asarray(delay, float), (tau.shape[1],))
    pieces, lost = stretches(system, t, x, shift, qd is not None)
    said += done + lost + _of_delay(shift)
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


def _arrays(
    system: System, log: xarray.Dataset
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """(t, q, tau, recorded q̇ or None), in the order of the system's joints."""
    where = log.attrs.get("source", "the log")
    made = system.dynamics
    for quantity, what in (("q", "positions"), ("tau", "torques")):
        if quantity not in log:
            raise IdentificationError(f"{where} has no {what} {quantity!r}; a fit needs them")
    recorded = log.attrs.get("recorded")
    own = "qd" in log and (recorded is None or "qd" in str(recorded).split(", "))
    wanted = {"q": made.coordinates, "tau": made.velocities} | (
        {"qd": made.velocities} if own else {}
    )
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
    return t, found["q"], _driven(system, found["tau"], where), found.get("qd")


def _driven(system: System, tau: np.ndarray, where: str) -> np.ndarray:
    """Torques with zeros for joints that were never measured, where these may be passive."""
    never = np.isnan(tau).all(axis=0)
    if never.any() and not never.all() and not may_be_passive(system):
        names = [name for name, x in zip(system.dynamics.velocities, never, strict=True) if x]
        raise IdentificationError(f"{where} has no torque of {', '.join(names)}; a fit needs it")
    return np.where(never, 0.0, tau)


def _require_rows(log: xarray.Dataset, t: np.ndarray, what: str) -> None:
    if len(t) < SHORTEST:
        where = log.attrs.get("source", "the log")
        raise IdentificationError(f"{where} has {len(t)} {what}; a fit needs at least {SHORTEST}")


def _of_delay(shift: np.ndarray) -> list[str]:
    return [f"torques taken {shift.max():.4g} s earlier"] if shift.any() else []


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
    per = _per_coordinate(system, q[len(q) // 2])  # (nv, nq)
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
                f"{size:.2g}: not used"
            )
        elif noise[k] < BETTER * rate_noise[k]:
            qd[:, k], qdd[:, k], rate_noise[k] = smooth[:, k], slope[:, k], noise[k]
            said.append(f"{name}: recorded velocity used, with less noise than the derivative")
    return said


def _per_coordinate(system: System, q: np.ndarray) -> np.ndarray:
    """(nv, nq): how velocities grow with rates of coordinates; the identity for plain joints."""
    if system.nq == system.nv:
        return np.eye(system.nv)
    return manifold_rates(system, np.tile(q, (system.nq, 1)), np.eye(system.nq)).T
