"""Closed chains from the joints that a file has: the others are where the loops hold them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, TrajectoryError
from dalembert.linalg.geometry import close
from dalembert.progress import on_terminal, progress_bar
from dalembert.simulation.log_table import line
from dalembert.systems.system import System

CLOSED = 1e-9  # of h, m and rad, at which a posture counts as closed
RECORDED = 1e-2  # of h that a recorded posture may be off


def closed(
    system: Any,
    given: Mapping[int, np.ndarray],
    t: np.ndarray,
    row_in_words: Callable[[int], str] = line,
) -> np.ndarray:
    """q (rows, nq) with the given columns, the others by Newton's method from row to row.

    Row by row, so that the mechanism stays on the branch it is on; the first row starts at its
    reference posture.
    """
    made, own = system.dynamics, sorted(given)
    names = [made.coordinates[k] for k in own]
    free = [k for k, name in enumerate(made.velocities) if name not in names]
    columns = np.column_stack([given[k] for k in own])
    found, q = np.empty((len(t), system.nq)), system.neutral()
    with progress_bar("closing the chain", on_terminal()) as report:
        for row, now in enumerate(t):
            q[own] = columns[row]
            try:
                if row == 0:
                    q = system.assemble(q, fixed=names, t=float(now))
                q, left = _near(system, q, free, float(now))
            except DalembertError:
                left = np.inf
            if not left <= CLOSED:
                raise TrajectoryError(
                    f"{row_in_words(row)}: no posture of {system.name} near the last one closes its "
                    f"loops with {', '.join(map(repr, names))} there"
                )
            found[row] = q
            if row % 500 == 0:
                report(row / len(t))
    return found


def _near(system: Any, q: np.ndarray, free: list[int], t: float) -> tuple[np.ndarray, float]:
    """(q, largest |h|) closed along the velocities that are free, by compiled rows."""
    held = list(system.dynamics.positions)

    def rows(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return system.residual(at, t), system.jacobian(at, t)[held][:, free]

    def move(at: np.ndarray, step: np.ndarray) -> np.ndarray:
        whole = np.zeros(system.nv)
        whole[free] = step
        return np.asarray(system.integrate(at, whole))

    return close(q, rows, move)


def require_closed(
    system: Any, q: np.ndarray, t: np.ndarray, row_in_words: Callable[[int], str] = line
) -> None:
    """An error at the first recorded posture that tears the loops apart."""
    h = np.abs(system.residual(q, t))
    off = h.max(axis=-1, initial=0.0)
    if (off > RECORDED).any():
        row = int(np.argmax(off > RECORDED))
        raise TrajectoryError(
            f"{row_in_words(row)}: this posture misses the constraints of {system.name} by "
            f"{off[row]:.2g}; leave the columns of passive joints out and they are computed"
        )


def is_closed(system: System) -> bool:
    """Whether constraints on positions hold the system."""
    return bool(getattr(system.dynamics, "positions", ()))


def completes(system: System, given: Mapping[int, np.ndarray]) -> bool:
    """Whether the joints that are missing follow from those that are there, one number each."""
    made = system.dynamics
    return is_closed(system) and all(made.coordinates[k] in made.velocities for k in given)
