"""What reading a file left to say: merged links, things ignored, warnings, data kept for later."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dalembert.model.looks import Look


@dataclass(frozen=True)
class Mesh:
    """A mesh a file mentions; nobody has opened it."""

    link: str
    filename: str
    line: int | None = None


Rows4 = tuple[tuple[float, ...], ...]  # a pose (4, 4), row by row


def rows_of(pose: np.ndarray) -> Rows4:
    """A pose (4, 4) as plain numbers."""
    return tuple(tuple(float(x) for x in row) for row in pose)


@dataclass(frozen=True)
class Equality:
    """A loop or a coupling that a file states beyond its tree.

    `kind` is "connect", "weld", "joint", "tendon", "loop" or "distance"; `first` and `second` name
    links (None: the world), joints or tendons (None: a constant). What is held are the frames
    `pose_first` and `pose_second` fixed to the links, along and about `directions` of the first, as
    in `Loop`; at a `length`, m, as in `Distance`; or first = Σ c_k secondᵏ with the c_k of
    `polynomial`, and for joints + Σ factor · joint of the pairs in `factors`. `data` are the numbers as
    MuJoCo compiles them.
    """

    kind: str
    name: str
    first: str | None
    second: str | None
    active: bool = True
    data: tuple[float, ...] = ()
    pose_first: Rows4 | None = None
    pose_second: Rows4 | None = None
    directions: str | tuple[str, ...] = "point"
    polynomial: tuple[float, ...] = ()
    length: float | None = None
    factors: tuple[tuple[str, float], ...] = ()

    @property
    def ends(self) -> tuple[str | None, ...]:
        """Everything it names: links, joints or tendons, or None."""
        return (self.first, self.second, *(name for name, _ in self.factors))


@dataclass(frozen=True)
class LeftOut:
    """Something the file says that is no part of the model, and what that changes."""

    what: str  # its kind, "tendon friction" say
    name: str
    effect: str


@dataclass(frozen=True)
class Notes:
    """The report of an import. Sentences are meant to be shown as they are."""

    source: str = ""
    merged: tuple[str, ...] = ()  # links joined to their parents by fixed joints
    locked: tuple[str, ...] = ()  # joints held at a posture by request
    ignored: tuple[str, ...] = ()  # what the file says that dynamics does not need
    warnings: tuple[str, ...] = ()  # what is probably a mistake
    provenance: tuple[str, ...] = ()  # where fitted numbers come from
    equalities: tuple[Equality, ...] = ()
    postures: tuple[
        tuple[str, tuple[float, ...]], ...
    ] = ()  # q (nq,) by name: "reference", keyframes
    meshes: tuple[Mesh, ...] = ()
    left_out: tuple[LeftOut, ...] = ()  # what the motion would need and the model does not have
    tool: str = ""  # why the tool is where it is
    looks: tuple[Look, ...] = field(default=(), repr=False)  # shapes for who draws the robot

    @property
    def left_open(self) -> tuple[str, ...]:
        """A sentence for who reads the tree alone, where the file closes it."""
        if not self.equalities:
            return ()
        named = ", ".join(f"{e.kind} {e.name!r}" for e in self.equalities)
        return (f"equality constraints are kept in notes, not enforced: {named}",)

    def left_out_table(self) -> str:
        """`left_out` as lines of text under a heading; empty where nothing is.

        >>> left = LeftOut("tendon friction", "cable", "it slides without loss")
        >>> print(Notes(left_out=(left,)).left_out_table())
        left out         name   effect
        tendon friction  cable  it slides without loss
        """
        if not self.left_out:
            return ""
        rows = [("left out", "name", "effect")]
        rows += [(row.what, row.name, row.effect) for row in self.left_out]
        widths = [max(len(row[k]) for row in rows) for k in range(2)]
        return "\n".join(
            f"{what.ljust(widths[0])}  {name.ljust(widths[1])}  {effect}"
            for what, name, effect in rows
        )
