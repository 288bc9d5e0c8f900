"""A robot under the springs, dampers and loads of the mechanism it was made of.

    M q̈ + h − Σ Jᵀ τ_spring = τ + ψ + Σ Jᵀ (τ_damper + τ_given) + Σ J_bᵀ F,

where s(q) is what a force acts along, J = ∂s/∂v, and J_b the motion of a loaded point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dalembert.formulations.registry import Quantity
from dalembert.mechanisms.branches import Branch, Loose
from dalembert.mechanisms.description import Description
from dalembert.systems.bodies.catalogue import BODIES
from dalembert.systems.bodies.data import Element, Force, Load, digest
from dalembert.systems.carried import Around
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.robot import Robot
from dalembert.systems.robot_dynamics import TRACED_FROM
from dalembert.systems.row_function import RowFunction
from dalembert.systems.system import System


@dataclass(frozen=True, eq=False)
class TreePlaces:
    """Rows of numbers that the kinds of joints and measures take, on numbers or symbols.

    A planar body is (x, y, φ), φ the sum of the angles up to it, so that full turns are not lost; a
    spatial one its position and the nine entries of R.
    """

    description: Description
    robot: Robot
    branches: tuple[Branch | Loose, ...]

    def __call__(self, q: Any, element: Element) -> Any:
        """Rows (bodies, 3) or (bodies, 12) of the bodies of an element at q (nq,)."""
        d = self.description
        poses = self.robot.dynamics.poses(q)
        plane = d.space.dimension == 2
        angles = self._angles(q) if plane else []
        rows = []
        for k in element.bodies:
            T = poses["base" if k == 0 else d.names[k]]
            if plane:
                rows.append(np.stack([T[0, 3], T[1, 3], angles[k]]))
            else:
                rows.append(np.concatenate([T[:3, 3], T[:3, :3].reshape(9)]))
        return np.stack(rows)

    def _angles(self, q: Any) -> list[Any]:
        """φ of the ground and of every body in the plane."""
        angles: list[Any] = [0.0 * q[0]] * (len(self.description.bodies) + 1)
        start = 0
        for each in self.branches:
            if isinstance(each, Loose):
                angles[each.child] = q[start + 2]
                start += 3
                continue
            sense, p = (1.0 if each.forward else -1.0), each.element.parameters
            turn = q[start] if each.kind == "revolute" else p[-1]  # others keep theirs
            angles[each.child] = angles[each.parent] + sense * turn
            start += each.kind != "rigid"
        return angles


OWN = (
    *("bias", "gravity_torque", "generalized_forces"),
    *("forward_dynamics", "inverse_dynamics", "potential_energy"),
)
Effort = Callable[[Force, Any, Any], Any]  # τ from what a force measures and how fast it changes


@dataclass(frozen=True, eq=False)
class SprungDynamics(Around):
    """The robot's equations, and forces along s(q) of its poses."""

    name: str
    dynamics: Dynamics  # of a robot
    places: TreePlaces

    traced_from: ClassVar[tuple[str, ...]] = (
        *TRACED_FROM,
        "dalembert.systems",
        "dalembert.constraints",
        "dalembert.mechanisms",
    )

    @cached_property
    def catalogue(self) -> Mapping[str, Quantity]:
        """The robot's quantities that no force changes, and those that are written here."""
        return {**self.of_the_inside(), **{name: BODIES[name] for name in OWN}}

    @cached_property
    def content(self) -> str:
        return digest(self.dynamics.content, self.places.description.content)

    @property
    def parameters(self) -> Mapping[str, float | None]:
        return {}

    def bind(self, values: Any) -> SprungDynamics:
        return self

    # the forces

    @cached_property
    def _along(self) -> dict[str, RowFunction]:
        """s(q) of every force, with its slopes."""
        made = {}
        for force in self.places.description.forces:
            e, sizes = force.element, (self.nq, self.nv, 1, force.element.kind.parameters)

            def rows(q: Any, p: Any, e: Any = e) -> Any:
                return e.kind.function(self.places(q, e), p)

            made[force.name] = RowFunction(force.name, *sizes, rows, self.rate)
        return made

    def _measured(self, force: Force, q: Any) -> tuple[Any, Any]:
        """s and J (nv,)."""
        p, still = force.element.numbers(force.free), np.zeros(self.nv) + 0.0 * q[0]
        s, J, _ = self._along[force.name].at(q=q, v=still, p=p)
        return s[0], J[0]

    def _pulled(self, q: Any, qd: Any, forces: Iterable[Force], effort: Effort) -> Any:
        """Σ Jᵀ τ (nv,)."""
        total = 0.0 * qd
        for force in forces:
            s, J = self._measured(force, q)
            total = total + effort(force, s, J @ qd) * J
        return total

    def _springs(self, q: Any, qd: Any) -> Any:
        springs = (force for force in self.places.description.forces if force.stiffness)
        return self._pulled(q, qd, springs, lambda force, s, speed: force.spring(s))

    def _load(self, q: Any, load: Load) -> Any:
        """J_bᵀ F (nv,) of a force and moment at a point of a body."""
        d = self.places.description
        J, T = self.frame_jacobian(q, d.names[load.body]), self.poses(q)[d.names[load.body]]
        plane = d.space.dimension == 2
        point, force = ([np.array([*x, 0.0]), x][not plane] for x in (load.point, load.force))
        moment = np.array([0.0, 0.0, *load.moment]) if plane else load.moment
        R = T[:3, :3]
        if load.follows:
            force, moment = R @ force, R @ moment
        return J[:3].T @ force + J[3:].T @ (moment + np.cross(R @ point, force))

    def actuation(self, q: Any) -> np.ndarray:
        """(nv, actuators): torques for one unit of each open actuator."""
        open_ones = [force for force in self.places.description.forces if force.open]
        columns = [self._measured(force, q)[1] for force in open_ones]
        return np.stack(columns, axis=1) if columns else np.zeros((self.nv, 0))

    # the equations

    def mass_matrix(self, q: Any) -> Any:
        return self.dynamics.mass_matrix(q)

    def kinetic_energy(self, q: Any, qd: Any) -> Any:
        return self.dynamics.kinetic_energy(q, qd)

    def bias(self, q: Any, qd: Any) -> Any:
        return self.dynamics.bias(q, qd) - self._springs(q, qd)

    def gravity_torque(self, q: Any) -> Any:
        """∂U/∂q (nv,): of weight and springs."""
        return self.bias(q, np.zeros(self.nv) + 0.0 * q[0])

    def generalized_forces(self, q: Any, qd: Any, t: Any = None) -> Any:
        d = self.places.description
        others = (f for f in d.forces if f.damping or f.value is not None)
        total = self._pulled(q, qd, others, lambda f, s, speed: f.damper(speed) + f.given(t))
        return sum((self._load(q, load) for load in d.loads), total)

    def forward_dynamics(self, q: Any, qd: Any, tau: Any, t: Any = None) -> Any:
        """q̈ (nv,)."""
        more = self._springs(q, qd) + self.generalized_forces(q, qd, t)
        return self.dynamics.compute("forward_dynamics", q=q, qd=qd, tau=tau + more)

    def motion(self, t: Any, q: Any, qd: Any, tau: Any) -> tuple[Any, Any]:
        return self.forward_dynamics(q, qd, tau, t), np.zeros(0)

    def inverse_dynamics(self, q: Any, qd: Any, qdd: Any) -> Any:
        """τ (nv,) = M q̈ + h − ψ."""
        return self.mass_matrix(q) @ qdd + self.bias(q, qd) - self.generalized_forces(q, qd)

    def potential_energy(self, q: Any) -> Any:
        springs = [force for force in self.places.description.forces if force.stiffness]
        stored = sum(force.energy(self._measured(force, q)[0]) for force in springs)
        return self.dynamics.potential_energy(q) + stored


class Sprung(System):
    """A robot with springs, dampers and loads between its links, as a system like any other."""

    dynamics: SprungDynamics

    def __repr__(self) -> str:
        d = self.dynamics.places.description
        return (
            f"<Sprung {self.name}: {self.nv} joints, {len(d.forces)} forces, {len(d.loads)} loads>"
        )


def sprung(robot: Robot, places: TreePlaces) -> Sprung:
    """The robot with the forces of the mechanism it was made of."""
    return Sprung(SprungDynamics(robot.name, robot.dynamics, places))
