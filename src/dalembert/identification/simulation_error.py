"""Identification by simulation error: the motion that a model makes, against the motion measured.

Windows of the log are simulated under the measured torques (multiple shooting, `shooting`), each from
a state of its own that is fitted with it, and positions are compared: no velocities and accelerations
are needed but for a first guess. In each round of Gauss and Newton the positions are linear in base
parameters β and in the states at the begins; the latter fall out by rows orthogonal to their slopes,

    Q₂ᵀ (q̂ − q) + Q₂ᵀ ∂q̂/∂β (β' − β) = noise,    Q₂ᵀ ∂q̂/∂s₀ = 0,

and what is left has the form of every other route's equations. Noise is that of the positions and that
of the torques, which the motion integrates: errors within a window go together, with the covariance

    σ_q² 1 + Σ_b ∂q̂/∂τ_b σ_τ² (∂q̂/∂τ_b)ᵀ

by which all rows are whitened first; where noise hides the sign of a velocity, σ_τ holds friction.
What comes back is the linear problem at the solution, so that deviations, and bodies that are real
ones, follow from it as from every other route's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dalembert.errors import IdentificationError
from dalembert.identification.accumulate import Rows
from dalembert.identification.base import Base
from dalembert.identification.columns import Columns
from dalembert.identification.least_squares import Estimate, estimate
from dalembert.identification.real_bodies import real_bodies
from dalembert.identification.record import Record
from dalembert.identification.shooting import Shooter, Shot, Windows
from dalembert.identification.solving import Solved

Real = Callable[[Estimate, np.ndarray], np.ndarray]
Noise = tuple[np.ndarray, np.ndarray]  # deviations (n,) of positions and torques

LENGTHS = (0.8, 0.4, 0.2, 0.1)  # s of a window: the longest that the first fit can follow
FOLLOWS = 4.0  # times the noise that its motion may be off
LEAST = 6  # samples of a window
MOST = 300  # windows in all
ROUNDS, SETTLED = 12, 1e-3  # of Gauss and Newton; change of the misfit that ends them
HALVINGS = 6  # of a round's step, until the misfit falls
FARTHEST = 1e6  # rad or m, and slopes: a motion beyond has run away
NOISELESS = 1e-7  # of a signal's range: noise that is assumed at least


@dataclass(frozen=True, eq=False)
class Refined:
    """What simulation error makes of a first fit."""

    x: np.ndarray  # (p,) of the motion that fits best
    estimate: Estimate  # β by one step more without demands on bodies, and its whitened problem
    misfits: tuple[float, ...]  # RMS of q̂ − q of every round, beside its noise
    length: float  # s of the windows


class _Round(NamedTuple):
    """Windows simulated with some x, and the linear problem there."""

    x: np.ndarray
    windows: list[Windows]  # begun where they fit best
    rows: Rows | None  # None where the motion ran away
    cost: float  # RMS of the whitened rows


def by_simulation(
    columns: Columns,
    base: Base,
    records: Sequence[Record],
    start: np.ndarray,
    length: float | None = None,
    held: bool = False,
    real: Real | None = None,
) -> Refined:
    """x (p,) and β that make simulated windows of `length` s meet the measured positions.

    The length is by default the longest over which the first fit still predicts the motion.

    Positions are compared as they were before a filter, as their noise is taken as white. `start`
    (p,) is a fit by another route. Torques are smooth between samples, or `held` from one to the
    next, as a digital drive gives them. `real` (estimate, x) gives x' of real bodies near to the
    estimate and to x, and so keeps the simulated ones real, if `start` is; without it only β counts.
    """
    records = [each if each.raw is None else replace(each, q=each.raw) for each in records]
    shooter, noise = Shooter(columns, base), noise_of(records)
    longest = max(record.t[-1] - record.t[0] for record in records)
    fitting = [each for each in LENGTHS if each < longest] or [LENGTHS[-1]]
    for tried in fitting if length is None else (length,):
        windows = _windows(shooter, records, start, tried, held)
        now = _round(shooter, start, windows, noise)
        if now.cost < FOLLOWS:
            break
    misfits = [now.cost]
    for _ in range(ROUNDS):
        better = _step(shooter, now, noise, real)
        if better is None:
            break
        now = better
        misfits.append(now.cost)
        if misfits[-2] - misfits[-1] < SETTLED * misfits[-2]:
            break
    if now.rows is None:
        raise IdentificationError(
            f"{columns.system.name} runs away when it is simulated with the first fit; take "
            "method='inverse_dynamics', or a better prior"
        )
    return Refined(now.x, estimate(now.rows, base.matrix @ now.x), tuple(misfits), tried)


def simulated(found: Solved, base: Base, real: bool = True) -> tuple[Solved, list[str]]:
    """A linear fit made better by simulation error, and what to say of it; see `by_simulation`."""
    columns = found.columns

    def bodies(estimate: Estimate, x: np.ndarray) -> np.ndarray:
        return real_bodies(columns.with_values(x), base, estimate).x

    start, hook = (bodies(found.estimate, columns.values), bodies) if real else (found.x, None)
    made = by_simulation(columns, base, found.records, start, real=hook)
    said = (
        f"simulated motion of windows of {made.length:g} s: off by {made.misfits[0]:.3g} of its noise "
        f"at first, by {made.misfits[-1]:.3g} after {len(made.misfits) - 1} rounds"
    )
    if made.misfits[-1] > FOLLOWS:
        return found, [f"{said}: no model of this kind makes that motion, the linear fit is kept"]
    x = base.full(made.estimate.beta, columns.values)
    return Solved(columns, found.records, made.estimate, x), [said]


def noise_of(records: Sequence[Record]) -> Noise:
    """Noise of positions and torques: what differs from sample to sample by no smooth motion.

    Third differences of white noise have √20 times its deviation, those of a motion sampled finely
    are next to nothing; the median leaves out jumps.
    """

    def of(name: str) -> np.ndarray:
        every = [np.nan_to_num(getattr(record, name)) for record in records]
        rough = np.concatenate([np.abs(np.diff(x, 3, axis=0)) for x in every])
        found = np.median(rough, axis=0) / (0.6745 * np.sqrt(20.0))
        return np.maximum(
            found, NOISELESS * np.maximum(np.ptp(np.concatenate(every), axis=0), 1e-9)
        )

    return of("q"), of("tau")


def _windows(
    shooter: Shooter, records: Sequence[Record], x: np.ndarray, length: float, held: bool
) -> list[Windows]:
    """Windows of all records that are long enough for one."""
    found, most = [], max(1, MOST // len(records))
    for record in records:
        steps = max(LEAST, round(length * record.rate))
        if len(record.t) > steps:
            found.append(shooter.windows(record, x, steps, most, held))
    if not found:
        raise IdentificationError(
            f"no record is as long as a window of {length:g} s: take method='inverse_dynamics'"
        )
    return found


def _round(shooter: Shooter, x: np.ndarray, windows: list[Windows], noise: Noise) -> _Round:
    """Simulate with x, move the begins of windows to where they fit best, and linearise."""
    beta, size = shooter.base.matrix @ x, len(shooter.base.names)
    W, y, stretch, moved, count = [], [], [], [], 0
    for each in windows:
        shot = shooter.shoot(x, each)
        if not all(np.abs(part).max() < FARTHEST for part in shot):
            return _Round(x, windows, None, np.inf)
        r, J0, J = _whitened(shot, each, noise)
        Q, R = np.linalg.qr(J0, mode="complete")
        n0 = J0.shape[-1]
        turned = np.swapaxes(Q, 1, 2) @ np.concatenate([r[..., None], J], axis=-1)
        s = -np.linalg.solve(R[:, :n0], turned[:, :n0, :1])[..., 0]
        n = each.q.shape[1]
        moved.append(each._replace(q=each.q + s[:, :n], qd=each.qd + s[:, n:]))
        rest = turned[:, n0:].reshape(-1, 1 + size)
        W.append(rest[:, 1:])
        y.append(rest[:, 1:] @ beta - rest[:, 0])
        stretch.append(count + np.repeat(np.arange(len(r)), r.shape[1] - n0))
        count += len(r)
    made = np.concatenate(y)[:, None], np.concatenate(stretch), size, 1
    rows = Rows((np.arange(size),), (np.concatenate(W),), *made)
    return _Round(x, moved, rows, float(np.sqrt(np.mean(rows.residuals(beta) ** 2))))


def _whitened(
    shot: Shot, windows: Windows, noise: Noise
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q̂ − q (w, m) and its slopes (w, m, ·) by begin and by base: means over parts, of unit noise."""
    sizes = np.diff(windows.parts)

    def means(x: np.ndarray) -> np.ndarray:
        """(w, parts · n, ·), in units of the means' noise; a mean of k samples has 1/√k of theirs."""
        sums = np.add.reduceat(x, windows.parts[:-1], axis=0)
        unit = np.sqrt(sizes)[:, None] * noise[0]
        return np.moveaxis(sums / unit[:, None, :, None], 0, 1).reshape(x.shape[1], -1, x.shape[3])

    r = means((shot.q - windows.measured)[..., None])
    J0, J, T = (means(x) for x in (shot.by_state, shot.by_base, shot.by_tau))
    # noise of a mean torque, and friction of a wrong sign, which lasts for longer than a sample
    wrong = np.add.reduceat(windows.doubt, windows.parts[:-1], axis=0) / sizes[:, None, None]
    off = np.sqrt(noise[1] ** 2 / sizes[:, None, None] + wrong)  # (parts, w, n)
    T = T * np.moveaxis(off, 1, 0).reshape(len(T), 1, -1)
    L = np.linalg.cholesky(np.eye(T.shape[1]) + T @ np.swapaxes(T, 1, 2))
    found = np.linalg.solve(L, np.concatenate([r, J0, J], axis=-1))
    n0 = J0.shape[-1]
    return found[..., 0], found[..., 1 : 1 + n0], found[..., 1 + n0 :]


def _step(shooter: Shooter, now: _Round, noise: Noise, real: Real | None) -> _Round | None:
    """The next round: Gauss and Newton's step, halved until the misfit falls; None if it never does.

    Bodies between two that are real are real ones.
    """
    if now.rows is None:
        return None
    base = shooter.base
    found = estimate(now.rows, base.matrix @ now.x)
    aim = base.full(found.beta, now.x) if real is None else real(found, now.x)
    for k in range(HALVINGS):
        tried = _round(shooter, now.x + 0.5**k * (aim - now.x), now.windows, noise)
        if tried.cost < now.cost:
            return tried
    return None
