"""Measured motion ready for a fit: even times, positions, their derivatives and torques."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.model.frozen import Frozen


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


def first_samples(records: Sequence[Record], count: int) -> tuple[Record, ...]:
    """The first records, up to `count` samples in all."""
    result: list[Record] = []
    for record in records:
        if count > 0:
            result.append(record if len(record.t) <= count else record.part(slice(0, count)))
            count -= len(record.t)
    return tuple(result)
