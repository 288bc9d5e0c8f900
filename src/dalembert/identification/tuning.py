"""What a fit needs beside linear unknowns: the filter's cut-off and the widths of friction.

A cut-off from the spectrum of q keeps whatever is motion. Where joints are elastic, or friction jumps,
that is more than rigid bodies explain, and a lower one predicts torques better; so it is lowered as
long as the torques, which are not filtered, are predicted better. The rise of Coulomb friction about
rest is measured in the same way, joint by joint, on what the rest of the model leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dalembert.identification.base import Base
from dalembert.identification.columns import Columns
from dalembert.identification.friction_columns import expected_sign
from dalembert.identification.record import Record
from dalembert.identification.solving import Solved, leftovers, plain, solve

LOWER = 0.5  # from one cut-off that is tried to the next
LOWEST = 10.0  # periods of the cut-off in the log
WORTH = 0.02  # of the misfit: what halving the cut-off must win
BETTER = 0.005  # of the misfit: what wider friction must win
WIDTHS = (0.003, 0.01, 0.03, 0.1)  # of the largest speed, over which friction may rise

CHOSEN = (
    "this cut-off was chosen: of the one that suits the spectrum of the positions and its halves it "
    "predicts the torques best"
)

Prepared = Callable[[float | None], Sequence[Record]]


def with_noise_widths(columns: Columns, records: Sequence[Record]) -> Columns:
    """Columns whose friction rises over what noise leaves uncertain of the sign of q̇."""
    return columns.with_widths(np.max([record.rate_noise for record in records], axis=0))


def choose_cutoff(columns: Columns, base: Base, prepared: Prepared) -> float | None:
    """Hz by which torques are predicted best: the spectrum's own choice, or half of it, or …

    None where nothing is to be filtered.
    """
    records = prepared(None)
    chosen = min(record.cutoff for record in records)
    fastest = 0.5 * min(record.rate for record in records)
    duration = max(record.t[-1] - record.t[0] for record in records)
    if not np.isfinite(chosen):
        return None
    best, tried = misfit(columns, base, records), LOWER * min(chosen, fastest)
    while tried > LOWEST / duration:
        found = misfit(columns, base, prepared(tried))
        if found > best - WORTH:
            break
        chosen, best, tried = tried, found, LOWER * tried
    return chosen if chosen < fastest else None


def misfit(columns: Columns, base: Base, records: Sequence[Record]) -> float:
    """Mean logarithm, over the equations, of the RMS by which the fit misses unfiltered torques."""
    columns = with_noise_widths(columns, records)
    left = leftovers(columns, records, solve(columns, base, records).x)
    mean = np.mean(np.concatenate(left) ** 2, axis=0)
    return float(0.5 * np.mean(np.log(np.maximum(mean, 1e-300))))


def choose_widths(found: Solved, left: Sequence[np.ndarray]) -> Columns:
    """Columns whose Coulomb friction rises over the widths at which torques are missed least.

    What the fit leaves of each joint's torque, its Coulomb friction put back, is fitted by friction
    of every width alone. `left` (n, equations) of each record; the same columns where none is better.
    """
    columns, x = found.columns, found.x
    widths = columns.widths
    if "coulomb" not in columns.kinds or widths is None or not plain(columns):
        return columns
    rest = np.concatenate(list(left))
    qd = np.concatenate([record.qd for record in found.records])
    first = columns.inertial + len(widths) * columns.kinds.index("coulomb")
    chosen = np.array(widths)
    for j in np.flatnonzero(columns.free[first : first + len(widths)]):
        wanted = rest[:, j] + x[first + j] * expected_sign(qd[:, j], widths[j])
        wider = [share * abs(qd[:, j]).max() for share in WIDTHS]
        tried = [widths[j], *(w for w in wider if w > widths[j])]
        missed = [_friction_misfit(qd[:, j], wanted, w) for w in tried]
        if min(missed) < missed[0] * (1.0 - BETTER):
            chosen[j] = tried[int(np.argmin(missed))]
    same = np.array_equal(chosen, widths)
    return columns if same else columns.with_widths(chosen, columns.stribeck)


def _friction_misfit(qd: np.ndarray, left: np.ndarray, width: float) -> float:
    """RMS of a leftover (n,) that viscous, Coulomb and constant friction do not explain."""
    W = np.column_stack([qd, expected_sign(qd, np.asarray(width)), np.ones_like(qd)])
    x = np.linalg.lstsq(W, left, rcond=None)[0]
    return float(np.sqrt(np.mean((left - W @ x) ** 2)))
