"""A mechanism as a robot with loops: a spanning tree of its joints, the others as closures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.constraints import Constrained, Distance, Loop
from dalembert.constraints.kinds import Constraint
from dalembert.errors import FormulationError
from dalembert.mechanisms.analysis import Analysis
from dalembert.mechanisms.description import Description
from dalembert.mechanisms.ends import measure
from dalembert.mechanisms.state import State
from dalembert.model import Joint, Link
from dalembert.spatial.rotations import rotation_z
from dalembert.spatial.se3 import inverse, pose
from dalembert.systems.bodies.data import Element
from dalembert.systems.robot import Robot

TREE = ("revolute", "prismatic")
PLANAR_LOOPS = {
    "revolute": ("x", "y"),
    "rigid": ("x", "y", "rz"),
    "prismatic": ("y", "rz"),
    "point_on_line": ("y",),
}
SPATIAL_LOOPS = {
    "spherical": "point",
    "revolute": "revolute",
    "cylindrical": "cylindrical",
    "prismatic": "prismatic",
    "planar": "planar",
    "fixed": "weld",
}


@dataclass(frozen=True, eq=False)
class Converted:
    """A robot of the tree joints, its loops, and which coordinate belongs to which joint."""

    description: Description
    robot: Robot
    loops: tuple[Constraint, ...]
    tree: tuple[str, ...]

    def coordinates(self, state: State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(q, q̇, q̈) of the robot at a state of the mechanism."""
        q, qd, qdd = [], [], []
        n = self.description.space.nv
        for joint in self.tree:
            element = measure(self.description, "coordinate", joint)
            value, J, drift = state.measured(element)
            padded = (np.concatenate([np.zeros(n), x]).reshape(-1, n) for x in (state.v, state.a))
            v, a = (x[list(element.bodies)] for x in padded)
            q.append(value[0])
            qd.append(float((J[0] * v).sum()))
            qdd.append(float((J[0] * a).sum()) + drift[0])
        return np.array(q), np.array(qd), np.array(qdd)

    def system(self) -> Robot | Constrained:
        """The robot, closed where there are loops."""
        if not self.loops:
            return self.robot
        at = State(
            self.description,
            0.0,
            self.description.start(),
            self.description.start_velocity(),
            np.zeros(self.description.nv),
            np.zeros(self.description.rows),
        )
        return Constrained(self.robot, self.loops, guess=self.coordinates(at)[0])


def robot_with_loops(mechanism: Analysis) -> Converted:
    """Revolute and prismatic joints along a spanning tree from the ground; what closes it as loops.

    Drivers, springs and loads stay behind: a robot takes torques.

    >>> from dalembert.zoo.absolute import four_bar
    >>> made = robot_with_loops(four_bar())
    >>> made.tree, [loop.label for loop in made.loops]
    (('A', 'D', 'B'), ['C'])
    """
    d = mechanism.description
    tree, rest = _spanning(d)
    reached = {b for joint in tree for b in joint.bodies} | {0}
    if len(reached) <= len(d.bodies):
        lost = next(name for k, name in enumerate(d.names) if k not in reached)
        raise FormulationError(
            f"{d.name}: body {lost!r} does not hang on the ground by revolute or prismatic joints"
        )
    links = [_link(d, joint, parent) for joint, parent in zip(tree, _parents(tree), strict=True)]
    gravity = d.gravity if d.space.dimension == 3 else np.array([*d.gravity, 0.0])
    robot = Robot.from_links(links, gravity=gravity, name=d.name)
    return Converted(
        d, robot, tuple(_loop(d, joint) for joint in rest), tuple(j.name for j in tree)
    )


def _spanning(d: Description) -> tuple[list[Element], list[Element]]:
    """Joints breadth first from the ground, and those left over."""
    reached, tree, left = {0}, [], list(d.joints)
    near = {0}
    while near:
        found: set[int] = set()
        for joint in list(left):
            new = [b for b in joint.bodies if b not in reached]
            if joint.kind.name in TREE and len(new) == 1 and near & set(joint.bodies):
                reached.add(new[0])
                found.add(new[0])
                tree.append(joint)
                left.remove(joint)
        near = found
    return tree, left


def _parents(tree: list[Element]) -> list[int]:
    reached, parents = {0}, []
    for joint in tree:
        a, b = joint.bodies
        parents.append(a if a in reached else b)
        reached.add(b if a in reached else a)
    return parents


def _link(d: Description, joint: Element, parent: int) -> Link:
    a, b = joint.bodies
    forward = parent == a
    child = b if forward else a
    first, second = (_frame(d, joint, side) for side in ((0, 1) if forward else (1, 0)))
    body = d.bodies[child - 1]
    tensor = body.inertia if d.space.dimension == 3 else body.inertia * np.diag([0.5, 0.5, 1.0])
    # seen from the second body, the same motion has the opposite sense
    axis = (0.0, 0.0, 1.0 if forward else -1.0)
    return Link(
        name=body.name,
        parent=None if parent == 0 else d.names[parent],
        joint=Joint(kind=joint.kind.name, name=joint.name, axis=axis, origin=first),
        mass=body.mass,
        inertia=tensor,
        frame=inverse(second),
    )


def _frame(d: Description, joint: Element, side: int) -> np.ndarray:
    """Pose (4, 4) of the joint in one of its bodies, z along its axis."""
    if d.space.dimension == 3:
        return pose(joint.frames[side], joint.at[side])
    point = np.array([*joint.at[side], 0.0])
    if joint.kind.name == "revolute":
        return pose(None, point)
    angle = joint.parameters[4] - (joint.parameters[5] if side else 0.0)
    x, y, z = np.cos(angle), np.sin(angle), np.array([0.0, 0.0, 1.0])
    along = np.array([x, y, 0.0])
    return pose(np.stack([z, np.cross(along, z), along], axis=1), point)


def _loop(d: Description, joint: Element) -> Constraint:
    a, b = ("base" if k == 0 else d.names[k] for k in joint.bodies[:2])
    kind = joint.kind.name
    if d.space.dimension == 3:
        known: Any = SPATIAL_LOOPS.get(kind)
        poses = [pose(None, s) for s in joint.at[:2]]
        if kind != "distance" and known is not None:
            poses = [pose(R, s) for R, s in zip(joint.frames, joint.at, strict=True)]
    else:
        known = PLANAR_LOOPS.get(kind)
        poses = _planar_poses(joint)
    if kind == "distance":
        length = float(joint.parameters[-1])
        return Distance(a, b, length, poses[0], poses[1], name=joint.name)
    if known is None:
        raise FormulationError(f"{d.name}: joint {joint.name!r} ({kind}) has no form as a loop")
    return Loop(a, b, known, poses[0], poses[1], name=joint.name)


def _planar_poses(joint: Element) -> list[np.ndarray]:
    points = [np.array([*s, 0.0]) for s in joint.at[:2]]
    kind, numbers = joint.kind.name, joint.parameters
    first = numbers[4] if kind in ("prismatic", "point_on_line") else 0.0
    turn = numbers[5] if kind == "prismatic" else numbers[4] if kind == "rigid" else 0.0
    angles = (first, first - turn)
    return [pose(rotation_z(angle), s) for angle, s in zip(angles, points, strict=True)]
