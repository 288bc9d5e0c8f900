"""How noisy recorded positions are: the encoder's step, the floor of the spectrum, and the cut-off."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.simulation.log_rates import ORDER, curve

WINDOW = ("kaiser", 24.0)  # side lobes of −170 dB: a motion of 1 rad must not hide noise of 1e-8
LONGEST = 40.0  # s of one segment of the spectrum
SEGMENTS = 8  # of the spectrum, at most
FLOOR = (0.2, 0.4)  # of the rate: where only noise is left
BLOCKS = 24  # parts of that band; the median over them does not see a line of the drives
BAND = 40  # frequencies, at least, over which power is averaged before it is called motion
SEEN = 4.0  # times the floor of noise from which power is motion
ENOUGH = 40_000  # numbers that show the step of an encoder or a torque
LATTICE = 0.1  # of a step that differences of positions may be off multiples of it
FEW = 8  # levels, each with as many samples, that no noise would leave
CERTAIN = 100.0  # times as much as noise counts what never averages out
LOWEST = 20.0  # periods of a cut-off that a log must hold: its ends spoil a few of them
HIGHEST = 0.4  # of the rate, above which a filter would do nothing
EPS = float(np.finfo(float).eps)


class Spectrum(NamedTuple):
    """Power of positions over frequency, and where its floor is."""

    f: np.ndarray  # (m,) Hz
    power: np.ndarray  # (m, n) units² per Hz
    floor: np.ndarray  # (n,) of white noise
    lines: np.ndarray  # (n,) units², power that the encoder's step may have at any frequency
    rate: float  # Hz
    duration: float  # s


def spectrum(x: np.ndarray, rate: float, step: np.ndarray | float = 0.0) -> Spectrum:
    """One-sided power density of x (rows, n), even in time; the floor is that of its upper part.

    Rounding to an encoder's `step` (n,) is white noise of step²/12 where several steps pass between
    two rows; slower than that it is a comb of lines that may lie anywhere, and nothing weaker than
    all of them together counts as motion.
    """
    f, power = _periodogram(x, rate)
    band = power[(f >= FLOOR[0] * rate) & (f <= FLOOR[1] * rate)]
    parts = np.array_split(band, max(1, min(BLOCKS, len(band) // 16)))
    floor = np.median([part.mean(axis=0) for part in parts], axis=0)
    rounding = np.broadcast_to(np.asarray(step, float) ** 2 / 12.0, floor.shape)
    lag = max(1, min(round(0.05 * rate), len(x) // 4))
    speed = np.median(np.abs(x[lag:] - x[:-lag]), axis=0) * rate / lag
    lines = np.where(speed < rate * np.asarray(step), 1.5 * rounding, 0.0)
    return Spectrum(f, power, np.maximum(floor, 2.0 * rounding / rate), lines, rate, len(x) / rate)


def _periodogram(x: np.ndarray, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """(f (m,), power (m, n)): the mean over segments spread over the log, each without its line."""
    from scipy.fft import next_fast_len, rfft
    from scipy.signal import get_window

    count = min(len(x), max(256, int(LONGEST * rate)))
    count = next(k for k in range(count, 0, -1) if next_fast_len(k, real=True) == k)
    parts = max(1, min(SEGMENTS, 2 * len(x) // count - 1))
    window, s = get_window(WINDOW, count), np.linspace(-1.0, 1.0, count)[:, None]
    power = np.zeros((count // 2 + 1, x.shape[1]))
    for start in np.linspace(0, len(x) - count, parts).astype(int):
        part = x[start : start + count]
        part = part - part.mean(axis=0)
        part -= s * ((s * part).sum(axis=0) / (s * s).sum())
        power += np.abs(rfft(part * window[:, None], axis=0)) ** 2
    f = np.arange(len(power)) * (rate / count)
    return f, power * (2.0 / (parts * rate * (window**2).sum()))


def best_cutoff(found: Spectrum) -> float:
    """Hz at which q̈ is best for a fit; half the rate where nothing is to be gained by a filter.

    With H = 1/(1 + (tan πf/r / tan πf_c/r)⁸) of both passes, S the power of q̈ and N its noise, each
    beside the power of the joint's q̈ and summed over joints: c (Σ S H (1 − H))² + Σ S (1 − H)² +
    Σ N H². The first is what a fit takes for another inertia; it does not average out and counts c
    times. The second is motion that is not explained, the third noise let through.
    """
    f, rate = found.f, found.rate
    weight = (2.0 * np.pi * f) ** 4
    signal = np.where(above(found), weight[:, None] * (found.power - found.floor), 0.0)
    moving = signal.sum(axis=0) > 0.0
    if not moving.any():
        return 0.5 * rate
    size = signal.sum(axis=0)[moving]
    share, noise = signal[:, moving] / size, (found.floor[moving] / size).sum()
    tried = np.geomspace(min(LOWEST / found.duration, 0.1 * rate), HIGHEST * rate, 80)
    warped = np.tan(np.pi * np.minimum(f / rate, 0.499)) ** (2 * ORDER)
    lost = []
    for cutoff in tried:
        H = 1.0 / (1.0 + warped / np.tan(np.pi * cutoff / rate) ** (2 * ORDER))
        gain, unexplained = (H * (1.0 - H)) @ share, ((1.0 - H) ** 2) @ share
        lost.append((CERTAIN * gain**2 + unexplained).sum() + noise * (weight @ H**2))
    best = int(np.argmin(lost))
    return 0.5 * rate if best == len(tried) - 1 else float(tried[best])


def above(found: Spectrum) -> np.ndarray:
    """(m, n) where there is more than noise: bands whose mean power is four times the floor.

    A band has forty frequencies, of which the window leaves seven independent, or a tenth of its
    own frequency where that is more.
    """
    edges = [0]
    while (after := edges[-1] + max(BAND, edges[-1] // 10)) < len(found.f) - BAND // 2:
        edges.append(after)
    sizes = np.diff([*edges, len(found.f)])
    mean = np.add.reduceat(found.power, edges, axis=0) / sizes[:, None]
    faster = np.cumsum(found.power[::-1], axis=0)[::-1] * (found.f[1] - found.f[0])
    return np.repeat(mean > SEEN * found.floor, sizes, axis=0) & (faster >= found.lines)


def step_of(x: np.ndarray) -> float:
    """The step of which all numbers x (n,) are multiples, up to an offset; 0 where there is none.

    >>> step_of(np.round(np.sin(np.linspace(0, 9, 500)) / 0.001) * 0.001 + 0.2).__round__(9)
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


def rounding_of(x: np.ndarray) -> np.ndarray:
    """(n,) standard deviation of the rounding of numbers x (rows, n): a step of them / √12.

    Of a few levels, as a torque has that hardly changes, the nearest two are a step. Of many rows some
    tell all.
    """
    x = x[:: 1 + len(x) // ENOUGH]
    found = np.zeros(x.shape[1])
    for k, own in enumerate(x.T):
        levels = np.unique(own[np.isfinite(own)])
        few = 1 < len(levels) <= min(FEW, len(own) // FEW)
        found[k] = np.diff(levels).min() if few else step_of(own)
    return found / np.sqrt(12.0)


def rate_gain(rate: float, cutoff: float, order: int = 1) -> float:
    """Standard deviation of a derivative of white noise of deviation 1, through filter and spline.

    That of the sum of squares of the response to one sample.
    """
    filtered = cutoff < HIGHEST * rate
    half = int(8.0 * rate / cutoff) + 32 if filtered else 64
    t, x = np.arange(-half, half + 1) / rate, np.zeros(2 * half + 1)
    x[half] = 1.0
    shape = curve(t, x[:, None], cutoff if filtered else None)
    return float(np.linalg.norm(shape(t, order)))
