"""Runs of simulations as a page.

A run is the `xarray.Dataset` of `simulate`: `q`, `qd`, `tau` over `time` and names of coordinates,
energies over `time`, and what a constrained system adds. Units are attributes of the variables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ParameterError
from dalembert.report.live import SAMPLES, alive
from dalembert.report.page import page, performed
from dalembert.report.run_charts import one_sample, run_charts
from dalembert.report.run_files import check_run, drawn_robot, made_by
from dalembert.report.sections import table
from dalembert.simulation.along import peaks
from dalembert.systems.system import System
from dalembert.text import html

if TYPE_CHECKING:
    import xarray

PEAKS = ("joint", "speed", "limit", "torque", "at / s", "limit", "rms torque", "power / W")


def run_page(
    run: xarray.Dataset,
    system: System | None = None,
    sample: int = 0,
    progress: Callable[[str], Any] = lambda step: None,
) -> str:
    """The page of a run: the moving robot where it is known, all plots, and its provenance.

    Where the system that made it is known, it is live and begins at any recorded instant.
    """
    progress("drawing")
    check_run(run)
    robot, remark = drawn_robot(run, system)
    system = None if remark else made_by(run, system or robot)
    one = one_sample(run, sample)
    t, q = one["time"].values, one["q"].values
    if robot is not None and robot.nq != q.shape[-1]:
        raise ParameterError(
            f"{robot.name} has {robot.nq} coordinates, the run has {q.shape[-1]}: it is another's"
        )
    charts = [chart for found in run_charts(one).values() for chart in found]
    name = str(run.attrs.get("system", "a system"))
    lead = f"{len(t):,} instants over {t[-1] - t[0]:.4g} s."
    if "sample" in run.dims:
        lead += f" Sample {sample} of {run.sizes['sample']:,}."
    lost = int((~np.isfinite(q).all(axis=-1)).sum())
    if lost:
        lead += f" At {lost:,} of them a position is not finite; the arm is left where it was."
    if len(t) > SAMPLES and "effort_limit" in run:
        lead += f" Curves show {SAMPLES} of them, peaks are those of all."
    lead += f" {remark}" if remark else ""
    facts = [
        (html(str(key)), html(str(value))) for key, value in run.attrs.items() if key != "model"
    ]
    sections = [("origin", "Where it comes from", table(("attribute", "value"), facts, left=2))]
    if "effort_limit" in run and "tau" in run:
        sections.insert(0, ("peaks", "Peaks beside limits", _peaks_html(one)))
    kind = "Motion" if "derivatives" in run.attrs else "Run"  # of a file, or simulated
    shown: dict[str, Any] = performed(system or robot, t, q, charts)
    if system is not None:
        progress("compiling the page's kernels")
        live, why = alive(system, q, one["qd"].values)
        shown, lead = {**shown, **live}, f"{lead} {why}".strip()
    return page(f"{kind} of {name}", "", lead, shown, sections)


def _peaks_html(run: xarray.Dataset) -> str:
    """The table, and where limits were passed first."""
    found = peaks(run)
    rows = []
    for k, name in enumerate(found["joint"].values):
        one = {str(key): float(found[key].values[k]) for key in found}
        rows.append(
            (
                html(str(name)),
                f"{abs(one['speed']):.4g}",
                _limit(one["speed_limit"], one["speed_share"]),
                f"{one['torque']:.4g}",
                f"{one['torque_time']:.4g}",
                _limit(one["torque_limit"], one["torque_share"]),
                f"{one['torque_rms']:.4g}",
                f"{one['power']:.4g}",
            )
        )
    said = str(run.attrs.get("limits_passed", "")).split("; ")
    passed = "".join(f"<li>{html(sentence)}</li>" for sentence in said if sentence)
    beyond = f"<p>Limits that are passed, where first:</p><ul>{passed}</ul>" if passed else ""
    return table(PEAKS, rows) + beyond


def _limit(limit: float, share: float) -> str:
    """The limit and how much of it is used; what is passed is bold."""
    if not np.isfinite(limit):
        return "–"
    text = f"{limit:.4g} ({100.0 * share:.3g} %)"
    return f"<b>{text}</b>" if share > 1.0 + 1e-9 else text
