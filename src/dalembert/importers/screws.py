"""Products of exponentials: screws of the joints at the reference posture (000 p.21).

g_sl_i(q) = exp(ξ̂_1 q_1) … exp(ξ̂_i q_i) g_sl_i(0), with every ξ a spatial twist (linear, angular).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert import tracing
from dalembert.errors import ModelError
from dalembert.model import Joint, Link, validation
from dalembert.model.parameter import NumberLike
from dalembert.model.validation import label, numbers
from dalembert.spatial.arrays import Scalar, Vector, Vector3
from dalembert.spatial.se3 import inverse, pose
from dalembert.text import short


def links_from_screws(
    screws: Sequence[NumberLike],
    frames: Sequence[NumberLike],
    inertias: Sequence[tuple[NumberLike, NumberLike]],
    parents: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
) -> list[Link]:
    """One link per screw; `parents` holds indices (−1 for the base), default a chain."""
    _require_list(screws, "screws")
    n = len(screws)
    parents = list(range(-1, n - 1)) if parents is None else parents
    names = [f"link{i + 1}" for i in range(n)] if names is None else names
    lists = {"frames": frames, "inertias": inertias, "parents": parents, "names": names}
    for what, values in lists.items():
        _require_list(values, what)
        if len(values) != n:
            raise ModelError(f"{n} screws but {len(values)} {what}; give one per joint")
    names = [label(name, f"link {i + 1}") for i, name in enumerate(names)]
    poses = [
        validation.pose(frame, f"the frame of {name!r}")
        for frame, name in zip(frames, names, strict=True)
    ]
    links = []
    for i, name in enumerate(names):
        parent: Any = parents[i]
        is_index = isinstance(parent, int | np.integer) and not isinstance(parent, bool)
        if not (is_index and -1 <= parent < n and parent != i):
            raise ModelError(
                f"parent {short(parent)} of link {name!r} is no index of a link (−1: base)"
            )
        xi = numbers(screws[i], (6,), f"the screw of {name!r}, (linear, angular),")
        kind, axis, point, pitch = _screw_axis(xi, poses[i][0:3, 3], name)
        at_axis = pose(None, point)
        below = inverse(poses[parents[i]]) if parents[i] >= 0 else np.eye(4)
        if not isinstance(inertias[i], tuple | list) or len(inertias[i]) != 2:
            raise ModelError(f"the inertia of {name!r} must be a pair (mass, 3×3 tensor)")
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


def _screw_axis(xi: Vector, near: Vector3, name: str) -> tuple[str, Vector3, Vector3, Scalar]:
    """(kind, axis, point on the axis, pitch) of a unit twist ξ = (−ω × p + h ω, ω) or (v, 0)."""
    omega = _numbers(xi[3:6], name)
    slides = np.allclose(omega, 0.0, atol=1e-12)
    axis = _numbers(xi[0:3], name) if slides else omega
    length = np.linalg.norm(axis)
    if abs(length - 1.0) > 1e-9:
        raise ModelError(
            f"the screw of {name!r} has an axis of length {length:.6g}; screws must be unit twists"
        )
    axis = axis / length
    if slides:
        return "prismatic", axis, near, 0.0
    pitch, point = axis @ xi[0:3], np.cross(axis, xi[0:3])
    known = tracing.constant(pitch)
    if known is not None and abs(known) < 1e-12:
        return "revolute", axis, point, 0.0
    return "helical", axis, point, pitch


def _numbers(part: Vector3, name: str) -> Vector3:
    """A direction must be known as numbers; only positions and pitches may hold parameters."""
    numbers: Vector3 | None = tracing.constant(part)
    if numbers is None:
        raise ModelError(f"the axis direction of {name!r} holds a parameter; it must be numbers")
    if not np.isfinite(numbers).all():
        raise ModelError(f"the screw of {name!r} is not finite: {numbers}")
    return numbers


def _require_list(values: Any, what: str) -> None:
    if not isinstance(values, list | tuple) and np.ndim(values) == 0:
        raise ModelError(f"{what} must be a list with one entry per joint")
