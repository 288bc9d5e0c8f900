"""Joints of a spanning tree as joints of a robot: frames, and coordinates from absolute ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.mechanisms.description import Description
from dalembert.mechanisms.ends import joint_part
from dalembert.mechanisms.state import State
from dalembert.model import Joint
from dalembert.model.joint import JOINT_KINDS
from dalembert.spatial.quaternions import quaternion_from_matrix
from dalembert.spatial.se3 import pose
from dalembert.systems.bodies.data import Element

TURNABLE = ("revolute", "prismatic", "cylindrical", "screw")  # the same seen from b, about −z
SECOND = np.eye(3)[:, [2, 0, 1]]  # its x along z: the second axis of a universal joint

Coordinates = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Branch:
    """A joint of the tree from the body nearer to the ground, its parent, to the child.

    Joints of one sense are as they were built; others are turned round, so that the parent is first.
    """

    element: Element
    parent: int
    child: int
    joint: Joint
    moved: np.ndarray  # pose (4, 4) of the joint's moved frame in the child

    @property
    def kind(self) -> str:
        """The kind of the joint in the mechanism."""
        return self.element.kind.name

    @property
    def forward(self) -> bool:
        """Whether the parent is the first body of the joint."""
        return self.element.bodies[0] == self.parent

    def coordinates(self, state: State) -> Coordinates:
        """(q, q̇, q̈) of this joint at a state of the mechanism."""
        if self.kind == "spherical":
            return _ball(state, self)
        measured = JOINT_KINDS[self.joint.kind].coordinates
        found = [_scalar(state, self.part(state.description, x)) for x in measured]
        q, qd, qdd = np.array(found).reshape(-1, 3).T
        return q, qd, qdd

    def part(self, d: Description, part: str) -> Element:
        """What one of its coordinates measures."""
        return joint_part(d, f"{self.element.name}.{part}", self.element, part)


def branch(d: Description, joint: Element, parent: int) -> Branch:
    """A joint of the mechanism as one of a robot."""
    plane, kind = d.space.dimension == 2, joint.kind.name
    forward = joint.bodies[0] == parent
    element = joint if forward or plane or kind in TURNABLE else _turned_round(joint)
    sides = (0, 1) if element.bodies[0] == parent else (1, 0)
    first, second = (joint_frame(d, element, side) for side in sides)
    more: dict[str, Any] = {}
    if kind == "universal":
        second = second @ pose(SECOND, np.zeros(3))
        more = {"axis2": (1.0, 0.0, 0.0)}
    elif kind == "screw":
        more = {"pitch": float(joint.parameters[24])}
    # seen from the second body, the same motion has the opposite sense
    axis = (0.0, 0.0, 1.0 if sides == (0, 1) else -1.0)
    made = Joint(kind=kind, name=joint.name, axis=axis, origin=first, **more)
    return Branch(element, parent, element.bodies[sides[1]], made, second)


def _turned_round(joint: Element) -> Element:
    """The same spatial joint with its second body first."""
    p = joint.parameters
    numbers = np.concatenate([p[12:24], p[:12], p[24:]])
    return Element(
        joint.name, joint.kind, joint.bodies[::-1], numbers, joint.at[::-1], joint.frames[::-1]
    )


def joint_frame(d: Description, joint: Element, side: int) -> np.ndarray:
    """Pose (4, 4) of the joint in one of its bodies, z along its axis."""
    if d.space.dimension == 3:
        return pose(joint.frames[side], joint.at[side])
    point, p = np.array([*joint.at[side], 0.0]), joint.parameters
    if joint.kind.name == "revolute":
        return pose(None, point)
    z = np.array([0.0, 0.0, 1.0])
    if joint.kind.name == "rigid":
        angle = -p[4] if side else 0.0
        x = np.array([np.cos(angle), np.sin(angle), 0.0])
        return pose(np.stack([x, np.cross(z, x), z], axis=1), point)
    angle = p[4] - (p[5] if side else 0.0)
    along = np.array([np.cos(angle), np.sin(angle), 0.0])
    return pose(np.stack([z, np.cross(along, z), along], axis=1), point)


def _scalar(state: State, element: Element) -> tuple[float, float, float]:
    """(s, ṡ, s̈) of one measured quantity."""
    value, J, drift = state.measured(element)
    n = state.description.space.nv
    padded = (np.concatenate([np.zeros(n), x]).reshape(-1, n) for x in (state.v, state.a))
    v, a = (x[list(element.bodies)] for x in padded)
    return value[0], float((J[0] * v).sum()), float((J[0] * a).sum()) + drift[0]


def _ball(state: State, b: Branch) -> Coordinates:
    """Quaternion of the child in the parent's joint frame, ω and ω̇ in the child's."""
    names = [state.description.names[k] for k in (b.parent, b.child)]
    R_p, R_c = (state.rotation(name) for name in names)
    F_p, F_c = np.asarray(b.joint.origin)[:3, :3], b.moved[:3, :3]
    (w_p, a_p), (w_c, a_c) = (_turning(state, k) for k in (b.parent, b.child))
    carried = R_c.T @ R_p
    own = carried @ w_p
    omega = F_c.T @ (w_c - own)
    rate = F_c.T @ (a_c - carried @ a_p + np.cross(w_c, own))
    return quaternion_from_matrix(F_p.T @ R_p.T @ R_c @ F_c), omega, rate


def _turning(state: State, body: int) -> tuple[np.ndarray, np.ndarray]:
    """ω and ω̇ (3,) of a body in its own axes."""
    if body == 0:
        return np.zeros(3), np.zeros(3)
    own = slice(6 * body - 3, 6 * body)
    return state.v[own], state.a[own]


@dataclass(frozen=True, eq=False)
class Loose:
    """A body that no joint of the tree holds: free in space, or in the plane."""

    child: int
    plane: bool
    name: str
    parent: int = 0

    @property
    def joint(self) -> Joint:
        """A joint of the robot with all freedoms."""
        return Joint(kind="planar" if self.plane else "free", name=self.name)

    @property
    def moved(self) -> np.ndarray:
        """The body's own frame."""
        return np.eye(4)

    def coordinates(self, state: State) -> Coordinates:
        """(q, q̇, q̈): those of the body; in space velocities are the twist in its own axes."""
        space, k = state.description.space, self.child
        q = state.q[(k - 1) * space.nq : k * space.nq]
        v, a = (x[(k - 1) * space.nv : k * space.nv] for x in (state.v, state.a))
        if self.plane:
            return q, v, a
        R = space.rotation(q)
        linear, omega = R.T @ v[:3], v[3:]
        rate = R.T @ a[:3] - np.cross(omega, linear)
        return q, np.concatenate([linear, omega]), np.concatenate([rate, a[3:]])


Tree = list[Branch | Loose]
