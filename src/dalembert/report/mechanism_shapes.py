"""How a mechanism looks: for every body the points its joints hold, joined to a shape."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.mechanisms.description import Description
from dalembert.mechanisms.state import State


@dataclass(frozen=True, eq=False)
class Shapes:
    """Local points of every body, the ground first; pins and slides as (body, local, kind)."""

    description: Description
    outlines: tuple[np.ndarray, ...]
    marks: tuple[tuple[int, np.ndarray, str], ...]

    def outline(self, q: np.ndarray, body: int) -> np.ndarray:
        """Points of a body in the world at the coordinates q (nq,): (n, 2) or (n, 3)."""
        return _placed(self.description, q, body, self.outlines[body])

    def mark(self, q: np.ndarray, number: int) -> np.ndarray:
        """Place of a joint in the world."""
        body, local, _ = self.marks[number]
        return _placed(self.description, q, body, local[None, :])[0]


def shapes(description: Description) -> Shapes:
    """Bodies as the outlines of their joints and named points."""
    size = description.space.dimension
    found: list[list[np.ndarray]] = [[] for _ in description.names]
    marks = []
    for joint in description.joints:
        for body, local in zip(joint.bodies, joint.at, strict=True):
            found[body].append(local)
        marks.append((joint.bodies[-1], joint.at[-1], joint.kind.name))
    for k in range(len(description.names)):
        found[k] += list(description.points(k).values())
        if k and len(found[k]) < 2:
            found[k].append(np.zeros(size))
    outlines = tuple(_outline(np.array(points).reshape(-1, size)) for points in found)
    return Shapes(description, outlines, tuple(marks))


def _outline(points: np.ndarray) -> np.ndarray:
    """Different points, in the order of their angle about the middle where they are planar."""
    if len(points) < 2:
        return points
    points = np.unique(points.round(12), axis=0)
    if points.shape[1] == 2 and len(points) > 2:
        d = points - points.mean(axis=0)
        points = points[np.argsort(np.arctan2(d[:, 1], d[:, 0]))]
    return points


def _placed(d: Description, q: np.ndarray, body: int, local: np.ndarray) -> np.ndarray:
    state = State(d, 0.0, q, np.zeros(d.nv), np.zeros(d.nv), np.zeros(d.rows))
    name = d.names[body]
    return state.body(name)[: d.space.dimension] + local @ state.rotation(name).T
