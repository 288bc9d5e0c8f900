"""Which file of the package imports which, read from the syntax trees: `python tools/import_graph.py`.

Imports inside functions count, those for type checkers do not: what runs must not go in circles, and a
lazy import would hide that. The top package counts as importing all that it offers. The exit status is
1 where files import each other in a circle.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

PACKAGE = "dalembert"
SOURCE = Path(__file__).parents[1] / "src" / PACKAGE

Graph = dict[str, set[str]]


@cache
def file_graph(source: Path = SOURCE) -> Graph:
    """{module: modules it imports}, by dotted names; a package is its `__init__.py`.

    The scripts of `examples` are no modules.
    """
    modules: dict[str, Path] = {}
    for file in sorted(source.rglob("*.py")):
        parts = (PACKAGE, *file.relative_to(source).with_suffix("").parts)
        if parts[1] == "examples":
            continue
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return {name: set(imports(file, modules)) - {name} for name, file in modules.items()}


def import_graph(source: Path = SOURCE) -> Graph:
    """{package: packages it imports}; a module right under the top package counts as one."""
    packages: Graph = {}
    for name, used in file_graph(source).items():
        package = _package(name)
        if package not in ("", "__main__"):  # the entry points
            packages.setdefault(package, set()).update({_package(x) for x in used} - {package, ""})
    return dict(sorted(packages.items()))


def imports(file: Path, modules: Collection[str]) -> Iterator[str]:
    """Those of `modules` that a file imports when it runs.

    That includes `import_module("dalembert.x")` and, of an `__init__.py` that imports what it offers
    by `import_module(f"dalembert.{name}")`, every module that a text of the file names.
    """
    tree = ast.parse(file.read_text(encoding="utf-8"))
    unused = {id(node) for block in _typing_blocks(tree) for node in ast.walk(block)}
    nodes = [node for node in ast.walk(tree) if id(node) not in unused]
    texts = {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    for node in nodes:
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module:
            whole = (f"{node.module}.{alias.name}" for alias in node.names)
            names = [name if name in modules else node.module for name in whole]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            match node.args[0]:
                case ast.Constant(str(name)):
                    names = [name]
                case ast.JoinedStr([ast.Constant(str(prefix)), _]) if file.stem == "__init__":
                    names = [*(f"{prefix}{text}" for text in texts), *texts]
        yield from (name for name in names if name in modules)


def circles(graph: Graph) -> list[list[str]]:
    """Groups of modules each of which imports all others, directly or through others."""
    names = sorted(graph)
    imported = csr_array([[used in graph[name] for used in names] for name in names])
    count, group = connected_components(imported, connection="strong")
    groups = [[names[k] for k in np.flatnonzero(group == g)] for g in range(count)]
    return sorted(members for members in groups if len(members) > 1)


def _package(name: str) -> str:
    return name.partition(".")[2].partition(".")[0]


def _typing_blocks(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield from node.body


if __name__ == "__main__":
    for package, used in import_graph().items():
        print(f"{package}: {', '.join(sorted(used)) or 'nothing'}")
    cycles = circles(file_graph())
    for members in cycles:
        print(f"circle of {len(members)} files: {', '.join(members)}")
    print("" if cycles else "no circles")
    sys.exit(bool(cycles))
