"""What was measured, made ready for a fit: even times, positions, rates and torques."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.model.frozen import Frozen


@dataclass(frozen=True, eq=False)
class Record(Frozen):
    """One uninterrupted stretch of motion at an even rate; several make a log.

    `resolution` is the step of the encoder (0 where it cannot be seen) and `rate_noise` the standard
    deviation that it, and noise, leave in q̇; `said` lists what was done to the data, in order.
    """

    t: np.ndarray  # (n,) s, even
    q: np.ndarray  # (n, nq)
    qd: np.ndarray  # (n, nv)
    qdd: np.ndarray  # (n, nv)
    tau: np.ndarray  # (n, nv) as measured on the axis of the joint, N m or N
    resolution: np.ndarray  # (nv,)
    rate_noise: np.ndarray  # (nv,) of q̇
    said: tuple[str, ...] = ()
    cutoff: float = np.inf  # Hz of the filter q went through; what is faster is not to be trusted
    raw: np.ndarray | None = None  # (n, nq) q before the filter, where there was one
    rounding: np.ndarray | None = None  # (nv,) deviation of what tau is rounded by, where it is

    @property
    def rate(self) -> float:
        """Samples per second."""
        return float((len(self.t) - 1) / (self.t[-1] - self.t[0]))

    def sharing(self, **arrays: np.ndarray | None) -> Record:
        """The same with other arrays that are not copied: views of a record's own, or nobody else's."""
        made = object.__new__(type(self))
        for array in arrays.values():
            if array is not None:
                array.setflags(write=False)
        made.__dict__.update(self.__dict__ | arrays)
        return made
