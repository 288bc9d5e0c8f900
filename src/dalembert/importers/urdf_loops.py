"""Loops of URDFs: the format is a tree, and several extensions close it.

- URDF+ (Chignoli, Slotine, Wensing and Kim, 2024): <loop type=…> with <predecessor>, <successor>,
  and <coupling> with a <ratio> of the joints between them and their nearest common ancestor;
- <loop_joint>, of Isaac Sim and of Drake's first URDFs, with <link1>, <link2> or <parent>, <child>;
- a <joint> of SDF inside <gazebo>, placed where the child is while all joints are at zero, and
  Gazebo's plugin of joints that mimic others;
- what `to_urdf` writes beyond URDF+: <dalembert:coupling> (a polynomial, and terms of further
  joints), <dalembert:distance>.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import ImportFileError
from dalembert.importers.loops_file import WORLD, Frames, loop_of
from dalembert.importers.safe_parsing import Element, excerpt
from dalembert.importers.urdf_links_and_joints import (
    KINDS,
    Log,
    UrdfJoint,
    X,
    read_origin,
    unit_axis,
)
from dalembert.model.coupling import Follow
from dalembert.model.joint import AXES, align
from dalembert.model.notes import Equality, LeftOut
from dalembert.spatial.rotations import rotation_from_rpy
from dalembert.spatial.se3 import inverse, pose

LOOP_PARTS = frozenset(
    {"loop", "loop_joint", "coupling", "gazebo", "dalembert:coupling", "dalembert:distance"}
)
DIRECTIONS = {name: kind.loop for name, kind in KINDS.items() if kind.loop is not None}
ENDS = ("predecessor", "successor", "link1", "link2", "parent", "child")
ONE_DEGREE = ("revolute", "continuous", "prismatic")


class Loops:
    """The equalities of a URDF, and those that are left out.

    `joints` are those of the tree in the file, `locked` the values of those that do not move.
    """

    def __init__(
        self,
        robot: Element,
        links: Collection[str],
        joints: Sequence[UrdfJoint],
        followers: Mapping[str, Follow],
        locked: Mapping[str, Any],
        log: Log,
    ) -> None:
        self.links, self.joints, self.log = links, joints, log
        self.followers, self.locked = followers, locked
        self.mounts = {joint.child: joint for joint in joints}
        self.left_out: list[LeftOut] = []
        self.equalities: list[Equality] = []
        for element in robot.children:
            reader = {
                "loop": self._loop,
                "loop_joint": self._loop,
                "coupling": self._coupling,
                "dalembert:coupling": self._polynomial,
                "dalembert:distance": self._loop,
                "gazebo": self._gazebo,
            }.get(element.tag)
            if reader is not None:
                reader(element)

    # two frames that the element places itself

    def _loop(self, element: Element) -> None:
        """A loop, or a rod between two points; the frames are children, attributes, or beside them."""
        kind = "rod" if element.tag == "dalembert:distance" else "loop"
        name = element.word("name", f"a {kind}")
        what = f"{kind} {excerpt(name)}"
        elements = [child for child in element.children if child.tag in ENDS]
        if len(elements) != 2:
            raise element.error(f"{what}: it needs two links, as <predecessor> and <successor>")
        frames: Frames = []
        for end in elements:
            link = self._link(end, end.word("link", what), what)
            beside, inside = element.one(f"{end.tag}_origin"), end.one("origin")
            plain = {key: x for key, x in end.attributes.items() if key in ("xyz", "rpy")}
            own = Element(end.tag, plain, end.line, end.file)
            frames.append((link, read_origin(inside or beside or own, self.log, what)))
        if kind == "rod":
            length = element.number("length", None, what)
            self.equalities.append(loop_of(name, frames, length=length))
            return
        if "dalembert:directions" in element.attributes:
            words = tuple(element.word("dalembert:directions", what).split())
            is_word = len(words) == 1 and words[0] not in AXES
            self.equalities.append(loop_of(name, frames, words[0] if is_word else words))
            return
        axis = element.one("axis")
        xyz = X if axis is None else axis.numbers("xyz", 3, X, what)
        turn = pose(align(unit_axis(axis or element, xyz, what)))
        turned = [(link, here @ turn) for link, here in frames]
        self.equalities.append(loop_of(name, turned, _directions(element, what)))

    def _link(self, element: Element, name: str, what: str) -> str | None:
        """A link of the file; "world", where no link is called so, is None."""
        if name in self.links:
            return name
        if name == WORLD:
            return None
        raise element.error(f"{what}: {excerpt(name)} is no link of the file")

    # joints that follow others

    def _coupling(self, element: Element) -> None:
        """ratio · Σ q to the predecessor = Σ q to the successor, from their common ancestor."""
        name = element.word("name", "a coupling")
        what = f"coupling {excerpt(name)}"
        ends = [_required(element, tag, what) for tag in ENDS[:2]]
        ratio = _required(element, "ratio", what).number("value", None, what)
        paths = [self._path(self._link(end, end.word("link", what), what)) for end in ends]
        shared = {joint.name for joint in paths[0]} & {joint.name for joint in paths[1]}
        own = [[j for j in path if j.name not in shared and j.kind != "fixed"] for path in paths]
        for joint in (*own[0], *own[1]):
            if joint.kind not in ONE_DEGREE:
                raise element.error(
                    f"{what}: joint {excerpt(joint.name)} is {joint.kind}; expected joints of one "
                    "degree between the two links"
                )
        terms = [(j.name, 1.0) for j in own[1]] + [(j.name, -ratio) for j in own[0]]
        self._linear("coupling", name, terms, 0.0)

    def _linear(
        self, what: str, name: str, terms: Sequence[tuple[str, float]], offset: float
    ) -> None:
        """offset + Σ factor · q = 0, in joints that move on their own; the first of them follows."""
        factors: dict[str, float] = {}
        for joint, factor in terms:
            while joint in self.followers and joint not in self.locked:
                follow = self.followers[joint]
                offset, factor = offset + factor * follow.offset, factor * follow.multiplier
                joint = follow.leader
            if joint not in self.locked:
                factors[joint] = factors.get(joint, 0.0) + factor
            elif self.locked[joint] is not None:
                offset += factor * float(np.ravel(self.locked[joint])[0])
        moving = [joint for joint, factor in factors.items() if factor != 0.0]
        if not moving:
            effect = "nothing: none of its joints moves on its own"
            self.left_out.append(LeftOut(what, name, effect))
            return
        follower, *others = moving
        c0, *rest = (-x / factors[follower] + 0.0 for x in (offset, *(factors[j] for j in others)))
        leader = others[0] if others else None
        more = tuple(zip(others[1:], rest[1:], strict=True))
        equality = Equality("joint", name, follower, leader, polynomial=(c0, *rest[:1]))
        self.equalities.append(replace(equality, factors=more))

    def _path(self, link: str | None) -> list[UrdfJoint]:
        """The joints that carry a link; None is the world."""
        path = []
        while link is not None and link in self.mounts:
            path.append(self.mounts[link])
            link = self.mounts[link].parent
        return path

    def _polynomial(self, element: Element) -> None:
        name = element.word("name", "a coupling")
        what = f"coupling {excerpt(name)}"
        count = len(element.word("polynomial", what).split())
        powers = element.numbers("polynomial", count, None, what)
        follower = element.word("follower", what)
        leader = element.attributes.get("leader")
        more = tuple(
            (term.word("joint", what), term.number("factor", None, what))
            for term in element.all("term")
        )
        moving = {j.name for j in self.joints if j.kind != "fixed" and j.name not in self.locked}
        for joint in (follower, leader, *(joint for joint, _ in more)):
            if joint is not None and joint not in moving - set(self.followers):
                raise element.error(
                    f"{what}: there is no joint {excerpt(joint)} that moves on its own"
                )
        self.equalities.append(
            Equality("joint", name, follower, leader, polynomial=powers, factors=more)
        )

    # Gazebo

    def _gazebo(self, element: Element) -> None:
        """Joints and plugins for the whole model; what is meant for Gazebo alone is ignored."""
        before = len(self.equalities)
        for part in [] if "reference" in element.attributes else element.children:
            if part.tag == "plugin":
                self._plugin(part)
            if part.tag == "joint":
                try:
                    self._sdf_joint(part)
                except ImportFileError as error:  # Gazebo knows more joints than there are here
                    name = part.attributes.get("name", "")
                    self.left_out.append(LeftOut("joint of Gazebo", name, str(error)))
        if len(self.equalities) == before:
            self.log.ignored["gazebo"] += 1

    def _sdf_joint(self, element: Element) -> None:
        """A joint of SDF: `pose` is its frame in the child; the parent has it as it lies at zero."""
        name = element.word("name", "a loop")
        what = f"loop {excerpt(name)}"
        names = [_required(element, tag, what).text.strip() for tag in ("parent", "child")]
        ends = [self._link(element, end, what) for end in names]
        at = [np.eye(4), np.eye(4)]  # poses of the links in the root's frame, all joints at zero
        for k, end in enumerate(ends):
            for joint in self._path(end):
                at[k] = joint.origin @ at[k]
        here = np.eye(4)
        pose_element = element.one("pose")
        if pose_element is not None:
            x, y, z, *rpy = _text_numbers(pose_element, 6, what)
            here = pose(rotation_from_rpy(rpy), np.array([x, y, z]))
        axis = element.one("axis")
        turn = np.eye(3)
        if axis is not None and axis.one("xyz") is not None:
            local = np.array(_text_numbers(_required(axis, "xyz", what), 3, what))
            flag = axis.one("use_parent_model_frame")
            if flag is not None and flag.text.strip().lower() in ("1", "true"):
                local = (at[1] @ here)[:3, :3].T @ local
            turn = align(unit_axis(element, local, what))
        frame = here @ pose(turn)
        frames = [(ends[0], inverse(at[0]) @ at[1] @ frame), (ends[1], frame)]
        self.equalities.append(loop_of(name, frames, _directions(element, what)))

    def _plugin(self, element: Element) -> None:
        """The plugin that lets a joint mimic another, where the URDF's own <mimic> does not."""
        names = [element.one(tag) for tag in ("mimicJoint", "joint")]
        follower, leader = ("" if x is None else x.text.strip() for x in names)
        known = {joint.name for joint in self.joints if joint.kind in ONE_DEGREE}
        if not {follower, leader} <= known or follower in self.followers or follower in self.locked:
            return
        what = f"plugin of joint {excerpt(follower)}"
        offset, ratio = (
            1.0 * default if part is None else _text_numbers(part, 1, what)[0]
            for part, default in ((element.one("offset"), 0), (element.one("multiplier"), 1))
        )
        name = f"{follower}_mimics_{leader}"
        self._linear("plugin", name, [(follower, 1.0), (leader, -ratio)], -offset)


def _directions(element: Element, what: str) -> str:
    kind = element.attributes.get("type", "")
    if kind not in DIRECTIONS:
        raise element.error(
            f"{what}: type {excerpt(kind)} is unknown; loops are {', '.join(DIRECTIONS)}"
        )
    return DIRECTIONS[kind]


def _required(element: Element, tag: str, what: str) -> Element:
    child = element.one(tag)
    if child is None:
        raise element.error(f"{what}: it needs a <{tag}>")
    return child


def _text_numbers(element: Element, count: int, what: str) -> tuple[float, ...]:
    """Numbers that stand between the tags."""
    return element.numbers(element.tag, count, None, what, element.text)
