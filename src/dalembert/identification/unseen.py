"""Which base parameters a log does not show, and why."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.identification.base import Base
from dalembert.identification.columns import Columns
from dalembert.identification.least_squares import Estimate
from dalembert.identification.record import Record

SHARE = 1e-3  # of a parameter in directions that are not seen
PARTNERS = 3  # names that are said of what goes together
STILL = 5.0  # steps of the encoder, or deviations of noise: a joint that moves less stands still


def unseen(
    base: Base, found: Estimate, columns: Columns, records: Sequence[Record]
) -> tuple[tuple[str, str], ...]:
    """(base parameter, why) for each with a share in a direction the log does not show."""
    if not found.blind.size:
        return ()
    scale = np.linalg.norm(found.A, axis=0)
    weighted = found.blind * np.where(scale > 0.0, scale, 1.0)[:, None]
    weighted = np.linalg.qr(weighted / np.linalg.norm(weighted, axis=0))[0]
    share = np.sum(weighted**2, axis=1)
    still = standing(columns, records)
    reasons = []
    for k in np.flatnonzero(share > SHARE).tolist():
        reasons.append((base.names[k], _why(k, base, found, weighted, still, scale[k] > 0.0)))
    return tuple(reasons)


def standing(columns: Columns, records: Sequence[Record]) -> tuple[str, ...]:
    """Velocities that are zero but for noise in every record."""
    names = columns.system.dynamics.velocities
    moved = np.zeros(len(names), dtype=bool)
    for record in records:
        moved |= np.abs(record.qd).max(axis=0) > STILL * record.rate_noise
    return tuple(name for name, moves in zip(names, moved, strict=True) if not moves)


def _why(
    k: int,
    base: Base,
    found: Estimate,
    weighted: np.ndarray,
    still: Sequence[str],
    there: bool,
) -> str:
    joints = [name for name in still if name in base.explained[k]]
    never = f"{' and '.join(joints or still)} never moves" if still else ""
    if not there:
        return never or "nothing in this log depends on it"
    together = np.abs(weighted @ weighted[k])
    together[k] = 0.0
    others = [base.names[i] for i in np.argsort(-together)[:PARTNERS] if together[i] > SHARE]
    if not others:
        return never or "its part of the torques is below the noise"
    reason = f"only appears together with {', '.join(others)}"
    return f"{reason}; {never}" if never else reason
