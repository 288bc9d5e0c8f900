"""The linear fit of records: spikes of torque taken out, filter and widths of friction chosen.

A cut-off from the spectrum of q keeps whatever is motion. Where joints are elastic, or friction jumps,
that is more than rigid bodies explain, and a lower one predicts torques better; so it is lowered as
long as the torques, which are not filtered, are predicted better. The rise of Coulomb friction about
rest is measured in the same way, joint by joint, on what the rest of the model leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from dalembert.errors import IdentificationError
from dalembert.identification.accumulate import BLOCK, Rows, cut, step_of, thinned
from dalembert.identification.base import Base
from dalembert.identification.columns import Columns, expected_sign
from dalembert.identification.least_squares import Estimate, estimate
from dalembert.identification.misfit import rounding_left
from dalembert.identification.outliers import without_spikes
from dalembert.identification.power import balances
from dalembert.identification.record import Record
from dalembert.kernels import get_num_threads

# the equations that are fitted, by the name of the method
METHODS: Mapping[str, Callable[[Columns, Base, Sequence[Record]], Rows]] = {
    "inverse_dynamics": lambda columns, base, records: thinned(
        columns, base, records, step_of(records)
    ),
    "power": balances,
}


LOADED = 4  # rounds by which the load that friction grows with settles
SAMPLES = 100  # of a record at which base parameters are compared with all of them
OFF = 0.1  # of the prior's error that base parameters may leave out of a change
ROUNDING = 1e-6  # of torques
LOWER = 0.5  # from one cut-off that is tried to the next
LOWEST = 10.0  # periods of the cut-off in the log
WORTH = 0.02  # of the misfit: what halving the cut-off must win
WIDER = 0.005  # of the misfit: what wider friction must win
WIDTHS = (0.003, 0.01, 0.03, 0.1)  # of the largest speed, over which friction may rise

CHOSEN = (
    "this cut-off was chosen: of the one that suits the spectrum of the positions and its halves it "
    "predicts the torques best"
)

Prepared = Callable[[float | None], Sequence[Record]]
ENOUGH = 30_000  # samples by which friction, and what is usual, is decided
ROUNDS = 3  # of looking for spikes: they spoil the fit by which they are seen


def measured(columns: Columns, record: Record) -> np.ndarray:
    """Torques (n, equations) as measured, of a closed chain's independent velocities."""
    return columns.measured(record) + _known(columns, record)


def _known(columns: Columns, record: Record) -> np.ndarray:
    """Torques (n, equations) of springs, tendons and whatever else no column explains."""
    return -columns.measured(record.sharing(tau=np.zeros_like(record.tau)))


def predicted(
    columns: Columns, records: Sequence[Record], models: Sequence[np.ndarray]
) -> list[list[np.ndarray]]:
    """For each record the torques (n, equations) of each model x (p,)."""
    X = np.stack(models, axis=1)

    def part(piece: Record) -> np.ndarray:
        return np.asarray(columns.evaluate(piece) @ X + _known(columns, piece)[..., None])

    found = []
    with ThreadPoolExecutor(get_num_threads()) as pool:
        for record in records:
            pieces = (cut(record, slice(k, k + BLOCK)) for k in range(0, len(record.t), BLOCK))
            whole = np.concatenate(list(pool.map(part, pieces)))
            found.append([whole[..., k] for k in range(len(models))])
    return found


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
    _require_no_worse(made, base, rows, base.matrix @ prior)
    return made


def _require_no_worse(made: Solved, base: Base, rows: Rows, prior: np.ndarray) -> None:
    """An error if least squares fits its own equations worse than where it started, at β⁰ = G x⁰.

    Two things can be at fault: the solution of the whitened problem, and base parameters that do not
    stand for all that the log's torques depend on, so that W (x − x⁰) is not W back (β − β⁰).
    """
    noise, step = made.estimate.noise, made.estimate.beta - prior
    before, after = (rows.residuals(beta) / noise for beta in (prior, made.estimate.beta))
    floor = ROUNDING * float(np.linalg.norm(rows.y / noise))
    worse = np.linalg.norm(after) > (1.0 + ROUNDING) * np.linalg.norm(before) + floor
    for record in made.records:
        few = cut(record, slice(None, None, 1 + len(record.t) // SAMPLES))
        W, y = made.columns.evaluate(few), made.columns.measured(few)
        change = W @ (made.x - made.columns.values)
        apart = np.linalg.norm(change - W @ (base.back @ step))
        left = np.linalg.norm(y - W @ made.columns.values)
        worse |= bool(apart > OFF * left + ROUNDING * (np.linalg.norm(y) + np.linalg.norm(change)))
    if worse:
        raise IdentificationError(
            f"internal error: least squares predicts the torques of {made.columns.system.name} worse "
            "than its prior does on the log it was fitted to; please report this with the log"
        )


def leftovers(columns: Columns, records: Sequence[Record], x: np.ndarray) -> list[np.ndarray]:
    """Measured less predicted torque (n, equations) of each record."""
    found = predicted(columns, records, [x])
    return [measured(columns, r) - each[0] for r, each in zip(records, found, strict=True)]


def plain(columns: Columns) -> bool:
    """Whether every equation is that of one joint's own torque."""
    model = columns.model
    return model.tree is model and not columns.system.dynamics.rows


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
        missed = []
        for width in tried:  # what viscous, Coulomb and constant friction leave of it
            sign = expected_sign(qd[:, j], np.asarray(width))
            W = np.column_stack([qd[:, j], sign, np.ones_like(sign)])
            left_over = wanted - W @ np.linalg.lstsq(W, wanted, rcond=None)[0]
            missed.append(np.sqrt(np.mean(left_over**2)))
        if min(missed) < missed[0] * (1.0 - WIDER):
            chosen[j] = tried[int(np.argmin(missed))]
    same = np.array_equal(chosen, widths)
    return columns if same else columns.with_widths(chosen, columns.stribeck)


def refined(
    columns: Columns, base: Base, records: Sequence[Record], method: str, robust: bool
) -> tuple[Solved, list[str]]:
    """(the fit, what was done to the torques for it).

    A part of a long log decides on friction and on what is usual; then all of it is fitted once.
    """
    clean = robust and plain(columns)
    some = beginning(records)
    found, left = _usual(columns, base, some, method, clean)
    columns = choose_widths(found, left)
    made, said = tuple(records), list[str]()
    if clean:
        made, count = without_spikes(records, leftovers(columns, records, found.x))
        named = [f"{n} of {name}" for n, name in zip(count, columns.rows, strict=True) if n]
        total = sum(len(record.t) for record in records)
        if named:
            said.append(
                f"torques far off their neighbours taken as not measured, of {total} each: "
                f"{', '.join(named)}"
            )
    if found.columns is columns and found.records == made:
        return found, said
    return solve(columns, base, made, method), said


def _usual(
    columns: Columns, base: Base, records: Sequence[Record], method: str, clean: bool
) -> tuple[Solved, list[np.ndarray]]:
    """(a fit, what it leaves), with spikes of torque out of the way where they are to be."""
    found = solve(columns, base, records, method)
    left, before = leftovers(columns, records, found.x), np.zeros(0)
    for _ in range(ROUNDS if clean else 0):
        made, count = without_spikes(records, left)
        if not count.any() or np.array_equal(count, before):
            break
        found, before = solve(columns, base, made, method), count
        left = leftovers(columns, records, found.x)
    return found, leftovers(columns, found.records, found.x) if before.any() else left


def beginning(records: Sequence[Record]) -> tuple[Record, ...]:
    """The first records, up to `ENOUGH` samples in all."""
    found: list[Record] = []
    left = ENOUGH
    for record in records:
        if left > 0:
            found.append(record if len(record.t) <= left else cut(record, slice(0, left)))
            left -= len(record.t)
    return tuple(found)
