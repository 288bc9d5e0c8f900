"""What an MJCF file would make MuJoCo open, checked before MuJoCo sees it.

MuJoCo's compiler reads includes, meshes, height fields and textures on its own. Here every file the
XML names must lie in the folder of the main file, and counts that multiply bodies are bounded.
"""

from __future__ import annotations

from pathlib import Path

from dalembert.errors import ImportFileError
from dalembert.importers.xml_read import MAX_ELEMENTS, Document, Element, read_xml, shown

MAX_INCLUDES = 64
MAX_COPIES = 2000  # of one body, by nested <replicate> and <composite>
MAX_BODIES = 2000
MAX_SIZE = 10_000  # rows, pixels, or numbers of users that an attribute asks for
MAX_ASSET = 2**30  # bytes of a mesh or picture
_SIZES = (
    "nrow",
    "ncol",
    "width",
    "height",
    "gridsize",
    "resolution",
    "nsample",
    "nkey",
    "nuserdata",
)
_SIZES_OF = (("numeric", "size"), ("size", "memory"), ("size", "njmax"), ("size", "nconmax"))

_FOLDERS = ("assetdir", "meshdir", "texturedir")


def check_files(document: Document) -> list[Element]:
    """The roots of the main file and all it includes, or an error at the offending element."""
    roots = _with_includes(document)
    folders = _folders(roots)
    for root in roots:
        for element in root.walk():
            if element.tag in ("plugin", "extension"):
                raise element.error(f"<{element.tag}> would load foreign code; it is refused")
            for name, value in element.attributes.items():
                if "%" in value:
                    # MuJoCo prints some words of the file as formats: '%n' ends the process
                    raise element.error(f"{name}={shown(value)}: MuJoCo may crash on a '%'; rename")
                if element.tag != "include" and name.startswith("file"):
                    _check_asset(element, value, document.path, folders)
                _check_size(element, name, value)
    _check_copies(roots)
    return roots


def _check_size(element: Element, name: str, value: str) -> None:
    """Attributes that make MuJoCo allocate: rows of height fields, pixels, numbers of users."""
    counted = name in _SIZES or name.startswith("nuser") or (element.tag, name) in _SIZES_OF
    if not counted:
        return
    for word in value.split():
        digits = word.strip("+-").rstrip("KMGTPEkmgtpe")
        if len(digits) > 7 or not digits.isdecimal() or int(digits) > MAX_SIZE:
            raise element.error(f"{name}={shown(value)} is more than a robot needs: {MAX_SIZE}")


def _with_includes(document: Document) -> list[Element]:
    """The main root, with included files as children of their <include>, and attached models."""
    roots, seen = [document.root], 0
    pending = list(roots)
    while pending:
        for element in pending.pop().walk():
            # <model> in <asset> is a whole robot to attach: it may name files in turn
            model = element.tag == "model" and "file" in element.attributes
            if element.children or (element.tag != "include" and not model):
                continue
            seen += 1
            if seen > MAX_INCLUDES:
                raise element.error(f"more than {MAX_INCLUDES} includes, or includes in a circle")
            path = inside(element, element.word("file", "an include"), document.path)
            included = read_xml(path).root
            if model:
                roots.append(included)
            else:
                element.children.append(included)
            pending.append(included)
    return roots


def _folders(roots: list[Element]) -> list[str]:
    """Folders that <compiler> puts before file names; none is always possible."""
    found = [""]
    for root in roots:
        for element in root.walk():
            if element.tag == "compiler":
                found += [element.attributes[k] for k in _FOLDERS if k in element.attributes]
    return found


def _check_asset(element: Element, value: str, main: Path | None, folders: list[str]) -> None:
    if value.strip():
        for folder in folders:
            path = inside(element, f"{folder}/{value}" if folder else value, main)
            if path.exists() and not (path.is_file() and path.stat().st_size <= MAX_ASSET):
                raise element.error(f"{shown(value)} is no file, or too large a one")


def inside(element: Element, name: str, main: Path | None) -> Path:
    """The path of a file named in the XML; outside the main file's folder is an error."""
    if main is None:
        raise element.error(f"{shown(name)}: XML given as text has no folder to find files in")
    try:
        home = main.resolve().parent
        path = (home / name.replace("\\", "/")).resolve()
    except (OSError, ValueError, RuntimeError):
        raise element.error(f"{shown(name)} is not a path") from None
    if not path.is_relative_to(home):
        raise element.error(f"{shown(name)} is outside the robot's folder; it is not opened")
    return path


def _check_copies(roots: list[Element]) -> None:
    """Nested <replicate> and <composite> multiply: bound the copies, and all elements they make.

    An attached model counts each time; which one is attached is not resolved: the largest.
    """
    largest = max((_expanded(root, 1) for root in roots[1:]), default=1)
    total = _expanded(roots[0], largest)
    if total > MAX_ELEMENTS:
        raise roots[0].error(f"its copies make {total:,} elements; the limit is {MAX_ELEMENTS:,}")


def _expanded(root: Element, attached: int) -> int:
    """How many elements a file makes; more than `MAX_COPIES` of one are an error."""
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


def require_mujoco(document: Document) -> None:
    """The root must be <mujoco>."""
    if document.root.tag != "mujoco":
        hint = "; this is URDF: use from_urdf" if document.root.tag == "robot" else ""
        raise ImportFileError(
            f"the root element is <{document.root.tag[:60]}>, not <mujoco>{hint}",
            document.file,
            document.root.line,
        )
