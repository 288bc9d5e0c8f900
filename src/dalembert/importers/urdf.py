"""Reading URDF files: a path or text to a model.

Coordinates come depth first, siblings in the order of the file. Links on fixed joints are merged
into the link that carries them; all of them stay as named frames. A joint with <mimic> has no
coordinate of its own. Meshes are not opened here: the notes keep the visual geometry.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import ImportFileError, ModelError, ShapeError, UnknownNameError
from dalembert.importers.file_access import Roots, Trust
from dalembert.importers.loops_file import WORLD
from dalembert.importers.safe_parsing import (
    Document,
    Element,
    Source,
    excerpt,
    read_xml,
    require_root,
)
from dalembert.importers.urdf_links_and_joints import (
    Log,
    UrdfJoint,
    UrdfLink,
    read_joint,
    read_link,
)
from dalembert.importers.urdf_loops import LOOP_PARTS, Loops
from dalembert.importers.urdf_transmissions import drive_data, motors
from dalembert.importers.visuals import urdf_visuals
from dalembert.model import CoupledModel, Joint, Link, Model, build
from dalembert.model.build import STANDARD_GRAVITY, TOOL
from dalembert.model.coupling import Follow, couple, resolve_leader
from dalembert.model.joint import align, factors
from dalembert.model.notes import Mesh, Notes
from dalembert.model.tool import Mount, Tool, default_tool
from dalembert.model.validation import mapping
from dalembert.spatial.rotations import snap
from dalembert.spatial.se3 import pose
from dalembert.text import nearest, short

MAX_LINKS = 2000
ORDER = "dalembert:order"
ROOT_JOINT = "root_joint"
ROBOT_PARTS = frozenset({"link", "joint", "transmission", "dalembert:gravity", ORDER, *LOOP_PARTS})


def model_from_urdf(
    source: Source | Document,
    *,
    base: str = "fixed",
    joints: Collection[str] | None = None,
    posture: Mapping[str, Any] | None = None,
    tip: str | None = None,
    gravity: Any = None,
    name: str | None = None,
    strict: bool = False,
    loops: str = "ignore",
    kinds: Mapping[str, str] | None = None,
    trust: Trust = None,
) -> Model | CoupledModel:
    """A model from a path or text; see `Robot.from_urdf`.

    With `loops` "ignore", a warning says so; `kinds` are types of joints instead of the file's.
    `trust` names folders with meshes, which are opened when the robot is drawn.
    """
    if base not in ("fixed", "free"):
        raise ModelError(f"base={base!r} must be 'fixed' or 'free'")
    document = source if isinstance(source, Document) else read_xml(source)
    robot, log = document.root, Log()
    _require_urdf(document)
    links = [read_link(element, log) for element in robot.all("link")]
    file_joints = [read_joint(element, log, kinds or {}) for element in robot.all("joint")]
    _check_kinds(kinds or {}, [joint.name for joint in file_joints], document.file, log)
    root, all_joints = _depth_first(robot, links, file_joints, log)
    tree_joints, followers, locked = _lock_joints(all_joints, joints, posture, log)
    drives = drive_data(robot, [joint.name for joint in file_joints], log)
    model_links = _links(links, root, tree_joints, drives, base)
    tool = _tool(tip, model_links, followers)
    try:
        tree = build(
            model_links,
            name=name or robot.attributes.get("name", "").strip() or "robot",
            tool_link=None if tool is None else tool.name,
            gravity=_gravity(robot) if gravity is None else gravity,
            check_inertias=False,
        )
        tree = replace(tree, driven_by=motors(robot, tree, log))
        model = couple(tree, followers)
    except ModelError as error:
        is_rigid = base == "fixed" and all(joint.kind == "fixed" for joint in tree_joints)
        hint = "; base='free' lets it move as one body" if is_rigid else ""
        raise ImportFileError(f"{error}{hint}", document.file) from None
    _warn_of_names(robot, tree, model_links, tip, log)
    log.unknown_parts(robot, ROBOT_PARTS, "the robot")
    loop_reader = Loops(robot, {x.name for x in links}, all_joints, followers, locked, log)
    notes = Notes(
        source=document.file or "text",
        merged=_merged(tree_joints),
        locked=tuple(locked),
        ignored=tuple(f"{tag} ({count})" for tag, count in log.ignored.items() if count),
        warnings=tuple(log.warnings),
        equalities=tuple(loop_reader.equalities),
        meshes=tuple(_meshes(links)),
        visuals=urdf_visuals(robot, links, Roots.of(document.path, trust)),
        left_out=tuple(loop_reader.left_out),
    ).checked(document.file, loops, strict)
    return model.with_notes(notes if tool is None else tool.noted(notes))


def _gravity(robot: Element) -> Any:
    """URDF has none; `to_urdf` adds an element when it is not standard."""
    element = robot.one("dalembert:gravity")
    return STANDARD_GRAVITY if element is None else element.numbers("xyz", 3, None, "gravity")


def _meshes(links: Sequence[UrdfLink]) -> Iterator[Mesh]:
    for link in links:
        for part in link.element.walk():
            if part.tag == "mesh" and "filename" in part.attributes:
                yield Mesh(link.name, part.attributes["filename"], part.line)


def _require_urdf(document: Document) -> None:
    """The root is <robot>, and no macro is left in it."""
    require_root(document.root, "robot")
    for element in document.root.walk():
        if element.tag.startswith("xacro:"):
            from shlex import quote

            file = document.file or "robot.urdf.xacro"
            expanded = file.removesuffix(".xacro")
            if expanded == file or not expanded.endswith(".urdf"):  # never the file itself
                expanded = f"{expanded.removesuffix('.urdf')}_expanded.urdf"
            raise element.error(
                f"<{element.tag[:60]}> is a xacro macro; expand the file first: xacro "
                f"{quote(file)} > {quote(expanded)} (pip install xacro). It is not done here: xacro "
                "runs what the file says"
            )


def _links(
    links: Sequence[UrdfLink],
    root: UrdfLink,
    joints: Sequence[UrdfJoint],
    drives: Mapping[str, dict[str, float]],
    base: str,
) -> list[Link]:
    """Links of the model: the root on its base, then one per joint."""
    taken = {joint.name for joint in joints}
    root_joint = ROOT_JOINT if ROOT_JOINT not in taken else f"{root.name}_{ROOT_JOINT}"
    by_name = {link.name: link for link in links}
    base_joint = Joint(kind="free" if base == "free" else "fixed", name=root_joint)
    mounted = [Link(root.name, None, base_joint, root.mass, root.com, root.inertia)]
    for j in joints:
        numbers = {} if j.kind == "fixed" else {**j.numbers, **drives[j.name]}
        joint = Joint(kind=j.kind, name=j.name, axis=j.axis, origin=j.origin, **numbers)
        link = by_name[j.child]
        mounted.append(Link(link.name, j.parent, joint, link.mass, link.com, link.inertia))
    return mounted


def _tool(tip: str | None, links: Sequence[Link], followers: Collection[str]) -> Tool | None:
    """The link whose frame is the tool: `tip`, one called "tool", or the default."""
    names = [link.name for link in links]
    if tip is not None and tip not in names:
        raise UnknownNameError(f"there is no link {tip!r}; there are: {', '.join(names)}")
    if tip is not None:
        return Tool(tip, "given")
    if TOOL in names:
        return Tool(TOOL, "its name")
    mounts = {
        link.name: Mount(link.parent, link.joint.kind != "fixed", link.joint.name in followers)
        for link in links
    }
    return default_tool(mounts)


def _warn_of_names(
    robot: Element, model: Model, links: Sequence[Link], tip: str | None, log: Log
) -> None:
    """Massless links that move, a missing name, a link hidden by the tool frame."""
    names = {link.name for link in links}
    parents = {body.parent for body in model.bodies}
    for i, body in enumerate(model.bodies):
        if body.name in names and float(body.mass) == 0.0:
            beyond = "" if i in parents else ", nor does it carry anything"
            log.warnings.append(f"link {excerpt(body.name)} moves but has no mass{beyond}")
    if not robot.attributes.get("name", "").strip():
        log.warn(robot, "the robot has no name")
    if tip not in (None, TOOL) and TOOL in names:
        log.warnings.append(f"the frame of link {TOOL!r} is hidden by the tool frame at {tip!r}")


def _merged(joints: Sequence[UrdfJoint]) -> tuple[str, ...]:
    """Links on fixed joints, each with the link it became part of."""
    into: dict[str, str] = {}
    for joint in joints:
        if joint.kind == "fixed":
            into[joint.child] = into.get(joint.parent, joint.parent)
    return tuple(f"{child} into {parent}" for child, parent in into.items())


def _depth_first(
    robot: Element, file_links: list[UrdfLink], joints: Sequence[UrdfJoint], log: Log
) -> tuple[UrdfLink, list[UrdfJoint]]:
    """The root link, and the joints depth first with siblings in document order.

    Where `to_urdf` says so, in document order altogether: other trees have other orders too. A link
    "world" on which joints hang is added to the links where the file forgot it, as simulators do.
    """
    names = {link.name for link in file_links}
    hanging = [joint for joint in joints if joint.parent == WORLD]
    if hanging and WORLD not in names:
        element, name = hanging[0].element, excerpt(hanging[0].name)
        log.warn(element, f"joint {name}: its parent {WORLD!r} is implied")
        file_links.append(UrdfLink(WORLD, element))
        names.add(WORLD)
    if not file_links:
        raise robot.error("the robot has no <link>")
    if len(file_links) > MAX_LINKS:
        raise robot.error(f"{len(file_links)} links; the limit is {MAX_LINKS}")
    _reject_duplicates(file_links, "links")
    _reject_duplicates(joints, "joints")
    mounts: dict[str, UrdfJoint] = {}  # by child
    children: dict[str, list[UrdfJoint]] = defaultdict(list)
    for joint in joints:
        for end, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in names:
                raise joint.element.error(
                    f"joint {excerpt(joint.name)}: its {end} {excerpt(name)} is no link of the file"
                )
        first = mounts.setdefault(joint.child, joint)
        if first is not joint:
            raise joint.element.error(
                f"link {excerpt(joint.child)} hangs on two joints, {excerpt(first.name)} (line "
                f"{first.element.line}) and {excerpt(joint.name)}; a URDF is a tree"
            )
        children[joint.parent].append(joint)
    roots = [link for link in file_links if link.name not in mounts]
    if not roots:
        raise robot.error("the joints form a cycle: no link is the root")
    if len(roots) > 1:
        listed = ", ".join(excerpt(link.name) for link in roots[:4])
        raise roots[1].element.error(
            f"{len(roots)} links hang on no joint: {listed}; a URDF has one root"
        )
    ordered: dict[str, UrdfJoint] = {}
    stack = children[roots[0].name][::-1]
    while stack:
        joint = stack.pop()
        ordered[joint.name] = joint
        stack += reversed(children[joint.child])
    for joint in joints:
        if joint.name not in ordered:
            raise joint.element.error(
                f"joint {excerpt(joint.name)} is part of a cycle that never reaches the root"
            )
    return roots[0], list(joints if robot.one(ORDER) is not None else ordered.values())


def _reject_duplicates(items: Sequence[UrdfLink] | Sequence[UrdfJoint], what: str) -> None:
    lines: dict[str, int] = {}
    for item in items:
        if item.name in lines:
            raise item.element.error(
                f"two {what} are called {excerpt(item.name)}; the first is on line {lines[item.name]}"
            )
        lines[item.name] = item.element.line


def carried_links(document: Document) -> dict[str, str]:
    """The child link of each joint, by name; its frame is the joint's."""
    return {
        joint.attributes["name"]: child.attributes["link"]
        for joint in document.root.all("joint")
        if (child := joint.one("child")) is not None
        and "name" in joint.attributes
        and "link" in child.attributes
    }


def _check_kinds(
    kinds: Mapping[str, str], names: Sequence[str], file: str | None, log: Log
) -> None:
    """Joint types instead of the file's: spherical or fixed; warn of a name that is no joint."""
    for name, kind in kinds.items():
        if kind not in ("spherical", "fixed"):
            raise ImportFileError(
                f"joint {excerpt(name)} is to be of type {excerpt(kind)}; expected spherical or fixed",
                file,
            )
        if name not in names:
            unknown = f"joint {excerpt(name)}, which is to be {kind}, is no joint of the URDF"
            log.warnings.append(f"{unknown}{nearest(name, names)}")


def _lock_joints(
    joints: Sequence[UrdfJoint],
    keep: Collection[str] | None,
    posture: Mapping[str, Any] | None,
    log: Log,
) -> tuple[list[UrdfJoint], dict[str, Follow], dict[str, Any]]:
    """The joints with all but `keep` fixed at their value in `posture`.

    Returns the joints, the remaining followers, and the values of the locked joints. A joint that
    follows a locked one is locked with it, at multiplier · value + offset.
    """
    if isinstance(keep, str) or not isinstance(keep or (), Collection):
        raise ShapeError(f"joints must be a list of names, not {short(keep)}")
    posture = mapping({} if posture is None else posture, "posture")
    by_name = {joint.name: joint for joint in joints}
    moving = [joint.name for joint in joints if joint.kind != "fixed"]
    for name in (*(keep or ()), *posture):
        if name not in moving:
            raise UnknownNameError(f"there is no moving joint {name!r}{nearest(name, moving)}")
    if posture and keep is None:
        raise UnknownNameError(
            f"posture of {', '.join(map(excerpt, posture))}: it is for joints that are held; name "
            "those that move with joints=[…]"
        )
    followers: dict[str, Follow] = {}
    for joint in joints:
        if joint.mimic is not None and joint.mimic.leader in by_name:
            followers[joint.name] = joint.mimic
        elif joint.mimic is not None:
            leader = excerpt(joint.mimic.leader)
            message = f"joint {excerpt(joint.name)} mimics {leader}, which does not exist"
            log.warn(joint.element, f"{message}; it moves on its own")
    for name in keep or ():
        if name in followers:
            leader = followers[name].leader
            raise UnknownNameError(f"joint {name!r} follows {leader!r}; choose that one instead")
    values: dict[str, Any] = {}  # of the joints that do not move
    for name in moving:
        follow = _resolved_mimic(by_name, followers, name)
        is_kept = keep is None or follow.leader in keep
        if by_name[follow.leader].kind == "fixed":
            leader = excerpt(follow.leader)
            message = f"joint {excerpt(name)} mimics {leader}, which is fixed; held"
            log.warn(by_name[name].element, message)
            values[name] = follow.offset
        elif not is_kept and name in followers:
            value = float(_numbers(posture.get(follow.leader, 0.0), 1, follow.leader)[0])
            values[name] = follow.multiplier * value + follow.offset
        elif not is_kept:
            values[name] = posture.get(name)
    result = [_locked(j, values[j.name]) if j.name in values else j for j in joints]
    remaining = {name: follow for name, follow in followers.items() if name not in values}
    return result, remaining, values


def _resolved_mimic(
    by_name: Mapping[str, UrdfJoint], followers: Mapping[str, Follow], name: str
) -> Follow:
    """A joint in terms of one that follows no other, itself maybe; circles are errors."""
    if name not in followers:
        return Follow(name, 1.0, 0.0)
    element = by_name[name].element
    try:
        follow = resolve_leader(name, followers)
    except ModelError as error:
        raise element.error(f"joint {excerpt(name)} mimics itself ({str(error)[:120]})") from None
    for joint_name in (name, follow.leader):
        if by_name[joint_name].kind in ("planar", "free", "spherical"):
            raise element.error(
                f"joint {excerpt(name)}: {excerpt(joint_name)} has several degrees; no mimic"
            )
    if not (abs(follow.multiplier) < 1e12 and abs(follow.offset) < 1e12):
        raise element.error(f"joint {excerpt(name)}: its mimic chain multiplies beyond 1e12")
    return follow


def _locked(joint: UrdfJoint, value: Any) -> UrdfJoint:
    """The joint fixed at its value (None: its neutral value)."""
    moved = np.eye(4)
    charts = factors(joint.kind, joint.axis, None, 0.0)
    if value is not None:
        q = _numbers(value, sum(chart.nq for _, chart in charts), joint.name)
        for axis, chart in charts:
            alignment = align(axis)
            rotation, translation = chart.transform(q[: chart.nq])
            q = q[chart.nq :]
            moved = moved @ pose(alignment @ rotation @ alignment.T, alignment @ translation)
    origin = joint.origin @ moved
    origin[:3, :3] = snap(origin[:3, :3])
    return replace(joint, kind="fixed", origin=origin, numbers={}, mimic=None)


def _numbers(value: Any, size: int, name: str) -> np.ndarray:
    """(size,) of a posture; one number needs no list around it."""
    try:
        numbers = np.atleast_1d(np.asarray(value, dtype=float))
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    if numbers.shape != (size,) or not np.isfinite(numbers).all():
        raise ShapeError(f"posture of joint {name!r} must be {size} finite numbers")
    return numbers
