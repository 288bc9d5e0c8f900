"""A mechanism changed: loads, tools, locked joints, other bases, parts of it, several as one.

Each function takes a model and gives a new one, as if it had been built so; numbers may be
parameters. Joints that follow others keep following.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import InertiaError, ModelError, UnknownNameError
from dalembert.model import check
from dalembert.model.build import BASE, TOOL, Place, moments_of
from dalembert.model.coupling import CoupledModel, couple
from dalembert.model.model import Frame, JointInfo, Model, with_parameters
from dalembert.spatial.consistency import check_inertia
from dalembert.spatial.placement import IDENTITY, Placement
from dalembert.text import plain_name, short, suggest
from dalembert.tracing import is_symbolic

Mechanism = Model | CoupledModel


def with_payload(
    model: Mechanism, mass: Any, com: Any, inertia: Any, frame: str | None
) -> Mechanism:
    """The mechanism with a rigid body fixed to a frame: `com` (3,) and `inertia` (3, 3) there."""

    from dalembert.model.moved import carrying

    tree = model.tree
    name = tree.tool if frame is None else frame
    place = tree.frame(name)
    where = f"payload at {name!r}"
    if place.body < 0:
        raise ModelError(f"{where}: this frame does not move, so that a load changes nothing")
    given = (
        check.numbers(mass, (), f"mass of the {where}", InertiaError),
        check.numbers(com, (3,), f"com of the {where}", InertiaError),
        check.numbers(inertia, (3, 3), f"inertia of the {where}", InertiaError),
    )
    if not any(is_symbolic(x) for x in given):
        check_inertia(*given, name=where)
    bodies = list(tree.bodies)
    added = moments_of(place.placement, *given)
    bodies[place.body] = carrying(bodies[place.body], *added)
    return _again(model, replace(tree, bodies=tuple(bodies)))


def with_tool(model: Mechanism, pose: Any, frame: str | None) -> Mechanism:
    """The mechanism whose tool is at the pose (4, 4) in `frame`, by default in its present tool."""

    tree = model.tree
    at = tree.frame(tree.tool if frame is None else frame)
    moved = Place(at.body, at.placement).then(check.placement(pose, "tool"))
    frames = {**tree.frames, tree.tool: Frame(moved.body, *moved.frame)}
    notes = replace(tree.notes, tool="placed by with_tool")
    return _again(model, replace(tree, frames=frames, notes=notes))


def with_base(model: Mechanism, pose: Any) -> Mechanism:
    """The mechanism whose base frame is at the pose (4, 4) in the world."""

    from dalembert.model.moved import Moved, joined

    tree = model.tree
    old = tree.frames.get(BASE)
    back = IDENTITY if old is None or old.body >= 0 else _inverse(old.placement)
    here = {i: Place(i, IDENTITY) for i in range(len(tree.bodies))}
    here[-1] = Place(-1, check.placement(pose, "base").then(back))
    return _again(model, joined(tree, [Moved(tree, here, {i: i for i in here if i >= 0})]))


def with_gravity(model: Mechanism, gravity: Any) -> Mechanism:
    """The mechanism in another field (3,), m/s²."""
    return _again(model, replace(model.tree, gravity=check.numbers(gravity, (3,), "gravity")))


def with_joint_locked(model: Mechanism, name: str, value: Any) -> Mechanism:
    """The mechanism with one joint held at `value`, and those that follow it where it holds them."""

    from dalembert.model.moved import Moved, joined

    tree, followers = model.tree, dict(model.followers)
    if name in followers:
        leader = followers[name].leader
        raise ModelError(f"joint {name!r} follows {leader!r}; lock {leader!r} instead")
    joint = _joint(tree, name)
    value = _value(joint, value)
    at = {name: value}
    for other, follow in model.followers.items():
        if follow.leader == name:
            at[other] = follow.multiplier * value + follow.offset
            del followers[other]
    locked = {i: key for key in at for i in _joint(tree, key).bodies}
    if len(locked) == len(tree.bodies):
        raise ModelError(f"{model.name}: joint {name!r} is the last that moves; keep one")
    places = {-1: Place(-1, IDENTITY)}
    moving: dict[int, int] = {}
    for i, body in enumerate(tree.bodies):
        if i not in locked:
            moving[i] = len(moving)
            places[i] = Place(moving[i], IDENTITY)
            continue
        held = _joint(tree, locked[i])
        own = at[locked[i]][body.q.start - held.q.start : body.q.stop - held.q.start]
        fixed = Placement(body.rotation, body.translation).then(
            body.chart.transform(own + body.offset)
        )
        places[i] = places[body.parent].then(fixed)
    return couple(joined(tree, [Moved(tree, places, moving)], locked=tuple(at)), followers)


def subtree(model: Mechanism, link: str) -> Mechanism:
    """What moves against a link, which becomes the base; its frame is that of the world."""

    from dalembert.model.moved import Moved, joined

    tree = model.tree
    root = tree.frame(link)
    places = {root.body: Place(-1, _inverse(root.placement))}
    moving: dict[int, int] = {}
    for i, body in enumerate(tree.bodies):
        if i > root.body and body.parent in places:
            moving[i] = len(moving)
            places[i] = Place(moving[i], IDENTITY)
    if not moving:
        raise ModelError(f"{model.name}: nothing moves against {link!r}")
    names = {tree.joint_of(i).name for i in moving}
    followers = {k: f for k, f in model.followers.items() if k in names}
    for name, follow in followers.items():
        if follow.leader not in names:
            raise ModelError(
                f"{model.name}: joint {name!r} follows {follow.leader!r}, which {link!r} does not "
                f"carry; lock it first, with_joint_locked({follow.leader!r}, …)"
            )
    part = Moved(tree, places, moving)
    return couple(joined(tree, [part], followers=followers), followers)


def merge(model: Mechanism, other: Mechanism, at: str | None, prefix: str) -> Mechanism:
    """Both as one: the base of the other is at a frame of the first, in whose field they are."""

    from dalembert.model.moved import Moved, joined

    tree, guest = model.tree, other.tree
    place = tree.frame(tree.tool if at is None else at)
    count = len(tree.bodies)
    plain_name(prefix, "merge: prefix")

    def rename(name: str) -> str:
        own = f"{other.name}_" if name in (BASE, TOOL) and not prefix else prefix
        return f"{own}{name}"

    stays = {i: Place(i, IDENTITY) for i in range(-1, count)}
    moves = {-1: Place(place.body, place.placement)}
    moves |= {i: Place(count + i, IDENTITY) for i in range(len(guest.bodies))}
    own = Moved(tree, stays, {i: i for i in range(count)})
    new = Moved(guest, moves, {i: count + i for i in range(len(guest.bodies))}, rename)
    followers = dict(model.followers) | {
        rename(k): replace(f, leader=rename(f.leader)) for k, f in other.followers.items()
    }
    return couple(joined(tree, [own, new]), followers)


def with_limits(
    model: Mechanism,
    position: Mapping[str, Any] | None,
    velocity: Mapping[str, Any] | None,
    effort: Mapping[str, Any] | None,
) -> Mechanism:
    """The mechanism with other limits of the joints named."""
    tree = model.tree
    given = {"position": position, "velocity": velocity, "effort": effort}
    changed = {joint.name: joint for joint in tree.joints}
    for what, values in given.items():
        for name, value in check.mapping(values or {}, f"{what} limits").items():
            changed[name] = _limited(_joint(tree, name), changed[name], what, value)
    return _again(model, replace(tree, joints=tuple(changed.values())))


def _limited(joint: JointInfo, so_far: JointInfo, what: str, value: Any) -> JointInfo:
    if what == "position":
        lower, upper = check.limits(value, joint.name)
        if len(joint.lower) > joint.v.stop - joint.v.start and np.isfinite([lower, upper]).any():
            raise ModelError(
                f"joint {joint.name!r} turns freely, its position is a quaternion and has no lower and "
                "upper limit; velocity and effort can be limited"
            )
        return replace(so_far, lower=(lower,) * len(joint.lower), upper=(upper,) * len(joint.upper))
    limit = np.inf if value is None else check.limit(value, f"joint {joint.name!r}: {what} limit")
    if limit < 0.0:
        raise ModelError(f"joint {joint.name!r}: {what} limit {limit} is negative")
    if what == "velocity":
        return replace(so_far, velocity_limit=limit)
    return replace(so_far, effort_limit=limit)


def _again(model: Mechanism, tree: Model) -> Mechanism:
    """The mechanism around another tree of the same joints, its parameters found anew."""
    return couple(with_parameters(tree), model.followers)


def _joint(tree: Model, name: str) -> JointInfo:
    for joint in tree.joints:
        if joint.name == name:
            return joint
    known = [joint.name for joint in tree.joints]
    raise UnknownNameError(f"{tree.name} has no joint {short(name)}{suggest(name, known)}")


def _value(joint: JointInfo, value: Any) -> Any:
    """(nq of the joint,) numbers or symbols."""
    size, what = joint.q.stop - joint.q.start, f"value of joint {joint.name!r}"
    if size == 1 and check.is_one(value):
        given = check.number(value, what).reshape(1)
        low, high = joint.lower[0], joint.upper[0]
        if not is_symbolic(given) and not low <= given[0] <= high:
            raise ModelError(
                f"{what}, {given[0]:g}, is outside its limits {low:g} … {high:g}; lock it within "
                "them, or change them first by with_limits"
            )
        return given
    given = check.numbers(value, (size,), f"{what}, one for each coordinate,")
    if size in (4, 7) and not is_symbolic(given) and abs(given[-4:] @ given[-4:] - 1.0) > 1e-6:
        raise ModelError(f"{what}: the quaternion {given[-4:]} is not of unit length")
    return given


def _inverse(place: Placement) -> Placement:
    return Placement(place.R.T, -(place.R.T @ place.p))
