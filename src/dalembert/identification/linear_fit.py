"""The linear fit of records: spikes of torque removed, filter and widths of friction chosen.

A cut-off from the spectrum of q keeps all motion. Where joints are elastic, or friction jumps, that is
more than rigid bodies explain, and a lower one predicts torques better; so it is lowered as long as
the torques, which are not filtered, are predicted better. The width over which Coulomb friction rises
about rest is chosen in the same way, joint by joint, on the residuals of the other terms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.errors import IdentificationError, SettingError
from dalembert.identification.energy import energy_equations
from dalembert.identification.least_squares import Estimate, LinearEquations, decimate, estimate
from dalembert.identification.record import Record, rounding_floor, samples_between
from dalembert.identification.regressor import BaseParameters, Regressor, expected_sign
from dalembert.identification.residuals import remove_spikes, residuals

if TYPE_CHECKING:
    import pandas

# equations of each method
METHODS: Mapping[str, Callable[[Regressor, BaseParameters, Sequence[Record]], LinearEquations]] = {
    "inverse_dynamics": decimate,
    "power": energy_equations,
}
LOAD_ROUNDS = 4  # in which the load of joints settles
CHECKED_SAMPLES = 100  # of a record at which base parameters are compared with all parameters
OFF = 0.1  # of the prior's error that base parameters may leave out of a change
ROUNDING = 1e-6  # of torques
NEXT_CUTOFF = 0.5  # of the previous one
MIN_PERIODS = 10.0  # of the cut-off in the log
CUTOFF_GAIN = 0.02  # of the misfit that halving the cut-off must win
WIDTH_GAIN = 0.005  # of the misfit that wider friction must win
WIDTHS = (0.003, 0.01, 0.03, 0.1)  # of the largest speed, over which friction may rise
ENOUGH = 30_000  # samples by which friction and outliers are decided
SPIKE_ROUNDS = 3  # of looking for spikes, which spoil the fit by which they are detected

CUTOFF_NOTE = (
    "this cut-off was chosen: of the one that suits the spectrum of the positions and its halves it "
    "predicts the torques best"
)


class LinearFit(NamedTuple):
    """Least-squares fit of a regressor to records."""

    regressor: Regressor
    records: tuple[Record, ...]
    estimate: Estimate
    x: np.ndarray  # (p,) with G x = β, nearest to the regressor's own values


def solve(
    regressor: Regressor,
    base: BaseParameters,
    records: Sequence[Record],
    method: str = "inverse_dynamics",
) -> LinearFit:
    """The weighted fit of the records' equations; joint loads by the fit itself, in a few rounds."""
    prior = np.asarray(regressor.values)
    is_direct = method == "inverse_dynamics" and has_joint_equations(regressor)
    for _ in range(LOAD_ROUNDS if "load" in regressor.kinds else 1):
        equations = METHODS[method](regressor, base, records)
        min_noise = rounding_floor(records) if is_direct else 0.0
        result = estimate(equations, base.matrix @ prior, min_noise)
        fit = LinearFit(regressor, tuple(records), result, base.nearest(result.beta, prior))
        # joint loads are those of the fit's inertias, not the prior's
        regressor = replace(regressor, load_inertia=fit.x[: regressor.inertial])
    # least squares fits its own equations no worse than β⁰ = G x⁰; else either the solution of the
    # whitened problem is wrong, or the base parameters do not represent all that the log's torques
    # depend on, so that W (x − x⁰) is not W selection (β − β⁰)
    beta, beta0 = fit.estimate.beta, base.matrix @ prior
    before, after = (equations.residuals(each) / fit.estimate.noise for each in (beta0, beta))
    floor = ROUNDING * float(np.linalg.norm(equations.y / fit.estimate.noise))
    is_worse = np.linalg.norm(after) > (1.0 + ROUNDING) * np.linalg.norm(before) + floor
    for record in fit.records:
        few = record.part(slice(None, None, 1 + len(record.t) // CHECKED_SAMPLES))
        W, y = fit.regressor.evaluate(few), fit.regressor.observations(few)
        change = W @ (fit.x - fit.regressor.values)
        difference = np.linalg.norm(change - W @ (base.selection @ (beta - beta0)))
        left = np.linalg.norm(y - W @ fit.regressor.values)
        rounding = ROUNDING * (np.linalg.norm(y) + np.linalg.norm(change))
        is_worse |= bool(difference > OFF * left + rounding)
    if is_worse:
        raise IdentificationError(
            f"internal error: least squares predicts the torques of {fit.regressor.system.name} "
            "worse than its prior does on the log it was fitted to; please report this with the log"
        )
    return fit


def has_joint_equations(regressor: Regressor) -> bool:
    """Whether every equation is that of one joint's own torque."""
    model = regressor.model
    return model.tree is model and not regressor.system.dynamics.rows


def with_noise_widths(regressor: Regressor, records: Sequence[Record]) -> Regressor:
    """The regressor whose friction rises over the noise of q̇."""
    return regressor.with_widths(np.max([record.rate_noise for record in records], axis=0))


def choose_cutoff(
    regressor: Regressor, base: BaseParameters, prepare: Callable[[float | None], Sequence[Record]]
) -> float | None:
    """Cut-off, Hz, that predicts torques best: the spectrum's choice, or half of it, or …

    `prepare` makes records with a cut-off. None where nothing is to be filtered.
    """
    records = prepare(None)
    chosen = min(record.cutoff for record in records)
    fastest = 0.5 * min(record.rate for record in records)
    duration = max(record.t[-1] - record.t[0] for record in records)
    if not np.isfinite(chosen):
        return None
    best, cutoff = _mean_log_rms(regressor, base, records), NEXT_CUTOFF * min(chosen, fastest)
    while cutoff > MIN_PERIODS / duration:
        misfit = _mean_log_rms(regressor, base, prepare(cutoff))
        if misfit > best - CUTOFF_GAIN:
            break
        chosen, best, cutoff = cutoff, misfit, NEXT_CUTOFF * cutoff
    return chosen if chosen < fastest else None


def _mean_log_rms(regressor: Regressor, base: BaseParameters, records: Sequence[Record]) -> float:
    """Mean over the equations of log RMS of the residuals of unfiltered torques."""
    regressor = with_noise_widths(regressor, records)
    left = residuals(regressor, records, solve(regressor, base, records).x)
    mean = np.mean(np.concatenate(left) ** 2, axis=0)
    return float(0.5 * np.mean(np.log(np.maximum(mean, 1e-300))))


def choose_widths(fit: LinearFit, left: Sequence[np.ndarray]) -> Regressor:
    """The regressor whose Coulomb friction rises over the widths of least residuals.

    Each joint's residual `left` (n, equations), its Coulomb friction added, is fitted by friction of
    every width alone. The same regressor where none is better.
    """
    regressor, x = fit.regressor, fit.x
    widths = regressor.widths
    if "coulomb" not in regressor.kinds or widths is None or not has_joint_equations(regressor):
        return regressor
    rest = np.concatenate(list(left))
    qd = np.concatenate([record.qd for record in fit.records])
    own = regressor.kind_slice("coulomb")
    chosen = np.array(widths)
    for j in np.flatnonzero(regressor.free[own]):
        target = rest[:, j] + x[own][j] * expected_sign(qd[:, j], widths[j])
        wider = [share * abs(qd[:, j]).max() for share in WIDTHS]
        candidates = [widths[j], *(w for w in wider if w > widths[j])]
        misfits = []
        for width in candidates:  # residual of viscous, Coulomb and constant friction
            sign = expected_sign(qd[:, j], np.asarray(width))
            W = np.column_stack([qd[:, j], sign, np.ones_like(sign)])
            residual = target - W @ np.linalg.lstsq(W, target, rcond=None)[0]
            misfits.append(np.sqrt(np.mean(residual**2)))
        if min(misfits) < misfits[0] * (1.0 - WIDTH_GAIN):
            chosen[j] = candidates[int(np.argmin(misfits))]
    is_same = np.array_equal(chosen, widths)
    return regressor if is_same else regressor.with_widths(chosen)


def fit_records(
    regressor: Regressor, base: BaseParameters, records: Sequence[Record], method: str, robust: bool
) -> tuple[LinearFit, list[str]]:
    """(the fit, notes on outliers).

    A part of a long log decides on friction and on outliers; then all of it is fitted once.
    """
    removes_spikes = robust and has_joint_equations(regressor)
    some = samples_between(records, 0, ENOUGH)
    fit = solve(regressor, base, some, method)
    left, before = residuals(regressor, some, fit.x), np.zeros(0)
    for _ in range(SPIKE_ROUNDS if removes_spikes else 0):
        clean, count = remove_spikes(some, left)
        if not count.any() or np.array_equal(count, before):
            break
        fit, before = solve(regressor, base, clean, method), count
        left = residuals(regressor, some, fit.x)
    if before.any():
        left = residuals(regressor, fit.records, fit.x)
    regressor = choose_widths(fit, left)
    clean, notes = tuple(records), list[str]()
    if removes_spikes:
        clean, count = remove_spikes(records, residuals(regressor, records, fit.x))
        named = [f"{n} of {name}" for n, name in zip(count, regressor.rows, strict=True) if n]
        each = f"of {sum(len(record.t) for record in records)} each: {', '.join(named)}"
        if named:
            notes.append(f"torques far off their neighbours taken as not measured, {each}")
    if fit.regressor is regressor and fit.records == clean:
        return fit, notes
    return solve(regressor, base, clean, method), notes


def cross_validation(
    regressor: Regressor, base: BaseParameters, records: Sequence[Record], method: str, folds: int
) -> pandas.DataFrame:
    """RMS residual of each fold of time by base parameters of all other times, per equation.

    The filtered rows are made once and fitted without each fold; `all` is over all folds, `fit` that
    of the fit to all rows, as it sees them.
    """
    import pandas

    if method not in METHODS:
        raise IdentificationError(
            f"a fit by method={method!r} has no linear equations of its own for cross_validation: "
            f"take method={' or '.join(map(repr, METHODS))}"
        )
    equations = METHODS[method](regressor, base, records)
    count = len(equations.y)
    if not 2 <= folds <= count // 10:
        raise SettingError(f"folds={folds!r} must be 2 to {count // 10} for this log")
    prior = base.matrix @ np.asarray(regressor.values)
    fold = np.arange(count) * folds // count
    table, squares = {}, []
    for k in range(folds):
        beta = estimate(equations.select(fold != k), prior).beta
        left = equations.select(fold == k).residuals(beta)
        table[f"fold {k + 1}"] = np.sqrt((left**2).mean(axis=0))
        squares.append(left**2)
    table["all"] = np.sqrt(np.concatenate(squares).mean(axis=0))
    left = equations.residuals(estimate(equations, prior).beta)
    table["fit"] = np.sqrt((left**2).mean(axis=0))
    return pandas.DataFrame(table, index=pandas.Index(regressor.rows, name="joint"))
