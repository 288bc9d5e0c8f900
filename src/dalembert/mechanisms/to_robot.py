"""A mechanism as a robot with loops: a spanning tree of its joints, the others as loop closures.

Springs, dampers and loads of the mechanism act on the robot,

    M q̈ + h − Σ Jᵀ τ_spring = τ + ψ + Σ Jᵀ (τ_damper + τ_given) + Σ J_bᵀ F,

where s(q) is the measure of a force, J = ∂s/∂v, and J_b the Jacobian of a loaded point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dalembert.constraints import Constrained, Distance, Holonomic, Loop
from dalembert.constraints.dynamics import TRACED_FROM
from dalembert.constraints.kinds import Constraint, Time
from dalembert.errors import FormulationError
from dalembert.formulations.registry import INPUTS, Quantity
from dalembert.linalg.factorisations import inverse_form
from dalembert.mechanisms.description import Description, joint_part
from dalembert.mechanisms.state import State
from dalembert.model import Joint, Link
from dalembert.model.joint import JOINT_KINDS, PLANAR_KINDS, SPATIAL_KINDS
from dalembert.spatial.quaternions import quaternion_from_matrix
from dalembert.spatial.rotations import rotation_z
from dalembert.spatial.se3 import inverse, pose
from dalembert.systems.bodies.body import Element, Force, digest
from dalembert.systems.bodies.body_set import BODIES
from dalembert.systems.bodies.space import RowFunction
from dalembert.systems.dynamics import Dynamics, WrappedDynamics, delegates
from dalembert.systems.robot import Robot
from dalembert.systems.system import System

if TYPE_CHECKING:
    from dalembert.mechanisms.mechanism import Mechanism

SYMMETRIC = ("revolute", "prismatic", "cylindrical", "screw")  # the same from b, about −z
SECOND = np.eye(3)[:, [2, 0, 1]]  # x along z: the second axis of a universal joint
# z along the x of a slider in the plane
ALONG = np.array([[0.0, 0.0, 1.0], [0.0, -1.0, 0.0], [1.0, 0.0, 0.0]])

Coordinates = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Branch:
    """A joint of the tree from the body nearer to the ground, its parent, to the child.

    Symmetric joints stay as they are; others are reversed, so that the parent is first. Without an
    element the child is free in space, or in the plane.
    """

    element: Element | None
    parent: int
    child: int
    joint: Joint  # of the robot
    moved: np.ndarray  # pose (4, 4) of the joint's moved frame in the child

    def coordinates(self, state: State) -> Coordinates:
        """(q, q̇, q̈) of this joint at a state of the mechanism."""
        d, child = state.description, self.child
        # velocities and accelerations of the ground and of all bodies
        n = d.space.nv
        v, a = (np.concatenate([np.zeros(n), x]).reshape(-1, n) for x in (state.v, state.a))
        if self.element is None:
            q = state.body(d.names[child])
            if d.space.dimension == 2:
                return q, v[child], a[child]
            # in space the twist in the body's own axes
            R = d.space.rotation(q)
            linear, omega = R.T @ v[child, :3], v[child, 3:]
            rate = R.T @ a[child, :3] - np.cross(omega, linear)
            return q, np.concatenate([linear, omega]), np.concatenate([rate, a[child, 3:]])
        if self.element.kind.name == "spherical":
            # quaternion of the child in the parent's joint frame, ω and ω̇ in the child's
            R_p, R_c = (state.rotation(d.names[k]) for k in (self.parent, child))
            F_p, F_c = np.asarray(self.joint.origin)[:3, :3], self.moved[:3, :3]
            (w_p, w_c), (a_p, a_c) = (x[[self.parent, child], 3:] for x in (v, a))
            R = R_c.T @ R_p
            omega = F_c.T @ (w_c - R @ w_p)
            rate = F_c.T @ (a_c - R @ a_p + np.cross(w_c, R @ w_p))
            return quaternion_from_matrix(F_p.T @ R_p.T @ R_c @ F_c), omega, rate
        values = []
        for part in JOINT_KINDS[self.joint.kind].coordinates:
            element = joint_part(d, f"{self.element.name}.{part}", self.element, part)
            value, J, drift = state.measured(element)
            speed, second = (float((J[0] * x[list(element.bodies)]).sum()) for x in (v, a))
            values.append((value[0], speed, second + drift[0]))
        q, qd, qdd = np.array(values).reshape(-1, 3).T
        return q, qd, qdd


def branch(d: Description, joint: Element, parent: int) -> Branch:
    """A joint of the mechanism as one of a robot."""
    plane, kind = d.space.dimension == 2, joint.kind.name
    element = joint
    if joint.bodies[0] != parent and not plane and kind not in SYMMETRIC:
        p = joint.parameters
        numbers = np.concatenate([p[12:24], p[:12], p[24:]])
        reverse = joint.bodies[::-1], numbers, joint.at[::-1], joint.frames[::-1]
        element = Element(joint.name, joint.kind, *reverse)
    sides = (0, 1) if element.bodies[0] == parent else (1, 0)
    first, second = (joint_frame(d, element, side) for side in sides)
    more: dict[str, Any] = {}
    if kind == "universal":
        second = second @ pose(SECOND, np.zeros(3))
        more = {"axis2": (1.0, 0.0, 0.0)}
    elif kind == "screw":
        more = {"pitch": float(joint.parameters[24])}
    elif plane and kind == "prismatic":
        first, second = (frame @ pose(ALONG, np.zeros(3)) for frame in (first, second))
    # relative to the second body, the same motion has the opposite sign
    axis = (0.0, 0.0, 1.0 if sides == (0, 1) else -1.0)
    robot_joint = Joint(kind=kind, name=joint.name, axis=axis, origin=first, **more)
    return Branch(element, parent, element.bodies[sides[1]], robot_joint, second)


def joint_frame(d: Description, joint: Element, side: int) -> np.ndarray:
    """Pose (4, 4) of the joint in one of its bodies: z along its axis, x along a planar slide."""
    if d.space.dimension == 3:
        return pose(joint.frames[side], joint.at[side])
    kind, p = joint.kind.name, joint.parameters
    angle = p[4] if kind in ("prismatic", "point_on_line") else 0.0
    turn = p[-1] if kind in ("prismatic", "rigid") else 0.0  # of the second body
    return pose(rotation_z(angle - side * turn), np.array([*joint.at[side], 0.0]))


@dataclass(frozen=True, eq=False)
class SpanningTree:
    """A robot of the tree joints of a mechanism."""

    description: Description
    robot: Robot
    branches: tuple[Branch, ...]

    def poses(self, q: np.ndarray, element: Element) -> np.ndarray:
        """Absolute coordinates, (bodies, 3) or (bodies, 12), of the bodies of an element at q (nq,).

        As kinds of joints and measures take them, numbers or symbols: a planar body is (x, y, φ), φ
        the sum of the angles up to it, so that full turns are counted; a spatial one its position
        and the nine entries of R.
        """
        d = self.description
        poses = self.robot.dynamics.poses(q)
        frames = [poses["base" if k == 0 else d.names[k]] for k in element.bodies]
        if d.space.dimension == 3:
            return np.stack([np.concatenate([T[:3, 3], T[:3, :3].reshape(9)]) for T in frames])
        # φ of the ground and of every body
        angles, start = [0.0 * q[0]] * (len(d.bodies) + 1), 0
        for each in self.branches:
            if each.element is None:
                angles[each.child] = q[start + 2]
                start += 3
                continue
            kind, p = each.element.kind.name, each.element.parameters
            sense = 1.0 if each.element.bodies[0] == each.parent else -1.0
            turn = q[start] if kind == "revolute" else p[-1]  # others keep theirs
            angles[each.child] = angles[each.parent] + sense * turn
            start += kind != "rigid"
        planar = zip(frames, element.bodies, strict=True)
        return np.stack([np.stack([T[0, 3], T[1, 3], angles[k]]) for T, k in planar])


OWN = (
    *("bias", "gravity_torque", "generalized_forces"),
    *("forward_dynamics", "inverse_dynamics", "potential_energy"),
    *("hamiltonian", "canonical_equations", "gauss_constraint"),
)
Effort = Callable[[Force, Any, Any], Any]  # τ from what a force measures and how fast it changes


@delegates("dynamics", "name parameters")
@dataclass(frozen=True, eq=False)
class SprungDynamics(WrappedDynamics):
    """The robot's equations with forces along measures s(q)."""

    dynamics: Dynamics  # of a robot
    tree: SpanningTree

    traced_from: ClassVar[tuple[str, ...]] = (*TRACED_FROM, "dalembert.mechanisms")
    inputs: ClassVar = {**INPUTS, "t": ()}

    @cached_property
    def catalogue(self) -> Mapping[str, Quantity]:
        """The robot's quantities that no force changes, and those of this class."""
        own = {name: BODIES[name] for name in OWN}
        return {**self.inherited_quantities("acceleration_energy"), **own}

    @cached_property
    def content(self) -> str:
        return digest(self.dynamics.content, self.tree.description.content)

    # the forces

    @cached_property
    def _measures(self) -> dict[str, RowFunction]:
        """s(q) of every force, with its derivatives."""
        measures = {}
        for force in self.tree.description.forces:
            e, sizes = force.element, (self.nq, self.nv, 1, force.element.kind.parameters)

            def rows(q: np.ndarray, p: Any, e: Any = e) -> Any:
                return e.kind.function(self.tree.poses(q, e), p)

            measures[force.name] = RowFunction(force.name, *sizes, rows, self.rate)
        return measures

    def _measured(self, force: Force, q: np.ndarray) -> tuple[Any, Any]:
        """s and J (nv,)."""
        p, zero = force.element.numbers(force.free), np.zeros(self.nv) + 0.0 * q[0]
        s, J, _ = self._measures[force.name].at(q=q, v=zero, p=p)
        return s[0], J[0]

    def _total(
        self, q: np.ndarray, qd: np.ndarray, forces: Iterable[Force], effort: Effort
    ) -> np.ndarray:
        """Σ Jᵀ τ (nv,)."""
        total = 0.0 * qd
        for force in forces:
            s, J = self._measured(force, q)
            total = total + effort(force, s, J @ qd) * J
        return total

    def _springs(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        springs = (force for force in self.tree.description.forces if force.stiffness)
        return self._total(q, qd, springs, lambda force, s, speed: force.spring(s))

    def actuation(self, q: np.ndarray) -> np.ndarray:
        """(nv, actuators): torques for one unit of each open actuator."""
        forces = self.tree.description.forces
        columns = [self._measured(force, q)[1] for force in forces if force.open]
        return np.stack(columns, axis=1) if columns else np.zeros((self.nv, 0))

    # the equations

    def bias(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        bias: np.ndarray = self.dynamics.bias(q, qd) - self._springs(q, qd)
        return bias

    def gravity_torque(self, q: np.ndarray) -> np.ndarray:
        """∂U/∂q (nv,): of weight and springs."""
        return self.bias(q, np.zeros(self.nv) + 0.0 * q[0])

    def generalized_forces(self, q: np.ndarray, qd: np.ndarray, t: Time = None) -> Any:
        d = self.tree.description
        others = (f for f in d.forces if f.damping or f.value is not None)
        total = self._total(q, qd, others, lambda f, s, speed: f.damper(speed) + f.prescribed(t))
        for load in d.loads:  # J_bᵀ F of a force and moment at a point of a body
            J, T = self.frame_jacobian(q, d.names[load.body]), self.poses(q)[d.names[load.body]]
            point, force, moment, R = load.point, load.force, load.moment, T[:3, :3]
            if d.space.dimension == 2:
                point, force = np.array([*point, 0.0]), np.array([*force, 0.0])
                moment = np.array([0.0, 0.0, *moment])
            if load.follows:
                force, moment = R @ force, R @ moment
            arm = np.cross(R @ point, force)
            total = total + (J[:3].T @ force + J[3:].T @ (moment + arm))
        return total

    def forward_dynamics(
        self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, t: Time = None
    ) -> Any:
        """q̈ (nv,)."""
        forces = self._springs(q, qd) + self.generalized_forces(q, qd, t)
        return self.dynamics.compute("forward_dynamics", q=q, qd=qd, tau=tau + forces)

    def motion(self, t: Time, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> tuple[Any, Any]:
        return self.forward_dynamics(q, qd, tau, t), np.zeros(0)

    def inverse_dynamics(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> Any:
        """τ (nv,) = M q̈ + h − ψ."""
        return self.mass_matrix(q) @ qdd + self.bias(q, qd) - self.generalized_forces(q, qd)

    def potential_energy(self, q: np.ndarray) -> Any:
        return self.dynamics.potential_energy(q) + self._stored(q)

    def hamiltonian(self, q: np.ndarray, p: np.ndarray) -> Any:
        """½ pᵀM⁻¹p + U, J."""
        return self.dynamics.compute("hamiltonian", q=q, p=p) + self._stored(q)

    def canonical_equations(
        self, q: np.ndarray, p: np.ndarray, tau: np.ndarray, t: Time = None
    ) -> tuple[Any, Any]:
        """(q̇, ṗ), each (nv,)."""
        qd, pd = self.dynamics.compute("canonical_equations", q=q, p=p, tau=tau)
        return qd, pd + self._springs(q, qd) + self.generalized_forces(q, qd, t)

    def gauss_constraint(
        self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, tau: np.ndarray, t: Time = None
    ) -> Any:
        """Z = ½ (q̈ − a)ᵀM (q̈ − a), kg m²/s⁴."""
        M, forces = self.mass_matrix(q), self.generalized_forces(q, qd, t)
        missing = M @ qdd + self.bias(q, qd) - forces - tau
        return 0.5 * inverse_form(M, missing)

    def _stored(self, q: np.ndarray) -> Any:
        """Energy of the springs, J."""
        springs = [force for force in self.tree.description.forces if force.stiffness]
        return sum(force.energy(self._measured(force, q)[0]) for force in springs)


class Sprung(System):
    """A robot with springs, dampers and loads between its links, as a system like any other."""

    dynamics: SprungDynamics

    def __repr__(self) -> str:
        d = self.dynamics.tree.description
        return (
            f"<Sprung {self.name}: {self.nv} joints, {len(d.forces)} forces, {len(d.loads)} loads>"
        )


# constrained directions in the plane, in frames with x along the sliding direction
PLANAR_LOOPS = {
    "revolute": ("x", "y"),
    "rigid": ("x", "y", "rz"),
    "prismatic": ("y", "rz"),
    "point_on_line": ("y",),
}
SPATIAL_LOOPS = {name: kind.loop for name, kind in SPATIAL_KINDS.items()}


@dataclass(frozen=True, eq=False)
class Converted(SpanningTree):
    """A robot of the tree joints, its loops, and the joints of its coordinates."""

    loops: tuple[Constraint, ...]

    @property
    def tree(self) -> tuple[str, ...]:
        """Names of the joints of the robot that move, in the order of its coordinates."""
        return tuple(joint.name for joint in self.robot.model.joints)

    def coordinates(self, state: State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(q (nq,), q̇ (nv,), q̈ (nv,)) of the robot at a state of the mechanism."""
        parts = [branch.coordinates(state) for branch in self.branches]
        q, qd, qdd = (np.concatenate([part[k] for part in parts]) for k in range(3))
        return q, qd, qdd

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """(q, q̇) of the robot at the first posture and velocity of the mechanism."""
        d = self.description
        zeros = np.zeros(d.nv), np.zeros(d.rows)
        q, qd, _ = self.coordinates(State(d, 0.0, d.start(), d.start_velocity(), *zeros))
        return q, qd

    @cached_property
    def sprung(self) -> Sprung:
        """The robot under the springs, dampers and loads of the mechanism."""
        tree = SpanningTree(self.description, self.robot, self.branches)
        return Sprung(SprungDynamics(self.robot.dynamics, tree))

    def actuation(self, q: ArrayLike) -> np.ndarray:
        """(nv, actuators): torques of the robot for one unit of each open actuator, by `actuators`."""
        return self.sprung.dynamics.actuation(np.asarray(q, dtype=float))

    def system(self) -> Any:
        """The robot with the mechanism's springs and loads, closed where there are loops."""
        d = self.description
        base = self.sprung if d.loads or any(not force.open for force in d.forces) else self.robot
        return Constrained(base, self.loops, guess=self.start()[0]) if self.loops else base


def robot_with_loops(mechanism: Mechanism) -> Converted:
    """All lower pairs along a spanning tree from the ground; what closes it as loops.

    `system()` includes springs, dampers, loads and forces over time, but no drivers and open
    actuators: a robot takes torques. A body without a joint in the tree is free.

    >>> from dalembert.zoo.absolute import four_bar
    >>> converted = robot_with_loops(four_bar())
    >>> converted.tree, [loop.label for loop in converted.loops]
    (('A', 'D', 'B'), ['C'])
    """
    d = mechanism.description
    branches, rest = _spanning(d)
    links = []
    for each in branches:
        body = d.bodies[each.child - 1]
        planar_tensor = np.diag([0.5, 0.5, 1.0])
        links.append(
            Link(
                name=body.name,
                parent=None if each.parent == 0 else d.names[each.parent],
                joint=each.joint,
                mass=body.mass,
                inertia=body.inertia if d.space.dimension == 3 else body.inertia * planar_tensor,
                frame=inverse(each.moved),
            )
        )
    gravity = d.gravity if d.space.dimension == 3 else np.array([*d.gravity, 0.0])
    robot = Robot.from_links(links, gravity=gravity, name=d.name)
    tree = SpanningTree(d, robot, tuple(branches))
    return Converted(d, robot, tree.branches, tuple(_loop(tree, joint) for joint in rest))


def _spanning(d: Description) -> tuple[list[Branch], list[Element]]:
    """(joints breadth first from the ground and free bodies, remaining joints)."""
    known = PLANAR_KINDS if d.space.dimension == 2 else SPATIAL_KINDS
    tree: list[Branch] = []
    remaining, visited, frontier = list(d.joints), {0}, {0}
    while len(visited) <= len(d.bodies):
        added: set[int] = set()
        for joint in list(remaining):
            new = [b for b in joint.bodies if b not in visited]
            if joint.kind.name in known and len(new) == 1 and frontier & set(joint.bodies):
                (parent,) = (b for b in joint.bodies if b != new[0])
                tree.append(branch(d, joint, parent))
                visited.add(new[0])
                added.add(new[0])
                remaining.remove(joint)
        if not added:
            free = next(k for k in range(len(d.names)) if k not in visited)
            kind = "planar" if d.space.dimension == 2 else "free"
            joint_of_robot = Joint(kind=kind, name=f"{d.names[free]} free")
            tree.append(Branch(None, 0, free, joint_of_robot, np.eye(4)))
            visited.add(free)
            added = visited.copy()
        frontier = added
    return tree, remaining


def _loop(tree: SpanningTree, joint: Element) -> Constraint:
    """A joint outside the tree as a loop between frames, or else as a function of q."""
    d, kind = tree.description, joint.kind.name
    plane = d.space.dimension == 2
    a, b = ("base" if k == 0 else d.names[k] for k in joint.bodies[:2])
    directions: Any = (PLANAR_LOOPS if plane else SPATIAL_LOOPS).get(kind)
    if kind == "distance" or directions is not None:
        first, second = (joint_frame(d, joint, side) for side in (0, 1))
        if directions is not None:
            return Loop(a, b, directions, first, second, name=joint.name)
        first, second = (pose(None, frame[:3, 3]) for frame in (first, second))
        return Distance(a, b, float(joint.parameters[-1]), first, second, joint.name)
    if joint.kind.custom and not plane:
        raise FormulationError(
            f"{d.name}: joint {joint.name!r} is a function of quaternions, which a robot does not "
            "have; write it as a constraint on the robot's frames"
        )
    return Holonomic(
        lambda q: joint.kind.function(tree.poses(q, joint), joint.parameters), joint.name
    )
