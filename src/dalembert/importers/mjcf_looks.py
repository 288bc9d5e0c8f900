"""The geoms of a compiled MJCF as shapes to draw: what MuJoCo's own viewer shows at first.

MuJoCo centres meshes and turns them to their principal axes; their files are drawn instead, so that
the poses of geoms are turned back: X_file = X_geom X_mesh⁻¹.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from dalembert.importers.mjcf_files import Roots
from dalembert.importers.mjcf_reduce import Dropped
from dalembert.importers.xml_read import Element
from dalembert.model.looks import Look, Numbers, Places
from dalembert.spatial.quaternions import conjugate, matrix_from_quaternion, product

SHOWN = 2  # the last group of geoms that MuJoCo's viewer shows at first
PLAIN = (0.5, 0.5, 0.5, 1.0)  # the colour of a geom without one
_PLANE, _FIELD, _SPHERE, _CAPSULE, _ELLIPSOID, _CYLINDER, _BOX, _MESH, _SDF = range(9)  # mjtGeom
_NAMES = {_SPHERE: "sphere", _CAPSULE: "capsule", _ELLIPSOID: "ellipsoid", _BOX: "box"}
_NAMES |= {_CYLINDER: "cylinder", _MESH: "mesh", _SDF: "mesh"}


def colours_of_materials(root: Element) -> None:
    """Give geoms the colour of their material, which is taken out of the file after that."""
    known = {}
    for element in root.walk():
        if element.tag == "material" and "name" in element.attributes:
            known[element.attributes["name"]] = element.attributes.get("rgba", "0.8 0.8 0.8 1")
    for element in root.walk():
        rgba = known.get(element.attributes.get("material", ""), "")
        if element.tag == "geom" and "rgba" not in element.attributes and _is_colour(rgba):
            element.attributes["rgba"] = rgba


def _is_colour(text: str) -> bool:
    try:
        numbers = [float(word) for word in text.split()]
    except ValueError:
        return False
    return len(numbers) == 4 and all(0.0 <= x <= 1.0 for x in numbers)


def looks_of(
    mujoco: ModuleType, m: Any, bodies: Sequence[str], dropped: Dropped, roots: Roots
) -> tuple[Look, ...]:
    """The shapes of geoms that are shown; `bodies` are names by index."""
    drawn = np.isin(m.geom_type, list(_NAMES)) & (m.geom_rgba[:, 3] > 0.0)
    shown = drawn & (m.geom_group <= SHOWN)
    shown = shown if shown.any() else drawn
    # a body with a mesh that nothing collides with has its other shapes for collisions alone
    touching = (m.geom_contype != 0) | (m.geom_conaffinity != 0)
    meshed = np.isin(m.geom_type, [_MESH, _SDF])
    dressed = np.unique(m.geom_bodyid[shown & meshed & ~touching])
    chosen = np.flatnonzero(shown & ~(touching & np.isin(m.geom_bodyid, dressed)))
    return tuple(_looks(mujoco, m, bodies, dropped, roots, chosen))


def _looks(
    mujoco: ModuleType,
    m: Any,
    bodies: Sequence[str],
    dropped: Dropped,
    roots: Roots,
    chosen: np.ndarray,
) -> Iterator[Look]:
    for geom in map(int, chosen):
        body, kind = int(m.geom_bodyid[geom]), int(m.geom_type[geom])
        link = bodies[body] if body > 0 else None
        turn = np.roll(m.geom_quat[geom], -1)  # MuJoCo has w first
        position = np.array(m.geom_pos[geom])
        rgba = tuple(round(float(x), 4) for x in m.geom_rgba[geom])
        colour = None if rgba == PLAIN else rgba
        if kind not in (_MESH, _SDF):
            yield Look(link, _NAMES[kind], _size(m, geom, kind), _pose(position, turn), colour)
            continue
        index = int(m.geom_dataid[geom])
        name = mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_MESH, index) or ""
        if name not in dropped.shapes:
            continue  # its points stand in the file itself
        asset, file = dropped.shapes[name], dropped.scales[name]
        back = conjugate(np.roll(m.mesh_quat[index], -1))
        turn = product(turn, back)
        position = position - matrix_from_quaternion(turn) @ m.mesh_pos[index]
        position = position + matrix_from_quaternion(turn) @ file.shift
        folders = tuple(map(str, asset.folders))
        places = Places(
            None if roots.home is None else str(roots.home),
            tuple(map(str, roots.folders)),
            folders if roots.home is not None else (),
        )
        pose = _pose(position, product(turn, file.turn))
        yield Look(link, "mesh", file.scale, pose, colour, asset.name, places)


def _size(m: Any, geom: int, kind: int) -> Numbers:
    """As `Look` has it: MuJoCo has half of every length."""
    a, b, c = (float(x) for x in m.geom_size[geom])
    if kind == _SPHERE:
        return (a,)
    if kind in (_CAPSULE, _CYLINDER):
        return (a, 2.0 * b)
    return (a, b, c) if kind == _ELLIPSOID else (2.0 * a, 2.0 * b, 2.0 * c)


def _pose(position: np.ndarray, turn: np.ndarray) -> Numbers:
    return tuple(float(x) for x in (*position, *turn))
