"""Matplotlib figures and animations: robots in motion, runs over time, phase portraits, ellipsoids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import DalembertError, ParameterError, ShapeError, UnknownNameError
from dalembert.files import output_file
from dalembert.report.charts import PALETTE, Plot, one_sample, run_charts, times
from dalembert.report.facts import coordinates
from dalembert.report.motion import SampledMotion
from dalembert.report.scene import Skeleton, skeleton, thickness
from dalembert.systems.robot import Robot
from dalembert.text import picture as label_text

if TYPE_CHECKING:
    import xarray

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


def new_figure(width: float, height: float, layout: Any = "constrained", dpi: int = 110) -> Any:
    """An empty figure that needs no screen; sizes in inches."""
    matplotlib = _matplotlib()
    figure = matplotlib.figure.Figure((width, height), dpi, layout=layout, facecolor="white")
    matplotlib.backends.backend_agg.FigureCanvasAgg(figure)
    return figure


def plot_style() -> Any:
    """A context in which artists get the style of the package's figures."""
    return _matplotlib().rc_context(STYLE)


# postures of robots


def draw(robot: Robot, title: str, motion: SampledMotion, path: Path) -> None:
    """Write a PNG of the moving arm, its torques and its energy balance."""
    figure = new_figure(13.0, 6.6, layout=None)
    with plot_style():
        grid = figure.add_gridspec(2, 2, width_ratios=(1.1, 1.0), **MARGINS)
        _draw_arm(figure.add_subplot(grid[:, 0], projection="3d"), robot, motion)
        _plot_torques(figure.add_subplot(grid[0, 1]), robot, motion)
        _plot_energies(figure.add_subplot(grid[1, 1]), motion)
        figure.text(0.03, 0.935, label_text(title), fontsize=17, fontweight="bold")
        period = motion.t[-1] / (GHOSTS - 1)
        note = f"one motion, a posture every {period:.1f} s; orange: the path of the tool"
        figure.text(0.03, 0.895, label_text(note), color=FAINT)
        with output_file(path) as part:
            figure.canvas.print_png(part)


def _draw_arm(axes: Any, robot: Robot, motion: SampledMotion) -> None:
    """Postures along the motion, the last one solid, and the path of the tool."""
    samples = np.linspace(0, len(motion.t) - 1, GHOSTS).round().astype(int)
    postures = [skeleton(robot, motion.q[i]) for i in samples]
    tool_path = robot.pose(motion.q, frame="tool")[:, :3, 3]
    low, high, radius = _limits(postures)
    axes.computed_zorder = False
    _set_box(axes, low, high)
    for number, posture in enumerate(postures):
        faded = 0.0 if number == GHOSTS - 1 else 0.8 - 0.35 * number / GHOSTS
        _draw_posture(axes, posture, radius, faded, zorder=2 + number)
    style = {"color": PALETTE[1], "zorder": 2 + GHOSTS}
    axes.plot(*tool_path.T, linewidth=2.0, solid_capstyle="round", **style)
    axes.scatter(*tool_path[-1], color=PALETTE[1], s=22, zorder=3 + GHOSTS, depthshade=False)


def _plot_torques(axes: Any, robot: Robot, motion: SampledMotion) -> None:
    """τ over time, one curve per joint."""
    entries = coordinates(robot, "tau")
    for i, entry in enumerate(entries):
        label = label_text(entry.name.removesuffix("_joint"))
        # without the ends at rest, where Coulomb friction is not defined by the motion
        axes.plot(motion.t[1:-1], motion.tau[1:-1, i], color=PALETTE[i % len(PALETTE)], label=label)
    units = " or ".join(dict.fromkeys(entry.unit("tau") for entry in entries))
    title = "Torques of the motion (inverse dynamics)"
    _label_axes(axes, motion, f"joint torque / {units}", title)


def _plot_energies(axes: Any, motion: SampledMotion) -> None:
    """Energies, losses and work over time: their balance closes."""
    stored = motion.kinetic + motion.potential
    axes.fill_between(motion.t, stored, color=PALETTE[0], alpha=0.08, linewidth=0)
    axes.plot(motion.t, motion.kinetic, color=PALETTE[2], label="kinetic")
    axes.plot(motion.t, motion.potential, color=PALETTE[4], label="potential")
    if motion.has_friction:
        axes.plot(motion.t, motion.friction, color=PALETTE[3], label="lost to friction")
        stored = stored + motion.friction
    axes.plot(motion.t, stored, color=PALETTE[0], label="sum", linewidth=4.5, alpha=0.35)
    style = {"color": INK, "linewidth": 1.4, "linestyle": (0, (4, 2))}
    axes.plot(motion.t, motion.work, label="work ∫ τ·q̇ dt", **style)
    title = f"Energy balance (closes to {motion.residual:.0e} J)"
    _label_axes(axes, motion, "energy / J", title)
    axes.set_xlabel("time / s")


def _label_axes(axes: Any, motion: SampledMotion, label: str, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=11, color=INK)
    axes.set_ylabel(label)
    axes.set_xlim(motion.t[0], motion.t[-1])
    axes.margins(y=0.08)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9, handlelength=1.6)


def _limits(postures: Sequence[Skeleton]) -> tuple[np.ndarray, np.ndarray, float]:
    """Corners (3,) of a box around all postures, and the radius of the first link, m."""
    points = np.concatenate([np.concatenate([*s.paths, s.joints]) for s in postures])
    size = float(np.ptp(points, axis=0).max())
    radius = 0.024 * size
    # at least 0.7 of the largest extent each way, so that flat and slender arms have space
    slack = np.maximum(3 * radius, (0.7 * size - np.ptp(points, axis=0)) / 2)
    return points.min(axis=0) - slack * (1, 1, 0), points.max(axis=0) + slack, radius


def _draw_posture(axes: Any, s: Skeleton, radius: float, faded: float, zorder: int) -> Any:
    """Add one posture as shaded faces to the axes; `faded` mixes it with the paper."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    faces, colours = [], []

    def add(part: np.ndarray, colour: np.ndarray) -> None:
        faces.append(part)
        colours.append((1.0 - faded) * _shaded(part, colour) + faded)

    for path, depth in zip(s.paths, s.depths, strict=True):
        r = thickness(radius, depth)
        for start, stop in pairwise(path):
            add(tube(start, stop, r), LINK)
            add(ball(stop, r), LINK)
    depth_of = dict(zip(map(tuple, s.joints), s.depths, strict=False))
    for origin, axis, slides in zip(s.joints, s.axes, s.slides, strict=True):
        r = thickness(radius, depth_of[tuple(origin)])
        half, wide = (2.2 * r, 1.15 * r) if slides else (1.55 * r, 1.4 * r)
        joint = tube(origin - half * axis, origin + half * axis, wide, capped=True)
        add(joint, RAIL if slides else DRUM)
    mesh = Poly3DCollection(np.concatenate(faces), zorder=zorder, zsort="average")
    mesh.set_facecolor(np.concatenate(colours))
    mesh.set_edgecolor(np.concatenate(colours))
    mesh.set_linewidth(0.3)
    return axes.add_collection3d(mesh)


def _set_box(axes: Any, low: np.ndarray, high: np.ndarray) -> None:
    """Equal scales between the corners low and high (3,), pale panes, metres."""
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


# tubes and balls as shaded quadrilaterals

SIDES = 28
LIGHT = np.array([-0.35, -0.55, 0.76])


def tube(start: np.ndarray, stop: np.ndarray, radius: float, capped: bool = False) -> np.ndarray:
    """(faces, 4, 3) of a cylinder from `start` to `stop`; caps close its ends."""
    axis = (stop - start) / np.linalg.norm(stop - start)
    x = np.cross(np.eye(3)[np.argmin(np.abs(axis))], axis)
    x /= np.linalg.norm(x)
    angle = np.linspace(0.0, 2 * np.pi, SIDES, endpoint=False)[:, None]
    ring = radius * (np.cos(angle) * x + np.sin(angle) * np.cross(axis, x))
    following = np.roll(ring, -1, axis=0)
    side = np.stack([start + ring, start + following, stop + following, stop + ring], axis=1)
    if not capped:
        return side
    bottom = np.stack(np.broadcast_arrays(start, start + following, start + ring, start), axis=1)
    top = np.stack(np.broadcast_arrays(stop, stop + ring, stop + following, stop), axis=1)
    return np.concatenate([side, bottom, top])


def ball(centre: np.ndarray, radius: float) -> np.ndarray:
    """(faces, 4, 3) of a sphere."""
    latitude = np.linspace(-np.pi / 2, np.pi / 2, SIDES // 2 + 1)
    longitude = np.linspace(0.0, 2 * np.pi, SIDES + 1)
    a, b = np.meshgrid(latitude, longitude, indexing="ij")
    points = centre + radius * np.stack(
        [np.cos(a) * np.cos(b), np.cos(a) * np.sin(b), np.sin(a)], -1
    )
    corners = (points[:-1, :-1], points[:-1, 1:], points[1:, 1:], points[1:, :-1])
    return np.stack(corners, axis=2).reshape(-1, 4, 3)


def _shaded(faces: np.ndarray, colour: np.ndarray) -> np.ndarray:
    """(faces, 3) colours: `colour` under a lamp from the upper left, with ambient light."""
    normal = np.cross(faces[:, 2] - faces[:, 0], faces[:, 3] - faces[:, 1])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    bright = 0.62 + 0.38 * (normal @ (LIGHT / np.linalg.norm(LIGHT)))
    return np.clip(colour * bright[:, None], 0.0, 1.0)


# runs


def plot_run(run: xarray.Dataset, show: Iterable[str] | None = None, sample: int = 0) -> Any:
    """A matplotlib figure with one panel per quantity and unit, over one time axis.

    `show` names quantities of the run, "energy" among them; by default all of the run.
    """
    charts = run_charts(run, sample)
    names = list(charts) if show is None else [show] if isinstance(show, str) else list(show)
    for name in names:
        if name not in charts:
            raise UnknownNameError(f"the run has no {name!r} to plot; it has: {', '.join(charts)}")
    panels = [chart for name in names for chart in charts[name]]
    return _plot_charts(times(run), panels, str(run.attrs.get("system", "")))


def _plot_charts(t: np.ndarray, charts: Sequence[Plot], title: str = "") -> Any:
    """The charts below one another."""
    figure = new_figure(8.5, 2.1 * len(charts) + 0.5)
    with plot_style():
        panels = figure.subplots(len(charts), 1, sharex=True, squeeze=False)[:, 0]
        for axes, chart in zip(panels, charts, strict=True):
            for k, series in enumerate(chart.series):
                axes.plot(
                    t,
                    series.y,
                    color=PALETTE[k % len(PALETTE)],
                    linestyle=(0, (4, 2)) if series.dashed else "-",
                    drawstyle="steps-post" if series.stepped else "default",
                    label=label_text(series.name),
                )
            axes.set_title(label_text(chart.title), loc="left", fontsize=10)
            axes.set_ylabel(chart.unit)
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8)
        panels[-1].set_xlabel("time / s")
        panels[-1].set_xlim(t[0], t[-1])
        if title:
            figure.suptitle(label_text(title), x=0.01, ha="left", fontweight="bold")
    return figure


def plot_phase(run: xarray.Dataset, joint: str | None = None, sample: int | None = None) -> Any:
    """q̇ over q of one joint: all samples of a batch, or only one; the start is a dot."""
    if run["q"].dims != run["qd"].dims:
        raise ParameterError("a phase portrait needs as many positions as velocities; there are "
                             "quaternions among these coordinates")  # fmt: skip
    names = [str(x) for x in run["joint"].values]
    joint = joint or names[0]
    if joint not in names:
        raise UnknownNameError(f"no joint is called {joint!r}; there are: {', '.join(names)}")
    k = names.index(joint)
    batch = run if sample is None else one_sample(run, sample)
    q, qd = (batch[name].values[..., k].reshape(len(batch["time"]), -1) for name in ("q", "qd"))
    figure = new_figure(6.4, 5.2)
    with plot_style():
        axes = figure.subplots()
        for s in range(q.shape[1]):
            axes.plot(q[:, s], qd[:, s], color=PALETTE[s % len(PALETTE)], linewidth=1.2)
            axes.plot(q[0, s], qd[0, s], "o", color=PALETTE[s % len(PALETTE)], markersize=3.5)
        axes.set_xlabel(f"q / {_unit(run, 'q', k)}")
        axes.set_ylabel(f"q̇ / {_unit(run, 'qd', k)}")
        axes.set_title(f"Phase portrait of {label_text(joint)}", loc="left", fontsize=11)
    return figure


def _unit(run: xarray.Dataset, name: str, k: int) -> str:
    """The unit of entry k of a variable."""
    units = str(run[name].attrs.get("units", "")).split(", ")
    return units[0] if len(units) == 1 else units[k]


# ellipsoids

SHARE = 0.3  # of the picture, for the longest radius of each ellipsoid
STEPS = 25  # of the surface of an ellipsoid


def plot_ellipsoids(robot: Robot, q: ArrayLike, frame: str = "tool", task: str = "position") -> Any:
    """A matplotlib figure of the posture q (nq,) with its velocity and force ellipsoids at a frame.

    Each is scaled to the picture: they show directions, their radii stand beside them.

    >>> import dalembert as dl
    >>> figure = plot_ellipsoids(dl.load("ur5"), [0.1, -1.0, 1.2, 0.3, 0.5, 0.0])
    >>> len(figure.axes)
    1
    """
    q = np.asarray(q, dtype=float)
    if q.shape != (robot.nq,):
        raise ShapeError(f"a picture is of one posture q ({robot.nq},), not {q.shape}")
    posture, centre = skeleton(robot, q), robot.pose(q, frame)[:3, 3]
    low, high, radius = _limits([posture])
    longest = SHARE * float((high - low).max())
    figure = new_figure(6.4, 6.0, layout=None)
    with plot_style():
        axes = figure.add_axes((-0.03, 0.0, 0.98, 0.9), projection="3d", computed_zorder=False)
        _set_box(axes, np.minimum(low, centre - longest), np.maximum(high, centre + longest))
        _draw_posture(axes, posture, radius, 0.0, zorder=2)
        kinds = {"velocity": robot.velocity_ellipsoid, "force": robot.force_ellipsoid}
        for k, (name, ellipsoid) in enumerate(kinds.items()):
            radii, directions = ellipsoid(q, frame, task)
            _draw_ellipsoid(axes, centre, _scaled(radii, longest), directions, PALETTE[k])
            listed = ", ".join(f"{r:.3g}" for r in radii)
            text = f"{name} ellipsoid of the {task}: radii {listed}"
            figure.text(0.04, 0.955 - 0.035 * k, label_text(text), color=PALETTE[k], fontsize=10)
    return figure


def _scaled(radii: np.ndarray, longest: float) -> np.ndarray:
    """Radii scaled to `longest`; beside an infinite one the others vanish."""
    infinite = ~np.isfinite(radii)
    if infinite.any():
        return np.where(infinite, longest, 0.02 * longest)
    return radii * longest / max(float(radii.max()), 1e-300)


def _draw_ellipsoid(
    axes: Any, centre: np.ndarray, radii: np.ndarray, directions: np.ndarray, colour: str
) -> None:
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, STEPS), np.linspace(0, np.pi, STEPS))
    sphere = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)])
    points = np.einsum("ij,jkl->ikl", directions * radii, sphere) + centre[:, None, None]
    axes.plot_surface(*points, color=colour, alpha=0.3, linewidth=0, zorder=3)


# animations

FRAMES_PER_SECOND = 20
MOST_FRAMES = 240


def animate(
    robot: Robot,
    t: ArrayLike,
    q: ArrayLike,
    path: str | PathLike[str],
    progress: Callable[[float], Any] = lambda done: None,
) -> Path:
    """Write a GIF of the motion q (samples, nq) at times t (samples,) s, in real time."""
    t, q, path = np.asarray(t, float), np.asarray(q, float), Path(path)
    if q.shape != (len(t), robot.nq):
        raise ShapeError(f"q must be ({len(t)}, {robot.nq}), one row per time, not {q.shape}")
    samples = frame_samples(t)
    postures = [skeleton(robot, q[i]) for i in samples]
    tool_path = robot.pose(q, frame="tool")[:, :3, 3]
    low, high, radius = _limits(postures)
    figure = new_figure(4.2, 4.2, layout=None)
    with plot_style():
        axes = figure.add_axes((-0.03, 0.0, 0.98, 0.95), projection="3d", computed_zorder=False)
        _set_box(axes, low, high)
    label = figure.text(0.04, 0.94, "", fontsize=10)

    def draw_frame(number: int) -> list[Any]:
        k = samples[number]
        label.set_text(f"{label_text(robot.name)}   t = {t[k]:.2f} s")
        line = axes.plot(*tool_path[: k + 1].T, color=PALETTE[1], linewidth=1.6, zorder=2)
        return [*line, _draw_posture(axes, postures[number], radius, 0.0, zorder=3)]

    return write_gif(path, figure, t[samples], draw_frame, progress)


def frame_samples(t: np.ndarray) -> np.ndarray:
    """The samples nearest to the evenly spaced instants of the frames."""
    count = 1 + int(np.clip(round(FRAMES_PER_SECOND * (t[-1] - t[0])), 1, MOST_FRAMES))
    return np.abs(t[None, :] - np.linspace(t[0], t[-1], count)[:, None]).argmin(axis=1)


def write_gif(
    path: Path,
    figure: Any,
    t: np.ndarray,
    draw_frame: Callable[[int], list[Any]],
    progress: Callable[[float], Any],
) -> Path:
    """A GIF of frames at times t (s): ``draw_frame(k)`` returns the artists of frame k alone."""
    from PIL import Image

    images = []
    for number in range(len(t)):
        artists = draw_frame(number)
        figure.canvas.draw()
        pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]
        image = Image.fromarray(pixels)
        images.append(image.convert("P", palette=Image.Palette.ADAPTIVE, colors=64))
        for artist in artists:
            artist.remove()
        progress((number + 1) / len(t))
    _save(images, path, 1000.0 * (t[-1] - t[0]) / max(1, len(t) - 1))
    return path


def _save(images: list[Any], path: Path, milliseconds: float) -> None:
    duration = max(20, round(milliseconds))  # viewers take less than 20 ms for a mistake
    settings = {"save_all": True, "append_images": images[1:], "duration": duration, "loop": 0}
    with output_file(path) as part:
        images[0].save(part, "GIF", **settings)
