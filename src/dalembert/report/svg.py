"""Small static charts as SVG: histograms, curves, intervals."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10

import numpy as np

from dalembert.text import html

WIDTH, HEIGHT = 340.0, 170.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 8.0, 8.0, 26.0


def chart(title: str, body: str, note: str = "", height: float = HEIGHT) -> str:
    """A figure with a heading, the SVG picture, and a note below it."""
    box = f"0 0 {WIDTH:g} {height:g}"
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
        elements = []
        for value in ticks(*self.y):
            _, y = self.at(self.x[0], value)
            elements.append(_line(LEFT, y, WIDTH - RIGHT, y, "zero" if value == 0.0 else "grid"))
            elements.append(_text(LEFT - 5, y + 4, value, "end"))
        for value in ticks(*self.x):
            x, _ = self.at(value, self.y[0])
            elements.append(_line(x, TOP, x, HEIGHT - BOTTOM, "grid"))
            elements.append(_text(x, HEIGHT - BOTTOM + 15, value, "middle"))
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


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers between two, steps of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / count
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


def _line(x0: float, y0: float, x1: float, y1: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}"/>'


def _text(x: float, y: float, value: float, anchor: str) -> str:
    label = f"{value:.4g}".replace("-", "−")
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{label}</text>'
