"""The tree of a URDF: checked, in depth-first order, with chosen joints held at a posture."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import ImportFileError, ModelError, ShapeError, UnknownNameError
from dalembert.importers.urdf_parts import Log, UrdfJoint, UrdfLink
from dalembert.importers.xml_read import Document, Element, shown
from dalembert.model.check import mapping
from dalembert.model.coupling import Follow, led_by
from dalembert.model.joint import align, factors
from dalembert.spatial.rotations import snap
from dalembert.text import nearest, short

MAX_LINKS = 2000
WORLD = "world"
ORDER = "dalembert:order"


def depth_first(
    robot: Element, links: Sequence[UrdfLink], joints: Sequence[UrdfJoint]
) -> tuple[UrdfLink, list[UrdfJoint]]:
    """The root link, and the joints depth first with siblings in document order.

    Where `to_urdf` says so, in document order altogether: other trees have other orders too.
    """
    if not links:
        raise robot.error("the robot has no <link>")
    if len(links) > MAX_LINKS:
        raise robot.error(f"{len(links)} links; the limit is {MAX_LINKS}")
    _reject_duplicates([(link.name, link.element) for link in links], "links")
    _reject_duplicates([(joint.name, joint.element) for joint in joints], "joints")
    known = {link.name for link in links}
    carried: dict[str, UrdfJoint] = {}
    children: dict[str, list[UrdfJoint]] = defaultdict(list)
    for joint in joints:
        for end, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in known:
                raise joint.element.error(
                    f"joint {shown(joint.name)}: its {end} {shown(name)} is no link of the file"
                )
        if joint.child in carried:
            first = carried[joint.child]
            raise joint.element.error(
                f"link {shown(joint.child)} hangs on two joints, {shown(first.name)} (line "
                f"{first.element.line}) and {shown(joint.name)}; a URDF is a tree"
            )
        carried[joint.child] = joint
        children[joint.parent].append(joint)
    root = _root(robot, links, carried)
    ordered = _ordered(root, children, joints)
    return root, list(joints) if robot.one(ORDER) is not None else ordered


def undeclared_world(
    links: Sequence[UrdfLink], joints: Sequence[UrdfJoint], log: Log
) -> list[UrdfLink]:
    """A link "world" where joints hang on one that the file forgot, as simulators imply it."""
    hanging = [joint for joint in joints if joint.parent == WORLD]
    if not hanging or any(link.name == WORLD for link in links):
        return []
    element = hanging[0].element
    log.warn(element, f"joint {shown(hanging[0].name)}: its parent {WORLD!r} is implied")
    return [UrdfLink(WORLD, element)]


def _root(robot: Element, links: Sequence[UrdfLink], carried: Collection[str]) -> UrdfLink:
    roots = [link for link in links if link.name not in carried]
    if not roots:
        raise robot.error("the joints form a cycle: no link is the root")
    if len(roots) > 1:
        names = ", ".join(shown(link.name) for link in roots[:4])
        raise roots[1].element.error(
            f"{len(roots)} links hang on no joint: {names}; a URDF has one root"
        )
    return roots[0]


def _ordered(
    root: UrdfLink, children: Mapping[str, list[UrdfJoint]], joints: Sequence[UrdfJoint]
) -> list[UrdfJoint]:
    ordered: list[UrdfJoint] = []
    stack = list(reversed(children.get(root.name, [])))
    while stack:
        joint = stack.pop()
        ordered.append(joint)
        stack.extend(reversed(children.get(joint.child, [])))
    if len(ordered) < len(joints):
        reached = {joint.name for joint in ordered}
        lost = next(joint for joint in joints if joint.name not in reached)
        raise lost.element.error(
            f"joint {shown(lost.name)} is part of a cycle that never reaches the root"
        )
    return ordered


def _reject_duplicates(named: Sequence[tuple[str, Element]], what: str) -> None:
    seen: dict[str, Element] = {}
    for name, element in named:
        if name in seen:
            raise element.error(
                f"two {what} are called {shown(name)}; the first is on line {seen[name].line}"
            )
        seen[name] = element


def carried_links(document: Document) -> dict[str, str]:
    """Joint → the link it carries, whose frame is the joint's."""
    return {
        joint.attributes["name"]: child.attributes["link"]
        for joint in document.root.all("joint")
        if (child := joint.one("child")) is not None
        and {"name"} <= joint.attributes.keys()
        and {"link"} <= child.attributes.keys()
    }


def retyped(
    joints: Sequence[UrdfJoint], kinds: Mapping[str, str], file: str | None, log: Log
) -> list[UrdfJoint]:
    """The joints, those in `kinds` spherical or fixed instead of what the file calls them.

    A name that is no joint of the URDF changes nothing, with a warning.
    """
    names = [joint.name for joint in joints]
    for name, kind in kinds.items():
        if kind not in ("spherical", "fixed"):
            raise ImportFileError(
                f"joint {shown(name)} is to be of type {shown(kind)}; expected spherical or fixed",
                file,
            )
        if name not in names:
            unknown = f"joint {shown(name)}, which is to be {kind}, is no joint of the URDF"
            log.warnings.append(f"{unknown}{nearest(name, names)}")
    return [
        replace(joint, kind=kinds[joint.name], numbers={}, mimic=None)
        if joint.name in kinds
        else joint
        for joint in joints
    ]


def hold(
    joints: Sequence[UrdfJoint],
    keep: Collection[str] | None,
    posture: Mapping[str, Any] | None,
    log: Log,
) -> tuple[list[UrdfJoint], dict[str, Follow], dict[str, Any]]:
    """The joints with all but `keep` fixed at their value in `posture`.

    Returns the joints, what still follows what, and the names of the held ones. A joint that
    follows a held one is held with it, at multiplier · value + offset.
    """
    if isinstance(keep, str) or not isinstance(keep or (), Collection):
        raise ShapeError(f"joints must be a list of names, not {short(keep)}")
    posture = mapping({} if posture is None else posture, "posture")
    by_name = {joint.name: joint for joint in joints}
    moving = [joint.name for joint in joints if joint.kind != "fixed"]
    for name in (*(keep or ()), *(posture or ())):
        if name not in moving:
            raise UnknownNameError(f"there is no moving joint {name!r}{nearest(name, moving)}")
    if posture and keep is None:
        raise UnknownNameError(
            f"posture of {', '.join(map(shown, posture))}: it is for joints that are held; name those "
            "that move with joints=[…]"
        )
    followers = _followers(joints, by_name, log)
    for name in keep or ():
        if name in followers:
            leader = followers[name].leader
            raise UnknownNameError(f"joint {name!r} follows {leader!r}; choose that one instead")
    values = _held_values(by_name, moving, followers, keep, posture or {}, log)
    held = [_held(joint, values[joint.name]) if joint.name in values else joint for joint in joints]
    following = {name: follow for name, follow in followers.items() if name not in values}
    return held, following, values


def _followers(
    joints: Sequence[UrdfJoint], by_name: Mapping[str, UrdfJoint], log: Log
) -> dict[str, Follow]:
    """What follows what; a leader that does not exist leaves its follower free, with a warning."""
    followers: dict[str, Follow] = {}
    for joint in joints:
        if joint.mimic is None:
            continue
        if joint.mimic.leader in by_name:
            followers[joint.name] = joint.mimic
        else:
            leader = shown(joint.mimic.leader)
            message = f"joint {shown(joint.name)} mimics {leader}, which does not exist"
            log.warn(joint.element, f"{message}; it moves on its own")
    return followers


def _held_values(
    by_name: Mapping[str, UrdfJoint],
    moving: Sequence[str],
    followers: Mapping[str, Follow],
    keep: Collection[str] | None,
    posture: Mapping[str, Any],
    log: Log,
) -> dict[str, Any]:
    """Values of the joints that do not move."""
    values: dict[str, Any] = {}
    for name in moving:
        if name in followers:
            led = _leader(by_name, followers, name)
            leader = led.leader
            if by_name[leader].kind == "fixed":
                message = f"joint {shown(name)} mimics {shown(leader)}, which is fixed; held"
                log.warn(by_name[name].element, message)
                values[name] = led.offset
            elif keep is not None and leader not in keep:
                value = float(_numbers(posture.get(leader, 0.0), 1, leader)[0])
                values[name] = led.multiplier * value + led.offset
        elif keep is not None and name not in keep:
            values[name] = posture.get(name)
    return values


def _leader(by_name: Mapping[str, UrdfJoint], followers: Mapping[str, Follow], name: str) -> Follow:
    """A follower in terms of a joint that follows nobody; circles are errors."""
    element = by_name[name].element
    try:
        found = led_by(name, followers)
    except ModelError as error:
        raise element.error(f"joint {shown(name)} mimics itself ({str(error)[:120]})") from None
    for which in (name, found.leader):
        if by_name[which].kind in ("planar", "free", "spherical"):
            raise element.error(
                f"joint {shown(name)}: {shown(which)} has several degrees; no mimic"
            )
    if not (abs(found.multiplier) < 1e12 and abs(found.offset) < 1e12):
        raise element.error(f"joint {shown(name)}: its mimic chain multiplies beyond 1e12")
    return found


def _held(joint: UrdfJoint, value: Any) -> UrdfJoint:
    """The joint fixed where its value puts it (None: its neutral value)."""
    pose = np.eye(4)
    pieces = factors(joint.kind, joint.axis, None, 0.0)
    size = sum(chart.nq for _, chart in pieces)
    if value is not None:
        given = _numbers(value, size, joint.name)
        for axis, chart in pieces:
            turn = align(axis)
            rotation, translation = chart.transform(given[: chart.nq])
            given = given[chart.nq :]
            step = np.eye(4)
            step[:3, :3], step[:3, 3] = turn @ rotation @ turn.T, turn @ translation
            pose = pose @ step
    origin = joint.origin @ pose
    origin[:3, :3] = snap(origin[:3, :3])
    return replace(joint, kind="fixed", origin=origin, numbers={}, mimic=None)


def _numbers(value: Any, size: int, name: str) -> np.ndarray:
    """(size,) of a posture; one number needs no list around it."""
    try:
        given = np.atleast_1d(np.asarray(value, dtype=float))
    except (TypeError, ValueError):
        given = np.array([np.nan])
    if given.shape != (size,) or not np.isfinite(given).all():
        raise ShapeError(f"posture of joint {name!r} must be {size} finite numbers")
    return given
