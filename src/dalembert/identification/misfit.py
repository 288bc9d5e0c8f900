"""How much of the torques some numbers can explain: a small fit, made again for every doubt.

Of a few hundred samples only the moments Wᵀ W, Wᵀ y, yᵀ y are kept, per equation. All equations share
one x; its weights are found from what it leaves, so that one joint that contradicts the others stands
alone with its misfit. Each equation is also fitted on its own, which it is easily even where all is
wrong: only what both say together means something.

`delay_of` says how far torques lag behind motion: by the shift at which one set of numbers explains
them best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.identification.record import Record

SAMPLES = 400  # of a log that are looked at
LONGEST, TURN = 0.08, 0.4  # s and rad of a mean: motions of one radian per second are still there
OUTLIER = 7.0  # times the median deviation from the median
UNSEEN = 1e-10  # in WᵀW of columns of unit length: less shows nothing
ROUNDS = 4  # of weights
LEAST = 0.01  # of the torque: a smaller misfit gives no more weight
LATEST = 0.15  # s that are tried, forward and backward
TRIED = 30  # shifts each way


@dataclass(frozen=True, eq=False)
class Moments:
    """WᵀW (rows, p, p), Wᵀy (rows, p) and yᵀy (rows,), of n samples."""

    gram: np.ndarray
    cross: np.ndarray
    power: np.ndarray
    spread: np.ndarray  # (rows,) standard deviation of the torques, known ones with them
    noise: np.ndarray  # (rows,) standard deviation of what no motion makes, in y
    count: int

    @cached_property
    def shared(self) -> np.ndarray:
        """x (p,) of all equations together, each weighted by what x leaves of it."""
        seen = self.spread > 0.0
        scale = np.where(seen, self.spread, 1.0)
        weight = np.where(seen, 1.0 / scale, 0.0)
        for _ in range(ROUNDS):
            x = _solved(
                np.einsum("j,jkl->kl", weight**2, self.gram),
                np.einsum("j,jk->k", weight**2, self.cross),
            )
            left = np.maximum(self.left(x), LEAST * scale)
            weight = np.where(seen, 1.0 / left, 0.0)
        return x

    def left(self, x: np.ndarray) -> np.ndarray:
        """(rows,) root mean square of y − W x."""
        squares = self.power - 2.0 * self.cross @ x + np.einsum("k,jkl,l->j", x, self.gram, x)
        return np.sqrt(np.maximum(squares, 0.0) / self.count)

    @cached_property
    def unexplained(self) -> np.ndarray:
        """(rows,) share of the torques' deviation that one x for all leaves, noise apart."""
        return self._share(self.left(self.shared))

    @cached_property
    def alone(self) -> np.ndarray:
        """(rows,) the same where every equation may have an x of its own."""
        own = [_solved(g, c) for g, c in zip(self.gram, self.cross, strict=True)]
        return self._share(np.array([self.left(x)[j] for j, x in enumerate(own)]))

    def _share(self, left: np.ndarray) -> np.ndarray:
        beyond = np.sqrt(np.maximum(left**2 - self.noise**2, 0.0))
        known = np.sqrt(np.maximum(self.spread**2 - self.noise**2, 0.0))
        return np.divide(beyond, known, out=np.zeros_like(beyond), where=known > 0.5 * self.noise)


@dataclass(frozen=True, eq=False)
class Equations:
    """W x = y of some samples."""

    W: np.ndarray  # (n, rows, free)
    y: np.ndarray  # (n, rows): torques less what is known already
    spread: np.ndarray  # (rows,) standard deviation of the torques


def equations(columns: Any, record: Record) -> Equations:
    """The equations of a record, in what is free of its columns."""
    W, y = columns.evaluate(record), columns.measured(record)
    known = W[:, :, ~columns.free] @ columns.values[~columns.free]
    return Equations(W[:, :, columns.free], y - known, y.std(axis=0))


def moments(made: Equations, noise: np.ndarray, gram: np.ndarray | None = None) -> Moments:
    """Of columns and torques; `noise` (rows,), and WᵀW where it is known."""
    by_row, y = made.W.transpose(1, 0, 2), made.y  # (rows, n, p)
    if gram is None:
        by_row = np.ascontiguousarray(by_row)
        gram = np.stack([block.T @ block for block in by_row])
    cross = np.stack([block.T @ y[:, j] for j, block in enumerate(by_row)])
    return Moments(gram, cross, (y**2).sum(axis=0), made.spread, noise, len(y))


def _solved(gram: np.ndarray, cross: np.ndarray) -> np.ndarray:
    """x with gram x = cross; directions that nothing shows stay near zero."""
    length = np.sqrt(np.diag(gram))
    scale = np.where(length > 0.0, length, 1.0)
    unit = gram / np.outer(scale, scale) + UNSEEN * np.eye(len(gram))
    return np.asarray(np.linalg.solve(unit, cross / scale) / scale)


def looked_at(records: Sequence[Record], margin: int = 0) -> Record:
    """A few samples, spread evenly over all records.

    Each is a mean over a short bell, so that ripples, jerks at reversals and noise do not count. None
    is nearer than `margin` samples to the ends of a record.
    """
    names = ("t", "q", "qd", "qdd", "tau")
    joined: Any = {name: _means(records, name, 0, margin) for name in names}
    return replace(records[0], **joined)


def _means(records: Sequence[Record], name: str, shift: int, margin: int) -> np.ndarray:
    """Means of one quantity over a bell about the samples that are looked at."""
    bell = _bell(records)
    offsets = np.arange(len(bell)) - len(bell) // 2 + shift
    margin = max(margin, abs(shift)) + len(bell) // 2
    ends = [max(len(record.t) - 2 * margin, 0) for record in records]
    chosen = np.unique(np.linspace(0, sum(ends) - 1, min(SAMPLES, sum(ends))).round().astype(int))
    found = []
    for record, begin, end in zip(records, np.cumsum([0, *ends]), ends, strict=False):
        own = chosen[(chosen >= begin) & (chosen < begin + end)] - begin + margin
        near = getattr(record, name)[own[:, None] + offsets]
        if name == "tau" and near.shape[1] >= 5:  # those far off their neighbours are brought back
            middle = np.median(near, axis=1, keepdims=True)
            far = OUTLIER * np.median(np.abs(near - middle), axis=1, keepdims=True)
            near = np.clip(near, middle - far, middle + far)
        found.append(np.einsum("k,nk...->n...", bell, near))
    return np.concatenate(found)


def _bell(records: Sequence[Record]) -> np.ndarray:
    """Weights (odd,) of a mean over a time in which the motion hardly changes."""
    qd, qdd = (
        np.concatenate([np.abs(getattr(r, x)).ravel()[:: 1 + r.qd.size // 10_000] for r in records])
        for x in ("qd", "qdd")
    )
    pace = float(np.median(qdd)) / max(float(np.median(qd)), 1e-12)  # 1/s
    length = min(LONGEST, TURN / max(pace, 1e-12)) * records[0].rate
    half = int(min(length / 2.0, min(len(r.t) for r in records) / 10.0))
    bell = 1.0 + np.cos(np.pi * np.arange(-half, half + 1) / (half + 1.0))
    return np.asarray(bell / bell.sum())


def white_noise(records: Sequence[Record]) -> np.ndarray:
    """(nv,) standard deviation of noise in torques as `looked_at`, new in every sample of the log."""
    return np.maximum(_each(records) * np.linalg.norm(_bell(records)), rounding_left(records))


def rounding_left(records: Sequence[Record]) -> np.ndarray:
    """(nv,) deviation of the rounding of torques that no mean takes away; 0 where noise does.

    With less noise than that a torque stays at a level while it changes by less than a step.
    """
    coarse = [np.zeros(r.tau.shape[1]) if r.rounding is None else r.rounding for r in records]
    rounding = np.max(coarse, axis=0)
    return np.where(_each(records) < rounding, rounding, 0.0)


def _each(records: Sequence[Record]) -> np.ndarray:
    """(nv,) deviation of the noise of one sample.

    The median of |τ₊ − 2τ + τ₋| is that of noise alone: motions are smooth.
    """
    several = [np.abs(np.diff(r.tau, n=2, axis=0)) for r in records]
    middle = np.median(np.nan_to_num(np.concatenate(several)), axis=0)
    return np.asarray(middle / (0.6745 * np.sqrt(6.0)))


def delay_of(columns: Any, records: Sequence[Record], made: Moments) -> tuple[float, float, float]:
    """(delay of a log, s, misfit now, misfit without it); negative where torques lead.

    By the least misfit over shifts and a parabola through its neighbours.

    Weights are those of the fit without shift, so that one factorisation serves all shifts.
    """
    rate = records[0].rate
    step = max(1, round(LATEST * rate / TRIED))
    most = min(TRIED, min(len(r.t) for r in records) // (4 * step))
    shifts = step * np.arange(-most, most + 1)
    if most < 1:
        return 0.0, 1.0, 1.0
    least = _misfits(columns, records, made, shifts)
    k = int(np.argmin(least))
    if 0 < k < len(shifts) - 1 and step > 1:  # finer, between the neighbours
        shifts = np.arange(shifts[k - 1], shifts[k + 1] + 1, max(1, step // 8))
        least = _misfits(columns, records, made, shifts, margin=step * most)
        k = int(np.argmin(least))
    at = float(shifts[k])
    if 0 < k < len(shifts) - 1:
        before, here, after = least[k - 1 : k + 2]
        curved = before - 2.0 * here + after
        at += 0.5 * (before - after) / curved * (shifts[1] - shifts[0]) if curved > 0.0 else 0.0
    now = _misfits(columns, records, made, np.array([0]), margin=step * most)[0]
    return at / rate, float(now), float(least[k])


def _misfits(
    columns: Any, records: Sequence[Record], made: Moments, shifts: np.ndarray, margin: int = 0
) -> np.ndarray:
    """Σ_j w_j² |y_j − W_j x|² at its least over x, for torques taken `shifts` samples later."""
    margin = max(margin, int(np.abs(shifts).max()))
    here = looked_at(records, margin)
    W = columns.evaluate(here)
    known = W[:, :, ~columns.free] @ columns.values[~columns.free]
    weight = 1.0 / np.maximum(made.left(made.shared), LEAST * made.spread + 1e-300)
    A = (W[:, :, columns.free] * weight[:, None]).reshape(-1, int(columns.free.sum()))
    length = np.linalg.norm(A, axis=0)
    U, s, _ = np.linalg.svd(A / np.where(length > 0.0, length, 1.0), full_matrices=False)
    seen = U[:, s > UNSEEN**0.5 * s[0]]
    later = (here.sharing(tau=_means(records, "tau", int(shift), margin)) for shift in shifts)
    y = np.stack([((columns.measured(r) - known) * weight).ravel() for r in later])
    return np.asarray((y**2).sum(axis=1) - ((y @ seen) ** 2).sum(axis=1))
