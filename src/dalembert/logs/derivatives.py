"""q, q̇, q̈ and τ from recorded columns: splines through every sample, zero-phase filters."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from dalembert.errors import SettingError, TrajectoryError
from dalembert.logs.tables import LARGEST
from dalembert.systems.system import System

DEGREE = 5  # of the spline; q̈ is of fourth order in the step
ORDER = 4  # of the Butterworth filter, run forward and backward
MIN_ROWS = 28  # for a filter
MIN_CUTOFF = 1e-7  # of the rate; below, the filter's coefficients are lost in rounding
MAX_UNEVEN = 20  # even steps per row, beyond which the times are too uneven to filter
STEP = 1e-6  # of the difference by which rates of quaternions become velocities
ANTI_ALIASING = 0.4  # of the new rate: cut-off before rows are left out
MAX_UPSAMPLING = 100  # rows after resampling per row before

ColumnsBySI = Mapping[str, Mapping[int, np.ndarray]]  # in SI units, by quantity and entry
Curve = Callable[..., np.ndarray]  # (times (rows,), order of derivative) → (rows, columns)


def fit_curve(t: np.ndarray, x: np.ndarray, lowpass: float | None = None) -> Curve:
    """The spline of fifth degree through x (rows, columns) over t (rows,).

    Few rows give one polynomial. With `lowpass`, Hz, the rows first pass a Butterworth filter of
    fourth order forward and backward, without delay; −3 dB of each pass are −6 dB together.
    """
    if lowpass is None:
        return _spline(t, x)
    from scipy.signal import butter, sosfiltfilt

    step = float(np.median(np.diff(t)))
    highest = 0.5 / step
    if not (np.isfinite(lowpass) and 0.0 < lowpass < highest):
        raise SettingError(
            f"lowpass={lowpass!r} must be between 0 and {highest:g} Hz, half the rows' rate"
        )
    if lowpass * step < MIN_CUTOFF:
        raise TrajectoryError(
            f"a filter of {lowpass:g} Hz needs rows further apart than {step:.3g} s"
        )
    count = round((t[-1] - t[0]) / step) + 1
    if count > MAX_UNEVEN * len(t):
        raise TrajectoryError(
            f"a filter needs rows every {step:g} s, and gaps are up to {np.diff(t).max():g} s"
        )
    even = np.linspace(t[0], t[-1], count)
    if count < MIN_ROWS:
        raise TrajectoryError(f"{len(t)} rows are too few for a filter; leave lowpass out")
    sections = butter(ORDER, lowpass, fs=1.0 / step, output="sos")
    added, near = (min(count - 1, max(12, round(k / (step * lowpass)))) for k in (8.0, 0.5))
    if len(t) != count or np.abs(t - even).max() > 1e-6 * (even[1] - even[0]):  # beyond rounding
        x = _spline(t, x)(even)
    padded = np.vstack([_extrapolate(x[::-1], added, near)[::-1], x, _extrapolate(x, added, near)])
    filtered = sosfiltfilt(sections, padded, axis=0, padlen=0)[added : added + count]
    return _spline(even, filtered)


def _spline(t: np.ndarray, x: np.ndarray) -> Curve:
    from scipy.interpolate import make_interp_spline

    first = t[0]  # stamps may be large beside their steps
    spline = make_interp_spline(t - first, x, k=min(DEGREE, len(t) - 1))
    return lambda t, nu=0: spline(t - first, nu=nu)


def _extrapolate(x: np.ndarray, added: int, near: int) -> np.ndarray:
    """Rows (added, columns) that continue x with its value, slope and curvature at the end.

    The motion reflected about its end, −x(−s), plus twice the even part of the cubic through the
    last `near` rows: without the curvature, q̈ of a filtered motion would go to zero at its ends.
    """
    last = np.arange(1 - near, 1) / near
    cubic = np.linalg.lstsq(np.vander(last, 4, increasing=True), x[-near:], rcond=None)[0]
    s = np.arange(1, added + 1)[:, None] / near
    return np.asarray(2.0 * (cubic[0] + cubic[2] * s**2) - x[-1 - added : -1][::-1])


def differentiate(
    system: System, t: np.ndarray, q: np.ndarray, lowpass: float | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(q, q̇, q̈) (rows, ·) from positions alone."""
    curve = fit_curve(t, continuous(system, q), lowpass)
    if system.nq == system.nv:
        return (q if lowpass is None else curve(t)), curve(t, 1), curve(t, 2)
    smooth = np.asarray(system.dynamics.normalised(curve(t)))
    qd = manifold_velocities(system, smooth, curve(t, 1))
    return smooth, qd, _spline(t, qd)(t, 1)


def manifold_velocities(system: System, q: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """q̇ (rows, nv) where the coordinates q (rows, nq) change at `rate` (rows, nq)."""
    ends = [system.dynamics.normalised(q + s * rate) for s in (STEP, -STEP)]
    ahead, back = (system.difference(q, np.asarray(end)) for end in ends)
    return np.asarray((ahead - back) / (2.0 * STEP))


def continuous(system: System, q: np.ndarray) -> np.ndarray:
    """q with the signs of quaternions chosen for one curve: ±(x, y, z, w) are the same rotation."""
    kinds, k = system.kinds.q, 0
    q = q.copy()
    while k < len(kinds):
        if kinds[k] != "quaternion":
            k += 1
            continue
        quaternion = q[:, k : k + 4]
        sign = np.sign(np.einsum("ij,ij->i", quaternion[1:], quaternion[:-1]))
        quaternion[1:] *= np.cumprod(np.where(sign < 0.0, -1.0, 1.0))[:, None]
        k += 4
    return q


def motion(
    columns: ColumnsBySI, q: np.ndarray, system: System, t: np.ndarray, lowpass: float | None
) -> tuple[dict[str, np.ndarray], str]:
    """(arrays of q, qd, qdd and, where there is one, tau; how missing ones were computed)."""
    is_complete = len(columns["qd"]) == len(columns["qdd"]) == system.nv
    if is_complete and lowpass is None:
        q = np.asarray(system.dynamics.normalised(q))
        arrays = (q, stack(columns["qd"]), stack(columns["qdd"]))
        note = "none: velocities and accelerations are the file's"
    elif len(t) < 2:
        raise TrajectoryError(
            "one row has no derivatives; give more, or velocities and accelerations"
        )
    else:
        with np.errstate(all="ignore"):  # times that differ by rounding only
            arrays = differentiate(system, t, q, lowpass)
            _, qd, qdd = arrays
            if columns["qd"]:  # recorded; q̈ is their derivative
                own, recorded = list(columns["qd"]), stack(columns["qd"])
                curve = fit_curve(t, recorded, lowpass)
                qd[:, own] = recorded if lowpass is None else curve(t)
                qdd[:, own] = curve(t, 1)
            if columns["qdd"]:
                qdd[:, list(columns["qdd"])] = _smooth(t, stack(columns["qdd"]), lowpass)
        if not all((np.abs(x) <= LARGEST).all() for x in arrays):
            raise TrajectoryError("its derivatives are beyond all bounds; are its times right?")
        note = f"spline of degree {min(DEGREE, len(t) - 1)} through all rows"
    state = dict(zip(("q", "qd", "qdd"), arrays, strict=True))
    if columns["tau"]:
        state["tau"] = _smooth(t, stack(columns["tau"]), lowpass)
    filtered = "" if lowpass is None else f" that a zero-phase filter of {lowpass:g} Hz has left"
    return state, note + filtered


def _smooth(t: np.ndarray, x: np.ndarray, lowpass: float | None) -> np.ndarray:
    return x if lowpass is None else fit_curve(t, x, lowpass)(t)


def resample(
    columns: ColumnsBySI, q: np.ndarray, system: System, t: np.ndarray, rate: float
) -> tuple[np.ndarray, np.ndarray, dict[str, dict[int, np.ndarray]], str]:
    """(even times at `rate`, Hz, q there, the other columns there, note)."""
    span = float(t[-1] - t[0])
    if not (np.isfinite(rate) and rate > 0.0 and 1.0 <= span * rate <= MAX_UPSAMPLING * len(t)):
        raise SettingError(
            f"rate={rate!r} Hz must be positive, and give at least two and at most {MAX_UPSAMPLING} "
            f"times the {len(t)} rows of {span:.6g} s"
        )
    even = t[0] + np.arange(int(span * rate * (1.0 + 1e-12)) + 1) / rate
    old_rate = 1.0 / float(np.median(np.diff(t)))
    lowpass = ANTI_ALIASING * rate if rate < 0.99 * old_rate else None
    resampled = {
        name: {k: fit_curve(t, x[:, None], lowpass)(even)[:, 0] for k, x in own.items()}
        for name, own in columns.items()
    }
    q = fit_curve(t, continuous(system, q), lowpass)(even)
    note = f"resampled from {old_rate:.6g} to {rate:.6g} Hz on a spline"
    return even, q, resampled, note + ("" if lowpass is None else f", below {lowpass:.4g} Hz")


def stack(columns: Mapping[int, np.ndarray]) -> np.ndarray:
    """Columns (rows, n) in the order of their entries."""
    return np.column_stack(list(columns.values()))
