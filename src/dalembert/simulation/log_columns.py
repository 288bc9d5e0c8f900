"""Which column of a file is which: joints by name, quantities by a word beside it, units in brackets.

A position is ``shoulder``, ``q_shoulder``, ``shoulder_pos`` or ``shoulder/position``; velocities,
accelerations and torques need their word. ``shoulder [deg]`` states a unit, ``time [ms]`` too.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import SettingError, TrajectoryError, UnknownNameError
from dalembert.simulation.log_missing import too_few
from dalembert.simulation.log_numbered import SLOT, by_pattern, chosen, groups, key_of
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
) -> Columns:
    """The columns that belong to a system's joints; one that belongs to none is refused or ignored.

    `columns` maps names of the file to those that are understood, or quantities to patterns. With
    others=None columns of nobody are ignored where positions and torques of all joints are there.
    """
    if others not in ("refuse", "ignore", None):
        raise UnknownNameError(f"others={others!r} must be 'refuse' or 'ignore'")
    renamed, patterns = _told_apart(header, columns or {})
    search = _Search(header, _renamed(header, renamed), system, units)
    search.by_patterns(patterns)
    search.by_names(patterns)
    search.by_numbers()
    search.by_clock()
    search.settle(others)
    return search.found


class _Search:
    """Columns on their way to their owners: `left` are those that nobody has taken yet."""

    def __init__(
        self, header: Sequence[str], texts: Sequence[str], system: System, units: Units
    ) -> None:
        self.header, self.texts, self.system, self.units = header, texts, system, units
        told = [split_unit(text) for text in texts]
        self.unit = [unit for _, unit in told]
        self.left = {place: name for place, (name, _) in enumerate(told)}
        self.found = Columns()

    def take(self, quantity: str, entry: int | str, kind: str, place: int) -> None:
        """A column is an entry of a quantity, or the position of a joint that follows others."""
        text, found = self.texts[place], self.found
        factor = self.units.factor(quantity, kind, self.unit[place], text)
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
        factor = self.units.factor("time", "time", unit, text)
        found.time = Column(place, self.header[place], factor)
        found.time_stated = unit is not None or "time" in self.units.stated
        self.left.pop(place, None)

    def by_patterns(self, patterns: Mapping[str, Any]) -> None:
        """Columns that the caller chose."""
        for quantity, pattern in patterns.items():
            if quantity == "time":
                place = by_pattern("time", pattern, self.left, ("time",), self.header)[0]
                self.take_time(place, self.unit[place])
                continue
            entries, kinds = _entries(self.system, quantity)
            for k, place in by_pattern(quantity, pattern, self.left, entries, self.header).items():
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
            styles = groups(self.left, joints)
            if quantity == "tau" and self.units.currents:
                for group in styles:
                    group.quantity = "tau" if group.quantity == "current" else group.quantity
            places = chosen(styles, quantity, joints, self.header)
            if quantity == "tau" and not places and not self.units.currents:
                _refuse_currents(chosen(styles, "current", joints, self.header), self.header)
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
            said = _foreign(self.texts[place], name, system)
            raise TrajectoryError(said + too_few(name, foreign.values(), system))
        found.ignored = tuple(self.header[place] for place in foreign)


def _refuse_currents(places: Mapping[int, int], header: Sequence[str]) -> None:
    if places:
        raise TrajectoryError(
            f"column {header[places[0]]!r} and those like it are currents; give torque_constant=, "
            "N m/A, and gear= where that is the motor's (--torque-constant, --gear, --motor tau)"
        )


def _told_apart(
    header: Sequence[str], columns: Mapping[str, Any]
) -> tuple[dict[str, str], dict[str, Any]]:
    """(names of the file → names understood, quantities → patterns)."""
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
    return renamed, patterns


def _entries(system: System, quantity: str) -> tuple[tuple[str, ...], Sequence[str]]:
    """(names, kinds) of the entries of a quantity."""
    made = system.dynamics
    if quantity == "q":
        return tuple(made.coordinates), made.kinds.q
    return tuple(made.velocities), made.kinds.v


def _renamed(header: Sequence[str], renamed: Mapping[str, str]) -> list[str]:
    for name in renamed:
        if name not in header:
            raise UnknownNameError(
                f"columns: the file has no column {name!r}{suggest(name, list(header))}"
            )
    return [str(renamed.get(name, name)) for name in header]


def _known(system: System, currents: bool) -> dict[str, tuple[str, Any, str]]:
    """Key of a column → (quantity, its entry or the joint that follows, kind of that entry).

    A spelling that two joints would share is nobody's; a bare name always is its own joint's.
    """
    named = _named(system)
    found: dict[str, tuple[str, Any, str]] = {}
    shared: set[str] = set()
    for name, what in named:
        words = MOTORS if currents and what[0] == "tau" else WORDS[what[0]]
        for key in _spellings(words, name):
            if found.setdefault(key, what) != what:
                shared.add(key)
    found = {key: what for key, what in found.items() if key not in shared}
    return found | {key_of(name): what for name, what in named if what[0] == "q"}


def _named(system: System) -> list[tuple[str, tuple[str, Any, str]]]:
    """(name, (quantity, entry or joint, kind)) of everything a file may say."""
    found: list[tuple[str, tuple[str, Any, str]]] = []
    for quantity in WORDS:
        entries, kinds = _entries(system, quantity)
        found += [(name, (quantity, k, kinds[k])) for k, name in enumerate(entries)]
    for name in followers_of(system):
        tree = system.robot.model.tree  # type: ignore[union-attr]  # only robots have followers
        found.append((name, ("q", name, tree.kinds.q[tree.coordinates.index(name)])))
    return found


def _spellings(words: Sequence[str], name: str) -> set[str]:
    pairs = ((f"{word}_{name}", f"{name}_{word}") for word in words if word)
    return {key_of(text) for pair in pairs for text in pair}


def _foreign(text: str, name: str, system: System) -> str:
    """A column of nobody: which joints there are, and the one that may be meant."""
    joints = [*system.dynamics.coordinates, *followers_of(system)]
    bare = _without_words(name)
    return (
        f"column {short(text)} belongs to no joint of {system.name} (rename it by columns=, or "
        f"ignore such columns by others='ignore', --ignore-others){suggest(bare, joints)}"
    )


def _without_words(name: str) -> str:
    words: Iterable[str] = (w for own in WORDS.values() for w in own if w)
    for word in sorted(words, key=len, reverse=True):
        for pattern in (rf"^{word}[\s_.\-/:]+", rf"[\s_.\-/:]+{word}$"):
            stripped = re.sub(pattern, "", name, flags=re.IGNORECASE)
            if stripped != name:
                return visible(stripped)
    return visible(name)
