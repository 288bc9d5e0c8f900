"""`excitation`: the settings checked, the problem made, searched, certified."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import SettingError, ShapeError
from dalembert.identification.exciting.certify import certified, fine_count, ranges
from dalembert.identification.exciting.columns import BaseColumns, base_columns, told_apart
from dalembert.identification.exciting.limits import Limits, limits_of, vector
from dalembert.identification.exciting.objective import OBJECTIVES, Objective
from dalembert.identification.exciting.problem import Basis, Problem
from dalembert.identification.exciting.result import Excitation
from dalembert.identification.exciting.search import Effort, search
from dalembert.identification.exciting.workspace import workspace_of
from dalembert.linalg.threads import single_threaded
from dalembert.progress import on_terminal, progress_bar
from dalembert.systems.robot import Robot
from dalembert.text import suggest

HARMONICS, PERIOD = 5, 10.0  # Swevers 1997: five harmonics of 0.1 Hz
STATES = 8  # equations for each column, by which parameters are told apart
SAMPLES = 20  # of a period, for each harmonic
NOISE = 0.01  # of the torque limits
WIDTH = 0.02  # of the velocity limits: where Coulomb's sign has risen
REACH = 0.5  # m: the margin of distances is a share of it


@single_threaded
def excitation(
    robot: Robot,
    duration: float,
    *,
    harmonics: int = HARMONICS,
    periods: int | None = None,
    objective: str = "condition",
    scaled: bool = True,
    friction: Sequence[str] = ("viscous", "coulomb", "offset"),
    rotor: bool = True,
    links: Sequence[str] | None = None,
    combinations: Any = None,
    noise: Any = None,
    position: Any = None,
    velocity: Any = None,
    acceleration: Any = None,
    torque: Any = None,
    workspace: Mapping[str, Any] | None = None,
    start: Any = None,
    margin: float = 0.02,
    budget: int = 2000,
    seed: int = 0,
    time_limit: float | None = None,
) -> Excitation:
    """A periodic motion of `duration` seconds that shows what `identify` asks for, within limits.

    Joints move in Fourier series of `harmonics` of the period, which is `duration` / `periods`, by
    default about 10 s; every period begins and ends at rest, at the posture `start` (n,) where one is
    given. `objective` is the "condition" number of the base columns, rows divided by the `noise` of
    their torque (N m or N; default: 1 % of the torque limits) and columns of unit length unless
    `scaled` is False; or the "information", log det AᵀA. `friction`, `rotor` and `links` say what is
    to be identified, as in `identify`. A condition number depends on which base columns are taken:
    `combinations` (all, p) are others, as W @ combinations with W the columns of `identify`.

    Limits are the robot's own unless given: `position` (lower, upper), `velocity`, `acceleration`,
    `torque`, each a number or one for each joint. A `margin` of every range stays free.
    `workspace` keeps points of the robot away from things, m in the world's frame: ``above`` a
    height z, ``inside`` a box (lower corner, upper corner), ``planes`` [(normal, distance), …] with
    n·p ≥ distance, ``spheres`` [(centre, radius), …] outside of which they stay; for the origins of
    ``frames`` (default: all that move) and ``points`` {frame: [(x, y, z), …]} in frames, at a
    ``clearance``. Self-collision is not looked at.

    The search makes `budget` evaluations and finds the same again with the same `seed`; a
    `time_limit`, s, ends it earlier.

    >>> import dalembert as dl
    >>> motion = dl.excitation(dl.load("planar_2r"), 10, velocity=2.0, torque=60.0, budget=100)
    >>> motion.condition < 20 and bool((motion.limits.margin > 0).all())
    True
    """
    _check(duration, harmonics, periods, objective, margin, budget, time_limit)
    end = np.inf if time_limit is None else time.monotonic() + time_limit
    effort = Effort(budget, lambda: time.monotonic() > end)
    limits, said = limits_of(robot, position, velocity, acceleration, torque)
    plain = type(robot)(robot.dynamics.bound().without_coulomb().description)
    count = max(1, round(duration / PERIOD)) if periods is None else periods
    basis = Basis(duration / count, count, harmonics, robot.nv, _start(robot, start))
    columns = base_columns(plain, friction, rotor, links, WIDTH * limits.velocity, combinations)
    judge = Objective(objective, scaled, _noise(robot, noise, limits))
    if combinations is None:
        columns = _told_apart(columns, limits, basis, judge.noise, said)
    space = workspace_of(plain, workspace)
    whole = Problem(plain, basis, columns, judge, limits, space, SAMPLES * harmonics)
    with progress_bar("exciting", on_terminal()) as report:
        effort.on = lambda spent: report(min(1.0, spent / max(budget, 1)))
        if space is not None:
            space = replace(space, clearance=space.clearance + margin * REACH)
        within = replace(whole, limits=limits.tightened(margin), workspace=space)
        z, _ = search(within, effort, seed)
    return _finished(robot, whole, z, {"seed": seed, "margin": margin, "budget": budget}, said)


def _told_apart(
    columns: BaseColumns, limits: Limits, basis: Basis, noise: np.ndarray, said: list[str]
) -> BaseColumns:
    """Without parameters that states within the limits hardly tell from others."""
    rng, fastest = np.random.default_rng(0), 2.0 * np.pi * basis.harmonics / basis.period
    size = (STATES * len(columns.base.names) // basis.joints + 1, basis.joints)
    most = np.minimum(limits.acceleration, fastest * limits.velocity)
    q = rng.uniform(limits.lower, limits.upper, size)
    qd, qdd = (x * rng.uniform(-1.0, 1.0, size) for x in (limits.velocity, most))
    kept = told_apart(columns, q, qd, qdd, noise)
    lost = [name for name in columns.base.names if name not in kept.base.names]
    if lost:
        said.append(
            f"not sought, as motions hardly show them or tell them apart: {', '.join(lost)}"
        )
    return kept


def _finished(
    robot: Robot, problem: Problem, z: np.ndarray, settings: dict[str, Any], said: list[str]
) -> Excitation:
    """The motion within its limits everywhere, and what it promises."""
    z, pull = certified(problem, z)
    if pull:
        said.append(f"made smaller by {100.0 * pull:g} %, to fit between the samples too")
    fine, judge = problem.basis.shapes(fine_count(problem)), problem.objective
    quality = problem.quality(z, fine)
    settings |= {"objective": judge.kind, "scaled": judge.scaled, "noise": judge.noise}
    return Excitation(
        robot=robot,
        trajectory=problem.basis.trajectory(z.reshape(-1, robot.nv)),
        condition=quality.condition,
        information=quality.information,
        ranges=tuple(ranges(problem, z, fine)),
        problem=problem,
        z=z,
        settings=settings,
        said=tuple(said),
    )


def _check(
    duration: float,
    harmonics: int,
    periods: int | None,
    objective: str,
    margin: float,
    budget: int,
    time_limit: float | None,
) -> None:
    """Settings that make no sense are errors."""
    if objective not in OBJECTIVES:
        raise SettingError(f"objective={objective!r} is none{suggest(objective, OBJECTIVES)}")
    for name, value in (("duration", duration), ("time_limit", time_limit)):
        if value is not None and not (_is_number(value) and np.isfinite(value) and value > 0.0):
            raise SettingError(f"{name}={value!r} must be a positive number of seconds")
    for name, count, least in (
        ("harmonics", harmonics, 2),
        ("periods", 1 if periods is None else periods, 1),
        ("budget", budget, 1),
    ):
        if not _is_number(count) or count != int(count) or count < least:
            raise SettingError(f"{name}={count!r} must be a whole number of at least {least}")
    if not (_is_number(margin) and 0.0 <= margin < 0.5):
        raise SettingError(f"margin={margin!r} must be a share of at least 0 and below 0.5")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number)


def _start(robot: Robot, start: Any) -> np.ndarray | None:
    if start is None:
        return None
    q = vector(start, robot.nv, "start")
    if np.ndim(start) != 1 or not np.isfinite(q).all():
        raise ShapeError(f"start must be {robot.nv} positions of the joints, rad or m")
    return q


def _noise(robot: Robot, noise: Any, limits: Limits) -> np.ndarray:
    """(n,) standard deviation of the measured torques."""
    if noise is None:
        most = 0.5 * (limits.most - limits.least)
        return np.where(np.isfinite(most), NOISE * most, 1.0)
    given = vector(noise, robot.nv, "noise")
    if not (np.isfinite(given) & (given > 0.0)).all():
        raise SettingError(f"noise must be a positive number or {robot.nv} of them, not {noise!r}")
    return given
