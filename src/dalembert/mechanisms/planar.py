"""Planar mechanisms: bodies (x, y, φ) in one plane, gravity along −y unless told otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import InertiaError, ModelError
from dalembert.mechanisms.description import (
    At,
    End,
    between,
    joint_end,
    joint_kind,
    read_end,
    start_of,
    vector,
    with_body,
    with_joint,
)
from dalembert.mechanisms.mechanism import Mechanism
from dalembert.mechanisms.motions import Value
from dalembert.systems.bodies.body import Body, Element
from dalembert.systems.bodies.planar import JOINTS
from dalembert.systems.bodies.space import PLANAR


class PlanarMechanism(Mechanism):
    """Bodies, joints, drivers and forces of a planar mechanism, built by chained calls.

    An end of a joint is a named point "bar.A", a body "bar" (its centre) or ("bar", (x, y)) local;
    with `at=(x, y)` the joint sits at that place of the plane in the first posture.

    Parameters
    ----------
    name : str
        Name of the mechanism.
    gravity : array_like
        Acceleration of falling bodies, m/s².

    Examples
    --------
    >>> arm = (
    ...     PlanarMechanism("pendulum")
    ...     .body("rod", mass=1.0, inertia=1 / 12, at=(0.5, 0.0), points={"O": (-0.5, 0.0)})
    ...     .revolute("pin", "ground", "rod.O")
    ... )
    >>> arm.mobility
    1
    >>> motion = arm.forward_dynamics()
    >>> motion.force("pin", on="rod").round(4)  # a rod let go: a quarter of its weight
    array([0.    , 2.4525])
    """

    space = PLANAR

    def __init__(self, name: str = "mechanism", gravity: ArrayLike = (0.0, -9.81)) -> None:
        super().__init__(name, gravity)

    def body(
        self,
        name: str,
        mass: float,
        inertia: float,
        at: ArrayLike = (0.0, 0.0),
        angle: float = 0.0,
        points: Mapping[str, Any] | None = None,
        velocity: ArrayLike = (0.0, 0.0, 0.0),
    ) -> Self:
        """Add a body.

        Parameters
        ----------
        name : str
            Name of the body.
        mass : float
            kg.
        inertia : float
            About its centre, kg m².
        at : array_like
            (2,) its centre, m.
        angle : float
            φ, rad.
        points : mapping of str to array_like, optional
            Local points (2,) by name, m.
        velocity : array_like
            (3,) ẋ, ẏ, φ̇.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.

        Raises
        ------
        InertiaError
            If the inertia is not positive.
        """
        if not (np.isfinite(inertia) and inertia > 0.0):
            raise InertiaError(
                f"body {name!r} has the inertia {inertia} kg m²; it must be positive"
            )
        start = np.array([*vector(at, 2, f"body {name!r}: at"), float(angle)])
        speed = vector(velocity, 3, f"body {name!r}: velocity")
        body = Body(name, float(mass), float(inertia), start, speed, points or {})
        return self._with_description(with_body(self._description, body))

    def joint(self, kind: str, name: str, a: End, b: End, at: At = None, **numbers: float) -> Self:
        """A joint of any kind of `dalembert.systems.bodies.planar.JOINTS`, its numbers by name.

        Parameters
        ----------
        kind : str
            A key of that table.
        name : str
            Name of the joint.
        a, b : end
            A named point "bar.A", a body "bar" (its centre), or ("bar", local point), m.
        at : array_like, optional
            Place of the joint in the world in the first posture, m; then ends are bodies.
        **numbers : float
            Numbers of the kind.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.
        """
        known, values = joint_kind(kind, JOINTS, name, numbers)
        ends = [joint_end(self._description, end, at, f"joint {name!r}: ") for end in (a, b)]
        bodies, points = zip(*ends, strict=True)
        element = Element(name, known, bodies, np.concatenate([*points, values]), points)
        return self._with_description(with_joint(self._description, element))

    def _angles(self, name: str, a: End, b: End) -> tuple[float, float]:
        """(φ_a, φ_b) of the bodies of two ends in the first posture, rad."""
        d = self._description
        first, second = (read_end(d, end, f"joint {name!r}: ")[0] for end in (a, b))
        return float(start_of(d, first)[2]), float(start_of(d, second)[2])

    def revolute(self, name: str, a: End, b: End, at: At = None) -> Self:
        """A pin: two points coincide.

        Parameters
        ----------
        name : str
            Name of the joint.
        a, b : end
            A named point "bar.A", a body "bar" (its centre), or ("bar", local point), m.
        at : array_like, optional
            Place of the joint in the world in the first posture, m; then ends are bodies.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.
        """
        return self.joint("revolute", name, a, b, at)

    def prismatic(
        self, name: str, a: End, b: End, direction: Value, at: At = None, turn: float | None = None
    ) -> Self:
        """A slider along `direction`; φ_b − φ_a stays `turn`, or as it starts.

        Parameters
        ----------
        name : str
            Name of the joint.
        a, b : end
            A named point "bar.A", a body "bar" (its centre), or ("bar", local point), m.
        direction : float or array_like
            Angle (rad) or vector (2,), in body a.
        at : array_like, optional
            Place of the joint in the world in the first posture, m; then ends are bodies.
        turn : float, optional
            φ_b − φ_a, rad.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.
        """
        if turn is None:
            first, second = self._angles(name, a, b)
            turn = second - first
        angle = _angle(direction, name)
        return self.joint("prismatic", name, a, b, at, direction=angle, turn=turn)

    def rigid(self, name: str, a: End, b: End, at: At = None) -> Self:
        """A weld: points coincide and the bodies keep their angle.

        Parameters
        ----------
        name : str
            Name of the joint.
        a, b : end
            A named point "bar.A", a body "bar" (its centre), or ("bar", local point), m.
        at : array_like, optional
            Place of the joint in the world in the first posture, m; then ends are bodies.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.
        """
        first, second = self._angles(name, a, b)
        return self.joint("rigid", name, a, b, at, turn=second - first)

    def point_on_line(self, name: str, a: End, b: End, direction: Value, at: At = None) -> Self:
        """A pin of b in a straight slot of a (cam and follower with a flat face).

        Parameters
        ----------
        name : str
            Name of the joint.
        a, b : end
            A named point "bar.A", a body "bar" (its centre), or ("bar", local point), m.
        direction : float or array_like
            Angle (rad) or vector (2,), in body a.
        at : array_like, optional
            Place of the joint in the world in the first posture, m; then ends are bodies.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.
        """
        return self.joint("point_on_line", name, a, b, at, direction=_angle(direction, name))

    def gear(self, name: str, a: End, b: End, radii: tuple[float, float]) -> Self:
        """Two wheels of these pitch radii (m) about their ends; an annulus has a negative radius.

        The wheels need bearings of their own: joints that hold their centres apart.

        Parameters
        ----------
        name : str
            Name of the joint.
        a, b : end
            A named point "bar.A", a body "bar" (its centre), or ("bar", local point), m.
        radii : pair of float
            Pitch radii, m.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.

        Raises
        ------
        ModelError
            For a radius of zero, or radii that cancel.
        """
        ra, rb = map(float, radii)
        if ra == 0.0 or rb == 0.0 or ra + rb == 0.0:
            raise ModelError(f"joint {name!r}: pitch radii {radii} are no gear")
        d, phi = between(self._description, name, a, b), self._angles(name, a, b)
        line = float(np.arctan2(d[1], d[0]))
        phase = ra * (phi[0] - line) + rb * (phi[1] - line)
        return self.joint("gear", name, a, b, radius_a=ra, radius_b=rb, phase=phase)

    def rack(self, name: str, a: End, b: End, direction: Value, radius: float) -> Self:
        """A pinion b of this pitch radius on a rack a along `direction`: u·d + r(φ_b − φ_a) stays.

        Parameters
        ----------
        name : str
            Name of the joint.
        a, b : end
            A named point "bar.A", a body "bar" (its centre), or ("bar", local point), m.
        direction : float or array_like
            Angle (rad) or vector (2,), in body a.
        radius : float
            Pitch radius of the pinion, m.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.
        """
        along = _angle(direction, name)
        first, second = self._angles(name, a, b)
        u = np.array([np.cos(first + along), np.sin(first + along)])
        phase = float(between(self._description, name, a, b) @ u + radius * (second - first))
        return self.joint("rack", name, a, b, direction=along, radius=radius, phase=phase)


def _angle(direction: Value, name: str) -> float:
    """The angle, rad, of a direction given as such or as a vector (2,)."""
    what = f"joint {name!r}: direction must be an angle in rad or a vector (2,), got {direction!r}"
    try:
        array = np.asarray(direction, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(what) from None
    if array.shape == () and np.isfinite(array):
        return float(array)
    if array.shape != (2,) or not np.isfinite(array).all() or not array.any():
        raise ModelError(what)
    return float(np.arctan2(array[1], array[0]))
