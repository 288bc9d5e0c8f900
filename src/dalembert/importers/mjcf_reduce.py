"""What of an MJCF dynamics does not need, taken out before MuJoCo compiles it.

Pictures go from the XML. A mesh or height field stays only if the inertia of a body that moves, or
the fluid around it, is computed from a geom of that shape; otherwise four points take its place, so
that every name still means something. Plugins that this MuJoCo does not have go as well.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any

import numpy as np

from dalembert.importers.mjcf_files import MAX_ASSET, Part, Roots
from dalembert.importers.xml_read import Element, shown
from dalembert.model.notes import LeftOut, Mesh

_PICTURES = frozenset({"texture", "material", "skin", "tuple", "text"})
_PICTURE_ATTRIBUTES = ("material", "texture")
_SHAPES = ("mesh", "hfield")
_FOLDERS = ("assetdir", "meshdir", "texturedir", "strippath")
_PUSHED = ("body", "composite", "flexcomp", "actuator")  # where a plugin makes forces
_TETRAHEDRON = [-1.0, -1.0, -1.0, 1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, 1.0]


@dataclass
class Asset:
    """A mesh or height field: its element, the name of its file, where MuJoCo looks for it."""

    element: Element
    name: str
    folders: list[Path]
    written: str = ""  # name with meshdir before it


@dataclass
class Dropped:
    """What was taken out, and the files of shapes by the word that stands for them in the XML."""

    counts: Counter[str] = field(default_factory=Counter)
    forces: Counter[str] = field(default_factory=Counter)  # elements that push, by plugin
    assets: dict[str, Asset] = field(default_factory=dict)
    shapes: dict[str, Asset] = field(default_factory=dict)  # meshes by their name in the model

    def ignored(self) -> list[str]:
        """What the dynamics does not need, counted."""
        return [f"{what} ({count})" for what, count in sorted(self.counts.items())]

    def left_out(self) -> list[LeftOut]:
        """What the dynamics lacks."""
        effect = "its forces are not computed"
        return [LeftOut("plugin", name, effect) for name in sorted(self.forces)]

    def meshes(self, mujoco: ModuleType, m: Any, bodies: Sequence[str]) -> Iterator[Mesh]:
        """The files of meshes that bodies show; `bodies` are names by index."""
        kind = mujoco.mjtObj.mjOBJ_MESH
        for geom in np.flatnonzero(np.isin(m.geom_type, _meshed(mujoco)) & (m.geom_dataid >= 0)):
            name = mujoco.mj_id2name(m, kind, int(m.geom_dataid[geom])) or ""
            if name in self.shapes:
                asset = self.shapes[name]
                yield Mesh(bodies[int(m.geom_bodyid[geom])], asset.written, asset.element.line)


def _meshed(mujoco: ModuleType) -> list[int]:
    return [int(mujoco.mjtGeom.mjGEOM_MESH), int(mujoco.mjtGeom.mjGEOM_SDF)]


def reduce_xml(mujoco: ModuleType, parts: Sequence[Part], roots: Roots) -> Dropped:
    """Take pictures and unknown plugins out of the XML, and put words for files of shapes."""
    dropped = Dropped()
    for part in parts:
        _drop_pictures(part.root, dropped)
        _drop_plugins(mujoco, part.root, dropped)
        stripped = part.setting("strippath") == "true"
        for element, beside in part.assets:
            if element.tag in _PICTURES:
                continue
            name = element.attributes.get("file", "")
            if stripped:
                name = name.replace("\\", "/").rpartition("/")[2]
            written = (PurePosixPath(part.meshdir()) / name.replace("\\", "/")).as_posix()
            asset = Asset(element, name, part.folders(beside), written)
            if element.tag in _SHAPES and name.strip():
                word = f"dalembert_none/{len(dropped.assets)}"
                dropped.assets[word] = asset
                element.attributes.setdefault("name", PurePosixPath(name.replace("\\", "/")).stem)
                element.attributes["file"] = word
            else:
                for key in [key for key in element.attributes if key.startswith("file")]:
                    asset.name = element.attributes[key]
                    element.attributes[key] = str(_readable(asset, roots))
        for element in part.root.walk():
            if element.tag == "compiler":
                for key in _FOLDERS:
                    element.attributes.pop(key, None)
    return dropped


def _drop_pictures(root: Element, dropped: Dropped) -> None:
    """<visual>, textures, materials, skins, and what only names them."""
    root.children = [child for child in root.children if child.tag != "visual"]
    for element in root.walk():
        for name in _PICTURE_ATTRIBUTES:
            element.attributes.pop(name, None)
        dropped.counts.update(c.tag for c in element.children if c.tag in _PICTURES)
        element.children = [child for child in element.children if child.tag not in _PICTURES]


def _drop_plugins(mujoco: ModuleType, root: Element, dropped: Dropped) -> None:
    """Elements of plugins that are not registered; none is ever loaded.

    Registered ones stay: their names in an <extension> bring no code that is not there already.
    """
    plugins = [p for e in root.walk() if e.tag == "extension" for p in e.all("plugin")]
    names = {
        instance.attributes.get("name", ""): plugin.attributes.get("plugin", "")
        for plugin in plugins
        for instance in plugin.all("instance")
    }
    known: dict[str, bool] = {}
    for element in root.walk():
        gone = []
        for child in element.all("plugin"):
            name = child.attributes.get("plugin", names.get(child.attributes.get("instance", "")))
            if name not in known:
                known[name or ""] = _registered(mujoco, name or "")
            if element.tag in _PUSHED:
                dropped.forces[name or ""] += 1
            if not known[name or ""]:
                gone.append(child)
        if gone:
            dropped.counts["plugin that is not registered"] += len(gone)
            element.children = [child for child in element.children if child not in gone]
            if element.tag == "actuator":
                _forget_controls(root)


def _registered(mujoco: ModuleType, name: str) -> bool:
    """Whether MuJoCo has a plugin of this name (words that are no name are left to MuJoCo)."""
    if not name.replace(".", "").replace("_", "").isalnum():
        return True
    text = f'<mujoco><extension><plugin plugin="{name}"/></extension></mujoco>'
    try:
        mujoco.MjSpec.from_string(text)
    except ValueError:
        return False
    return True


def _forget_controls(root: Element) -> None:
    """Keyframes no longer fit where actuators are gone."""
    for element in root.walk():
        if element.tag == "key":
            for name in ("ctrl", "act"):
                element.attributes.pop(name, None)


def reduce_spec(spec: Any, parts: Sequence[Part], dropped: Dropped, roots: Roots) -> None:
    """Give shapes that inertia comes from their files, and all others four points or no hills."""
    needed = set(_needed(spec, parts))
    for shape in (*spec.meshes, *spec.hfields):
        asset = dropped.assets.get(shape.file)
        if asset is None:
            continue
        if asset.element.tag == "mesh":
            dropped.shapes[shape.name] = asset
        if shape.name in needed:
            shape.file = str(_readable(asset, roots))
            continue
        shape.file = ""
        if asset.element.tag == "mesh":
            shape.uservert, shape.scale = _TETRAHEDRON, [1.0, 1.0, 1.0]
        else:
            shape.nrow, shape.ncol, shape.userdata = 2, 2, [0.0] * 4
        dropped.counts[f"{asset.element.tag} not opened"] += 1


def _readable(asset: Asset, roots: Roots) -> Path:
    """The path of a file that is there, allowed, and not too large."""
    path, label = roots.find(asset.element, asset.name, asset.folders), shown(asset.name)
    if not path.exists():
        raise asset.element.error(f"the file {label} is not there; the inertia comes from it")
    if not path.is_file() or path.stat().st_size > MAX_ASSET:
        raise asset.element.error(f"{label} is no file, or too large a one")
    if "%" in str(path):
        raise asset.element.error(f"{label}: MuJoCo may crash on a '%' in its path; rename")
    return path


def _needed(spec: Any, parts: Sequence[Part]) -> Iterator[str]:
    """Names of shapes whose geoms enter an inertia: doubt keeps them.

    Geoms count on bodies without <inertial> (or with inertiafromgeom), in the groups of
    inertiagrouprange, with a mass or a density. A body that never moves needs no inertia, unless
    settotalmass shares a mass out among all.
    """
    overruled = any(part.setting("inertiafromgeom") == "true" for part in parts)
    moving = any(part.setting("settotalmass") for part in parts)
    groups = [_groups(part) for part in parts]
    stack = [(spec.worldbody, moving)]
    while stack:
        body, moves = stack.pop()
        moves = moves or len(body.joints) > 0
        stack += [(child, moves) for child in body.bodies]
        for geom in body.geoms if moves else ():
            counted = overruled or not body.explicitinertial
            counted &= any(low <= geom.group <= high for low, high in groups)
            counted &= geom.mass != 0.0 and not (math.isnan(geom.mass) and geom.density == 0.0)
            if counted or geom.fluid_ellipsoid:
                yield from (name for name in (geom.meshname, geom.hfieldname) if name)


def _groups(part: Part) -> tuple[float, float]:
    words = part.setting("inertiagrouprange").split()
    try:
        low, high = map(float, words)
    except ValueError:
        return -math.inf, math.inf
    return low, high
