"""Closed chains from the joints that a file has: the others are where the loops hold them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, TrajectoryError
from dalembert.progress import on_terminal, progress_bar
from dalembert.simulation.log_table import FIRST
from dalembert.systems.system import System

CLOSED = 1e-10  # of h, m and rad, at which a posture counts as closed
RECORDED = 1e-2  # of h that a recorded posture may be off
TRIES = 30


def closed(system: Any, given: Mapping[int, np.ndarray], t: np.ndarray) -> np.ndarray:
    """q (rows, nq) with the given columns, the others by Newton's method from row to row.

    Row by row, so that the mechanism stays on the branch it is on; the first row starts at its
    reference posture.
    """
    names = system.dynamics.coordinates
    own = sorted(given)
    rest = [k for k in range(system.nq) if k not in given]
    columns = np.column_stack([given[k] for k in own])
    q = system.neutral()
    q[own] = columns[0]
    found = np.empty((len(t), system.nq))
    with progress_bar("closing the chain", on_terminal()) as report:
        for row, now in enumerate(t):
            q[own] = columns[row]
            try:
                if row == 0:
                    q = system.assemble(q, fixed=[names[k] for k in own], t=float(now))
                q = _newton(system, q, rest, now)
            except (DalembertError, np.linalg.LinAlgError):
                raise TrajectoryError(
                    f"line {row + FIRST}: no posture of {system.name} near the last one closes its "
                    f"loops with {', '.join(repr(names[k]) for k in own)} there"
                ) from None
            found[row] = q
            if row % 500 == 0:
                report(row / len(t))
    return found


def _newton(system: Any, q: np.ndarray, rest: list[int], t: float) -> np.ndarray:
    """q with h(q, t) = 0, moving the `rest` of its coordinates only."""
    q = q.copy()
    for _ in range(TRIES):
        h = system.residual(q, t)
        if np.abs(h).max(initial=0.0) <= CLOSED:
            return q
        A = system.jacobian(q, t)[: len(h)]
        q[rest] -= np.linalg.lstsq(A[:, rest], h, rcond=1e-10)[0]
    raise TrajectoryError("not closed")


def require_closed(system: Any, q: np.ndarray, t: np.ndarray) -> None:
    """An error at the first recorded posture that tears the loops apart."""
    h = np.abs(system.residual(q, t))
    off = h.max(axis=-1, initial=0.0)
    if (off > RECORDED).any():
        row = int(np.argmax(off > RECORDED))
        raise TrajectoryError(
            f"line {row + FIRST}: this posture misses the constraints of {system.name} by "
            f"{off[row]:.2g}; leave the columns of passive joints out and they are computed"
        )


def is_closed(system: System) -> bool:
    """Whether constraints on positions hold the system."""
    return bool(system.dynamics.rows) and hasattr(system, "residual")
