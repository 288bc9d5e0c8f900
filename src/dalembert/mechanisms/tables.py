"""The tables of a TOML file as a mechanism: each is a call of a builder, checked with line numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import Parameter, signature
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from dalembert.errors import DalembertError, ImportFileError, ModelError
from dalembert.formulations.registry import suggest
from dalembert.importers.safe_parsing import MAX_TOML_BYTES, parse_toml, read_file
from dalembert.mechanisms.motions import MOTIONS
from dalembert.model.joint import equivalent_name
from dalembert.model.validation import LARGEST
from dalembert.systems.bodies.planar import JOINTS as PLANAR_JOINTS
from dalembert.systems.bodies.space import PLANAR, SPATIAL
from dalembert.systems.bodies.spatial import JOINTS as SPATIAL_JOINTS
from dalembert.text import short

if TYPE_CHECKING:
    from dalembert.mechanisms.mechanism import Mechanism

TABLES = ("body", "joint", "driver", "spring", "damper", "actuator", "force", "torque")
LONGEST = 1000  # characters of a message
HEADER = re.compile(r"\s*\[\[?\s*([\w-]+)\s*\]\]?")
KEY = re.compile(r"\s*([\w-]+)\s*=")
# far beyond any mechanism; larger files are refused before they are parsed
MAX_PARTS = 5000


@dataclass(frozen=True)
class Source:
    """The text of a file, for errors with line numbers."""

    file: str | None
    text: str

    def line(self, table: str | None, number: int = 0, key: str | None = None) -> int | None:
        """Line of a key in the n-th table of a name, or of the table itself."""
        section = None if table is None else (table, number)
        here, start, counts = None, None, Counter[str]()
        for k, text in enumerate(self.text.splitlines(), 1):
            header, entry = HEADER.match(text), KEY.match(text)
            if header and "=" not in text.partition("]")[0]:
                here = header[1], counts[header[1]]
                counts[header[1]] += 1
                start = k if here == section else start
            elif here == section and entry and entry[1] == key:
                return k
        return start

    def fail(
        self, message: str, table: str | None = None, number: int = 0, key: str | None = None
    ) -> NoReturn:
        """Raise an error with file and line; long messages are cut."""
        message = message if len(message) <= LONGEST else f"{message[: LONGEST - 1]}…"
        raise ImportFileError(message, self.file, self.line(table, number, key)) from None


def build(source: str | Path, kinds: Mapping[str, type[Mechanism]]) -> Mechanism:
    """The mechanism of a TOML file or text, of one of these `kinds`."""
    at = source_of(source)
    data = parsed(at)
    kind, name = data.pop("kind", PLANAR.name), data.pop("name", "mechanism")
    if kind not in (PLANAR.name, SPATIAL.name):
        at.fail(f"kind must be 'planar' or 'spatial', not {kind!r}", None, 0, "kind")
    if kind not in kinds:
        raise ModelError(f"{at.file or 'the text'}: it holds a {kind} mechanism")
    gravity = [data.pop("gravity")] if "gravity" in data else []
    try:
        mechanism = kinds[kind](str(name), *gravity)
    except DalembertError as error:
        at.fail(str(error), None, 0, "gravity")
    ground = data.pop("ground", {})
    if not isinstance(ground, dict):
        at.fail("write [ground], with one key for each point", None, 0, "ground")
    _call(at, mechanism.ground, ground, "ground", 0)
    for table in TABLES:
        rows = data.pop(table, [])
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            at.fail(f"write [[{table}]], one for each {table}", table)
        for number, row in enumerate(rows):
            _add(at, mechanism, table, number, dict(row))
    if data:
        name = next(iter(data))
        known = ["name", "kind", "gravity", "ground", *TABLES]
        at.fail(f"unknown table or key {name!r}{suggest(name, known)}", None, 0, name)
    return mechanism


def source_of(source: str | Path) -> Source:
    if isinstance(source, str) and "\n" in source:
        if len(source) > MAX_TOML_BYTES:
            raise ImportFileError(
                f"a text of {len(source):,} characters; the limit is {MAX_TOML_BYTES:,}"
            )
        return Source(None, source)
    if not isinstance(source, str | PathLike):
        raise ImportFileError(f"give a path or TOML text, not {type(source).__name__}")
    path = Path(source)
    try:
        text = read_file(path, MAX_TOML_BYTES).decode("utf-8")
    except UnicodeDecodeError:
        raise ImportFileError("is not a text file in UTF-8", str(path)) from None
    return Source(str(path), text.replace("\r\n", "\n"))


def parsed(at: Source) -> dict[str, Any]:
    """The data of the text; too large files are refused."""
    data = parse_toml(at.text, at.file)
    _require_finite(at, data)
    parts = sum(len(data[table]) for table in TABLES if isinstance(data.get(table), list))
    if parts > MAX_PARTS:
        raise ImportFileError(f"{parts:,} bodies, joints and so on; the limit is {MAX_PARTS:,}")
    return data


def _require_finite(at: Source, data: Any, where: str = "the file") -> None:
    """An error for nan, inf and numbers whose size or inverse overflows."""
    if isinstance(data, dict | list):
        entries = data.items() if isinstance(data, dict) else ((where, x) for x in data)
        for key, value in entries:
            _require_finite(at, value, str(key))
    elif isinstance(data, int | float) and data and not 1 / LARGEST <= abs(data) <= LARGEST:
        line = next((k for k, x in enumerate(at.text.splitlines(), 1) if where in x), None)
        raise ImportFileError(
            f"{short(where)}: {short(data)} is no number of a mechanism", at.file, line
        )


def _add(at: Source, mechanism: Mechanism, table: str, number: int, row: dict[str, Any]) -> None:
    if table == "joint":
        joints = PLANAR_JOINTS if mechanism.description.space.dimension == 2 else SPATIAL_JOINTS
        type_name = row.pop("type", None)
        kind = equivalent_name(type_name, joints)
        label = f"joint {row.get('name')!r}"
        if kind is None:
            hint = suggest(str(type_name), list(joints))
            at.fail(f"{label}: no joint type {type_name!r}{hint}", table, number, "type")
        ends = row.pop("between", None)
        if not isinstance(ends, list) or len(ends) != 2:
            at.fail(f"{label} needs between = [end, end]", table, number, "between")
        method = getattr(mechanism, kind, None) or partial(mechanism.joint, kind)
        a, b = (tuple(end) if isinstance(end, list) and len(end) == 2 else end for end in ends)
        _call(at, method, {**row, "a": a, "b": b}, table, number)
    elif table == "driver":
        own = ("name", "on", "between")
        numbers = {k: v for k, v in row.items() if k not in own}
        kind = numbers.pop("motion", None)
        if not isinstance(kind, str) or kind not in MOTIONS:
            hint = suggest(str(kind), list(MOTIONS))
            at.fail(f"no motion {kind!r}{hint}", table, number, "motion")
        motion = _call(at, MOTIONS[kind], numbers, table, number)
        driver = {k: v for k, v in row.items() if k in own}
        _call(at, mechanism.drive, {**driver, "motion": motion}, table, number)
    else:
        _call(at, getattr(mechanism, table), row, table, number)


def _call(
    at: Source, function: Callable[..., Any], row: Mapping[str, Any], table: str, number: int
) -> Any:
    """Call with checked keys; errors name the line."""
    parameters = signature(function).parameters
    open_ended = any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values())
    label = f"{table} {row['name']!r}" if "name" in row else table
    for key in row:
        if key not in parameters and not open_ended:
            hint = suggest(key, list(parameters))
            at.fail(f"{label}: unknown key {key!r}{hint}", table, number, key)
        annotation = str(parameters[key].annotation) if key in parameters else "Any"
        words, fits = TYPES.get(annotation.removesuffix(" | None"), ("", None))
        if fits is not None and not fits(row[key]):
            message = f"{label}: {key} must be {words}, not {short(row[key])}"
            at.fail(message, table, number, key)
    for key, x in parameters.items():
        required = x.default is Parameter.empty and x.kind is not Parameter.VAR_KEYWORD
        if required and key not in row:
            at.fail(f"{label} needs {key!r}", table, number)
    try:
        return function(**row)
    except (DalembertError, TypeError, ValueError, AttributeError, LookupError) as error:
        message = str(error) if isinstance(error, DalembertError) else f"{label}: {error}"
        # the key that the message names, if any; ends of joints are under `between`
        own = {key: x for key, x in row.items() if key not in ("name", "a", "b")}
        keys = [key for key, x in own.items() if isinstance(x, str) and repr(x) in message]
        keys += [key for key in own if re.search(rf"\b{re.escape(key)}\b", message)]
        keys += ["between"] if "a" in row and "body" in message else []
        at.fail(message, table, number, keys[0] if keys else None)


def _numbers(value: object) -> bool:
    if isinstance(value, list):
        return all(map(_numbers, value))
    return isinstance(value, int | float) and not isinstance(value, bool)


# types in annotations of builders and motions that TOML has
TYPES: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "float": ("a number", lambda value: not isinstance(value, list) and _numbers(value)),
    "str": ("text", lambda value: isinstance(value, str)),
    "bool": ("true or false", lambda value: isinstance(value, bool)),
    "Value": ("a number or a list of numbers", _numbers),
    "tuple[float, float]": ("two numbers", lambda v: _numbers(v) and np.shape(v) == (2,)),
    "Mapping[str, Any]": ("a table", lambda value: isinstance(value, dict)),
}
