"""Joints that follow others: the tree's coordinates as a linear map of fewer (URDF's `mimic`).

q_tree = G_q q + g and q̇_tree = G q̇ with constant G: so M = Gᵀ M_tree G, τ = Gᵀ τ_tree,
J = J_tree G, and the bias needs no term of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Self

import numpy as np

from dalembert.errors import ModelError
from dalembert.model.frozen import Frozen
from dalembert.model.model import MechanismBase
from dalembert.spatial.arrays import Matrix, Vector

if TYPE_CHECKING:
    from dalembert.model.model import JointInfo, Model


@dataclass(frozen=True)
class Follow:
    """q_follower = multiplier · q_leader + offset (rad or m)."""

    leader: str
    multiplier: float
    offset: float


@dataclass(frozen=True, eq=False)
class CoupledModel(Frozen, MechanismBase):
    """A tree some of whose joints follow others; its coordinates are those of the others."""

    tree: Model
    joints: tuple[JointInfo, ...]  # those that follow no other, renumbered
    followers: Mapping[str, Follow]
    G_q: np.ndarray  # (nq of the tree, nq)
    offset: np.ndarray  # (nq of the tree,)
    G: np.ndarray  # (nv of the tree, nv): one leader in each row

    # the coordinates

    def expand(self, q: Vector) -> Vector:
        """The tree's q (nq of the tree,) from the model's."""
        q_tree: Vector = self.G_q @ q + self.offset
        return q_tree

    @cached_property
    def own(self) -> tuple[list[int], list[int]]:
        """Which entries of the tree's q, and of its q̇, are the model's own."""
        own = [joint for joint in self.tree.joints if joint.name not in self.followers]
        return (
            [k for joint in own for k in range(joint.q.start, joint.q.stop)],
            [k for joint in own for k in range(joint.v.start, joint.v.stop)],
        )

    def neutral(self) -> np.ndarray:
        """The reference configuration q (nq,)."""
        return self.tree.neutral()[self.own[0]]

    def integrate(self, q: Vector, step: Vector) -> Vector:
        """q moved by the velocity `step` (nv,) for unit time, each joint on its own manifold."""
        return self.tree.integrate(self.expand(q), self.G @ step)[self.own[0]]

    def rate(self, q: Vector, qd: Vector) -> Vector:
        """dq/dt (nq,) for the velocity qd (nv,)."""
        return self.tree.rate(self.expand(q), self.G @ qd)[self.own[0]]

    def difference(self, q: Vector, to: Vector) -> Vector:
        """The step (nv,) with integrate(q, step) = to."""
        return self.tree.difference(self.expand(q), self.expand(to))[self.own[1]]

    def pull_back(self, step: Vector, velocity: Vector) -> Vector:
        """The rate (nv,) of Ω = `step` at which integrate(q, Ω) moves with `velocity`."""
        return self.tree.pull_back(self.G @ step, self.G @ velocity)[self.own[1]]

    def normalised(self, q: Vector) -> Vector:
        """q (..., nq) with quaternions of unit length."""
        whole = self.tree.normalised((self.G_q @ q.T).T)
        return whole.T[self.own[0]].T

    # limits: those of a follower limit its leader too

    @property
    def lower(self) -> np.ndarray:
        """Lower limits (nv,), those of joints that follow included."""
        return self._position_limits[0]

    @property
    def upper(self) -> np.ndarray:
        """Upper limits (nv,), those of joints that follow included."""
        return self._position_limits[1]

    @property
    def velocity_limit(self) -> np.ndarray:
        """Largest speeds (nv,), so that joints that follow keep to theirs too."""
        limits = super().velocity_limit
        for joint in self.tree.joints:
            ratio = np.abs(self.G[joint.v.start])
            k = int(np.argmax(ratio))
            if joint.name in self.followers and ratio[k] > 0.0 and joint.velocity_limit > 0.0:
                limits[k] = min(limits[k], joint.velocity_limit / ratio[k])
        return limits

    @cached_property
    def _position_limits(self) -> tuple[np.ndarray, np.ndarray]:
        lower, upper = super().lower, super().upper
        for joint in self.tree.joints:
            k = int(np.argmax(np.abs(self.G[joint.v.start])))
            ratio = self.G[joint.v.start, k]
            if joint.name not in self.followers or ratio == 0.0:
                continue
            ends = (np.array([joint.lower[0], joint.upper[0]]) - self.offset[joint.q.start]) / ratio
            low, high = max(lower[k], ends.min()), min(upper[k], ends.max())
            if low < high:  # limits that leave no range are ignored
                lower[k], upper[k] = low, high
        return lower, upper

    # friction: every joint of the tree has one leader, so it is again a pair for each coordinate

    @property
    def coulomb(self) -> Matrix:
        """(2, nv) torque of Coulomb friction at positive and at negative velocity, followers' too."""
        positive, negative = self.tree.coulomb
        along, against = np.maximum(self.G, 0.0).T, np.minimum(self.G, 0.0).T
        return np.stack(
            [along @ positive + against @ negative, along @ negative + against @ positive]
        )

    def with_tree(self, tree: Model) -> Self:
        """The same followers in another tree of the same joints."""
        return replace(self, tree=tree)

    @cached_property
    def content(self) -> str:
        """A digest of everything that shapes the numbers: equal models have equal digests."""
        text = f"{self.tree.content} {self.joints!r} {dict(self.followers)!r}"
        return hashlib.sha256(text.encode()).hexdigest()


# the rest is that of the tree
for _name in (
    *("name", "bodies", "frames", "tool", "drive", "driven_by", "gravity", "elements", "fixed"),
    *("parameters", "notes"),
):
    setattr(CoupledModel, _name, property(attrgetter(f"tree.{_name}")))


def couple(model: Model, followers: Mapping[str, Follow]) -> Model | CoupledModel:
    """The model with some joints of one degree following others.

    The remaining coordinates keep their order. A leader may follow in turn; a circle, an unknown
    name or a joint of several degrees is an error.
    """
    return coupled_model(model, followers) if followers else model


def coupled_model(model: Model, followers: Mapping[str, Follow]) -> CoupledModel:
    """The same for any number of followers, also none: then G is the identity."""
    joints = {joint.name: joint for joint in model.joints}
    resolved = {name: resolve_leader(name, followers) for name in followers}
    for name, follow in resolved.items():
        pair = f"joint {name!r} follows {follow.leader!r}"
        for end in (name, follow.leader):
            if end not in joints:
                raise ModelError(f"{pair}, but {end!r} is no moving joint")
            if _size(joints[end].q) != 1:
                raise ModelError(f"{pair}: {end!r} must have one degree")
        if not np.isfinite([follow.multiplier, follow.offset]).all():
            raise ModelError(f"{pair} by a factor or offset that is not finite")
    own = [joint for joint in model.joints if joint.name not in followers]
    renumbered, nq, nv = [], 0, 0  # with contiguous coordinates
    for joint in own:
        q, v = slice(nq, nq + _size(joint.q)), slice(nv, nv + _size(joint.v))
        renumbered.append(replace(joint, q=q, v=v))
        nq, nv = q.stop, v.stop
    G_q = np.zeros((model.nq, sum(_size(j.q) for j in own)))
    G = np.zeros((model.nv, sum(_size(j.v) for j in own)))
    offset = np.zeros(model.nq)
    for before, after in zip(own, renumbered, strict=True):
        G_q[before.q, after.q] = np.eye(_size(before.q))
        G[before.v, after.v] = np.eye(_size(before.v))
    leaders = {joint.name: joint for joint in renumbered}
    for name, follow in resolved.items():
        leader = leaders[follow.leader]
        G_q[joints[name].q, leader.q] = follow.multiplier
        G[joints[name].v, leader.v] = follow.multiplier
        offset[joints[name].q] = follow.offset
    return CoupledModel(model, tuple(renumbered), resolved, G_q, offset, G)


def resolve_leader(name: str, followers: Mapping[str, Follow]) -> Follow:
    """A follower in terms of a joint that follows nobody; following in a circle is an error."""
    leader, multiplier, offset, visited = name, 1.0, 0.0, {name}
    while leader in followers:
        follow = followers[leader]
        if follow.leader in visited:
            raise ModelError(f"joint {name!r} follows itself, through {leader!r}")
        multiplier, offset = multiplier * follow.multiplier, offset + multiplier * follow.offset
        leader = follow.leader
        visited.add(leader)
    return Follow(leader, multiplier, offset)


def _size(part: slice) -> int:
    return int(part.stop - part.start)
