"""Tables of serial arms: one segment per line, as link tables for `Robot.from_links`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.spatial.rotations import rotation_from_rpy
from dalembert.zoo.entry import symmetric

Three = tuple[float, float, float]
Six = tuple[float, float, float, float, float, float]


class Segment(NamedTuple):
    """A link and the revolute joint that carries it (m, rad, kg, N m, kg m²)."""

    link: str
    joint: str
    origin_xyz: Three
    origin_rpy: Three
    axis: Three
    limits: tuple[float, float]
    velocity_limit: float
    effort_limit: float
    mass: float
    com: Three
    inertia: Six  # xx, yy, zz, xy, xz, yz about the com, in link axes


def links(segments: Sequence[Segment]) -> list[dict[str, Any]]:
    """The segments as mappings, each hanging on the one before."""
    parents = [None, *(segment.link for segment in segments)]
    return [_link(s, parent) for s, parent in zip(segments, parents, strict=False)]


def _link(segment: Segment, parent: str | None) -> dict[str, Any]:
    joint = {
        "name": segment.joint,
        "type": "revolute",
        "axis": segment.axis,
        "origin_xyz": segment.origin_xyz,
        "origin_rpy": segment.origin_rpy,
        "limits": segment.limits,
        "velocity_limit": segment.velocity_limit,
        "effort_limit": segment.effort_limit,
    }
    return {
        "name": segment.link,
        "parent": parent,
        "joint": joint,
        "mass": segment.mass,
        "com": segment.com,
        "inertia": symmetric(*segment.inertia),
    }


def place(xyz: Three, rpy: Three = (0.0, 0.0, 0.0)) -> np.ndarray:
    """Pose (4, 4) from a position (m) and roll, pitch, yaw (rad)."""
    pose = np.eye(4)
    pose[:3, :3] = rotation_from_rpy(rpy)
    pose[:3, 3] = xyz
    return pose
