"""One linear fit of records, and what it leaves of their torques."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.identification.accumulate import step_of, thinned
from dalembert.identification.base import Base
from dalembert.identification.columns import Columns
from dalembert.identification.least_squares import Estimate, estimate
from dalembert.identification.prediction import measured, predicted
from dalembert.identification.record import Record


def solve(columns: Columns, base: Base, records: Sequence[Record]) -> tuple[Estimate, np.ndarray]:
    """(the estimate of β, x (p,) with that β nearest to the columns' own values)."""
    prior = np.asarray(columns.values)
    found = estimate(thinned(columns, base, records, step_of(records)), base.matrix @ prior)
    return found, base.full(found.beta, prior)


def leftovers(columns: Columns, records: Sequence[Record], x: np.ndarray) -> list[np.ndarray]:
    """Measured less predicted torque (n, equations) of each record."""
    found = predicted(columns, records, [x])
    return [measured(columns, r) - each[0] for r, each in zip(records, found, strict=True)]


def plain(columns: Columns) -> bool:
    """Whether every equation is that of one joint's own torque."""
    model = columns.model
    return model.tree is model and not columns.system.dynamics.rows
