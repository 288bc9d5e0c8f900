"""Notes of an import: merged links, ignored elements, warnings, equalities, visual geometry.

Dynamics uses none of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from dalembert.errors import ImportFileError

Numbers = tuple[float, ...]
IDENTITY_POSE: Numbers = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


class SearchPaths(NamedTuple):
    """Folders in which mesh files of a robot may lie: resolved paths as text."""

    home: str | None = None  # folder of the robot's own file; None for text
    allowed: tuple[str, ...] = ()  # folders below which files are opened
    folders: tuple[str, ...] = ()  # where names without a package start, in this order


class Visual(NamedTuple):
    """A shape on a link, or why there is none; meshes are opened when they are drawn.

    `size` in m: sides of a "box"; radius of a "sphere"; radius and length along z of a "cylinder"
    or a "capsule", whose caps lie beyond; half-axes of an "ellipsoid"; factors of a "mesh".
    """

    link: str | None  # a frame of the model; None: the world
    kind: str = ""
    size: Numbers = ()
    # of the shape in the link's frame: position in m, quaternion (x, y, z, w)
    pose: Numbers = IDENTITY_POSE
    colour: Numbers | None = None  # red, green, blue, opacity from 0 to 1
    file: str = ""  # of a mesh, as the robot's file names it
    search_paths: SearchPaths = SearchPaths()
    fault: str = ""  # why it cannot be drawn


class Mesh(NamedTuple):
    """A mesh that a file names; it has not been opened."""

    link: str
    filename: str
    line: int | None = None


Rows4 = tuple[tuple[float, ...], ...]  # a pose (4, 4), row by row


def pose_rows(pose: np.ndarray) -> Rows4:
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


class LeftOut(NamedTuple):
    """An element of the file that is not part of the model, and the effect of that."""

    what: str  # its kind, "tendon friction" say
    name: str
    effect: str


@dataclass(frozen=True)
class Notes:
    """The report of an import, in sentences for users."""

    source: str = ""
    merged: tuple[str, ...] = ()  # links joined to their parents by fixed joints
    locked: tuple[str, ...] = ()  # joints locked at a value by request
    ignored: tuple[str, ...] = ()  # elements that dynamics does not need
    warnings: tuple[str, ...] = ()  # probable mistakes
    provenance: tuple[str, ...] = ()  # where fitted numbers come from
    equalities: tuple[Equality, ...] = ()
    postures: tuple[tuple[str, tuple[float, ...]], ...] = ()  # q by name: "reference", keyframes
    meshes: tuple[Mesh, ...] = ()
    left_out: tuple[LeftOut, ...] = ()  # elements that the motion would need
    tool: str = ""  # why the tool is where it is
    visuals: tuple[Visual, ...] = field(default=(), repr=False)  # visual geometry

    @property
    def left_open(self) -> tuple[str, ...]:
        """A sentence for users of the tree alone, where the file closes it."""
        if not self.equalities:
            return ()
        named = ", ".join(f"{e.kind} {e.name!r}" for e in self.equalities)
        return (f"equality constraints are kept in notes, not enforced: {named}",)

    def checked(self, file: str | None, loops: str, strict: bool) -> Notes:
        """These notes, which with `strict` must neither warn nor leave anything out.

        With `loops` "ignore" they warn of what the tree leaves open.
        """
        open_loops = self.left_open if loops == "ignore" else ()
        notes = replace(self, warnings=(*self.warnings, *open_loops))
        lost = [f"{row.what} {row.name!r} is left out: {row.effect}" for row in self.left_out]
        if strict and (notes.warnings or lost):
            raise ImportFileError("; ".join([*notes.warnings, *lost]), file)
        return notes

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
