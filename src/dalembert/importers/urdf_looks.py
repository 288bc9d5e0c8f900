"""The <visual> shapes of a URDF with their colours; one that is wrong is drawn by nobody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import cos, sin

from dalembert.errors import ImportFileError
from dalembert.importers.mjcf_files import Roots
from dalembert.importers.urdf_parts import UrdfLink
from dalembert.importers.xml_read import Element, shown
from dalembert.model.looks import HERE, Look, Numbers, Places

_ROUND = {"cylinder": ("radius", "length"), "capsule": ("radius", "length"), "sphere": ("radius",)}


def looks_of(robot: Element, links: Sequence[UrdfLink], roots: Roots) -> tuple[Look, ...]:
    """The shapes of all links: <visual>, or <collision> where a robot has nothing else."""
    home = None if roots.home is None else str(roots.home)
    places = Places(home, tuple(map(str, roots.folders)), () if home is None else (home,))
    colours = dict(_colours(robot))
    for tag in ("visual", "collision"):
        found = [
            _look(link.name, part, colours, places)
            for link in links
            for part in link.element.all(tag)
        ]
        if found:
            return tuple(found)
    return ()


def _colours(robot: Element) -> Iterator[tuple[str, Numbers]]:
    """Colours by the name of their material, wherever in the file it is defined."""
    for element in robot.walk():
        if element.tag == "material":
            colour = _colour(element)
            if colour is not None:
                yield element.attributes.get("name", ""), colour


def _colour(material: Element) -> Numbers | None:
    for part in material.all("color"):
        try:
            return part.numbers("rgba", 4, None, "a material")
        except ImportFileError:
            return None
    return None


def _look(link: str, part: Element, colours: Mapping[str, Numbers], places: Places) -> Look:
    try:
        kind, size, file = _shape(part, f"link {shown(link)}")
        pose = _pose(part, f"link {shown(link)}")
    except ImportFileError as error:
        return Look(link, fault=str(error))
    materials = list(part.all("material"))
    name = materials[0].attributes.get("name", "") if materials else ""
    colour = (_colour(materials[0]) if materials else None) or colours.get(name)
    return Look(link, kind, size, pose, colour, file, places)


def _shape(part: Element, what: str) -> tuple[str, Numbers, str]:
    """Kind, size and file of a <geometry>."""
    shapes = [shape for geometry in part.all("geometry") for shape in geometry.children]
    if not shapes:
        raise part.error(f"{what}: a <{part.tag}> without a shape")
    shape = shapes[0]
    if shape.tag == "mesh":
        file = shape.word("filename", what)
        return "mesh", shape.bounded("scale", 3, (1.0, 1.0, 1.0), what), file
    if shape.tag == "box":
        return "box", shape.bounded("size", 3, None, what), ""
    if shape.tag in _ROUND:
        names = _ROUND[shape.tag]
        return shape.tag, tuple(shape.bounded(name, 1, None, what)[0] for name in names), ""
    raise shape.error(f"{what}: the shape <{shape.tag[:60]}> is not known")


def _pose(part: Element, what: str) -> Numbers:
    """Position and quaternion (x, y, z, w) of Rz(yaw) Ry(pitch) Rx(roll), by half angles.

    In plain numbers: a humanoid has a hundred of these, and few of its readers draw them.
    """
    for origin in part.all("origin"):
        place = origin.bounded("xyz", 3, (0.0, 0.0, 0.0), what)
        if "quat_xyzw" in origin.attributes:
            return (*place, *origin.bounded("quat_xyzw", 4, None, what))
        halves = [0.5 * angle for angle in origin.bounded("rpy", 3, (0.0, 0.0, 0.0), what)]
        (cr, cp, cy), (sr, sp, sy) = map(cos, halves), map(sin, halves)
        return (
            *place,
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
            cr * cp * cy + sr * sp * sy,
        )
    return HERE
