"""An animation of a mechanism as GIF: the arm with the way its tool has gone."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import ShapeError
from dalembert.files import written
from dalembert.report.colours import PALETTE
from dalembert.report.figures import figure_of
from dalembert.report.picture import STYLE, frame_box, limits_of, solid_posture
from dalembert.report.skeleton import skeleton
from dalembert.systems.robot import Robot
from dalembert.text import picture

FRAMES_PER_SECOND = 20
MOST_FRAMES = 240


def animate(
    robot: Robot,
    t: Any,
    q: Any,
    path: str | PathLike[str],
    progress: Callable[[float], Any] = lambda done: None,
) -> Path:
    """Write a GIF of the motion q (samples, nq) at times t (samples,) s, in its own time."""
    t, q, path = np.asarray(t, float), np.asarray(q, float), Path(path)
    if q.shape != (len(t), robot.nq):
        raise ShapeError(f"q must be ({len(t)}, {robot.nq}), one row per time, not {q.shape}")
    count = 1 + int(np.clip(round(FRAMES_PER_SECOND * (t[-1] - t[0])), 1, MOST_FRAMES))
    instants = np.linspace(t[0], t[-1], count)
    chosen = np.abs(t[None, :] - instants[:, None]).argmin(axis=1)
    shapes = [skeleton(robot, q[i]) for i in chosen]
    way = robot.pose(q, frame="tool")[:, :3, 3]
    low, high, radius = limits_of(shapes)
    import matplotlib

    figure = figure_of(4.2, 4.2, layout=None)
    with matplotlib.rc_context(STYLE):
        axes = figure.add_axes((-0.03, 0.0, 0.98, 0.95), projection="3d", computed_zorder=False)
        frame_box(axes, low, high)
    label = figure.text(0.04, 0.94, "", fontsize=10)
    images = []
    for number, shape in enumerate(shapes):
        drawn = axes.plot(*way[: chosen[number] + 1].T, color=PALETTE[1], linewidth=1.6, zorder=2)
        drawn.append(solid_posture(axes, shape, radius, 0.0, zorder=3))
        label.set_text(f"{picture(robot.name)}   t = {t[chosen[number]]:.2f} s")
        images.append(_image(figure))
        for artist in drawn:
            artist.remove()
        progress((number + 1) / count)
    _save(images, path, 1000 * (t[-1] - t[0]) / (count - 1))
    return path


def _image(figure: Any) -> Any:
    from PIL import Image

    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]
    return Image.fromarray(pixels).convert("P", palette=Image.Palette.ADAPTIVE, colors=64)


def _save(images: list[Any], path: Path, milliseconds: float) -> None:
    shown = max(20, round(milliseconds))  # viewers take less than 20 ms for a mistake
    with written(path) as part:
        images[0].save(part, "GIF", save_all=True, append_images=images[1:], duration=shown, loop=0)
