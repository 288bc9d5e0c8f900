"""Uniform rods, the links of planar mechanisms."""

from __future__ import annotations

from typing import Any


def rod(mass: float, length: float) -> dict[str, Any]:
    """Mass, centre and tensor of a uniform thin rod along x from the link frame's origin."""
    moment = mass * length**2 / 12.0
    return {
        "mass": mass,
        "com": (0.5 * length, 0.0, 0.0),
        "inertia": [[0.0, 0.0, 0.0], [0.0, moment, 0.0], [0.0, 0.0, moment]],
    }


def pinned(
    name: str, parent: str | None, at: tuple[float, float], mass: float, length: float
) -> dict[str, Any]:
    """A uniform rod that turns about z at a point (x, y) of its parent's frame."""
    joint = {"name": name, "type": "revolute", "axis": (0.0, 0.0, 1.0), "origin_xyz": (*at, 0.0)}
    return {"name": f"{name}_rod", "parent": parent, "joint": joint, **rod(mass, length)}
