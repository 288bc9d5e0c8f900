"""Reading what users write: the ends of joints, and what drivers and forces act along."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import ModelError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.mechanisms.description import Description
from dalembert.model.joint import PLANAR_KINDS, SPATIAL_KINDS
from dalembert.systems.bodies import planar, spatial
from dalembert.systems.bodies.data import Element

# what turns or slides in a joint, the one meant by its bare name first; "J.slide" names another one
SPATIAL_PARTS = {name: kind.measures for name, kind in SPATIAL_KINDS.items()}
PLANAR_PARTS = {name: kind.measures for name, kind in PLANAR_KINDS.items()}
PLANAR_PARTS["point_on_line"] = ("angle", "slide")

End = str | tuple[str, Any]  # "bar2.A", "bar2" (its centre), or ("bar2", (0.5, 0.0)) local


def vector(value: Any, size: int, what: str) -> np.ndarray:
    """Finite numbers (size,), or an error that says what they are for."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be {size} numbers, not {value!r}") from None
    if array.shape != (size,) or not np.isfinite(array).all():
        raise ModelError(f"{what} must be {size} finite numbers, not {value!r}")
    return array


def read_end(d: Description, end: End, where: str) -> tuple[int, np.ndarray]:
    """Index of the body and the local point of an end."""
    if not isinstance(end, str):
        body, local = end
        index = d.index(body, where)
        return index, vector(local, d.space.dimension, f"{where}the point on {body!r}")
    body, _, label = end.partition(".")
    index = d.index(body, where)
    if not label:
        return index, np.zeros(d.space.dimension)
    points = d.points(index)
    if label not in points:
        raise UnknownNameError(
            f"{where}body {body!r} has no point {label!r}{suggest(label, list(points))}"
        )
    return index, points[label]


def measure(d: Description, name: str, on: str | None, between: Any = None) -> Element:
    """What a driver, spring or actuator acts along: a joint, a coordinate, a point or a distance."""
    where = f"{name!r}: "
    if between is not None:
        (i, si), (j, sj) = (read_end(d, end, where) for end in between)
        return Element(name, _measures(d)["length"], (i, j), _length(d, si, sj), (si, sj))
    if on is None:
        raise ModelError(f"{name!r} needs `on` (a joint, coordinate or point) or `between`")
    for joint in d.joints:
        if on == joint.name or on.rpartition(".")[0] == joint.name:
            return joint_part(d, name, joint, on[len(joint.name) + 1 :])
    return _coordinate(d, name, on, where)


def stretch(d: Description, element: Element) -> Element:
    """The same distance of two points, where it may also be zero."""
    if element.kind.name != "length":
        return element
    return replace(element, kind=_measures(d)["stretch"])


def _measures(d: Description) -> dict[str, Any]:
    return planar.MEASURES if d.space.dimension == 2 else spatial.MEASURES


def _length(d: Description, si: np.ndarray, sj: np.ndarray) -> np.ndarray:
    if d.space.dimension == 2:
        return np.concatenate([si, sj])
    axes = np.eye(3).ravel()
    return np.concatenate([si, axes, sj, axes])


def joint_part(d: Description, name: str, joint: Element, part: str = "") -> Element:
    """What turns or slides in a joint: its only coordinate, or the named one of several."""
    plane, kind = d.space.dimension == 2, joint.kind.name
    parts = (PLANAR_PARTS if plane else SPATIAL_PARTS).get(kind, ())
    if not parts:
        raise ModelError(f"{name!r}: joint {joint.name!r} ({kind}) has no coordinate to act along")
    if (part and part not in parts) or (not part and kind == "universal"):
        listed = ", ".join(f"{joint.name}.{each}" for each in parts)
        raise ModelError(f"{name!r}: joint {joint.name!r} ({kind}) moves along {listed}")
    measured = _measures(d)[part or parts[0]]
    numbers = joint.parameters[: (5 if measured.name == "slide" else 4) if plane else 24]
    if measured.near:
        numbers = np.array([*numbers, 0.0])
    return Element(name, measured, joint.bodies, numbers, joint.at, joint.frames)


def _coordinate(d: Description, name: str, on: str, where: str) -> Element:
    body, _, rest = on.partition(".")
    if body not in d.names:
        known = [joint.name for joint in d.joints] + list(d.names)
        raise UnknownNameError(f"{where}no joint or body {body!r}{suggest(body, known)}")
    index, own, size = d.index(body, where), _measures(d), d.space.dimension
    axes = dict(zip("xyz"[:size], np.eye(size), strict=True))
    label, _, axis = rest.partition(".")
    if label == "phi" and size == 2:
        return Element(name, own["orientation"], (index,), np.zeros(2), (np.zeros(2),))
    if label in axes and label not in d.points(index):
        label, axis = "", label
    point = read_end(d, f"{body}.{label}" if label else body, where)[1]
    if not axis:
        return Element(name, own["position"], (index,), point, (point,))
    if axis not in axes:
        raise ModelError(f"{where}{on!r}: a coordinate is {', '.join(axes)}, not {axis!r}")
    numbers = np.concatenate([point, axes[axis]])
    return Element(name, own["component"], (index,), numbers, (point,))
