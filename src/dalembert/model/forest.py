"""A mechanism as the independent trees it is made of: nothing but the base connects them.

Each tree is a model of its own, with coordinates in the order they have in the whole. Bodies, joints
and frames are numbered instead of named, so that equal trees are equal models. Trees of a model with
followers are models with followers too, also those that have none: they share its catalogue.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from dalembert.model.actuators import Actuation
from dalembert.model.body import Fixed
from dalembert.model.build import Place
from dalembert.model.coupling import CoupledModel, coupled
from dalembert.model.model import Frame, Model
from dalembert.model.moved import Moved, joined
from dalembert.model.notes import Notes
from dalembert.spatial.placement import IDENTITY


@dataclass(frozen=True)
class Tree:
    """One tree, and where its coordinates and velocities stand in those of the whole."""

    model: Model | CoupledModel
    q: np.ndarray  # (nq of the tree,)
    v: np.ndarray  # (nv of the tree,)


def trees(model: Model | CoupledModel) -> list[Tree]:
    """The independent trees, in the order of their first bodies; the model itself if it is one."""
    groups = _groups(model)
    if len(groups) < 2:
        return [Tree(model, np.arange(model.nq), np.arange(model.nv))]
    found = [_tree(model.tree, group) for group in groups]
    return [_coupled(model, x) for x in found] if isinstance(model, CoupledModel) else found


def _groups(model: Model | CoupledModel) -> list[list[int]]:
    """Bodies that are connected by joints, by elements, or as a follower and its leader."""
    root: list[int] = []
    for i, body in enumerate(model.bodies):
        root.append(i if body.parent < 0 else root[body.parent])
    first = {joint.name: joint.bodies[0] for joint in model.tree.joints}
    together = [(first[name], first[follow.leader]) for name, follow in model.followers.items()]
    every = [x for f in fields(model.elements) for x in getattr(model.elements, f.name)]
    for bodies in (*map(_bodies_of, every), *together):
        met = sorted({root[k] for k in bodies if k >= 0})
        root = [met[0] if r in met else r for r in root]
    groups: dict[int, list[int]] = {}
    for i, r in enumerate(root):
        groups.setdefault(r, []).append(i)
    return list(groups.values())


def _bodies_of(value: Any) -> Iterator[int]:
    """Every whole number of an element: a body it belongs to."""
    if is_dataclass(value):
        for each in fields(value):
            yield from _bodies_of(getattr(value, each.name))
    elif isinstance(value, tuple):
        for x in value:
            yield from _bodies_of(x)
    elif isinstance(value, int):
        yield value


def _tree(model: Model, group: Sequence[int]) -> Tree:
    number = {old: new for new, old in enumerate(group)}
    places = {-1: Place(-1, IDENTITY), **{i: Place(number[i], IDENTITY) for i in group}}
    frames = {"tool": Frame(-1, np.eye(3), np.zeros(3))}
    # what is seen from one tree alone
    plain = replace(
        model, frames=frames, tool="tool", fixed=Fixed(), driven_by=Actuation(), notes=Notes()
    )
    own = joined(plain, [Moved(plain, places, number)])
    joints = [
        replace(j, name=f"joint{j.bodies[0]}", link=f"body{j.bodies[-1]}") for j in own.joints
    ]
    tendons = [replace(tendon, name=f"tendons{i}") for i, tendon in enumerate(own.tendons)]
    made = replace(
        own,
        name="tree",
        bodies=tuple(replace(body, name=f"body{i}") for i, body in enumerate(own.bodies)),
        joints=tuple(joints),
        frames=frames,
        elements=replace(own.elements, tendons=tuple(tendons)),
        parameters={},
        notes=Notes(),
    )
    q, v = (
        np.concatenate([np.arange(x.start, x.stop) for x in spans])
        for spans in zip(*((model.bodies[k].q, model.bodies[k].v) for k in group), strict=True)
    )
    return Tree(made, q, v)


def _coupled(model: CoupledModel, found: Tree) -> Tree:
    """A tree with the followers it has in the model, and the coordinates that are left."""
    # joints of the tree in the order of those of the whole that have the same velocities
    starts = {joint.v.start: joint.name for joint in model.tree.joints}
    names = {starts[found.v[joint.v.start]]: joint.name for joint in found.model.joints}
    followers = {
        names[name]: replace(follow, leader=names[follow.leader])
        for name, follow in model.followers.items()
        if name in names
    }
    made = coupled(found.model.tree, followers)
    places = zip(model.own, (found.q, found.v), made.own, strict=True)
    q, v = (np.searchsorted(kept, whole[own]) for kept, whole, own in places)
    return Tree(made, q, v)
