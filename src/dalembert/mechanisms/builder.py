"""What a mechanism grows by: each function checks one part and returns the new description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dalembert.errors import InertiaError, ModelError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.mechanisms.description import Description, Driven
from dalembert.mechanisms.ends import End, read_end, vector
from dalembert.mechanisms.motions import motion as motion_of
from dalembert.model.joint import known_as
from dalembert.systems.bodies.data import Body, Element, Force, Load, Prescribed
from dalembert.systems.bodies.kind import Kind


def with_body(d: Description, body: Body) -> Description:
    if body.name in d.names:
        raise ModelError(f"body {body.name!r} is there already; bodies need different names")
    if "." in body.name:
        raise ModelError(f"body {body.name!r}: a dot separates a body from its point")
    if not (np.isfinite(body.mass) and body.mass > 0.0):
        raise InertiaError(
            f"body {body.name!r} has the mass {body.mass} kg; in absolute coordinates every "
            "body needs a positive mass and inertia"
        )
    return replace(d, bodies=(*d.bodies, body))


def with_joint(d: Description, element: Element) -> Description:
    _require_own_name(d, element.name)
    if len(set(element.bodies)) < len(element.bodies):
        raise ModelError(
            f"joint {element.name!r} links body {d.names[element.bodies[0]]!r} to itself"
        )
    return replace(d, joints=(*d.joints, element))


def with_driver(d: Description, element: Element, motion: Prescribed) -> Description:
    _require_own_name(d, element.name)
    follows = motion_of(motion)
    if not callable(follows):
        raise ModelError(f"driver {element.name!r} needs a motion s(t), not {motion!r}")
    return replace(d, drivers=(*d.drivers, Driven(element, follows)))


def with_force(d: Description, force: Force, what: str) -> Description:
    """With a spring or actuator, `what` it is called in an error."""
    if force.element.kind.rows != 1:
        raise ModelError(f"{what} {force.name!r} acts along one quantity, such as 'body.P.x'")
    _require_own_name(d, force.name)
    return replace(d, forces=(*d.forces, force))


def with_actuator(d: Description, element: Element, value: Any) -> Description:
    """With a force that is a number, a function of time or, if None, open."""
    if value is None:
        return with_force(d, Force(element, open=True), "actuator")
    given = motion_of(value)
    given = given if callable(given) else _Constant(float(given))
    return with_force(d, Force(element, value=given), "actuator")


def with_function(d: Description, name: str, bodies: Any, function: Any, rows: int) -> Description:
    """With a constraint `function(q)` (rows,) of the coordinates (k, nq) of the named bodies."""
    indices = tuple(d.index(body, f"joint {name!r}: ") for body in bodies)
    alone = partial(_of_coordinates, function)
    kind = Kind(name, d.space, len(indices), rows, alone, ("none",), 0, custom=True)
    centres = tuple(np.zeros(d.space.dimension) for _ in indices)
    return with_joint(d, Element(name, kind, indices, np.zeros(1), centres))


def with_load(
    d: Description, name: str, on: End, force: Any, moment: np.ndarray, follows: bool
) -> Description:
    body, point = read_end(d, on, f"force {name!r}: ")
    if body == 0:
        raise ModelError(f"force {name!r} acts on the ground, which does not move")
    _require_own_name(d, name)
    pull = vector(force, d.space.dimension, f"force {name!r}")
    return replace(d, loads=(*d.loads, Load(name, body, point, pull, moment, follows)))


def _require_own_name(d: Description, name: str) -> None:
    taken = [element.name for element in d.elements]
    taken += [force.name for force in d.forces] + [load.name for load in d.loads]
    if name in taken:
        raise ModelError(f"{name!r} is there already; joints, drivers and forces need own names")


def start_of(d: Description, body: int) -> np.ndarray:
    """Coordinates (nq,) of a body in the first posture."""
    return d.space.reference if body == 0 else d.bodies[body - 1].start


def joint_end(d: Description, end: End, at: Any, where: str) -> tuple[int, np.ndarray]:
    """Index of a body and the local point of a joint: the end, or a place `at` of the first posture."""
    body, local = read_end(d, end, where)
    if at is None:
        return body, local
    q, place = start_of(d, body), vector(at, d.space.dimension, f"{where}at")
    return body, d.space.rotation(q).T @ (place - q[: d.space.dimension])


def between(d: Description, name: str, a: End, b: End) -> np.ndarray:
    """From the first end of a joint to the second in the first posture, m."""
    ends = [read_end(d, end, f"joint {name!r}: ") for end in (a, b)]
    first, second = (d.space.place(start_of(d, body), local) for body, local in ends)
    return second - first


def kind_of(kind: str, joints: Mapping[str, Kind], name: str) -> Kind:
    """The kind of a joint, from the list of its space."""
    known = known_as(kind, joints)
    if known is None:
        raise UnknownNameError(f"joint {name!r}: no kind {kind!r}{suggest(kind, list(joints))}")
    return joints[known]


def numbers_of(kind: Kind, name: str, given: Mapping[str, float]) -> np.ndarray:
    """The numbers of a joint in the order of its kind."""
    if set(given) != set(kind.numbers):
        wanted = ", ".join(kind.numbers) or "no numbers"
        raise ModelError(
            f"joint {name!r}: {kind.name} takes {wanted}, not {', '.join(given) or 'none'}"
        )
    values = []
    for key in kind.numbers:
        array = np.asarray(given[key])
        if array.shape or array.dtype.kind not in "iuf" or not np.isfinite(array):
            raise ModelError(f"joint {name!r}: {key} must be one finite number, got {given[key]!r}")
        values.append(float(array))
    return np.array(values)


def rod_length(d: Description, name: str, a: End, b: End, length: float | None) -> float:
    """The length of a rod between two ends, m; without one, how far they are apart at first."""
    length = float(np.linalg.norm(between(d, name, a, b))) if length is None else length
    if not length > 0.0:
        raise ModelError(f"joint {name!r}: a rod needs a positive length, not {length}")
    return length


def _of_coordinates(function: Any, q: Any, p: Any) -> Any:
    """A function of coordinates alone, called as those that have numbers."""
    return function(q)


class _Constant:
    """s(t) that does not change."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __call__(self, t: Any) -> Any:
        return self.value + 0.0 * t
