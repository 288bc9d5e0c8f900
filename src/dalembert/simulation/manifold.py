"""Joints that turn on a group: their configuration is a quaternion, not a vector."""

from __future__ import annotations

from typing import Any

from dalembert.model import JointInfo


def turning(description: Any) -> list[JointInfo]:
    """The joints whose configuration is not a vector: their q ends in a quaternion."""
    joints = getattr(description, "joints", ())
    return [j for j in joints if j.q.stop - j.q.start != j.v.stop - j.v.start]
