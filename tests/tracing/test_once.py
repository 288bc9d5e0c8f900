"""CasADi is imported in one module, and each factorisation that traces is written once."""

import ast
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import dalembert
from dalembert import tracing

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
    """One module reads and writes CasADi's functions and expressions."""
    where = {str(path) for path, tree in SOURCES.items() if imports_casadi(tree)}
    assert where == {"tracing/casadi_io.py", "systems/system.py"}  # there for its type only


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
def test_each_word_of_tracing_is_written_once(name):
    (place,) = DEFINED[name]
    assert place.startswith("tracing")


def test_a_function_called_from_many_threads_keeps_its_numbers_apart():
    x = tracing.symbol("x", 3)
    function = tracing.Function([x], [2.0 * x, x @ x])

    def wrong(seed: int) -> int:
        rng = np.random.default_rng(seed)
        given = rng.normal(size=(200, 3))
        found = [function(row) for row in given]
        return sum((twice != 2.0 * row).any() for (twice, _), row in zip(found, given, strict=True))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(wrong, range(8))) == [0] * 8
    first, _ = function(np.ones(3))
    function(np.zeros(3))
    assert (first == 2.0).all()  # what was given away is not written to again
