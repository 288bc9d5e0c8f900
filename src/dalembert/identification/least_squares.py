"""Weighted least squares of the thinned equations, with deviations that hold for coloured leftovers.

Each equation has a noise of its own. It is first taken from a fit of the equation alone, then from
what the common fit leaves (two-step weighted least squares, Gautier 1997), in which

    |A β − b|² = Σ_j |W_j β − y_j|² / σ_j²,    cov β = (AᵀA)⁻¹

where leftovers are independent. Where they are not, the sandwich of Newey and West (1987) is larger,
and is taken. Directions of β that the log does not show keep the prior's value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.identification.accumulate import Rows, triangle
from dalembert.model.frozen import Frozen

STEPS = 4  # of weights: they settle in two or three
FAINT = 1e-10  # of the largest: a column of rounding only
MEMORY = 200  # rows: the longest correlation that is looked for
STRONGEST = 0.97  # of a score's memory from one row to the next
MOST = 1.25  # independent leftovers per parameter, at least, that are reckoned with
SEEN = 1.0  # deviations by which a whole torque's worth of a direction must show


@dataclass(frozen=True, eq=False)
class Estimate(Frozen):
    """β with its covariance, and the whitened problem |A β − b|² that it solves."""

    beta: np.ndarray  # (base,)
    covariance: np.ndarray  # (base, base)
    noise: np.ndarray  # (equations,) deviation of a thinned row's leftover
    A: np.ndarray  # (base, base) upper triangle, noise of unit variance
    b: np.ndarray  # (base,)
    blind: np.ndarray  # (base, unseen) orthonormal directions not seen, of β by its worth in torque
    condition: float  # of A with columns of unit length, in the directions that are seen
    count: int  # rows


def estimate(rows: Rows, prior: np.ndarray, least: np.ndarray | float = 0.0) -> Estimate:
    """The weighted fit; `prior` (base,) is kept where the log shows nothing.

    No equation's noise is below `least` (equations,): a torque that is rounded to nothing is met
    exactly, and would outweigh all others.
    """
    triangles = [triangle(W, y) for W, y in zip(rows.W, rows.y.T, strict=True)]
    noise = np.maximum(_alone(triangles, len(rows.y)), least)
    for _ in range(STEPS):
        A, b = whitened(triangles, rows.places, noise, rows.size)
        found = _solution(A, b, prior)
        noise = noise * _spread(triangles, rows, noise, found.beta, found.inverse)
        noise = np.maximum(noise, least)
    A, b = whitened(triangles, rows.places, noise, rows.size)
    found = _solution(A, b, prior)
    covariance = _sandwich(rows, noise, found.beta, found.inverse)
    return Estimate(
        found.beta,
        covariance + found.unknown,
        noise,
        A,
        b,
        found.blind,
        found.condition,
        rows.y.size,
    )


def whitened(
    triangles: Sequence[np.ndarray], places: Sequence[np.ndarray], noise: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """(A (size, size) upper triangle, b (size,)): the rows of all equations by their noise."""
    stacked = []
    for R, where, sigma in zip(triangles, places, noise, strict=True):
        wide = np.zeros((len(R), size + 1))
        wide[:, where], wide[:, size] = R[:, :-1], R[:, -1]
        stacked.append(wide / sigma)
    R = np.asarray(np.linalg.qr(np.vstack([*stacked, np.zeros((size + 1, size + 1))]), mode="r"))
    return R[:size, :size], R[:size, size]


@dataclass(frozen=True, eq=False)
class _Solution:
    beta: np.ndarray
    inverse: np.ndarray  # (AᵀA)⁻¹ on what is seen
    unknown: np.ndarray  # covariance of what is not: a torque's worth
    blind: np.ndarray
    condition: float


def _solution(A: np.ndarray, b: np.ndarray, prior: np.ndarray) -> _Solution:
    """min |A β − b| on the directions seen, the prior on the others.

    Columns are scaled so that one unit of each parameter is worth the whole torque; a direction whose
    unit changes the torques by less than the noise is not seen.
    """
    size = np.linalg.norm(A, axis=0)
    there = size > FAINT * size.max(initial=0.0)
    scale = np.linalg.norm(b) / size[there]
    U, s, Vt = np.linalg.svd(A[:, there] * scale, full_matrices=False)
    seen = s > max(SEEN, FAINT * s.max(initial=0.0))
    wanted = U.T @ (b - A @ prior)
    beta = np.array(prior, dtype=float)
    beta[there] += scale * (Vt[seen].T @ (wanted[seen] / s[seen]))
    half, dark = scale[:, None] * (Vt[seen].T / s[seen]), scale[:, None] * Vt[~seen].T
    inverse, unknown = np.zeros((2, len(b), len(b)))
    inverse[np.ix_(there, there)], unknown[np.ix_(there, there)] = half @ half.T, dark @ dark.T
    unknown[~there, ~there] = np.inf
    blind = np.zeros((len(b), np.count_nonzero(~seen)))
    blind[there] = Vt[~seen].T
    blind = np.concatenate([blind, np.eye(len(b))[:, ~there]], axis=1)
    condition = float(s[seen].max() / s[seen].min()) if seen.any() else np.inf
    return _Solution(beta, inverse, unknown, blind, condition)


def _alone(triangles: Sequence[np.ndarray], count: int) -> np.ndarray:
    """(equations,) deviation that each equation leaves when fitted by itself."""
    found = []
    for R in triangles:
        rank = np.linalg.matrix_rank(R[:-1, :-1]) if len(R) > 1 else 0
        found.append(abs(R[-1, -1]) / np.sqrt(max(1, count - rank)))
    least = 1e-12 * max([abs(R[:, -1]).max() for R in triangles], default=1.0)
    return np.maximum(found, max(least, 1e-300))


def _spread(
    triangles: Sequence[np.ndarray],
    rows: Rows,
    noise: np.ndarray,
    beta: np.ndarray,
    inverse: np.ndarray,
) -> np.ndarray:
    """(equations,) deviation of the whitened leftovers, each less the freedoms it pays for.

    An equation pays for Σ_i a_i cov a_iᵀ of the parameters, a_i its whitened rows.
    """
    found = []
    for R, where, sigma in zip(triangles, rows.places, noise, strict=True):
        W, y = R[:, :-1] / sigma, R[:, -1] / sigma
        misfit = np.sum((y - W @ beta[where]) ** 2)
        paid = np.sum((W @ inverse[np.ix_(where, where)]) * W)
        found.append(np.sqrt(misfit / max(1.0, len(rows.y) - paid)))
    return np.maximum(found, 1e-12)


def _sandwich(rows: Rows, noise: np.ndarray, beta: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """Covariance (base, base): (AᵀA)⁻¹, widened where leftovers go together in time."""
    left = rows.residuals(beta) / noise
    scores = np.zeros((len(left), rows.size))
    for j, (W, where) in enumerate(zip(rows.W, rows.places, strict=True)):
        scores[:, where] += W * (left[:, j] / noise[j])[:, None]
    lags, memory = _memory(left)
    middle = sum(_together(scores[rows.stretch == k], lags) for k in np.unique(rows.stretch))
    wide = inverse @ middle @ inverse
    # leftovers that go together are fewer than they seem, and the fit has taken its share of them
    own, taken = len(left) / memory, float(np.count_nonzero(np.diag(inverse)))
    widen = _share(left.size, taken) / _share(own.sum(), taken)
    plain, robust = np.diag(inverse), widen * np.diag(wide)
    grow = np.sqrt(np.maximum(plain, robust) / np.where(plain > 0.0, plain, 1.0))
    return grow[:, None] * inverse * grow


def _share(count: float, taken: float) -> float:
    """Of `count` independent leftovers, what is left after a fit has taken some."""
    return float(1.0 - taken / max(count, MOST * taken, 1.0))


def _together(scores: np.ndarray, lags: int) -> np.ndarray:
    """Long-run sum Σ_l w_l Σ_t s_t s_{t+l}ᵀ of scores s (n, k), w_l = 1 − |l|/(L + 1).

    It is taken of v in s_t = a s_{t−1} + v_t, column by column, and divided by 1 − a on both sides
    (Andrews and Monahan 1992): squares of v's sums over every L + 1 rows, by L + 1.
    """
    power = np.sum(scores[:-1] ** 2, axis=0)
    slope = np.sum(scores[1:] * scores[:-1], axis=0) / np.maximum(power, 1e-300)
    slope = np.clip(slope, 0.0, STRONGEST)
    fresh = scores.copy()
    fresh[1:] -= slope * scores[:-1]
    none = np.zeros((lags + 1, scores.shape[1]))
    total = np.cumsum(np.concatenate([none, fresh, none[1:]]), axis=0)
    sums = (total[lags + 1 :] - total[: -lags - 1]) / (1.0 - slope)
    return np.asarray(sums.T @ sums / (lags + 1))


def _memory(left: np.ndarray) -> tuple[int, np.ndarray]:
    """(lags after which no leftover remembers anything, rows per independent one (equations,)).

    Correlations are summed to the first that is chance: 1 + 2 Σ ρ_l.
    """
    count = len(left)
    most = max(1, min(count // 10, MEMORY))
    spectrum = np.fft.rfft(left - left.mean(axis=0), 2 * count, axis=0)
    found = np.fft.irfft(abs(spectrum) ** 2, axis=0)[:most]
    correlation = found / np.maximum(found[0], 1e-300)
    chance = np.logical_or.accumulate(correlation < 2.0 / np.sqrt(count), axis=0)
    together = 1.0 + 2.0 * np.sum(np.where(chance, 0.0, correlation)[1:], axis=0)
    lags = int(np.sum(~chance, axis=0).max())
    return 2 * max(1, lags), together
