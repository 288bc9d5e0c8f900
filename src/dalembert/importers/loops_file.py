"""Loops in a file of their own, beside a robot's: TOML, or the YAML of Extended URDF.

```toml
[posture]                      # where putting it together begins, rad and m; others stay
crank = 0.4

[[loop]]                       # two frames: along and about these directions of the first
name = "pin"
first = "coupler"              # a link or a frame; "world" is the base
second = "rocker"
directions = "revolute"        # "point", "weld", …, or ["x", "y"]: see dl.Loop
first_xyz = [0.9, 0.0, 0.0]    # where the frames are in their links; and first_rpy, second_rpy
second_xyz = [0.8, 0.0, 0.0]

[[coupling]]                   # follower = Σ c_k leaderᵏ; without a leader it stays at c₀
name = "gear"
follower = "wheel"
leader = "crank"
polynomial = [0.0, -1.5]
factors = {rocker = 0.5}       # further joints that are added, each times its factor

[[distance]]                   # a rod
name = "rod"
first = "crank"
second = "world"
length = 0.5
```

Extended URDF (Batto, de Matteis and Mansard, 2025) keeps in YAML which frames of a URDF coincide
(`closed_loop`, each of `type` 6d or 3d; as in Pinocchio, the name of a joint, also of a fixed one, is
the frame of the link it carries) and which joints are of another type than the URDF says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import ImportFileError, ModelError
from dalembert.importers.safe_parsing import LARGEST, MAX_TOML_BYTES, parse_toml, read_file
from dalembert.model.notes import Equality, pose_rows
from dalembert.spatial.rotations import rotation_from_rpy, rpy_from_rotation
from dalembert.spatial.se3 import pose
from dalembert.text import short, suggest

FRAMES = ("first", "second", "first_xyz", "first_rpy", "second_xyz", "second_rpy")
PARTS = {
    "loop": ("name", "directions", *FRAMES),
    "coupling": ("name", "follower", "leader", "polynomial", "factors"),
    "distance": ("name", "length", *FRAMES),
}
WORLD = "world"
Frames = list[tuple[str | None, np.ndarray]]  # links, and the poses (4, 4) of frames in them
MAX_LOOPS = 2000


def loop_of(
    name: str, frames: Frames, directions: str | tuple[str, ...] = "point", length: Any = None
) -> Equality:
    """Two frames that are held along and about `directions`, or points at a `length`, m."""
    kind = {"point": "connect", "weld": "weld"}.get(str(directions), "loop")
    kind = kind if length is None else "distance"
    (first, here), (second, there) = ((link, pose_rows(at)) for link, at in frames)
    loop = Equality(kind, name, first, second, pose_first=here, pose_second=there)
    return replace(loop, directions=directions, length=length)


@dataclass(frozen=True)
class LoopsFile:
    """Contents of a loops file: equalities, a posture by joint, and changed joint types."""

    equalities: tuple[Equality, ...]
    posture: Mapping[str, float] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)


def read_loops(path: Path) -> LoopsFile:
    """The loops of a TOML or YAML file."""
    data = read_file(path, MAX_TOML_BYTES)
    is_yaml = path.suffix.lower() in (".yaml", ".yml")
    try:
        return _extended_urdf(data) if is_yaml else _toml_loops(data, path.name)
    except ModelError as error:
        raise ImportFileError(str(error), path.name) from None


def _toml_loops(data: bytes, file: str) -> LoopsFile:
    try:
        content = parse_toml(data.decode().replace("\r\n", "\n"), file)
    except UnicodeDecodeError:
        raise ModelError("is not a text file in UTF-8") from None
    _require_known(content, (*PARTS, "posture"), "the file")
    tables = []
    for kind in PARTS:
        rows = content.get(kind, [])
        if not isinstance(rows, list) or not all(isinstance(x, Mapping) for x in rows):
            raise ModelError(f"{kind} must be tables, each under [[{kind}]]")
        tables += [(kind, row, number) for number, row in enumerate(rows, start=1)]
    if len(tables) > MAX_LOOPS:
        raise ModelError(f"more than {MAX_LOOPS} loops")
    equalities = [_equality(*table) for table in tables]
    start = _by_joint(content.get("posture", {}), "[posture]", "posture")
    return LoopsFile(tuple(equalities), start)


def _equality(kind: str, table: Mapping[str, Any], number: int) -> Equality:
    name = str(table.get("name", f"{kind}{number}"))
    what = f"[[{kind}]] {name!r}"
    _require_known(table, PARTS[kind], what)
    if kind == "coupling":
        powers = _numbers(table.get("polynomial", [0.0, 1.0]), None, f"{what}: polynomial")
        leader = _word(table, "leader", what) if "leader" in table else None
        follower = _word(table, "follower", what)
        factors = _by_joint(table.get("factors", {}), f"{what}: factors", f"{what}: factor")
        coupling = Equality("joint", name, follower, leader, polynomial=powers)
        return replace(coupling, factors=tuple(factors.items()))
    frames: Frames = []
    for end in ("first", "second"):
        link = _word(table, end, what)
        xyz, rpy = (
            _numbers(table.get(f"{end}_{part}", [0.0] * 3), 3, f"{what}: {end}_{part}")
            for part in ("xyz", "rpy")
        )
        at = pose(rotation_from_rpy(rpy), np.array(xyz))
        frames.append((None if link == WORLD else link, at))
    if kind == "distance":
        (length,) = _numbers(table.get("length"), 1, f"{what}: length")
        return loop_of(name, frames, length=length)
    directions = table.get("directions", "point")
    if isinstance(directions, list):
        directions = tuple(str(word) for word in directions)
    return loop_of(name, frames, directions)


def _word(table: Mapping[str, Any], key: str, what: str) -> str:
    if not isinstance(table.get(key), str):
        raise ModelError(f"{what}: it needs {key} = a name")
    return str(table[key])


def _numbers(value: Any, count: int | None, what: str) -> tuple[float, ...]:
    try:
        array = np.atleast_1d(np.asarray(value, dtype=float))
    except (TypeError, ValueError):
        array = np.array([np.nan])
    has_shape = array.ndim == 1 and len(array) == (count or len(array))
    if not has_shape or not np.all(np.abs(array) <= LARGEST):
        expected = "numbers" if count is None else f"{count} finite numbers"
        raise ModelError(f"{what} must be {expected}, not {short(value)}")
    return tuple(float(x) for x in array)


def _by_joint(values: Any, what: str, each: str) -> dict[str, float]:
    if not isinstance(values, Mapping):
        raise ModelError(f"{what} must give a number for every joint")
    return {joint: _numbers(x, 1, f"{each} of {joint}")[0] for joint, x in values.items()}


def _require_known(table: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    for key in table:
        if key not in known:
            raise ModelError(f"{what}: {key!r} is unknown{suggest(key, known)}")


def _extended_urdf(text: bytes) -> LoopsFile:
    """`closed_loop` pairs of frames, each of its `type`; joints whose type is another."""
    try:
        import yaml
    except ImportError:
        raise ImportError("reading the YAML of Extended URDF needs: pip install pyyaml") from None
    try:
        data: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())[:200]
        raise ModelError(f"this is not YAML: {reason}") from None
    if not isinstance(data, Mapping) or not isinstance(data.get("closed_loop"), list):
        raise ModelError("an Extended URDF has closed_loop: pairs of frames")
    pairs = data["closed_loop"]
    words = data.get("type") or ["6d"] * len(pairs)
    types = [str(word).lower() for word in words] if isinstance(words, list) else []
    if len(types) != len(pairs) or not set(types) <= {"3d", "6d"}:
        raise ModelError('type must be "3d" or "6d" for every closed_loop')
    equalities = []
    for pair, word in zip(pairs, types, strict=True):
        if not isinstance(pair, list) or len(pair) != 2:
            raise ModelError(f"closed_loop has {short(pair)}, not two frames")
        first, second = (str(end) for end in pair)
        kind, directions = ("connect", "point") if word == "3d" else ("weld", "weld")
        equalities.append(Equality(kind, f"{first}_{second}", first, second, directions=directions))
    names, kinds = data.get("joint_name") or [], data.get("joint_type") or []
    if not (isinstance(names, list) and isinstance(kinds, list) and len(names) == len(kinds)):
        raise ModelError("joint_type must be a list with a type for every joint_name")
    changed = {str(n): str(k).lower() for n, k in zip(names, kinds, strict=True)}
    return LoopsFile(tuple(equalities), kinds=changed)


def loops_text(equalities: Sequence[Equality], posture: Mapping[str, float]) -> str:
    """The text; `posture` is where putting it together begins, by coordinate."""
    quoted = json.dumps  # JSON's escapes are TOML's
    lines = ["[posture]", *(f"{quoted(name)} = {x!r}" for name, x in posture.items())]
    for e in equalities:
        if e.kind == "tendon":
            raise ModelError(f"constraint {e.name!r}: a file of loops has no tendons")
        table = {"joint": "coupling", "distance": "distance"}.get(e.kind, "loop")
        lines += ["", f"[[{table}]]", f"name = {quoted(e.name)}"]
        if table == "coupling":
            lines.append(f"follower = {quoted(e.first or '')}")
            if e.second is not None:
                lines.append(f"leader = {quoted(e.second)}")
            lines.append(f"polynomial = {list(e.polynomial)!r}")
            lines += [f"factors.{quoted(joint)} = {factor!r}" for joint, factor in e.factors]
            continue
        ends = (("first", e.first, e.pose_first), ("second", e.second, e.pose_second))
        for end, link, rows in ends:
            lines.append(f"{end} = {quoted(WORLD if link is None else link)}")
            if rows is not None:
                frame = np.array(rows)
                xyz, rpy = frame[:3, 3] + 0.0, rpy_from_rotation(frame[:3, :3])
                lines.append(f"{end}_xyz = {xyz.tolist()!r}")
                lines.append(f"{end}_rpy = {[float(x) + 0.0 for x in rpy]!r}")
        if table == "distance":
            lines.append(f"length = {e.length!r}")
        else:
            directions = e.directions if isinstance(e.directions, str) else list(e.directions)
            lines.append(f"directions = {quoted(directions)}")
    return "\n".join([*lines, ""])
