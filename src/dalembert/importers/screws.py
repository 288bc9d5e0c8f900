"""Products of exponentials: screws of the joints at the reference posture (000 p.21).

g_sl_i(q) = exp(ξ̂_1 q_1) … exp(ξ̂_i q_i) g_sl_i(0), with every ξ a spatial twist (linear, angular).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert import bridge
from dalembert.errors import ModelError
from dalembert.model import Joint, Link
from dalembert.model.parameter import expression
from dalembert.spatial.se3 import inverse, pose


def links_from_screws(
    screws: Sequence[Any],
    frames: Sequence[Any],
    inertias: Sequence[tuple[Any, Any]],
    parents: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
) -> list[Link]:
    """One link per screw; `parents` holds indices (−1 for the base), default a chain."""
    n = len(screws)
    parents = list(range(-1, n - 1)) if parents is None else list(parents)
    names = [f"link{i + 1}" for i in range(n)] if names is None else list(names)
    for what, given in (
        ("frames", frames),
        ("inertias", inertias),
        ("parents", parents),
        ("names", names),
    ):
        if len(given) != n:
            raise ModelError(f"{n} screws but {len(given)} {what}; give one per joint")
    poses = [_pose(frame, name) for frame, name in zip(frames, names, strict=True)]
    links = []
    for i, name in enumerate(names):
        if not -1 <= parents[i] < n or parents[i] == i:
            raise ModelError(
                f"parent {parents[i]} of link {name!r} is no index of a link (−1: base)"
            )
        kind, axis, point, pitch = screw_axis(expression(screws[i]), poses[i][0:3, 3], name)
        at_axis = pose(None, point)
        below = inverse(poses[parents[i]]) if parents[i] >= 0 else np.eye(4)
        mass, tensor = inertias[i]
        links.append(
            Link(
                name=name,
                parent=names[parents[i]] if parents[i] >= 0 else None,
                joint=Joint(
                    kind=kind, name=f"{name}_joint", axis=axis, pitch=pitch, origin=below @ at_axis
                ),
                mass=mass,
                inertia=tensor,
                frame=inverse(at_axis) @ poses[i],
            )
        )
    return links


def screw_axis(xi: Any, near: Any, name: str) -> tuple[str, np.ndarray, Any, Any]:
    """(kind, axis, point on the axis, pitch) of a unit twist ξ = (−ω × p + h ω, ω) or (v, 0)."""
    if xi.shape != (6,):
        raise ModelError(f"the screw of {name!r} must be six numbers (linear, angular)")
    angular = _numbers(xi[3:6], name)
    if np.allclose(angular, 0.0, atol=1e-12):
        return "prismatic", _unit(_numbers(xi[0:3], name), name), near, 0.0
    omega = _unit(angular, name)
    pitch = omega @ xi[0:3]
    kind = "revolute" if _is_zero(pitch) else "helical"
    return kind, omega, np.cross(omega, xi[0:3]), pitch


def _unit(axis: np.ndarray, name: str) -> np.ndarray:
    length = np.linalg.norm(axis)
    if abs(length - 1.0) > 1e-9:
        raise ModelError(
            f"the screw of {name!r} has an axis of length {length:.6g}; screws must be unit twists"
        )
    return axis / length


def _numbers(part: Any, name: str) -> np.ndarray:
    """A direction must be known as numbers; only positions and pitches may hold parameters."""
    numbers = bridge.constant(part)
    if numbers is None:
        raise ModelError(f"the axis direction of {name!r} holds a parameter; it must be numbers")
    if not np.isfinite(numbers).all():
        raise ModelError(f"the screw of {name!r} is not finite: {numbers}")
    return numbers


def _is_zero(value: Any) -> bool:
    number = bridge.constant(value)
    return number is not None and bool(abs(number) < 1e-12)


def _pose(frame: Any, name: str) -> Any:
    value = expression(frame)
    if value.shape != (4, 4):
        raise ModelError(f"the frame of {name!r} must be a 4×4 pose, not {value.shape}")
    return value
