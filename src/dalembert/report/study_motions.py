"""Motions of some runs of a study, computed again when its page is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.report.page import moving
from dalembert.report.run_charts import one_sample, run_charts
from dalembert.sweeps.study import Study
from dalembert.systems.robot import Robot

if TYPE_CHECKING:
    import xarray

MOTIONS = 100
INSTANTS = 61  # of each motion
BATCH = 8  # runs computed at once, so that long trajectories fit


def motions(study: Study, runs: np.ndarray) -> dict[int, dict[str, Any]]:
    """{run: what the stage shows of it}, for those of the given runs that can be begun."""
    found: dict[int, dict[str, Any]] = {}
    for start in range(0, len(runs), BATCH):
        part = runs[start : start + BATCH]
        try:
            found |= _motions(study, part)
        except DalembertError:  # one of them is impossible: which one?
            for run in part:
                found |= _one(study, run)
    return found


def _one(study: Study, run: int) -> dict[int, dict[str, Any]]:
    try:
        return _motions(study, np.array([run]))
    except DalembertError:
        return {}


def _motions(study: Study, runs: np.ndarray) -> dict[int, dict[str, Any]]:
    rows = study.design.rows(runs)
    batch = study.work.trajectories(rows)
    times = np.unique(np.linspace(0, batch.sizes["time"] - 1, INSTANTS).round().astype(int))
    batch = batch.isel(time=times)
    values = study.work.varied.inputs(rows).get("parameters")
    found = {}
    for k, run in enumerate(runs.tolist()):
        row = values[k] if isinstance(values, np.ndarray) else None
        robot = _bound(study, row)
        found[run] = _stage(robot, one_sample(batch, k))
    return found


def _stage(robot: Robot | None, run: xarray.Dataset) -> dict[str, Any]:
    charts = [c for several in run_charts(_seen(run)).values() for c in several]
    return moving(robot, run["time"].values, run["q"].values, charts)


def _seen(run: xarray.Dataset) -> xarray.Dataset:
    """What is plotted of each motion: all of it would make the page heavy."""
    return run[[n for n in ("q", "qd", "tau", "kinetic", "potential", "work") if n in run]]


def _bound(study: Study, row: np.ndarray | None) -> Robot | None:
    """The robot with this run's own numbers for its parameters."""
    system = study.work.varied.system
    robot = system.robot
    if robot is None or not robot.named_parameters:
        return robot
    given = study.work.varied.given.get("parameters") if row is None else None
    vector = system.dynamics.parameter_values(given) if row is None else row
    named = dict(zip(system.named_parameters, np.asarray(vector, float).tolist(), strict=True))
    own = robot.dynamics.parameter_values({k: named[k] for k in robot.named_parameters})
    return Robot(robot.model.bind(own))
