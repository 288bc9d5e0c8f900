"""An arm in a posture with the velocities and forces that its tool can have, as ellipsoids."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import ShapeError
from dalembert.report.colours import PALETTE
from dalembert.report.picture import figure_of, frame_box, limits_of, solid_posture, styled
from dalembert.report.skeleton import skeleton
from dalembert.systems.robot import Robot
from dalembert.text import picture

SHARE = 0.3  # of the picture that the longest radius of each ellipsoid takes
STEPS = 25  # of its surface


def plot_ellipsoids(robot: Robot, q: Any, frame: str = "tool", task: str = "position") -> Any:
    """A matplotlib figure of the posture q (nq,) with both ellipsoids at the frame.

    Each is drawn as large as there is room: they show directions, their radii stand beside them.

    >>> import dalembert as dl
    >>> figure = plot_ellipsoids(dl.load("ur5"), [0.1, -1.0, 1.2, 0.3, 0.5, 0.0])
    >>> len(figure.axes)
    1
    """
    q = np.asarray(q, dtype=float)
    if q.shape != (robot.nq,):
        raise ShapeError(f"a picture is of one posture q ({robot.nq},), not {q.shape}")
    shape, place = skeleton(robot, q), robot.pose(q, frame)[:3, 3]
    low, high, radius = limits_of([shape])
    room = SHARE * float((high - low).max())
    figure = figure_of(6.4, 6.0, layout=None)
    with styled():
        axes = figure.add_axes((-0.03, 0.0, 0.98, 0.9), projection="3d", computed_zorder=False)
        frame_box(axes, np.minimum(low, place - room), np.maximum(high, place + room))
        solid_posture(axes, shape, radius, 0.0, zorder=2)
        kinds = {"velocity": robot.velocity_ellipsoid, "force": robot.force_ellipsoid}
        for k, (name, of) in enumerate(kinds.items()):
            radii, directions = of(q, frame, task)
            _surface(axes, place, _drawn(radii, room), directions, PALETTE[k])
            said = ", ".join(f"{r:.3g}" for r in radii)
            text = f"{name} ellipsoid of the {task}: radii {said}"
            figure.text(0.04, 0.955 - 0.035 * k, picture(text), color=PALETTE[k], fontsize=10)
    return figure


def _drawn(radii: np.ndarray, room: float) -> np.ndarray:
    """Radii scaled to the picture; an infinite one is as long as it, the others then vanish."""
    endless = ~np.isfinite(radii)
    if endless.any():
        return np.where(endless, room, 0.02 * room)
    return radii * room / max(float(radii.max()), 1e-300)


def _surface(
    axes: Any, centre: np.ndarray, radii: np.ndarray, directions: np.ndarray, colour: str
) -> None:
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, STEPS), np.linspace(0, np.pi, STEPS))
    sphere = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)])
    points = np.einsum("ij,jkl->ikl", directions * radii, sphere) + centre[:, None, None]
    axes.plot_surface(*points, color=colour, alpha=0.3, linewidth=0, zorder=3)
