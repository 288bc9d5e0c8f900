"""The tables of a TOML file as a mechanism: each is a call of a builder, checked with line numbers."""

from __future__ import annotations

import re
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
from dalembert.importers.toml_read import MAX_BYTES, parse_toml
from dalembert.importers.xml_read import read_file
from dalembert.mechanisms.motions import MOTIONS
from dalembert.model.check import LARGEST
from dalembert.model.joint import known_as
from dalembert.systems.bodies.planar import JOINTS as PLANAR_JOINTS
from dalembert.systems.bodies.space import PLANAR, SPATIAL
from dalembert.systems.bodies.spatial import JOINTS as SPATIAL_JOINTS
from dalembert.text import short

if TYPE_CHECKING:
    from dalembert.mechanisms.analysis import Analysis

TABLES = ("body", "joint", "driver", "spring", "damper", "actuator", "force", "torque")
LONGEST = 1000  # letters of a message
HEADER = re.compile(r"\s*\[\[?\s*([\w-]+)\s*\]\]?")
KEY = re.compile(r"\s*([\w-]+)\s*=")
# far beyond any mechanism; what is larger is refused before it is parsed
MAX_PARTS = 5000


@dataclass(frozen=True)
class Source:
    """The text of a file, to say where something stands."""

    file: str | None
    text: str

    def line(self, table: str | None, number: int = 0, key: str | None = None) -> int | None:
        """Line of a key in the n-th table of a name, or of the table itself."""
        current, count, start = None, -1, None
        for k, text in enumerate(self.text.splitlines(), 1):
            header = HEADER.match(text)
            if header and "=" not in text.partition("]")[0]:
                current = header[1]
                count += current == table
                if current == table and count == number:
                    start = k
                continue
            here = current == table and (table is None or count == number)
            found = KEY.match(text)
            if here and key is not None and found and found[1] == key:
                return k
        return start

    def fail(
        self, message: str, table: str | None = None, number: int = 0, key: str | None = None
    ) -> NoReturn:
        """An error with file and line; of a message full of somebody's words, the beginning."""
        message = message if len(message) <= LONGEST else f"{message[: LONGEST - 1]}…"
        raise ImportFileError(message, self.file, self.line(table, number, key)) from None


def build(source: str | Path, kinds: Mapping[str, type[Analysis]]) -> Analysis:
    """The mechanism in a TOML file, or in a text that holds one, of one of these `kinds`."""
    at = source_of(source)
    data = parsed(at)
    made = _empty(at, data, kinds)
    ground = data.pop("ground", {})
    if not isinstance(ground, dict):
        at.fail("write [ground], with one key for each point", None, 0, "ground")
    _call(at, made.ground, ground, "ground", 0)
    for table in TABLES:
        rows = data.pop(table, [])
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            at.fail(f"write [[{table}]], one for each {table}", table)
        for number, row in enumerate(rows):
            _add(at, made, table, number, dict(row))
    if data:
        name = next(iter(data))
        known = ["name", "kind", "gravity", "ground", *TABLES]
        at.fail(f"unknown table or key {name!r}{suggest(name, known)}", None, 0, name)
    return made


def source_of(source: str | Path) -> Source:
    if isinstance(source, str) and "\n" in source:
        if len(source) > MAX_BYTES:
            raise ImportFileError(f"a text of {len(source):,} letters; the limit is {MAX_BYTES:,}")
        return Source(None, source)
    if not isinstance(source, str | PathLike):
        raise ImportFileError(f"give a path or TOML text, not {type(source).__name__}")
    path = Path(source)
    try:
        return Source(str(path), read_file(path, MAX_BYTES).decode("utf-8").replace("\r\n", "\n"))
    except UnicodeDecodeError:
        raise ImportFileError("is not a text file in UTF-8", str(path)) from None


def parsed(at: Source) -> dict[str, Any]:
    """The data of the text; what would take the parser long is refused before."""
    data = parse_toml(at.text, at.file)
    _require_finite(at, data)
    parts = sum(len(data[table]) for table in TABLES if isinstance(data.get(table), list))
    if parts > MAX_PARTS:
        raise ImportFileError(f"{parts:,} bodies, joints and so on; the limit is {MAX_PARTS:,}")
    return data


def _require_finite(at: Source, data: Any, where: str = "the file") -> None:
    """TOML knows nan, inf and integers of any length; 1/x of what is too small overflows as well."""
    if isinstance(data, dict | list):
        entries = data.items() if isinstance(data, dict) else ((where, x) for x in data)
        for key, value in entries:
            _require_finite(at, value, str(key))
    elif isinstance(data, int | float) and data and not 1 / LARGEST <= abs(data) <= LARGEST:
        line = next((k for k, x in enumerate(at.text.splitlines(), 1) if where in x), None)
        raise ImportFileError(
            f"{short(where)}: {short(data)} is no number of a mechanism", at.file, line
        )


def _empty(at: Source, data: dict[str, Any], kinds: Mapping[str, type[Analysis]]) -> Any:
    kind, name = data.pop("kind", PLANAR.name), data.pop("name", "mechanism")
    if kind not in (PLANAR.name, SPATIAL.name):
        at.fail(f"kind must be 'planar' or 'spatial', not {kind!r}", None, 0, "kind")
    if kind not in kinds:
        raise ModelError(f"{at.file or 'the text'}: it holds a {kind} mechanism")
    more = {"gravity": data.pop("gravity")} if "gravity" in data else {}
    try:
        return kinds[kind](str(name), **more)
    except DalembertError as error:
        at.fail(str(error), None, 0, "gravity")


def _add(at: Source, made: Analysis, table: str, number: int, row: dict[str, Any]) -> None:
    if table == "joint":
        joints = PLANAR_JOINTS if made.description.space.dimension == 2 else SPATIAL_JOINTS
        given = row.pop("type", None)
        kind = known_as(given, joints)
        if kind is None:
            hint = suggest(str(given), list(joints))
            at.fail(
                f"joint {row.get('name')!r}: no joint type {given!r}{hint}", table, number, "type"
            )
        ends = row.pop("between", None)
        if not isinstance(ends, list) or len(ends) != 2:
            at.fail(
                f"joint {row.get('name')!r} needs between = [end, end]", table, number, "between"
            )
        build = getattr(made, kind, None) or partial(made.joint, kind)
        _call(at, build, {**row, "a": _end(ends[0]), "b": _end(ends[1])}, table, number)
    elif table == "driver":
        known = ("name", "on", "between")
        motion = _motion(at, number, {k: v for k, v in row.items() if k not in known})
        given = {k: v for k, v in row.items() if k in known}
        _call(at, made.drive, {**given, "motion": motion}, table, number)
    else:
        _call(at, getattr(made, table), row, table, number)


def _end(end: Any) -> Any:
    return (end[0], end[1]) if isinstance(end, list) and len(end) == 2 else end


def _motion(at: Source, number: int, row: dict[str, Any]) -> Any:
    kind = row.pop("motion", None)
    if not isinstance(kind, str) or kind not in MOTIONS:
        at.fail(
            f"no motion {kind!r}{suggest(str(kind), list(MOTIONS))}", "driver", number, "motion"
        )
    return _call(at, MOTIONS[kind], row, "driver", number)


def _call(
    at: Source, function: Callable[..., Any], row: Mapping[str, Any], table: str, number: int
) -> Any:
    """Call with checked keys; what is wrong is said with its line."""
    parameters = signature(function).parameters
    open_ended = any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values())
    label = f"{table} {row['name']!r}" if "name" in row else table
    for key in row:
        if key not in parameters and not open_ended:
            at.fail(
                f"{label}: unknown key {key!r}{suggest(key, list(parameters))}", table, number, key
            )
        wanted = str(parameters[key].annotation) if key in parameters else "Any"
        words, fits = TYPES.get(wanted.removesuffix(" | None"), ("", _anything))
        if not fits(row[key]):
            message = f"{label}: {key} must be {words}, not {short(row[key])}"
            at.fail(message, table, number, key)
    for key, parameter in parameters.items():
        required = (
            parameter.default is Parameter.empty and parameter.kind is not Parameter.VAR_KEYWORD
        )
        if required and key not in row:
            at.fail(f"{label} needs {key!r}", table, number)
    try:
        return function(**row)
    except (DalembertError, TypeError, ValueError, AttributeError, LookupError) as error:
        message = str(error) if isinstance(error, DalembertError) else f"{label}: {error}"
        at.fail(message, table, number, _blamed(message, row))


def _anything(value: Any) -> bool:
    return True


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _numbers(value: Any) -> bool:
    return all(map(_numbers, value)) if isinstance(value, list) else _number(value)


# what TOML can hold of the types that builders and motions are annotated with
TYPES: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "float": ("a number", _number),
    "str": ("text", lambda value: isinstance(value, str)),
    "bool": ("true or false", lambda value: isinstance(value, bool)),
    "Value": ("a number or a list of numbers", _numbers),
    "tuple[float, float]": ("two numbers", lambda v: _numbers(v) and np.shape(v) == (2,)),
    "Mapping[str, Any]": ("a table", lambda value: isinstance(value, dict)),
}


def _blamed(message: str, row: Mapping[str, Any]) -> str | None:
    """The key a message speaks of, if it names one; ends of joints stand under `between`."""
    for key, value in row.items():
        if key not in ("name", "a", "b") and isinstance(value, str) and repr(value) in message:
            return key
    for key in row:
        if key not in ("name", "a", "b") and re.search(rf"\b{re.escape(key)}\b", message):
            return key
    return "between" if "a" in row and "body" in message else None
