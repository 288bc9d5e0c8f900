"""The page of a study: coordinates side by side, distributions, failures, and motions of some runs.

A selection is made by brushing an axis, and everything on the page follows it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError, ParameterError
from dalembert.report.charts import spread
from dalembert.report.page import SCRIPTS, asset, document, moving, shapes_of, stage
from dalembert.report.run_charts import one_sample, run_charts
from dalembert.report.sections import table
from dalembert.sweeps.recall import require_same, study_of
from dalembert.sweeps.study import REFUSED, Study
from dalembert.systems.robot import Robot
from dalembert.text import html

if TYPE_CHECKING:
    import xarray

DRAWN = 2000  # runs on a page
MOST = 24  # columns that varied, and as many that came out
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


def study_page(
    found: xarray.Dataset,
    study: Study | None = None,
    progress: Callable[[str], Any] = lambda step: None,
) -> str:
    """The page of a result of `dl.sweep`; with the study, or in the process that made it, it moves.

    At most `DRAWN` runs are drawn and `MOTIONS` of them move: the extremes of every output, some that
    failed, and others spread evenly.
    """
    progress("reading the runs")
    if study is not None:
        require_same(study, found)
    study = study or study_of(found)
    every, left = columns(found)
    labels = np.asarray(found["run"].values, dtype=int)
    status = np.asarray(found["status"].values, dtype=int)
    failed = np.flatnonzero(status > 0)
    first = [*extremes(every), *chosen(failed, DRAWN // 10).tolist()]
    drawn = chosen(np.flatnonzero(status >= 0), DRAWN, first)
    progress("computing motions again")
    moved = _moved(study, every, drawn, labels, status)
    looks = shapes_of(None if study is None else study.work.varied.system)
    reasons, shown = _reasons(found), set(labels[drawn].tolist())
    data = {
        "runs": labels[drawn].tolist(),
        "status": status[drawn].tolist(),
        "columns": [
            {**vars(column), "values": [float(f"{x:.7g}") for x in column.values[drawn].tolist()]}
            for column in every
        ],
        "looks": None if looks is None else looks.plain(),
        "motions": {str(run): motion for run, motion in moved.items()},
        "reasons": {str(run): text for run, text in reasons if run in shown},
    }
    scenes = any(motion["scene"] for motion in moved.values())
    scripts = [asset("vendor/three.min.js")] if scenes else []
    scripts += [asset(f"assets/{name}") for name in (*SCRIPTS, "axes.js", "study.js")]
    lead = _lead(found, status, len(drawn), len(moved), study is not None, left)
    name = str(found.attrs.get("system", "a system"))
    sections = [
        ("distributions", "Distributions", HISTOGRAMS),
        ("runs", "Selected runs", '<div id="table"></div>'),
        ("failures", "Runs that failed", _failures(reasons, labels, every)),
        ("origin", "Where it comes from", _origin(found)),
    ]
    return document(
        f"Study of {name}", "", _first(lead, scenes, data["looks"]), data, sections, scripts
    )


def _moved(
    study: Study | None,
    every: list[Column],
    drawn: np.ndarray,
    labels: np.ndarray,
    status: np.ndarray,
) -> dict[int, dict[str, Any]]:
    """Motions by number of the run, which is its row of the design."""
    if study is None:
        return {}
    able = drawn[status[drawn] != REFUSED]
    broken = chosen(able[status[able] > 0], MOTIONS // 5)
    wanted = chosen(able, MOTIONS, [*extremes(every)[: MOTIONS // 2], *broken.tolist()])
    return motions(study, labels[wanted])


def _reasons(found: xarray.Dataset) -> list[tuple[int, str]]:
    """(run, why it failed)."""
    numbers = np.asarray(found["failed_run"].values, dtype=int).tolist()
    own = np.isin(numbers, found["run"].values).tolist()
    several = zip(numbers, found["reason"].values, own, strict=True)
    return [(run, str(text)) for run, text, is_own in several if is_own]


def _lead(
    found: xarray.Dataset, status: np.ndarray, drawn: int, moved: int, known: bool, left: list[str]
) -> list[str]:
    """What is on the page and what is not."""
    kind = str(found.attrs.get("design", ""))
    said = [f"{len(status):,} runs{f' of a {kind} design' if kind else ''}"]
    failed, missing = int((status > 0).sum()), int((status < 0).sum())
    said.append(f"{failed:,} failed" if failed else "none failed")
    if missing:
        said.append(f"{missing:,} are not done yet")
    lines = [", ".join(said) + "."]
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


def _first(lead: list[str], scenes: bool, looks: dict[str, Any] | None) -> str:
    """Axes with the selection, and the stage of the motion."""
    said = "".join(f"<p>{html(line)}</p>" for line in lead)
    return (
        f'<section id="study">{said}<div class="box study"><div class="controls">'
        '<output id="chosen" aria-live="polite"></output>'
        '<button id="all" type="button">Select all</button>'
        '<label>colour by <select id="colour"></select></label></div>'
        '<div class="axes"><div id="axes"></div></div></div>'
        '<p class="faint">Drag along an axis to select runs, click it to let go; click a line, or a '
        "row of a table, to see that run.</p></section>\n"
        '<section id="motion"><h2>Motion</h2><p id="picked" aria-live="polite"></p>'
        f'<div id="stage">{stage(scenes, looks)}</div></section>\n'
    )


def _failures(reasons: list[tuple[int, str]], labels: np.ndarray, every: list[Column]) -> str:
    """The runs that failed, with what they were given and why they ended."""
    if not reasons:
        return "<p>None.</p>"
    varied = [column for column in every if column.varied]
    head = ("run", "why", *(html(f"{c.name} {c.entry}".strip()) for c in varied))
    order = np.argsort(labels)
    rows = []
    for run, text in reasons[:LISTED]:
        place = order[np.searchsorted(labels, run, sorter=order)]
        button = f'<button class="run" type="button" data-run="{run}">{run}</button>'
        rows.append((button, html(text), *(f"{c.values[place]:.5g}" for c in varied)))
    lead = f"<p>{len(reasons):,} failed"
    lead += f"; the first {LISTED} are listed.</p>" if len(reasons) > LISTED else ".</p>"
    return lead + table(head, rows, left=2)


def _origin(found: xarray.Dataset) -> str:
    """By what the study is known again."""
    said = json.loads(str(found.attrs.get("study", "{}")))
    facts = [
        (html(str(key)), html(value if isinstance(value, str) else json.dumps(value)))
        for key, value in said.items()
        if key not in ("format", "model") and value not in (None, {}, "None")
    ]
    return table(("of the study", "value"), facts, left=2)


# columns of numbers: what varied and what came out, for the runs that are drawn


@dataclass(frozen=True)
class Column:
    """One number of every run."""

    name: str
    entry: str  # of a vector, "" for a single number
    unit: str
    varied: bool  # by the design; else it came out
    values: np.ndarray  # (runs,)


def columns(found: xarray.Dataset) -> tuple[list[Column], list[str]]:
    """The columns of all runs, and the names of those that are too many to be drawn.

    Of trajectories their last instant is taken; what came out of a run that failed is NaN.
    """
    made: list[Column] = []
    failed = np.asarray(found["status"].values) != 0
    varied = [name for name in found.coords if _is_column(found, name)]
    came = [name for name in found.data_vars if _is_column(found, name)]
    left = []
    for names, is_varied in ((varied, True), (came, False)):
        several = [c for name in names for c in _of_variable(found[name], is_varied, failed)]
        made += several[:MOST]
        left += [f"{c.name} {c.entry}".strip() for c in several[MOST:]]
    if not any(c.varied for c in made):
        raise ParameterError("the study has no columns of numbers over its runs to be drawn")
    return made, left


def _is_column(found: xarray.Dataset, name: Any) -> bool:
    field = found[name]
    return name not in OTHERS and field.dims[:1] == ("run",) and field.dtype.kind in "fiub"


def _of_variable(field: xarray.DataArray, varied: bool, failed: np.ndarray) -> Iterable[Column]:
    name = str(field.name)
    if "time" in field.dims:
        field, name = field.isel(time=-1), f"last {name}"
    inner = field.dims[1:]
    values = np.asarray(field.values, dtype=float).reshape(field.sizes["run"], -1)
    if not varied:
        values = np.where(failed[:, None], np.nan, values)
    labels = [str(k + 1) for k in range(values.shape[1])]
    if not inner:
        labels = [""]
    elif len(inner) == 1 and inner[0] in field.coords:
        labels = [str(x).removesuffix("_joint") for x in field[inner[0]].values]
    units = str(field.attrs.get("units", "")).split(", ")
    units = units if len(units) == len(labels) else [""] * len(labels)
    for label, unit, column in zip(labels, units, values.T, strict=True):
        yield Column(name, label, "" if unit == "1" else unit, varied, column)


def extremes(made: Iterable[Column]) -> list[int]:
    """Runs at which a column that came out is least or largest, in the order of the columns."""
    found: list[int] = []
    for column in made:
        fine = np.flatnonzero(np.isfinite(column.values))
        if not column.varied and fine.size:
            ends = (column.values[fine].argmin(), column.values[fine].argmax())
            found += [int(fine[k]) for k in ends]
    return list(dict.fromkeys(found))


def chosen(numbers: np.ndarray, most: int, first: Iterable[int] = ()) -> np.ndarray:
    """At most `most` of these run numbers, sorted: those in `first`, then others spread evenly.

    One is taken at random from each of equal stretches: a fixed stride could meet a grid's own
    period and see only some of its values.

    >>> chosen(np.arange(10), 20).tolist() == list(range(10))
    True
    >>> len(chosen(np.arange(10**6), 100, first=[7, 12]))
    100
    """
    if len(numbers) <= most:
        return np.sort(numbers)
    wanted = np.array(list(dict.fromkeys(first)), int)
    kept = wanted[np.isin(wanted, numbers)][:most]
    others = np.setdiff1d(numbers, kept)
    edges = np.linspace(0, len(others), most - len(kept) + 1).round().astype(int)
    places = np.random.default_rng(SEED).integers(edges[:-1], np.maximum(edges[1:], edges[:-1] + 1))
    return np.sort(np.concatenate([kept, others[places]]))


# motions of some runs, computed again when the page is made


def motions(study: Study, runs: np.ndarray) -> dict[int, dict[str, Any]]:
    """{run: what the stage shows of it}, for those of the given runs that can be begun."""
    found: dict[int, dict[str, Any]] = {}
    for start in range(0, len(runs), BATCH):
        part = runs[start : start + BATCH]
        try:
            found |= _motions(study, part)
        except DalembertError:  # one of them is impossible: which one?
            for run in part:
                with suppress(DalembertError):
                    found |= _motions(study, np.array([run]))
    return found


def _motions(study: Study, runs: np.ndarray) -> dict[int, dict[str, Any]]:
    rows = study.design.rows(runs)
    batch = study.work.trajectories(rows)
    batch = batch.isel(time=spread(batch.sizes["time"], INSTANTS))
    values = study.work.varied.inputs(rows).get("parameters")
    found = {}
    for k, run in enumerate(runs.tolist()):
        robot = _bound(study, values[k] if isinstance(values, np.ndarray) else None)
        one = one_sample(batch, k)
        seen = one[[name for name in PLOTTED if name in one]]
        charts = [chart for several in run_charts(seen).values() for chart in several]
        found[run] = moving(robot, one["time"].values, one["q"].values, charts)
    return found


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
