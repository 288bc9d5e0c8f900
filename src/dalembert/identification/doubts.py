"""Stories about a log that would explain a bad fit: each is told to the data, and the misfit decides.

Torques reversed, exchanged, in other units or of another gear, positions reversed, exchanged, in
degrees or counted from another zero: the log is changed back as the story says, and fitted again
(`misfit`). A true story leaves little where the log as it is leaves much. None of it needs the prior's
masses.

`gravity_story` says which way gravity points by the data: in the direction in which one set of numbers
explains most. Columns are linear in the acceleration a of the base, and gravity g is a base that
accelerates by −g: W(g') = W(g) + Σ_k (g − g')_k ∂W/∂a_k.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations, product
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from dalembert.identification.misfit import (
    LEAST,
    Equations,
    Moments,
    equations,
    moments,
)
from dalembert.identification.record import Record

GAIN = 1.0  # of Σ log(unexplained) by which a story must be better
HALF = 0.5  # of the worst joint's misfit that it may leave
DEGREE = np.pi / 180.0
ZEROS = (90.0, -90.0, 180.0, 12.0, -12.0, 25.0, -25.0)  # degrees
STEP = 10.0  # degrees about one of them in which the true zero is looked for
TRIED = 12  # numbers that are tried there
STEPS = (25.0, 8.0)  # degrees by which the best of 26 directions is refined
STANDARD = 9.81  # m/s², where the model has none
WEIGHTLESS = (
    "the torques hold no gravity, as where a controller adds it; fit robot.with_gravity((0, 0, 0)), "
    "and give the fitted robot its gravity"
)
SAME = 3.0  # degrees: nearer than that it is the gravity the model has


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
        """(rows,) the noise of the equations."""
        return np.asarray(self.columns.noise_of_rows(self.record, noise))

    def told(self, story: Story) -> Moments:
        """Moments of the log as the story has it."""
        noise = self.of_rows(np.abs(story.noise) * self.noise)
        if story.moved:
            return moments(equations(self.columns, story.record), noise)
        y = self.columns.measured(story.record)
        known = self.columns.measured(self.record) - self.equations.y
        changed = Equations(self.equations.W, y - known, y.std(axis=0))
        return moments(changed, noise, self.moments.gram)


@dataclass(frozen=True, eq=False)
class Story:
    """How a log may have come about: what it says of which joint, and the log changed back."""

    joint: str
    says: str
    record: Record
    moved: bool  # whether positions are changed, not torques alone
    pair: tuple[int, int] | None = None  # joints whose torques are exchanged
    noise: np.ndarray | float = 1.0  # factor of the torques' noise, (nv,) or one
    again: Callable[[float], Story] | None = None  # the same with another number than `number`
    number: float = 0.0
    span: float = 0.0  # on both sides of `number` that the true one may be


def stories(look: Look) -> Iterator[Story]:
    """All of them."""
    yield from _of_torques(look)
    if look.system.nq == look.system.nv and not look.system.dynamics.rows:
        yield from _of_positions(look)


def _of_torques(look: Look) -> Iterator[Story]:
    names, record = look.system.dynamics.velocities, look.record
    driven = np.flatnonzero(np.nan_to_num(record.tau).any(axis=0)).tolist()
    for j in driven:
        for factor, says in (
            (-1.0, "has the wrong sign"),
            (1e-3, "is 1000 times too large, as if in mN m"),
            (1e3, "is 1000 times too small, as if in kN m"),
        ):
            yield _other_torque(look, j, factor, says)
        for power in (-1.0, 1.0):
            yield _geared(look, j, power)
    for i, j in combinations(driven, 2):
        says = f"the torques of {names[i]!r} and {names[j]!r} are exchanged"
        yield Story(names[i], says, replace(record, tau=_swapped(record.tau, i, j)), False, (i, j))


def _other_torque(look: Look, j: int, factor: float, says: str, **more: Any) -> Story:
    """The torque of a joint times a factor."""
    name, factors = look.system.dynamics.velocities[j], np.ones(look.system.nv)
    factors[j] = factor
    changed = replace(look.record, tau=look.record.tau * factors)
    return Story(name, f"the torque of {name!r} {says}", changed, False, noise=factors, **more)


def _geared(look: Look, j: int, power: float) -> Story:
    """The torque of a joint times 2^power: another gear ratio or torque constant."""
    much = f"{2.0 ** abs(power):.2g} times too {'small' if power > 0.0 else 'large'}"
    says = f"is {much}, as by another gear ratio or torque constant"
    again = partial(_geared, look, j)
    return _other_torque(look, j, 2.0**power, says, again=again, number=power, span=0.5)


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
        for zero in ZEROS:
            yield _shifted(look, j, zero)
    for i, j in combinations(range(len(names)), 2):
        moved: Any = {x: _swapped(getattr(record, x), i, j) for x in ("q", "qd", "qdd")}
        says = f"the positions of {names[i]!r} and {names[j]!r} are exchanged"
        yield Story(names[i], says, replace(record, **moved), True)
        both = replace(record, **moved, tau=_swapped(record.tau, i, j))
        says = f"positions and torques of {names[i]!r} and {names[j]!r} are exchanged"
        yield Story(names[i], says, both, True)


def _shifted(look: Look, j: int, zero: float) -> Story:
    """The position of a joint counted from another zero, degrees."""
    name, record = look.system.dynamics.velocities[j], look.record
    says = f"the position of {name!r} is counted from another zero, {zero:+.0f}° off"
    shifted = record.q - zero * DEGREE * (np.arange(look.system.nv) == j)
    moved = replace(record, q=shifted)
    return Story(name, says, moved, True, None, 1.0, partial(_shifted, look, j), zero, STEP)


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
    if (again := story.again) is not None:
        found = minimize_scalar(
            lambda x: badness(look.told(again(x)).unexplained),
            bounds=(story.number - story.span, story.number + story.span),
            method="bounded",
            options={"maxiter": TRIED},
        )
        nearer = look.told(again(float(found.x)))
        if badness(nearer.unexplained) < badness(made.unexplained):
            story, made = again(float(found.x)), nearer
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


def gravity_story(look: Look) -> tuple[str, Moments] | None:
    """A sentence and the moments with the gravity that the data fit, where it is another one."""
    robot = look.system.robot
    if look.system.dynamics.rows or robot is not look.system or not hasattr(robot.model, "gravity"):
        return None  # its columns do not tell what another would do
    gravity = np.asarray(robot.dynamics.bound().description.gravity, dtype=float)
    size = float(np.linalg.norm(gravity)) or STANDARD
    slopes = _slopes(look)
    if gravity.any():
        free = _with_gravity(look, slopes, gravity)
        if explains(look.moments.unexplained, free.unexplained):
            return WEIGHTLESS, free
    best, made = _best_gravity(look, gravity, size, slopes)
    turned = np.degrees(np.arccos(np.clip(best @ gravity / size, -1.0, 1.0)))
    if turned < SAME or not explains(look.moments.unexplained, made.unexplained):
        return None
    along = f"about along ({', '.join(f'{x:.2f}' for x in size * best)}) m/s² of its base"
    if not gravity.any():
        return f"gravity acts on the arm, {along}, and the model has none", made
    return f"gravity points elsewhere than in the model, {along}, {turned:.0f}° off", made


def _with_gravity(look: Look, slopes: np.ndarray, change: np.ndarray) -> Moments:
    """Moments with a gravity that is less by `change` (3,)."""
    now = look.equations
    turned = replace(now, W=now.W + np.tensordot(change, slopes, 1))
    return moments(turned, look.of_rows(look.noise))


def _best_gravity(
    look: Look, gravity: np.ndarray, size: float, slopes: np.ndarray
) -> tuple[np.ndarray, Moments]:
    """(direction (3,), moments) of least misfit: 26 of them, then the best one's neighbours."""

    def told(direction: np.ndarray) -> Moments:
        return _with_gravity(look, slopes, gravity - size * direction)

    tried = [np.array(d) / np.linalg.norm(d) for d in product((-1, 0, 1), repeat=3) if any(d)]
    found = [(badness(told(d).unexplained), d) for d in (*tried, gravity / size)]
    for step in np.radians(STEPS):
        _, at = min(found, key=lambda pair: pair[0])
        side = np.linalg.qr(np.column_stack([at, np.eye(3)]))[0][:, 1:]
        for angle in np.arange(6) * np.pi / 3.0:
            aside = side @ np.array([np.cos(angle), np.sin(angle)])
            direction = np.cos(step) * at + np.sin(step) * aside
            found.append((badness(told(direction).unexplained), direction))
    _, best = min(found, key=lambda pair: pair[0])
    return best, told(best)


def _slopes(look: Look) -> np.ndarray:
    """∂W/∂a (3, n, rows, free) by the linear acceleration of the base; friction has none."""
    record, columns = look.record, look.columns
    rest = np.zeros_like(record.qd)
    robot: Any = look.system
    still = np.zeros((len(rest), 6))
    level = robot.regressor(record.q, rest, rest, base_acceleration=still)
    found = np.zeros((3, *level.shape[:2], len(columns.names)))
    for k in range(3):
        pushed = still.copy()
        pushed[:, k] = 1.0
        found[k, :, :, : columns.inertial] = (
            robot.regressor(record.q, rest, rest, base_acceleration=pushed) - level
        )
    return np.asarray(found[..., columns.free])
