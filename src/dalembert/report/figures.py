"""Figures of runs, by matplotlib: curves over time, and phase portraits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ParameterError, UnknownNameError
from dalembert.report.charts import Plot
from dalembert.report.colours import PALETTE
from dalembert.report.picture import figure_of, styled
from dalembert.report.run_charts import one_sample, run_charts, times
from dalembert.text import picture

if TYPE_CHECKING:
    import xarray


def plot_run(run: xarray.Dataset, show: Iterable[str] | None = None, sample: int = 0) -> Any:
    """A matplotlib figure with one panel per quantity and unit, over one time axis.

    `show` names quantities of the run, "energy" among them; by default all that are there.
    """
    found = run_charts(run, sample)
    wanted = list(found) if show is None else [show] if isinstance(show, str) else list(show)
    unknown = [name for name in wanted if name not in found]
    if unknown:
        raise UnknownNameError(f"the run has no {unknown[0]!r} to plot; it has: {', '.join(found)}")
    charts = [chart for name in wanted for chart in found[name]]
    return plot_charts(times(run), charts, str(run.attrs.get("system", "")))


def plot_charts(t: np.ndarray, charts: Sequence[Plot], title: str = "") -> Any:
    """The charts below one another."""
    figure = figure_of(8.5, 2.1 * len(charts) + 0.5)
    with styled():
        panels = figure.subplots(len(charts), 1, sharex=True, squeeze=False)[:, 0]
        for axes, chart in zip(panels, charts, strict=True):
            for k, one in enumerate(chart.series):
                style = (0, (4, 2)) if one.dashed else "-"
                axes.plot(
                    t,
                    one.y,
                    color=PALETTE[k % len(PALETTE)],
                    linestyle=style,
                    drawstyle="steps-post" if one.held else "default",
                    label=picture(one.name),
                )
            axes.set_title(picture(chart.title), loc="left", fontsize=10)
            axes.set_ylabel(chart.unit)
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8)
        panels[-1].set_xlabel("time / s")
        panels[-1].set_xlim(t[0], t[-1])
        if title:
            figure.suptitle(picture(title), x=0.01, ha="left", fontweight="bold")
    return figure


def plot_phase(run: xarray.Dataset, joint: str | None = None, sample: int | None = None) -> Any:
    """q̇ over q of one joint: all samples of a batch, or only one; the start is a dot."""
    if run["q"].dims != run["qd"].dims:
        raise ParameterError("a phase portrait needs as many positions as velocities; there are "
                             "quaternions among these coordinates")  # fmt: skip
    names = [str(x) for x in run["joint"].values]
    chosen = joint or names[0]
    if chosen not in names:
        raise UnknownNameError(f"no joint is called {chosen!r}; there are: {', '.join(names)}")
    k = names.index(chosen)
    batch = run if sample is None else one_sample(run, sample)
    q, qd = (batch[name].values[..., k].reshape(len(batch["time"]), -1) for name in ("q", "qd"))
    figure = figure_of(6.4, 5.2)
    with styled():
        axes = figure.subplots()
        for s in range(q.shape[1]):
            axes.plot(q[:, s], qd[:, s], color=PALETTE[s % len(PALETTE)], linewidth=1.2)
            axes.plot(q[0, s], qd[0, s], "o", color=PALETTE[s % len(PALETTE)], markersize=3.5)
        axes.set_xlabel(f"q / {unit_of(run, 'q', k)}")
        axes.set_ylabel(f"q̇ / {unit_of(run, 'qd', k)}")
        axes.set_title(f"Phase portrait of {picture(chosen)}", loc="left", fontsize=11)
    return figure


def unit_of(run: xarray.Dataset, name: str, k: int) -> str:
    """The unit of entry k of a variable."""
    units = str(run[name].attrs.get("units", "")).split(", ")
    return units[0] if len(units) == 1 else units[k]
