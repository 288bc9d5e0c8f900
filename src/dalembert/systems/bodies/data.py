"""The data of bodies in absolute coordinates: what they weigh, and the forces between them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.systems.bodies.kind import Kind
from dalembert.travel import Portable

GROUND = "ground"
Prescribed = Callable[[Any], Any]  # s(t) in NumPy that also runs on symbols


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body; its coordinates are those of its centre of mass."""

    name: str
    mass: float  # kg
    inertia: Any  # kg m²: about the centre of mass, a number in the plane, (3, 3) in body axes
    start: np.ndarray  # coordinates (nq,) of the first posture
    velocity: np.ndarray  # (nv,)
    points: Mapping[str, np.ndarray] = field(default_factory=dict)  # local, m


@dataclass(frozen=True, eq=False)
class Element:
    """A kind on named bodies (0 is the ground) with its numbers: a joint, or what is measured."""

    name: str
    kind: Kind
    bodies: tuple[int, ...]
    parameters: np.ndarray
    at: tuple[np.ndarray, ...] = ()  # where it acts, local to each body, for reactions
    frames: tuple[np.ndarray, ...] = ()  # axes (3, 3) there, local to each body

    def poses(self, q: Any) -> Any:
        """Coordinates (bodies · nq,) of its bodies, from those of all."""
        return self._picked(q, self.kind.space.nq, self.kind.space.reference)

    def speeds(self, v: Any) -> Any:
        """Velocities (bodies · nv,) of its bodies, from those of all."""
        return self._picked(v, self.kind.space.nv, np.zeros(self.kind.space.nv))

    def _picked(self, x: Any, size: int, ground: np.ndarray) -> Any:
        parts = [x[(k - 1) * size : k * size] if k else ground + 0.0 * x[0] for k in self.bodies]
        return np.concatenate(parts)

    def numbers(self, about: Any = None) -> Any:
        """Its parameters; an angle is measured near `about`."""
        if about is None or not self.kind.near:
            return self.parameters
        return np.concatenate([self.parameters[:-1], np.stack([about + 0.0])])

    def value(self, q: Any, about: Any = None) -> Any:
        """Φ (rows,) from the coordinates of all bodies."""
        return self.kind.row_function.function(self.poses(q), self.numbers(about))

    def rows(self, q: Any, v: Any, about: Any = None) -> tuple[Any, Any, Any]:
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
    stiffness: Any = 0.0
    free: Any = 0.0
    damping: Any = 0.0
    value: Prescribed | None = None
    open: bool = False

    @property
    def name(self) -> str:
        """The element's own name."""
        return self.element.name

    def spring(self, s: Any) -> Any:
        """−k (s − free)."""
        return -self.stiffness * (s - self.free)

    def damper(self, speed: Any) -> Any:
        """−c ṡ."""
        return -self.damping * speed

    def energy(self, s: Any) -> Any:
        """½ k (s − free)², J."""
        return 0.5 * self.stiffness * (s - self.free) ** 2

    def given(self, t: Any) -> Any:
        """value(t), zero where none was given."""
        return 0.0 if self.value is None or t is None else _number(self.value(t))


@dataclass(frozen=True, eq=False)
class Load:
    """A force and a moment on one body at a local point, in world axes or turning with it."""

    name: str
    body: int
    point: np.ndarray
    force: np.ndarray
    moment: np.ndarray  # (1,) in the plane, (3,) in space
    follows: bool = False

    @property
    def numbers(self) -> np.ndarray:
        """Point, force, moment and whether they turn with the body, for `equations.load_force`."""
        return np.concatenate([self.point, self.force, self.moment, [float(self.follows)]])


def _number(value: Any) -> Any:
    return value.ravel()[0] if hasattr(value, "ravel") else value


def digest(*parts: Any) -> str:
    """Of arrays, names and kinds: equal data give equal text."""
    total = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            total.update(repr(part.shape).encode() + np.ascontiguousarray(part).tobytes())
        else:
            total.update(repr(part).encode())
    return total.hexdigest()
