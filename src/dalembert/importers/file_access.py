"""Files that a robot description may open: those in its own folder, and in trusted folders.

MuJoCo's compiler would open includes, meshes and textures on its own. Here includes are read and
put in place first: MuJoCo sees one text, and is told the full path of each mesh it may open.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from dalembert.errors import SettingError
from dalembert.importers.safe_parsing import Document, Element, excerpt, read_xml
from dalembert.text import short

MAX_INCLUDES = 64
MAX_ASSET = 2**30  # bytes of a mesh
NEAR = 4  # folders up from the robot that are still its surroundings

Trust = str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None


@dataclass(frozen=True)
class Roots:
    """The folder of the main file (None for text), and all folders whose files may be opened."""

    home: Path | None
    folders: tuple[Path, ...]

    @classmethod
    def of(cls, main: Path | None, trust: Trust) -> Roots:
        """`trust` is a path or several; a relative one starts at the folder of the main file."""
        home = None if main is None else main.resolve().parent
        named = [trust] if isinstance(trust, (str, os.PathLike)) else trust
        if not isinstance(named or (), Iterable):
            raise SettingError(f"trust must be a path or a list of paths, not {short(trust)}")
        folders = [] if home is None else [home]
        for name in named or ():
            if not isinstance(name, (str, os.PathLike)):
                raise SettingError(f"trust must be a path or a list of paths, not {short(name)}")
            path = ((home or Path.cwd()) / Path(name).expanduser()).resolve()
            if not path.exists():
                raise SettingError(f"trust={str(name)!r}: there is no folder {path}")
            folders.append(path)
        return cls(home, tuple(folders))

    def find(self, element: Element, name: str, folders: Iterable[Path]) -> Path:
        """The first folder/name that is there, as MuJoCo looks; outside the roots it is an error.

        Links are followed first: what counts is where a file really lies.
        """
        try:
            paths = [(folder / name.replace("\\", "/")).resolve() for folder in folders]
            path = next((path for path in paths if path.exists()), paths[0])
        except (OSError, ValueError, RuntimeError):
            raise element.error(f"{excerpt(name)} is not a path") from None
        if not any(path.is_relative_to(root) for root in self.folders):
            reason = "it is outside the robot's folder"
            if self.home is None:
                reason = "XML given as text has no folder to find files in"
            hint = remedy(path.parent, self.home)
            raise element.error(f"{excerpt(name)} is not opened: {reason}; {hint}")
        return path


def remedy(folder: Path, home: Path | None) -> str:
    """The argument that opens this folder: a near one above both, so that once is enough."""
    named = str(folder)
    for up in list(home.parents)[:NEAR] if home is not None else []:
        if folder.is_relative_to(up) and up != up.parent:
            named = Path(os.path.relpath(up, home)).as_posix()
            break
    return f"if you trust what lies there, say trust={named!r}"


@dataclass
class Part:
    """The main file or an attached model, with its includes inserted."""

    root: Element
    home: Path  # where its relative names start
    name: str = ""  # by which an <attach>ed model is handed to MuJoCo
    assets: list[tuple[Element, Path]] = field(default_factory=list)  # and the folder of their file

    @cached_property
    def compiler(self) -> dict[str, str]:
        """The attributes of all its <compiler>s, the last of each counting."""
        attributes: dict[str, str] = {}
        for element in self.root.walk():
            if element.tag == "compiler":
                attributes |= element.attributes
        return attributes

    def meshdir(self) -> str:
        """The folder that <compiler> puts before the names of meshes."""
        folder = self.compiler.get("meshdir", self.compiler.get("assetdir", ""))
        return folder.replace("\\", "/")

    def folders(self, beside: Path) -> list[Path]:
        """Where MuJoCo looks for a mesh: in meshdir, then beside the file that names it."""
        return [self.home / self.meshdir(), beside]


def read_parts(document: Document, roots: Roots) -> list[Part]:
    """The main file and the models it attaches, each with includes in place."""
    parts = [Part(document.root, roots.home or Path.cwd())]
    count = 0  # of files opened

    def opened(element: Element, folders: Iterable[Path]) -> tuple[Element, Path]:
        """The root of the file that an element names, and its folder."""
        nonlocal count
        count += 1
        if count > MAX_INCLUDES:
            raise element.error(f"more than {MAX_INCLUDES} includes, or includes in a circle")
        name = element.word("file", "an include")
        path = roots.find(element, name, folders)
        if not path.exists():
            raise element.error(f"the file {excerpt(name)} is not there")
        return read_xml(path).root, path.parent

    for part in parts:  # grows while it is walked
        stack = [(part.root, part.home)]
        while stack:
            element, beside = stack.pop()
            placed: list[Element] = []
            pending = [(child, beside) for child in reversed(element.children)]
            while pending:
                child, folder = pending.pop()
                if child.tag.lower() == "include":
                    root, included = opened(child, (part.home, folder))
                    pending += [(inner, included) for inner in reversed(root.children)]
                    continue
                if child.tag == "model" and "file" in child.attributes:
                    # a whole robot to <attach>: MuJoCo gets it under a name of ours
                    root, home = opened(child, (folder, part.home))
                    if root.tag != "mujoco":
                        tag = root.tag[:60]
                        raise child.error(f"a model to attach must be MJCF; this one is <{tag}>")
                    child.attributes["file"] = f"dalembert_{len(parts)}.xml"
                    parts.append(Part(root, home, child.attributes["file"]))
                elif any(name.startswith("file") for name in child.attributes):
                    part.assets.append((child, folder))
                placed.append(child)
                stack.append((child, folder))
            element.children = placed
    return parts
