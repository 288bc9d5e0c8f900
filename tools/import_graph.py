"""Which room of the package imports which, read from the syntax trees: `python tools/import_graph.py`.

Imports inside functions count, those for type checkers do not: what runs must not go in circles, and a
lazy import would hide that.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = "dalembert"
SOURCE = Path(__file__).parents[1] / "src" / PACKAGE

Graph = dict[str, set[str]]


@cache
def import_graph(source: Path = SOURCE) -> Graph:
    """{room: rooms it imports}; a room is a folder or a module right under the package."""
    rooms = {path.stem for path in source.iterdir() if path.suffix == ".py" or _is_package(path)}
    rooms -= {"__init__", "__main__"}  # the doors of the package
    graph: Graph = {room: set() for room in sorted(rooms)}
    for file in sorted(source.rglob("*.py")):
        room = file.relative_to(source).parts[0].removesuffix(".py")
        if room in graph:
            used = {name.split(".")[1] for name in imports(file) if name.count(".")}
            graph[room] |= (used & rooms) - {room}
    return graph


def imports(file: Path) -> Iterator[str]:
    """Dotted names of everything of the package that a file imports when it runs."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    unused = {id(node) for block in _typing_blocks(tree) for node in ast.walk(block)}
    for node in ast.walk(tree):
        if id(node) in unused:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and _inside(node.module):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _inside(alias.name))


def cycles(graph: Graph) -> list[list[str]]:
    """Circles of rooms that import each other, each told once."""
    found: list[list[str]] = []

    def walk(room: str, path: list[str]) -> None:
        if room in path:
            circle = path[path.index(room) :]
            if min(circle) == circle[0]:
                found.append([*circle, room])
            return
        for used in sorted(graph[room]):
            walk(used, [*path, room])

    for room in graph:
        walk(room, [])
    return [circle for k, circle in enumerate(found) if circle not in found[:k]]


def _typing_blocks(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield from node.body


def _inside(name: str) -> bool:
    return name.split(".")[0] == PACKAGE


def _is_package(path: Path) -> bool:
    return (path / "__init__.py").exists()


if __name__ == "__main__":
    for room, used in import_graph().items():
        print(f"{room}: {', '.join(sorted(used)) or 'nothing'}")
