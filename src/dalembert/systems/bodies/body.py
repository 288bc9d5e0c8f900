"""Bodies in absolute coordinates: their data, the forces between them, and Newton–Euler for one body.

    m p̈ = m g + F,    J ω̇ + ω × J ω = M,

F in world axes, ω, J and M in body axes (in the plane J φ̈ = M). The equations are traceable functions
of one body; `BodySet` goes through all bodies, and `BodyUnits` calls them compiled, all at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.pickling import Portable
from dalembert.systems.bodies.space import Array, Kind, Space

GROUND = "ground"
Value = float | Array  # a number, a symbol, or an array of them
Prescribed = Callable[[Any], Any]  # s(t) in NumPy that also runs on symbols


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body; its coordinates are those of its centre of mass."""

    name: str
    mass: float  # kg
    inertia: float | Array  # kg m², about its centre: a number, or (3, 3) in body axes
    start: Array  # coordinates (nq,) of the first posture
    velocity: Array  # (nv,)
    points: Mapping[str, Array] = field(default_factory=dict)  # local, m


@dataclass(frozen=True, eq=False)
class Element:
    """A kind on named bodies (0 is the ground) with its numbers: a joint, or what is measured."""

    name: str
    kind: Kind
    bodies: tuple[int, ...]
    parameters: Array
    at: tuple[Array, ...] = ()  # where it acts, local to each body, for reactions
    frames: tuple[Array, ...] = ()  # axes (3, 3) there, local to each body

    def poses(self, q: Array) -> Array:
        """Coordinates (bodies · nq,) of its bodies, from those of all."""
        return self._picked(q, self.kind.space.nq, self.kind.space.reference)

    def speeds(self, v: Array) -> Array:
        """Velocities (bodies · nv,) of its bodies, from those of all."""
        return self._picked(v, self.kind.space.nv, np.zeros(self.kind.space.nv))

    def _picked(self, x: Array, size: int, ground: Array) -> Array:
        parts = [x[(k - 1) * size : k * size] if k else ground + 0.0 * x[0] for k in self.bodies]
        return np.concatenate(parts)

    def numbers(self, about: Value | None = None) -> Array:
        """Its parameters; an angle is measured near `about`."""
        if about is None or not self.kind.near:
            return self.parameters
        return np.concatenate([self.parameters[:-1], np.stack([about + 0.0])])

    def value(self, q: Array, about: Value | None = None) -> Array:
        """Φ (rows,) from the coordinates of all bodies."""
        return self.kind.row_function.function(self.poses(q), self.numbers(about))

    def rows(self, q: Array, v: Array, about: Value | None = None) -> tuple[Array, Array, Array]:
        """Φ (rows,), J (rows, bodies · nv) over its own bodies, and the drift (rows,)."""
        at = self.kind.row_function.at
        return at(q=self.poses(q), v=self.speeds(v), p=self.numbers(about))


@dataclass(frozen=True, eq=False)
class Force(Portable):
    """τ = value(t) − stiffness (s − free) − damping ṡ, along a measured quantity s.

    Where `open`, a further value comes from outside at every instant: an actuator. The numbers may
    be arrays, of many forces along the same kind of quantity.
    """

    element: Element
    stiffness: Value = 0.0
    free: Value = 0.0
    damping: Value = 0.0
    value: Prescribed | None = None
    open: bool = False

    @property
    def name(self) -> str:
        """The element's own name."""
        return self.element.name

    def spring(self, s: Value) -> Value:
        """−k (s − free)."""
        return -self.stiffness * (s - self.free)

    def damper(self, speed: Value) -> Value:
        """−c ṡ."""
        return -self.damping * speed

    def energy(self, s: Value) -> Value:
        """½ k (s − free)², J."""
        return 0.5 * self.stiffness * (s - self.free) ** 2

    def prescribed(self, t: Value | None) -> Value:
        """value(t), zero without one."""
        if self.value is None or t is None:
            return 0.0
        value = self.value(t)
        first: Value = value.ravel()[0] if hasattr(value, "ravel") else value
        return first


@dataclass(frozen=True, eq=False)
class Load:
    """A force and a moment on one body at a local point, in world axes or turning with it."""

    name: str
    body: int
    point: Array
    force: Array
    moment: Array  # (1,) in the plane, (3,) in space
    follows: bool = False

    @property
    def numbers(self) -> Array:
        """Point, force, moment and whether they turn with the body, for `equations.load_force`."""
        return np.concatenate([self.point, self.force, self.moment, [float(self.follows)]])


def digest(*parts: Any) -> str:
    """Of arrays, names and kinds: equal data give equal text."""
    total = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            total.update(repr(part.shape).encode() + np.ascontiguousarray(part).tobytes())
        else:
            total.update(repr(part).encode())
    return total.hexdigest()


def body_mass_matrix(space: Space, body: Body) -> Array:
    """M (nv, nv) of one body; it is constant."""
    n, turns = space.dimension, space.nv - space.dimension
    J = body.inertia if n == 3 else body.inertia * np.eye(1)
    above = np.concatenate([body.mass * np.eye(n), np.zeros((n, turns))], axis=1)
    return np.concatenate([above, np.concatenate([np.zeros((turns, n)), J], axis=1)])


def body_bias(space: Space, M: Array, gravity: Array, v: Array) -> Array:
    """(−m g, ω × J ω) (nv,)."""
    n = space.dimension
    weight = -M[0, 0] * gravity
    if n == 2:
        return np.concatenate([weight, 0.0 * v[:1]])
    omega = v[3:6]
    return np.concatenate([weight, np.cross(omega, M[3:6, 3:6] @ omega)])


def body_kinetic_energy(M: Array, v: Array) -> Array:
    """½ vᵀ M v."""
    energy: Array = 0.5 * (v @ (M @ v))
    return energy


def weight_energy(space: Space, M: Array, gravity: Array, q: Array) -> Array:
    """−m g·p, from the origin."""
    energy: Array = -M[0, 0] * (gravity @ q[: space.dimension])
    return energy


def load_force(space: Space, q: Array, numbers: Array) -> Array:
    """Generalised force (nv,) of a `Load` on its body."""
    n, R = space.dimension, space.rotation(q)
    point, force, moment, follows = *np.split(numbers[:-1], [n, 2 * n]), numbers[-1]
    pull = follows * (R @ force) + (1.0 - follows) * force  # in the world
    if n == 2:
        arm = R @ point
        turning = arm[0] * pull[1] - arm[1] * pull[0] + moment[0]
        return np.concatenate([pull, np.stack([turning])])
    turning = follows * moment + (1.0 - follows) * (R.T @ moment)
    return np.concatenate([pull, np.cross(point, R.T @ pull) + turning])
