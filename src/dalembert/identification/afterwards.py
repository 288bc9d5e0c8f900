"""What speaks against a fit once it is made: data it has not seen tells another story."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dalembert.identification.findings import Finding
from dalembert.identification.misfit import looked_at, white_noise
from dalembert.identification.record import Record

LARGER = 3.0  # times the error on fitted data
MEANS = 5.0  # times the noise from which a torque means something
SHARE = 0.15  # of the torque's deviation: smaller errors are no matter


def afterwards(
    columns: Any, fitted: Sequence[Record], held: Sequence[Record], x: np.ndarray
) -> tuple[Finding, ...]:
    """Joints whose held-out torques are predicted far worse, or worse than by the prior."""
    if not held or min(len(record.t) for record in held) < 50:
        return ()
    seen, unseen = looked_at(fitted), looked_at(held)
    inside, outside, prior = (
        _left(columns, *pair) for pair in ((seen, x), (unseen, x), (unseen, columns.values))
    )
    size = np.maximum(columns.measured(seen).std(axis=0), columns.measured(unseen).std(axis=0))
    noise = white_noise(held)
    if len(noise) == len(size):
        size = np.where(size > MEANS * noise, size, np.inf)  # nobody drives a free joint
    return tuple(_of_joints(columns.rows, inside, outside, prior, size))


def _of_joints(
    rows: Sequence[str],
    inside: np.ndarray,
    outside: np.ndarray,
    prior: np.ndarray,
    size: np.ndarray,
) -> Iterator[Finding]:
    for k, row in enumerate(rows):
        if outside[k] < SHARE * size[k]:
            continue
        says = f"the torque of {row!r} is predicted to {outside[k]:.3g} on data held out"
        if outside[k] > prior[k]:
            says += f", worse than by the prior ({prior[k]:.3g}): the log shows too little of it"
            yield Finding(says, joint=row)
        elif outside[k] > LARGER * inside[k]:
            says += f", {outside[k] / inside[k]:.1f} times worse than on data that was fitted"
            yield Finding(f"{says}: more motion, or a drift", joint=row)


def _left(columns: Any, record: Record, x: np.ndarray) -> np.ndarray:
    """(rows,) root mean square of what x leaves of smoothed torques."""
    left = columns.measured(record) - columns.evaluate(record) @ x
    return np.asarray(np.sqrt((left**2).mean(axis=0)))
