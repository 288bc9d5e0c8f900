"""From recorded columns to q, q̇, q̈ and τ: splines through every point, a filter without delay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dalembert.errors import SettingError, TrajectoryError
from dalembert.simulation.log_table import LARGEST
from dalembert.systems.system import System

DEGREE = 5  # of the spline; q̈ then is of fourth order in the step
ORDER = 4  # of Butterworth's filter, run forward and backward
FEWEST = 28  # rows that a filter needs
DENSEST = 1e-7  # of the rate, below which a filter's coefficients are no more than rounding
GAPS = 20  # times as many even steps as rows: beyond that the times are too uneven to filter
STEP = 1e-6  # of the difference that turns rates of quaternions into velocities

BELOW = 0.4  # of a new rate: what is faster is filtered away before rows are left out
MOST = 100  # times as many rows as there were

Given = Mapping[str, Mapping[int, np.ndarray]]  # columns in SI units, by quantity and entry
Curve = Callable[..., Any]  # (t, nu) → values (rows, columns) of the nu-th derivative


def curve(t: np.ndarray, x: np.ndarray, lowpass: float | None = None) -> Curve:
    """x (rows, columns) over t as a smooth function: the spline of fifth degree through its rows.

    Few rows are one polynomial through them. With a `lowpass` frequency, Hz, through what
    Butterworth's filter of fourth order leaves of the rows, forward and backward, so that nothing is
    delayed; its −3 dB of both passes together are −6 dB.
    """
    if lowpass is not None:
        t, x = _filtered(t, x, lowpass)
    return _spline(t, x)


def _spline(t: np.ndarray, x: np.ndarray) -> Curve:
    from scipy.interpolate import make_interp_spline

    first = t[0]  # stamps may be large beside their steps
    made = make_interp_spline(t - first, x, k=min(DEGREE, len(t) - 1))
    return lambda times, nu=0: made(times - first, nu=nu)


def _filtered(t: np.ndarray, x: np.ndarray, lowpass: float) -> tuple[np.ndarray, np.ndarray]:
    """(times at even steps, x there without what is faster than `lowpass`)."""
    from scipy.signal import butter, sosfiltfilt

    step = float(np.median(np.diff(t)))
    highest = 0.5 / step
    if not (np.isfinite(lowpass) and 0.0 < lowpass < highest):
        raise SettingError(
            f"lowpass={lowpass!r} must be between 0 and {highest:g} Hz, half the rate of the rows"
        )
    if lowpass * step < DENSEST:
        raise TrajectoryError(
            f"rows every {step:.3g} s are too dense for a filter of {lowpass:g} Hz; are times right?"
        )
    count = round((t[-1] - t[0]) / step) + 1
    if count > GAPS * len(t):
        raise TrajectoryError(
            f"the times have gaps of up to {np.diff(t).max():g} s where {step:g} s is usual; a "
            "filter needs rows in them, or leave lowpass out"
        )
    even = np.linspace(t[0], t[-1], count)
    if count < FEWEST:
        raise TrajectoryError(f"{len(t)} rows are too few for a filter; leave lowpass out")
    sections = butter(ORDER, lowpass, fs=1.0 / step, output="sos")
    added, near = (min(count - 1, max(12, round(k / (step * lowpass)))) for k in (8.0, 0.5))
    if len(t) != count or np.abs(t - even).max() > 1e-6 * (even[1] - even[0]):  # beyond rounding
        x = _spline(t, x)(even)
    longer = np.vstack([_beyond(x[::-1], added, near)[::-1], x, _beyond(x, added, near)])
    return even, sosfiltfilt(sections, longer, axis=0, padlen=0)[added : added + count]


def _beyond(x: np.ndarray, added: int, near: int) -> np.ndarray:
    """Rows (added, columns) that go on behind x with its value, slope and curvature at the end.

    The motion turned about its end, −x(−s), plus twice the even part of the cubic through the last
    `near` rows: without the curvature, q̈ of a filtered motion would go to zero at its ends.
    """
    last = np.arange(1 - near, 1) / near
    fitted = np.linalg.lstsq(np.vander(last, 4, increasing=True), x[-near:], rcond=None)[0]
    s = np.arange(1, added + 1)[:, None] / near
    return 2.0 * (fitted[0] + fitted[2] * s**2) - x[-1 - added : -1][::-1]


def rates(
    system: System, t: np.ndarray, q: np.ndarray, lowpass: float | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(q, q̇, q̈) (rows, ·) from positions alone."""
    shape = curve(t, continuous(system, q), lowpass)
    if system.nq == system.nv:
        return (q if lowpass is None else shape(t)), shape(t, 1), shape(t, 2)
    here, rate = np.asarray(system.dynamics.normalised(shape(t))), shape(t, 1)
    qd = manifold_rates(system, here, rate)
    return here, qd, _spline(t, qd)(t, 1)


def manifold_rates(system: System, q: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """q̇ (rows, nv) where the coordinates q (rows, nq) change at `rate`: how fast the step grows."""
    ends = [system.dynamics.normalised(q + s * rate) for s in (STEP, -STEP)]
    ahead, back = (system.difference(q, np.asarray(end)) for end in ends)
    return np.asarray((ahead - back) / (2.0 * STEP))


def continuous(system: System, q: np.ndarray) -> np.ndarray:
    """q with quaternions of either sign made one curve: ±(x, y, z, w) are the same rotation."""
    kinds, found, k = system.kinds.q, q.copy(), 0
    while k < len(kinds):
        if kinds[k] != "quaternion":
            k += 1
            continue
        own = found[:, k : k + 4]
        turned = np.sign(np.einsum("ij,ij->i", own[1:], own[:-1]))
        own[1:] *= np.cumprod(np.where(turned < 0.0, -1.0, 1.0))[:, None]
        k += 4
    return found


def motion(
    given: Given, q: np.ndarray, system: System, t: np.ndarray, lowpass: float | None
) -> tuple[dict[str, np.ndarray], str]:
    """Arrays of q, qd, qdd and, where there is one, tau; and how the missing ones were found."""
    complete = len(given["qd"]) == len(given["qdd"]) == system.nv
    if complete and lowpass is None:
        made = (
            np.asarray(system.dynamics.normalised(q)),
            *map(stacked, (given["qd"], given["qdd"])),
        )
        said = "none: velocities and accelerations are the file's"
    elif len(t) < 2:
        raise TrajectoryError(
            "one row has no derivatives; give more, or velocities and accelerations"
        )
    else:
        with np.errstate(all="ignore"):  # of times that are next to nothing apart
            made = rates(system, t, q, lowpass)
            _, qd, qdd = made
            if given["qd"]:  # the file's own; q̈ then is their derivative
                own, columns = list(given["qd"]), stacked(given["qd"])
                shape = curve(t, columns, lowpass)
                qd[:, own] = columns if lowpass is None else shape(t)
                qdd[:, own] = shape(t, 1)
            if given["qdd"]:
                columns = stacked(given["qdd"])
                columns = columns if lowpass is None else curve(t, columns, lowpass)(t)
                qdd[:, list(given["qdd"])] = columns
        if not all((np.abs(x) <= LARGEST).all() for x in made):
            raise TrajectoryError("its derivatives are beyond all bounds; are its times right?")
        said = f"spline of degree {min(DEGREE, len(t) - 1)} through all rows"
    state = dict(zip(("q", "qd", "qdd"), made, strict=True))
    if given["tau"]:
        tau = stacked(given["tau"])
        state["tau"] = tau if lowpass is None else curve(t, tau, lowpass)(t)
    filtered = "" if lowpass is None else f" that a zero-phase filter of {lowpass:g} Hz has left"
    return state, said + filtered


def resampled(
    given: Given, q: np.ndarray, system: System, t: np.ndarray, rate: float
) -> tuple[np.ndarray, np.ndarray, dict[str, dict[int, np.ndarray]], str]:
    """(times `rate` times a second, q there, the other columns there, what was done)."""
    span = float(t[-1] - t[0])
    if not (np.isfinite(rate) and rate > 0.0 and 1.0 <= span * rate <= MOST * len(t)):
        raise SettingError(
            f"rate={rate!r} Hz must be positive, and give at least two and at most {MOST} times the "
            f"{len(t)} rows of {span:.6g} s"
        )
    even = t[0] + np.arange(int(span * rate * (1.0 + 1e-12)) + 1) / rate
    usual = 1.0 / float(np.median(np.diff(t)))
    lowpass = BELOW * rate if rate < 0.99 * usual else None
    there = {
        name: {k: curve(t, x[:, None], lowpass)(even)[:, 0] for k, x in own.items()}
        for name, own in given.items()
    }
    q = curve(t, continuous(system, q), lowpass)(even)
    said = f"resampled from {usual:.6g} to {rate:.6g} Hz on a spline"
    return even, q, there, said + ("" if lowpass is None else f", below {lowpass:.4g} Hz")


def stacked(columns: Mapping[int, np.ndarray]) -> np.ndarray:
    """Columns (rows, n) in the order of their entries."""
    return np.column_stack(list(columns.values()))
