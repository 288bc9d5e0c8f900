"""What the columns of a log tell by themselves: times, motions, torques and rates that cannot be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dalembert.identification.columns import may_be_passive
from dalembert.identification.findings import Finding
from dalembert.identification.logs import STILL, driven_in
from dalembert.identification.preparing import NOT_USED
from dalembert.identification.record import Record

SLOWEST = 5.0  # Hz: fewer samples per second show no motion of an arm
SLOW = 0.05  # rad/s or m/s: slower shows gravity and friction, and no inertia
SHORT = 2.0  # s
BEYOND = 0.05  # of its range that a joint may be outside of its limits, and only be named
MOSTLY = 0.99  # of the samples
FAST = 3.0  # times the highest speed
FLAT, CLIPPED, RUN = 0.005, 0.02, 5  # shares at the extreme that are said, are wrong; in a row
COARSE = 0.5  # share at the extreme, from which it is rounded, not cut off
PEAKED = 3.0  # times more at the extreme than beside it
PASSED = 0.002  # of its range that some joint moves while a torque stays at its extreme
AT_LIMIT = 0.98  # of the drive's limit
AGREES, DIFFERS = 0.1, 0.25  # of 1, by which recorded rates differ from derivatives
FACTORS = (
    (180.0 / np.pi, "57.3, as if degrees were read as radians on one side"),
    (1000.0, "1000, as if milliseconds were read as seconds on one side"),
    (-1.0, "−1: it has the wrong sign"),
)


def signal_findings(
    system: Any, logs: Sequence[Any], records: Sequence[Record]
) -> Iterator[Finding]:
    """Findings in the order in which they would mislead: times, rates, motions, torques."""
    yield from _of_times(records)
    for log in logs:
        if not isinstance(log, Record):
            yield from _of_rates(system, log)
    unused = dict.fromkeys(x for r in records for x in r.said if x.endswith(f": {NOT_USED}"))
    if unused:
        yield Finding("; ".join(unused))
    yield from _of_motion(system, records)
    yield from _of_torques(system, logs)


def _of_times(records: Sequence[Record]) -> Iterator[Finding]:
    rate, length = records[0].rate, sum(float(r.t[-1] - r.t[0]) for r in records)
    if rate < SLOWEST:
        says = (
            f"there are {rate:.3g} samples per second over {length:.4g} s: are times in milliseconds? "
            "Name their column 'time [ms]' (columns={'time': 'time [ms]'}, --columns 'time=time [ms]')"
        )
        yield Finding(says, wrong=True)
    elif length < SHORT:
        yield Finding(f"{length:.3g} s of motion show little of a robot")


def _of_rates(system: Any, log: Any) -> Iterator[Finding]:
    """Recorded velocities beside the derivatives of recorded positions."""
    if "qd" not in log or system.nq != system.nv:
        return
    names, t = system.dynamics.velocities, log.time.values
    steps = np.diff(t)
    good = steps > 0.0
    slope = np.diff(log.q.values, axis=0)[good] / steps[good][:, None]
    mean = 0.5 * (log.qd.values[1:] + log.qd.values[:-1])[good]
    slope, mean = _smooth(slope), _smooth(mean)
    a, b = mean - mean.mean(axis=0), slope - slope.mean(axis=0)
    size = np.outer(np.linalg.norm(a, axis=0), np.linalg.norm(b, axis=0))
    table = np.divide(a.T @ b, size, out=np.zeros_like(size), where=size > 0.0)
    for j, name in enumerate(names):
        best = int(np.argmax(np.abs(table[j])))
        if best != j and abs(table[j, best]) > 0.95 > 1.05 * abs(table[j, j]):
            says = (
                f"the velocity recorded for {name!r} is that of {names[best]!r}: it correlates with "
                f"its derivative with {table[j, best]:.2f}, against {table[j, j]:.2f} with its own"
            )
            yield Finding(says, wrong=True, joint=name)
        elif abs(table[j, j]) > 0.9:
            factor = float(mean[:, j] @ slope[:, j] / (slope[:, j] @ slope[:, j]))
            says = f"the recorded velocity of {name!r} is {factor:.4g} times the derivative of its "
            says += "position"
            for known, meaning in FACTORS:
                if any(abs(factor / x - 1.0) < 0.2 for x in (known, 1.0 / known)):
                    says += f": {meaning}"
            if abs(factor - 1.0) >= AGREES:
                yield Finding(says, wrong=abs(factor - 1.0) > DIFFERS, joint=name)


def _smooth(x: np.ndarray, most: int = 400) -> np.ndarray:
    """Means over blocks (blocks, n), so that the noise of differences goes."""
    size = max(1, len(x) // most)
    whole = x[: len(x) // size * size]
    return whole.reshape(-1, size, x.shape[1]).mean(axis=1)


def _of_motion(system: Any, records: Sequence[Record]) -> Iterator[Finding]:
    names, plain = system.dynamics.velocities, system.nq == system.nv
    qd = np.concatenate([r.qd for r in records])
    fastest = np.quantile(np.abs(qd), MOSTLY, axis=0)  # a torn sample is fast, too
    limit = np.asarray(system.velocity_limit)
    if plain:
        q = np.concatenate([r.q for r in records])
        ranges = np.ptp(q, axis=0)
    else:
        ranges = np.max([np.ptp(np.cumsum(r.qd, axis=0), axis=0) / r.rate for r in records], axis=0)
    if (ranges < STILL).all():
        yield Finding(
            "no joint moves in this log: torques at rest show gravity at most", wrong=True
        )
        return
    driven = driven_in(system, records)
    for name, size, top, most, own in zip(names, ranges, fastest, limit, driven, strict=True):
        if not own:
            pass  # the others move it, or need not
        elif size < STILL:
            says = f"{name!r} never moves (by {size:.2g}): its friction, rotor and inertia are not seen"
            yield Finding(says, joint=name)
        elif top < SLOW:
            says = f"{name!r} moves with {top:.2g} per second at most: too slow to show its inertia"
            yield Finding(says, joint=name)
        if np.isfinite(most) and most > 0.0 and top > FAST * most:
            says = (
                f"{name!r} moves with {top:.3g} per second, {top / most:.3g} times its limit: are "
                "positions in degrees (degrees=True, --deg), or times in another unit?"
            )
            yield Finding(says, wrong=True, joint=name)
    if plain:
        yield from _of_limits(system, names, q)


def _of_limits(system: Any, names: Sequence[str], q: np.ndarray) -> Iterator[Finding]:
    for name, x, low, high in zip(names, q.T, system.lower, system.upper, strict=True):
        out = max(low - x.min(), x.max() - high)
        if not np.isfinite(high - low) or out <= BEYOND * (high - low):
            continue
        far = np.quantile(np.abs(x), MOSTLY) > 4.0 * max(abs(low), abs(high)) > 0.0
        recorded, limits = f"{x.min():.4g} to {x.max():.4g}", f"{low:.4g} and {high:.4g}"
        says = f"{name!r} is recorded from {recorded}; its limits are {limits}"
        if far:
            says += ": are positions in degrees (degrees=True, --deg)?"
        yield Finding(says, wrong=bool(far), joint=name)


def _of_torques(system: Any, logs: Sequence[Any]) -> Iterator[Finding]:
    names, limit = system.dynamics.velocities, np.asarray(system.effort_limit)
    tau = np.concatenate([np.asarray(log.tau) for log in logs])
    q = np.concatenate([np.asarray(log.q) for log in logs])
    for name, x, most in zip(names, tau.T, limit, strict=True):
        if not np.isfinite(x).any() or (may_be_passive(system) and not x.any()):
            continue  # nobody drives it
        x = np.nan_to_num(x)
        if np.ptp(x) == 0.0:
            says = f"the torque of {name!r} is {x[0] + 0.0:.4g} all the time: it was not recorded"
            yield Finding(says, wrong=True, joint=name)
            continue
        yield from _of_clipping(name, x, q)
        if np.isfinite(most) and most > 0.0 and np.mean(np.abs(x) > AT_LIMIT * most) > FLAT:
            says = f"the torque of {name!r} reaches the limit of its drive, {most:.4g}"
            yield Finding(says, joint=name)


def _of_clipping(name: str, x: np.ndarray, q: np.ndarray) -> Iterator[Finding]:
    for at in (x.max(), x.min()):
        share = _clipped(x, at, q)
        if share > COARSE:
            says = (
                f"the torque of {name!r} is {at + 0.0:.4g} for {share:.1%} of the time: it is rounded "
                "too coarsely to show much of this joint"
            )
            yield Finding(says, joint=name)
        elif share > FLAT:
            says = (
                f"the torque of {name!r} is cut off at {at:.4g} for {share:.1%} of the time: leave "
                "these stretches out, or move it more gently"
            )
            yield Finding(says, wrong=share > CLIPPED, joint=name)


def _clipped(x: np.ndarray, at: float, q: np.ndarray) -> float:
    """Share of the samples that stay at the extreme while the arm moves on.

    Of a smooth peak, quantised, most samples are at the top level too, but not many more than at the
    next four levels. An arm at rest may hold its largest torque for long.
    """
    size = float(np.ptp(x))
    level = np.abs(x - at) <= 1e-9 * max(abs(at), size)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], level.astype(int), [0]])))
    runs = [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a >= RUN]
    if not runs:
        return 0.0
    moved = PASSED * np.ptp(q, axis=0)
    inside = sum(b - a for a, b in runs if (np.ptp(q[a:b], axis=0) > moved).any())
    levels = np.unique(x)
    step = float(np.median(np.diff(levels))) if len(levels) > 1 else 0.0
    near = (np.abs(x - at) <= max(0.01 * size, 4.5 * step)) & ~level
    return inside / len(x) if inside > PEAKED * max(int(near.sum()), 1) else 0.0
