"""The page of a study: coordinates side by side, distributions, failures, and motions of some runs.

A selection is made by brushing an axis, and everything on the page follows it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.report.looks import looks_of
from dalembert.report.page import SCRIPTS, asset, document, stage
from dalembert.report.sections import table
from dalembert.report.skeleton import numbers_of
from dalembert.report.study_columns import DRAWN, Column, chosen, columns, extremes
from dalembert.report.study_motions import MOTIONS, motions
from dalembert.sweeps.recall import require_same, study_of
from dalembert.sweeps.study import REFUSED, Study
from dalembert.text import html

if TYPE_CHECKING:
    import xarray

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
    reasons, shown = _reasons(found), set(labels[drawn].tolist())
    data = {
        "runs": labels[drawn].tolist(),
        "status": status[drawn].tolist(),
        "columns": [_plain(column, drawn) for column in every],
        "looks": _looks(study),
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


def _plain(column: Column, drawn: np.ndarray) -> dict[str, Any]:
    """For JSON, with seven digits."""
    values = [float(f"{x:.7g}") for x in column.values[drawn].tolist()]
    kind = {"name": column.name, "entry": column.entry, "unit": column.unit}
    return {**kind, "varied": column.varied, "values": values}


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


def _looks(study: Study | None) -> dict[str, Any] | None:
    """How the robot of the study looks: once, for all of its motions."""
    robot = None if study is None else study.work.varied.system.robot
    looks = None if robot is None else looks_of(numbers_of(robot))
    return None if looks is None else looks.plain()


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
