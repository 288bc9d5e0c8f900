"""Torques that models predict along records, block by block."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dalembert.identification.accumulate import BLOCK, cut
from dalembert.identification.columns import Columns
from dalembert.identification.record import Record
from dalembert.kernels import get_num_threads


def measured(columns: Columns, record: Record) -> np.ndarray:
    """Torques (n, equations) as measured, of a closed chain's independent velocities."""
    return columns.measured(record) + known(columns, record)


def known(columns: Columns, record: Record) -> np.ndarray:
    """Torques (n, equations) of springs, tendons and whatever else no column explains."""
    return -columns.measured(_at_rest(record))


def predicted(
    columns: Columns, records: Sequence[Record], models: Sequence[np.ndarray]
) -> list[list[np.ndarray]]:
    """For each record the torques (n, equations) of each model x (p,)."""
    X = np.stack(models, axis=1)

    def part(piece: Record) -> np.ndarray:
        return np.asarray(columns.evaluate(piece) @ X + known(columns, piece)[..., None])

    found = []
    with ThreadPoolExecutor(get_num_threads()) as pool:
        for record in records:
            pieces = (cut(record, slice(k, k + BLOCK)) for k in range(0, len(record.t), BLOCK))
            whole = np.concatenate(list(pool.map(part, pieces)))
            found.append([whole[..., k] for k in range(len(models))])
    return found


def _at_rest(record: Record) -> Record:
    return record.sharing(tau=np.zeros_like(record.tau))
