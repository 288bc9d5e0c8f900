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
from typing import Any, NamedTuple

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
MAX_LOOPS = 2000


@dataclass(frozen=True)
class LoopsFile:
    """Contents of a loops file: equalities, a posture by joint, and changed joint types."""

    equalities: tuple[Equality, ...]
    posture: Mapping[str, float] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)


def read_loops(path: Path) -> LoopsFile:
    """The loops of a TOML or YAML file."""
    data = read_file(path, MAX_TOML_BYTES)
    if path.suffix.lower() in (".yaml", ".yml"):
        return _extended_urdf(data, path)
    try:
        text = data.decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise ImportFileError("is not a text file in UTF-8", path.name) from None
    return _Reader(path.name).read(parse_toml(text, path.name))


class _Reader(NamedTuple):
    """Reads the tables of one TOML file."""

    file: str

    def read(self, data: Mapping[str, Any]) -> LoopsFile:
        self._known(data, (*PARTS, "posture"), "the file")
        tables = []
        for kind in PARTS:
            rows = data.get(kind, [])
            if not isinstance(rows, list) or not all(isinstance(x, Mapping) for x in rows):
                raise ImportFileError(f"{kind} must be tables, each under [[{kind}]]", self.file)
            tables += [(kind, row, number) for number, row in enumerate(rows, start=1)]
        if len(tables) > MAX_LOOPS:
            raise ImportFileError(f"more than {MAX_LOOPS} loops", self.file)
        equalities = [self._equality(*table) for table in tables]
        posture = data.get("posture", {})
        if not isinstance(posture, Mapping):
            raise ImportFileError(
                "[posture] must give a number for every joint it names", self.file
            )
        start = {
            joint: self._numbers(x, 1, f"posture of {joint}")[0] for joint, x in posture.items()
        }
        return LoopsFile(tuple(equalities), start)

    def _equality(self, kind: str, table: Mapping[str, Any], number: int) -> Equality:
        name = str(table.get("name", f"{kind}{number}"))
        what = f"[[{kind}]] {name!r}"
        self._known(table, PARTS[kind], what)
        if kind == "coupling":
            powers = self._numbers(table.get("polynomial", [0.0, 1.0]), None, f"{what}: polynomial")
            leader = self._word(table, "leader", what) if "leader" in table else None
            follower = self._word(table, "follower", what)
            table_factors = table.get("factors", {})
            if not isinstance(table_factors, Mapping):
                raise ImportFileError(
                    f"{what}: factors must give a number for every joint they name", self.file
                )
            factors = tuple(
                (joint, *self._numbers(x, 1, f"{what}: factor of {joint}"))
                for joint, x in table_factors.items()
            )
            return Equality("joint", name, follower, leader, polynomial=powers, factors=factors)
        ends = [self._word(table, end, what) for end in ("first", "second")]
        first, second = (None if end == WORLD else end for end in ends)
        poses = []
        for end in ("first", "second"):
            xyz, rpy = (
                self._numbers(table.get(f"{end}_{part}", [0.0] * 3), 3, f"{what}: {end}_{part}")
                for part in ("xyz", "rpy")
            )
            poses.append(pose_rows(pose(rotation_from_rpy(rpy), np.array(xyz))))
        loop = Equality("loop", name, first, second, pose_first=poses[0], pose_second=poses[1])
        if kind == "distance":
            (length,) = self._numbers(table.get("length"), 1, f"{what}: length")
            return replace(loop, kind="distance", length=length)
        directions = table.get("directions", "point")
        if isinstance(directions, list):
            directions = tuple(str(word) for word in directions)
        word = {"point": "connect", "weld": "weld"}.get(str(directions), "loop")
        return replace(loop, kind=word, directions=directions)

    def _word(self, table: Mapping[str, Any], key: str, what: str) -> str:
        if not isinstance(table.get(key), str):
            raise ImportFileError(f"{what}: it needs {key} = a name", self.file)
        return str(table[key])

    def _numbers(self, value: Any, count: int | None, what: str) -> tuple[float, ...]:
        try:
            array = np.atleast_1d(np.asarray(value, dtype=float))
        except (TypeError, ValueError):
            array = np.array([np.nan])
        has_shape = array.ndim == 1 and len(array) == (count or len(array))
        if not has_shape or not np.all(np.abs(array) <= LARGEST):
            expected = "numbers" if count is None else f"{count} finite numbers"
            raise ImportFileError(f"{what} must be {expected}, not {short(value)}", self.file)
        return tuple(float(x) for x in array)

    def _known(self, table: Mapping[str, Any], known: Sequence[str], what: str) -> None:
        for key in table:
            if key not in known:
                raise ImportFileError(f"{what}: {key!r} is unknown{suggest(key, known)}", self.file)


def _extended_urdf(text: bytes, path: Path) -> LoopsFile:
    """`closed_loop` pairs of frames, each of its `type`; joints whose type is another."""
    try:
        import yaml
    except ImportError:
        raise ImportError("reading the YAML of Extended URDF needs: pip install pyyaml") from None
    try:
        data: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())[:200]
        raise ImportFileError(f"this is not YAML: {reason}", path.name) from None
    if not isinstance(data, Mapping) or not isinstance(data.get("closed_loop"), list):
        raise ImportFileError("an Extended URDF has closed_loop: pairs of frames", path.name)
    pairs = data["closed_loop"]
    words = data.get("type") or ["6d"] * len(pairs)
    types = [str(word).lower() for word in words] if isinstance(words, list) else []
    if len(types) != len(pairs) or not set(types) <= {"3d", "6d"}:
        raise ImportFileError('type must be "3d" or "6d" for every closed_loop', path.name)
    equalities = []
    for pair, word in zip(pairs, types, strict=True):
        if not isinstance(pair, list) or len(pair) != 2:
            raise ImportFileError(f"closed_loop has {short(pair)}, not two frames", path.name)
        first, second = (str(end) for end in pair)
        kind, directions = ("connect", "point") if word == "3d" else ("weld", "weld")
        equalities.append(Equality(kind, f"{first}_{second}", first, second, directions=directions))
    names, kinds = data.get("joint_name") or [], data.get("joint_type") or []
    if not (isinstance(names, list) and isinstance(kinds, list) and len(names) == len(kinds)):
        raise ImportFileError(
            "joint_type must be a list with a type for every joint_name", path.name
        )
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
