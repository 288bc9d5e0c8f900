"""What reading a file left to say: merged links, things ignored, warnings, data kept for later."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mesh:
    """A mesh a file mentions; nobody has opened it."""

    link: str
    filename: str
    line: int | None = None


@dataclass(frozen=True)
class Equality:
    """An equality constraint of the file, not part of the tree's dynamics.

    `kind` is "connect", "weld" or "joint"; `first` and `second` name bodies (or joints; None is the
    world or nothing); `data` are the numbers as MuJoCo compiles them.
    """

    kind: str
    name: str
    first: str
    second: str | None
    active: bool
    data: tuple[float, ...]


@dataclass(frozen=True)
class Notes:
    """The report of an import. Sentences are meant to be shown as they are."""

    source: str = ""
    merged: tuple[str, ...] = ()  # links joined to their parents by fixed joints
    locked: tuple[str, ...] = ()  # joints held at a posture by request
    ignored: tuple[str, ...] = ()  # what the file says that dynamics does not need
    warnings: tuple[str, ...] = ()  # what is probably a mistake
    equalities: tuple[Equality, ...] = ()
    meshes: tuple[Mesh, ...] = ()
