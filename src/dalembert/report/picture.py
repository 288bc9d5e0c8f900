"""The picture of the demo: an arm in motion, its torques, and where the work goes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.files import written
from dalembert.report.colours import PALETTE
from dalembert.report.coordinates import coordinates
from dalembert.report.motion import SampledMotion
from dalembert.report.skeleton import Skeleton, skeleton, thickness
from dalembert.report.solids import ball, shaded, tube
from dalembert.systems.robot import Robot
from dalembert.text import picture as as_label

GHOSTS = 7
LINK, DRUM, RAIL = (
    np.array([0.80, 0.84, 0.89]),
    np.array([0.16, 0.42, 0.68]),
    np.array([0.93, 0.58, 0.2]),
)
INK, FAINT = "#22303c", "#8a97a3"
MARGINS = {
    "left": -0.02,
    "right": 0.875,
    "top": 0.86,
    "bottom": 0.085,
    "hspace": 0.32,
    "wspace": 0.17,
}
STYLE: dict[Any, Any] = {
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6eaee",
    "legend.frameon": False,
    "lines.linewidth": 1.8,
}


def _matplotlib() -> Any:
    try:
        import matplotlib
        import matplotlib.backends.backend_agg
        import matplotlib.figure
    except ImportError:
        raise DalembertError(
            "pictures need matplotlib: pip install matplotlib pillow (the extra [view])"
        ) from None
    return matplotlib


def figure_of(width: float, height: float, layout: Any = "constrained", dpi: int = 110) -> Any:
    """An empty figure that needs no screen."""
    made = _matplotlib()
    figure = made.figure.Figure((width, height), dpi, layout=layout, facecolor="white")
    made.backends.backend_agg.FigureCanvasAgg(figure)
    return figure


def styled() -> Any:
    """A context in which what is drawn has the style of our pictures."""
    return _matplotlib().rc_context(STYLE)


def draw(robot: Robot, title: str, motion: SampledMotion, path: Path) -> None:
    """Write the picture to `path`."""
    figure = figure_of(13.0, 6.6, layout=None)
    with styled():
        grid = figure.add_gridspec(2, 2, width_ratios=(1.1, 1.0), **MARGINS)
        arm(figure.add_subplot(grid[:, 0], projection="3d"), robot, motion)
        torques(figure.add_subplot(grid[0, 1]), robot, motion)
        energies(figure.add_subplot(grid[1, 1]), motion)
        figure.text(0.03, 0.935, as_label(title), fontsize=17, fontweight="bold")
        every = motion.t[-1] / (GHOSTS - 1)
        note = f"one motion, a posture every {every:.1f} s; orange: the way of the tool"
        figure.text(0.03, 0.895, as_label(note), color=FAINT)
        with written(path) as part:
            figure.canvas.print_png(part)


def arm(axes: Any, robot: Robot, motion: SampledMotion) -> None:
    """Postures along the motion, the last one solid, and the way of the tool."""
    chosen = np.linspace(0, len(motion.t) - 1, GHOSTS).round().astype(int)
    figures = [skeleton(robot, motion.q[i]) for i in chosen]
    way = robot.pose(motion.q, frame="tool")[:, :3, 3]
    low, high, radius = limits_of(figures)
    axes.computed_zorder = False
    frame_box(axes, low, high)
    for number, s in enumerate(figures):
        faded = 0.0 if number == GHOSTS - 1 else 0.8 - 0.35 * number / GHOSTS
        solid_posture(axes, s, radius, faded, zorder=2 + number)
    axes.plot(*way.T, color=PALETTE[1], linewidth=2.0, zorder=2 + GHOSTS, solid_capstyle="round")
    axes.scatter(*way[-1], color=PALETTE[1], s=22, zorder=3 + GHOSTS, depthshade=False)


def limits_of(shapes: Sequence[Skeleton]) -> tuple[np.ndarray, np.ndarray, float]:
    """Corners (3,) of a box around all postures, and the radius of the first link, m."""
    points = np.concatenate([np.concatenate([*s.paths, s.joints]) for s in shapes])
    size = float(np.ptp(points, axis=0).max())
    radius = 0.024 * size
    # at least 0.7 of the largest extent each way, so that flat and slender arms have room
    slack = np.maximum(3 * radius, (0.7 * size - np.ptp(points, axis=0)) / 2)
    return points.min(axis=0) - slack * (1, 1, 0), points.max(axis=0) + slack, radius


def torques(axes: Any, robot: Robot, motion: SampledMotion) -> None:
    """τ over time, one curve per joint."""
    entries = coordinates(robot, "tau")
    for i, entry in enumerate(entries):
        label = as_label(entry.name.removesuffix("_joint"))
        # without the ends at rest, where Coulomb friction is not defined by the motion
        axes.plot(motion.t[1:-1], motion.tau[1:-1, i], color=PALETTE[i % len(PALETTE)], label=label)
    units = " or ".join(dict.fromkeys(entry.unit("tau") for entry in entries))
    _finish(axes, motion, f"joint torque / {units}", "Torques of the motion (inverse dynamics)")


def energies(axes: Any, motion: SampledMotion) -> None:
    """The work done at the joints is the energy gained, and what friction took."""
    stored = motion.kinetic + motion.potential
    axes.fill_between(motion.t, stored, color=PALETTE[0], alpha=0.08, linewidth=0)
    axes.plot(motion.t, motion.kinetic, color=PALETTE[2], label="kinetic")
    axes.plot(motion.t, motion.potential, color=PALETTE[4], label="potential")
    if motion.has_friction:
        axes.plot(motion.t, motion.friction, color=PALETTE[3], label="lost to friction")
        stored = stored + motion.friction
    axes.plot(motion.t, stored, color=PALETTE[0], label="sum", linewidth=4.5, alpha=0.35)
    axes.plot(
        motion.t,
        motion.work,
        color=INK,
        label="work ∫ τ·q̇ dt",
        linewidth=1.4,
        linestyle=(0, (4, 2)),
    )
    title = f"Energy balance (closes to {motion.residual:.0e} J)"
    _finish(axes, motion, "energy / J", title)
    axes.set_xlabel("time / s")


def _finish(axes: Any, motion: SampledMotion, label: str, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=11, color=INK)
    axes.set_ylabel(label)
    axes.set_xlim(motion.t[0], motion.t[-1])
    axes.margins(y=0.08)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9, handlelength=1.6)


def solid_posture(axes: Any, s: Skeleton, radius: float, faded: float, zorder: int) -> Any:
    """One posture as shaded faces, added to the axes; `faded` mixes it with the paper."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    faces, colours = [], []

    def add(part: np.ndarray, colour: np.ndarray) -> None:
        faces.append(part)
        colours.append((1.0 - faded) * shaded(part, colour) + faded)

    for path, depth in zip(s.paths, s.depths, strict=True):
        r = thickness(radius, depth)
        for start, stop in pairwise(path):
            add(tube(start, stop, r), LINK)
            add(ball(stop, r), LINK)
    depth_of = dict(zip(map(tuple, s.joints), s.depths, strict=False))
    for origin, axis, slides in zip(s.joints, s.axes, s.slides, strict=True):
        r = thickness(radius, depth_of[tuple(origin)])
        half, wide = (2.2 * r, 1.15 * r) if slides else (1.55 * r, 1.4 * r)
        add(
            tube(origin - half * axis, origin + half * axis, wide, capped=True),
            RAIL if slides else DRUM,
        )
    mesh = Poly3DCollection(np.concatenate(faces), zorder=zorder, zsort="average")
    mesh.set_facecolor(np.concatenate(colours))
    mesh.set_edgecolor(np.concatenate(colours))
    mesh.set_linewidth(0.3)
    return axes.add_collection3d(mesh)


def frame_box(axes: Any, low: np.ndarray, high: np.ndarray) -> None:
    """Equal scales, quiet panes, metres."""
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    extent = high - low
    # matplotlib scales by the diagonal; this makes the longest edge alike for flat and cubic boxes
    axes.set_box_aspect(extent, zoom=0.67 * np.linalg.norm(extent) / extent.max())
    axes.set_proj_type("ortho")
    axes.view_init(elev=20, azim=-60)
    for axis, name in zip((axes.xaxis, axes.yaxis, axes.zaxis), "xyz", strict=True):
        axis.set_pane_color((0.985, 0.988, 0.992, 1.0))
        axis.line.set_color("#c6ced6")
        axis.set_label_text(f"{name} / m")
        axis.get_major_locator().set_params(nbins=5)
    axes.tick_params(labelsize=8)
