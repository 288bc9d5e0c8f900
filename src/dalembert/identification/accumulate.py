"""The equations of a log, filtered and thinned out block by block, and their triangles.

Columns and torques go through the same symmetric low-pass filter (parallel filtering, Gautier 1997),
so the equations hold as before, noise faster than the motion is gone, and what is left of it is
nearly white at the lower rate. A block of samples is turned into columns, filtered and dropped before
the next one: all columns of all samples are never in memory, only the rows that are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from dalembert.identification.base import Base
from dalembert.identification.columns import Columns
from dalembert.identification.record import Record
from dalembert.kernels import get_num_threads
from dalembert.model.frozen import Frozen

BLOCK = 1024  # samples whose columns are made at once: they stay in the cache
SPAN = 8  # the filter's length in steps of the thinned rows
ROLL_OFF = 0.5  # of the filter, as a share of its band
THROUGH = 10.0  # times the band of the motion: torques are products of it, and friction jumps


@dataclass(frozen=True, eq=False)
class Rows(Frozen):
    """What is left of the equations: for each of them the columns of base parameters that it holds."""

    places: tuple[np.ndarray, ...]  # of each equation: positions (k,) among the base parameters
    W: tuple[np.ndarray, ...]  # of each equation (m, k)
    y: np.ndarray  # (m, equations)
    stretch: np.ndarray  # (m,) number of the record a row is from
    size: int  # of base parameters
    thinning: int  # samples per row

    def residuals(self, beta: np.ndarray) -> np.ndarray:
        """y − W β (m, equations)."""
        found = [W @ beta[k] for W, k in zip(self.W, self.places, strict=True)]
        return self.y - np.stack(found, axis=1)


def step_of(records: Sequence[Record]) -> int:
    """Samples per row: as many as leave `THROUGH` times the band of the records' own filter."""
    found = [0.5 * record.rate / (THROUGH * record.cutoff) for record in records]
    return max(1, int(min(found)))


def low_pass(step: int) -> np.ndarray:
    """Taps (8 step,) of the root raised cosine filter, of unit length; 1 where nothing is thinned.

    Its shifts by whole steps are orthogonal, so white noise stays white in the rows that are left
    (Nyquist's criterion).
    """
    if step == 1:
        return np.ones(1)
    a, t = ROLL_OFF, (np.arange(SPAN * step) - 0.5 * (SPAN * step - 1)) / step
    t = np.where(abs(abs(4.0 * a * t) - 1.0) < 1e-9, t * (1.0 + 1e-7), t)  # 0/0, taken beside it
    t = np.where(t == 0.0, 1e-7, t)
    rise = np.sin(np.pi * t * (1.0 - a)) + 4.0 * a * t * np.cos(np.pi * t * (1.0 + a))
    h = rise / (np.pi * t * (1.0 - (4.0 * a * t) ** 2))
    return h / np.linalg.norm(h)


def thinned(columns: Columns, base: Base, records: Sequence[Record], step: int) -> Rows:
    """Filtered rows of the records, one for every `step` samples; each record keeps its own ends."""
    places = tuple(np.flatnonzero(row) for row in base.acts)
    W: list[list[np.ndarray]] = [[] for _ in places]
    y, stretch = [], []
    for number, record in enumerate(records):
        own, measured = _one(columns, base, record, step, places)
        for all_of, part in zip(W, own, strict=True):
            all_of.append(part)
        y.append(measured)
        stretch.append(np.full(len(measured), number))
    joined = tuple(np.concatenate(parts) for parts in W)
    return Rows(places, joined, np.concatenate(y), np.concatenate(stretch), len(base.names), step)


def _one(
    columns: Columns, base: Base, record: Record, step: int, places: Sequence[np.ndarray]
) -> tuple[list[np.ndarray], np.ndarray]:
    """(W of each equation (m, k), y (m, equations)) of one record."""
    h = low_pass(step)
    H = _band(h, step)
    width = H.shape[1]
    size = width * max(1, BLOCK // width)
    count = max(0, (len(record.t) - len(h)) // step + 1)
    starts = range(0, len(record.t), size)
    total = size // step * len(starts) + len(H)
    W, y = [np.zeros((total, len(k))) for k in places], np.zeros((total, len(places)))

    def part(start: int) -> tuple[list[np.ndarray], np.ndarray]:
        piece = cut(record, slice(start, start + size))
        made, right = columns.evaluate(piece), columns.measured(piece)
        right = right - made[..., ~columns.free] @ columns.values[~columns.free]
        flat, right = _filtered(H, made, step), _filtered(H, right, step)
        return [flat[:, j] @ base.back[:, k] for j, k in enumerate(places)], right

    # blocks go to threads: NumPy and our kernels let others run meanwhile
    with ThreadPoolExecutor(get_num_threads()) as pool:
        for start, (own, right) in zip(starts, pool.map(part, starts), strict=True):
            rows = slice(start // step, start // step + len(right))
            for all_of, added in zip(W, own, strict=True):
                all_of[rows] += added
            y[rows] += right
    kept = slice(len(H) - width // step, len(H) - width // step + count)
    return [each[kept] for each in W], y[kept]


def _band(h: np.ndarray, step: int) -> np.ndarray:
    """(rows, samples): the weights of some samples in the rows they reach into.

    Those that begin among the samples, after those that began before and still reach into them.
    """
    per = SPAN
    before = (len(h) - 1) // step
    H = np.zeros((before + per, per * step))
    for row in range(before + per):
        first = (row - before) * step  # where the row's window begins
        low, high = max(first, 0), min(first + len(h), per * step)
        H[row, low:high] = h[low - first : high - first]
    return H


def _filtered(H: np.ndarray, x: np.ndarray, step: int) -> np.ndarray:
    """Rows (·, ...) that samples x (n, ...) reach into, tile by tile of the band."""
    width = H.shape[1]
    tiles = -(-len(x) // width)
    flat = x.reshape(len(x), -1)
    if tiles * width > len(x):
        flat = np.concatenate([flat, np.zeros((tiles * width - len(x), flat.shape[1]))])
    parts = H @ flat.reshape(tiles, width, -1)
    per = width // step
    found = np.zeros((tiles * per + len(H) - per, flat.shape[1]))
    for k, each in enumerate(parts):
        found[k * per : k * per + len(H)] += each
    return found.reshape(-1, *x.shape[1:])


def cut(record: Record, part: slice) -> Record:
    """The samples of a record that are in `part`."""
    own = {name: getattr(record, name)[part] for name in ("t", "q", "qd", "qdd", "tau")}
    return record.sharing(**own, raw=None if record.raw is None else record.raw[part])


def triangle(W: np.ndarray, y: np.ndarray, block: int = 1024) -> np.ndarray:
    """R (k + 1, k + 1) with RᵀR = [W y]ᵀ[W y], by QR of blocks below what was found so far."""
    rows = np.concatenate([W, y[:, None]], axis=1)
    R = np.zeros((0, rows.shape[1]))
    for start in range(0, len(rows), block):
        R = np.asarray(np.linalg.qr(np.vstack([R, rows[start : start + block]]), mode="r"))
    missing = rows.shape[1] - len(R)
    return np.concatenate([R, np.zeros((missing, rows.shape[1]))])
