"""Which column of a file is which: joints by name, quantities by a word beside it, units in brackets.

A position is ``shoulder``, ``q_shoulder``, ``shoulder_pos`` or ``shoulder/position``; velocities,
accelerations and torques need their word. ``shoulder [deg]`` states a unit, ``time [ms]`` too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import pi
from typing import Any, NamedTuple

from dalembert.errors import TrajectoryError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.systems.system import System
from dalembert.text import short, visible

# words before or behind a joint's name; a bare name is a position
WORDS = {
    "q": ("", "q", "pos", "position", "angle"),
    "qd": ("qd", "dq", "vel", "velocity", "speed"),
    "qdd": ("qdd", "ddq", "acc", "accel", "acceleration"),
    "tau": ("tau", "torque", "effort", "force"),
}
TIME = ("time", "t", "timestamp", "stamp", "seconds")
UNITS = {
    "angle": {"rad": 1.0, "deg": pi / 180.0, "°": pi / 180.0},
    "length": {"m": 1.0, "cm": 1e-2, "mm": 1e-3},
}
EFFORTS = {"angle": {"Nm": 1.0, "Nmm": 1e-3, "kNm": 1e3}, "length": {"N": 1.0, "kN": 1e3}}
KEPT = ("pose", "found")  # what `dalembert ik` writes beside the joints
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
PER = {"q": "", "qd": "s", "qdd": "s2"}  # what stands below the line of a unit


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

    def used(self) -> list[Column]:
        """All of them, in the order of the file."""
        found = [c for own in self.entries.values() for c in own.values()]
        found += [*self.following.values(), *([] if self.time is None else [self.time])]
        return sorted(found)


def followers_of(system: System) -> Mapping[str, Any]:
    """Joints that follow others, by name: `Follow` of each."""
    robot = system.robot
    return {} if robot is None else robot.model.followers


def columns_of(
    header: Sequence[str],
    system: System,
    degrees: bool = False,
    renamed: Mapping[str, str] | None = None,
    others: str = "refuse",
) -> Columns:
    """The columns that belong to a system's joints; one that belongs to none is refused or ignored.

    `renamed` maps names of the file to those that are understood.
    """
    if others not in ("refuse", "ignore"):
        raise UnknownNameError(f"others={others!r} must be 'refuse' or 'ignore'")
    names = _renamed(header, renamed or {})
    known, found = _known(system), Columns()
    for place, text in enumerate(names):
        name, unit = _unit(text)
        key = _key(name)
        if key in TIME and key not in known:
            if found.time is not None:
                raise TrajectoryError(f"columns {found.time.name!r} and {text!r} are both times")
            found.time = Column(place, header[place], _factor(SECONDS, unit, text))
        elif key in known:
            quantity, what, kind = known[key]
            column = Column(place, header[place], _scale(quantity, kind, unit, degrees, text))
            own: dict[Any, Column] = (
                found.following if isinstance(what, str) else found.entries[quantity]
            )
            if what in own:
                raise TrajectoryError(
                    f"columns {own[what].name!r} and {text!r} say the same of {system.name}; "
                    "leave one out"
                )
            own[what] = column
        elif others == "refuse" and key not in KEPT:
            raise TrajectoryError(_foreign(text, name, system))
    return found


def _renamed(header: Sequence[str], renamed: Mapping[str, str]) -> list[str]:
    for name in renamed:
        if name not in header:
            raise UnknownNameError(
                f"columns: the file has no column {name!r}{suggest(name, list(header))}"
            )
    return [str(renamed.get(name, name)) for name in header]


def _known(system: System) -> dict[str, tuple[str, Any, str]]:
    """Key of a column → (quantity, its entry or the joint that follows, kind of that entry).

    A spelling that two joints would share is nobody's; a bare name always is its own joint's.
    """
    named = _named(system)
    found: dict[str, tuple[str, Any, str]] = {}
    shared: set[str] = set()
    for name, what in named:
        for key in _spellings(what[0], name):
            if found.setdefault(key, what) != what:
                shared.add(key)
    found = {key: what for key, what in found.items() if key not in shared}
    return found | {_key(name): what for name, what in named if what[0] == "q"}


def _named(system: System) -> list[tuple[str, tuple[str, Any, str]]]:
    """(name, (quantity, entry or joint, kind)) of everything a file may say."""
    made = system.dynamics
    found: list[tuple[str, tuple[str, Any, str]]] = []
    for quantity in WORDS:
        place = quantity == "q"
        entries = made.coordinates if place else made.velocities
        kinds = made.kinds.q if place else made.kinds.v
        found += [(name, (quantity, k, kinds[k])) for k, name in enumerate(entries)]
    for name in followers_of(system):
        tree = system.robot.model.tree  # type: ignore[union-attr]  # only robots have followers
        found.append((name, ("q", name, tree.kinds.q[tree.coordinates.index(name)])))
    return found


def _spellings(quantity: str, name: str) -> set[str]:
    pairs = ((f"{word}_{name}", f"{name}_{word}") for word in WORDS[quantity] if word)
    return {_key(text) for pair in pairs for text in pair}


def _key(name: str) -> str:
    """Letters and numbers of a name, its parts joined by one sign."""
    return re.sub(r"[\s_.\-/:]+", "_", name.strip().casefold()).strip("_")


def _unit(text: str) -> tuple[str, str | None]:
    """(name, unit in brackets behind it); a number in brackets is part of the name."""
    found = re.fullmatch(r"(.+?)\s*[\[(]([^\[\]()]*[^\d\s\[\]()][^\[\]()]*)[\])]\s*", text)
    return (text, None) if found is None else (found[1], found[2])


def _scale(quantity: str, kind: str, unit: str | None, degrees: bool, text: str) -> float:
    """By what a column's numbers are multiplied."""
    if unit is None:
        return pi / 180.0 if degrees and kind == "angle" and quantity != "tau" else 1.0
    plain = re.sub(r"[\s·*^]", "", unit).replace("²", "2")
    if quantity == "tau":
        return _factor(EFFORTS.get(kind, {"1": 1.0}), plain, text)
    below = PER[quantity]
    known = UNITS.get(kind, {"1": 1.0})
    return _factor({f"{u}/{below}" if below else u: x for u, x in known.items()}, plain, text)


def _factor(known: Mapping[str, float], unit: str | None, text: str) -> float:
    if unit is None:
        return 1.0
    if unit not in known:
        raise TrajectoryError(f"column {text!r}: unit {unit!r} is none of {', '.join(known)}")
    return known[unit]


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
