"""Weighted least squares of a log's equations, filtered and decimated block by block.

Columns and torques pass the same symmetric low-pass filter (parallel filtering, Gautier 1997), so the
equations hold as before, noise faster than the motion is removed, and the rest is nearly white at the
lower rate. A block of samples is turned into columns, filtered and dropped before the next one: W of
all samples is never in memory.

Each equation has a noise of its own. It is first taken from a fit of the equation alone, then from
the residuals of the common fit (two-step weighted least squares, Gautier 1997), in which

    |A β − b|² = Σ_j |W_j β − y_j|² / σ_j²,    cov β = (AᵀA)⁻¹

where residuals are independent. Where they are not, the sandwich estimator of Newey and West (1987)
is larger, and is used. Directions of β that the log does not show keep the prior's value.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from dalembert.identification.record import Record
from dalembert.identification.regressor import BaseParameters, Regressor
from dalembert.kernels import get_num_threads
from dalembert.model.frozen import Frozen

BLOCK = 1024  # samples whose columns are computed at once: they stay in the cache
SPAN = 8  # length of the filter in decimated rows
ROLL_OFF = 0.5  # of the filter, as a share of its band
BANDWIDTH = 10.0  # times the band of the motion: torques are products of it, and friction jumps
REWEIGHTINGS = 4  # weights settle in two or three
NEGLIGIBLE = 1e-10  # of the largest: a column of rounding only
MAX_LAGS = 200  # rows of the longest correlation that is looked for
MAX_CORRELATION = 0.97  # of a score from one row to the next
MIN_SAMPLES = 1.25  # independent residuals per parameter, at least, that are assumed
OBSERVABLE = 1.0  # deviations by which a whole torque's worth of a direction must show


@dataclass(frozen=True, eq=False)
class LinearEquations(Frozen):
    """W_j β = y_j of each equation j, in the base parameters that it depends on."""

    indices: tuple[np.ndarray, ...]  # of each equation: (k,) among the base parameters
    W: tuple[np.ndarray, ...]  # of each equation (m, k)
    y: np.ndarray  # (m, equations)
    stretch: np.ndarray  # (m,) index of the record a row is from
    size: int  # number of base parameters

    def residuals(self, beta: np.ndarray) -> np.ndarray:
        """y − W β (m, equations)."""
        predicted = [W @ beta[k] for W, k in zip(self.W, self.indices, strict=True)]
        return np.asarray(self.y - np.stack(predicted, axis=1))

    def select(self, rows: np.ndarray) -> LinearEquations:
        """The equations of some rows, (m,) bool."""
        W = tuple(W[rows] for W in self.W)
        return replace(self, W=W, y=self.y[rows], stretch=self.stretch[rows])


def root_raised_cosine(step: int) -> np.ndarray:
    """Taps (8 step,) of the root raised cosine filter, of unit length; 1 without decimation.

    Its shifts by whole steps are orthogonal, so white noise stays white in the decimated rows
    (Nyquist's criterion).
    """
    if step == 1:
        return np.ones(1)
    a, t = ROLL_OFF, (np.arange(SPAN * step) - 0.5 * (SPAN * step - 1)) / step
    t = np.where(abs(abs(4.0 * a * t) - 1.0) < 1e-9, t * (1.0 + 1e-7), t)  # 0/0, taken beside it
    t = np.where(t == 0.0, 1e-7, t)
    numerator = np.sin(np.pi * t * (1.0 - a)) + 4.0 * a * t * np.cos(np.pi * t * (1.0 + a))
    h = numerator / (np.pi * t * (1.0 - (4.0 * a * t) ** 2))
    return h / np.linalg.norm(h)


def decimate(
    regressor: Regressor, base: BaseParameters, records: Sequence[Record], step: int | None = None
) -> LinearEquations:
    """Filtered rows of the records, one for every `step` samples; records are not joined.

    By default as many as the filters of the records allow.
    """
    if step is None:  # as many as leave `BANDWIDTH` times the band of the records' own filter
        step = max(1, int(min(0.5 * r.rate / (BANDWIDTH * r.cutoff) for r in records)))
    indices = tuple(np.flatnonzero(row) for row in base.nonzero)
    h = root_raised_cosine(step)
    # H (rows, samples): weights of SPAN · step samples in the decimated rows they contribute to,
    # first those whose window began before these samples, then those that begin among them
    before, width = (len(h) - 1) // step, SPAN * step
    H = np.zeros((before + SPAN, width))
    for row in range(before + SPAN):
        first = (row - before) * step  # where the row's window begins
        low, high = max(first, 0), min(first + len(h), width)
        H[row, low:high] = h[low - first : high - first]
    size = width * max(1, BLOCK // width)

    def filter_block(block: Record) -> tuple[list[np.ndarray], np.ndarray]:
        W, y = (_filter(H, x, step) for x in regressor.equations(block))
        return [W[:, j] @ base.selection[:, k] for j, k in enumerate(indices)], y

    parts = []
    for record in records:
        starts = range(0, len(record.t), size)
        total = size // step * len(starts) + len(H)
        W, y = [np.zeros((total, len(k))) for k in indices], np.zeros((total, len(indices)))
        blocks = [record.part(slice(start, start + size)) for start in starts]
        # NumPy and our kernels release the GIL
        with ThreadPoolExecutor(get_num_threads()) as pool:
            filtered = pool.map(filter_block, blocks)
            for start, (block_W, block_y) in zip(starts, filtered, strict=True):
                rows = slice(start // step, start // step + len(block_y))
                for sums, block in zip(W, block_W, strict=True):
                    sums[rows] += block
                y[rows] += block_y
        complete = slice(before, before + max(0, (len(record.t) - len(h)) // step + 1))
        parts.append(([each[complete] for each in W], y[complete]))
    all_W = tuple(np.concatenate(W) for W in zip(*(W for W, _ in parts), strict=True))
    all_y = np.concatenate([y for _, y in parts])
    stretch = np.repeat(np.arange(len(parts)), [len(y) for _, y in parts])
    return LinearEquations(indices, all_W, all_y, stretch, len(base.names))


def _filter(H: np.ndarray, x: np.ndarray, step: int) -> np.ndarray:
    """Decimated rows (·, ...) that samples x (n, ...) contribute to, tile by tile of H."""
    width = H.shape[1]
    tiles = -(-len(x) // width)
    flat = x.reshape(len(x), -1)
    if tiles * width > len(x):
        flat = np.concatenate([flat, np.zeros((tiles * width - len(x), flat.shape[1]))])
    parts = H @ flat.reshape(tiles, width, -1)
    per_tile = width // step
    sums = np.zeros((tiles * per_tile + len(H) - per_tile, flat.shape[1]))
    for k, part in enumerate(parts):
        sums[k * per_tile : k * per_tile + len(H)] += part
    return sums.reshape(-1, *x.shape[1:])


def triangle(W: np.ndarray, y: np.ndarray, block: int = 1024) -> np.ndarray:
    """R (k + 1, k + 1) with RᵀR = [W y]ᵀ[W y], by QR of each block below the previous R."""
    rows = np.concatenate([W, y[:, None]], axis=1)
    R = np.zeros((0, rows.shape[1]))
    for start in range(0, len(rows), block):
        R = np.asarray(np.linalg.qr(np.vstack([R, rows[start : start + block]]), mode="r"))
    missing = rows.shape[1] - len(R)
    return np.concatenate([R, np.zeros((missing, rows.shape[1]))])


@dataclass(frozen=True, eq=False)
class Estimate(Frozen):
    """β with its covariance, and the whitened problem |A β − b|² that it solves."""

    beta: np.ndarray  # (base,)
    covariance: np.ndarray  # (base, base)
    noise: np.ndarray  # (equations,) deviation of a decimated row's residual
    A: np.ndarray  # (base, base) upper triangle, noise of unit variance
    b: np.ndarray  # (base,)
    unobserved: np.ndarray  # (base, k) orthonormal directions of β, scaled by torque
    condition: float  # of A with columns of unit length, in the observed directions
    count: int  # rows


def estimate(
    equations: LinearEquations, prior: np.ndarray, min_noise: np.ndarray | float = 0.0
) -> Estimate:
    """The weighted fit; `prior` (base,) stays where the log shows nothing.

    No equation's noise is below `min_noise` (equations,): a torque that is rounded to nothing is met
    exactly, and would outweigh all others.
    """
    triangles = [triangle(W, y) for W, y in zip(equations.W, equations.y.T, strict=True)]
    # deviation of the residuals of each equation when fitted by itself
    count, separate = len(equations.y), []
    for R in triangles:
        rank = np.linalg.matrix_rank(R[:-1, :-1]) if len(R) > 1 else 0
        separate.append(abs(R[-1, -1]) / np.sqrt(max(1, count - rank)))
    least = 1e-12 * max([abs(R[:, -1]).max() for R in triangles], default=1.0)
    noise = np.maximum(np.maximum(separate, max(least, 1e-300)), min_noise)
    for _ in range(REWEIGHTINGS):
        A, b = _whiten(triangles, equations, noise)
        beta, inverse, *_ = _solve(A, b, prior)
        # deviations of the whitened residuals, corrected for degrees of freedom: an equation
        # accounts for Σ_i a_i cov a_iᵀ of the parameters, a_i its whitened rows
        deviations = []
        for R, indices, sigma in zip(triangles, equations.indices, noise, strict=True):
            W, y = R[:, :-1] / sigma, R[:, -1] / sigma
            misfit = np.sum((y - W @ beta[indices]) ** 2)
            used = np.sum((W @ inverse[np.ix_(indices, indices)]) * W)
            deviations.append(np.sqrt(misfit / max(1.0, count - used)))
        noise = np.maximum(noise * np.maximum(deviations, 1e-12), min_noise)
    A, b = _whiten(triangles, equations, noise)
    beta, inverse, unknown, unobserved, condition = _solve(A, b, prior)
    covariance = _sandwich(equations, noise, beta, inverse) + unknown
    return Estimate(beta, covariance, noise, A, b, unobserved, condition, equations.y.size)


def _whiten(
    triangles: Sequence[np.ndarray], equations: LinearEquations, noise: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(A (size, size) upper triangle, b (size,)): rows of all equations divided by their noise."""
    size, stacked = equations.size, []
    for R, indices, sigma in zip(triangles, equations.indices, noise, strict=True):
        wide = np.zeros((len(R), size + 1))
        wide[:, indices], wide[:, size] = R[:, :-1], R[:, -1]
        stacked.append(wide / sigma)
    R = np.asarray(np.linalg.qr(np.vstack([*stacked, np.zeros((size + 1, size + 1))]), mode="r"))
    return R[:size, :size], R[:size, size]


def _solve(
    A: np.ndarray, b: np.ndarray, prior: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
    """min |A β − b| in the observed directions, the prior in the others.

    Returns β, (AᵀA)⁻¹ in the observed directions, the covariance in the others, a torque's worth,
    these other directions (base, k), and the condition number.

    Columns are scaled so that one unit of each parameter is worth the whole torque; a direction whose
    unit changes the torques by less than the noise is not observed.
    """
    size = np.linalg.norm(A, axis=0)
    used = size > NEGLIGIBLE * size.max(initial=0.0)
    scale = np.linalg.norm(b) / size[used]
    U, s, Vt = np.linalg.svd(A[:, used] * scale, full_matrices=False)
    observed = s > max(OBSERVABLE, NEGLIGIBLE * s.max(initial=0.0))
    rhs = U.T @ (b - A @ prior)
    beta = np.array(prior, dtype=float)
    beta[used] += scale * (Vt[observed].T @ (rhs[observed] / s[observed]))
    root, other = scale[:, None] * (Vt[observed].T / s[observed]), scale[:, None] * Vt[~observed].T
    inverse, unknown = np.zeros((2, len(b), len(b)))
    inverse[np.ix_(used, used)], unknown[np.ix_(used, used)] = root @ root.T, other @ other.T
    unknown[~used, ~used] = np.inf
    unobserved = np.zeros((len(b), np.count_nonzero(~observed)))
    unobserved[used] = Vt[~observed].T
    unobserved = np.concatenate([unobserved, np.eye(len(b))[:, ~used]], axis=1)
    condition = float(s[observed].max() / s[observed].min()) if observed.any() else np.inf
    return beta, inverse, unknown, unobserved, condition


def _sandwich(
    equations: LinearEquations, noise: np.ndarray, beta: np.ndarray, inverse: np.ndarray
) -> np.ndarray:
    """Covariance (base, base): (AᵀA)⁻¹, widened where residuals are correlated in time."""
    residuals = equations.residuals(beta) / noise
    scores = np.zeros((len(residuals), equations.size))
    for j, (W, indices) in enumerate(zip(equations.W, equations.indices, strict=True)):
        scores[:, indices] += W * (residuals[:, j] / noise[j])[:, None]
    # correlations summed to the first that is insignificant, 1 + 2 Σ ρ_l: rows per independent one
    count = len(residuals)
    most = max(1, min(count // 10, MAX_LAGS))
    transform = np.fft.rfft(residuals - residuals.mean(axis=0), 2 * count, axis=0)
    covariance = np.fft.irfft(abs(transform) ** 2, axis=0)[:most]
    correlation = covariance / np.maximum(covariance[0], 1e-300)
    insignificant = np.logical_or.accumulate(correlation < 2.0 / np.sqrt(count), axis=0)
    length = 1.0 + 2.0 * np.sum(np.where(insignificant, 0.0, correlation)[1:], axis=0)
    lags = 2 * max(1, int(np.sum(~insignificant, axis=0).max()))
    stretches = np.unique(equations.stretch)
    middle = sum(_long_run_covariance(scores[equations.stretch == k], lags) for k in stretches)
    wide = inverse @ middle @ inverse
    # correlated residuals are fewer than they seem, and the fit has used some of them
    parameters = float(np.count_nonzero(np.diag(inverse)))
    least = max(MIN_SAMPLES * parameters, 1.0)
    freedom = [1.0 - parameters / max(n, least) for n in (residuals.size, (count / length).sum())]
    plain, robust = np.diag(inverse), freedom[0] / freedom[1] * np.diag(wide)
    growth = np.sqrt(np.maximum(plain, robust) / np.where(plain > 0.0, plain, 1.0))
    return np.asarray(growth[:, None] * inverse * growth)


def _long_run_covariance(scores: np.ndarray, lags: int) -> np.ndarray:
    """Σ_l w_l Σ_t s_t s_{t+l}ᵀ of scores s (n, k), w_l = 1 − |l|/(L + 1).

    It is taken of v in s_t = a s_{t−1} + v_t, column by column, and divided by 1 − a on both sides
    (Andrews and Monahan 1992): squares of v's sums over every L + 1 rows, by L + 1.
    """
    power = np.sum(scores[:-1] ** 2, axis=0)
    a = np.sum(scores[1:] * scores[:-1], axis=0) / np.maximum(power, 1e-300)
    a = np.clip(a, 0.0, MAX_CORRELATION)
    v = scores.copy()
    v[1:] -= a * scores[:-1]
    zero = np.zeros((lags + 1, scores.shape[1]))
    total = np.cumsum(np.concatenate([zero, v, zero[1:]]), axis=0)
    sums = (total[lags + 1 :] - total[: -lags - 1]) / (1.0 - a)
    return np.asarray(sums.T @ sums / (lags + 1))
