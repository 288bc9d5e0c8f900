"""The accessor `run.dl`: figures and pages of a run; what draws them is imported when it is used."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray

from dalembert.errors import ParameterError

if TYPE_CHECKING:
    from dalembert.systems.robot import Robot
    from dalembert.systems.system import System


@xarray.register_dataset_accessor("dl")
class RunAccessor:
    """Figures and pages of a run; `robot` is needed where the zoo does not have it.

    >>> import dalembert as dl
    >>> run = dl.simulate(dl.load("pendulum"), [0.1], [0.0], duration=1.0, dt=0.1)
    >>> len(run.dl.plot(["q", "energy"]).axes)
    2
    """

    def __init__(self, run: xarray.Dataset) -> None:
        self._run = run

    def plot(self, show: Iterable[str] | None = None, sample: int = 0) -> Any:
        """A matplotlib figure of q, qd, tau, energy, λ, residuals …: all, or those in `show`."""
        from dalembert.report.figures import plot_run

        return plot_run(self._run, show, sample)

    def phase(self, joint: str | None = None, sample: int | None = None) -> Any:
        """A matplotlib figure of q̇ over q of one joint, for all samples of a batch."""
        from dalembert.report.figures import plot_phase

        return plot_phase(self._run, joint, sample)

    def animate(
        self, path: str | PathLike[str], robot: Robot | None = None, sample: int = 0
    ) -> Path:
        """Write a GIF of the motion."""
        from dalembert.report.charts import one_sample
        from dalembert.report.figures import animate
        from dalembert.report.runs import robot_of

        robot = robot or robot_of(self._run)
        if robot is None:
            name = self._run.attrs.get("system", "this system")
            raise ParameterError(f"{name!r} is not in the zoo, or not this model; give robot=")
        run = one_sample(self._run, sample)
        return animate(robot, run["time"].values, run["q"].values, path)

    def report(
        self, path: str | PathLike[str], robot: System | None = None, sample: int = 0
    ) -> Path:
        """Write the page of this run, 3-D view, time slider and all plots, or of this study.

        A study is the result of `dl.sweep`; `robot`, or another system, and `sample` are for runs.
        """
        from dalembert.report.page import write_page
        from dalembert.report.runs import run_page
        from dalembert.report.studies import study_page

        run = self._run
        is_study = "run" in run.dims and "study" in run.attrs
        write_page(study_page(run) if is_study else run_page(run, robot, sample), Path(path))
        return Path(path)
