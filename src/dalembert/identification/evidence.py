"""What speaks against a log before it is fitted, and against the fit once it is made.

Signals are looked at first (`signals`), then small fits (`misfit`, `doubts`), then the prior's
own torques, which tell what no fit can: all torques reversed, or all in another unit. Of a fit,
data that it has not seen may tell another story.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dalembert.identification.doubts import (
    Look,
    badness,
    best_story,
    correlations,
    gravity_story,
)
from dalembert.identification.findings import Finding
from dalembert.identification.logs import part_of, records_of
from dalembert.identification.misfit import delay_of, looked_at, white_noise
from dalembert.identification.record import Record
from dalembert.identification.signals import signal_findings

SUSPECT = 0.08  # unexplained share of a torque from which stories are told
TURNS = 8.0 * np.pi  # rad in one joint: that, too
POOR = 0.25  # from which a joint is named
BAD = 0.35  # from which it is wrong where the joint alone could be explained
APART = 3.0  # times better it is explained alone than together with the others
LATE = 1.4  # misfit now over misfit without delay, from which it is said
TOO_LATE, LONG = 10.0, 0.03  # and from which, with so many seconds, the fit is refused
ALIKE = 0.8  # correlation from which measured and prior torques are of one shape
FAR, STRANGE = 30.0, 5.0  # factors between them that are units, or a prior far off
DRIVING, BACKWARD = -0.05, -0.1  # of a joint's mean |power|: friction that gives energy
LARGER = 3.0  # times the error on fitted data
MEANS = 5.0  # times the noise from which a torque means something
SHARE = 0.15  # of the torque's deviation: smaller errors are no matter


def evidence(
    system: Any, logs: Sequence[Any], records: Sequence[Record], columns: Any, delay: Any = 0.0
) -> tuple[Finding, ...]:
    """All that is found in a log, before it is fitted.

    `logs` are what the records were made of, with the `delay` that was asked for.
    """
    first = tuple(signal_findings(system, logs, records))
    if any(found.wrong for found in first):
        return first  # what comes of such numbers means nothing
    record = looked_at(records)
    if record.t.size * len(columns.rows) <= int(columns.free.sum()):
        says = f"{record.t.size} samples are too few for {int(columns.free.sum())} unknown numbers"
        return (*first, Finding(says, wrong=True))
    look = Look(system, columns, record, white_noise(records))
    # a filter that was chosen by the misfit has made up for some of the delay
    early = records_of(system, part_of(logs, None), None, delay)
    first_look = Look(system, columns, looked_at(early), white_noise(early))
    by_delay = tuple(_of_delay(*delay_of(columns, early, first_look.moments)))
    if any(found.wrong for found in by_delay):
        return first + by_delay
    told = tuple(_of_misfit(look))
    return first + by_delay + told + (() if told else tuple(_of_prior(look)))


def _of_delay(seconds: float, now: float, without: float) -> Iterator[Finding]:
    gain = now / max(without, 1e-300)
    if gain > LATE:
        word = "lag behind" if seconds > 0.0 else "come before"
        says = (
            f"the torques {word} the motion by {abs(seconds) * 1e3:.1f} ms: shifted by that, "
            f"the misfit is {gain**0.5:.2g} times smaller; give delay={seconds:.4g} more"
        )
        yield Finding(says, wrong=gain > TOO_LATE and abs(seconds) > LONG)


def _of_misfit(look: Look) -> Iterator[Finding]:
    """What one set of numbers for all joints leaves unexplained, and the story that explains it."""
    shares, alone = look.moments.unexplained, look.moments.alone
    # positions that go round and round, as angles in degrees seem to
    turns = look.system.nq == look.system.nv and (np.ptp(look.record.q, axis=0) > TURNS).any()
    if (shares.max() > SUSPECT or turns) and (told := _told(look)) is not None:
        yield told
        return
    every = float(np.median(shares)) > 0.5
    for row, share, own in zip(look.columns.rows, shares, alone, strict=True):
        against = share > BAD and share > APART * own
        if not against and share <= POOR:
            continue
        says = (
            f"{share:.0%} of the torque of {row!r} is explained by no inertia and friction of this "
        )
        says += "robot"
        if against or every:
            says += (
                f" that the other joints agree with ({own:.0%} if they need not): is it a log of "
                "another robot, or are axes, zeros or gravity other than the model's?"
            )
        yield Finding(says, against or every, row)


def _told(look: Look) -> Finding | None:
    """The story that explains what the log as it is does not."""
    now, worst = look.moments.unexplained, int(np.argmax(look.moments.unexplained))
    joint, other, found = "", "", best_story(look)
    pointed = None
    if found is None or found[1].unexplained.max() > SUSPECT:
        pointed = gravity_story(look)
    if found is not None and (
        pointed is None or badness(found[1].unexplained) < badness(pointed[1].unexplained)
    ):
        story, made = found
        joint, says = story.joint, story.says
        if (pair := correlations(look, story, made)) is not None and story.pair is not None:
            i, j = (look.system.dynamics.velocities[k] for k in story.pair)
            other = (
                f"; the torque recorded for {j!r} correlates with the column of {i!r}: "
                f"{pair[0]:.2f}, against {pair[1]:.2f} with its own"
            )
    elif pointed is not None:
        says, made = pointed
    else:
        return None
    says += (
        f": with that undone, {made.unexplained[worst]:.1%} of the torque of "
        f"{look.columns.rows[worst]!r} stays unexplained, where it is {now[worst]:.0%} now"
    )
    return Finding(says + other, wrong=True, joint=joint)


def _of_prior(look: Look) -> Iterator[Finding]:
    """Torques of the prior beside those measured: sign and size of all of them."""
    scale, alike = _beside_prior(look)
    weight = look.moments.spread**2
    names, backward = look.columns.rows, _friction_drives(look)
    if (weight * alike).sum() < -0.5 * weight.sum():
        cause = (
            "they have the wrong sign, for friction would drive the joints"
            if backward.mean() < 0.0
            else "gravity points elsewhere, or axes are counted the other way"
        )
        says = f"the torques are opposite to those of the prior robot: {cause}"
        yield Finding(f"{says} ({_listed(names, 'correlation', alike)})", wrong=True)
        return
    for name, share, similar in zip(names, backward, alike, strict=True):
        if share < DRIVING:
            says = (
                f"friction of {name!r} would drive it, with {-share:.0%} of its power: is the sign of "
                "its torque wrong, or its torque late?"
            )
            yield Finding(says, wrong=bool(share < BACKWARD and similar < 0.3), joint=name)
    strong = np.abs(alike) > ALIKE
    if not strong.any():
        return
    size = np.abs(np.where(strong, scale, 1.0))
    middle = float(np.exp((weight * np.log(size))[strong].sum() / weight[strong].sum()))
    far = max(middle, 1.0 / middle)
    if far > STRANGE:
        word = "larger" if middle > 1.0 else "smaller"
        says = (
            f"the torques are about {far:.3g} times {word} than those of the prior robot "
            f"({_listed(names, 'factor', np.where(strong, scale, np.nan))}): are they in N m, on the "
            "side of the joint (gear ratio, torque constant)? Or has the prior no real masses?"
        )
        yield Finding(says, wrong=far > FAR)


def _beside_prior(look: Look) -> tuple[np.ndarray, np.ndarray]:
    """(factor, correlation) (rows,) of measured torques on the prior's rigid ones, friction apart."""
    columns, record = look.columns, look.record
    W, y = columns.evaluate(record), columns.measured(record)
    rigid = W[:, :, : columns.inertial] @ columns.values[: columns.inertial]
    found = []
    for j in range(y.shape[1]):
        other = np.column_stack([W[:, j, columns.inertial :], np.ones(len(y))])
        other = other[:, np.abs(other).max(axis=0) > 0.0]
        basis = np.linalg.qr(other / np.linalg.norm(other, axis=0))[0]
        a, b = (x - basis @ (basis.T @ x) for x in (rigid[:, j], y[:, j]))
        size = a @ a
        seen = size > 1e-6 * max(rigid[:, j] @ rigid[:, j], 1e-300) and b @ b > 0.0
        found.append((a @ b / size, a @ b / np.sqrt(size * (b @ b))) if seen else (1.0, 0.0))
    scale, alike = np.array(found).T
    return scale, alike


def _friction_drives(look: Look) -> np.ndarray:
    """(rows,) mean power of viscous and Coulomb friction over that of |τ q̇|; below 0 it drives."""
    names = [n for n, free in zip(look.columns.names, look.columns.free, strict=True) if free]
    rubbing = np.array([n.endswith((":viscous", ":coulomb", ":stribeck")) for n in names])
    if not rubbing.any() or len(look.columns.rows) != look.system.nv:
        return np.zeros(len(look.columns.rows))
    torque = look.equations.W[:, :, rubbing] @ look.moments.shared[rubbing]
    qd = look.record.qd
    power = np.abs(look.record.tau * qd).mean(axis=0)
    taken = (torque * qd).mean(axis=0)
    return np.divide(taken, power, out=np.zeros_like(taken), where=power > 0.0)


def _listed(names: Sequence[str], what: str, values: np.ndarray) -> str:
    shown = [f"{n} {x:.3g}" for n, x in zip(names, values, strict=True) if np.isfinite(x)]
    return f"{what} of {', '.join(shown)}"


def afterwards(
    columns: Any, fitted: Sequence[Record], held: Sequence[Record], x: np.ndarray
) -> Iterator[Finding]:
    """Joints whose held-out torques are predicted far worse, or worse than by the prior."""
    if not held or min(len(record.t) for record in held) < 50:
        return
    seen, unseen = looked_at(fitted), looked_at(held)
    inside, outside, prior = (
        _left(columns, *pair) for pair in ((seen, x), (unseen, x), (unseen, columns.values))
    )
    size = np.maximum(columns.measured(seen).std(axis=0), columns.measured(unseen).std(axis=0))
    noise = columns.noise_of_rows(unseen, white_noise(held))
    size = np.where(size > MEANS * noise, size, np.inf)  # nobody drives a free joint
    for k, row in enumerate(columns.rows):
        if outside[k] < SHARE * size[k]:
            continue
        says = f"the torque of {row!r} is predicted to {outside[k]:.3g} on data held out"
        if outside[k] > prior[k]:
            says += f", worse than by the prior ({prior[k]:.3g}): the log shows too little of it"
            yield Finding(says, joint=row)
        elif outside[k] > LARGER * inside[k]:
            says += f", {outside[k] / inside[k]:.1f} times worse than on data that was fitted"
            yield Finding(f"{says}: more motion, or a drift", joint=row)


def _left(columns: Any, record: Record, x: np.ndarray) -> np.ndarray:
    """(rows,) root mean square of what x leaves of smoothed torques."""
    left = columns.measured(record) - columns.evaluate(record) @ x
    return np.asarray(np.sqrt((left**2).mean(axis=0)))
