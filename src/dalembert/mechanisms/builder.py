"""Building a mechanism by chained calls: what planar and spatial ones share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from dalembert.errors import InertiaError, ModelError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.mechanisms.description import Description, Driven
from dalembert.mechanisms.ends import End, measure, read_end, stretch, vector
from dalembert.mechanisms.motions import motion as motion_of
from dalembert.systems.bodies.data import Body, Element, Force, Load, Prescribed
from dalembert.systems.bodies.kind import Kind
from dalembert.systems.bodies.space import Space

Self = TypeVar("Self", bound="Builder")


class Builder:
    """A description that grows by one call after another; every call checks what it adds."""

    def __init__(self, space: Space, name: str, gravity: Any) -> None:
        g = vector(gravity, space.dimension, "gravity")
        self._description = Description(name, space, g)

    @property
    def description(self) -> Description:
        """The data of the mechanism."""
        return self._description

    @property
    def name(self) -> str:
        """The mechanism's name."""
        return self._description.name

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of the bodies, without the ground."""
        return self._description.names[1:]

    def _changed(self: Self, **parts: Any) -> Self:
        self._description = replace(self._description, **parts)
        self._forget()
        return self

    def _forget(self) -> None:
        """What was derived from the description before it changed."""

    def _add_body(self: Self, body: Body) -> Self:
        d = self._description
        if body.name in d.names:
            raise ModelError(f"body {body.name!r} is there already; bodies need different names")
        if "." in body.name:
            raise ModelError(f"body {body.name!r}: a dot separates a body from its point")
        if not (np.isfinite(body.mass) and body.mass > 0.0):
            raise InertiaError(
                f"body {body.name!r} has the mass {body.mass} kg; in absolute coordinates every "
                "body needs a positive mass and inertia"
            )
        return self._changed(bodies=(*d.bodies, body))

    def ground(self: Self, **points: Any) -> Self:
        """Name points (m) of the ground."""
        d = self._description
        read = {k: vector(v, d.space.dimension, f"ground.{k}") for k, v in points.items()}
        return self._changed(ground_points={**d.ground_points, **read})

    def _end(self, end: End, where: str) -> tuple[int, np.ndarray]:
        """Index of the body and the local point."""
        return read_end(self._description, end, where)

    def _start(self, body: int) -> np.ndarray:
        """Coordinates (nq,) of a body in the first posture."""
        d = self._description
        return d.space.reference if body == 0 else d.bodies[body - 1].start

    def _local(self, body: int, place: np.ndarray) -> np.ndarray:
        """A place of the world seen from a body in its first posture."""
        space, q = self._description.space, self._start(body)
        return space.rotation(q).T @ (place - q[: space.dimension])

    @staticmethod
    def _kind(kind: str, joints: Mapping[str, Kind], name: str) -> Kind:
        if kind not in joints:
            raise UnknownNameError(f"joint {name!r}: no kind {kind!r}{suggest(kind, list(joints))}")
        return joints[kind]

    @staticmethod
    def _numbers(kind: Kind, name: str, given: Mapping[str, float]) -> np.ndarray:
        """The numbers of a joint in the order of its kind."""
        if set(given) != set(kind.numbers):
            wanted = ", ".join(kind.numbers) or "no numbers"
            raise ModelError(
                f"joint {name!r}: {kind.name} takes {wanted}, not {', '.join(given) or 'none'}"
            )
        values = np.array([float(given[key]) for key in kind.numbers])
        if not np.isfinite(values).all():
            raise ModelError(f"joint {name!r}: its numbers must be finite")
        return values

    def joint(self, kind: str, name: str, a: End, b: End, at: Any = None, **numbers: Any) -> Any:
        """A joint of any kind in the list of its space, its numbers by name."""
        raise NotImplementedError

    def _add_joint(self: Self, element: Element) -> Self:
        d = self._description
        self._check_name(element.name)
        if len(set(element.bodies)) < len(element.bodies):
            raise ModelError(
                f"joint {element.name!r} links body {d.names[element.bodies[0]]!r} to itself"
            )
        return self._changed(joints=(*d.joints, element))

    def _check_name(self, name: str) -> None:
        d = self._description
        taken = [element.name for element in d.elements]
        taken += [force.name for force in d.forces] + [load.name for load in d.loads]
        if name in taken:
            raise ModelError(
                f"{name!r} is there already; joints, drivers and forces need own names"
            )

    def _add_driver(self: Self, element: Element, motion: Prescribed) -> Self:
        self._check_name(element.name)
        follows = motion_of(motion)
        if not callable(follows):
            raise ModelError(f"driver {element.name!r} needs a motion s(t), not {motion!r}")
        driven = Driven(element, follows)
        return self._changed(drivers=(*self._description.drivers, driven))

    def _add_force(self: Self, force: Force) -> Self:
        self._check_name(force.name)
        return self._changed(forces=(*self._description.forces, force))

    def _add_load(self: Self, load: Load) -> Self:
        self._check_name(load.name)
        return self._changed(loads=(*self._description.loads, load))

    def drive(
        self: Self, name: str, on: str | None = None, motion: Any = None, between: Any = None
    ) -> Self:
        """Prescribe s(t) `on` a joint "A", a coordinate "bar2.phi" or a point "bar3.C", "bar3.C.x".

        `between` two ends drives their distance. A motion is any function of t in NumPy, or a path of
        `dalembert.control` such as ``quintic([0.0], [1.0], 2.0)``.
        """
        return self._add_driver(measure(self._description, name, on, between), motion)

    def spring(
        self: Self,
        name: str,
        on: str | None = None,
        stiffness: float = 0.0,
        free: float = 0.0,
        damping: float = 0.0,
        between: Any = None,
    ) -> Self:
        """A spring with damper, −k(s − free) − c ṡ, along a joint, coordinate or distance.

        About an axis in space it may be wound by less than half a turn from `free`. Between points
        that coincide only a spring with neither free length nor damping has a force: −k d = 0.
        """
        if stiffness < 0.0 or damping < 0.0:
            raise ModelError(f"spring {name!r}: stiffness and damping cannot be negative")
        element = self._single(measure(self._description, name, on, between), "spring")
        if free == 0.0 and damping == 0.0:
            element = stretch(self._description, element)
        return self._add_force(Force(element, stiffness, free, damping))

    def damper(
        self: Self, name: str, on: str | None = None, damping: float = 0.0, between: Any = None
    ) -> Self:
        """A damper −c ṡ along a joint, coordinate or distance."""
        return self.spring(name, on, damping=damping, between=between)

    def actuator(
        self: Self,
        name: str,
        on: str | None = None,
        value: Any = None,
        between: Any = None,
    ) -> Self:
        """A force or torque along a joint, coordinate or distance.

        `value` is a number or a function of time; without one it comes from outside, by name.
        """
        element = self._single(measure(self._description, name, on, between), "actuator")
        if value is None:
            return self._add_force(Force(element, open=True))
        given = motion_of(value)
        given = given if callable(given) else _Constant(float(given))
        return self._add_force(Force(element, value=given))

    def _single(self, element: Element, what: str) -> Element:
        if element.kind.rows != 1:
            raise ModelError(f"{what} {element.name!r} acts along one quantity, such as 'body.P.x'")
        return element

    def constrain(self: Self, name: str, bodies: Any, function: Any, rows: int = 1) -> Self:
        """Any constraint: `function(q)` (rows,) of the coordinates (k, nq) of the named bodies.

        It is plain NumPy that also runs on symbols, differentiated automatically.
        """
        d = self._description
        indices = tuple(d.index(body, f"joint {name!r}: ") for body in bodies)
        alone = partial(_of_coordinates, function)
        kind = Kind(name, d.space, len(indices), rows, alone, ("none",), 0, custom=True)
        centres = tuple(np.zeros(d.space.dimension) for _ in indices)
        return self._add_joint(Element(name, kind, indices, np.zeros(1), centres))


def _of_coordinates(function: Any, q: Any, p: Any) -> Any:
    """A function of coordinates alone, called as those that have numbers."""
    return function(q)


class _Constant:
    """s(t) that does not change."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __call__(self, t: Any) -> Any:
        return self.value + 0.0 * t
