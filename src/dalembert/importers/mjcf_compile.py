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
from dalembert.importers.mjcf_limits import check_limits
from dalembert.importers.mjcf_looks import colours_of_materials
from dalembert.importers.mjcf_reduce import Dropped, reduce_spec, reduce_xml
from dalembert.importers.xml_read import Document, Element


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
            reduce_spec(spec, parts, dropped, roots)
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
