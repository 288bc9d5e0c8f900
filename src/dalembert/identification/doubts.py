"""Stories about a log that would explain a bad fit: each is told to the data, and the misfit decides.

Torques reversed, exchanged or in other units, positions reversed, exchanged, in degrees or counted
from another zero: the log is changed back as the story says, and fitted again (`misfit`). A true story
leaves little where the log as it is leaves much. None of it needs the prior's masses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from dalembert.identification.misfit import (
    LEAST,
    Equations,
    Moments,
    equations,
    moments,
    with_torques,
)
from dalembert.identification.record import Record

GAIN = 1.0  # of Σ log(unexplained) by which a story must be better
HALF = 0.5  # of the worst joint's misfit that it may leave
DEGREE = np.pi / 180.0


@dataclass(frozen=True, eq=False)
class Look:
    """What is looked at: some samples of a log, and the columns that should explain them."""

    system: Any
    columns: Any
    record: Record
    noise: np.ndarray  # (nv,) white noise of the torques

    @cached_property
    def equations(self) -> Equations:
        """Of the log as it is."""
        return equations(self.columns, self.record)

    @cached_property
    def moments(self) -> Moments:
        """Of the log as it is."""
        return moments(self.equations, self.of_rows(self.noise))

    def of_rows(self, noise: np.ndarray) -> np.ndarray:
        """(rows,) the noise of the equations, where they are those of the joints."""
        rows = len(self.columns.rows)
        return noise if len(noise) == rows else np.zeros(rows)

    def told(self, story: Story) -> Moments:
        """Moments of the log as the story has it."""
        noise = self.of_rows(np.abs(story.noise) * self.noise)
        if story.moved:
            return moments(equations(self.columns, story.record), noise)
        y = self.columns.measured(story.record)
        known = self.columns.measured(self.record) - self.equations.y
        changed = Equations(self.equations.W, y - known, y.std(axis=0))
        return with_torques(self.moments, changed, noise)


@dataclass(frozen=True, eq=False)
class Story:
    """How a log may have come about: what it says of which joint, and the log changed back."""

    joint: str
    says: str
    record: Record
    moved: bool  # whether positions are changed, not torques alone
    pair: tuple[int, int] | None = None  # joints whose torques are exchanged
    noise: np.ndarray | float = 1.0  # factor of the torques' noise, (nv,) or one


def stories(look: Look) -> Iterator[Story]:
    """All of them."""
    yield from _of_torques(look)
    plain = look.system.nq == look.system.nv and not look.system.dynamics.rows
    if plain:
        yield from _of_positions(look)


def _of_torques(look: Look) -> Iterator[Story]:
    names, record = look.system.dynamics.velocities, look.record
    for j, name in enumerate(names):
        for factor, says in (
            (-1.0, f"the torque of {name!r} has the wrong sign"),
            (1e-3, f"the torque of {name!r} is 1000 times too large, as if in mN m"),
            (1e3, f"the torque of {name!r} is 1000 times too small, as if in kN m"),
        ):
            factors = np.ones(len(names))
            factors[j] = factor
            changed = replace(record, tau=record.tau * factors)
            yield Story(name, says, changed, False, noise=factors)
    for i, j in combinations(range(len(names)), 2):
        says = f"the torques of {names[i]!r} and {names[j]!r} are exchanged"
        yield Story(names[i], says, replace(record, tau=_swapped(record.tau, i, j)), False, (i, j))


def _of_positions(look: Look) -> Iterator[Story]:
    names, record, kinds = look.system.dynamics.velocities, look.record, look.system.kinds.q
    one = np.ones(len(names))
    in_degrees = np.where([kind == "angle" for kind in kinds], DEGREE, 1.0)
    wide = np.ptp(record.q, axis=0) > np.pi  # of less, degrees would be hardly any motion
    if wide.any():
        yield Story("", "the positions are in degrees", _scaled(record, in_degrees), True)
    for j, name in enumerate(names):
        axis = one.copy()
        axis[j] = -1.0
        yield Story(
            name, f"the position of {name!r} has the wrong sign", _scaled(record, axis), True
        )
        says = f"position and torque of {name!r} are counted about the opposite axis"
        turned = replace(_scaled(record, axis), tau=record.tau * axis)
        yield Story(name, says, turned, True)
        if kinds[j] != "angle":
            continue
        axis = one.copy()
        axis[j] = DEGREE
        if wide[j]:
            says = f"the position of {name!r} is in degrees"
            yield Story(name, says, _scaled(record, axis), True)
        for zero in (90.0, -90.0, 180.0):
            says = f"the position of {name!r} is counted from another zero, {zero:+.0f}° off"
            shifted = record.q - zero * DEGREE * (np.arange(len(names)) == j)
            yield Story(name, says, replace(record, q=shifted), True)
    for i, j in combinations(range(len(names)), 2):
        moved: Any = {x: _swapped(getattr(record, x), i, j) for x in ("q", "qd", "qdd")}
        says = f"the positions of {names[i]!r} and {names[j]!r} are exchanged"
        yield Story(names[i], says, replace(record, **moved), True)
        both = replace(record, **moved, tau=_swapped(record.tau, i, j))
        says = f"positions and torques of {names[i]!r} and {names[j]!r} are exchanged"
        yield Story(names[i], says, both, True)


def _scaled(record: Record, factors: np.ndarray) -> Record:
    moved: Any = {name: getattr(record, name) * factors for name in ("q", "qd", "qdd")}
    return replace(record, **moved)


def _swapped(x: np.ndarray, i: int, j: int) -> np.ndarray:
    order = np.arange(x.shape[1])
    order[[i, j]] = order[[j, i]]
    return x[:, order]


def badness(unexplained: np.ndarray) -> float:
    """Σ log of what is unexplained; one percent is nothing."""
    return float(np.log(np.maximum(unexplained, LEAST)).sum())


def best_story(look: Look) -> tuple[Story, Moments] | None:
    """The story that explains most, where it explains what the log as it is does not."""
    now = look.moments.unexplained
    told = [(story, look.told(story)) for story in stories(look)]
    story, made = min(told, key=lambda pair: badness(pair[1].unexplained))
    return (story, made) if explains(now, made.unexplained) else None


def explains(now: np.ndarray, then: np.ndarray) -> bool:
    """Whether what stays unexplained is so much less that it cannot be by chance."""
    return badness(now) - badness(then) > GAIN and bool(then.max() < HALF * now.max())


def correlations(look: Look, story: Story, made: Moments) -> tuple[float, float] | None:
    """Of a recorded torque with what joint it belongs to by the story, and with its own."""
    if story.pair is None or len(look.columns.rows) != look.system.nv:
        return None
    i, j = story.pair
    predicted = look.equations.W @ made.shared
    return _correlation(look.record.tau[:, j], predicted[:, i]), _correlation(
        look.record.tau[:, j], predicted[:, j]
    )


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    a, b = a - a.mean(), b - b.mean()
    size = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / size) if size > 0.0 else 0.0
