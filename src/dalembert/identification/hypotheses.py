"""Hypotheses about an inconsistent log: each is undone, and a small fit decides.

Torques reversed, exchanged, in other units or of another gear, positions reversed, exchanged, in
degrees or counted from another zero: the error is undone in the log, and the log fitted again. A true
hypothesis leaves a small residual where the log as it is leaves a large one. The prior's masses are
not used.

The fit is of a few hundred samples, by the moments Wᵀ W, Wᵀ y, yᵀ y of each equation. All equations
share one x, weighted by its residuals, so that one joint that contradicts the others stands alone with
its misfit. Each equation is also fitted on its own, which is possible even for wrong logs: only both
together are conclusive.

`gravity_hypothesis` estimates the direction of gravity by the least misfit. W is linear in the
acceleration a of the base, and gravity g is a base that accelerates by −g:
W(g') = W(g) + Σ_k (g − g')_k ∂W/∂a_k.

`estimate_delay` finds how far torques lag behind motion by the shift of least misfit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations, product
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from dalembert.identification.record import Record, rounding_floor, white_noise
from dalembert.identification.regressor import Regressor
from dalembert.systems.system import System

SAMPLES = 400  # of a log that are used
LONGEST, TURN = 0.08, 0.4  # s and rad of a mean: motions of one radian per second are preserved
OUTLIER = 7.0  # times the median deviation from the median
SINGULAR = 1e-10  # in WᵀW of columns of unit length
REWEIGHTINGS = 4
MIN_MISFIT = 0.01  # of the torque: a smaller residual gives no more weight
MAX_DELAY = 0.15  # s, forward and backward
SHIFTS = 30  # each way
GAIN = 1.0  # of the log misfit by which a hypothesis must be better
HALF = 0.5  # of the worst joint's misfit that may remain
DEGREE = np.pi / 180.0
ZEROS = (90.0, -90.0, 180.0, 12.0, -12.0, 25.0, -25.0)  # degrees
ZERO_RANGE = 10.0  # degrees about one of them in which the true zero is searched
ITERATIONS = 12  # of that search
DIRECTION_STEPS = (25.0, 8.0)  # degrees by which the best of 26 directions is refined
STANDARD_GRAVITY = 9.81  # m/s², where the model has none
SAME_DIRECTION = 3.0  # degrees
TORQUE_ERRORS = (
    (-1.0, "has the wrong sign"),
    (1e-3, "is 1000 times too large, as if in mN m"),
    (1e3, "is 1000 times too small, as if in kN m"),
)
NO_GRAVITY = (
    "the torques hold no gravity, as where a controller adds it; fit robot.with_gravity((0, 0, 0)), "
    "and give the fitted robot its gravity"
)


@dataclass(frozen=True, eq=False)
class Moments:
    """WᵀW (rows, p, p), Wᵀy (rows, p) and yᵀy (rows,), of n samples."""

    gram: np.ndarray
    cross: np.ndarray
    power: np.ndarray
    spread: np.ndarray  # (rows,) standard deviation of the torques, known ones included
    noise: np.ndarray  # (rows,) standard deviation of the noise in y
    count: int

    @cached_property
    def shared(self) -> np.ndarray:
        """x (p,) of all equations together, each weighted by its residual."""
        used = self.spread > 0.0
        scale = np.where(used, self.spread, 1.0)
        weight = np.where(used, 1.0 / scale, 0.0)
        for _ in range(REWEIGHTINGS):
            gram = np.einsum("j,jkl->kl", weight**2, self.gram)
            x = _solve(gram, np.einsum("j,jk->k", weight**2, self.cross))
            residual = np.maximum(self.residual(x), MIN_MISFIT * scale)
            weight = np.where(used, 1.0 / residual, 0.0)
        return x

    def residual(self, x: np.ndarray) -> np.ndarray:
        """(rows,) root mean square of y − W x."""
        squares = self.power - 2.0 * self.cross @ x + np.einsum("k,jkl,l->j", x, self.gram, x)
        return np.asarray(np.sqrt(np.maximum(squares, 0.0) / self.count))

    @cached_property
    def unexplained(self) -> np.ndarray:
        """(rows,) share of the torques' deviation that one x for all leaves, without noise."""
        return self._share(self.residual(self.shared))

    @cached_property
    def unexplained_alone(self) -> np.ndarray:
        """(rows,) the same where every equation has an x of its own."""
        own = [_solve(g, c) for g, c in zip(self.gram, self.cross, strict=True)]
        return self._share(np.array([self.residual(x)[j] for j, x in enumerate(own)]))

    @property
    def log_misfit(self) -> float:
        """Σ log of the unexplained shares; one percent is the least."""
        return float(np.log(np.maximum(self.unexplained, MIN_MISFIT)).sum())

    def explains_more_than(self, other: Moments) -> bool:
        """Whether so much less remains unexplained that it cannot be by chance."""
        is_half = bool(self.unexplained.max() < HALF * other.unexplained.max())
        return other.log_misfit - self.log_misfit > GAIN and is_half

    def _share(self, residual: np.ndarray) -> np.ndarray:
        beyond = np.sqrt(np.maximum(residual**2 - self.noise**2, 0.0))
        signal = np.sqrt(np.maximum(self.spread**2 - self.noise**2, 0.0))
        share = np.zeros_like(beyond)
        return np.asarray(np.divide(beyond, signal, out=share, where=signal > 0.5 * self.noise))


def _solve(gram: np.ndarray, cross: np.ndarray) -> np.ndarray:
    """x with gram x = cross; unobserved directions stay near zero."""
    length = np.sqrt(np.diag(gram))
    scale = np.where(length > 0.0, length, 1.0)
    unit = gram / np.outer(scale, scale) + SINGULAR * np.eye(len(gram))
    return np.asarray(np.linalg.solve(unit, cross / scale) / scale)


def sample_records(records: Sequence[Record], margin: int = 0) -> Record:
    """A few samples, spread evenly over all records.

    Each is a mean over a short window, which reduces ripples, jerks at reversals and noise. None is
    nearer than `margin` samples to the ends of a record.
    """
    names = ("t", "q", "qd", "qdd", "tau")
    arrays: dict[str, Any] = {name: _sample_means(records, name, 0, margin) for name in names}
    return replace(records[0], **arrays)


def _sample_means(records: Sequence[Record], name: str, shift: int, margin: int) -> np.ndarray:
    """Weighted means of one quantity about the samples, `shift` samples later."""
    weights = _mean_weights(records)
    offsets = np.arange(len(weights)) - len(weights) // 2 + shift
    margin = max(margin, abs(shift)) + len(weights) // 2
    sizes = [max(len(record.t) - 2 * margin, 0) for record in records]
    total = sum(sizes)
    chosen = np.unique(np.linspace(0, total - 1, min(SAMPLES, total)).round().astype(int))
    means = []
    for record, begin, size in zip(records, np.cumsum([0, *sizes]), sizes, strict=False):
        own = chosen[(chosen >= begin) & (chosen < begin + size)] - begin + margin
        near = getattr(record, name)[own[:, None] + offsets]
        if name == "tau" and near.shape[1] >= 5:  # outliers are clipped
            middle = np.median(near, axis=1, keepdims=True)
            far = OUTLIER * np.median(np.abs(near - middle), axis=1, keepdims=True)
            near = np.clip(near, middle - far, middle + far)
        means.append(np.einsum("k,nk...->n...", weights, near))
    return np.concatenate(means)


def _mean_weights(records: Sequence[Record]) -> np.ndarray:
    """Weights (odd,) of a mean over a time in which the motion hardly changes."""
    qd, qdd = (
        np.concatenate([np.abs(getattr(r, x)).ravel()[:: 1 + r.qd.size // 10_000] for r in records])
        for x in ("qd", "qdd")
    )
    rate = float(np.median(qdd)) / max(float(np.median(qd)), 1e-12)  # 1/s
    length = min(LONGEST, TURN / max(rate, 1e-12)) * records[0].rate
    half = int(min(length / 2.0, min(len(r.t) for r in records) / 10.0))
    weights = 1.0 + np.cos(np.pi * np.arange(-half, half + 1) / (half + 1.0))
    return np.asarray(weights / weights.sum())


def sample_noise(records: Sequence[Record]) -> np.ndarray:
    """(nv,) standard deviation of white noise in the torques of `sample_records`."""
    white = white_noise([r.tau for r in records], 2) * np.linalg.norm(_mean_weights(records))
    return np.asarray(np.maximum(white, rounding_floor(records)))


def estimate_delay(
    regressor: Regressor, records: Sequence[Record], moments: Moments
) -> tuple[float, float, float]:
    """(delay of the torques, s, misfit now, misfit without it); negative where torques lead.

    By the least misfit over shifts and a parabola through its neighbours. Weights are those of the
    fit without shift, so that one factorisation serves all shifts.
    """
    rate = records[0].rate
    step = max(1, round(MAX_DELAY * rate / SHIFTS))
    most = min(SHIFTS, min(len(r.t) for r in records) // (4 * step))
    shifts = step * np.arange(-most, most + 1)
    if most < 1:
        return 0.0, 1.0, 1.0
    record = sample_records(records, step * most)  # no shift is larger
    W = regressor.evaluate(record)
    known = W[:, :, ~regressor.free] @ regressor.values[~regressor.free]
    residual = moments.residual(moments.shared)
    weight = 1.0 / np.maximum(residual, MIN_MISFIT * moments.spread + 1e-300)
    A = (W[:, :, regressor.free] * weight[:, None]).reshape(-1, int(regressor.free.sum()))
    length = np.linalg.norm(A, axis=0)
    U, s, _ = np.linalg.svd(A / np.where(length > 0.0, length, 1.0), full_matrices=False)
    U = U[:, s > SINGULAR**0.5 * s[0]]

    def shifted_misfits(shifts: np.ndarray) -> np.ndarray:
        """Σ_j w_j² |y_j − W_j x|² at its least over x, for torques taken `shifts` samples later."""
        y = []
        for shift in shifts.tolist():
            later = record.with_views(tau=_sample_means(records, "tau", shift, step * most))
            y.append(((regressor.observations(later) - known) * weight).ravel())
        rows = np.stack(y)
        return np.asarray((rows**2).sum(axis=1) - ((rows @ U) ** 2).sum(axis=1))

    misfits = shifted_misfits(shifts)
    k, now = int(np.argmin(misfits)), float(misfits[most])
    if 0 < k < len(shifts) - 1 and step > 1:  # finer, between the neighbours
        shifts = np.arange(shifts[k - 1], shifts[k + 1] + 1, max(1, step // 8))
        misfits = shifted_misfits(shifts)
        k = int(np.argmin(misfits))
    best = float(shifts[k])
    if 0 < k < len(shifts) - 1:
        before, here, after = misfits[k - 1 : k + 2]
        curvature = before - 2.0 * here + after
        if curvature > 0.0:
            best += 0.5 * (before - after) / curvature * (shifts[1] - shifts[0])
    return best / rate, now, float(misfits[k])


@dataclass(frozen=True, eq=False)
class LogSample:
    """Some samples of a log, and the regressor that should explain them."""

    regressor: Regressor
    record: Record
    noise: np.ndarray  # (nv,) white noise of the torques

    @property
    def system(self) -> System:
        """The system of the regressor."""
        return self.regressor.system

    @cached_property
    def equations(self) -> tuple[np.ndarray, np.ndarray]:
        """W (n, rows, free), y (n, rows) of the log as it is."""
        W, y = self.regressor.equations(self.record)
        return W[:, :, self.regressor.free], y

    @cached_property
    def moments(self) -> Moments:
        """Moments of the log as it is."""
        return self._moments(self.record, *self.equations)

    def evaluate(self, hypothesis: Hypothesis) -> Moments:
        """Moments of the log with the hypothetical error undone."""
        record, noise = hypothesis.undo(self.record), self.noise
        if hypothesis.torque is not None:
            noise = np.abs(hypothesis.torque(noise))
        if record.q is not self.record.q:
            W, y = self.regressor.equations(record)
            return self._moments(record, W[:, :, self.regressor.free], y, noise)
        W, y = self.equations
        change = self.regressor.observations(record) - self.regressor.observations(self.record)
        return self._moments(record, W, y + change, noise, self.moments.gram)

    def with_gravity_change(self, by_base: np.ndarray, change: np.ndarray) -> Moments:
        """Moments with a gravity that is less by `change` (3,); `by_base` is ∂W/∂a."""
        W, y = self.equations
        return self._moments(self.record, W + np.tensordot(change, by_base, 1), y)

    def _moments(
        self,
        record: Record,
        W: np.ndarray,
        y: np.ndarray,
        noise: np.ndarray | None = None,
        gram: np.ndarray | None = None,
    ) -> Moments:
        """Moments of W (n, rows, free) x = y (n, rows); WᵀW where it is known."""
        by_row = W.transpose(1, 0, 2)  # (rows, n, p)
        if gram is None:
            by_row = np.ascontiguousarray(by_row)
            gram = np.stack([block.T @ block for block in by_row])
        cross = np.stack([block.T @ y[:, j] for j, block in enumerate(by_row)])
        spread = self.regressor.observations(record).std(axis=0)
        row_noise = self.regressor.row_noise(self.record, self.noise if noise is None else noise)
        return Moments(gram, cross, (y**2).sum(axis=0), spread, row_noise, len(y))


Change = Callable[[np.ndarray], np.ndarray]  # recorded columns (..., nv) → the true ones


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A possible error of a log: the message about it, and what undoes it."""

    joint: str
    message: str
    motion: Change | None = None  # of q, q̇ and q̈
    torque: Change | None = None
    zero: np.ndarray | None = None  # (nv,) rad by which positions are too large
    pair: tuple[int, int] | None = None  # joints whose torques are exchanged
    # the same by its number, and the range of numbers in which the true one is searched
    search: tuple[Callable[[float], Hypothesis], float, float] | None = None

    def undo(self, record: Record) -> Record:
        """The record without the error."""
        arrays = {} if self.torque is None else {"tau": self.torque(record.tau)}
        if self.motion is not None:
            arrays |= {x: self.motion(getattr(record, x)) for x in ("q", "qd", "qdd")}
        if self.zero is not None:
            arrays["q"] = record.q - self.zero
        return record.with_views(**arrays)


def hypotheses(system: System, record: Record) -> Iterator[Hypothesis]:
    """All hypotheses about a log."""
    names, n = system.dynamics.velocities, system.nv
    driven = np.flatnonzero(np.nan_to_num(record.tau).any(axis=0)).tolist()
    for j in driven:
        for factor, message in TORQUE_ERRORS:
            message = f"the torque of {names[j]!r} {message}"
            yield Hypothesis(names[j], message, torque=_scale(n, j, factor))
        for power in (-1.0, 1.0):
            yield _other_gear(names, j, power)
    for i, j in combinations(driven, 2):
        message = f"the torques of {names[i]!r} and {names[j]!r} are exchanged"
        yield Hypothesis(names[i], message, torque=_exchange(n, i, j), pair=(i, j))
    if system.nq != n or system.dynamics.rows:
        return
    is_angle = np.array([kind == "angle" for kind in system.kinds.q])
    is_wide = np.ptp(record.q, axis=0) > np.pi  # less would be hardly any motion in degrees
    if is_wide.any():
        to_radians = partial(np.multiply, np.where(is_angle, DEGREE, 1.0))
        yield Hypothesis("", "the positions are in degrees", to_radians)
    for j, name in enumerate(names):
        reverse = _scale(n, j, -1.0)
        yield Hypothesis(name, f"the position of {name!r} has the wrong sign", reverse)
        message = f"position and torque of {name!r} are counted about the opposite axis"
        yield Hypothesis(name, message, reverse, reverse)
        if is_angle[j] and is_wide[j]:
            yield Hypothesis(name, f"the position of {name!r} is in degrees", _scale(n, j, DEGREE))
        for zero in ZEROS if is_angle[j] else ():
            yield _other_zero(names, j, zero)
    for i, j in combinations(range(n), 2):
        exchange, both = _exchange(n, i, j), f"of {names[i]!r} and {names[j]!r} are exchanged"
        yield Hypothesis(names[i], f"the positions {both}", exchange)
        yield Hypothesis(names[i], f"positions and torques {both}", exchange, exchange)


def _other_gear(names: Sequence[str], j: int, power: float) -> Hypothesis:
    """The torque of a joint times 2^power: another gear ratio or torque constant."""
    ratio = f"{2.0 ** abs(power):.2g} times too {'small' if power > 0.0 else 'large'}"
    message = f"the torque of {names[j]!r} is {ratio}, as by another gear ratio or torque constant"
    search = partial(_other_gear, names, j), power - 0.5, power + 0.5
    return Hypothesis(names[j], message, torque=_scale(len(names), j, 2.0**power), search=search)


def _other_zero(names: Sequence[str], j: int, zero: float) -> Hypothesis:
    """The position of a joint counted from another zero, degrees."""
    message = f"the position of {names[j]!r} is counted from another zero, {zero:+.0f}° off"
    search = partial(_other_zero, names, j), zero - ZERO_RANGE, zero + ZERO_RANGE
    shift = zero * DEGREE * (np.arange(len(names)) == j)
    return Hypothesis(names[j], message, zero=shift, search=search)


def _scale(n: int, j: int, factor: float) -> Change:
    return partial(np.multiply, np.where(np.arange(n) == j, factor, 1.0))


def _exchange(n: int, i: int, j: int) -> Change:
    order = np.arange(n)
    order[[i, j]] = j, i
    return partial(np.take, indices=order, axis=-1)


def best_hypothesis(sample: LogSample) -> tuple[Hypothesis, Moments] | None:
    """The hypothesis that explains most, where it explains what the log as it is does not."""
    every = hypotheses(sample.system, sample.record)
    evaluated = [(each, sample.evaluate(each)) for each in every]
    best, moments = min(evaluated, key=lambda pair: pair[1].log_misfit)
    if best.search is not None:
        hypothesis, *bounds = best.search
        optimum = minimize_scalar(
            lambda x: sample.evaluate(hypothesis(x)).log_misfit,
            bounds=bounds,
            method="bounded",
            options={"maxiter": ITERATIONS},
        )
        refined = hypothesis(float(optimum.x))
        candidates = [(best, moments), (refined, sample.evaluate(refined))]
        best, moments = min(candidates, key=lambda pair: pair[1].log_misfit)
    return (best, moments) if moments.explains_more_than(sample.moments) else None


def gravity_hypothesis(sample: LogSample) -> tuple[str, Moments] | None:
    """(message, moments) with the gravity that fits the data, where it differs from the model's."""
    system, robot = sample.system, sample.system.robot
    if system.dynamics.rows or robot is not system or not hasattr(robot.model, "gravity"):
        return None  # ∂W/∂a is not known
    gravity = np.asarray(robot.dynamics.bound().description.gravity, dtype=float)
    size = float(np.linalg.norm(gravity)) or STANDARD_GRAVITY
    # ∂W/∂a (3, n, rows, free) by the linear acceleration of the base; friction has none
    record, inertial = sample.record, sample.regressor.inertial
    rest, count = np.zeros_like(record.qd), len(record.qd)
    static = robot.regressor(record.q, rest, rest, base_acceleration=np.zeros((count, 6)))
    by_base = np.zeros((3, *static.shape[:2], len(sample.regressor.names)))
    for k, axis in enumerate(np.eye(3, 6)):
        Y = robot.regressor(record.q, rest, rest, base_acceleration=np.tile(axis, (count, 1)))
        by_base[k, :, :, :inertial] = Y - static
    by_base = by_base[..., sample.regressor.free]
    if gravity.any():
        without = sample.with_gravity_change(by_base, gravity)
        if without.explains_more_than(sample.moments):
            return NO_GRAVITY, without

    def evaluate(direction: np.ndarray) -> tuple[np.ndarray, Moments]:
        return direction, sample.with_gravity_change(by_base, gravity - size * direction)

    # the direction of least misfit: of 26, then of the best one's neighbours
    grid = [np.array(d) / np.linalg.norm(d) for d in product((-1, 0, 1), repeat=3) if any(d)]
    evaluated = [evaluate(direction) for direction in (*grid, gravity / size)]
    for step in np.radians(DIRECTION_STEPS):
        best, _ = min(evaluated, key=lambda pair: pair[1].log_misfit)
        side = np.linalg.qr(np.column_stack([best, np.eye(3)]))[0][:, 1:]
        for angle in np.arange(6) * np.pi / 3.0:
            aside = side @ np.array([np.cos(angle), np.sin(angle)])
            evaluated.append(evaluate(np.cos(step) * best + np.sin(step) * aside))
    best, moments = min(evaluated, key=lambda pair: pair[1].log_misfit)
    angle = np.degrees(np.arccos(np.clip(best @ gravity / size, -1.0, 1.0)))
    if angle < SAME_DIRECTION or not moments.explains_more_than(sample.moments):
        return None
    along = f"about along ({', '.join(f'{x:.2f}' for x in size * best)}) m/s² of its base"
    if not gravity.any():
        return f"gravity acts on the arm, {along}, and the model has none", moments
    return f"gravity points elsewhere than in the model, {along}, {angle:.0f}° off", moments
