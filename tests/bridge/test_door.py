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


DEFINED: dict[str, list[str]] = {}  # where each function is, by its name without underscores
for place, source in SOURCES.items():
    for definition in ast.walk(source):
        if isinstance(definition, ast.FunctionDef):
            DEFINED.setdefault(definition.name.strip("_"), []).append(str(place))


def test_casadi_is_imported_only_where_its_own_objects_are_the_subject():
    """The bridge, and where a CasADi function is read, written or handed to the user."""
    outside = {path for path, tree in SOURCES.items() if imports_casadi(tree)}
    outside = {path for path in outside if path.parts[0] != "bridge"}
    assert len(outside) <= 3, sorted(map(str, outside))


@pytest.mark.parametrize(
    "name",
    [
        *("cholesky", "upper_cholesky", "cholesky_solve", "ldl", "lu", "row_space"),
        *("forward_substitution", "back_substitution", "lower_inverse", "gram_schmidt"),
        *("householder", "tree_solve", "tree_inverse", "symmetric_roots", "flagged"),
    ],
)
def test_each_factorisation_is_written_once(name):
    (place,) = DEFINED[name]
    assert place.startswith("linalg")


@pytest.mark.parametrize("name", ["is_symbolic", "symbols_of", "adopted"])
def test_each_word_of_the_bridge_is_written_once(name):
    (place,) = DEFINED[name]
    assert place.startswith("bridge")
