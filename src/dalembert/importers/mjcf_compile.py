"""From files to MuJoCo's compiled model: MuJoCo is handed one text, and opens what we allow."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any
from xml.sax.saxutils import quoteattr

from dalembert.errors import ImportFileError
from dalembert.importers.mjcf_files import Roots, Trust, read_parts
from dalembert.importers.mjcf_looks import colours_of_materials
from dalembert.importers.mjcf_reduce import Dropped, reduce_spec, reduce_xml
from dalembert.importers.xml_read import MAX_ELEMENTS, Document, Element, shown

# Numbers in an MJCF that would make MuJoCo allocate or crash, bounded before MuJoCo sees them.


MAX_COPIES = 2000  # of one body, by nested <replicate> and <composite>
MAX_BODIES = 2000
MAX_SIZE = 10_000  # rows, samples, or numbers of users that an attribute asks for
_SIZES = ("nrow", "ncol", "resolution", "nsample", "nkey", "nuserdata")
_SIZES_OF = (("numeric", "size"), ("size", "memory"), ("size", "njmax"), ("size", "nconmax"))


def check_limits(roots: Sequence[Element]) -> None:
    """The main root and those of attached models, or an error at the offending element."""
    for root in roots:
        for element in root.walk():
            for name, value in element.attributes.items():
                if "%" in value:
                    # MuJoCo prints some words of the file as formats: '%n' ends the process
                    raise element.error(f"{name}={shown(value)}: MuJoCo may crash on a '%'; rename")
                _check_size(element, name, value)
    _check_copies(roots)


def _check_size(element: Element, name: str, value: str) -> None:
    """Attributes that make MuJoCo allocate: rows of height fields, numbers of users."""
    counted = name in _SIZES or name.startswith("nuser") or (element.tag, name) in _SIZES_OF
    if not counted:
        return
    for word in value.split():
        digits = word.strip("+-").rstrip("KMGTPEkmgtpe")
        if len(digits) > 7 or not digits.isdecimal() or int(digits) > MAX_SIZE:
            raise element.error(f"{name}={shown(value)} is more than a robot needs: {MAX_SIZE}")


def _check_copies(roots: Sequence[Element]) -> None:
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


def compiled(
    mujoco: ModuleType, document: Document, trust: Trust
) -> tuple[Any, list[str], Dropped]:
    """The mjModel, MuJoCo's warnings, and what was dropped before it saw the file."""
    roots = Roots.of(document.path, trust)
    parts = read_parts(document, roots)
    for part in parts:
        colours_of_materials(part.root)
    dropped = reduce_xml(mujoco, parts, roots)
    check_limits([part.root for part in parts])
    text, elements = written(parts[0].root)
    attached = {part.name: written(part.root)[0].encode() for part in parts[1:]}
    try:
        with _listening(mujoco) as heard:
            spec = mujoco.MjSpec.from_string(text, include=attached)
            reduce_spec(mujoco, spec, parts, dropped, roots)
            # only muscles use length ranges, and the simulation that finds them may take minutes
            spec.compiler.LRopt.mode = mujoco.mjtLRMode.mjLRMODE_NONE
            return spec.compile(), heard, dropped
    except (ValueError, mujoco.FatalError) as error:
        if isinstance(error, ImportFileError):
            raise
        # lines of attached models are those of other files
        raise _refused(error, document, [] if attached else elements) from None


@contextmanager
def _listening(mujoco: ModuleType) -> Iterator[list[str]]:
    """MuJoCo's warnings as a list; left alone it would print them and write a log beside us."""
    heard: list[str] = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(heard.append)
    try:
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            yield heard
        heard += [str(warning.message) for warning in raised]
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


def _refused(error: Exception, document: Document, elements: Sequence[Element]) -> ImportFileError:
    """What MuJoCo said, at the line of the user's own file."""
    message = " ".join(str(error).split()).removeprefix("Error: ")
    found = re.search(r"line (\d+)", message)
    if found is None or not 1 <= int(found[1]) <= len(elements):
        return ImportFileError(f"MuJoCo refuses it: {message[:500]}", document.file)
    element = elements[int(found[1]) - 1]
    message = message.replace(found[0], f"line {element.line}")
    return element.error(f"MuJoCo refuses it: {message[:500]}")
