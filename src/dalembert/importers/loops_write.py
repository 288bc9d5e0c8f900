"""Loops as the TOML that goes beside a robot's file; see `loops_file`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np

from dalembert.errors import ModelError
from dalembert.model.notes import Equality, Rows4
from dalembert.spatial.rotations import rpy_from_rotation


def loops_text(equalities: Sequence[Equality], posture: Mapping[str, float]) -> str:
    """The text; `posture` is where putting it together begins, by coordinate."""
    lines = ["[posture]", *(f"{_quoted(name)} = {x!r}" for name, x in posture.items())]
    for given in equalities:
        if given.kind == "tendon":
            raise ModelError(f"constraint {given.name!r}: a file of loops has no tendons")
        lines += ["", *(_coupling(given) if given.kind == "joint" else _frames(given))]
    return "\n".join([*lines, ""])


def _coupling(given: Equality) -> list[str]:
    leader = [] if given.second is None else [f"leader = {_quoted(given.second)}"]
    return [
        *("[[coupling]]", f"name = {_quoted(given.name)}"),
        *(f"follower = {_quoted(given.first or '')}", *leader),
        f"polynomial = {list(given.polynomial)!r}",
        *(f"factors.{_quoted(joint)} = {factor!r}" for joint, factor in given.factors),
    ]


def _frames(given: Equality) -> list[str]:
    rod = given.kind == "distance"
    lines = ["[[distance]]" if rod else "[[loop]]", f"name = {_quoted(given.name)}"]
    ends = (("first", given.first, given.pose_first), ("second", given.second, given.pose_second))
    for end, link, at in ends:
        lines += [f"{end} = {_quoted('world' if link is None else link)}", *_pose(end, at)]
    if rod:
        return [*lines, f"length = {given.length!r}"]
    named = given.directions
    return [*lines, f"directions = {json.dumps(named if isinstance(named, str) else list(named))}"]


def _pose(end: str, at: Rows4 | None) -> list[str]:
    if at is None:
        return []
    here = np.array(at)
    xyz, rpy = (
        [float(x) + 0.0 for x in values]
        for values in (here[:3, 3], rpy_from_rotation(here[:3, :3]))
    )
    return [f"{end}_xyz = {xyz!r}", f"{end}_rpy = {rpy!r}"]


def _quoted(name: str) -> str:
    """A name as a TOML string: JSON's escapes are TOML's."""
    return json.dumps(name)
