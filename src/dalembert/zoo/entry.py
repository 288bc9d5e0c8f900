"""What the zoo knows of a robot: name, title, where its numbers come from, how to build it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from dalembert.sources import DOCUMENTS

LECTURE = DOCUMENTS["000"].title

Builder = TypeVar("Builder", bound=Callable[..., Any])


@dataclass(frozen=True)
class Entry:
    """One named robot. `build()` makes it; textbook models take their lengths and masses."""

    name: str
    title: str
    citation: str
    build: Callable[..., Any]


REGISTERED: dict[str, Entry] = {}  # of the modules that were imported


def register(name: str, title: str, citation: str) -> Callable[[Builder], Builder]:
    """Decorator of a function that builds a robot or system: enter it under this name."""

    def entered(build: Builder) -> Builder:
        REGISTERED[name] = Entry(name, title, citation, build)
        return build

    return entered


def shift(x: Any = 0.0, y: Any = 0.0, z: Any = 0.0) -> list[list[Any]]:
    """Pose (4, 4) moved by (x, y, z) metres, as nested lists: entries may be parameters."""
    return [[1.0, 0.0, 0.0, x], [0.0, 1.0, 0.0, y], [0.0, 0.0, 1.0, z], [0.0, 0.0, 0.0, 1.0]]


def diagonal(x: Any, y: Any, z: Any) -> list[list[Any]]:
    """Inertia tensor (3, 3) with these principal moments in kg m², as nested lists."""
    return [[x, 0.0, 0.0], [0.0, y, 0.0], [0.0, 0.0, z]]


def symmetric(xx: Any, yy: Any, zz: Any, xy: Any, xz: Any, yz: Any) -> list[list[Any]]:
    """Inertia tensor (3, 3) in kg m² from its six numbers, products as they stand in the tensor."""
    return [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
