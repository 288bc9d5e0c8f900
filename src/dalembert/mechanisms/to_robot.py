"""A mechanism as a robot with loops: a spanning tree of its joints, the others as closures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints import Constrained, Distance, Holonomic, Loop
from dalembert.constraints.kinds import Constraint
from dalembert.errors import FormulationError
from dalembert.mechanisms.branches import Branch, Loose, Tree, branch
from dalembert.mechanisms.description import Description
from dalembert.mechanisms.sprung import Sprung, TreePlaces, sprung
from dalembert.mechanisms.state import State
from dalembert.model import Link
from dalembert.model.joint import PLANAR_KINDS, SPATIAL_KINDS
from dalembert.spatial.rotations import rotation_z
from dalembert.spatial.se3 import inverse, pose
from dalembert.systems.bodies.data import Element
from dalembert.systems.robot import Robot

if TYPE_CHECKING:
    from dalembert.mechanisms.analysis import Analysis

# held in the plane, in frames whose x is along what slides
PLANAR_LOOPS = {
    "revolute": ("x", "y"),
    "rigid": ("x", "y", "rz"),
    "prismatic": ("y", "rz"),
    "point_on_line": ("y",),
}
SPATIAL_LOOPS = {name: kind.loop for name, kind in SPATIAL_KINDS.items()}


@dataclass(frozen=True, eq=False)
class Converted:
    """A robot of the tree joints, its loops, and which coordinates belong to which joint."""

    description: Description
    robot: Robot
    loops: tuple[Constraint, ...]
    branches: tuple[Branch | Loose, ...]

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
        """(q, q̇) of the robot where the mechanism stands, as given."""
        d = self.description
        still = np.zeros(d.nv), np.zeros(d.rows)
        q, qd, _ = self.coordinates(State(d, 0.0, d.start(), d.start_velocity(), *still))
        return q, qd

    @cached_property
    def sprung(self) -> Sprung:
        """The robot under the springs, dampers and loads of the mechanism."""
        return sprung(self.robot, TreePlaces(self.description, self.robot, self.branches))

    def actuation(self, q: Any) -> np.ndarray:
        """(nv, actuators): torques of the robot for one unit of each open actuator, by `actuators`."""
        return self.sprung.dynamics.actuation(np.asarray(q, dtype=float))

    def system(self) -> Any:
        """The robot with the mechanism's springs and loads, closed where there are loops."""
        d = self.description
        base = self.sprung if d.loads or any(not force.open for force in d.forces) else self.robot
        return Constrained(base, self.loops, guess=self.start()[0]) if self.loops else base


def robot_with_loops(mechanism: Analysis) -> Converted:
    """All lower pairs along a spanning tree from the ground; what closes it as loops.

    Springs, dampers, loads and forces given in time go along into `system()`. Drivers and open
    actuators stay behind: a robot takes torques. A body that no joint reaches is free.

    >>> from dalembert.zoo.absolute import four_bar
    >>> made = robot_with_loops(four_bar())
    >>> made.tree, [loop.label for loop in made.loops]
    (('A', 'D', 'B'), ['C'])
    """
    d = mechanism.description
    tree, rest = _spanning(d)
    links = [_link(d, each) for each in tree]
    gravity = d.gravity if d.space.dimension == 3 else np.array([*d.gravity, 0.0])
    robot = Robot.from_links(links, gravity=gravity, name=d.name)
    places = TreePlaces(d, robot, tuple(tree))
    loops = tuple(_loop(d, joint, places) for joint in rest)
    return Converted(d, robot, loops, tuple(tree))


def _spanning(d: Description) -> tuple[Tree, list[Element]]:
    """Joints breadth first from the ground, free bodies where none leads on, and joints left over."""
    known = PLANAR_KINDS if d.space.dimension == 2 else SPATIAL_KINDS
    tree: Tree = []
    left, reached, near = list(d.joints), {0}, {0}
    while len(reached) <= len(d.bodies):
        found: set[int] = set()
        for joint in list(left):
            new = [b for b in joint.bodies if b not in reached]
            if joint.kind.name in known and len(new) == 1 and near & set(joint.bodies):
                (parent,) = (b for b in joint.bodies if b != new[0])
                tree.append(branch(d, joint, parent))
                reached.add(new[0])
                found.add(new[0])
                left.remove(joint)
        if not found:
            loose = next(k for k in range(len(d.names)) if k not in reached)
            tree.append(Loose(loose, d.space.dimension == 2, f"{d.names[loose]} free"))
            reached.add(loose)
            found = reached.copy()
        near = found
    return tree, left


def _link(d: Description, each: Branch | Loose) -> Link:
    body = d.bodies[each.child - 1]
    tensor = body.inertia if d.space.dimension == 3 else body.inertia * np.diag([0.5, 0.5, 1.0])
    return Link(
        name=body.name,
        parent=None if each.parent == 0 else d.names[each.parent],
        joint=each.joint,
        mass=body.mass,
        inertia=tensor,
        frame=inverse(each.moved),
    )


def _loop(d: Description, joint: Element, places: TreePlaces) -> Constraint:
    """A joint outside the tree: between frames where the robot's loops have its form."""
    a, b = ("base" if k == 0 else d.names[k] for k in joint.bodies[:2])
    kind, plane = joint.kind.name, d.space.dimension == 2
    if kind == "distance":
        lift = [np.array([*s, 0.0]) if plane else s for s in joint.at[:2]]
        first, second = (pose(None, s) for s in lift)
        return Distance(a, b, float(joint.parameters[-1]), first, second, joint.name)
    known: Any = (PLANAR_LOOPS if plane else SPATIAL_LOOPS).get(kind)
    if known is not None:
        first, second = _planar_poses(joint) if plane else map(pose, joint.frames, joint.at)
        return Loop(a, b, known, first, second, name=joint.name)
    if joint.kind.custom and not plane:
        raise FormulationError(
            f"{d.name}: joint {joint.name!r} is a function of quaternions, which a robot does not "
            "have; write it as a constraint on the robot's frames"
        )
    return Holonomic(lambda q: joint.kind.function(places(q, joint), joint.parameters), joint.name)


def _planar_poses(joint: Element) -> list[np.ndarray]:
    points = [np.array([*s, 0.0]) for s in joint.at[:2]]
    kind, numbers = joint.kind.name, joint.parameters
    first = numbers[4] if kind in ("prismatic", "point_on_line") else 0.0
    turn = numbers[5] if kind == "prismatic" else numbers[4] if kind == "rigid" else 0.0
    angles = (first, first - turn)
    return [pose(rotation_z(angle), s) for angle, s in zip(angles, points, strict=True)]
