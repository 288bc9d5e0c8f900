"""Sections of a report in HTML: the model, the agreement of formulations, operation counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dalembert.report import agreement
from dalembert.report.counts import Row, count_rows
from dalembert.report.facts import range_text
from dalembert.report.scene import numeric_model
from dalembert.systems.robot import Robot
from dalembert.systems.system import System
from dalembert.text import html


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A table in a box that scrolls; the first `left` columns hold words. Cells are HTML."""
    kinds = ["w" if k < left else "n" for k in range(len(head))]
    top = "".join(f'<th class="{k}">{h}</th>' for k, h in zip(kinds, head, strict=True))
    body = "".join(
        "<tr>"
        + "".join(f'<td class="{k}">{c}</td>' for k, c in zip(kinds, row, strict=True))
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="wide box"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody>'
        "</table></div>"
    )


def model_html(robot: Robot, facts: dict[str, Any]) -> str:
    """The tree of joints and links, with masses, centres and principal moments of inertia."""
    model = numeric_model(robot)
    rows = []
    for joint, info in zip(model.tree.joints, facts["joints"], strict=True):
        body = model.bodies[joint.bodies[-1]]
        frame = model.frames[joint.link]
        R, p = np.asarray(frame.rotation, float), np.asarray(frame.translation, float)
        com = moments = "–"
        if body.is_real:
            com = _triple(R.T @ (body.center - p))
            moments = _triple(np.linalg.eigvalsh(body.inertia_about_center))
        rows.append(
            (
                "&nbsp;" * (3 * info["depth"]) + "└ " + html(joint.name),
                html(joint.kind),
                html(joint.link),
                f"{info['mass']:.4g}",
                com,
                moments,
                range_text(info),
            )
        )
    head = (
        *("joint", "type", "link", "mass / kg", "centre in link frame / m"),
        *("principal inertia / kg m²", "range"),
    )
    lead = (
        f"<p>{_degrees(facts['nv'])}, {facts['total_mass']:.5g} kg in motion, gravity "
        f"({_triple(facts['gravity'])}) m/s². Ticking <em>inertia</em> under the picture shows each "
        "link as the uniform ellipsoid of the same mass and inertia.</p>"
    )
    return lead + table(head, rows, left=3)


def _degrees(count: int) -> str:
    return f"{count} degree{'s' * (count != 1)} of freedom"


def coordinates_html(facts: dict[str, Any]) -> str:
    """Coordinates, constraints and freedoms of a system that is not a tree of links alone."""
    rows = [(html(entry["name"]), html(entry["kind"])) for entry in facts["coordinates"]]
    rows_note = ""
    if facts["constraints"]:
        rows_note = f", held by {len(facts['constraints'])} rows of constraints"
    lead = f"<p>{facts['nq']} coordinates{rows_note}: {_degrees(facts['freedoms'])}.</p>"
    return lead + table(("coordinate", "kind"), rows, left=2)


def agreement_html(
    rows: Sequence[agreement.Agreement], identities: Sequence[agreement.Identity]
) -> str:
    """Differences of every formulation from all others, and identities between quantities."""
    head = ("quantity", "formulation", "source", "from the others", "from plain NumPy")
    cells = [
        (
            html(row.quantity),
            f"<b>{html(row.formulation)}</b>",
            html(row.citation),
            "only one" if row.apart is None else error_html(row.apart),
            error_html(row.compiled),
        )
        for row in rows
    ]
    good = sum(row.holds for row in rows) + sum(x.holds for x in identities)
    lead = (
        f"<p>Each formulation is derived and written on its own, then compiled. Largest relative "
        f"difference over {agreement.STATES:,} random states; {good} of {len(rows) + len(identities)} "
        "checks hold.</p>"
    )

    text = lead + table(head, cells, left=3)
    if not identities:
        return text
    checks = [(html(x.claim), html(x.left), html(x.right), error_html(x.error)) for x in identities]
    listing = table(("identity", "by", "and", "difference"), checks, left=3)
    return f"{text}<h3>Identities between quantities, at the same states</h3>{listing}"


def counts_html(system: System) -> str:
    """Multiplications and additions of inverse dynamics by every formulation."""
    if system.nv > agreement.LARGE:
        return '<p class="faint">Not counted here: there are too many joints.</p>'
    rows = count_rows(system)
    totals = [
        row.as_written.multiplications + row.as_written.additions for row in rows if row.as_written
    ]
    head = (
        *("formulation", "as written ×", "+", "for this system ×", "+", "sin, cos"),
        *("published, n = 6 ×", "+", "as written, log scale"),
    )
    lead = (
        "<p>Inverse dynamics per state. <em>As written</em>: general numbers, nothing known to be "
        "zero. <em>For this system</em>: its zeros, ones and repetitions removed, which is what is "
        "compiled. Published figures: Hollerbach 1980, table I.</p>"
    )
    largest = max(totals, default=1)
    return lead + table(head, [_count_cells(row, largest) for row in rows])


def error_html(value: float) -> str:
    """A relative error with its mark."""
    kind, mark = ("ok", "✓") if agreement.small(value) else ("no", "✗")
    return f'{value:.1e} <span class="{kind}">{mark}</span>'


def _count_cells(row: Row, largest: int) -> list[str]:
    cells = [f"<b>{html(row.formulation)}</b>"]
    for text in (row.as_written, row.customised):
        pair = (text.multiplications, text.additions) if text else (None, None)
        cells += ["–" if x is None else f"{x:,}" for x in pair]
    cells.append("–" if row.customised is None else str(row.customised.trigonometric))
    cells += ["–", "–"] if row.published is None else [f"{x:,}" for x in row.published]
    if row.as_written is None:
        return [*cells, html(row.note)]
    total = row.as_written.multiplications + row.as_written.additions
    # from 100 operations, an empty bar, to the largest, a full one
    share = np.log10(max(total, 100) / 100) / max(np.log10(max(largest, 101) / 100), 1e-9)
    return [*cells, f'<span class="bar" style="width: {8 * share:.2f}rem"></span>']


def _triple(values: Any) -> str:
    return ", ".join("0" if abs(v) < 1e-12 else f"{v:.4g}" for v in np.asarray(values, dtype=float))
