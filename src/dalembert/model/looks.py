"""How a robot looks, as its file says: shapes on links. Dynamics never asks for them."""

from __future__ import annotations

from dataclasses import dataclass

Numbers = tuple[float, ...]
HERE: Numbers = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Places:
    """Where the files that a robot names may lie: paths as text, links followed."""

    home: str | None = None  # folder of the robot's own file; None for text
    allowed: tuple[str, ...] = ()  # folders below which files are opened
    folders: tuple[str, ...] = ()  # where names without a package start, in this order


@dataclass(frozen=True)
class Look:
    """A shape on a link, or why there is none; meshes are opened when they are drawn.

    `size` in m: sides of a "box"; radius of a "sphere"; radius and length along z of a "cylinder"
    or a "capsule", whose caps lie beyond; half-axes of an "ellipsoid"; factors of a "mesh".
    """

    link: str | None  # a frame of the model; None: the world
    kind: str = ""
    size: Numbers = ()
    pose: Numbers = HERE  # of the shape in the link's frame: position in m, quaternion (x, y, z, w)
    colour: Numbers | None = None  # red, green, blue, opacity from 0 to 1
    file: str = ""  # of a mesh, as the robot's file names it
    places: Places = Places()
    fault: str = ""  # why it cannot be drawn
