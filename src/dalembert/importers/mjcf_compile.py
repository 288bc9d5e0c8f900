"""Compiling MJCF with MuJoCo, after bounding numbers and removing what dynamics does not need.

Pictures, sensors and contact pairs are removed from the XML. A mesh or height field stays only if the
inertia of a body that moves, the fluid around it, or the path of a tendon is computed from a geom of
that shape; otherwise four points take its place, so that every name still refers to something.
Plugins that this MuJoCo does not have are removed as well.
"""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from dalembert.errors import ImportFileError
from dalembert.importers.file_access import MAX_ASSET, Part, Roots, read_parts
from dalembert.importers.safe_parsing import MAX_ELEMENTS, Document, Element, excerpt
from dalembert.model.notes import LeftOut, Mesh
from dalembert.spatial.quaternions import conjugate, matrix_from_quaternion

# Numbers in an MJCF that would make MuJoCo allocate or crash, bounded before MuJoCo sees them.


MAX_COPIES = 2000  # of one body, by nested <replicate> and <composite>
MAX_BODIES = 2000
MAX_SIZE = 10_000  # rows, samples, or numbers of users that an attribute asks for
_SIZES = ("nrow", "ncol", "resolution", "nsample", "nkey", "nuserdata")
_SIZES_OF = (("numeric", "size"), ("size", "memory"), ("size", "njmax"), ("size", "nconmax"))


def check_limits(roots: Sequence[Element]) -> None:
    """The main root and those of attached models, or an error at the offending element."""
    for element in chain.from_iterable(root.walk() for root in roots):
        for name, value in element.attributes.items():
            if "%" in value:
                # MuJoCo prints some words of the file as formats: '%n' ends the process
                raise element.error(f"{name}={excerpt(value)}: MuJoCo may crash on a '%'; rename")
            # it allocates as much as these ask for: rows of height fields, user data
            counted = name in _SIZES or name.startswith("nuser") or (element.tag, name) in _SIZES_OF
            for word in value.split() if counted else ():
                digits = word.strip("+-").rstrip("KMGTPEkmgtpe")
                if len(digits) > 7 or not digits.isdecimal() or int(digits) > MAX_SIZE:
                    raise element.error(
                        f"{name}={excerpt(value)} is more than a robot needs: {MAX_SIZE}"
                    )
    # nested <replicate> and <composite> multiply; each <attach> counts as the largest model
    largest = max((_expanded(root, 1) for root in roots[1:]), default=1)
    total = _expanded(roots[0], largest)
    if total > MAX_ELEMENTS:
        raise roots[0].error(f"its copies make {total:,} elements; the limit is {MAX_ELEMENTS:,}")


def _expanded(root: Element, attached: int) -> int:
    """Number of elements after expansion; more than `MAX_COPIES` of one are an error."""
    stack, total = [(root, 1)], 0
    while stack:
        element, copies = stack.pop()
        if element.tag in ("replicate", "composite", "flexcomp"):
            for word in element.attributes.get("count", "1").split():
                digits = word.lstrip("+").split(".")[0]
                copies *= int(digits) if digits.isdecimal() and len(digits) < 9 else MAX_COPIES + 1
            if copies > MAX_COPIES:
                raise element.error(f"<{element.tag}> makes more than {MAX_COPIES} copies")
        total += copies * (attached if element.tag == "attach" else 1)
        stack.extend((child, copies) for child in element.children)
    return total


class CompiledModel:
    """An mjModel, whose arrays are its attributes, with MuJoCo itself and what is noted of it."""

    def __init__(
        self, mujoco: ModuleType, model: Any, warnings: list[str], dropped: Dropped
    ) -> None:
        self.mujoco, self.model, self.warnings, self.dropped = mujoco, model, warnings, dropped
        self.left_out: list[LeftOut] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def leave_out(self, what: str, name: str, effect: str) -> None:
        """Note an element that our model lacks."""
        self.left_out.append(LeftOut(what, name, effect))

    def disabled(self, *names: str) -> bool:
        """Whether the file switches one of these parts off (flags differ between versions)."""
        flags = (getattr(self.mujoco.mjtDisableBit, f"mjDSBL_{name}", None) for name in names)
        return any(flag is not None and self.opt.disableflags & flag.value for flag in flags)

    @property
    def has_passive(self) -> bool:
        """Whether fluids and gravity compensation act: not with springs and dampers both disabled."""
        neither = self.disabled("SPRING") and self.disabled("DAMPER")
        return not (neither or self.disabled("PASSIVE"))

    @property
    def actuator_count(self) -> int:
        """How many actuators there are; MuJoCo 4 counts their controls (nu) apart."""
        return int(getattr(self, "nactuator", self.nu))

    def name_of(self, word: str, i: int) -> str:
        """The name that the file gives to a thing of this kind ("body", "mesh", …), or nothing."""
        kind = getattr(self.mujoco.mjtObj, f"mjOBJ_{word.upper()}")
        return self.mujoco.mj_id2name(self.model, kind, i) or ""

    @cached_property
    def names(self) -> dict[str, list[str]]:
        """Names by kind and index; unnamed ones get a free name."""
        counts = {"body": self.nbody, "joint": self.njnt, "site": self.nsite}
        counts |= {"numeric": self.nnumeric, "tendon": self.ntendon, "equality": self.neq}
        counts["actuator"] = self.actuator_count
        names = {}
        for word, count in counts.items():
            names[word] = [self.name_of(word, i) for i in range(count)]
            taken = set(names[word])
            for i in range(count):
                unnamed = f"{word}{i}"
                while unnamed in taken:
                    unnamed += "_"
                names[word][i] = names[word][i] or unnamed
                taken.add(names[word][i])
        return names

    @property
    def site_frames(self) -> list[str]:
        """Names of the sites as frames: not those of bodies."""
        bodies = set(self.names["body"][1:])
        return [site if site not in bodies else f"{site}_site" for site in self.names["site"]]

    def of_actuator(self, name: str, i: int, default: Any = 0) -> Any:
        """Field `name` of actuator i, or `default` where this version of MuJoCo does not have it."""
        values = getattr(self, f"actuator_{name}", None)
        return default if values is None else values[i]

    def series(self, name: str, i: int) -> np.ndarray:
        """Coefficients (degree,) of a polynomial spring or damper, the linear one first.

        Empty for none. MuJoCo before 3.6 has linear ones only.
        """
        higher = getattr(self, f"{name}poly", None)
        linear = getattr(self, name)[i]
        coefficients = np.array([linear, *([] if higher is None else higher[i])], dtype=float)
        return np.trim_zeros(coefficients, "b")


def compiled(mujoco: ModuleType, document: Document, roots: Roots) -> CompiledModel:
    """The compiled model of a file, without what dynamics does not need."""
    parts = read_parts(document, roots)
    for part in parts:
        colours_of_materials(part.root)
    dropped = reduce_xml(mujoco, parts, roots)
    check_limits([part.root for part in parts])
    text, elements = written(parts[0].root)
    attached = {part.name: written(part.root)[0].encode() for part in parts[1:]}
    try:
        with _recorded_warnings(mujoco) as messages:
            spec = mujoco.MjSpec.from_string(text, include=attached)
            reduce_spec(mujoco, spec, parts, dropped, roots)
            # only muscles use length ranges, and the simulation that finds them may take minutes
            spec.compiler.LRopt.mode = mujoco.mjtLRMode.mjLRMODE_NONE
            model = spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        if isinstance(error, ImportFileError):
            raise
        message = " ".join(str(error).split()).removeprefix("Error: ")
        line = re.search(r"line (\d+)", message)
        # lines of attached models are those of other files
        if attached or line is None or not 1 <= int(line[1]) <= len(elements):
            refusal = f"MuJoCo refuses it: {message[:500]}"
            raise ImportFileError(refusal, document.file) from None
        element = elements[int(line[1]) - 1]
        message = message.replace(line[0], f"line {element.line}")
        raise element.error(f"MuJoCo refuses it: {message[:500]}") from None
    return CompiledModel(mujoco, model, messages, dropped)


@contextmanager
def _recorded_warnings(mujoco: ModuleType) -> Iterator[list[str]]:
    """MuJoCo's warnings as a list; by default it prints them and writes a log file."""
    messages: list[str] = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(messages.append)
    try:
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            yield messages
        messages += [str(warning.message) for warning in raised]
    finally:
        mujoco.set_mju_user_warning(before)


def written(root: Element) -> tuple[str, list[Element]]:
    """XML with one start tag a line, and the element of each line."""
    lines: list[str] = []
    elements: list[Element] = []
    stack: list[tuple[Element, bool]] = [(root, False)]
    while stack:
        element, ends = stack.pop()
        if ends:
            lines[-1] += f"</{element.tag}>"
            continue
        attributes = "".join(f" {k}={quoteattr(v)}" for k, v in element.attributes.items())
        lines.append(f"<{element.tag}{attributes}>")
        elements.append(element)
        stack.append((element, True))
        stack.extend((child, False) for child in reversed(element.children))
    return "\n".join(lines), elements


# Plugins an MJCF names: those that MuJoCo has stay, all others are taken out; none is loaded.


MAX_PLUGINS = 64  # different names in one file
_FORCE_ELEMENTS = ("body", "composite", "flexcomp")  # where a plugin makes forces, beside actuators


def drop_plugins(mujoco: ModuleType, root: Element) -> tuple[Counter[str], int]:
    """Take out elements of plugins that are not registered.

    Registered ones stay: their names in an <extension> bring no code that is not there already.
    Returns how many elements push, by plugin, and how many are gone.
    """
    instances = {
        instance.attributes.get("name", ""): plugin.attributes.get("plugin", "")
        for extension in root.walk()
        if extension.tag == "extension"
        for plugin in extension.all("plugin")
        for instance in plugin.all("instance")
    }
    known: dict[str, bool] = {}
    forces: Counter[str] = Counter()
    count = 0
    for element in root.walk():
        removed = set()
        for child in element.all("plugin"):
            instance = child.attributes.get("instance", "")
            name = child.attributes.get("plugin", "") or instances.get(instance, "")
            if name not in known:
                known[name] = _registered(mujoco, name)
                if len(known) > MAX_PLUGINS:
                    raise child.error(f"more than {MAX_PLUGINS} plugins")
            if not known[name]:
                removed.add(id(child))
            # an actuator that stays is listed with all others
            forces[name] += element.tag in _FORCE_ELEMENTS or (
                element.tag == "actuator" and bool(removed)
            )
        if removed:
            element.children = [child for child in element.children if id(child) not in removed]
            count += len(removed)
            if element.tag == "actuator":  # controls of keyframes no longer fit
                for key in (each for each in root.walk() if each.tag == "key"):
                    for name in ("ctrl", "act"):
                        key.attributes.pop(name, None)
    return +forces, count


def _registered(mujoco: ModuleType, name: str) -> bool:
    """Whether MuJoCo has a plugin of this name; no name, or one it may crash on, is left alone."""
    if not name or "%" in name:
        return True
    plugin = f"<plugin plugin={quoteattr(name)}/>"
    try:
        mujoco.MjSpec.from_string(f"<mujoco><extension>{plugin}</extension></mujoco>")
    except ValueError:
        return False
    return True


_PICTURES = frozenset({"texture", "material", "skin", "tuple", "text"})
_SECTIONS = ("sensor", "contact")
_PICTURE_ATTRIBUTES = ("material", "texture")
_SHAPES = ("mesh", "hfield")
_FOLDERS = ("assetdir", "meshdir", "texturedir", "strippath")
# longer than wide: a capsule fitted to it must have a cylinder between its ends
_TETRAHEDRON = [-1.0, -1.0, -3.0, 1.0, 1.0, -3.0, 1.0, -1.0, 3.0, -1.0, 1.0, 3.0]


@dataclass
class Asset:
    """A mesh or height field: its element, the name of its file, where MuJoCo looks for it.

    In the model a mesh has the points of its file scaled, then turned and shifted.
    """

    element: Element
    name: str
    folders: list[Path]
    written: str = ""  # name with meshdir before it
    scale: tuple[float, ...] = field(init=False)
    shift: np.ndarray = field(init=False)
    turn: np.ndarray = field(init=False)  # quaternion (x, y, z, w)

    def read_placement(self, mesh: Any) -> None:
        """s Rᵀ (x − p), with the reference pose R, p of the asset and its scale s."""
        scale = np.array(mesh.scale, dtype=float)
        self.turn = conjugate(np.roll(np.array(mesh.refquat, dtype=float), -1))
        self.shift = -scale * (matrix_from_quaternion(self.turn) @ np.array(mesh.refpos))
        self.scale = tuple(scale.tolist())


@dataclass
class Dropped:
    """Removed elements, and the files of shapes by the word that replaces them in the XML."""

    counts: Counter[str] = field(default_factory=Counter)
    forces: Counter[str] = field(default_factory=Counter)  # elements that push, by plugin
    assets: dict[str, Asset] = field(default_factory=dict)
    shapes: dict[str, Asset] = field(default_factory=dict)  # meshes by their name in the model

    def meshes(self, m: CompiledModel) -> Iterator[Mesh]:
        """The files of meshes that bodies show."""
        kinds, bodies = m.mujoco.mjtGeom, m.names["body"]
        meshed = np.isin(m.geom_type, [int(kinds.mjGEOM_MESH), int(kinds.mjGEOM_SDF)])
        for geom in np.flatnonzero(meshed & (m.geom_dataid >= 0)):
            asset = self.shapes.get(m.name_of("mesh", int(m.geom_dataid[geom])))
            if asset is not None:
                yield Mesh(bodies[int(m.geom_bodyid[geom])], asset.written, asset.element.line)


def reduce_xml(mujoco: ModuleType, parts: Sequence[Part], roots: Roots) -> Dropped:
    """Take pictures and unknown plugins out of the XML, and put words for files of shapes."""
    dropped = Dropped()
    for part in parts:
        # <visual>, <sensor>, <contact>, textures, materials, skins, and what only names them
        root = part.root
        for section in _SECTIONS:
            dropped.counts[section] += sum(len(each.children) for each in root.all(section))
        removed = (*_SECTIONS, "visual")
        root.children = [child for child in root.children if child.tag not in removed]
        for element in root.walk():
            for name in _PICTURE_ATTRIBUTES:
                element.attributes.pop(name, None)
            dropped.counts.update(c.tag for c in element.children if c.tag in _PICTURES)
            element.children = [child for child in element.children if child.tag not in _PICTURES]
        forces, count = drop_plugins(mujoco, part.root)
        dropped.forces += forces
        dropped.counts["plugin that is not registered"] += count
        for element, beside in part.assets:
            if element.tag in _SHAPES and element.attributes.get("file", "").strip():
                # a word in place of the file of a shape, which keeps the name it has from its file
                file = PurePosixPath(element.attributes["file"].replace("\\", "/"))
                is_stripped = part.compiler.get("strippath") == "true"
                name = file.name if is_stripped else file.as_posix()
                word = f"dalembert_none/{len(dropped.assets)}"
                written = (PurePosixPath(part.meshdir()) / name).as_posix()
                dropped.assets[word] = Asset(element, name, part.folders(beside), written)
                if not element.attributes.get("name"):
                    element.attributes["name"] = file.stem
                element.attributes["file"] = word
            elif element.tag not in _PICTURES:
                for key, name in element.attributes.items():
                    if key.startswith("file") and name.strip():
                        path = _readable(Asset(element, name, part.folders(beside)), roots)
                        element.attributes[key] = str(path)
        for element in part.root.walk():
            if element.tag.lower() == "compiler":
                for key in _FOLDERS:
                    element.attributes.pop(key, None)
    return dropped


def reduce_spec(
    mujoco: ModuleType, spec: Any, parts: Sequence[Part], dropped: Dropped, roots: Roots
) -> None:
    """Give shapes that inertia comes from their files, and all others four points or no hills."""
    needed = set(_needed(mujoco, spec, parts))
    for shape in (*spec.meshes, *spec.hfields):
        asset = dropped.assets.get(shape.file)
        if asset is None:
            continue
        if asset.element.tag == "mesh":
            dropped.shapes[shape.name] = asset
            asset.read_placement(shape)
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
    path, label = roots.find(asset.element, asset.name, asset.folders), excerpt(asset.name)
    if not path.exists():
        raise asset.element.error(f"the file {label} is not there, and the dynamics needs it")
    if not path.is_file() or path.stat().st_size > MAX_ASSET:
        raise asset.element.error(f"{label} is no file, or too large a one")
    if "%" in str(path):
        raise asset.element.error(f"{label}: MuJoCo may crash on a '%' in its path; rename")
    return path


def _needed(mujoco: ModuleType, spec: Any, parts: Sequence[Part]) -> Iterator[str]:
    """Names of shapes whose geoms enter an inertia, a fluid force or a tendon's path: doubt keeps them.

    Geoms count on bodies without <inertial> (or with inertiafromgeom), in the groups of
    inertiagrouprange, with a mass or a density. A body that never moves needs no inertia, unless
    settotalmass shares a mass out among all. A tendon may run over a geom fitted to a mesh, and that
    on any body.
    """
    wrapped = (mujoco.mjtWrap.mjWRAP_SPHERE, mujoco.mjtWrap.mjWRAP_CYLINDER)
    for tendon in spec.tendons:
        yield from (part.target.meshname for part in tendon.path if part.type in wrapped)
    overruled = any(part.compiler.get("inertiafromgeom") == "true" for part in parts)
    moving = any("settotalmass" in part.compiler for part in parts)
    groups = []
    for part in parts:
        try:
            low, high = map(float, part.compiler.get("inertiagrouprange", "").split())
        except ValueError:
            low, high = -math.inf, math.inf
        groups.append((low, high))
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


def colours_of_materials(root: Element) -> None:
    """Give geoms the colour of their material, which is taken out of the file after that."""
    known = {}
    for element in root.walk():
        if element.tag == "material" and "name" in element.attributes:
            rgba = element.attributes.get("rgba", "0.8 0.8 0.8 1")
            try:
                numbers = [float(word) for word in rgba.split()]
            except ValueError:
                numbers = []
            is_colour = len(numbers) == 4 and all(0.0 <= x <= 1.0 for x in numbers)
            known[element.attributes["name"]] = rgba if is_colour else ""
    for element in root.walk():
        rgba = known.get(element.attributes.get("material", ""), "")
        if element.tag == "geom" and "rgba" not in element.attributes and rgba:
            element.attributes["rgba"] = rgba
