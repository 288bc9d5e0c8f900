"""The XML of COLLADA: long lists of numbers, which `xml_read` does not keep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn
from xml.parsers import expat

import numpy as np

from dalembert.errors import ImportFileError

MAX_NODES, MAX_DEPTH = 200_000, 256


@dataclass(slots=True)
class Node:
    """An element: its tag, attributes, children, and its text in pieces."""

    tag: str
    attributes: dict[str, str]
    children: list[Node] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    def all(self, tag: str) -> Iterator[Node]:
        """Children with this tag."""
        return (child for child in self.children if child.tag == tag)

    def walk(self) -> Iterator[Node]:
        """This element and everything below it."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def numbers(self) -> np.ndarray:
        """The text as numbers (n,)."""
        return np.array(list(map(float, "".join(self.text).split())))


def parse(data: bytes, file: str) -> Node:
    """The root of a document without entities and without references to other files."""
    top = Node("", {})
    stack, count = [top], 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > MAX_NODES or len(stack) > MAX_DEPTH:
            raise ImportFileError("it has too many elements, or too deep ones", file)
        node = Node(tag.rpartition(":")[2], attributes)
        stack[-1].children.append(node)
        stack.append(node)

    def refuse(*_: Any) -> NoReturn:
        raise ImportFileError("entities are refused", file)

    reader: Any = expat.ParserCreate()
    reader.buffer_text, reader.buffer_size = True, 2**20
    reader.StartElementHandler = start
    reader.EndElementHandler = lambda tag: stack.pop()
    reader.CharacterDataHandler = lambda text: stack[-1].text.append(text)
    reader.EntityDeclHandler = reader.ExternalEntityRefHandler = refuse
    reader.SkippedEntityHandler = refuse
    try:
        reader.Parse(data, True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise ImportFileError(f"this is not valid XML: {reason}", file, error.lineno) from None
    return top.children[0]
