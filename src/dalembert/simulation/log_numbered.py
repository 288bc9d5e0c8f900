"""Columns by number or by a pattern: q1 … q7, tau_J_3, position[0], panda_joint3.effort, pos_*.

A style is a column's name with its number, or the name of a joint, taken out: ``tau_J_{}``. Columns of
one style that are as many as the joints, counted from 0 or from 1, are those of the joints in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dalembert.errors import TrajectoryError
from dalembert.text import short

SLOT = "{}"
VOCABULARY = {
    "q": ("q", "pos", "position", "positions", "angle", "angles", "qpos"),
    "qd": ("qd", "dq", "vel", "velocity", "velocities", "speed", "speeds", "qdot", "qvel"),
    "qdd": ("qdd", "ddq", "acc", "accel", "acceleration", "accelerations", "qddot", "qacc"),
    "tau": ("tau", "torque", "torques", "effort", "efforts", "trq", "force", "forces"),
    "current": ("current", "currents", "cur", "amps", "i", "iq"),
}
QUANTITY = {word: quantity for quantity, words in VOCABULARY.items() for word in words}
# of commands, estimates and limits: what a controller wanted is not what was measured
WANTED = {
    *("d", "des", "desired", "cmd", "command", "commands", "commanded", "ref", "reference"),
    *("target", "targets", "setpoint", "set", "goal", "ext", "external", "err", "error", "errors"),
    *("residual", "limit", "min", "max", "temp", "temperature", "std", "model", "predicted"),
    *("gravity", "hat", "estimate", "estimated"),
}
JOINTS = {"joint", "joints", "j", "jnt", "axis", "axes", "a", "motor", "m", "link", "dof"}


@dataclass
class Group:
    """Columns of one style: places in the file by number or by the joint's place."""

    style: str  # as the file has it, with {} in the place of numbers
    quantity: str | None
    measured: bool
    named: bool  # by joints, not by numbers
    places: dict[int, int] = field(default_factory=dict)
    twice: tuple[int, int] | None = None

    def add(self, number: int, place: int) -> None:
        if number in self.places:
            self.twice = (self.places[number], place)
        self.places[number] = place

    def entries(self, count: int) -> dict[int, int] | None:
        """Places by entry from 0, where there is one for each of `count`."""
        first = 0 if 0 in self.places or self.named else 1
        if set(self.places) != set(range(first, first + count)) or self.twice:
            return None
        return {k: self.places[first + k] for k in range(count)}


def groups(names: Mapping[int, str], joints: Sequence[str]) -> list[Group]:
    """Columns {place: name} by style, one after the other; a column may be in several."""
    found: dict[tuple[str, bool], Group] = {}
    for place, name in names.items():
        for style, shown, number, named in _styles(name, joints):
            if (style, named) not in found:
                found[style, named] = Group(shown, *_meaning(style), named)
            found[style, named].add(number, place)
    return list(found.values())


def chosen(
    found: Sequence[Group], quantity: str, joints: Sequence[str], header: Sequence[str]
) -> dict[int, int]:
    """Places of a quantity's entries; empty where no style is complete. Two that are: an error."""
    own = [g for g in found if g.quantity == quantity and g.measured]
    whole = [g for g in own if g.entries(len(joints)) is not None]
    if quantity == "q" and not whole:  # bare: joint_1, A3
        bare = [g for g in found if g.quantity is None and g.measured and _is_bare(g.style)]
        whole = [g for g in bare if g.entries(len(joints)) is not None]
    named = [g for g in whole if g.named]
    same = [g for g in whole if not g.named and _is_same(g, named)]  # panda_joint3 by its 3
    whole = [g for g in whole if g not in same]
    if len(whole) > 1:
        first, second = (g.style for g in whole[:2])
        raise TrajectoryError(
            f"columns {first!r} and {second!r} may both be {quantity}; say which by "
            f"columns={{{quantity!r}: {first!r}}}"
        )
    if whole:
        if not whole[0].named:
            _refuse_other_order(whole[0], joints)
        return whole[0].entries(len(joints)) or {}
    for group in own:
        _refuse_odd(group, joints, header)
    return {}


def by_pattern(
    quantity: str,
    pattern: str | Sequence[str],
    names: Mapping[int, str],
    joints: Sequence[str],
    header: Sequence[str],
) -> dict[int, int]:
    """Places of the entries that a pattern, or a list of names in the joints' order, says."""
    if not isinstance(pattern, str):
        return _listed(quantity, [str(x) for x in pattern], joints, header)
    if SLOT not in pattern and "*" not in pattern:
        return _listed(quantity, [pattern], joints, header)
    parts = re.split(r"\{\}|\*", pattern)
    form = re.compile("(.+?)".join(map(re.escape, parts)), re.IGNORECASE)
    keys = {key_of(joint): k for k, joint in enumerate(joints)}
    numbers, named = Group(pattern, quantity, True, False), Group(pattern, quantity, True, True)
    for place, name in names.items():
        match = form.fullmatch(name) or form.fullmatch(header[place])
        text = match[1] if match else ""
        if re.fullmatch(r"[0-9]{1,6}", text):
            numbers.add(int(text), place)
        elif key_of(text) in keys:
            named.add(keys[key_of(text)], place)
    for group in (named, numbers):
        if (entries := group.entries(len(joints))) is not None:
            return entries
        _refuse_odd(group, joints, header)
    have = ", ".join(header[p] for g in (named, numbers) for p in g.places.values()) or "nothing"
    raise TrajectoryError(
        f"columns[{quantity!r}]: {pattern!r} fits {short(have)}; {len(joints)} columns are needed, "
        "with numbers from 0 or 1 or with the joints' names"
    )


def key_of(name: str) -> str:
    """Letters and numbers of a name, its parts joined by one sign.

    >>> key_of("/Panda.Joint-1/ position")
    'panda_joint_1_position'
    """
    return re.sub(r"[\s_.\-/:]+", "_", name.strip().casefold()).strip("_")


def _listed(
    quantity: str, wanted: Sequence[str], joints: Sequence[str], header: Sequence[str]
) -> dict[int, int]:
    missing = [name for name in wanted if name not in header]
    if missing or len(wanted) != len(joints) or len(set(wanted)) != len(wanted):
        why = f"no column is called {missing[0]!r}" if missing else f"these are {len(wanted)} names"
        raise TrajectoryError(
            f"columns[{quantity!r}]: {why}; {len(joints)} different columns are needed, one for each "
            f"of {', '.join(joints)}"
        )
    return {k: list(header).index(name) for k, name in enumerate(wanted)}


def _styles(name: str, joints: Sequence[str]) -> Iterator[tuple[str, str, int, bool]]:
    """(style, as the file has it, number, whether a joint's name is the number)."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    key = key_of(words)
    shown = [m.span() for m in re.finditer(r"[0-9]{1,6}", name)]
    for match, (a, b) in zip(re.finditer(r"[0-9]{1,6}", key), shown, strict=False):
        style = key[: match.start()] + SLOT + key[match.end() :]
        yield style, f"{name[:a]}{SLOT}{name[b:]}", int(match[0]), False
    plain = key_of(name)
    for k, joint in enumerate(joints):
        part = re.search(rf"(?:^|_){re.escape(key_of(joint))}(?=_|$)", plain)
        if part is not None and part[0] != plain:
            lead = "_" if part[0].startswith("_") else ""
            style = plain[: part.start()] + lead + SLOT + plain[part.end() :]
            yield style, style, k, True
    if len(joints) == 1 and key in QUANTITY:
        yield key, name, 0, False


def _meaning(style: str) -> tuple[str | None, bool]:
    """(quantity, whether it was measured) by the words of a style."""
    words = re.findall(r"[a-z]+", style.replace(SLOT, " "))
    told = {QUANTITY[w] for w in words if w in QUANTITY}
    if len(told) == 2:  # q_vel_1, joint position speed
        told -= {"q"}
    quantity = told.pop() if len(told) == 1 else None
    dots = {"dot": 1, "ddot": 2, "dotdot": 2}
    for word, order in dots.items():
        if word in words and quantity == "q":
            quantity = ("qd", "qdd")[order - 1]
    return quantity, not WANTED & set(words) and not told


def _is_same(group: Group, others: Sequence[Group]) -> bool:
    return any(set(group.places.values()) == set(other.places.values()) for other in others)


def _is_bare(style: str) -> bool:
    return set(re.findall(r"[a-z]+", style.casefold().replace(SLOT, " "))) <= JOINTS


def _refuse_odd(group: Group, joints: Sequence[str], header: Sequence[str]) -> None:
    """Columns counted on without a gap, but more than the joints: both readings are named."""
    if group.twice:
        first, second = (header[place] for place in group.twice)
        raise TrajectoryError(f"columns {first!r} and {second!r} say the same; leave one out")
    numbers, count = sorted(group.places), len(joints)
    even = numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else False
    if not even or len(numbers) <= count or numbers[0] > 1:
        return
    names = [header[group.places[k]] for k in numbers]
    either = f"{names[0]} … {names[count - 1]} or {names[-count]} … {names[-1]}"
    raise TrajectoryError(
        f"columns {group.style!r} are {len(numbers)}, and there are {count} joints: {either}? Say by "
        f"columns={{{group.quantity!r}: [names in the order of the joints]}}"
    )


def _refuse_other_order(group: Group, joints: Sequence[str]) -> None:
    """Joints whose names are numbered in another order than they stand: a number says which?"""
    own = [re.findall(r"[0-9]+", joint) for joint in joints]
    numbers = [int(found[-1]) for found in own if found]
    if len(set(numbers)) == len(joints) and numbers != sorted(numbers):
        raise TrajectoryError(
            f"columns {group.style!r}: is 1 the first joint, {joints[0]!r}, or the one with that "
            f"number, of {', '.join(joints)}? Name columns by joints, or say by columns="
        )
