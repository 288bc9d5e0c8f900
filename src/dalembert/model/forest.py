"""A mechanism as the independent trees it is made of: nothing but the base connects them.

Each tree is a model of its own, with coordinates in the order they have in the whole. Bodies, joints
and frames are numbered instead of named, so that equal trees are equal models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from dalembert.model.actuators import Actuation
from dalembert.model.body import Body
from dalembert.model.elements import Elements
from dalembert.model.model import Drive, Frame, JointInfo, Model
from dalembert.model.notes import Notes


@dataclass(frozen=True)
class Tree:
    """One tree, and where its coordinates and velocities stand in those of the whole."""

    model: Model
    q: np.ndarray  # (nq of the tree,)
    v: np.ndarray  # (nv of the tree,)


def trees(model: Model) -> list[Tree]:
    """The independent trees, in the order of their first bodies; the model itself if it is one."""
    groups = _groups(model)
    if len(groups) < 2:
        return [Tree(model, np.arange(model.nq), np.arange(model.nv))]
    return [_tree(model, group) for group in groups]


def _groups(model: Model) -> list[list[int]]:
    """Bodies that are connected by joints or by elements."""
    root: list[int] = []
    for i, body in enumerate(model.bodies):
        root.append(i if body.parent < 0 else root[body.parent])
    for element in _elements(model.elements):
        met = sorted({root[k] for k in _bodies_of(element) if k >= 0})
        root = [met[0] if r in met else r for r in root]
    groups: dict[int, list[int]] = {}
    for i, r in enumerate(root):
        groups.setdefault(r, []).append(i)
    return list(groups.values())


def _elements(elements: Elements) -> Iterator[Any]:
    for each in fields(elements):
        yield from getattr(elements, each.name)


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


def _renumbered(value: Any, number: dict[int, int]) -> Any:
    """The same element with other numbers of bodies."""
    if is_dataclass(value) and not isinstance(value, type):
        made = {each.name: _renumbered(getattr(value, each.name), number) for each in fields(value)}
        return replace(value, **made)
    if isinstance(value, tuple):
        return tuple(_renumbered(x, number) for x in value)
    return number[value] if isinstance(value, int) else value


def _tree(model: Model, group: Sequence[int]) -> Tree:
    number = {-1: -1} | {old: new for new, old in enumerate(group)}
    bodies, q, v = [], [np.zeros(0, dtype=int)], [np.zeros(0, dtype=int)]
    nq = nv = 0
    for k in group:
        body = model.bodies[k]
        bodies.append(_moved(body, number[k], number[body.parent], nq, nv))
        q.append(np.arange(body.q.start, body.q.stop))
        v.append(np.arange(body.v.start, body.v.stop))
        nq, nv = bodies[-1].q.stop, bodies[-1].v.stop
    places = np.concatenate(v)
    drive = {each.name: getattr(model.drive, each.name)[places] for each in fields(model.drive)}
    made = Model(
        name="tree",
        bodies=tuple(bodies),
        joints=tuple(_joint(joint, number, bodies) for joint in _joints(model, group)),
        frames={"tool": Frame(-1, np.eye(3), np.zeros(3))},
        tool="tool",
        drive=Drive(**drive),
        gravity=model.gravity,
        elements=_own(model.elements, number),
        driven_by=Actuation(),
        notes=Notes(),
    )
    return Tree(made, np.concatenate(q), places)


def _moved(body: Body, own: int, parent: int, nq: int, nv: int) -> Body:
    """The body with its number in a tree whose coordinates before it are nq and nv."""
    q = slice(nq, nq + body.q.stop - body.q.start)
    v = slice(nv, nv + body.v.stop - body.v.start)
    return replace(body, name=f"body{own}", parent=parent, q=q, v=v)


def _joints(model: Model, group: Sequence[int]) -> list[JointInfo]:
    inside = set(group)
    return [joint for joint in model.joints if joint.bodies.start in inside]


def _joint(joint: JointInfo, number: dict[int, int], bodies: Sequence[Body]) -> JointInfo:
    first, last = number[joint.bodies[0]], number[joint.bodies[-1]]
    return replace(
        joint,
        name=f"joint{first}",
        link=f"body{last}",
        bodies=range(first, last + 1),
        q=slice(bodies[first].q.start, bodies[last].q.stop),
        v=slice(bodies[first].v.start, bodies[last].v.stop),
    )


def _own(elements: Elements, number: dict[int, int]) -> Elements:
    """The elements of these bodies."""
    made = {}
    for each in fields(elements):
        own = [x for x in getattr(elements, each.name) if set(_bodies_of(x)) & set(number) - {-1}]
        moved = [_renumbered(x, number) for x in own]
        made[each.name] = tuple(
            replace(x, name=f"{each.name}{i}") if hasattr(x, "name") else x
            for i, x in enumerate(moved)
        )
    return replace(elements, **made)
