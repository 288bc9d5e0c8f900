"""Matplotlib figures and animations: robots and mechanisms in motion, runs, phases, ellipsoids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, groupby
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import DalembertError, ParameterError, ShapeError, UnknownNameError
from dalembert.files import output_file
from dalembert.mechanisms.mechanism import Mechanism
from dalembert.mechanisms.state import Moved, loads
from dalembert.report.charts import (
    PALETTE,
    SYMBOLS,
    Plot,
    motion_charts,
    one_sample,
    run_charts,
    spread,
    units_of,
)
from dalembert.report.motion import SampledMotion
from dalembert.report.scene import Part, Plane, motion_plane, posture_parts
from dalembert.systems.robot import Robot
from dalembert.systems.system import System
from dalembert.text import picture as label_text
from dalembert.text import require_known

if TYPE_CHECKING:
    import xarray
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from mpl_toolkits.mplot3d.axes3d import Axes3D

GHOSTS = 7  # postures of a robot in one picture
LINK, DRUM = np.array([0.80, 0.84, 0.89]), np.array([0.16, 0.42, 0.68])
COLOURS = {"link": LINK, "tip": LINK, "rail": np.array([0.93, 0.58, 0.2])}  # of parts; else DRUM
INK, FAINT = "#22303c", "#8a97a3"
STYLE: Any = {  # of matplotlib
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), INK),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), FAINT),
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
    "axes.grid": True,
    "grid.color": "#e6eaee",
    "font.size": 10,
    "lines.linewidth": 1.8,
}


def new_figure(
    width: float,
    height: float,
    layout: Literal["constrained"] | None = "constrained",
    dpi: int = 110,
) -> Figure:
    """An empty figure that needs no screen; sizes in inches."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise DalembertError(
            "pictures need matplotlib: pip install matplotlib pillow (the extra [view])"
        ) from None
    figure = Figure((width, height), dpi, layout=layout, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


@contextmanager
def styled_figure(
    width: float, height: float, layout: Literal["constrained"] | None = "constrained"
) -> Iterator[Figure]:
    """An empty figure; artists that are added in the block get the style of the package."""
    figure = new_figure(width, height, layout)
    from matplotlib import rc_context

    with rc_context(STYLE):
        yield figure


# postures of robots


def draw(robot: Robot, title: str, motion: SampledMotion, path: Path) -> None:
    """Write a PNG of the moving arm, its torques and its energy balance."""
    samples = np.linspace(0, len(motion.t) - 1, GHOSTS).round().astype(int)
    postures = posture_parts(robot, motion.q[samples])
    tool_path = robot.pose(motion.q, frame="tool")[:, :3, 3]
    with styled_figure(13.0, 6.6, layout=None) as figure:
        grid = figure.add_gridspec(2, 2, width_ratios=(1.1, 1.0), hspace=0.32, wspace=0.17)
        is_planar = motion_plane(robot) is not None
        grid.update(left=0.05 if is_planar else -0.02, right=0.875, top=0.86, bottom=0.085)
        # postures along the motion, the last one solid, and the path of the tool
        arm = View(figure, grid[:, 0], postures, motion_plane(robot))
        arm.draw_faded(postures)
        arm.draw_path(tool_path, linewidth=2.0, zorder=2 + GHOSTS)
        arm.draw_path(tool_path[-1:], marker="o", markersize=4.5, zorder=3 + GHOSTS)
        charts = motion_charts(robot, motion)
        torques = [chart for chart in charts if chart.unit.startswith(SYMBOLS["tau"])]
        units = " or ".join(chart.unit for chart in torques)
        every = tuple(series for chart in torques for series in chart.series)
        _draw_chart(figure.add_subplot(grid[0, 1]), motion.t, Plot(torques[0].title, units, every))
        # energies, losses and work over time: their balance closes
        axes = figure.add_subplot(grid[1, 1])
        _draw_chart(axes, motion.t, charts[-1])
        axes.set_xlabel("time / s")
        figure.text(0.03, 0.935, label_text(title), fontsize=17, fontweight="bold")
        period = motion.t[-1] / (GHOSTS - 1)
        note = f"one motion, a posture every {period:.1f} s; orange: the path of the tool"
        figure.text(0.03, 0.895, label_text(note), color=FAINT)
        with output_file(path) as part:
            figure.savefig(part, format="png")


def _draw_chart(axes: Axes, t: np.ndarray, chart: Plot) -> None:
    """The curves of a chart, their names to the right."""
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
    axes.set_xlim(t[0], t[-1])
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8)


def plot_postures(system: System, q: ArrayLike | None = None) -> Figure:
    """One posture or several, in their plane if all motion is planar; `System.plot` says more."""
    configurations = system.neutral() if q is None else np.asarray(q, dtype=float)
    rows = np.atleast_2d(configurations)
    if rows.ndim != 2 or rows.shape[1] != system.nq:
        raise ShapeError(
            f"{system.name}.plot: expected q of shape ({system.nq},) or (samples, {system.nq}), got "
            f"{configurations.shape}"
        )
    postures, plane = posture_parts(system, rows), motion_plane(system)
    if not postures[0]:
        raise DalembertError(f"{system.name} has no bodies to draw; plot a robot or a mechanism")
    with styled_figure(5.6, 5.2, layout=None) as figure:
        rectangle = (-0.03, 0.0, 0.98, 0.95) if plane is None else (0.14, 0.11, 0.82, 0.8)
        if system.robot is None:  # bars between the pins of a mechanism
            size = 3 if plane is None else 2
            axes = figure.add_axes(rectangle, projection=None if size == 2 else "3d")
            for number, parts in enumerate(postures):
                _draw_bars(axes, parts, size, 1.0 if number == len(rows) - 1 else 0.3)
            _set_limits(axes, postures, size)
        else:
            View(figure, rectangle, postures, plane).draw_faded(postures)
        figure.text(0.04, 0.94, label_text(system.name), fontsize=12, fontweight="bold")
    return figure


class View:
    """Axes with postures in space, or in the plane that all motion is parallel to.

    `where` is a cell of a grid or a rectangle of the figure.
    """

    def __init__(
        self, figure: Figure, where: Any, postures: Sequence[Sequence[Part]], plane: Plane | None
    ) -> None:
        self.plane = plane
        add = figure.add_axes if isinstance(where, tuple) else figure.add_subplot
        low, high = _limits(postures)
        if plane is None:
            self.axes: Any = add(where, projection="3d", computed_zorder=False)
            _set_box(self.axes, low, high)
            return
        self.axes = add(where)
        # equal scales; a slender arm has at least half as much space across
        corners = np.stack([low, high]) @ plane.axes.T
        middle, half = corners.mean(axis=0), 0.5 * np.abs(np.diff(corners, axis=0)[0])
        half = np.maximum(half, 0.5 * half.max())
        for axis, name, centre, size in zip("xy", plane.names, middle, half, strict=True):
            getattr(self.axes, f"set_{axis}lim")(centre - size, centre + size)
            getattr(self.axes, f"set_{axis}label")(f"{name} / m")
        self.axes.set_aspect("equal")
        self.axes.set_axisbelow(True)

    def draw(self, parts: Sequence[Part], faded: float, zorder: float) -> Artist:
        """Add one posture; `faded` mixes it with the paper."""
        if self.plane is None:
            return _draw_posture(self.axes, parts, faded, zorder)
        from matplotlib.collections import PatchCollection
        from matplotlib.patches import Polygon

        # links first, joints as circles on them
        ordered = sorted(parts, key=lambda part: part.kind != "link")
        outlines = [outline(part, self.plane) for part in ordered]
        colours = np.array([COLOURS.get(part.kind, DRUM) for part in ordered])
        patches = PatchCollection([Polygon(points) for points in outlines], zorder=zorder)
        patches.set_facecolor([*((1.0 - faded) * colours + faded)])
        patches.set_edgecolor([*((1.0 - faded) * 0.6 * colours + faded)])
        patches.set_linewidth(0.8)
        artist: Artist = self.axes.add_collection(patches)
        return artist

    def draw_faded(self, postures: Sequence[Sequence[Part]]) -> None:
        """Add all postures, the last one solid."""
        for number, parts in enumerate(postures, 1):
            faded = 0.0 if number == len(postures) else 0.8 - 0.35 * number / len(postures)
            self.draw(parts, faded, zorder=2 + number)

    def draw_path(self, points: np.ndarray, **style: Any) -> list[Artist]:
        """Add a line through points (samples, 3)."""
        visible = points if self.plane is None else points @ self.plane.axes.T
        line = {"color": PALETTE[1], "solid_capstyle": "round", **style}
        artists: list[Artist] = self.axes.plot(*visible.T, **line)
        return artists


def outline(part: Part, plane: Plane) -> np.ndarray:
    """Corners (n, 2) of a part seen along the normal of a plane: a circle where it points that way."""
    a, b = plane.axes @ part.a, plane.axes @ part.b
    along = b - a
    length = float(np.linalg.norm(along))
    turn = np.linspace(0.0, np.pi, 2 * SIDES + 1)
    if length < 1e-6 * part.r:
        circle: np.ndarray = a + part.r * np.stack([np.cos(2 * turn), np.sin(2 * turn)], axis=1)
        return circle
    x = along / length
    y = np.array([-x[1], x[0]])
    if part.kind != "link":
        return np.array([a + part.r * y, b + part.r * y, b - part.r * y, a - part.r * y])
    cap: np.ndarray = np.cos(turn)[:, None] * y + np.sin(turn)[:, None] * x
    return np.concatenate([b + part.r * cap, a - part.r * cap])


def _limits(postures: Sequence[Sequence[Part]]) -> tuple[np.ndarray, np.ndarray]:
    """Corners (3,) of a box around all postures, m."""
    points = np.array([end for parts in postures for part in parts for end in (part.a, part.b)])
    extent = np.ptp(points, axis=0)
    # at least 0.7 of the largest extent each way, so that flat and slender arms have space
    slack = np.maximum(0.07 * extent.max(), (0.7 * extent.max() - extent) / 2)
    return points.min(axis=0) - slack * (1, 1, 0), points.max(axis=0) + slack


def _draw_posture(axes: Axes3D, parts: Sequence[Part], faded: float, zorder: float) -> Artist:
    """Add one posture as shaded faces to the axes; `faded` mixes it with the paper."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    faces, colours = [], []
    for part in parts:
        is_ball, is_link = np.allclose(part.a, part.b), part.kind == "link"
        pieces = [ball(part.b, part.r)] if is_ball or is_link else []
        if not is_ball:
            pieces.append(tube(part.a, part.b, part.r, capped=not is_link))
        own = np.concatenate(pieces)
        # faces (n, 4, 3) under a lamp from the upper left, with ambient light
        normal = np.cross(own[:, 2] - own[:, 0], own[:, 3] - own[:, 1])
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        bright = 0.62 + 0.38 * (normal @ (LIGHT / np.linalg.norm(LIGHT)))
        shaded = np.clip(COLOURS.get(part.kind, DRUM) * bright[:, None], 0.0, 1.0)
        faces.append(own)
        colours.append((1.0 - faded) * shaded + faded)
    mesh = Poly3DCollection(np.concatenate(faces), zorder=zorder, zsort="average")
    mesh.set_facecolor(np.concatenate(colours))
    mesh.set_edgecolor(np.concatenate(colours))
    mesh.set_linewidth(0.3)
    artist: Artist = axes.add_collection3d(mesh)
    return artist


def _set_box(axes: Axes3D, low: np.ndarray, high: np.ndarray) -> None:
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


# runs


def plot_run(run: xarray.Dataset, show: Iterable[str] | None = None, sample: int = 0) -> Figure:
    """A matplotlib figure with one panel per quantity and unit, over one time axis.

    `show` names quantities of the run, "energy" among them; by default all of the run.
    """
    by_name, t = run_charts(run, sample), np.asarray(run["time"].values, dtype=float)
    names = list(by_name) if show is None else [show] if isinstance(show, str) else list(show)
    for name in names:
        if name not in by_name:
            raise UnknownNameError(f"the run has no {name!r} to plot; it has: {', '.join(by_name)}")
    charts = [chart for name in names for chart in by_name[name]]
    with styled_figure(8.5, 2.1 * len(charts) + 0.5) as figure:
        panels = figure.subplots(len(charts), 1, sharex=True, squeeze=False)[:, 0]
        for axes, chart in zip(panels, charts, strict=True):
            _draw_chart(axes, t, chart)
        panels[-1].set_xlabel("time / s")
        if title := str(run.attrs.get("system", "")):
            figure.suptitle(label_text(title), x=0.01, ha="left", fontweight="bold")
    return figure


def plot_phase(run: xarray.Dataset, joint: str | None = None, sample: int | None = None) -> Figure:
    """q̇ over q of one joint: all samples of a batch, or only one; the start is a dot."""
    if run["q"].dims != run["qd"].dims:
        raise ParameterError("a phase portrait needs as many positions as velocities; there are "
                             "quaternions among these coordinates")  # fmt: skip
    names = [str(x) for x in run["joint"].values]
    joint = joint or names[0]
    require_known(joint, names, "no joint is called")
    k = names.index(joint)
    batch = run if sample is None else one_sample(run, sample)
    q, qd = (batch[name].values[..., k].reshape(len(batch["time"]), -1) for name in ("q", "qd"))
    with styled_figure(6.4, 5.2) as figure:
        axes = figure.subplots()
        for s in range(q.shape[1]):
            axes.plot(q[:, s], qd[:, s], color=PALETTE[s % len(PALETTE)], linewidth=1.2)
            axes.plot(q[0, s], qd[0, s], "o", color=PALETTE[s % len(PALETTE)], markersize=3.5)
        units = [units_of(run[name], len(names))[k] for name in ("q", "qd")]
        axes.set_xlabel(f"q / {units[0]}")
        axes.set_ylabel(f"q̇ / {units[1]}")
        axes.set_title(f"Phase portrait of {label_text(joint)}", loc="left", fontsize=11)
    return figure


# ellipsoids

SHARE = 0.3  # of the picture, for the longest radius of each ellipsoid
STEPS = 25  # of the surface of an ellipsoid


def plot_ellipsoids(
    robot: Robot, q: ArrayLike, frame: str = "tool", task: str = "position"
) -> Figure:
    """A matplotlib figure of one posture with its velocity and force ellipsoids at a frame.

    Each is scaled to the picture: they show directions, their radii stand beside them.

    Parameters
    ----------
    robot : Robot
        The robot to draw.
    q : array_like, shape (nq,)
        Its posture, rad or m.
    frame : str, optional
        The frame at which the ellipsoids are drawn.
    task : str, optional
        ``"position"`` or ``"orientation"``, as `Robot.velocity_ellipsoid` takes it.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ShapeError
        If q is not one posture.

    Examples
    --------
    >>> import dalembert as dl
    >>> figure = plot_ellipsoids(dl.load("ur5"), [0.1, -1.0, 1.2, 0.3, 0.5, 0.0])
    >>> len(figure.axes)
    1
    """
    q = np.asarray(q, dtype=float)
    if q.shape != (robot.nq,):
        raise ShapeError(f"a picture is of one posture q ({robot.nq},), not {q.shape}")
    (posture,), centre = posture_parts(robot, q[None]), robot.pose(q, frame)[:3, 3]
    low, high = _limits([posture])
    longest = SHARE * float((high - low).max())
    with styled_figure(6.4, 6.0, layout=None) as figure:
        rectangle = (-0.03, 0.0, 0.98, 0.9)
        axes: Axes3D = figure.add_axes(rectangle, projection="3d", computed_zorder=False)
        _set_box(axes, np.minimum(low, centre - longest), np.maximum(high, centre + longest))
        _draw_posture(axes, posture, 0.0, zorder=2)
        u, v = np.meshgrid(np.linspace(0, 2 * np.pi, STEPS), np.linspace(0, np.pi, STEPS))
        sphere = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)])
        kinds = {"velocity": robot.velocity_ellipsoid, "force": robot.force_ellipsoid}
        for k, (name, ellipsoid) in enumerate(kinds.items()):
            radii, directions = ellipsoid(q, frame, task)
            # beside an infinite radius the others vanish
            infinite = ~np.isfinite(radii)
            scaled = np.where(infinite, longest, 0.02 * longest)
            if not infinite.any():
                scaled = radii * longest / max(float(radii.max()), 1e-300)
            surface = np.einsum("ij,jkl->ikl", directions * scaled, sphere)
            surface = surface + centre[:, None, None]
            axes.plot_surface(*surface, color=PALETTE[k], alpha=0.3, linewidth=0, zorder=3)
            listed = ", ".join(f"{r:.3g}" for r in radii)
            text = f"{name} ellipsoid of the {task}: radii {listed}"
            figure.text(0.04, 0.955 - 0.035 * k, label_text(text), color=PALETTE[k], fontsize=10)
    return figure


# animations

FRAMES_PER_SECOND = 20
MOST_FRAMES = 240


def animate(
    robot: Robot,
    t: ArrayLike,
    q: ArrayLike,
    path: str | PathLike[str],
    progress: Callable[[float], object] = lambda done: None,
) -> Path:
    """Write a GIF of a motion, in real time.

    Parameters
    ----------
    robot : Robot
        The robot to draw.
    t : array_like, shape (samples,)
        Times, s.
    q : array_like, shape (samples, nq)
        Positions at these times, rad or m.
    path : path
        The file to write.
    progress : callable, optional
        Called with the share that is done, from 0 to 1.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    ShapeError
        If q has not one row of nq numbers per time.
    """
    t, q, path = np.asarray(t, float), np.asarray(q, float), Path(path)
    if q.shape != (len(t), robot.nq):
        raise ShapeError(f"q must be ({len(t)}, {robot.nq}), one row per time, not {q.shape}")
    samples = frame_samples(t)
    postures = posture_parts(robot, q[samples])
    tool_path = robot.pose(q, frame="tool")[:, :3, 3]
    plane = motion_plane(robot)
    rectangle = (-0.03, 0.0, 0.98, 0.95) if plane is None else (0.16, 0.12, 0.8, 0.8)
    with styled_figure(4.2, 4.2, layout=None) as figure:
        view = View(figure, rectangle, postures, plane)
    label = figure.text(0.04, 0.94, "", fontsize=10)

    def draw_frame(number: int) -> list[Artist]:
        k = samples[number]
        label.set_text(f"{label_text(robot.name)}   t = {t[k]:.2f} s")
        line = view.draw_path(tool_path[: k + 1], linewidth=1.6, zorder=2)
        return [*line, view.draw(postures[number], 0.0, zorder=3)]

    return write_gif(path, figure, t[samples], draw_frame, progress)


def frame_samples(t: np.ndarray) -> np.ndarray:
    """The samples nearest to the evenly spaced instants of the frames."""
    count = 1 + int(np.clip(round(FRAMES_PER_SECOND * (t[-1] - t[0])), 1, MOST_FRAMES))
    distances = np.abs(t[None, :] - np.linspace(t[0], t[-1], count)[:, None])
    nearest: np.ndarray = distances.argmin(axis=1)
    return nearest


def write_gif(
    path: Path,
    figure: Figure,
    t: np.ndarray,
    draw_frame: Callable[[int], list[Artist]],
    progress: Callable[[float], object] = lambda done: None,
) -> Path:
    """A GIF of frames at times t (s): ``draw_frame(k)`` returns the artists of frame k alone."""
    from PIL import Image

    canvas: Any = figure.canvas
    images = []
    for number in range(len(t)):
        artists = draw_frame(number)
        canvas.draw()
        pixels = np.asarray(canvas.buffer_rgba())[..., :3]
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


# mechanisms in absolute coordinates

POSTURES = 6  # of a mechanism in one picture
SAMPLES = 400  # of a curve
MOST = 6  # bodies or joints in one chart, so that their curves can be told apart
DASHES = ("-", "--", ":", "-.")  # of x, y, z, w


def draw_mechanism(
    mechanism: Mechanism, run: xarray.Dataset, path: Path, moved: Moved | None = None
) -> Path:
    """Postures, then x, y, φ and their rates, joint forces and torques over time, as PNG.

    `moved` is that of a scenario: torques at the pins in place of a guided tool.
    """
    few = with_loads(mechanism, run, moved)
    t, size = few.time.values, mechanism.description.space.dimension
    samples = np.linspace(0, run.sizes["time"] - 1, POSTURES).round().astype(int)
    postures = posture_parts(mechanism, run.q.values[samples])
    with styled_figure(16.0, 8.6) as figure:
        grid = figure.add_gridspec(3, 3, width_ratios=(1.25, 1.0, 1.0))
        axes = figure.add_subplot(grid[:, 0], **({} if size == 2 else {"projection": "3d"}))
        for number, parts in enumerate(postures):
            alpha = 1.0 if number == POSTURES - 1 else 0.12 + 0.3 * number / POSTURES
            _draw_bars(axes, parts, size, alpha)
        _set_limits(axes, postures, size)
        for k, chart in enumerate(mechanism_charts(few)):
            own = figure.add_subplot(grid[k // 2, 1 + k % 2])
            # a colour for each body or joint, and dashes for its components
            owners = groupby(chart.series, key=lambda series: series.name.partition(".")[0])
            for colour, (_, components) in zip(PALETTE[:MOST], owners, strict=False):
                line: dict[str, Any] = {"color": colour, "linewidth": 1.3}
                for dashes, series in zip(cycle(DASHES), components, strict=False):
                    own.plot(t, series.y, dashes, label=label_text(series.name), **line)
            own.set_ylabel(chart.unit)
            own.set_xlim(float(t[0]), float(t[-1]))
            if chart.series:
                legend = {"bbox_to_anchor": (1.0, 0.5), "fontsize": 7, "handlelength": 2.4}
                own.legend(loc="center left", **legend)
            if k >= 4:
                own.set_xlabel("time / s")
        figure.suptitle(
            f"{label_text(mechanism.name)}: {float(run.time[-1]):g} s by {run.attrs['method']}"
        )
    with output_file(path) as part:
        figure.savefig(part, dpi=110, format="png")
    return path


def _draw_bars(axes: Axes, parts: Sequence[Part], size: int, alpha: float) -> list[Artist]:
    """Draw one posture of bars with pins and slides; return its artists."""
    artists: list[Artist] = []
    for part in parts:
        a, b = part.a[:size], part.b[:size]
        if part.kind == "link":
            colour = PALETTE[part.body % len(PALETTE)]
            line: dict[str, Any] = {"linewidth": 4.0, "solid_capstyle": "round"}
            artists += axes.plot(*np.transpose([a, b]), color=colour, alpha=alpha, **line)
        elif part.kind == "drum" or part.body >= 0:
            marker = "s" if part.kind == "rail" else "o"
            (artist,) = axes.plot(*np.transpose([(a + b) / 2]), marker, color="white", alpha=alpha)
            artist.set(markeredgecolor=INK, markersize=5)
            artists.append(artist)
    return artists


def _set_limits(axes: Axes, postures: Sequence[Sequence[Part]], size: int) -> None:
    """Equal scales around everything; the ground's points as triangles."""
    points = np.array([end for parts in postures for part in parts for end in (part.a, part.b)])
    points = points[:, :size]
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    half = 0.55 * float(np.ptp(points, axis=0).max()) + 1e-9
    ground = [part.a[:size] for part in postures[0] if part.body < 0 and part.kind == "rail"]
    if ground:
        axes.plot(*np.transpose(ground), "^", color=FAINT, markersize=9, zorder=0)
    for axis, centre in zip("xyz"[:size], middle, strict=True):
        getattr(axes, f"set_{axis}lim")(centre - half, centre + half)
        getattr(axes, f"set_{axis}label")(f"{axis} / m")
    axes.set_aspect("equal")


def animate_mechanism(mechanism: Mechanism, run: xarray.Dataset, path: Path) -> Path:
    """Write a GIF of the motion, in real time."""
    size, t = mechanism.description.space.dimension, run.time.values
    samples = frame_samples(t)
    postures = posture_parts(mechanism, run.q.values[samples])
    with styled_figure(4.6, 4.6) as figure:
        axes = figure.add_subplot(**({} if size == 2 else {"projection": "3d"}))
        _set_limits(axes, postures, size)

        def draw_frame(number: int) -> list[Artist]:
            heading = f"{label_text(mechanism.name)}   t = {t[samples[number]]:.2f} s"
            axes.set_title(heading, fontsize=10)
            return _draw_bars(axes, postures[number], size, 1.0)

        return write_gif(path, figure, t[samples], draw_frame)


def with_loads(
    mechanism: Mechanism, run: xarray.Dataset, moved: Moved | None = None
) -> xarray.Dataset:
    """At most `SAMPLES` instants of a run, with joint forces and efforts in place of τ."""
    few = run.isel(time=spread(run.sizes["time"], SAMPLES))
    return few.drop_vars("tau").merge(loads(mechanism, few, moved), combine_attrs="override")


def mechanism_charts(run: xarray.Dataset) -> list[Plot]:
    """Positions, rates, joint forces, and efforts or energies of a run of `with_loads`."""
    charts = run_charts(run)
    names = ("q", "qd", "joint_force", "effort" if run.sizes["acting"] else "energy")
    return [chart for name in names for chart in charts[name]]
