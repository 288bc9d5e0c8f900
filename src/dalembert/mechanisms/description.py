"""The data of a mechanism: bodies, the joints that hold them and the drivers that lead them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.constraints.description import describe
from dalembert.constraints.kinds import Constraint, Driver, Holonomic
from dalembert.constraints.posture import Posture
from dalembert.constraints.solve.dynamics import Solved
from dalembert.constraints.solve.rows import Place
from dalembert.constraints.solve.solver import Solver
from dalembert.constraints.solve.targets import target, targets
from dalembert.errors import ConstraintError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.systems.bodies.batch import BodyUnits, place_units
from dalembert.systems.bodies.body_set import BodySet
from dalembert.systems.bodies.data import Element, Prescribed, digest
from dalembert.systems.dynamics import Dynamics
from dalembert.travel import Portable


@dataclass(frozen=True, eq=False)
class Jointed(Holonomic):
    """Φ(q) = 0 of a joint; its force acts on the last of its bodies, where the joint is."""

    element: Any = None  # the `Element`
    bodies: tuple[str, ...] = ()  # names of all bodies, the ground first

    @property
    def at_frames(self) -> bool:
        return bool(self.element.at)

    @property
    def between(self) -> tuple[str, str]:
        return self.bodies[self.element.bodies[0]], self.bodies[self.element.bodies[-1]]

    def point(self, at: Posture) -> Any:
        place = self._place(at)
        return place if len(place) == 3 else np.stack([place[0], place[1], 0.0 * place[0]])

    def wrench(self, at: Posture, lam: Any) -> Any:
        """−Jᵀλ on the last body, (6,) about the joint along the world's axes."""
        made: Element = self.element
        space = made.kind.space
        J = made.rows(at.q, np.zeros(at.system.nv))[1][:, -space.nv :]
        found = space.wrench(self._body(at), -(J.T @ lam), self._place(at))
        if space.dimension == 3:
            return found
        none = 0.0 * found[0]
        return np.stack([found[0], found[1], none, none, none, found[2]])

    def _body(self, at: Posture) -> Any:
        """Coordinates (nq,) of its last body."""
        return self.element.poses(at.q)[-self.element.kind.space.nq :]

    def _place(self, at: Posture) -> Any:
        return self.element.kind.space.place(self._body(at), self.element.at[-1])


@dataclass(frozen=True, eq=False)
class Driven(Portable):
    """A measured quantity that follows a motion: Φ = f(q) − s(t)."""

    element: Element
    motion: Prescribed

    @property
    def name(self) -> str:
        """The driver's own name."""
        return self.element.name

    def rows(self, q: Any, t: Any) -> Any:
        """f(q) − s(t) (rows,); an angle is measured near s."""
        s = target(repr(self.name), self.motion, self.element.kind.rows, t)
        return self.element.value(q, s[0]) - s


@dataclass(frozen=True, eq=False)
class Description(Solved, BodySet):
    """Everything a mechanism is made of."""

    joints: tuple[Element, ...] = ()
    drivers: tuple[Driven, ...] = ()

    @property
    def free(self) -> BodySet:
        """The bodies and the forces between them, without joints and drivers."""
        own = {part.name: getattr(self, part.name) for part in fields(BodySet)}
        return BodySet(**own)

    @property
    def held_by(self) -> tuple[Constraint, ...]:
        """Joints and drivers as constraints of any system with these coordinates."""
        held: list[Constraint] = [
            Jointed(joint.value, joint.name, joint, self.names) for joint in self.joints
        ]
        held += [Driver(driver.rows, name=driver.name) for driver in self.drivers]
        return tuple(held)

    @property
    def freedoms(self) -> int:
        """Degrees of freedom at the first posture, drivers taken as held."""
        return self.nv - self.solver.rank(0.0, self.solver.position(0.0, self.start()))

    @property
    def on_symbols(self) -> Dynamics:
        return describe(self.name, self.free, self.held_by) if self.rows else self.free

    @cached_property
    def batch(self) -> BodyUnits:
        """All bodies at once, on numbers."""
        return BodyUnits(self)

    @cached_property
    def solver(self) -> Solver:
        """Joints and drivers, solved at numbers."""
        return Solver(self.name, self.batch, self.places())

    @cached_property
    def content(self) -> str:
        """Digest of everything that shapes the numbers."""
        parts: list[Any] = [super().content]
        for e in self.elements:
            parts += [e.name, e.kind.row_function.digest, e.bodies, e.parameters]
        motions = targets([(repr(d.name), d.motion, d.element.kind.rows) for d in self.drivers])
        return digest(*parts, "" if motions is None else motions.program().digest)

    @property
    def moving(self) -> bool:  # type: ignore[override]
        """Whether drivers move."""
        return bool(self.drivers)

    @property
    def resting(self) -> bool:  # type: ignore[override]
        """Whether joints alone hold it: they do no work."""
        return not self.drivers

    # on numbers

    def generalized_forces(self, q: Any, qd: Any, t: Any = None) -> Any:
        return self.batch.psi(0.0 if t is None else float(t), q, qd)

    def kinetic_energy(self, q: Any, qd: Any) -> Any:
        return self.batch.kinetic_energy(qd)

    def potential_energy(self, q: Any) -> Any:
        return self.batch.potential_energy(q)

    def first_velocity(self, q: Any) -> np.ndarray:
        """The velocity (nv,) nearest to that of the start that joints and drivers allow at t = 0."""
        given = self.start_velocity()
        return np.apply_along_axis(lambda at: self.solver.velocity(0.0, at, given), -1, q)

    # by name

    @cached_property
    def rows(self) -> int:
        """Number of constraint equations, drivers included."""
        return sum(element.kind.rows for element in self.elements)

    @property
    def elements(self) -> tuple[Element, ...]:
        """Joints, then drivers: the order of λ."""
        return (*self.joints, *(driver.element for driver in self.drivers))

    def places(self) -> list[Place]:
        """The same as rows of the sparse solver."""
        motions = {driver.name: driver.motion for driver in self.drivers}
        return [
            Place(
                e.kind.row_function,
                place_units(e),
                e.parameters,
                motions.get(e.name),
                e.kind.near,
                repr(e.name),
                e.name,
            )
            for e in self.elements
        ]

    def element(self, name: str) -> Element:
        """A joint, driver or force by name."""
        everything = [*self.elements, *(force.element for force in self.forces)]
        for element in everything:
            if element.name == name:
                return element
        names = [element.name for element in everything]
        raise UnknownNameError(f"no joint, driver or force {name!r}{suggest(name, names)}")

    def rows_of(self, name: str) -> slice:
        """Where the multipliers of a joint or driver stand in λ."""
        start = 0
        for element in self.elements:
            if element.name == name:
                return slice(start, start + element.kind.rows)
            start += element.kind.rows
        names = [element.name for element in self.elements]
        raise UnknownNameError(f"no joint or driver {name!r}{suggest(name, names)}")

    def count_mobility(self) -> int:
        """Mobility without drivers by counting: 3 or 6 per body less the rows of the joints."""
        return self.nv - sum(joint.kind.rows for joint in self.joints)

    def require_apart(self, q: np.ndarray) -> None:
        """A driven distance needs points apart: from none it does not know which way to go."""
        for driver in self.drivers:
            e = driver.element
            if e.kind.name == "length" and not float(e.value(q)[0]) > 0.0:
                raise ConstraintError(
                    f"{self.name}: driver {driver.name!r} leads two points that coincide in this "
                    "posture, so it has no direction; assemble() from a posture where they are apart"
                )

    def with_start(self, q: np.ndarray, v: np.ndarray) -> Description:
        """The same from another first posture."""
        n = len(self.bodies)
        parts = zip(self.bodies, np.split(q, n), np.split(v, n), strict=True)
        moved = tuple(replace(body, start=at, velocity=speed) for body, at, speed in parts)
        return replace(self, bodies=moved)
