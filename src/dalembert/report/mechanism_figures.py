"""Figures of a mechanism: postures, forces and torques over time, and an animation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.files import output_file
from dalembert.mechanisms.mechanism import Mechanism
from dalembert.mechanisms.state import Moved, loads
from dalembert.report.charts import PALETTE, spread
from dalembert.report.figures import frame_samples, new_figure, plot_style, write_gif
from dalembert.report.scene import SLIDES, Outlines, outlines_of
from dalembert.text import picture as label_text

if TYPE_CHECKING:
    import xarray

GHOSTS = 6
SAMPLES = 400  # of a curve
MOST = 6  # bodies or joints in one panel, so that their curves can be told apart
DASHES = ("-", "--", ":", "-.")  # of x, y, z, w


def draw(mechanism: Mechanism, run: xarray.Dataset, path: Path, moved: Moved | None = None) -> Path:
    """Postures, then x, y, φ and their rates, joint forces and torques over time, as PNG.

    `moved` is that of a scenario: torques at the pins in place of a guided tool.
    """
    few, outlines = sampled(run), outlines_of(mechanism.description)
    samples = np.linspace(0, run.sizes["time"] - 1, GHOSTS).round().astype(int)
    with plot_style():
        figure = new_figure(16.0, 8.6, layout="constrained")
        grid = figure.add_gridspec(3, 3, width_ratios=(1.25, 1.0, 1.0))
        planar = mechanism.description.space.dimension == 2
        axes = figure.add_subplot(grid[:, 0], **({} if planar else {"projection": "3d"}))
        for number, k in enumerate(samples):
            alpha = 1.0 if number == GHOSTS - 1 else 0.12 + 0.3 * number / GHOSTS
            _draw_posture(axes, outlines, run.q.values[k], alpha)
        _set_limits(axes, outlines, run.q.values[samples])
        for k, panel in enumerate(panels(mechanism, few, moved)):
            own = figure.add_subplot(grid[k // 2, 1 + k % 2])
            _plot_panel(own, few.time.values, panel)
            if k >= 4:
                own.set_xlabel("time / s")
        figure.suptitle(
            f"{label_text(mechanism.name)}: {float(run.time[-1]):g} s by {run.attrs['method']}"
        )
    with output_file(path) as part:
        figure.savefig(part, dpi=110, format="png")
    return path


def _draw_posture(axes: Any, outlines: Outlines, q: np.ndarray, alpha: float) -> list[Any]:
    """Draw one posture; return its artists."""
    artists = []
    for k in range(1, len(outlines.outlines)):
        points = outlines.outline(q, k)
        closed = np.concatenate([points, points[:1]]) if len(points) > 2 else points
        colour = PALETTE[(k - 1) % len(PALETTE)]
        artists += axes.plot(
            *closed.T, color=colour, alpha=alpha, linewidth=4.0, solid_capstyle="round"
        )
    for number, (_, _, kind) in enumerate(outlines.marks):
        marker = "s" if kind in SLIDES else "o"
        style = {"color": "white", "markeredgecolor": "#22303c", "alpha": alpha, "markersize": 5}
        point = outlines.mark(q, number)
        artists += axes.plot(*([x] for x in point), marker=marker, linestyle="", **style)
    return artists


def _set_limits(axes: Any, outlines: Outlines, rows: np.ndarray) -> None:
    """Equal scales around everything; the ground's points as triangles."""
    everything = [outlines.outline(q, k) for q in rows for k in range(1, len(outlines.outlines))]
    ground = outlines.outlines[0]
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
    mechanism: Mechanism,
    run: xarray.Dataset,
    path: Path,
    progress: Callable[[float], Any] = lambda done: None,
) -> Path:
    """Write a GIF of the motion, in real time."""
    outlines, t = outlines_of(mechanism.description), run.time.values
    samples = frame_samples(t)
    with plot_style():
        figure = new_figure(4.6, 4.6, layout="constrained")
        planar = mechanism.description.space.dimension == 2
        axes = figure.add_subplot(**({} if planar else {"projection": "3d"}))
        _set_limits(axes, outlines, run.q.values[samples])

        def draw_frame(number: int) -> list[Any]:
            k = samples[number]
            axes.set_title(f"{label_text(mechanism.name)}   t = {t[k]:.2f} s", fontsize=10)
            return _draw_posture(axes, outlines, run.q.values[k], 1.0)

        return write_gif(path, figure, t[samples], draw_frame, progress)


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


def panels(mechanism: Mechanism, run: xarray.Dataset, moved: Moved | None = None) -> list[Panel]:
    """Positions, angles, their rates, joint forces and efforts; energies without drives."""
    d = mechanism.description
    is_planar, size = d.space.dimension == 2, d.space.dimension
    q = run.q.values.reshape(len(run.time), -1, d.space.nq)
    v = run.qd.values.reshape(len(run.time), -1, d.space.nv)
    axes = d.space.coordinates
    angular = ("ω",) if is_planar else ("ωx", "ωy", "ωz")
    angles, label = (("φ",), "φ / rad") if is_planar else (axes[size:], "quaternion")
    linear = [f"v{axis}" for axis in axes[:size]]
    forces = loads(mechanism, run, moved)
    components = [str(x) for x in forces.component.values[: MOST * size]]
    joint_forces = [
        Curve(name, forces.joint_force.values[:, k], k // size, k % size)
        for k, name in enumerate(components)
    ]
    if forces.sizes["acting"]:
        names = [str(name) for name in forces.acting.values[: 2 * MOST]]
        efforts = [Curve(name, forces.effort.values[:, k], k, 0) for k, name in enumerate(names)]
        last = Panel("drives / N m, N", efforts)
    else:
        energies = {"kinetic": run.kinetic, "potential": run.potential}
        energies["energy"] = run.kinetic + run.potential
        curves = [Curve(name, y.values, k, 0) for k, (name, y) in enumerate(energies.items())]
        last = Panel("energy / J", curves)
    return [
        Panel("position / m", _body_curves(d.names, q[..., :size], axes[:size])),
        Panel(label, _body_curves(d.names, q[..., size:], angles)),
        Panel("velocity / m/s", _body_curves(d.names, v[..., :size], linear)),
        Panel("angular velocity / rad/s", _body_curves(d.names, v[..., size:], angular)),
        Panel("joint forces / N", joint_forces),
        last,
    ]


def _body_curves(
    names: tuple[str, ...], values: np.ndarray, components: Sequence[str]
) -> list[Curve]:
    """One curve for every body and component of values (time, bodies, components)."""
    return [
        Curve(f"{names[b + 1]} {component}", values[:, b, k], b, k)
        for b in range(min(values.shape[1], MOST))
        for k, component in enumerate(components)
    ]


def _plot_panel(axes: Any, t: np.ndarray, panel: Panel) -> None:
    """A panel with its legend beside it."""
    for curve in panel.curves:
        style = {"color": PALETTE[curve.colour % len(PALETTE)], "linestyle": DASHES[curve.dash]}
        axes.plot(t, curve.values, label=label_text(curve.label), linewidth=1.3, **style)
    axes.set_ylabel(panel.label)
    axes.set_xlim(float(t[0]), float(t[-1]))
    if panel.curves:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7, handlelength=2.4)
