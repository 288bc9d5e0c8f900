"""Tubes and balls as shaded quadrilaterals, for drawing arms that look solid."""

from __future__ import annotations

import numpy as np

SIDES = 28
LIGHT = np.array([-0.35, -0.55, 0.76])


def tube(start: np.ndarray, stop: np.ndarray, radius: float, capped: bool = False) -> np.ndarray:
    """(faces, 4, 3) of a cylinder from `start` to `stop`; caps close its ends."""
    axis = (stop - start) / np.linalg.norm(stop - start)
    ring = radius * _ring(axis)
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


def shaded(faces: np.ndarray, colour: np.ndarray) -> np.ndarray:
    """(faces, 3) colours: `colour` under a lamp from the upper left, with some light all around."""
    normal = np.cross(faces[:, 2] - faces[:, 0], faces[:, 3] - faces[:, 1])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    bright = 0.62 + 0.38 * (normal @ (LIGHT / np.linalg.norm(LIGHT)))
    return np.clip(colour * bright[:, None], 0.0, 1.0)


def _ring(axis: np.ndarray) -> np.ndarray:
    """(SIDES, 3) points of the unit circle around `axis`."""
    helper = np.eye(3)[np.argmin(np.abs(axis))]
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    angle = np.linspace(0.0, 2 * np.pi, SIDES, endpoint=False)[:, None]
    return np.cos(angle) * x + np.sin(angle) * np.cross(axis, x)
