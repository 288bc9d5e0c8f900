"""Entries of the zoo (name, title, citation, builder), and helpers for tables of links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from dalembert.model.parameter import Number
from dalembert.references import DOCUMENTS
from dalembert.spatial.rotations import rotation_from_rpy

LECTURE = DOCUMENTS["000"].title

Keywords = dict[str, Any]  # of a link, a joint, or a row of a DH table
Builder = TypeVar("Builder", bound=Callable[..., Any])


@dataclass(frozen=True)
class Entry:
    """One named robot. `build()` makes it; textbook models take their lengths and masses."""

    name: str
    title: str
    citation: str
    build: Callable[..., Any]


REGISTERED: dict[str, Entry] = {}  # of the modules that were imported


def register(name: str, title: str, citation: str) -> Callable[[Builder], Builder]:
    """Decorator of a function that builds a robot or system: enter it under this name."""

    def entered(build: Builder) -> Builder:
        REGISTERED[name] = Entry(name, title, citation, build)
        return build

    return entered


def shift(x: Number = 0.0, y: Number = 0.0, z: Number = 0.0) -> list[list[Number]]:
    """Pose (4, 4) moved by (x, y, z) metres, as nested lists: entries may be parameters."""
    return [[1.0, 0.0, 0.0, x], [0.0, 1.0, 0.0, y], [0.0, 0.0, 1.0, z], [0.0, 0.0, 0.0, 1.0]]


def diagonal(x: Number, y: Number, z: Number) -> list[list[Number]]:
    """Inertia tensor (3, 3) with these principal moments in kg m², as nested lists."""
    return [[x, 0.0, 0.0], [0.0, y, 0.0], [0.0, 0.0, z]]


def symmetric(
    xx: Number, yy: Number, zz: Number, xy: Number, xz: Number, yz: Number
) -> list[list[Number]]:
    """Inertia tensor (3, 3) in kg m² from its six numbers, products as they stand in the tensor."""
    return [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]


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


def links(segments: Sequence[Segment]) -> list[Keywords]:
    """The segments as mappings, each hanging on the one before."""
    parents = [None, *(segment.link for segment in segments)]
    table = []
    keys = ("axis", "origin_xyz", "origin_rpy", "limits", "velocity_limit", "effort_limit")
    for segment, parent in zip(segments, parents, strict=False):
        joint = {"name": segment.joint, "type": "revolute"}
        joint |= {key: getattr(segment, key) for key in keys}
        inertia = symmetric(*segment.inertia)
        body = {"mass": segment.mass, "com": segment.com, "inertia": inertia}
        table.append({"name": segment.link, "parent": parent, "joint": joint, **body})
    return table


def pose_at(xyz: Three, rpy: Three = (0.0, 0.0, 0.0)) -> np.ndarray:
    """Pose (4, 4) from a position (m) and roll, pitch, yaw (rad)."""
    pose = np.eye(4)
    pose[:3, :3] = rotation_from_rpy(rpy)
    pose[:3, 3] = xyz
    return pose


def rod(mass: float, length: float) -> Keywords:
    """Mass, centre and tensor of a uniform thin rod along x from the link frame's origin."""
    moment = mass * length**2 / 12.0
    com = (0.5 * length, 0.0, 0.0)
    return {"mass": mass, "com": com, "inertia": diagonal(0.0, moment, moment)}


def pinned(
    name: str, parent: str | None, at: tuple[float, float], mass: float, length: float
) -> Keywords:
    """A uniform rod that turns about z at a point (x, y) of its parent's frame."""
    joint = {"name": name, "type": "revolute", "axis": (0.0, 0.0, 1.0), "origin_xyz": (*at, 0.0)}
    return {"name": f"{name}_rod", "parent": parent, "joint": joint, **rod(mass, length)}
