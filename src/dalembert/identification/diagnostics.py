"""Diagnostics of a log before it is fitted, and of the fit on held-out data.

Signals are checked first: times, velocities, motions and torques that cannot be right. Then small fits
(`hypotheses`), then the prior's own torques, which show what no fit can: all torques reversed, or all
in another unit.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import IdentificationError
from dalembert.identification.hypotheses import (
    LogSample,
    best_hypothesis,
    estimate_delay,
    gravity_hypothesis,
    sample_noise,
    sample_records,
)
from dalembert.identification.preparation import (
    NOT_USED,
    STILL,
    Log,
    driven_joints,
    load_records,
    longest_fitted_part,
)
from dalembert.identification.record import Record
from dalembert.identification.regressor import Regressor, may_be_passive
from dalembert.systems.system import System

MIN_RATE = 5.0  # Hz: fewer samples per second show no motion of an arm
SLOW = 0.05  # rad/s or m/s: slower motions show gravity and friction, and no inertia
SHORT = 2.0  # s
BEYOND_LIMITS = 0.05  # of its range that a joint may be outside of its limits
MOST = 0.99  # quantile of the samples
FAST = 3.0  # times the highest speed
FLAT, CLIPPED, RUN = 0.005, 0.02, 5  # shares at the extreme to report, to refuse; rows of a run
COARSE = 0.5  # share at the extreme, from which it is rounded, not cut off
PEAKED = 3.0  # times more samples at the extreme than beside it
MOVING = 0.002  # of its range that some joint moves while a torque stays at its extreme
AT_LIMIT = 0.98  # of the drive's limit
VELOCITY_OFF, VELOCITY_WRONG = 0.1, 0.25  # by which recorded velocities differ from derivatives
IN_DEGREES = "are positions in degrees (degrees=True, --deg)"
UNIT_FACTORS = (
    (180.0 / np.pi, "57.3, as if degrees were read as radians on one side"),
    (1000.0, "1000, as if milliseconds were read as seconds on one side"),
    (-1.0, "−1: it has the wrong sign"),
)
SUSPECT = 0.08  # unexplained share of a torque from which hypotheses are tested
TURNS = 8.0 * np.pi  # rad of one joint from which they are, too
POOR = 0.25  # unexplained share from which a joint is named
BAD = 0.35  # from which it is inconsistent where the joint alone could be explained
APART = 3.0  # times better it is explained alone than together with the others
LATE = 1.4  # misfit now over misfit without delay, from which a delay is reported
TOO_LATE, LONG = 10.0, 0.03  # and from which, with so many seconds, the fit is refused
ALIKE = 0.8  # correlation from which measured and prior torques are of one shape
UNIT_ERROR, FAR_PRIOR = 30.0, 5.0  # factors between them: other units, or a prior far off
DRIVING, BACKWARD = -0.05, -0.1  # of a joint's mean |power|: friction that supplies energy
LARGER = 3.0  # times the error on fitted data
SIGNAL = 5.0  # times the noise from which a torque is compared
NEGLIGIBLE = 0.15  # of the torque's deviation: smaller errors are not reported
MIN_HELD_OUT = 50  # samples
BLOCKS = 400  # of which velocities are compared


class IdentificationWarning(UserWarning):
    """A log shows less than it could, or something else than it should."""


@dataclass(frozen=True)
class Diagnostic:
    """One observation about a log; `is_inconsistent` where a fit of it would be wrong."""

    message: str
    is_inconsistent: bool = False
    joint: str = ""  # "" where it is about the whole log


def report(diagnostics: Iterable[Diagnostic], on_inconsistent: str = "raise") -> tuple[str, ...]:
    """Issue the messages as warnings and return them, inconsistencies first.

    Raises
    ------
    IdentificationError
        With all inconsistencies, unless on_inconsistent="warn".
    """
    every = tuple(diagnostics)
    wrong = [each.message for each in every if each.is_inconsistent]
    if wrong and on_inconsistent == "raise":
        listed = [f"({k + 1}) {message}" for k, message in enumerate(wrong)] if wrong[1:] else wrong
        raise IdentificationError(
            f"a fit of this log would be wrong: {'; '.join(listed)}. on_inconsistent='warn' "
            "(--on-inconsistent warn) fits it all the same"
        )
    for each in every:
        # the caller of `identify`, above `_fit` and the wrapper that limits the threads of BLAS
        warnings.warn(each.message, IdentificationWarning, stacklevel=5)
    return tuple(each.message for each in sorted(every, key=lambda each: not each.is_inconsistent))


def check_log(
    logs: Sequence[Log], records: Sequence[Record], regressor: Regressor, delay: float = 0.0
) -> tuple[Diagnostic, ...]:
    """Diagnostics of a log, before it is fitted.

    `logs` are what the records were made of, with the `delay` that the caller stated.
    """
    system = regressor.system
    signals = tuple(_check_signals(system, logs, records))
    if any(each.is_inconsistent for each in signals):
        return signals  # fits of such numbers mean nothing
    sample = LogSample(regressor, sample_records(records), sample_noise(records))
    samples, unknowns = sample.record.t.size, int(regressor.free.sum())
    if samples * len(regressor.rows) <= unknowns:
        too_few = f"{samples} samples are too few for {unknowns} unknown numbers"
        return (*signals, Diagnostic(too_few, True))
    # a filter that was chosen by the misfit has made up for some of the delay
    unfiltered = load_records(system, longest_fitted_part(logs, None), None, delay)
    whole = LogSample(regressor, sample_records(unfiltered), sample_noise(unfiltered))
    seconds, now, without = estimate_delay(regressor, unfiltered, whole.moments)
    gain = now / max(without, 1e-300)
    if gain > LATE:
        direction = "lag behind" if seconds > 0.0 else "come before"
        message = (
            f"the torques {direction} the motion by {abs(seconds) * 1e3:.1f} ms: shifted by that, "
            f"the misfit is {gain**0.5:.2g} times smaller; give delay={seconds:.4g} more"
        )
        is_too_late = gain > TOO_LATE and abs(seconds) > LONG
        signals += (Diagnostic(message, is_too_late),)
        if is_too_late:
            return signals
    misfit = tuple(_check_misfit(sample))
    return signals + misfit + (() if misfit else tuple(_check_prior(sample)))


def _check_signals(
    system: System, logs: Sequence[Log], records: Sequence[Record]
) -> Iterator[Diagnostic]:
    """Diagnostics of times, velocities, motions and torques, in this order."""
    rate, length = records[0].rate, sum(float(r.t[-1] - r.t[0]) for r in records)
    if rate < MIN_RATE:
        yield Diagnostic(
            f"there are {rate:.3g} samples per second over {length:.4g} s: are times in milliseconds? "
            "Name their column 'time [ms]' (columns={'time': 'time [ms]'}, --columns 'time=time [ms]')",
            True,
        )
    elif length < SHORT:
        yield Diagnostic(f"{length:.3g} s of motion show little of a robot")
    for log in logs:
        if not isinstance(log, Record):
            yield from _check_velocities(system, log)
    unused = dict.fromkeys(x for r in records for x in r.notes if x.endswith(f": {NOT_USED}"))
    if unused:
        yield Diagnostic("; ".join(unused))
    yield from _check_motion(system, records)
    limit = np.asarray(system.effort_limit)
    tau = np.concatenate([np.asarray(log.tau) for log in logs])
    q = np.concatenate([np.asarray(log.q) for log in logs])
    for name, x, most in zip(system.dynamics.velocities, tau.T, limit, strict=True):
        if not np.isfinite(x).any() or (may_be_passive(system) and not x.any()):
            continue  # passive
        x, torque = np.nan_to_num(x), f"the torque of {name!r}"
        if np.ptp(x) == 0.0:
            message = f"{torque} is {x[0] + 0.0:.4g} all the time: it was not recorded"
            yield Diagnostic(message, True, name)
            continue
        yield from check_clipping(name, x, q)
        if np.isfinite(most) and most > 0.0 and np.mean(np.abs(x) > AT_LIMIT * most) > FLAT:
            yield Diagnostic(f"{torque} reaches the limit of its drive, {most:.4g}", joint=name)


def _check_velocities(system: System, log: Any) -> Iterator[Diagnostic]:
    """Recorded velocities against the derivatives of recorded positions."""
    if "qd" not in log or system.nq != system.nv:
        return
    names, steps = system.dynamics.velocities, np.diff(log.time.values)
    good = steps > 0.0
    rates = np.diff(log.q.values, axis=0)[good] / steps[good][:, None]
    between = 0.5 * (log.qd.values[1:] + log.qd.values[:-1])[good]
    # means over blocks (blocks, n), to reduce the noise of differences
    n, size = len(names), max(1, len(rates) // BLOCKS)
    whole = len(rates) // size * size
    derivative, recorded = (x[:whole].reshape(-1, size, n).mean(axis=1) for x in (rates, between))
    with np.errstate(invalid="ignore", divide="ignore"):  # of joints that do not move
        correlation = np.nan_to_num(np.corrcoef(recorded.T, derivative.T)[:n, n:])
    for j, name in enumerate(names):
        best, own = int(np.argmax(np.abs(correlation[j]))), correlation[j, j]
        if best != j and abs(correlation[j, best]) > 0.95 > 1.05 * abs(own):
            message = (
                f"the velocity recorded for {name!r} is that of {names[best]!r}: it correlates with "
                f"its derivative with {correlation[j, best]:.2f}, against {own:.2f} with its own"
            )
            yield Diagnostic(message, True, name)
        elif abs(own) > 0.9:
            d = derivative[:, j]
            factor = float(recorded[:, j] @ d / (d @ d))
            ratio = f"{factor:.4g} times the derivative of its position"
            for known, meaning in UNIT_FACTORS:
                if any(abs(factor / x - 1.0) < 0.2 for x in (known, 1.0 / known)):
                    ratio += f": {meaning}"
            if abs(factor - 1.0) >= VELOCITY_OFF:
                message = f"the recorded velocity of {name!r} is {ratio}"
                yield Diagnostic(message, abs(factor - 1.0) > VELOCITY_WRONG, name)


def _check_motion(system: System, records: Sequence[Record]) -> Iterator[Diagnostic]:
    names, is_euclidean = system.dynamics.velocities, system.nq == system.nv
    qd = np.concatenate([r.qd for r in records])
    fastest = np.quantile(np.abs(qd), MOST, axis=0)  # single wrong samples are fast, too
    limit = np.asarray(system.velocity_limit)
    if is_euclidean:
        q = np.concatenate([r.q for r in records])
        ranges = np.ptp(q, axis=0)
    else:
        ranges = np.max([np.ptp(np.cumsum(r.qd, axis=0), axis=0) / r.rate for r in records], axis=0)
    if (ranges < STILL).all():
        yield Diagnostic("no joint moves in this log: torques at rest show gravity at most", True)
        return
    driven = driven_joints(system, records)
    for name, size, top, most, is_driven in zip(names, ranges, fastest, limit, driven, strict=True):
        if is_driven and size < STILL:
            message = f"never moves (by {size:.2g}): its friction, rotor and inertia are not seen"
            yield Diagnostic(f"{name!r} {message}", joint=name)
        elif is_driven and top < SLOW:
            message = f"moves with {top:.2g} per second at most: too slow to show its inertia"
            yield Diagnostic(f"{name!r} {message}", joint=name)
        if np.isfinite(most) and most > 0.0 and top > FAST * most:
            speed = f"{top:.3g} per second, {top / most:.3g} times its limit"
            message = f"{name!r} moves with {speed}: {IN_DEGREES}, or times in another unit?"
            yield Diagnostic(message, True, name)
    if not is_euclidean:
        return
    for name, x, low, high in zip(names, q.T, system.lower, system.upper, strict=True):
        out = max(low - x.min(), x.max() - high)
        if not np.isfinite(high - low) or out <= BEYOND_LIMITS * (high - low):
            continue
        is_far = np.quantile(np.abs(x), MOST) > 4.0 * max(abs(low), abs(high)) > 0.0
        recorded, limits = f"{x.min():.4g} to {x.max():.4g}", f"{low:.4g} and {high:.4g}"
        message = f"{name!r} is recorded from {recorded}; its limits are {limits}"
        yield Diagnostic(f"{message}: {IN_DEGREES}?" if is_far else message, bool(is_far), name)


def check_clipping(name: str, x: np.ndarray, q: np.ndarray) -> Iterator[Diagnostic]:
    """Diagnostics of a torque x (n,) that stays at its extremes while the arm q (n, nq) moves."""
    for extreme in (x.max(), x.min()):
        share = _clipped_share(x, extreme, q)
        level = f"{extreme + 0.0:.4g} for {share:.1%} of the time"
        if share > COARSE:
            reason = "it is rounded too coarsely to show much of this joint"
            yield Diagnostic(f"the torque of {name!r} is {level}: {reason}", joint=name)
        elif share > FLAT:
            remedy = "leave these stretches out, or move it more gently"
            message = f"the torque of {name!r} is cut off at {level}: {remedy}"
            yield Diagnostic(message, share > CLIPPED, name)


def _clipped_share(x: np.ndarray, extreme: float, q: np.ndarray) -> float:
    """Share of the samples that stay at the extreme while the arm moves on.

    Of a smooth quantized peak most samples are at the top level too, but not many more than at the
    next four levels. An arm at rest may have its largest torque for long.
    """
    size = float(np.ptp(x))
    at_extreme = np.abs(x - extreme) <= 1e-9 * max(abs(extreme), size)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], at_extreme.astype(int), [0]])))
    runs = [q[a:b] for a, b in edges.reshape(-1, 2) if b - a >= RUN]
    least = MOVING * np.ptp(q, axis=0)
    count = sum(len(run) for run in runs if (np.ptp(run, axis=0) > least).any())
    step = float(np.median(np.diff(np.unique(x))))
    near = (np.abs(x - extreme) <= max(0.01 * size, 4.5 * step)) & ~at_extreme
    return count / len(x) if count > PEAKED * max(int(near.sum()), 1) else 0.0


def _check_misfit(sample: LogSample) -> Iterator[Diagnostic]:
    """Torques that one set of parameters does not explain, and the hypothesis that does."""
    shares, alone = sample.moments.unexplained, sample.moments.unexplained_alone
    # positions over many turns, as angles in degrees seem to be
    turns = sample.system.nq == sample.system.nv and (np.ptp(sample.record.q, axis=0) > TURNS).any()
    if (shares.max() > SUSPECT or turns) and (explanation := _explain_misfit(sample)) is not None:
        yield explanation
        return
    is_general = float(np.median(shares)) > 0.5
    for row, share, own in zip(sample.regressor.rows, shares, alone, strict=True):
        is_contradiction = share > BAD and share > APART * own
        if not is_contradiction and share <= POOR:
            continue
        is_inconsistent = is_contradiction or is_general
        message = f"{share:.0%} of the torque of {row!r} is explained by no inertia and friction"
        if is_inconsistent:
            message += (
                f" that the other joints agree with ({own:.0%} if they need not): is it a log of "
                "another robot, or are axes, zeros or gravity other than the model's?"
            )
        yield Diagnostic(message, is_inconsistent, row)


def _explain_misfit(sample: LogSample) -> Diagnostic | None:
    """The hypothesis that explains the log best, where one does."""
    now = sample.moments.unexplained
    worst = int(np.argmax(now))
    joint, evidence, best, gravity = "", "", best_hypothesis(sample), None
    if best is None or best[1].unexplained.max() > SUSPECT:
        gravity = gravity_hypothesis(sample)
    if best is not None and (gravity is None or best[1].log_misfit < gravity[1].log_misfit):
        hypothesis, moments = best
        joint, message = hypothesis.joint, hypothesis.message
        if hypothesis.pair is not None and len(sample.regressor.rows) == sample.system.nv:
            # correlation of a recorded torque with the prediction of its true joint, and of its own
            i, j = hypothesis.pair
            predicted = sample.equations[0] @ moments.shared
            torques = predicted[:, i], predicted[:, j], sample.record.tau[:, j]
            with np.errstate(invalid="ignore", divide="ignore"):
                other, own = np.nan_to_num(np.corrcoef(torques))[:2, 2]
            names = sample.system.dynamics.velocities
            evidence = (
                f"; the torque recorded for {names[j]!r} correlates with the column of "
                f"{names[i]!r}: {other:.2f}, against {own:.2f} with its own"
            )
    elif gravity is not None:
        message, moments = gravity
    else:
        return None
    message += (
        f": with that undone, {moments.unexplained[worst]:.1%} of the torque of "
        f"{sample.regressor.rows[worst]!r} stays unexplained, where it is {now[worst]:.0%} now"
    )
    return Diagnostic(message + evidence, True, joint)


def _check_prior(sample: LogSample) -> Iterator[Diagnostic]:
    """Sign and size of all measured torques against those of the prior."""
    scale, correlation = _compare_with_prior(sample)
    weight = sample.moments.spread**2
    names, friction_power = sample.regressor.rows, _friction_power(sample)
    if (weight * correlation).sum() < -0.5 * weight.sum():
        cause = "gravity points elsewhere, or axes are counted the other way"
        if friction_power.mean() < 0.0:
            cause = "they have the wrong sign, for friction would drive the joints"
        listed = _listed(names, "correlation", correlation)
        message = f"the torques are opposite to those of the prior robot: {cause} ({listed})"
        yield Diagnostic(message, True)
        return
    for name, share, similarity in zip(names, friction_power, correlation, strict=True):
        if share < DRIVING:
            power = f"friction of {name!r} would drive it, with {-share:.0%} of its power"
            message = f"{power}: is the sign of its torque wrong, or its torque late?"
            yield Diagnostic(message, bool(share < BACKWARD and similarity < 0.3), name)
    is_alike = np.abs(correlation) > ALIKE
    if not is_alike.any():
        return
    size = np.abs(np.where(is_alike, scale, 1.0))
    mean = float(np.exp((weight * np.log(size))[is_alike].sum() / weight[is_alike].sum()))
    factor = max(mean, 1.0 / mean)
    if factor > FAR_PRIOR:
        word = "larger" if mean > 1.0 else "smaller"
        message = (
            f"the torques are about {factor:.3g} times {word} than those of the prior robot "
            f"({_listed(names, 'factor', np.where(is_alike, scale, np.nan))}): are they in N m, on "
            "the side of the joint (gear ratio, torque constant)? Or has the prior no real masses?"
        )
        yield Diagnostic(message, factor > UNIT_ERROR)


def _compare_with_prior(sample: LogSample) -> tuple[np.ndarray, np.ndarray]:
    """(factor, correlation) (rows,) of measured torques on the prior's rigid ones, less friction."""
    regressor, record = sample.regressor, sample.record
    W, y = regressor.evaluate(record), regressor.observations(record)
    rigid = W[:, :, : regressor.inertial] @ regressor.values[: regressor.inertial]
    scale, correlation = np.ones(y.shape[1]), np.zeros(y.shape[1])
    for j in range(y.shape[1]):
        friction = np.column_stack([W[:, j, regressor.inertial :], np.ones(len(y))])
        friction = friction[:, np.abs(friction).max(axis=0) > 0.0]
        basis = np.linalg.qr(friction / np.linalg.norm(friction, axis=0))[0]
        a, b = (x - basis @ (basis.T @ x) for x in (rigid[:, j], y[:, j]))
        size = a @ a
        if size > 1e-6 * max(rigid[:, j] @ rigid[:, j], 1e-300) and b @ b > 0.0:
            scale[j], correlation[j] = a @ b / size, a @ b / np.sqrt(size * (b @ b))
    return scale, correlation


def _friction_power(sample: LogSample) -> np.ndarray:
    """(rows,) mean power of viscous and Coulomb friction over that of |τ q̇|; below 0 it drives."""
    regressor = sample.regressor
    names = [n for n, is_free in zip(regressor.names, regressor.free, strict=True) if is_free]
    is_friction = np.array([n.endswith((":viscous", ":coulomb", ":stribeck")) for n in names])
    if not is_friction.any() or len(regressor.rows) != sample.system.nv:
        return np.zeros(len(regressor.rows))
    torque = sample.equations[0][:, :, is_friction] @ sample.moments.shared[is_friction]
    power = np.abs(sample.record.tau * sample.record.qd).mean(axis=0)
    dissipated = (torque * sample.record.qd).mean(axis=0)
    return np.where(power > 0.0, dissipated / np.where(power > 0.0, power, 1.0), 0.0)


def _listed(names: Sequence[str], what: str, values: np.ndarray) -> str:
    parts = [f"{n} {x:.3g}" for n, x in zip(names, values, strict=True) if np.isfinite(x)]
    return f"{what} of {', '.join(parts)}"


def check_held_out(
    regressor: Regressor, fitted: Sequence[Record], held_out: Sequence[Record], x: np.ndarray
) -> Iterator[Diagnostic]:
    """Joints whose held-out torques are predicted far worse, or worse than by the prior."""
    if not held_out or min(len(record.t) for record in held_out) < MIN_HELD_OUT:
        return
    train, test = sample_records(fitted), sample_records(held_out)
    # (rows,) root mean squares of the residuals of smoothed torques
    rms = []
    for record, parameters in ((train, x), (test, x), (test, regressor.values)):
        left = regressor.observations(record) - regressor.evaluate(record) @ parameters
        rms.append(np.sqrt((left**2).mean(axis=0)))
    inside, outside, prior = rms
    size = np.maximum(*(regressor.observations(record).std(axis=0) for record in (train, test)))
    noise = regressor.row_noise(test, sample_noise(held_out))
    size = np.where(size > SIGNAL * noise, size, np.inf)  # free joints have no torque
    for k, row in enumerate(regressor.rows):
        if outside[k] < NEGLIGIBLE * size[k]:
            continue
        message = f"the torque of {row!r} is predicted to {outside[k]:.3g} on data held out"
        if outside[k] > prior[k]:
            message += f", worse than by the prior ({prior[k]:.3g}): the log shows too little of it"
            yield Diagnostic(message, joint=row)
        elif outside[k] > LARGER * inside[k]:
            message += f", {outside[k] / inside[k]:.1f} times worse than on data that was fitted"
            yield Diagnostic(f"{message}: more motion, or a drift", joint=row)
