"""Forces that a mechanism has of its own, beside friction: springs, drag, lifted weights, tendons.

Every element is data: whole numbers say which body it belongs to, everything else is a number that
may be a parameter. A mechanism without elements has the same equations as if they did not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np

from dalembert.model.frozen import Frozen
from dalembert.spatial.arrays import Matrix3, Scalar, Vector, Vector3
from dalembert.tracing import is_symbolic


def _none() -> Vector:
    return np.zeros(0)


# Bodies in a fluid at rest or in an even wind: boxes or ellipsoids that stand for their shape.


@dataclass(frozen=True, eq=False)
class Submerged(Frozen):
    """A shape fixed to a body, in MuJoCo's two models of a fluid.

    Without `coefficients` it is a box with these sides, else an ellipsoid with these half axes; the
    coefficients are those of blunt, slender and angular drag, of Kutta's and Magnus' lift, and three
    virtual masses and three virtual inertias per density.
    """

    body: int
    rotation: Matrix3  # (3, 3) its axes in the body frame
    center: Vector3  # (3,) in the body frame, m
    size: Vector3  # (3,) m
    density: Scalar  # of the fluid, kg/m³
    viscosity: Scalar  # Pa s
    wind: Vector3 = field(default_factory=lambda: np.zeros(3))  # (3,) in the world, m/s
    coefficients: Vector = field(default_factory=_none)  # (11,), or none


# Tendons as data: strings over joints or through points of the bodies, with spring and damper.
#
# A fixed tendon has the length L = Σ c_i q_i. A spatial one runs straight from point to point, or over
# a sphere or cylinder between two points; L is the sum of its segments, each times a share (the
# inverse of the divisor of a pulley).


@dataclass(frozen=True, eq=False)
class Anchor(Frozen):
    """A point fixed to a body (−1: the base)."""

    body: int
    point: Vector3  # (3,) in the body frame, m


@dataclass(frozen=True, eq=False)
class Wrap(Frozen):
    """A sphere, or a cylinder without ends about its z axis, that a segment runs over.

    With a point at its `side`, the segment runs over that side of it also where the straight line
    passes on the other; a point inside of the surface makes the segment touch it from within.
    """

    kind: str  # "sphere" or "cylinder"
    body: int
    rotation: Matrix3  # (3, 3) its axes in the body frame
    center: Vector3  # (3,) in the body frame, m
    radius: Scalar  # m
    side: Vector = field(default_factory=_none)  # (3,) along its axes, m; or none
    beside: Anchor | None = None  # the point at its side, where another body carries it


@dataclass(frozen=True, eq=False)
class Segment(Frozen):
    """From one point to the next, over a surface where there is one."""

    start: Anchor
    end: Anchor
    share: Scalar = 1.0  # of its length in the tendon's
    around: Wrap | None = None


@dataclass(frozen=True, eq=False)
class Tendon(Frozen):
    """A fixed tendon over joints, or a spatial one along segments; its spring, damper and inertia.

    The spring pulls with k_1 x + k_2 x² + …, where x is how far the length is outside of `rest`;
    the damper with b_1 L̇ + b_2 L̇|L̇| + b_3 L̇³.
    """

    name: str
    joints: tuple[int, ...] = ()  # bodies whose joints a fixed tendon runs over
    coefficients: Vector = field(default_factory=_none)  # (joints,) c, m/rad or 1
    segments: tuple[Segment, ...] = ()
    stiffness: Vector = field(default_factory=_none)  # (degree,) k_1, k_2, …; N/m
    damping: Vector = field(default_factory=_none)  # (degree,) b_1, b_2, …; N s/m
    rest: Vector = field(default_factory=lambda: np.zeros(2))  # (2,) lengths without force, m
    armature: Vector = field(default_factory=_none)  # (1,) a with T = ½ a L̇², kg; or none

    @property
    def kind(self) -> str:
        """ "fixed" or "spatial"."""
        return "spatial" if self.segments else "fixed"


@dataclass(frozen=True, eq=False)
class Spring(Frozen):
    """A spring in one joint: it pulls its coordinates back to `rest`.

    The torque is k_1 x + k_2 x² + k_3 x³ of the deflection x = q − rest. A ball or a free joint
    turns by the angle x about one axis, and a free joint also moves by the distance x: torque and
    force then act along that axis and that line.
    """

    body: int
    stiffness: Vector  # (degree,) k_1, k_2, …; N m/rad or N/m
    rest: Vector  # (nq of the joint,)


@dataclass(frozen=True, eq=False)
class Drag(Frozen):
    """Damping beyond the viscous part of one joint: b_2 q̇|q̇| + b_3 q̇³ + … in each velocity.

    The linear velocity of a free joint counts along the axes of the world.
    """

    body: int
    coefficients: Vector  # (degree − 1,) b_2, b_3, …


@dataclass(frozen=True, eq=False)
class Lift(Frozen):
    """Weight that is carried from outside: the mass and first moment that gravity does not pull."""

    body: int
    mass: Scalar  # kg
    moment: Vector3  # (3,) kg m, in the body frame


@dataclass(frozen=True, eq=False)
class Ballast(Frozen):
    """Inertia of a free joint that resists acceleration in the world: MuJoCo's armature.

    A rotor of inertia a takes the force a v̇ of the twist's linear part v, which is given along
    axes that turn; in the world it would be a (v̇ + ω × v). M has a as its rotor already.
    """

    body: int
    mass: Scalar  # a, kg


@dataclass(frozen=True, eq=False)
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

    @property
    def tendons_with_inertia(self) -> tuple[Tendon, ...]:
        """Tendons whose motion has kinetic energy of its own."""
        return tuple(tendon for tendon in self.tendons if tendon.armature.size)


def mapped_numbers(value: Any, function: Callable[[Any], Any]) -> Any:
    """The same elements with `function` applied to each of their numbers, always in order."""
    if is_dataclass(value) and not isinstance(value, type):
        mapped = {f.name: mapped_numbers(getattr(value, f.name), function) for f in fields(value)}
        return type(value)(**mapped)
    if isinstance(value, tuple):
        return tuple(mapped_numbers(x, function) for x in value)
    return function(value) if _is_number(value) else value


def bodies_of(value: Any) -> Iterator[int]:
    """Every whole number of an element: a body it belongs to."""
    if is_dataclass(value):
        for each in fields(value):
            yield from bodies_of(getattr(value, each.name))
    elif isinstance(value, tuple):
        for x in value:
            yield from bodies_of(x)
    elif isinstance(value, int):
        yield value


def structure_text(value: Any) -> str:
    """Everything about elements that is no number, as text."""
    if is_dataclass(value):
        # models stored before tendons had inertia or points of other bodies keep their digests
        values = [getattr(value, f.name) for f in fields(value)]
        is_older = {Tendon: lambda x: not x.armature.size, Wrap: lambda x: x.beside is None}
        if type(value) in is_older and is_older[type(value)](value):
            values.pop()
        return repr([structure_text(x) for x in values])
    if isinstance(value, tuple):
        return repr([structure_text(x) for x in value])
    return repr(np.shape(value)) if _is_number(value) else repr(value)


def _is_number(value: Any) -> bool:
    """Floats, arrays and symbols; whole numbers are indices of bodies."""
    return isinstance(value, float | np.ndarray) or is_symbolic(value)
