"""Pictures of a mechanism: its postures, its torques and joint forces, and a GIF of the motion."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.files import written
from dalembert.mechanisms.analysis import Analysis
from dalembert.mechanisms.loads import Moved
from dalembert.report.animation import MOST_FRAMES, _image, _save
from dalembert.report.colours import PALETTE
from dalembert.report.figures import figure_of
from dalembert.report.mechanism_curves import panels, plot, sampled
from dalembert.report.mechanism_shapes import Shapes, shapes
from dalembert.report.picture import STYLE
from dalembert.text import picture

if TYPE_CHECKING:
    import xarray

GHOSTS = 6
FRAMES_PER_SECOND = 20


def draw(mechanism: Analysis, run: xarray.Dataset, path: Path, moved: Moved | None = None) -> Path:
    """Postures, then x, y, φ and their rates, joint forces and torques over time, as PNG.

    `moved` is that of a scenario: torques at the pins in place of a led tool.
    """
    import matplotlib

    seen = sampled(run)
    with matplotlib.rc_context(STYLE):
        figure = figure_of(16.0, 8.6, layout="constrained")
        grid = figure.add_gridspec(3, 3, width_ratios=(1.25, 1.0, 1.0))
        planar = mechanism.description.space.dimension == 2
        axes = figure.add_subplot(grid[:, 0], **({} if planar else {"projection": "3d"}))
        _postures(axes, mechanism, run)
        for k, panel in enumerate(panels(mechanism, seen, moved)):
            own = figure.add_subplot(grid[k // 2, 1 + k % 2])
            plot(own, seen.time.values, panel)
            if k >= 4:
                own.set_xlabel("time / s")
        figure.suptitle(
            f"{picture(mechanism.name)}: {float(run.time[-1]):g} s by {run.attrs['method']}"
        )
    with written(path) as part:
        figure.savefig(part, dpi=110, format="png")
    return path


def _postures(axes: Any, mechanism: Analysis, run: xarray.Dataset) -> None:
    look = shapes(mechanism.description)
    chosen = np.linspace(0, run.sizes["time"] - 1, GHOSTS).round().astype(int)
    for number, k in enumerate(chosen):
        last = number == GHOSTS - 1
        _posture(axes, look, run.q.values[k], 1.0 if last else 0.12 + 0.3 * number / GHOSTS)
    _limits(axes, look, run.q.values[chosen])


def _posture(axes: Any, look: Shapes, q: np.ndarray, alpha: float) -> list[Any]:
    """Draw one posture; the artists drawn."""
    drawn = []
    for k in range(1, len(look.outlines)):
        points = look.outline(q, k)
        closed = np.concatenate([points, points[:1]]) if len(points) > 2 else points
        colour = PALETTE[(k - 1) % len(PALETTE)]
        drawn += axes.plot(
            *closed.T, color=colour, alpha=alpha, linewidth=4.0, solid_capstyle="round"
        )
    slides = ("prismatic", "cylindrical", "screw", "rack", "point_on_line")
    for number, (_, _, kind) in enumerate(look.marks):
        marker = "s" if kind in slides else "o"
        style = {"color": "white", "markeredgecolor": "#22303c", "alpha": alpha, "markersize": 5}
        place = look.mark(q, number)
        drawn += axes.plot(*([x] for x in place), marker=marker, linestyle="", **style)
    return drawn


def _limits(axes: Any, look: Shapes, rows: np.ndarray) -> None:
    """Equal scales around everything; the ground's points as triangles."""
    everything = [look.outline(q, k) for q in rows for k in range(1, len(look.outlines))]
    ground = look.outlines[0]
    points = np.concatenate([*everything, ground])
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    half = 0.55 * float(np.ptp(points, axis=0).max()) + 1e-9
    if len(ground):
        axes.plot(*ground.T, marker="^", linestyle="", color="#8a97a3", markersize=9, zorder=0)
    for axis, centre in zip("xyz"[: len(middle)], middle, strict=True):
        getattr(axes, f"set_{axis}lim")(centre - half, centre + half)
        getattr(axes, f"set_{axis}label")(f"{axis} / m")
    axes.set_aspect("equal")


def animate(
    mechanism: Analysis,
    run: xarray.Dataset,
    path: Path,
    progress: Callable[[float], Any] = lambda done: None,
) -> Path:
    """A GIF of the motion in its own time."""
    import matplotlib

    look, t = shapes(mechanism.description), run.time.values
    count = 1 + int(np.clip(round(FRAMES_PER_SECOND * t[-1]), 1, MOST_FRAMES))
    chosen = np.abs(t[None, :] - np.linspace(0.0, t[-1], count)[:, None]).argmin(axis=1)
    images = []
    with matplotlib.rc_context(STYLE):
        figure = figure_of(4.6, 4.6, layout="constrained")
        planar = mechanism.description.space.dimension == 2
        axes = figure.add_subplot(**({} if planar else {"projection": "3d"}))
        _limits(axes, look, run.q.values[chosen])
        for number, k in enumerate(chosen):
            drawn = _posture(axes, look, run.q.values[k], 1.0)
            axes.set_title(f"{picture(mechanism.name)}   t = {t[k]:.2f} s", fontsize=10)
            images.append(_image(figure))
            for artist in drawn:
                artist.remove()
            progress((number + 1) / count)
    _save(images, path, 1000.0 * t[-1] / max(1, count - 1))
    return path
