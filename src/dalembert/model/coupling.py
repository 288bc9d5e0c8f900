"""Joints that follow others: the tree's coordinates as a linear map of fewer (URDF's `mimic`).

q_tree = G_q q + g and q̇_tree = G q̇ with constant G: so M = Gᵀ M_tree G, τ = Gᵀ τ_tree,
J = J_tree G, and the bias needs no term of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ModelError
from dalembert.model.frozen import freeze_fields

if TYPE_CHECKING:
    from dalembert.model.model import JointInfo, Model


@dataclass(frozen=True)
class Follow:
    """q_follower = multiplier · q_leader + offset (rad or m)."""

    leader: str
    multiplier: float
    offset: float


@dataclass(frozen=True, eq=False)
class Coupling:
    """The map from a model's coordinates to those of its tree."""

    G_q: np.ndarray  # (nq of the tree, nq)
    offset: np.ndarray  # (nq of the tree,)
    G: np.ndarray  # (nv of the tree, nv)
    joints: tuple[JointInfo, ...]  # of the tree, with their coordinates there
    followers: Mapping[str, Follow]

    def __post_init__(self) -> None:
        freeze_fields(self, "G_q", "offset", "G")

    def expand(self, q: Any) -> Any:
        """The tree's q from the model's."""
        return self.G_q @ q + self.offset

    def own(self, q_tree: Any) -> Any:
        """The model's q out of the tree's: the coordinates that follow nobody."""
        kept = [q_tree[j.q] for j in self.joints if j.name not in self.followers]
        return np.concatenate(kept)


def couple(model: Model, followers: Mapping[str, Follow]) -> Model:
    """The model with some joints of one degree following others.

    The remaining coordinates keep their order. A leader may follow in turn; a circle, an unknown
    name or a joint of several degrees is an error.
    """
    if not followers:
        return model
    joints = {joint.name: joint for joint in model.joints}
    resolved = {name: _resolve(name, followers, joints) for name in followers}
    own = [joint for joint in model.joints if joint.name not in followers]
    kept = _renumber(own)
    G_q = np.zeros((model.nq, sum(_size(j.q) for j in own)))
    G = np.zeros((model.nv, sum(_size(j.v) for j in own)))
    offset = np.zeros(model.nq)
    for before, after in zip(own, kept, strict=True):
        G_q[before.q, after.q] = np.eye(_size(before.q))
        G[before.v, after.v] = np.eye(_size(before.v))
    place = {joint.name: joint for joint in kept}
    for name, follow in resolved.items():
        leader = place[follow.leader]
        G_q[joints[name].q, leader.q] = follow.multiplier
        G[joints[name].v, leader.v] = follow.multiplier
        offset[joints[name].q] = follow.offset
    coupling = Coupling(G_q, offset, G, model.joints, resolved)
    return replace(model, joints=tuple(kept), coupling=coupling)


def _renumber(joints: list[JointInfo]) -> list[JointInfo]:
    """The joints with contiguous coordinates of their own."""
    kept, nq, nv = [], 0, 0
    for joint in joints:
        q, v = slice(nq, nq + _size(joint.q)), slice(nv, nv + _size(joint.v))
        kept.append(replace(joint, q=q, v=v))
        nq, nv = q.stop, v.stop
    return kept


def _resolve(name: str, followers: Mapping[str, Follow], joints: Mapping[str, JointInfo]) -> Follow:
    """A follower in terms of a joint that follows nobody."""
    multiplier, offset, at = 1.0, 0.0, name
    seen = {name}
    while at in followers:
        follow = followers[at]
        if follow.leader in seen:
            raise ModelError(f"joint {name!r} follows itself, through {at!r}")
        multiplier, offset = multiplier * follow.multiplier, offset + multiplier * follow.offset
        at = follow.leader
        seen.add(at)
    for which in (name, at):
        if which not in joints:
            raise ModelError(f"joint {name!r} follows {at!r}, but {which!r} is no moving joint")
        if _size(joints[which].q) != 1:
            raise ModelError(f"joint {name!r} follows {at!r}: {which!r} must have one degree")
    if not np.isfinite([multiplier, offset]).all():
        raise ModelError(f"joint {name!r} follows {at!r} by a factor or offset that is not finite")
    return Follow(at, multiplier, offset)


def _size(part: slice) -> int:
    return int(part.stop - part.start)
