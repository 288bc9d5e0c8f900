"""Measured motion ready for a fit, and its noise: quantization, spectral floor, filter cut-off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import NamedTuple

import numpy as np

from dalembert.logs.derivatives import ORDER, fit_curve
from dalembert.model.frozen import Frozen

WINDOW = ("kaiser", 24.0)  # side lobes of −170 dB: a motion of 1 rad must not hide noise of 1e-8
LONGEST_SEGMENT = 40.0  # s of the spectrum
MAX_SEGMENTS = 8
FLOOR_BAND = (0.2, 0.4)  # of the rate: where only noise remains
BLOCKS = 24  # parts of that band; their median ignores a line of the drives
BAND = 40  # frequencies, at least, over which power is averaged before it is compared
MOTION = 4.0  # times the floor from which power is motion
ENOUGH = 40_000  # samples by which a quantization is estimated
LATTICE = 0.1  # of a step that differences may be off multiples of it
FEW_LEVELS = 8  # levels, each with as many samples, that noise would not leave
BIAS_WEIGHT = 100.0  # of errors that do not average out, relative to noise
MIN_PERIODS = 20.0  # of a cut-off in a log, whose ends spoil a few of them
MAX_CUTOFF = 0.4  # of the rate, above which a filter would do nothing
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Record(Frozen):
    """One uninterrupted stretch of motion at an even rate; several make a log."""

    t: np.ndarray  # (n,) s, even
    q: np.ndarray  # (n, nq)
    qd: np.ndarray  # (n, nv)
    qdd: np.ndarray  # (n, nv)
    tau: np.ndarray  # (n, nv) as measured on the axis of the joint, N m or N
    resolution: np.ndarray  # (nv,) step of the encoder, 0 where none is visible
    rate_noise: np.ndarray  # (nv,) standard deviation of the noise of q̇
    notes: tuple[str, ...] = ()  # processing steps, in order
    cutoff: float = np.inf  # Hz of the filter of q
    raw: np.ndarray | None = None  # (n, nq) q before the filter
    rounding: np.ndarray | None = None  # (nv,) deviation of the quantization of tau

    @property
    def rate(self) -> float:
        """Samples per second."""
        return float((len(self.t) - 1) / (self.t[-1] - self.t[0]))

    def with_views(self, **arrays: np.ndarray | None) -> Record:
        """The record with other arrays, which are not copied and become read-only."""
        record = object.__new__(type(self))
        for array in arrays.values():
            if array is not None:
                array.setflags(write=False)
        record.__dict__.update(self.__dict__ | arrays)
        return record

    def part(self, samples: slice) -> Record:
        """The record of some of its samples, as views."""
        views = {name: getattr(self, name)[samples] for name in ("t", "q", "qd", "qdd", "tau")}
        return self.with_views(**views, raw=None if self.raw is None else self.raw[samples])


def samples_between(records: Sequence[Record], start: int, stop: int) -> tuple[Record, ...]:
    """The records of samples `start` to `stop`, counted over all records."""
    result, begin = [], 0
    for record in records:
        count = len(record.t)
        low, high = max(start - begin, 0), min(stop - begin, count)
        if low < high:
            result.append(record if high - low == count else record.part(slice(low, high)))
        begin += count
    return tuple(result)


class Spectrum(NamedTuple):
    """Power of positions over frequency, and its noise floor."""

    f: np.ndarray  # (m,) Hz
    power: np.ndarray  # (m, n) units² per Hz
    floor: np.ndarray  # (n,) of white noise
    lines: np.ndarray  # (n,) units², power that quantization may have at any frequency
    rate: float  # Hz
    duration: float  # s


def spectrum(x: np.ndarray, rate: float, step: np.ndarray | float = 0.0) -> Spectrum:
    """One-sided power density of x (rows, n) at an even `rate`, Hz; the floor is of its upper part.

    Quantization by an encoder's `step` (n,) is white noise of step²/12 where several steps pass
    between two rows; slower than that it is a comb of lines at any frequency, and nothing weaker than
    all of them together counts as motion.
    """
    from scipy.fft import next_fast_len, rfft
    from scipy.signal import get_window

    # the mean over segments of the log, each without its linear trend
    count = min(len(x), max(256, int(LONGEST_SEGMENT * rate)))
    count = next(k for k in range(count, 0, -1) if next_fast_len(k, real=True) == k)
    segments = max(1, min(MAX_SEGMENTS, 2 * len(x) // count - 1))
    window, s = get_window(WINDOW, count), np.linspace(-1.0, 1.0, count)[:, None]
    power = np.zeros((count // 2 + 1, x.shape[1]))
    for start in np.linspace(0, len(x) - count, segments).astype(int):
        segment = x[start : start + count]
        segment = segment - segment.mean(axis=0)
        segment -= s * ((s * segment).sum(axis=0) / (s * s).sum())
        power += np.abs(rfft(segment * window[:, None], axis=0)) ** 2
    f = np.arange(len(power)) * (rate / count)
    power = power * (2.0 / (segments * rate * (window**2).sum()))
    band = power[(f >= FLOOR_BAND[0] * rate) & (f <= FLOOR_BAND[1] * rate)]
    parts = np.array_split(band, max(1, min(BLOCKS, len(band) // 16)))
    floor = np.median([part.mean(axis=0) for part in parts], axis=0)
    rounding = np.broadcast_to(np.asarray(step, float) ** 2 / 12.0, floor.shape)
    lag = max(1, min(round(0.05 * rate), len(x) // 4))
    speed = np.median(np.abs(x[lag:] - x[:-lag]), axis=0) * rate / lag
    lines = np.where(speed < rate * np.asarray(step), 1.5 * rounding, 0.0)
    return Spectrum(f, power, np.maximum(floor, 2.0 * rounding / rate), lines, rate, len(x) / rate)


def best_cutoff(noise: Spectrum) -> float:
    """Cut-off, Hz, at which q̈ is best for a fit; half the rate where a filter gains nothing.

    With H = 1/(1 + (tan πf/r / tan πf_c/r)⁸) of both passes, S the power of q̈ and N its noise, each
    relative to the power of the joint's q̈ and summed over joints: c (Σ S H (1 − H))² + Σ S (1 − H)² +
    Σ N H². A fit takes the first term for another inertia; it does not average out and counts c
    times. The second is unexplained motion, the third noise in the pass band.
    """
    f, rate = noise.f, noise.rate
    weight = (2.0 * np.pi * f) ** 4
    signal = np.where(is_motion(noise), weight[:, None] * (noise.power - noise.floor), 0.0)
    moving = signal.sum(axis=0) > 0.0
    if not moving.any():
        return 0.5 * rate
    size = signal.sum(axis=0)[moving]
    S, N = signal[:, moving] / size, (noise.floor[moving] / size).sum()
    cutoffs = np.geomspace(min(MIN_PERIODS / noise.duration, 0.1 * rate), MAX_CUTOFF * rate, 80)
    warped = np.tan(np.pi * np.minimum(f / rate, 0.499)) ** (2 * ORDER)
    costs = []
    for cutoff in cutoffs:
        H = 1.0 / (1.0 + warped / np.tan(np.pi * cutoff / rate) ** (2 * ORDER))
        bias, unexplained = (H * (1.0 - H)) @ S, ((1.0 - H) ** 2) @ S
        costs.append((BIAS_WEIGHT * bias**2 + unexplained).sum() + N * (weight @ H**2))
    best = int(np.argmin(costs))
    return 0.5 * rate if best == len(cutoffs) - 1 else float(cutoffs[best])


def is_motion(noise: Spectrum) -> np.ndarray:
    """(m, n) bool: bands whose mean power is four times the noise floor.

    A band has forty frequencies, of which the window leaves seven independent, or a tenth of its
    own frequency where that is more.
    """
    edges = [0]
    while (after := edges[-1] + max(BAND, edges[-1] // 10)) < len(noise.f) - BAND // 2:
        edges.append(after)
    sizes = np.diff([*edges, len(noise.f)])
    mean = np.add.reduceat(noise.power, edges, axis=0) / sizes[:, None]
    faster = np.cumsum(noise.power[::-1], axis=0)[::-1] * (noise.f[1] - noise.f[0])
    return np.asarray(
        np.repeat(mean > MOTION * noise.floor, sizes, axis=0) & (faster >= noise.lines)
    )


def quantization_step(x: np.ndarray) -> float:
    """The step of which all numbers x (n,) are multiples, up to an offset; 0 where there is none.

    >>> quantization_step(np.round(np.sin(np.linspace(0, 9, 500)) / 0.001) * 0.001 + 0.2).__round__(9)
    0.001
    """
    values = np.unique(x[:: max(1, len(x) // ENOUGH)])
    gaps = np.diff(values)
    gaps = gaps[gaps > 64.0 * EPS * max(float(np.abs(values).max(initial=0.0)), 1e-300)]
    if len(gaps) < 8:
        return 0.0
    for share in (0.0, 0.02, 0.1, 0.5):  # a few outliers may lie between the steps
        step = float(np.quantile(gaps, share, method="lower"))
        few = gaps[gaps < 100.5 * step]
        step = float(few.sum() / np.maximum(np.round(few / step), 1.0).sum())
        few = gaps[gaps < 1000.5 * step]
        off = np.abs(few / step - np.round(few / step))
        if len(few) >= 8 and np.mean(off < LATTICE) > 0.95:
            return step
    return 0.0


def rounding_deviation(x: np.ndarray) -> np.ndarray:
    """(n,) standard deviation of the quantization of numbers x (rows, n): step / √12.

    Of a few levels, as a torque has that hardly changes, the nearest two are a step.
    """
    x = x[:: 1 + len(x) // ENOUGH]
    steps = np.zeros(x.shape[1])
    for k, column in enumerate(x.T):
        levels = np.unique(column[np.isfinite(column)])
        has_few = 1 < len(levels) <= min(FEW_LEVELS, len(column) // FEW_LEVELS)
        steps[k] = np.diff(levels).min() if has_few else quantization_step(column)
    return np.asarray(steps / np.sqrt(12.0))


def noise_gain(rate: float, cutoff: float, order: int = 1) -> float:
    """Standard deviation of a derivative of white noise of deviation 1, through filter and spline.

    The root of the sum of squares of the response to one sample.
    """
    is_filtered = cutoff < MAX_CUTOFF * rate
    half = int(8.0 * rate / cutoff) + 32 if is_filtered else 64
    t, x = np.arange(-half, half + 1) / rate, np.zeros(2 * half + 1)
    x[half] = 1.0
    response = fit_curve(t, x[:, None], cutoff if is_filtered else None)
    return float(np.linalg.norm(response(t, order)))


def white_noise(signals: Sequence[np.ndarray], order: int) -> np.ndarray:
    """(n,) deviation of the white noise of one sample of signals (rows, n).

    By differences of this order from sample to sample, √(2k over k) times as large as the noise: those
    of a smooth motion are negligible, and the median ignores jumps.
    """
    differences = [np.abs(np.diff(np.nan_to_num(x), order, axis=0)) for x in signals]
    median = np.median(np.concatenate(differences), axis=0)
    return np.asarray(median / (0.6745 * np.sqrt(float(comb(2 * order, order)))))


def rounding_floor(records: Sequence[Record]) -> np.ndarray:
    """(nv,) deviation of the quantization of torques where averaging does not reduce it, else 0.

    With less noise than that a torque stays at a level while it changes by less than a step.
    """
    deviations = [np.zeros(r.tau.shape[1]) if r.rounding is None else r.rounding for r in records]
    rounding = np.max(deviations, axis=0)
    return np.where(white_noise([r.tau for r in records], 2) < rounding, rounding, 0.0)
