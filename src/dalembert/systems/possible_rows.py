"""Batches of parameters, looked at before they are used: all rows at once."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from dalembert.errors import ModelError
from dalembert.kernels import Program
from dalembert.model.possible import doubtful, in_row, looked_at, require_possible

CHUNK, TOLD = 8192, 16  # rows at once; doubtful ones that are looked at alone


def require_possible_rows(model: Any, values: np.ndarray) -> None:
    """An error that names the row of `values` (..., n_parameters) of which no robot can be made."""
    rows = values.reshape(-1, values.shape[-1])
    for start in range(0, len(rows), CHUNK):
        numbers = _numbers(model, np.asarray(rows[start : start + CHUNK], dtype=float))
        for k in (start + np.flatnonzero(doubtful(*numbers))[:TOLD]).tolist():
            try:
                require_possible(model, np.asarray(rows[k], dtype=float))
            except ModelError as error:
                place = [int(i) for i in np.unravel_index(k, values.shape[:-1])]
                raise type(error)(f"{error}{in_row(place)}") from None


def _numbers(model: Any, rows: np.ndarray) -> Any:
    from dalembert.tracing.interpret import interpret

    with np.errstate(all="ignore"):
        found = interpret(_program(model), rows)
    return [np.broadcast_to(x, (len(rows), *x.shape[1:])) for x in found]


@lru_cache(maxsize=16)
def _program(model: Any) -> Program:
    """The numbers of a model that decide it, as functions of the parameters."""
    from dalembert.kernels.program.trace import trace

    inputs = {"parameters": (len(model.parameters),)}
    return trace(lambda parameters: looked_at(model, parameters), inputs, name="possible")
