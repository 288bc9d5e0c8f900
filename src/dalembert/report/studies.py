"""The page of a study: coordinates side by side, distributions, failures, and motions of some runs.

A selection is made by brushing an axis, and everything on the page follows it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError, ParameterError
from dalembert.report import asset
from dalembert.report.charts import one_sample, run_charts, spread
from dalembert.report.page import SCRIPTS, Progress, document, moving_data, stage, system_visuals
from dalembert.report.sections import table
from dalembert.sweeps.store import require_same, study_of
from dalembert.sweeps.study import REFUSED, Study
from dalembert.systems.robot import Robot
from dalembert.text import html

if TYPE_CHECKING:
    import xarray

DRAWN = 2000  # runs on a page
MOST = 24  # columns of inputs, and as many of outputs
SEED = 0
OTHERS = ("run", "status", "failed_run", "reason")
MOTIONS = 100
INSTANTS = 61  # of each motion
PLOTTED = ("q", "qd", "tau", "kinetic", "potential", "work")  # all would make the page heavy
BATCH = 8  # runs computed at once, so that long trajectories fit
LISTED = 200  # failed runs in the table
HISTOGRAMS = (
    '<p class="faint">Grey: all runs that ended well; colour: the selected ones. Each is as high '
    'as its largest bar.</p><div id="histograms"></div>'
)
NO_STUDY = (
    "No run has a motion here, because the store alone does not say how to simulate: give the file "
    "of the study (--study study.toml), or call dl.sweep again as before, which computes nothing "
    "that is there, and write the page with .dl.report()."
)


# axes with the selection, and the stage of the motion
FIRST_PART = (
    '<section id="study">{lead}<div class="box study"><div class="controls">'
    '<output id="chosen" aria-live="polite"></output>'
    '<button id="all" type="button">Select all</button>'
    '<label>colour by <select id="colour"></select></label></div>'
    '<div class="axes"><div id="axes"></div></div></div>'
    '<p class="faint">Drag along an axis to select runs, click it to let go; click a line, or a '
    "row of a table, to see that run.</p></section>\n"
    '<section id="motion"><h2>Motion</h2><p id="picked" aria-live="polite"></p>'
    '<div id="stage">{stage}</div></section>\n'
)


def study_page(
    result: xarray.Dataset, study: Study | None = None, progress: Progress = lambda step: None
) -> str:
    """The page of a result of `dl.sweep`; with the study, or in the process that ran it, it moves.

    At most `DRAWN` runs are drawn and `MOTIONS` of them move: the extremes of every output, some that
    failed, and others spread evenly.

    Parameters
    ----------
    result : xarray.Dataset
        The result of `dl.sweep`.
    study : Study, optional
        The study, from which motions are computed again.
    progress : callable, optional
        Called with the name of every step.

    Returns
    -------
    str
        The text of the page, which needs no network.

    Raises
    ------
    ParameterError
        If the study varies no numbers.
    """
    progress("reading the runs")
    if study is not None:
        require_same(study, result)
    study = study or study_of(result)
    every, left = columns(result)
    labels = np.asarray(result["run"].values, dtype=int)
    status = np.asarray(result["status"].values, dtype=int)
    failed = np.flatnonzero(status > 0)
    first = [*extremes(every), *thinned(failed, DRAWN // 10).tolist()]
    drawn = thinned(np.flatnonzero(status >= 0), DRAWN, first)
    progress("computing motions again")
    moved: dict[int, dict[str, Any]] = {}
    if study is not None:
        able = drawn[status[drawn] != REFUSED]
        failures = thinned(able[status[able] > 0], MOTIONS // 5).tolist()
        chosen = thinned(able, MOTIONS, [*extremes(every)[: MOTIONS // 2], *failures])
        moved = motions(study, labels[chosen])
    visuals = system_visuals(None if study is None else study.work.varied.system)
    numbers = np.asarray(result["failed_run"].values, dtype=int).tolist()
    of_failures = zip(numbers, result["reason"].values, strict=True)
    known = {*np.asarray(result["run"].values).tolist()}
    reasons = [(run, str(text)) for run, text in of_failures if run in known]
    on_page = set(labels[drawn].tolist())
    data = {
        "runs": labels[drawn].tolist(),
        "status": status[drawn].tolist(),
        "columns": [
            {**vars(column), "values": [float(f"{x:.7g}") for x in column.values[drawn].tolist()]}
            for column in every
        ],
        "visuals": None if visuals is None else visuals.plain(),
        "motions": {str(run): motion for run, motion in moved.items()},
        "reasons": {str(run): text for run, text in reasons if run in on_page},
    }
    settings = json.loads(str(result.attrs.get("study", "{}")))
    facts = [
        (html(str(key)), html(value if isinstance(value, str) else json.dumps(value)))
        for key, value in settings.items()
        if key not in ("format", "model") and value not in (None, {}, "None")
    ]
    scenes = any(motion["scene"] for motion in moved.values())
    scripts = [asset("vendor/three.min.js")] if scenes else []
    scripts += [asset(f"assets/{name}") for name in (*SCRIPTS, "axes.js", "study.js")]
    lead = _lead(result, status, len(drawn), len(moved), study is not None, left)
    name = str(result.attrs.get("system", "a system"))
    sections = [
        ("distributions", "Distributions", HISTOGRAMS),
        ("runs", "Selected runs", '<div id="table"></div>'),
        ("failures", "Runs that failed", _failures(reasons, labels, every)),
        ("origin", "Where it comes from", table(("of the study", "value"), facts, left=2)),
    ]
    sentences = "".join(f"<p>{html(line)}</p>" for line in lead)
    view = stage(scenes, data["visuals"])
    first_part = FIRST_PART.format(lead=sentences, stage=view)
    return document(f"Study of {name}", "", first_part, data, sections, scripts)


def _lead(
    result: xarray.Dataset, status: np.ndarray, drawn: int, moved: int, known: bool, left: list[str]
) -> list[str]:
    """Sentences about the runs that are on the page, and those that are not."""
    kind = str(result.attrs.get("design", ""))
    counts = [f"{len(status):,} runs{f' of a {kind} design' if kind else ''}"]
    failed, missing = int((status > 0).sum()), int((status < 0).sum())
    counts.append(f"{failed:,} failed" if failed else "none failed")
    if missing:
        counts.append(f"{missing:,} are not done yet")
    lines = [", ".join(counts) + "."]
    if drawn < len(status) - missing:
        lines[0] += (
            f" {drawn:,} of them are drawn: the extremes of every output, some that failed, and "
            "others spread evenly; counts on this page are of those."
        )
    if left:
        lines.append(f"Not drawn, because there are too many outputs: {', '.join(left[:20])}.")
    if not known:
        lines.append(NO_STUDY)
    elif moved < drawn:
        lines.append(f"{moved:,} runs, marked ▶ in the table, have a motion, computed again.")
    else:
        lines.append("Every run has a motion, computed again.")
    return lines


def _failures(reasons: list[tuple[int, str]], labels: np.ndarray, every: list[Column]) -> str:
    """The runs that failed, with their varied numbers and the reason."""
    if not reasons:
        return "<p>None.</p>"
    varied = [column for column in every if column.varied]
    head = ("run", "why", *(html(f"{c.name} {c.entry}".strip()) for c in varied))
    index = {run: k for k, run in enumerate(labels.tolist())}
    rows = []
    for run, text in reasons[:LISTED]:
        button = f'<button class="run" type="button" data-run="{run}">{run}</button>'
        rows.append((button, html(text), *(f"{c.values[index[run]]:.5g}" for c in varied)))
    lead = f"<p>{len(reasons):,} failed"
    lead += f"; the first {LISTED} are listed.</p>" if len(reasons) > LISTED else ".</p>"
    return lead + table(head, rows, left=2)


# columns of numbers: inputs and outputs of the runs that are drawn


@dataclass(frozen=True)
class Column:
    """One number of every run."""

    name: str
    entry: str  # of a vector, "" for a single number
    unit: str
    varied: bool  # by the design; else it is an output
    values: np.ndarray  # (runs,)


def columns(result: xarray.Dataset) -> tuple[list[Column], list[str]]:
    """The columns of all runs, and the names of those that are too many to be drawn.

    Of trajectories their last instant is taken; outputs of a failed run are NaN.
    """
    every: list[Column] = []
    failed = np.asarray(result["status"].values) != 0
    left = []
    for names, is_varied in ((result.coords, True), (result.data_vars, False)):
        several: list[Column] = []
        for name in names:
            field = result[name]
            is_column = field.dims[:1] == ("run",) and field.dtype.kind in "fiub"
            if name in OTHERS or not is_column:
                continue
            title = str(name)
            if "time" in field.dims:
                field, title = field.isel(time=-1), f"last {title}"
            inner = field.dims[1:]
            values = np.asarray(field.values, dtype=float).reshape(field.sizes["run"], -1)
            if not is_varied:
                values = np.where(failed[:, None], np.nan, values)
            labels = [str(k + 1) for k in range(values.shape[1])]
            if not inner:
                labels = [""]
            elif len(inner) == 1 and inner[0] in field.coords:
                labels = [str(x).removesuffix("_joint") for x in field[inner[0]].values]
            units = str(field.attrs.get("units", "")).split(", ")
            units = units if len(units) == len(labels) else [""] * len(labels)
            several += [
                Column(title, label, "" if unit == "1" else unit, is_varied, column)
                for label, unit, column in zip(labels, units, values.T, strict=True)
            ]
        every += several[:MOST]
        left += [f"{c.name} {c.entry}".strip() for c in several[MOST:]]
    if not any(c.varied for c in every):
        raise ParameterError("the study has no columns of numbers over its runs to be drawn")
    return every, left


def extremes(every: Iterable[Column]) -> list[int]:
    """Runs at which an output is least or largest, in the order of the columns."""
    runs: list[int] = []
    for column in every:
        finite = np.flatnonzero(np.isfinite(column.values))
        if not column.varied and finite.size:
            ends = (column.values[finite].argmin(), column.values[finite].argmax())
            runs += [int(finite[k]) for k in ends]
    return list(dict.fromkeys(runs))


def thinned(numbers: np.ndarray, most: int, first: Iterable[int] = ()) -> np.ndarray:
    """At most `most` of these run numbers, sorted: those in `first`, then others spread evenly.

    One is taken at random from each of equal stretches: a fixed stride could meet a grid's own
    period and see only some of its values.

    >>> thinned(np.arange(10), 20).tolist() == list(range(10))
    True
    >>> len(thinned(np.arange(10**6), 100, first=[7, 12]))
    100
    """
    if len(numbers) <= most:
        return np.sort(numbers)
    preferred = np.array(list(dict.fromkeys(first)), int)
    preferred = preferred[np.isin(preferred, numbers)][:most]
    others = np.setdiff1d(numbers, preferred)
    edges = np.linspace(0, len(others), most - len(preferred) + 1).round().astype(int)
    ends = np.maximum(edges[1:], edges[:-1] + 1)
    indices = np.random.default_rng(SEED).integers(edges[:-1], ends)
    return np.sort(np.concatenate([preferred, others[indices]]))


# motions of some runs, computed again for the page


def motions(study: Study, runs: np.ndarray) -> dict[int, dict[str, Any]]:
    """{run: data of its motion}, for those of the given runs that can be simulated."""
    result: dict[int, dict[str, Any]] = {}
    for start in range(0, len(runs), BATCH):
        part = runs[start : start + BATCH]
        try:
            result |= _batch_motions(study, part)
        except DalembertError:  # one of them is impossible: which one?
            for run in part:
                with suppress(DalembertError):
                    result |= _batch_motions(study, np.array([run]))
    return result


def _batch_motions(study: Study, runs: np.ndarray) -> dict[int, dict[str, Any]]:
    rows, varied = study.design.rows(runs), study.work.varied
    batch = study.work.trajectories(rows)
    batch = batch.isel(time=spread(batch.sizes["time"], INSTANTS))
    values, system = varied.inputs(rows).get("parameters"), varied.system
    result = {}
    for k, run in enumerate(runs.tolist()):
        robot = system.robot
        if robot is not None and robot.named_parameters:
            # the robot with this run's own numbers for its parameters
            if isinstance(values, np.ndarray):
                row = values[k]
            else:
                row = system.dynamics.parameter_values(varied.fixed_inputs.get("parameters"))
            named = dict(zip(system.named_parameters, np.asarray(row, float).tolist(), strict=True))
            own = robot.dynamics.parameter_values({k: named[k] for k in robot.named_parameters})
            robot = Robot(robot.model.bind(own))
        one = one_sample(batch, k)
        plotted = one[[name for name in PLOTTED if name in one]]
        charts = [chart for several in run_charts(plotted).values() for chart in several]
        result[run] = moving_data(robot, one["time"].values, one["q"].values, charts)
    return result
