"""Pictures of a mechanism: its postures, its torques and joint forces, and a GIF of the motion."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.files import written
from dalembert.mechanisms.analysis import Analysis
from dalembert.mechanisms.loads import Moved, loads
from dalembert.report.animation import frames_of, write_gif
from dalembert.report.charts import spread
from dalembert.report.closures import SLIDES
from dalembert.report.colours import PALETTE
from dalembert.report.mechanism_shapes import Shapes, shapes
from dalembert.report.picture import figure_of, styled
from dalembert.text import picture

if TYPE_CHECKING:
    import xarray

GHOSTS = 6
SAMPLES = 400  # of a curve; more are not seen
MOST = 6  # bodies or joints whose curves can be told apart
DASHES = ("-", "--", ":", "-.")  # of x, y, z, w


def draw(mechanism: Analysis, run: xarray.Dataset, path: Path, moved: Moved | None = None) -> Path:
    """Postures, then x, y, φ and their rates, joint forces and torques over time, as PNG.

    `moved` is that of a scenario: torques at the pins in place of a led tool.
    """
    seen = sampled(run)
    with styled():
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
    for number, (_, _, kind) in enumerate(look.marks):
        marker = "s" if kind in SLIDES else "o"
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
    look, t = shapes(mechanism.description), run.time.values
    chosen = frames_of(t)
    with styled():
        figure = figure_of(4.6, 4.6, layout="constrained")
        planar = mechanism.description.space.dimension == 2
        axes = figure.add_subplot(**({} if planar else {"projection": "3d"}))
        _limits(axes, look, run.q.values[chosen])

        def draw(number: int) -> list[Any]:
            k = chosen[number]
            axes.set_title(f"{picture(mechanism.name)}   t = {t[k]:.2f} s", fontsize=10)
            return _posture(axes, look, run.q.values[k], 1.0)

        return write_gif(path, figure, t[chosen], draw, progress)


class Curve(NamedTuple):
    """A line over time: its colour and dash are numbers of a body or joint, and of a component."""

    label: str
    values: np.ndarray
    colour: int
    dash: int


class Panel(NamedTuple):
    """Curves with one axis."""

    label: str
    curves: list[Curve]


def sampled(run: xarray.Dataset) -> xarray.Dataset:
    """At most `SAMPLES` instants of a run, the first and the last among them."""
    return run.isel(time=spread(run.sizes["time"], SAMPLES))


def panels(mechanism: Analysis, run: xarray.Dataset, moved: Moved | None = None) -> list[Panel]:
    """Positions, angles, their rates, joint forces and efforts; energies where nothing acts."""
    d = mechanism.description
    plane, size = d.space.dimension == 2, d.space.dimension
    q = run.q.values.reshape(len(run.time), -1, d.space.nq)
    v = run.qd.values.reshape(len(run.time), -1, d.space.nv)
    axes = d.space.coordinates
    turns = ("phi",) if plane else ("x", "y", "z")
    found = loads(mechanism, run, moved)
    made = [
        Panel("position / m", _bodies(d.names, q[..., :size], axes[:size])),
        Panel("φ / rad" if plane else "quaternion", _bodies(d.names, q[..., size:], axes[size:])),
        Panel("velocity / m/s", _bodies(d.names, v[..., :size], [f"v{a}" for a in axes[:size]])),
        Panel(
            "angular velocity / rad/s", _bodies(d.names, v[..., size:], [f"ω{a}" for a in turns])
        ),
        Panel("joint forces / N", _joints(found, size)),
    ]
    if found.sizes["acting"]:
        efforts = found.effort.values
        names = list(found.acting.values)
        own = [Curve(str(name), efforts[:, k], k, 0) for k, name in enumerate(names[: 2 * MOST])]
        return [*made, Panel("drives / N m, N", own)]
    return [*made, Panel("energy / J", _energies(run))]


def _bodies(names: tuple[str, ...], values: np.ndarray, parts: Any) -> list[Curve]:
    """One curve for every body and component of values (time, bodies, components)."""
    said = {"phi": "φ", "ωphi": "ω"}
    return [
        Curve(f"{names[b + 1]} {said.get(part, part)}", values[:, b, k], b, k)
        for b in range(min(values.shape[1], MOST))
        for k, part in enumerate(parts)
    ]


def _joints(found: xarray.Dataset, size: int) -> list[Curve]:
    labels = [str(x) for x in found.component.values[: MOST * size]]
    return [
        Curve(label, found.joint_force.values[:, k], k // size, k % size)
        for k, label in enumerate(labels)
    ]


def _energies(run: xarray.Dataset) -> list[Curve]:
    total = (run.kinetic + run.potential).values
    parts = [(name, run[name].values) for name in ("kinetic", "potential")]
    return [Curve(name, y, k, 0) for k, (name, y) in enumerate([*parts, ("energy", total)])]


def plot(axes: Any, t: np.ndarray, panel: Panel) -> None:
    """A panel with its legend beside it."""
    for curve in panel.curves:
        style = {"color": PALETTE[curve.colour % len(PALETTE)], "linestyle": DASHES[curve.dash]}
        axes.plot(t, curve.values, label=picture(curve.label), linewidth=1.3, **style)
    axes.set_ylabel(panel.label)
    axes.set_xlim(float(t[0]), float(t[-1]))
    if panel.curves:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7, handlelength=2.4)
