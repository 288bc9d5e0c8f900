"""Which base parameters a log does not show, and why."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.identification.base import Base
from dalembert.identification.columns import Columns
from dalembert.identification.least_squares import Estimate
from dalembert.identification.logs import still_joints
from dalembert.identification.record import Record

SHARE = 1e-3  # of a parameter in directions that are not seen
PARTNERS = 3  # names that are said of what goes together


def unseen(
    base: Base, found: Estimate, columns: Columns, records: Sequence[Record]
) -> tuple[tuple[str, str], ...]:
    """(base parameter, why) for each with a share in a direction the log does not show."""
    if not found.blind.size:
        return ()
    share = np.sum(found.blind**2, axis=1)
    still = still_joints(columns.system, records)
    hidden = np.flatnonzero(share > SHARE).tolist()
    return tuple((base.names[k], _why(k, base, found.blind, still)) for k in hidden)


def _why(k: int, base: Base, blind: np.ndarray, still: Sequence[str]) -> str:
    joints = [name for name in still if name in base.explained[k]]
    never = f"{' and '.join(joints or still)} never moves" if still else ""
    together = np.abs(blind @ blind[k])
    together[k] = 0.0
    others = [base.names[i] for i in np.argsort(-together)[:PARTNERS] if together[i] > SHARE]
    if not others:
        return never or "nothing in this log depends on it"
    reason = f"only appears together with {', '.join(others)}"
    return f"{reason}; {never}" if never else reason
