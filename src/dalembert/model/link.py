"""Links and joints as users and importers describe them, before `build`."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from dalembert.errors import ModelError
from dalembert.model.joint import kind_named
from dalembert.model.parameter import NumberLike
from dalembert.model.validation import label, mapping, numbers
from dalembert.spatial.rotations import rotation_from_rpy, snap
from dalembert.spatial.se3 import pose


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint as users describe it. `origin` is the pose of its frame in the parent's link frame."""

    kind: Any = "revolute"  # a name of `joint.KINDS`
    name: str | None = None
    axis: NumberLike = (0.0, 0.0, 1.0)  # in the joint frame
    axis2: NumberLike | None = None  # second axis of a universal joint
    pitch: NumberLike = 0.0  # metres per radian of a helical joint
    origin: NumberLike = field(default_factory=lambda: np.eye(4))
    offset: NumberLike = 0.0  # added to q; of several coordinates, one number for each
    limits: tuple[float, float] | None = None
    velocity_limit: float = np.inf
    effort_limit: float = np.inf
    viscous: NumberLike = 0.0  # at the joint, N m s/rad or N s/m
    coulomb: NumberLike = 0.0  # at the joint: one number, or (positive, negative)
    viscous_motor: NumberLike = 0.0  # at the motor: × gear_ratio² at the joint
    coulomb_motor: NumberLike = 0.0  # at the motor: × |gear_ratio|
    rotor_inertia: NumberLike = 0.0  # kg m²: × gear_ratio² at the joint
    gear_ratio: NumberLike = 1.0
    stiffness: NumberLike = 0.0  # of a spring: one number, or k_1, k_2, … of k_1 x + k_2 x² + …
    rest: NumberLike | None = None  # coordinates without force; default: the neutral ones
    ballast: bool = False  # of a free joint: its rotor resists acceleration in the world
    drag: NumberLike = ()  # b_2, b_3, … of b_2 q̇|q̇| + b_3 q̇³ + …, beside the viscous friction

    def __post_init__(self) -> None:
        """Replace another name of a joint kind by its robot name."""
        known = kind_named(self.kind)
        if known is not None:
            object.__setattr__(self, "kind", known.name)


@dataclass(frozen=True, eq=False)
class Link:
    """A body of the tree: its joint, and its inertia in the link frame."""

    name: str
    parent: str | None = None  # None: the base
    joint: Joint = field(default_factory=Joint)
    mass: NumberLike = 0.0
    com: NumberLike = (0.0, 0.0, 0.0)
    # about the com, along the axes of the link frame
    inertia: NumberLike = field(default_factory=lambda: np.zeros((3, 3)))
    frame: NumberLike | None = None  # pose of the link frame in the joint's moved frame
    lifted: NumberLike = 0.0  # share of its weight that is carried from outside


def links_from(rows: Any) -> list[Link]:
    """Links from `Link` objects or mappings."""
    is_wrong = isinstance(rows, str | bytes | Mapping | np.ndarray)
    if is_wrong or not isinstance(rows, Iterable):
        raise ModelError(f"links must be a list of links or mappings, not {type(rows).__name__}")
    return [row if isinstance(row, Link) else link_from_mapping(row) for row in rows]


def link_from_mapping(row: Any) -> Link:
    """A `Link` from plain data; unknown keys are errors.

    `joint` is a mapping with `type` and the fields of `Joint`; `origin_xyz` and `origin_rpy` may
    stand for `origin`.
    """
    row = mapping(row, "a link")
    name = label(row.get("name"), "a link")
    _reject_unknown(row, Link, f"link {name!r}")
    joint = row.pop("joint", Joint())
    if isinstance(joint, Joint):
        return Link(joint=joint, **row)
    where = f"joint of link {name!r}"
    joint = mapping(joint, where)
    for short, long in (("type", "kind"), ("origin_xyz", "origin"), ("origin_rpy", "origin")):
        if short in joint and long in joint:
            raise ModelError(f"{where}: {short!r} and {long!r} are both given; keep one")
    if "type" in joint:
        joint["kind"] = joint.pop("type")
    if "origin_xyz" in joint or "origin_rpy" in joint:
        zero = (0.0, 0.0, 0.0)
        rpy = numbers(joint.pop("origin_rpy", zero), (3,), f"{where}: origin_rpy")
        xyz = numbers(joint.pop("origin_xyz", zero), (3,), f"{where}: origin_xyz")
        joint["origin"] = pose(snap(rotation_from_rpy(rpy)), xyz)
    _reject_unknown(joint, Joint, where)
    return Link(joint=Joint(**joint), **row)


def _reject_unknown(row: Mapping[str, Any], cls: type, where: str) -> None:
    known = {f.name for f in fields(cls)}
    unknown = sorted(set(row) - known)
    if unknown:
        raise ModelError(
            f"{where}: unknown key {unknown[0]!r}; known keys: {', '.join(sorted(known))}"
        )


def ordered(links: Sequence[Link]) -> list[Link]:
    """The links with every parent before its children, otherwise in their order."""
    if not isinstance(links, list | tuple) or not all(isinstance(link, Link) for link in links):
        raise ModelError("links must be a list of links")
    if not links:
        raise ModelError("a mechanism needs at least one link")
    for link in links:
        label(link.name, "a link")
        if not isinstance(link.joint, Joint):
            raise ModelError(f"link {link.name!r}: joint must be a Joint or a mapping")
        for what, name in (("parent", link.parent), ("joint", link.joint.name)):
            if name is not None:
                label(name, f"{what} of link {link.name!r}")
    _reject_duplicates([link.name for link in links], "links")
    _reject_duplicates([link.joint.name or link.name for link in links], "joints")
    known = {link.name for link in links}
    children: dict[str | None, list[int]] = defaultdict(list)
    for i, link in enumerate(links):
        if link.parent is not None and link.parent not in known:
            raise ModelError(
                f"link {link.name!r} hangs on {link.parent!r}, which does not exist; the base is "
                "parent=None"
            )
        children[link.parent].append(i)
    ready, result = list(children[None]), []
    while ready:
        link = links[heapq.heappop(ready)]
        result.append(link)
        for child in children[link.name]:
            heapq.heappush(ready, child)
    if len(result) < len(links):
        placed = {link.name for link in result}
        stuck = ", ".join(link.name for link in links if link.name not in placed)
        raise ModelError(f"these links form a cycle and never reach the base: {stuck}")
    return result


def _reject_duplicates(names: Sequence[str], what: str) -> None:
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise ModelError(f"{times} {what} are called {name!r}; names must be unique")
