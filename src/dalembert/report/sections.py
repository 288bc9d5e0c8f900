"""HTML of a report: tables, the model, agreement, operation counts, and static SVG charts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import floor, log10
from typing import Any

import numpy as np

from dalembert.report import comparison
from dalembert.report.comparison import count_rows
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
    nv, mass = facts["nv"], facts["total_mass"]
    lead = (
        f"<p>{nv} degree{'s' * (nv != 1)} of freedom, {mass:.5g} kg in motion, gravity "
        f"({_triple(facts['gravity'])}) m/s². Ticking <em>inertia</em> under the picture shows each "
        "link as the uniform ellipsoid of the same mass and inertia.</p>"
    )
    return lead + table(head, rows, left=3)


def coordinates_html(facts: dict[str, Any]) -> str:
    """Coordinates, constraints and freedoms of a system that is not a tree of links alone."""
    rows = [(html(entry["name"]), html(entry["kind"])) for entry in facts["coordinates"]]
    count, freedoms = len(facts["constraints"]), facts["freedoms"]
    lead = f"<p>{facts['nq']} coordinates"
    lead += f", held by {count} rows of constraints" if count else ""
    lead += f": {freedoms} degree{'s' * (freedoms != 1)} of freedom.</p>"
    return lead + table(("coordinate", "kind"), rows, left=2)


def agreement_html(
    rows: Sequence[comparison.Agreement], identities: Sequence[comparison.Identity]
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
        f"difference over {comparison.STATES:,} random states; {good} of {len(rows) + len(identities)} "
        "checks hold.</p>"
    )

    text = lead + table(head, cells, left=3)
    if not identities:
        return text
    checks = [(html(x.claim), html(x.left), html(x.right), error_html(x.error)) for x in identities]
    listing = table(("identity", "by", "and", "difference"), checks, left=3)
    return f"{text}<h3>Identities between quantities, at the same states</h3>{listing}"


def counts_html(system: System) -> str:
    """Multiplications and additions of inverse dynamics, or of motion under constraints."""
    if system.nv > comparison.LARGE:
        return '<p class="faint">Not counted here: there are too many joints.</p>'
    quantity = comparison.counted_quantity(system)
    rows = count_rows(system, quantity)
    written = [row.as_written for row in rows if row.as_written]
    largest = max((count.multiplications + count.additions for count in written), default=1)
    columns = comparison.known_columns(rows)
    heads = (
        *("as written ×", "+", "for this system ×", "+", "sin, cos"),
        *("published, n = 6 ×", "+"),
    )
    head = ("formulation", *(heads[k] for k in columns), "as written, log scale" if written else "")
    lead = f"<p>{quantity.replace('_', ' ').capitalize()} per state. "
    if written:
        lead += "<em>As written</em>: general numbers, nothing known to be zero. "
    lead += "<em>For this system</em>: zeros, ones and repetitions removed, as it is compiled."
    if any(row.published for row in rows):
        lead += " Published figures: Hollerbach 1980, table I."
    lead += "</p>"
    cells = []
    for row in rows:
        last = html(row.note)
        if row.as_written is not None:
            total = row.as_written.multiplications + row.as_written.additions
            # from 100 operations, an empty bar, to the largest, a full one
            share = np.log10(max(total, 100) / 100) / max(np.log10(max(largest, 101) / 100), 1e-9)
            last = f'<span class="bar" style="width: {8 * share:.2f}rem"></span>'
        numbers = [row.numbers[k] for k in columns]
        texts = ["–" if x is None else f"{x:,}" for x in numbers]
        cells.append((f"<b>{html(row.formulation)}</b>", *texts, last))
    return lead + table(head, cells)


def error_html(value: float) -> str:
    """A relative error with its mark."""
    kind, mark = ("ok", "✓") if comparison.small(value) else ("no", "✗")
    return f'{value:.1e} <span class="{kind}">{mark}</span>'


def _triple(values: np.ndarray) -> str:
    return ", ".join("0" if abs(v) < 1e-12 else f"{v:.4g}" for v in values.tolist())


# static charts as SVG: histograms, curves, intervals

WIDTH, HEIGHT = 340.0, 170.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 8.0, 8.0, 26.0


def chart(title: str, body: str, note: str = "") -> str:
    """A figure with a heading, the SVG picture, and a note below it."""
    box = f"0 0 {WIDTH:g} {HEIGHT:g}"
    caption = f'<p class="faint">{html(note)}</p>' if note else ""
    return (
        f'<figure class="chart box" style="margin:0"><h3>{html(title)}</h3>'
        f'<svg viewBox="{box}" role="img" aria-label="{html(title)}">{body}</svg>{caption}</figure>'
    )


def grid(charts: Sequence[str]) -> str:
    """Charts side by side, as many as fit."""
    columns = "repeat(auto-fill,minmax(min(20rem,100%),1fr))"
    return (
        f'<div style="display:grid;gap:.8rem;grid-template-columns:{columns}">'
        + "".join(charts)
        + "</div>"
    )


class Axes:
    """Axes of a chart: the map from numbers to the picture, and grid lines at round numbers."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        self.x, self.y = _widened(x), _widened(y)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Coordinates of (x, y) in the picture."""
        (x0, x1), (y0, y1) = self.x, self.y
        across = (x - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT)
        return LEFT + across, HEIGHT - BOTTOM - (y - y0) / (y1 - y0) * (HEIGHT - TOP - BOTTOM)

    def lines(self) -> str:
        """Grid lines and their numbers."""
        line = '<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>'
        text = '<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>'
        elements = []
        for value in ticks(*self.y):
            _, y = self.at(self.x[0], value)
            kind, label = "zero" if value == 0.0 else "grid", f"{value:.4g}".replace("-", "−")
            elements.append(line.format(kind, LEFT, y, WIDTH - RIGHT, y))
            elements.append(text.format(LEFT - 5, y + 4, "end", label))
        for value in ticks(*self.x):
            x, label = self.at(value, self.y[0])[0], f"{value:.4g}".replace("-", "−")
            elements.append(line.format("grid", x, TOP, x, HEIGHT - BOTTOM))
            elements.append(text.format(x, HEIGHT - BOTTOM + 15, "middle", label))
        return "".join(elements)

    def curve(self, x: np.ndarray, y: np.ndarray, colour: int = 0, dashed: bool = False) -> str:
        """A line through points; it is broken where one is not finite."""
        commands, pen = [], "M"
        for a, b in zip(x.tolist(), y.tolist(), strict=True):
            if not np.isfinite(a + b):
                pen = "M"
                continue
            u, v = self.at(a, b)
            commands.append(f"{pen}{u:.1f} {v:.1f}")
            pen = "L"
        kind = ' class="dashed"' if dashed else ""
        return f'<path{kind} style="stroke:var(--c{colour})" d="{"".join(commands)}"/>'

    def bars(self, edges: np.ndarray, heights: np.ndarray) -> str:
        """Bars between the edges, from zero."""
        rectangles = []
        for a, b, h in zip(edges[:-1].tolist(), edges[1:].tolist(), heights.tolist(), strict=True):
            (u, v), (w, base) = self.at(a, h), self.at(b, 0.0)
            size = f'width="{max(w - u - 0.6, 0.4):.1f}" height="{abs(base - v):.1f}"'
            rectangles.append(f'<rect class="own" x="{u:.1f}" y="{min(v, base):.1f}" {size}/>')
        return "".join(rectangles)


def ticks(low: float, high: float) -> list[float]:
    """Some five round numbers between two, steps of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / 5
    power = 10.0 ** floor(log10(rough))
    step = next(k * power for k in (1.0, 2.0, 5.0, 10.0) if k * power >= rough * (1.0 - 1e-9))
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [k * step for k in range(first, last + 1)]


def _widened(limits: tuple[float, float]) -> tuple[float, float]:
    """The limits, or some around them if they are empty or not finite."""
    low, high = limits
    if not (np.isfinite(low) and np.isfinite(high)) or high <= low:
        return (low - 1.0, low + 1.0) if np.isfinite(low) else (-1.0, 1.0)
    return low, high
