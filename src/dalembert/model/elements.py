"""Forces that a mechanism has of its own, beside friction: springs, drag, lifted weights, tendons.

Every element is data: whole numbers say which body it belongs to, everything else is a number that
may be a parameter. A mechanism without elements has the same equations as if they did not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from dalembert.bridge import is_symbolic
from dalembert.model.fluid import Submerged
from dalembert.model.frozen import Frozen
from dalembert.model.tendons import Tendon
from dalembert.records import record
from dalembert.spatial.arrays import Scalar, Vector, Vector3


@record(eq=False)
class Spring(Frozen):
    """A spring in one joint: it pulls its coordinates back to `rest`.

    The torque is k_1 x + k_2 x² + k_3 x³ of the deflection x = q − rest. A ball or a free joint
    turns by the angle x about one axis, and a free joint also moves by the distance x: torque and
    force then act along that axis and that line.
    """

    body: int
    stiffness: Vector  # (degree,) k_1, k_2, …; N m/rad or N/m
    rest: Vector  # (nq of the joint,)


@record(eq=False)
class Drag(Frozen):
    """Damping beyond the viscous part of one joint: b_2 q̇|q̇| + b_3 q̇³ + … in each velocity.

    The linear velocity of a free joint counts along the axes of the world.
    """

    body: int
    coefficients: Vector  # (degree − 1,) b_2, b_3, …


@record(eq=False)
class Lift(Frozen):
    """Weight that is carried from outside: the mass and first moment that gravity does not pull."""

    body: int
    mass: Scalar  # kg
    moment: Vector3  # (3,) kg m, in the body frame


@record(eq=False)
class Ballast(Frozen):
    """Inertia of a free joint that resists acceleration in the world: MuJoCo's armature.

    A rotor of inertia a takes the force a v̇ of the twist's linear part v, which is given along
    axes that turn; in the world it would be a (v̇ + ω × v). M has a as its rotor already.
    """

    body: int
    mass: Scalar  # a, kg


@record(eq=False)
class Elements(Frozen):
    """All elements of a mechanism."""

    springs: tuple[Spring, ...] = ()
    drags: tuple[Drag, ...] = ()
    lifts: tuple[Lift, ...] = ()
    tendons: tuple[Tendon, ...] = ()
    ballasts: tuple[Ballast, ...] = ()
    submerged: tuple[Submerged, ...] = ()

    def __bool__(self) -> bool:
        return any(getattr(self, f.name) for f in fields(self))

    def mapped(self, function: Callable[[Any], Any]) -> Elements:
        """The same elements with `function` applied to each of their numbers, always in order."""
        return _mapped(self, function)

    @property
    def structure(self) -> str:
        """Everything about them that is no number, as text."""
        return _structure(self)


def _mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        made = {f.name: _mapped(getattr(value, f.name), function) for f in fields(value)}
        return type(value)(**made)
    if isinstance(value, tuple):
        return tuple(_mapped(x, function) for x in value)
    return function(value) if _is_number(value) else value


def _structure(value: Any) -> str:
    if is_dataclass(value):
        return repr([_structure(getattr(value, f.name)) for f in fields(value)])
    if isinstance(value, tuple):
        return repr([_structure(x) for x in value])
    return repr(np.shape(value)) if _is_number(value) else repr(value)


def _is_number(value: Any) -> bool:
    """Floats, arrays and symbols; whole numbers are indices of bodies."""
    return isinstance(value, float | np.ndarray) or is_symbolic(value)
