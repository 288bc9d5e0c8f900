"""Columns of a table by name: joints, quantities by a word beside the joint, units in brackets.

A position is ``shoulder``, ``q_shoulder``, ``shoulder_pos`` or ``shoulder/position``; velocities,
accelerations and torques need their word. ``shoulder [deg]`` states a unit, ``time [ms]`` too.

Columns may also be numbered or match a pattern: q1 … q7, tau_J_3, position[0], panda_joint3.effort,
pos_*. A template is a column's name with its number, or the name of a joint, replaced by {}:
``tau_J_{}``. Columns of one template that are as many as the joints, counted from 0 or from 1, are
those of the joints in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from dalembert.errors import SettingError, TrajectoryError, UnknownNameError
from dalembert.logs.tables import QUANTITIES
from dalembert.logs.units import SI, Units
from dalembert.systems.system import System
from dalembert.text import require_known, short, suggest, visible

TIME = ("time", "t", "timestamp", "stamp", "seconds")
IK_COLUMNS = ("pose", "found")  # written by `dalembert ik` beside the joints
CLOCK = re.compile(r"(?:^|.*_)(?:time|timestamp|stamp|t|secs?|seconds)(?:_(s|ms|us|ns))?")
NUMBER = re.compile(r"\d+(?=\D*$)")
FIELD = "{}"
# a name and the unit in brackets behind it; a number in brackets is part of the name: position[0]
WITH_UNIT = re.compile(r"(.+?)\s*[\[(]([^\[\]()]*[^\d\s\[\]()][^\[\]()]*)[\])]\s*")
# words beside a joint's name or number; a bare name is a position
VOCABULARY = {
    "q": ("q", "pos", "position", "positions", "angle", "angles", "qpos"),
    "qd": ("qd", "dq", "vel", "velocity", "velocities", "speed", "speeds", "qdot", "qvel"),
    "qdd": ("qdd", "ddq", "acc", "accel", "acceleration", "accelerations", "qddot", "qacc"),
    "tau": ("tau", "torque", "torques", "effort", "efforts", "trq", "force", "forces"),
    "current": ("current", "currents", "cur", "amps", "i", "iq"),
}
QUANTITY = {word: quantity for quantity, words in VOCABULARY.items() for word in words}
# words of commands, estimates and limits, which are not measurements
NOT_MEASURED = {
    *("d", "des", "desired", "cmd", "command", "commands", "commanded", "ref", "reference"),
    *("target", "targets", "setpoint", "set", "goal", "ext", "external", "err", "error", "errors"),
    *("residual", "limit", "min", "max", "temp", "temperature", "std", "model", "predicted"),
    *("gravity", "hat", "estimate", "estimated"),
}
JOINTS = {"joint", "joints", "j", "jnt", "axis", "axes", "a", "motor", "m", "link", "dof"}


@dataclass(frozen=True, order=True)
class Column:
    """One column of a table that is used."""

    index: int  # in the table, from 0
    name: str  # in the table
    factor: float  # to SI units


@dataclass
class Columns:
    """Meaning of the columns of a table."""

    time: Column | None = None
    entries: dict[str, dict[int, Column]] = field(
        default_factory=lambda: {k: {} for k in QUANTITIES}
    )
    following: dict[str, Column] = field(default_factory=dict)  # positions of follower joints
    has_time_unit: bool = False
    ignored: tuple[str, ...] = ()


def followers_of(system: System) -> Mapping[str, Any]:
    """`Follow` of each joint that follows another, by the joint's name."""
    robot = system.robot
    return {} if robot is None else robot.model.followers


def floating_entries(system: System, names: Sequence[str]) -> set[int]:
    """Indices of the names that belong to free joints, which have no drive."""
    robot = system.robot
    free = [] if robot is None else [joint.name for joint in robot.joints if joint.kind == "free"]
    return {k for k, name in enumerate(names) if name.rpartition("[")[0] in free}


def match_columns(
    header: Sequence[str],
    system: System,
    units: Units = SI,
    columns: Mapping[str, Any] | None = None,
    others: str | None = "refuse",
    file_units: Mapping[int, str] = MappingProxyType({}),
) -> Columns:
    """The columns that belong to a system's joints.

    Parameters
    ----------
    header : sequence of str
        Names of all columns of the table.
    columns : mapping, optional
        Names of the table → names that are understood, or quantities → patterns.
    others : {"refuse", "ignore", None}
        What to do with columns that belong to no joint; None ignores them where positions and
        torques of all joints are there, and raises TrajectoryError otherwise.
    file_units : mapping
        Units that the file stores for its columns, by index.
    """
    if others not in ("refuse", "ignore", None):
        raise UnknownNameError(f"others={others!r} must be 'refuse' or 'ignore'")
    names, patterns = _rename(header, columns or {})
    matcher = _Matcher(header, names, system, units, file_units)
    for quantity, pattern in patterns.items():  # columns that the caller chose
        if quantity == "time":
            matcher.assign_time(matcher.match_pattern("time", pattern, ("time",))[0])
            continue
        entries, kinds = _entries(system, quantity)
        for k, index in matcher.match_pattern(quantity, pattern, entries).items():
            matcher.assign(quantity, k, kinds[k], index)
    known = _known_names(system, units.currents)
    for index, name in list(matcher.remaining.items()):  # named by a joint
        key = normalized(name)
        if key in TIME and key not in known:
            if "time" not in patterns:
                matcher.assign_time(index)
        elif key in known and known[key][0] not in patterns:
            matcher.assign(*known[key], index)
    matcher.match_numbers()
    # a time by its last word, header.stamp or time_ms, where no column is called time
    for index, name in [] if matcher.result.time else list(matcher.remaining.items()):
        match = CLOCK.fullmatch(normalized(name))
        if match is not None:
            matcher.assign_time(index, match[1])
    matcher.finish(others)
    return matcher.result


@dataclass
class _Matcher:
    """Assigns columns to joints; `remaining` are those not assigned yet."""

    header: Sequence[str]
    names: Sequence[str]
    system: System
    units: Units
    file_units: Mapping[int, str]
    result: Columns = field(default_factory=Columns)

    def __post_init__(self) -> None:
        self.bracket_units: list[str | None] = []
        self.remaining: dict[int, str] = {}
        for index, name in enumerate(self.names):
            match = WITH_UNIT.fullmatch(name)
            self.bracket_units.append(None if match is None else match[2])
            self.remaining[index] = name if match is None else match[1]

    def assign(self, quantity: str, entry: int | str, kind: str, index: int) -> None:
        """Make a column an entry of a quantity, or the position of a follower joint."""
        name, result, unit = self.names[index], self.result, self.bracket_units[index]
        factor = self.units.factor(quantity, kind, unit, name, self.file_units.get(index))
        own: dict[Any, Column] = result.entries[quantity]
        if isinstance(entry, str):
            own = result.following
        if entry in own:
            raise TrajectoryError(
                f"columns {own[entry].name!r} and {name!r} say the same; leave one out"
            )
        own[entry] = Column(index, self.header[index], factor)
        self.remaining.pop(index, None)

    def assign_time(self, index: int, word: str | None = None) -> None:
        """Make a column the time; `word` is a unit at the end of its name."""
        name, result = self.names[index], self.result
        if result.time is not None:
            raise TrajectoryError(f"columns {result.time.name!r} and {name!r} are both times")
        unit, file_unit = self.bracket_units[index] or word, self.file_units.get(index)
        factor = self.units.factor("time", "time", unit, name, file_unit)
        result.time = Column(index, self.header[index], factor)
        result.has_time_unit = (unit or file_unit) is not None or "time" in self.units.stated
        self.remaining.pop(index, None)

    def match_numbers(self) -> None:
        """Numbered columns, of quantities without columns by name."""
        for quantity in QUANTITIES:
            entries, kinds = _entries(self.system, quantity)
            own = set(self.result.entries[quantity])
            floating = floating_entries(self.system, entries)
            if not self.remaining or (own and own != floating):
                continue
            missing = own | (floating if quantity == "tau" else set())
            numbers = [k for k in range(len(entries)) if k not in missing]
            joints = [entries[k] for k in numbers]
            series = _numbered_series(self.remaining, joints)
            if quantity == "tau" and self.units.currents:
                for one in series:
                    one.quantity = "tau" if one.quantity == "current" else one.quantity
            indices = self.complete_series(series, quantity, joints)
            if quantity == "tau" and not indices and not self.units.currents:
                currents = self.complete_series(series, "current", joints)
                if currents:
                    raise TrajectoryError(
                        f"column {self.header[currents[0]]!r} and those like it are currents; give "
                        "torque_constant=, N m/A, and gear= where that is the motor's "
                        "(--torque-constant, --gear, --motor tau)"
                    )
            for k, index in indices.items():
                self.assign(quantity, numbers[k], kinds[numbers[k]], index)

    def match_pattern(
        self, quantity: str, pattern: str | Sequence[str], joints: Sequence[str]
    ) -> dict[int, int]:
        """Indices of the entries chosen by a pattern, or by a list of names in the joints' order."""
        header = self.header
        if not isinstance(pattern, str) or (FIELD not in pattern and "*" not in pattern):
            chosen = [pattern] if isinstance(pattern, str) else [str(x) for x in pattern]
            missing = [name for name in chosen if name not in header]
            if missing or len(chosen) != len(joints) or len(set(chosen)) != len(chosen):
                count = f"these are {len(chosen)} names"
                reason = f"no column is called {missing[0]!r}" if missing else count
                raise TrajectoryError(
                    f"columns[{quantity!r}]: {reason}; {len(joints)} different columns are needed, one "
                    f"for each of {', '.join(joints)}"
                )
            return {k: list(header).index(name) for k, name in enumerate(chosen)}
        parts = re.split(r"\{\}|\*", pattern)
        expression = re.compile("(.+?)".join(map(re.escape, parts)), re.IGNORECASE)
        keys = {normalized(joint): k for k, joint in enumerate(joints)}
        by_number = _Series(pattern, quantity, True, False)
        by_joint = _Series(pattern, quantity, True, True)
        for index, name in self.remaining.items():
            match = expression.fullmatch(name) or expression.fullmatch(header[index])
            text = match[1] if match else ""
            if re.fullmatch(r"[0-9]{1,6}", text):
                by_number.add(int(text), index)
            elif normalized(text) in keys:
                by_joint.add(keys[normalized(text)], index)
        for series in (by_joint, by_number):
            if (entries := series.entries(len(joints))) is not None:
                return entries
            self.require_unambiguous(series, joints)
        matches = [header[k] for series in (by_joint, by_number) for k in series.indices.values()]
        raise TrajectoryError(
            f"columns[{quantity!r}]: {pattern!r} fits {short(', '.join(matches) or 'nothing')}; "
            f"{len(joints)} columns are needed, with numbers from 0 or 1 or with the joints' names"
        )

    def complete_series(
        self, series: Sequence[_Series], quantity: str, joints: Sequence[str]
    ) -> dict[int, int]:
        """Indices of a quantity's entries; empty where no series is complete; two are an error."""
        count = len(joints)
        own = [s for s in series if s.quantity == quantity and s.is_measured]
        complete = [s for s in own if s.entries(count) is not None]
        if quantity == "q" and not complete:  # bare: joint_1, A3
            bare = [s for s in series if s.quantity is None and s.is_measured]
            bare = [s for s in bare if set(_words(s.template.casefold())) <= JOINTS]
            complete = [s for s in bare if s.entries(count) is not None]
        by_joint = [set(s.indices.values()) for s in complete if s.by_joint]
        # panda_joint3 by its number 3 is the same column
        complete = [s for s in complete if s.by_joint or set(s.indices.values()) not in by_joint]
        if len(complete) > 1:
            first, second = (s.template for s in complete[:2])
            raise TrajectoryError(
                f"columns {first!r} and {second!r} may both be {quantity}; choose by columns="
            )
        if not complete:
            for one in own:
                self.require_unambiguous(one, joints)
            return {}
        if not complete[0].by_joint:
            # the joints' own numbers may be in another order than the joints
            matches = [re.findall(r"[0-9]+", joint) for joint in joints]
            numbers = [int(match[-1]) for match in matches if match]
            if len(set(numbers)) == count and numbers != sorted(numbers):
                raise TrajectoryError(
                    f"columns {complete[0].template!r}: is 1 the first joint, {joints[0]!r}, or the "
                    f"one with that number, of {', '.join(joints)}? Name columns by joints, or say by "
                    "columns="
                )
        return complete[0].entries(count) or {}

    def require_unambiguous(self, series: _Series, joints: Sequence[str]) -> None:
        """Raise TrajectoryError for duplicates, and for consecutive columns that exceed the joints."""
        if series.duplicate:
            first, second = (self.header[index] for index in series.duplicate)
            raise TrajectoryError(f"columns {first!r} and {second!r} say the same; leave one out")
        numbers, count = sorted(series.indices), len(joints)
        if not numbers or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
            return
        if len(numbers) <= count or numbers[0] > 1:
            return
        names = [self.header[series.indices[k]] for k in numbers]
        choices = f"{names[0]} … {names[count - 1]} or {names[-count]} … {names[-1]}"
        raise TrajectoryError(
            f"columns {series.template!r} are {len(numbers)}, and there are {count} joints: {choices}? "
            f"Say by columns={{{series.quantity!r}: [names in the order of the joints]}}"
        )

    def finish(self, others: str | None) -> None:
        """Refuse the remaining columns, or list them as ignored."""
        result, system = self.result, self.system
        unknown = [k for k, name in self.remaining.items() if normalized(name) not in IK_COLUMNS]
        driven = set(range(system.nv)) - floating_entries(system, system.dynamics.velocities)
        complete = driven <= set(result.entries["tau"]) and len(result.entries["q"]) == system.nq
        if not unknown or others == "ignore" or (others is None and complete):
            result.ignored = tuple(self.header[index] for index in unknown)
            return
        # the joint nearest to the first of them, and whether its numbers are too few
        joints, name = system.dynamics.coordinates, self.remaining[unknown[0]]
        bare = name
        for word in sorted(QUANTITY, key=len, reverse=True):
            pattern = rf"^{word}[\s_.\-/:]+|[\s_.\-/:]+{word}$"
            bare = re.sub(pattern, "", name, count=1, flags=re.IGNORECASE)
            if bare != name:
                break
        message = (
            f"column {short(self.names[unknown[0]])} belongs to no joint of {system.name} (rename it "
            "by columns=, or ignore such columns by others='ignore', --ignore-others)"
            f"{suggest(visible(bare), [*joints, *followers_of(system)])}"
        )
        template = NUMBER.sub("#", name)
        count = sum(NUMBER.sub("#", self.remaining[k]) == template for k in unknown)
        if template != name and 1 < count < len(joints):
            hint = lock_hint(system, joints[count:])
            message += f"; {count} columns like it are too few for its {len(joints)} joints{hint}"
        raise TrajectoryError(message)


def _rename(header: Sequence[str], columns: Mapping[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """(names of the columns after the caller's renaming, quantity → pattern)."""
    renamed, patterns = {}, {}
    for name, value in columns.items():
        if not isinstance(value, str | list | tuple | np.ndarray):
            raise SettingError(
                f"columns[{name!r}] is {short(value)}, and must be a name, a pattern or a list"
            )
        is_pattern = not isinstance(value, str) or FIELD in value or "*" in value
        if name in (*QUANTITIES, "time") and (
            is_pattern or (name not in header and value in header)
        ):
            patterns[name] = value
        elif isinstance(value, str):
            renamed[name] = value
        else:
            require_known(name, QUANTITIES, "columns: there is no quantity")
    for name in renamed:
        require_known(name, header, "columns: no column")
    return [str(renamed.get(name, name)) for name in header], patterns


def _entries(system: System, quantity: str) -> tuple[tuple[str, ...], Sequence[str]]:
    """(names, kinds) of the entries of a quantity."""
    dynamics = system.dynamics
    if quantity == "q":
        return tuple(dynamics.coordinates), dynamics.kinds.q
    return tuple(dynamics.velocities), dynamics.kinds.v


def _known_names(system: System, currents: bool) -> dict[str, tuple[str, Any, str]]:
    """Normalized name of a column → (quantity, entry or follower joint, kind of the entry).

    Spellings that two joints share are left out; a bare joint name is always that joint's position.
    """
    named: list[tuple[str, tuple[str, Any, str]]] = []
    for quantity in QUANTITIES:
        entries, kinds = _entries(system, quantity)
        named += [(name, (quantity, k, kinds[k])) for k, name in enumerate(entries)]
    for name in followers_of(system):
        tree = system.robot.model.tree  # type: ignore[union-attr]  # only robots have followers
        named.append((name, ("q", name, tree.kinds.q[tree.coordinates.index(name)])))
    known: dict[str, tuple[str, Any, str]] = {}
    shared: set[str] = set()
    for name, meaning in named:
        has_currents = currents and meaning[0] == "tau"
        words = VOCABULARY[meaning[0]] + (VOCABULARY["current"] if has_currents else ())
        for text in (text for word in words for text in (f"{word}_{name}", f"{name}_{word}")):
            if known.setdefault(normalized(text), meaning) != meaning:
                shared.add(normalized(text))
    known = {key: meaning for key, meaning in known.items() if key not in shared}
    return known | {normalized(name): meaning for name, meaning in named if meaning[0] == "q"}


def lock_hint(system: System, missing: Sequence[str]) -> str:
    """How to lock the joints that a log does not have; "" where the system cannot."""
    joints = [name for name in missing if name in system.dynamics.velocities]
    if not joints or len(joints) < len(missing) or not hasattr(system, "with_joint_locked"):
        return ""
    calls = "".join(f".with_joint_locked({name!r}, 0.0)" for name in joints)
    options = " ".join(f"--lock {name}=0" for name in joints)
    return f"; joints that stood still may be held where they were: robot{calls}, or {options}"


@dataclass
class _Series:
    """Columns of one template: indices in the table by number, or by the joint's index."""

    template: str  # in the file's spelling, with {} for the number
    quantity: str | None
    is_measured: bool
    by_joint: bool  # by names of joints, not by numbers
    indices: dict[int, int] = field(default_factory=dict)
    duplicate: tuple[int, int] | None = None

    def add(self, number: int, index: int) -> None:
        if number in self.indices:
            self.duplicate = (self.indices[number], index)
        self.indices[number] = index

    def entries(self, count: int) -> dict[int, int] | None:
        """Indices by entry from 0, where there is one for each of `count`."""
        first = 0 if 0 in self.indices or self.by_joint else 1
        if set(self.indices) != set(range(first, first + count)) or self.duplicate:
            return None
        return {k: self.indices[first + k] for k in range(count)}


def _numbered_series(names: Mapping[int, str], joints: Sequence[str]) -> list[_Series]:
    """Columns {index: name} grouped by template; a column may be in several groups."""
    series: dict[tuple[str, bool], _Series] = {}
    for index, name in names.items():
        for template, spelling, number, by_joint in _templates(name, joints):
            if (template, by_joint) not in series:
                words = _words(template)
                quantities = {QUANTITY[w] for w in words if w in QUANTITY}
                if len(quantities) == 2:  # q_vel_1, joint position speed
                    quantities -= {"q"}
                quantity = quantities.pop() if len(quantities) == 1 else None
                for word, derivative in {"dot": "qd", "ddot": "qdd", "dotdot": "qdd"}.items():
                    if word in words and quantity == "q":
                        quantity = derivative
                is_measured = not NOT_MEASURED & set(words) and not quantities
                series[template, by_joint] = _Series(spelling, quantity, is_measured, by_joint)
            series[template, by_joint].add(number, index)
    return list(series.values())


def normalized(name: str) -> str:
    """A name in lower case, its parts joined by underscores.

    >>> normalized("/Panda.Joint-1/ position")
    'panda_joint_1_position'
    """
    return re.sub(r"[\s_.\-/:]+", "_", name.strip().casefold()).strip("_")


def _words(template: str) -> list[str]:
    return re.findall(r"[a-z]+", template.replace(FIELD, " "))


def _templates(name: str, joints: Sequence[str]) -> Iterator[tuple[str, str, int, bool]]:
    """(template, in the file's spelling, number, whether the number is that of a joint's name)."""
    key = normalized(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name))
    spans = [m.span() for m in re.finditer(r"[0-9]{1,6}", name)]
    for match, (a, b) in zip(re.finditer(r"[0-9]{1,6}", key), spans, strict=False):
        template = key[: match.start()] + FIELD + key[match.end() :]
        yield template, f"{name[:a]}{FIELD}{name[b:]}", int(match[0]), False
    plain = normalized(name)
    for k, joint in enumerate(joints):
        part = re.search(rf"(?:^|_){re.escape(normalized(joint))}(?=_|$)", plain)
        if part is not None and part[0] != plain:
            lead = "_" if part[0].startswith("_") else ""
            template = plain[: part.start()] + lead + FIELD + plain[part.end() :]
            yield template, template, k, True
    if len(joints) == 1 and key in QUANTITY:
        yield key, name, 0, False
