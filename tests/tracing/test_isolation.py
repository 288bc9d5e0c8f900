"""CasADi is imported in one module, and traced functions are safe in threads."""

import ast
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import dalembert
from dalembert import tracing

ROOT = Path(dalembert.__file__).parent


def imports_casadi(tree: ast.AST) -> bool:
    """Whether any statement, inside functions too, imports casadi."""
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.split(".")[0] == "casadi" for name in names):
            return True
    return False


def test_casadi_is_imported_only_where_its_own_objects_are_the_subject():
    """One module reads and writes CasADi's functions and expressions."""
    texts = {path: path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")}
    where = {
        path.relative_to(ROOT).as_posix()
        for path, text in texts.items()
        if "casadi" in text and imports_casadi(ast.parse(text))
    }
    assert where == {"tracing/casadi_io.py", "systems/system.py"}  # there for its type only


def test_a_function_called_from_many_threads_keeps_its_numbers_apart():
    x = tracing.symbol("x", 3)
    function = tracing.Function([x], [2.0 * x, x @ x])

    def wrong(seed: int) -> int:
        rng = np.random.default_rng(seed)
        inputs = rng.normal(size=(200, 3))
        result = [function(row) for row in inputs]
        return sum(
            (doubled != 2.0 * row).any() for (doubled, _), row in zip(result, inputs, strict=True)
        )

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(wrong, range(8))) == [0] * 8
    first, _ = function(np.ones(3))
    function(np.zeros(3))
    assert (first == 2.0).all()  # what was given away is not written to again
