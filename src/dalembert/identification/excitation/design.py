"""`excitation`: the design of a motion to be driven on the real machine, and the result."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.control.trajectory import Fourier, Point, sampled
from dalembert.errors import SettingError, ShapeError
from dalembert.identification.excitation.limits import (
    Limit,
    build_workspace,
    excitation_limits,
    per_joint,
)
from dalembert.identification.excitation.problem import (
    OBJECTIVES,
    Basis,
    Objective,
    Problem,
    base_regressor,
    without_weak_parameters,
)
from dalembert.identification.excitation.search import (
    Budget,
    Range,
    certify,
    fine_shapes,
    ranges,
    search,
)
from dalembert.linalg import single_threaded
from dalembert.logs.tables import write_log
from dalembert.model.frozen import Frozen
from dalembert.progress import on_terminal, progress_bar
from dalembert.systems.robot import Robot
from dalembert.text import html, require_known
from dalembert.version import deprecated

if TYPE_CHECKING:
    import pandas
    import xarray

HARMONICS, PERIOD = 5, 10.0  # Swevers 1997: five harmonics of 0.1 Hz
SAMPLES = 20  # of a period, for each harmonic
NOISE = 0.01  # of the torque limits
WIDTH = 0.02  # of the velocity limits: where Coulomb's sign has risen


@dataclass(frozen=True, eq=False)
class Excitation(Frozen):
    """A periodic motion that shows a robot's parameters, made by `dalembert.excitation`.

    `trajectory` is what controllers follow; `condition` and `information` are of a fine grid of one
    period. `notes` lists assumptions and changes.
    """

    robot: Robot
    trajectory: Fourier
    condition: float  # of the weighted base columns
    information: float  # log det of the mean information of a sample, nats
    ranges: tuple[Range, ...]
    problem: Problem = field(repr=False)
    z: np.ndarray = field(repr=False)  # coordinates of the motion in the problem's basis
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __call__(self, t: ArrayLike) -> Point:
        """q, q̇, q̈ at times t (...), each (..., n)."""
        return self.trajectory(t)

    def q(self, t: ArrayLike) -> np.ndarray:
        """Positions (..., n) at times t (...), rad or m.

        Parameters
        ----------
        t : array_like
            Times, s.

        Returns
        -------
        ndarray
            (..., n).
        """
        return np.asarray(self(t).q)

    def qd(self, t: ArrayLike) -> np.ndarray:
        """Velocities (..., n), rad/s or m/s.

        Parameters
        ----------
        t : array_like
            Times, s.

        Returns
        -------
        ndarray
            (..., n).
        """
        return np.asarray(self(t).qd)

    def qdd(self, t: ArrayLike) -> np.ndarray:
        """Accelerations (..., n), rad/s² or m/s².

        Parameters
        ----------
        t : array_like
            Times, s.

        Returns
        -------
        ndarray
            (..., n).
        """
        return np.asarray(self(t).qdd)

    @property
    def said(self) -> tuple[str, ...]:
        """Deprecated name of `notes`."""
        deprecated("Excitation.said is now Excitation.notes", gone="0.3.0")
        return self.notes

    @property
    def duration(self) -> float:
        """Seconds, all periods."""
        return self.trajectory.duration

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the base parameters that it shows."""
        return self.problem.columns.base.names

    @property
    def limited(self) -> tuple[Range, ...]:
        """The ranges that have a limit."""
        return tuple(r for r in self.ranges if np.isfinite([r.lower, r.upper]).any())

    @property
    def limits(self) -> pandas.DataFrame:
        """Use of its limits by every joint: lowest, highest, lower, upper, and the margin left.

        Numbers hold between the samples too. Torques are without Coulomb friction, which is
        subtracted from their limits. The margin is a share of half of the range, or metres of a
        distance.
        """
        import pandas

        rows = [(*r, r.margin) for r in self.limited]
        table = pandas.DataFrame(rows, columns=[*Range._fields, "margin"])
        return table.set_index(["kind", "joint"])

    def deviations(self, rate: float = 100.0) -> pandas.DataFrame:
        """Standard deviations to expect of the base parameters, from samples at `rate`, Hz.

        For white noise of the torques as in the settings, and positions without errors.

        Parameters
        ----------
        rate : float
            Samples per second, Hz.

        Returns
        -------
        pandas.DataFrame
            Prior value and standard deviation of every base parameter.
        """
        import pandas

        fine, problem = fine_shapes(self.problem), self.problem
        A = problem.objective.weighted(problem.columns(problem.motion(self.z, fine)))
        scale = np.linalg.norm(A, axis=0)
        R = np.linalg.qr(A / scale, mode="r")
        std = np.linalg.norm(np.linalg.inv(R), axis=1) / scale
        std *= np.sqrt(fine.shape[1] / (rate * self.duration))
        prior = problem.columns.base.matrix @ problem.columns.regressor.values
        index = pandas.Index(self.parameters, name="parameter")
        return pandas.DataFrame({"prior": prior, "std": std}, index=index)

    def sampled(self, rate: float = 100.0) -> xarray.Dataset:
        """q, q̇, q̈, τ and power at `rate`, Hz, labelled like a run: plots, pages, `identify`.

        Parameters
        ----------
        rate : float
            Samples per second, Hz.

        Returns
        -------
        xarray.Dataset

        Raises
        ------
        SettingError
            If the rate is not positive.
        """
        if not (np.isfinite(rate) and rate > 0.0):
            raise SettingError(f"rate={rate!r} must be a positive number of samples per second")
        return sampled(self.trajectory, self.robot, 1.0 / float(rate))

    def csv(self, path: str | PathLike[str], rate: float = 100.0) -> Path:
        """Write times, q, q̇, q̈ and τ at `rate`, Hz, as `dalembert.read_log` reads them.

        Parameters
        ----------
        path : path
            The file to write.
        rate : float
            Samples per second, Hz.

        Returns
        -------
        Path
            The file.
        """
        write_log(self.sampled(rate), Path(path))
        return Path(path)

    def __repr__(self) -> str:
        return f"<Excitation {self._summary()}>"

    def _repr_html_(self) -> str:
        """Summary and limits for notebooks."""
        table = self.limits.reset_index().to_html(index=False, float_format=lambda x: f"{x:.4g}")
        return f"<p>{html(self._summary())}</p>{table}"

    def _summary(self) -> str:
        motion = self.trajectory
        return (
            f"{self.robot.name}: {self.duration:g} s, period {motion.period:g} s, "
            f"{motion.harmonics} harmonics, condition {self.condition:.4g}, "
            f"{len(self.parameters)} base parameters"
        )


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
    combinations: ArrayLike | None = None,
    noise: ArrayLike | None = None,
    position: Sequence[ArrayLike] | None = None,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    torque: ArrayLike | None = None,
    workspace: Mapping[str, Any] | None = None,
    start: ArrayLike | None = None,
    margin: float = 0.02,
    budget: int = 2000,
    seed: int = 0,
    time_limit: float | None = None,
) -> Excitation:
    """Design a periodic motion within limits that shows the unknowns of `identify`.

    Parameters
    ----------
    robot : Robot
        The arm that moves.
    duration : float
        Seconds.
    harmonics : int
        Of the Fourier series of every joint. Every period begins and ends at rest.
    periods : int, optional
        In the duration; default about one in 10 s.
    objective : {"condition", "information"}
        Condition number of the base columns, rows divided by the noise of their torque, or
        log det AᵀA.
    scaled : bool
        Columns of unit length in the condition number.
    friction, rotor, links
        Unknowns, as in `identify`.
    combinations : (all, p) array, optional
        Other base columns, W @ combinations with W the columns of `identify`. A condition number
        depends on the choice of base columns.
    noise : float or (n,) array, optional
        Standard deviation of the torques, N m or N; default 1 % of the torque limits.
    position, velocity, acceleration, torque : optional
        Limits, (lower, upper) of the position and a number or one for each joint of the others;
        default the robot's own.
    workspace : mapping, optional
        Obstacles for points of the robot, m in the world's frame: ``above`` a height z, ``inside`` a
        box (lower corner, upper corner), ``planes`` [(normal, distance), …] with n·p ≥ distance,
        ``spheres`` [(centre, radius), …] outside of which they stay; for the origins of ``frames``
        (default: all that move) and ``points`` {frame: [(x, y, z), …]} in frames, at a
        ``clearance``. Self-collision is not checked.
    start : (n,) array, optional
        Configuration at which every period begins.
    margin : float
        Share of every range that stays free.
    budget : int
        Evaluations of the search.
    seed : int
        Of the search, which is reproducible.
    time_limit : float, optional
        Seconds after which the search ends.

    Returns
    -------
    Excitation
        Its trajectory, condition number, ranges and use of limits.

    Raises
    ------
    TrajectoryError
        If a joint has no limits where it needs them, or no motion within the limits shows all
        parameters.
    SettingError
        For an option out of its range.

    Examples
    --------
    >>> import dalembert as dl
    >>> motion = dl.excitation(dl.load("planar_2r"), 10, velocity=2.0, torque=60.0, budget=100)
    >>> motion.condition < 20 and bool((motion.limits.margin > 0).all())
    True
    """
    require_known(objective, OBJECTIVES, "there is no objective", SettingError)
    for name, value in (("duration", duration), ("time_limit", time_limit)):
        if value is not None and not (_is_number(value) and 0.0 < value < np.inf):
            raise SettingError(f"{name}={value!r} must be a positive number of seconds")
    count = max(1, round(duration / PERIOD)) if periods is None else periods
    wholes = (("harmonics", harmonics, 2), ("periods", count, 1), ("budget", budget, 1))
    for name, whole, least in wholes:
        if not _is_number(whole) or whole != int(whole) or whole < least:
            raise SettingError(f"{name}={whole!r} must be a whole number of at least {least}")
    if not (_is_number(margin) and 0.0 <= margin < 0.5):
        raise SettingError(f"margin={margin!r} must be a share of at least 0 and below 0.5")
    end = np.inf if time_limit is None else time.monotonic() + time_limit
    evaluations = Budget(budget, lambda: time.monotonic() > end)
    limits, notes = excitation_limits(robot, position, velocity, acceleration, torque)
    frictionless = type(robot)(robot.dynamics.bound().without_coulomb().description)
    basis = Basis(duration / count, count, harmonics, robot.nv, _start(robot, start))
    width = WIDTH * limits[1].upper
    columns = base_regressor(frictionless, friction, rotor, links, width, combinations)
    measure = Objective(objective, scaled, _torque_noise(robot, noise, limits[3]))
    if combinations is None:
        strong = without_weak_parameters(columns, limits, basis, measure.noise)
        weak = ", ".join(name for name in columns.base.names if name not in strong.base.names)
        if weak:
            notes.append(f"not sought, as motions hardly show them or tell them apart: {weak}")
        columns = strong
    space = build_workspace(frictionless, workspace)
    samples = SAMPLES * harmonics
    limits += [] if space is None else [space.limit]
    problem = Problem(frictionless, basis, columns, measure, limits, space, samples)
    with progress_bar("exciting", on_terminal()) as report:
        evaluations.on_spent = lambda spent: report(min(1.0, spent / max(budget, 1)))
        tight = replace(problem, limits=[limit.with_margin(margin) for limit in limits])
        z, _ = search(tight, evaluations, seed)
    z, share = certify(problem, z)
    if share:
        notes.append(f"made smaller by {100.0 * share:g} %, to fit between the samples too")
    fine = fine_shapes(problem)
    quality = problem.quality(z, fine)
    settings: dict[str, Any] = {"seed": seed, "margin": margin, "budget": budget}
    settings |= {"objective": objective, "scaled": scaled, "noise": measure.noise}
    return Excitation(
        robot=robot,
        trajectory=basis.trajectory(z.reshape(-1, robot.nv)),
        condition=quality.condition,
        information=quality.information,
        ranges=tuple(ranges(problem, z, fine)),
        problem=problem,
        z=z,
        settings=settings,
        notes=tuple(notes),
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number)


def _start(robot: Robot, start: ArrayLike | None) -> np.ndarray | None:
    if start is None:
        return None
    q = per_joint(start, robot.nv, "start")
    if np.ndim(start) != 1 or not np.isfinite(q).all():
        raise ShapeError(f"start must be {robot.nv} positions of the joints, rad or m")
    return q


def _torque_noise(robot: Robot, noise: ArrayLike | None, limit: Limit) -> np.ndarray:
    """(n,) standard deviation of the measured torques."""
    if noise is None:
        half = 0.5 * (limit.upper - limit.lower)
        return np.where(np.isfinite(half), NOISE * half, 1.0)
    deviation = per_joint(noise, robot.nv, "noise")
    if not (np.isfinite(deviation) & (deviation > 0.0)).all():
        raise SettingError(f"noise must be a positive number or {robot.nv} of them, not {noise!r}")
    return deviation
