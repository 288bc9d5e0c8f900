"""A motion to be driven on the real machine, and what it promises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.control.fourier import Fourier
from dalembert.control.sampled import sampled
from dalembert.control.trajectory import Point
from dalembert.errors import SettingError
from dalembert.identification.exciting.certify import Range, fine_count
from dalembert.identification.exciting.problem import Problem
from dalembert.model.frozen import Frozen
from dalembert.simulation.log_write import write_log
from dalembert.systems.robot import Robot
from dalembert.text import html

if TYPE_CHECKING:
    import pandas
    import xarray


@dataclass(frozen=True, eq=False)
class Excitation(Frozen):
    """A periodic motion that shows a robot's parameters, made by `dalembert.excitation`.

    `trajectory` is what controllers follow; `condition` and `information` are of a fine grid of one
    period. `said` lists what was assumed and done.
    """

    robot: Robot
    trajectory: Fourier
    condition: float  # of the weighted base columns
    information: float  # log det of the mean information of a sample, nats
    ranges: tuple[Range, ...]
    problem: Problem = field(repr=False)
    z: np.ndarray = field(repr=False)  # coordinates of the motion in the problem's basis
    settings: Mapping[str, Any] = field(default_factory=dict)
    said: tuple[str, ...] = ()

    def __call__(self, t: Any) -> Point:
        """q, q̇, q̈ at times t (...), each (..., n)."""
        return self.trajectory(t)

    def q(self, t: Any) -> np.ndarray:
        """Positions (..., n) at times t (...), rad or m."""
        return self(t).q

    def qd(self, t: Any) -> np.ndarray:
        """Velocities (..., n), rad/s or m/s."""
        return self(t).qd

    def qdd(self, t: Any) -> np.ndarray:
        """Accelerations (..., n), rad/s² or m/s²."""
        return self(t).qdd

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
        """What every joint uses of its limits: lowest, highest, lower, upper, and the margin left.

        Numbers hold between the samples too. Torques are without Coulomb friction, which their limits
        have been made smaller by. The margin is a share of half of the range, or metres of a distance.
        """
        import pandas

        rows = [(*r, r.margin) for r in self.limited]
        made = pandas.DataFrame(rows, columns=[*Range._fields, "margin"])
        return made.set_index(["kind", "joint"])

    def deviations(self, rate: float = 100.0) -> pandas.DataFrame:
        """Standard deviations to expect of the base parameters, from samples at `rate`, Hz.

        For white noise of the torques as in the settings, and positions without errors.
        """
        import pandas

        fine = self.problem.basis.shapes(fine_count(self.problem))
        A = self.problem.objective.weighted(self.problem.columns(self.problem.motion(self.z, fine)))
        scale = np.linalg.norm(A, axis=0)
        R = np.linalg.qr(A / scale, mode="r")
        spread = np.linalg.norm(np.linalg.inv(R), axis=1) / scale
        spread *= np.sqrt(fine.shape[1] / (rate * self.duration))
        columns = self.problem.columns
        values = columns.base.matrix @ columns.columns.values
        index = pandas.Index(self.parameters, name="parameter")
        return pandas.DataFrame({"prior": values, "std": spread}, index=index)

    def sampled(self, rate: float = 100.0) -> xarray.Dataset:
        """q, q̇, q̈, τ and power at `rate`, Hz, labelled like a run: plots, pages, `identify`."""
        return sampled(self.trajectory, self.robot, 1.0 / _rate(rate))

    def csv(self, path: str | PathLike[str], rate: float = 100.0) -> Path:
        """Write times, q, q̇, q̈ and τ at `rate`, Hz, as `dalembert.read_log` reads them."""
        where = Path(path)
        write_log(self.sampled(rate), where)
        return where

    def __repr__(self) -> str:
        return f"<Excitation {self._facts()}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the facts and the limits."""
        table = self.limits.reset_index().to_html(index=False, float_format=lambda x: f"{x:.4g}")
        return f"<p>{html(self._facts())}</p>{table}"

    def _facts(self) -> str:
        motion = self.trajectory
        return (
            f"{self.robot.name}: {self.duration:g} s, period {motion.period:g} s, "
            f"{motion.harmonics} harmonics, condition {self.condition:.4g}, "
            f"{len(self.parameters)} base parameters"
        )


def _rate(rate: float) -> float:
    if not (np.isfinite(rate) and rate > 0.0):
        raise SettingError(f"rate={rate!r} must be a positive number of samples per second")
    return float(rate)
