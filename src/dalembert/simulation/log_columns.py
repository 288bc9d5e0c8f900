"""Which column of a file is which: joints by name, quantities by a word beside it, units in brackets.

A position is ``shoulder``, ``q_shoulder``, ``shoulder_pos`` or ``shoulder/position``; velocities,
accelerations and torques need their word. ``shoulder [deg]`` states a unit, ``time [ms]`` too.

Columns by number or by a pattern are q1 … q7, tau_J_3, position[0], panda_joint3.effort, pos_*. A style
is a column's name with its number, or the name of a joint, taken out: ``tau_J_{}``. Columns of one
style that are as many as the joints, counted from 0 or from 1, are those of the joints in order.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import SettingError, TrajectoryError, UnknownNameError
from dalembert.simulation.log_units import SI, Units, split_unit
from dalembert.systems.system import System
from dalembert.text import short, suggest, visible

# words before or behind a joint's name; a bare name is a position
WORDS = {
    "q": ("", "q", "pos", "position", "angle"),
    "qd": ("qd", "dq", "vel", "velocity", "speed"),
    "qdd": ("qdd", "ddq", "acc", "accel", "acceleration"),
    "tau": ("tau", "torque", "effort", "force"),
}
MOTORS = (*WORDS["tau"], "current", "cur")  # of torques that are currents
TIME = ("time", "t", "timestamp", "stamp", "seconds")
KEPT = ("pose", "found")  # what `dalembert ik` writes beside the joints
CLOCK = re.compile(r"(?:^|.*_)(?:time|timestamp|stamp|t|secs?|seconds)(?:_(s|ms|us|ns))?")
NUMBER = re.compile(r"\d+(?=\D*$)")
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


class Column(NamedTuple):
    """One column of a file that is used."""

    place: int  # in the file, from 0
    name: str  # as the file has it
    factor: float  # times which its numbers are SI units


@dataclass
class Columns:
    """What the columns of a file are: entries of quantities, and joints that follow others."""

    time: Column | None = None
    entries: dict[str, dict[int, Column]] = field(default_factory=lambda: {k: {} for k in WORDS})
    following: dict[str, Column] = field(default_factory=dict)  # positions, by joint
    time_stated: bool = False  # whether a unit of time is stated
    ignored: tuple[str, ...] = ()

    def used(self) -> list[Column]:
        """All of them, in the order of the file."""
        found = [c for own in self.entries.values() for c in own.values()]
        found += [*self.following.values(), *([] if self.time is None else [self.time])]
        return sorted(found)


def followers_of(system: System) -> Mapping[str, Any]:
    """Joints that follow others, by name: `Follow` of each."""
    robot = system.robot
    return {} if robot is None else robot.model.followers


def floating_entries(system: System, entries: Sequence[str]) -> set[int]:
    """Entries of joints that are free in space: nobody drives them."""
    robot = system.robot
    free = [] if robot is None else [joint.name for joint in robot.joints if joint.kind == "free"]
    return {k for k, name in enumerate(entries) if name.rpartition("[")[0] in free}


def columns_of(
    header: Sequence[str],
    system: System,
    units: Units = SI,
    columns: Mapping[str, Any] | None = None,
    others: str | None = "refuse",
    written: Mapping[int, str] = MappingProxyType({}),
) -> Columns:
    """The columns that belong to a system's joints; one that belongs to none is refused or ignored.

    `columns` maps names of the file to those that are understood, or quantities to patterns. With
    others=None columns of nobody are ignored where positions and torques of all joints are there.
    `written` are units that the file has for its columns.
    """
    if others not in ("refuse", "ignore", None):
        raise UnknownNameError(f"others={others!r} must be 'refuse' or 'ignore'")
    texts, patterns = _renamed(header, columns or {})
    search = _Search(header, texts, system, units, written)
    search.by_patterns(patterns)
    search.by_names(patterns)
    search.by_numbers()
    search.by_clock()
    search.settle(others)
    return search.found


class _Search:
    """Columns on their way to their owners: `left` are those that nobody has taken yet."""

    def __init__(
        self,
        header: Sequence[str],
        texts: Sequence[str],
        system: System,
        units: Units,
        written: Mapping[int, str],
    ) -> None:
        self.header, self.texts, self.system, self.units = header, texts, system, units
        self.written = written
        told = [split_unit(text) for text in texts]
        self.unit = [unit for _, unit in told]
        self.left = {place: name for place, (name, _) in enumerate(told)}
        self.found = Columns()

    def take(self, quantity: str, entry: int | str, kind: str, place: int) -> None:
        """A column is an entry of a quantity, or the position of a joint that follows others."""
        text, found = self.texts[place], self.found
        factor = self.units.factor(quantity, kind, self.unit[place], text, self.written.get(place))
        own: dict[Any, Column] = (
            found.following if isinstance(entry, str) else found.entries[quantity]
        )
        if entry in own:
            raise TrajectoryError(
                f"columns {own[entry].name!r} and {text!r} say the same of {self.system.name}; "
                "leave one out"
            )
        own[entry] = Column(place, self.header[place], factor)
        self.left.pop(place, None)

    def take_time(self, place: int, unit: str | None) -> None:
        text, found = self.texts[place], self.found
        if found.time is not None:
            raise TrajectoryError(f"columns {found.time.name!r} and {text!r} are both times")
        written = self.written.get(place)
        factor = self.units.factor("time", "time", unit, text, written)
        found.time = Column(place, self.header[place], factor)
        found.time_stated = (unit or written) is not None or "time" in self.units.stated
        self.left.pop(place, None)

    def by_patterns(self, patterns: Mapping[str, Any]) -> None:
        """Columns that the caller chose."""
        for quantity, pattern in patterns.items():
            if quantity == "time":
                place = _by_pattern("time", pattern, self.left, ("time",), self.header)[0]
                self.take_time(place, self.unit[place])
                continue
            entries, kinds = _entries(self.system, quantity)
            for k, place in _by_pattern(quantity, pattern, self.left, entries, self.header).items():
                self.take(quantity, k, kinds[k], place)

    def by_names(self, settled: Container[str]) -> None:
        """Columns called by the joint, with or without a word; `settled` quantities are chosen."""
        known = _known(self.system, self.units.currents)
        for place, name in list(self.left.items()):
            key = key_of(name)
            if key in TIME and key not in known:
                if "time" not in settled:
                    self.take_time(place, self.unit[place])
            elif key in known and known[key][0] not in settled:
                self.take(*known[key], place)

    def by_numbers(self) -> None:
        """Columns by number, of quantities of which none has been found by name."""
        for quantity in WORDS:
            entries, kinds = _entries(self.system, quantity)
            own, floating = (
                set(self.found.entries[quantity]),
                floating_entries(self.system, entries),
            )
            if not self.left or (own and own != floating):
                continue
            missing = own | (floating if quantity == "tau" else set())
            numbers = [k for k in range(len(entries)) if k not in missing]
            joints = [entries[k] for k in numbers]
            styles = _groups(self.left, joints)
            if quantity == "tau" and self.units.currents:
                for group in styles:
                    group.quantity = "tau" if group.quantity == "current" else group.quantity
            places = _chosen(styles, quantity, joints, self.header)
            if quantity == "tau" and not places and not self.units.currents:
                currents = _chosen(styles, "current", joints, self.header)
                if currents:
                    raise TrajectoryError(
                        f"column {self.header[currents[0]]!r} and those like it are currents; give "
                        "torque_constant=, N m/A, and gear= where that is the motor's "
                        "(--torque-constant, --gear, --motor tau)"
                    )
            for k, place in places.items():
                self.take(quantity, numbers[k], kinds[numbers[k]], place)

    def by_clock(self) -> None:
        """A time by its last word, header.stamp or time_ms, where no column is called time."""
        if self.found.time is None:
            for place, name in list(self.left.items()):
                match = CLOCK.fullmatch(key_of(name))
                if match is not None:
                    self.take_time(place, self.unit[place] or match[1])

    def settle(self, others: str | None) -> None:
        """Columns of nobody: refused, or ignored and remembered."""
        found, system = self.found, self.system
        foreign = {place: name for place, name in self.left.items() if key_of(name) not in KEPT}
        driven = set(range(system.nv)) - floating_entries(system, system.dynamics.velocities)
        whole = driven <= set(found.entries["tau"]) and len(found.entries["q"]) == system.nq
        if foreign and (others == "refuse" or (others is None and not whole)):
            place, name = next(iter(foreign.items()))
            raise TrajectoryError(_foreign(self.texts[place], name, foreign.values(), system))
        found.ignored = tuple(self.header[place] for place in foreign)


def _renamed(header: Sequence[str], columns: Mapping[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """(names of the columns as they are understood, quantities → patterns)."""
    renamed, patterns = {}, {}
    for name, value in columns.items():
        if not isinstance(value, str | list | tuple | np.ndarray):
            raise SettingError(
                f"columns[{name!r}] is {short(value)}: a name, a pattern or a list of names is needed"
            )
        pattern = not isinstance(value, str) or SLOT in value or "*" in value
        if name in (*WORDS, "time") and (pattern or (name not in header and value in header)):
            patterns[name] = value
        elif not isinstance(value, str):
            raise UnknownNameError(f"columns: {name!r} is no quantity{suggest(name, list(WORDS))}")
        else:
            renamed[name] = value
    for name in renamed:
        if name not in header:
            raise UnknownNameError(
                f"columns: the file has no column {name!r}{suggest(name, list(header))}"
            )
    return [str(renamed.get(name, name)) for name in header], patterns


def _entries(system: System, quantity: str) -> tuple[tuple[str, ...], Sequence[str]]:
    """(names, kinds) of the entries of a quantity."""
    made = system.dynamics
    if quantity == "q":
        return tuple(made.coordinates), made.kinds.q
    return tuple(made.velocities), made.kinds.v


def _known(system: System, currents: bool) -> dict[str, tuple[str, Any, str]]:
    """Key of a column → (quantity, its entry or the joint that follows, kind of that entry).

    A spelling that two joints would share is nobody's; a bare name always is its own joint's.
    """
    named: list[tuple[str, tuple[str, Any, str]]] = []
    for quantity in WORDS:
        entries, kinds = _entries(system, quantity)
        named += [(name, (quantity, k, kinds[k])) for k, name in enumerate(entries)]
    for name in followers_of(system):
        tree = system.robot.model.tree  # type: ignore[union-attr]  # only robots have followers
        named.append((name, ("q", name, tree.kinds.q[tree.coordinates.index(name)])))
    found: dict[str, tuple[str, Any, str]] = {}
    shared: set[str] = set()
    for name, what in named:
        for word in MOTORS if currents and what[0] == "tau" else WORDS[what[0]]:
            for text in (f"{word}_{name}", f"{name}_{word}") if word else ():
                if found.setdefault(key_of(text), what) != what:
                    shared.add(key_of(text))
    found = {key: what for key, what in found.items() if key not in shared}
    return found | {key_of(name): what for name, what in named if what[0] == "q"}


def _foreign(text: str, name: str, others: Iterable[str], system: System) -> str:
    """A column of nobody: which joint may be meant, or why numbered ones like it were not taken."""
    joints, bare = system.dynamics.coordinates, name
    words = (w for own in WORDS.values() for w in own if w)
    for word in sorted(words, key=len, reverse=True):
        bare = re.sub(
            rf"^{word}[\s_.\-/:]+|[\s_.\-/:]+{word}$", "", name, count=1, flags=re.IGNORECASE
        )
        if bare != name:
            break
    said = (
        f"column {short(text)} belongs to no joint of {system.name} (rename it by columns=, or "
        "ignore such columns by others='ignore', --ignore-others)"
        f"{suggest(visible(bare), [*joints, *followers_of(system)])}"
    )
    style = NUMBER.sub("#", name)
    count = sum(NUMBER.sub("#", other) == style for other in others)
    if style == name or not 1 < count < len(joints):
        return said
    hint = lock_hint(system, joints[count:])
    return f"{said}; {count} columns like it are too few for its {len(joints)} joints{hint}"


def lock_hint(system: System, missing: Sequence[str]) -> str:
    """How to go on without some joints, where the system can hold them; else nothing."""
    joints = [name for name in missing if name in system.dynamics.velocities]
    if not joints or len(joints) < len(missing) or not hasattr(system, "with_joint_locked"):
        return ""
    calls = "".join(f".with_joint_locked({name!r}, 0.0)" for name in joints)
    words = " ".join(f"--lock {name}=0" for name in joints)
    return f"; joints that stood still may be held where they were: robot{calls}, or {words}"


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

    @property
    def words(self) -> set[str]:
        """Words of the style, without the number."""
        return set(re.findall(r"[a-z]+", self.style.casefold().replace(SLOT, " ")))

    def entries(self, count: int) -> dict[int, int] | None:
        """Places by entry from 0, where there is one for each of `count`."""
        first = 0 if 0 in self.places or self.named else 1
        if set(self.places) != set(range(first, first + count)) or self.twice:
            return None
        return {k: self.places[first + k] for k in range(count)}


def _groups(names: Mapping[int, str], joints: Sequence[str]) -> list[Group]:
    """Columns {place: name} by style, one after the other; a column may be in several."""
    found: dict[tuple[str, bool], Group] = {}
    for place, name in names.items():
        for style, shown, number, named in _styles(name, joints):
            if (style, named) not in found:
                found[style, named] = Group(shown, *_meaning(style), named)
            found[style, named].add(number, place)
    return list(found.values())


def _chosen(
    found: Sequence[Group], quantity: str, joints: Sequence[str], header: Sequence[str]
) -> dict[int, int]:
    """Places of a quantity's entries; empty where no style is complete. Two that are: an error."""
    own = [g for g in found if g.quantity == quantity and g.measured]
    whole = [g for g in own if g.entries(len(joints)) is not None]
    if quantity == "q" and not whole:  # bare: joint_1, A3
        bare = [g for g in found if g.quantity is None and g.measured and g.words <= JOINTS]
        whole = [g for g in bare if g.entries(len(joints)) is not None]
    theirs = [set(g.places.values()) for g in whole if g.named]  # panda_joint3 by its 3 is the same
    whole = [g for g in whole if g.named or set(g.places.values()) not in theirs]
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


def _by_pattern(
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
