"""Visual geometry of MJCF (the geoms that MuJoCo's viewer shows at first) and of URDF.

MuJoCo centres meshes and turns them to their principal axes; their files are drawn instead, so that
the poses of geoms are turned back: X_file = X_geom X_mesh⁻¹.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import cos, sin

import numpy as np

from dalembert.errors import ImportFileError
from dalembert.importers.file_access import Roots
from dalembert.importers.mjcf_compile import CompiledModel
from dalembert.importers.safe_parsing import Element, excerpt
from dalembert.importers.urdf_links_and_joints import UrdfLink
from dalembert.model.notes import IDENTITY_POSE, Numbers, SearchPaths, Visual
from dalembert.spatial.quaternions import conjugate, matrix_from_quaternion, product

LAST_VISIBLE = 2  # the last group of geoms that MuJoCo's viewer shows at first
PLAIN = (0.5, 0.5, 0.5, 1.0)  # the colour of a geom without one
_PLANE, _FIELD, _SPHERE, _CAPSULE, _ELLIPSOID, _CYLINDER, _BOX, _MESH, _SDF = range(9)  # mjtGeom
_NAMES = {_SPHERE: "sphere", _CAPSULE: "capsule", _ELLIPSOID: "ellipsoid", _BOX: "box"}
_NAMES |= {_CYLINDER: "cylinder", _MESH: "mesh", _SDF: "mesh"}


def mjcf_visuals(m: CompiledModel, roots: Roots) -> Iterator[Visual]:
    """The shapes of geoms that are visible."""
    drawn = np.isin(m.geom_type, list(_NAMES)) & (m.geom_rgba[:, 3] > 0.0)
    visible = drawn & (m.geom_group <= LAST_VISIBLE)
    visible = visible if visible.any() else drawn
    # a body with a mesh that nothing collides with has its other shapes for collisions alone
    touching = (m.geom_contype != 0) | (m.geom_conaffinity != 0)
    meshed = np.isin(m.geom_type, [_MESH, _SDF])
    dressed = np.unique(m.geom_bodyid[visible & meshed & ~touching])
    home = None if roots.home is None else str(roots.home)
    allowed = tuple(map(str, roots.folders))
    for geom in np.flatnonzero(visible & ~(touching & np.isin(m.geom_bodyid, dressed))).tolist():
        body, kind = int(m.geom_bodyid[geom]), int(m.geom_type[geom])
        turn = np.roll(m.geom_quat[geom], -1)  # MuJoCo has w first
        position = np.array(m.geom_pos[geom])
        a, b, c = (float(x) for x in m.geom_size[geom])  # half of every length, as MuJoCo has it
        sizes: dict[int, Numbers] = {_SPHERE: (a,), _ELLIPSOID: (a, b, c)}
        sizes |= {_CAPSULE: (a, 2.0 * b), _CYLINDER: (a, 2.0 * b)}
        size, file, paths = sizes.get(kind, (2.0 * a, 2.0 * b, 2.0 * c)), "", SearchPaths()
        if kind in (_MESH, _SDF):
            index = int(m.geom_dataid[geom])
            name = m.name_of("mesh", index)
            if name not in m.dropped.shapes:
                continue  # its points stand in the file itself
            asset = m.dropped.shapes[name]
            turn = product(turn, conjugate(np.roll(m.mesh_quat[index], -1)))
            position = position - matrix_from_quaternion(turn) @ m.mesh_pos[index]
            position = position + matrix_from_quaternion(turn) @ asset.shift
            turn, size, file = product(turn, asset.turn), asset.scale, asset.name
            folders = () if home is None else tuple(map(str, asset.folders))
            paths = SearchPaths(home, allowed, folders)
        pose = tuple(float(x) for x in (*position, *turn))
        rgba = tuple(round(float(x), 4) for x in m.geom_rgba[geom])
        colour = None if rgba == PLAIN else rgba
        link = m.names["body"][body] if body > 0 else None
        yield Visual(link, _NAMES[kind], size, pose, colour, file, paths)


_ROUND = {"cylinder": ("radius", "length"), "capsule": ("radius", "length"), "sphere": ("radius",)}


def urdf_visuals(robot: Element, links: Sequence[UrdfLink], roots: Roots) -> tuple[Visual, ...]:
    """The shapes of all links: <visual>, or <collision> where a robot has nothing else."""
    home = None if roots.home is None else str(roots.home)
    paths = SearchPaths(home, tuple(map(str, roots.folders)), () if home is None else (home,))
    colours = {}  # by the name of their material, wherever in the file it is defined
    for element in robot.walk():
        colour = _colour(element) if element.tag == "material" else None
        if colour is not None:
            colours[element.attributes.get("name", "")] = colour
    for tag in ("visual", "collision"):
        visuals = []
        parts = [(link.name, part) for link in links for part in link.element.all(tag)]
        for link, part in parts:
            try:
                kind, size, file = _shape(part, f"link {excerpt(link)}")
                pose = _urdf_pose(part, f"link {excerpt(link)}")
            except ImportFileError as error:
                visuals.append(Visual(link, fault=str(error)))
                continue
            material = next(part.all("material"), None)
            colour = None
            if material is not None:
                colour = _colour(material) or colours.get(material.attributes.get("name", ""))
            visuals.append(Visual(link, kind, size, pose, colour, file, paths))
        if visuals:
            return tuple(visuals)
    return ()


def _colour(material: Element) -> Numbers | None:
    for part in material.all("color"):
        try:
            return part.numbers("rgba", 4, None, "a material")
        except ImportFileError:
            return None
    return None


def _shape(part: Element, what: str) -> tuple[str, Numbers, str]:
    """Kind, size and file of a <geometry>."""
    shapes = [shape for geometry in part.all("geometry") for shape in geometry.children]
    if not shapes:
        raise part.error(f"{what}: a <{part.tag}> without a shape")
    shape = shapes[0]
    if shape.tag == "mesh":
        file = shape.word("filename", what)
        return "mesh", shape.numbers("scale", 3, (1.0, 1.0, 1.0), what), file
    if shape.tag == "box":
        return "box", shape.numbers("size", 3, None, what), ""
    if shape.tag in _ROUND:
        names = _ROUND[shape.tag]
        return shape.tag, tuple(shape.numbers(name, 1, None, what)[0] for name in names), ""
    raise shape.error(f"{what}: the shape <{shape.tag[:60]}> is not known")


def _urdf_pose(part: Element, what: str) -> Numbers:
    """Position and quaternion (x, y, z, w) of Rz(yaw) Ry(pitch) Rx(roll), by half angles.

    In plain numbers: a humanoid has a hundred of these, and few of its readers draw them.
    """
    for origin in part.all("origin"):
        position = origin.numbers("xyz", 3, (0.0, 0.0, 0.0), what)
        if "quat_xyzw" in origin.attributes:
            return (*position, *origin.numbers("quat_xyzw", 4, None, what))
        halves = [0.5 * angle for angle in origin.numbers("rpy", 3, (0.0, 0.0, 0.0), what)]
        (cr, cp, cy), (sr, sp, sy) = map(cos, halves), map(sin, halves)
        return (
            *position,
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
            cr * cp * cy + sr * sp * sy,
        )
    return IDENTITY_POSE
