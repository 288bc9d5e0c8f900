"""The data of a mechanism in absolute coordinates: bodies, joints, drivers and forces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dalembert.errors import UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.mechanisms.kind import Kind
from dalembert.mechanisms.motions import Motion
from dalembert.mechanisms.space import Space

GROUND = "ground"


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


@dataclass(frozen=True, eq=False)
class Driver:
    """A measured quantity that follows a motion: Φ = f(q) − s(t)."""

    element: Element
    motion: Motion

    @property
    def name(self) -> str:
        """The driver's own name."""
        return self.element.name


@dataclass(frozen=True, eq=False)
class Force:
    """τ = value(t) − stiffness (s − free) − damping ṡ, along a measured quantity s.

    Where `open`, a further value comes from outside at every instant: an actuator.
    """

    element: Element
    stiffness: float = 0.0
    free: float = 0.0
    damping: float = 0.0
    value: Motion | None = None
    open: bool = False

    @property
    def name(self) -> str:
        """The element's own name."""
        return self.element.name


@dataclass(frozen=True, eq=False)
class Load:
    """A force and a moment on one body at a local point, in world axes or turning with it."""

    name: str
    body: int
    point: np.ndarray
    force: np.ndarray
    moment: np.ndarray  # (1,) in the plane, (3,) in space
    follows: bool = False


@dataclass(frozen=True, eq=False)
class Description:
    """Everything a mechanism is made of."""

    name: str
    space: Space
    gravity: np.ndarray
    bodies: tuple[Body, ...] = ()
    ground_points: Mapping[str, np.ndarray] = field(default_factory=dict)
    joints: tuple[Element, ...] = ()
    drivers: tuple[Driver, ...] = ()
    forces: tuple[Force, ...] = ()
    loads: tuple[Load, ...] = ()

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return len(self.bodies) * self.space.nq

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return len(self.bodies) * self.space.nv

    @property
    def rows(self) -> int:
        """Number of constraint equations, drivers included."""
        return sum(element.kind.rows for element in self.constraints)

    @property
    def constraints(self) -> tuple[Element, ...]:
        """Joints, then drivers: the order of λ."""
        return (*self.joints, *(driver.element for driver in self.drivers))

    @property
    def actuators(self) -> tuple[str, ...]:
        """Names of the forces whose value comes from outside."""
        return tuple(force.name for force in self.forces if force.open)

    @property
    def names(self) -> tuple[str, ...]:
        """Ground and bodies, by index."""
        return (GROUND, *(body.name for body in self.bodies))

    def index(self, body: str, where: str = "") -> int:
        """Index of a body, 0 for the ground; an unknown one is an error naming who asked."""
        if body in self.names:
            return self.names.index(body)
        raise UnknownNameError(f"{where}no body {body!r}{suggest(body, list(self.names))}")

    def points(self, body: int) -> Mapping[str, np.ndarray]:
        """Named local points of a body."""
        return self.ground_points if body == 0 else self.bodies[body - 1].points

    def element(self, name: str) -> Element:
        """A joint, driver or force by name."""
        everything = [*self.constraints, *(force.element for force in self.forces)]
        for element in everything:
            if element.name == name:
                return element
        names = [element.name for element in everything]
        raise UnknownNameError(f"no joint, driver or force {name!r}{suggest(name, names)}")

    def rows_of(self, name: str) -> slice:
        """Where the multipliers of a joint or driver stand in λ."""
        start = 0
        for element in self.constraints:
            if element.name == name:
                return slice(start, start + element.kind.rows)
            start += element.kind.rows
        names = [element.name for element in self.constraints]
        raise UnknownNameError(f"no joint or driver {name!r}{suggest(name, names)}")

    def start(self) -> np.ndarray:
        """Coordinates (nq,) of the first posture, as given."""
        return np.concatenate([body.start for body in self.bodies] or [np.zeros(0)])

    def start_velocity(self) -> np.ndarray:
        """Velocities (nv,) at the start, as given."""
        return np.concatenate([body.velocity for body in self.bodies] or [np.zeros(0)])

    def count_mobility(self) -> int:
        """Mobility without drivers by counting: 3 or 6 per body less the rows of the joints."""
        return self.nv - sum(joint.kind.rows for joint in self.joints)

    def with_start(self, q: np.ndarray, v: np.ndarray) -> Description:
        """The same from another first posture."""
        n = self.space
        moved = tuple(
            replace(body, start=q[k * n.nq : (k + 1) * n.nq], velocity=v[k * n.nv : (k + 1) * n.nv])
            for k, body in enumerate(self.bodies)
        )
        return replace(self, bodies=moved)
