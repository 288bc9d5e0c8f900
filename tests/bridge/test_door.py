"""CasADi is spoken to behind one door, and each factorisation that traces is written once."""

import ast
from pathlib import Path

import pytest

import dalembert

ROOT = Path(dalembert.__file__).parent
SOURCES = {path.relative_to(ROOT): ast.parse(path.read_text()) for path in ROOT.rglob("*.py")}


def imports_casadi(tree: ast.AST) -> bool:
    """Whether any statement, inside functions too, imports casadi."""
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.split(".")[0] == "casadi" for name in names):
            return True
    return False


def defined(name: str) -> list[str]:
    """Where a function of this name is defined, whatever underscores it has."""
    return [
        str(path)
        for path, tree in SOURCES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.strip("_") == name
    ]


def test_casadi_is_imported_only_where_its_own_objects_are_the_subject():
    """The bridge, and where a CasADi function is read, written or handed to the user."""
    outside = {path for path, tree in SOURCES.items() if imports_casadi(tree)}
    outside = {path for path in outside if path.parts[0] not in ("bridge", "mechanisms")}
    assert len(outside) <= 3, sorted(map(str, outside))


@pytest.mark.parametrize(
    "name",
    [
        *("cholesky", "upper_cholesky", "cholesky_solve", "ldl", "lu", "least_norm", "proximal"),
        *("forward_substitution", "back_substitution", "lower_inverse", "gram_schmidt"),
        *("householder", "tree_solve", "tree_inverse", "symmetric_roots", "flagged"),
    ],
)
def test_each_factorisation_is_written_once(name):
    assert len(defined(name)) == 1, defined(name)
    assert defined(name)[0].startswith("linalg")


@pytest.mark.parametrize("name", ["is_symbolic", "symbols_of", "adopted"])
def test_each_word_of_the_bridge_is_written_once(name):
    assert [path for path in defined(name) if not path.startswith("bridge")] == []
