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
from dalembert.report.picture import figure_of, frame_box, limits_of, solid_posture, styled
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
    chosen = frames_of(t)
    shapes = [skeleton(robot, q[i]) for i in chosen]
    way = robot.pose(q, frame="tool")[:, :3, 3]
    low, high, radius = limits_of(shapes)
    figure = figure_of(4.2, 4.2, layout=None)
    with styled():
        axes = figure.add_axes((-0.03, 0.0, 0.98, 0.95), projection="3d", computed_zorder=False)
        frame_box(axes, low, high)
    label = figure.text(0.04, 0.94, "", fontsize=10)

    def draw(number: int) -> list[Any]:
        k = chosen[number]
        label.set_text(f"{picture(robot.name)}   t = {t[k]:.2f} s")
        drawn = axes.plot(*way[: k + 1].T, color=PALETTE[1], linewidth=1.6, zorder=2)
        return [*drawn, solid_posture(axes, shapes[number], radius, 0.0, zorder=3)]

    return write_gif(path, figure, t[chosen], draw, progress)


def frames_of(t: np.ndarray) -> np.ndarray:
    """The samples nearest to the evenly spaced instants of the frames."""
    count = 1 + int(np.clip(round(FRAMES_PER_SECOND * (t[-1] - t[0])), 1, MOST_FRAMES))
    return np.abs(t[None, :] - np.linspace(t[0], t[-1], count)[:, None]).argmin(axis=1)


def write_gif(
    path: Path,
    figure: Any,
    t: np.ndarray,
    draw: Callable[[int], list[Any]],
    progress: Callable[[float], Any],
) -> Path:
    """A GIF of frames at times t (s): ``draw(k)`` draws one and gives the artists that are only its."""
    from PIL import Image

    images = []
    for number in range(len(t)):
        drawn = draw(number)
        figure.canvas.draw()
        pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]
        image = Image.fromarray(pixels)
        images.append(image.convert("P", palette=Image.Palette.ADAPTIVE, colors=64))
        for artist in drawn:
            artist.remove()
        progress((number + 1) / len(t))
    _save(images, path, 1000.0 * (t[-1] - t[0]) / max(1, len(t) - 1))
    return path


def _save(images: list[Any], path: Path, milliseconds: float) -> None:
    shown = max(20, round(milliseconds))  # viewers take less than 20 ms for a mistake
    with written(path) as part:
        images[0].save(part, "GIF", save_all=True, append_images=images[1:], duration=shown, loop=0)
