"""Entries of the zoo (name, title, citation, builder), and helpers for tables of links."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

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


def symmetric(
    xx: Number, yy: Number, zz: Number, xy: Number = 0.0, xz: Number = 0.0, yz: Number = 0.0
) -> list[list[Number]]:
    """Inertia tensor (3, 3) in kg m² from its six numbers, products as they stand in the tensor."""
    return [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]


Three = tuple[float, float, float]
Six = tuple[float, float, float, float, float, float]


def chain(
    names: Iterable[tuple[str, str]],
    joints: Iterable[tuple[Three, Three, Three, tuple[float, float]]],
    drives: Iterable[tuple[float, float]],
    bodies: Iterable[tuple[float, Three, tuple[float, ...]]],
) -> list[Keywords]:
    """Links on revolute joints, each hanging on the one before (m, rad, kg, N m, kg m²).

    Names of links and joints; origin xyz, origin rpy, axis and limits of the joints; largest velocity
    and torque of the drives; mass, com and inertia (xx, yy, zz, xy, xz, yz about the com, in link
    axes) of the links.
    """
    table: list[Keywords] = []
    rows = zip(names, joints, drives, bodies, strict=True)
    for (link, name), (xyz, rpy, axis, limits), (speed, effort), (mass, com, inertia) in rows:
        joint: Keywords = {"name": name, "type": "revolute", "axis": axis, "limits": limits}
        joint |= {"origin_xyz": xyz, "origin_rpy": rpy}
        joint |= {"velocity_limit": speed, "effort_limit": effort}
        body = {"mass": mass, "com": com, "inertia": symmetric(*inertia)}
        parent = table[-1]["name"] if table else None
        table.append({"name": link, "parent": parent, "joint": joint, **body})
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
    return {"mass": mass, "com": com, "inertia": symmetric(0.0, moment, moment)}


def pinned(
    name: str, parent: str | None, at: tuple[float, float], mass: float, length: float
) -> Keywords:
    """A uniform rod that turns about z at a point (x, y) of its parent's frame."""
    joint = {"name": name, "type": "revolute", "axis": (0.0, 0.0, 1.0), "origin_xyz": (*at, 0.0)}
    return {"name": f"{name}_rod", "parent": parent, "joint": joint, **rod(mass, length)}
