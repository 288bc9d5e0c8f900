"""How far torques lag behind motion: the shift at which one set of numbers explains them best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.identification.misfit import LEAST, UNSEEN, Moments, looked_at, torques_later
from dalembert.identification.record import Record

LONGEST = 0.15  # s that are tried, forward and backward
TRIED = 30  # shifts each way


class Delay(NamedTuple):
    """Seconds by which torques lag (negative: lead), and the weighted misfit now and without."""

    seconds: float
    now: float
    without: float


def delay_of(columns: Any, records: Sequence[Record], made: Moments) -> Delay:
    """The delay of a log, by the least misfit over shifts and a parabola through its neighbours.

    Weights are those of the fit without shift, so that one factorisation serves all shifts.
    """
    rate = records[0].rate
    step = max(1, round(LONGEST * rate / TRIED))
    most = min(TRIED, min(len(r.t) for r in records) // (4 * step))
    shifts = step * np.arange(-most, most + 1)
    if most < 1:
        return Delay(0.0, 1.0, 1.0)
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
    return Delay(at / rate, float(now), float(least[k]))


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
    later = (here.sharing(tau=torques_later(records, int(shift), margin)) for shift in shifts)
    y = np.stack([((columns.measured(r) - known) * weight).ravel() for r in later])
    return np.asarray((y**2).sum(axis=1) - ((y @ seen) ** 2).sum(axis=1))
