"""One linear fit of records, and what it leaves of their torques."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dalembert.identification.accumulate import Rows, step_of, thinned
from dalembert.identification.base import Base
from dalembert.identification.columns import Columns
from dalembert.identification.least_squares import Estimate, estimate
from dalembert.identification.misfit import rounding_left
from dalembert.identification.power import balances
from dalembert.identification.prediction import measured, predicted
from dalembert.identification.record import Record

# the equations that are fitted, by the name of the method
METHODS: Mapping[str, Callable[[Columns, Base, Sequence[Record]], Rows]] = {
    "inverse_dynamics": lambda columns, base, records: thinned(
        columns, base, records, step_of(records)
    ),
    "power": balances,
}


LOADED = 4  # rounds by which the load that friction grows with settles


class Solved(NamedTuple):
    """A linear fit: of what, and what was found."""

    columns: Columns
    records: tuple[Record, ...]
    estimate: Estimate
    x: np.ndarray  # (p,) with the β found, nearest to the columns' own values


def solve(
    columns: Columns, base: Base, records: Sequence[Record], method: str = "inverse_dynamics"
) -> Solved:
    """The weighted fit of the records' equations; load of joints by the fit itself, in a few rounds."""
    prior = np.asarray(columns.values)
    for _ in range(LOADED if "load" in columns.kinds else 1):
        rows = METHODS[method](columns, base, records)
        coarse = rounding_left(records) if method == "inverse_dynamics" and plain(columns) else 0.0
        found = estimate(rows, base.matrix @ prior, coarse)
        made = Solved(columns, tuple(records), found, base.full(found.beta, prior))
        columns = columns.with_load(made.x)
    return made


def leftovers(columns: Columns, records: Sequence[Record], x: np.ndarray) -> list[np.ndarray]:
    """Measured less predicted torque (n, equations) of each record."""
    found = predicted(columns, records, [x])
    return [measured(columns, r) - each[0] for r, each in zip(records, found, strict=True)]


def plain(columns: Columns) -> bool:
    """Whether every equation is that of one joint's own torque."""
    model = columns.model
    return model.tree is model and not columns.system.dynamics.rows
