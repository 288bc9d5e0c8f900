"""Each equation stands in one place, as far as the syntax trees can tell.

Factorisations are looked for in tests/tracing/test_isolation.py, changes of frame in
tests/spatial/test_placement.py.
"""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "dalembert"
TREES = {
    path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
    for path in sorted(SOURCE.rglob("*.py"))
}


def value(node: ast.AST) -> float | None:
    """The number that an expression without names stands for, such as 1 / 6."""
    try:
        return float(eval(ast.unparse(node), {"__builtins__": {}}))
    except (NameError, TypeError, ValueError, SyntaxError, AttributeError, ZeroDivisionError):
        return None


def numbers(node: ast.AST) -> set[float]:
    """Sizes of all number literals below a node."""
    parts = (part for part in ast.walk(node) if isinstance(part, ast.Constant))
    return {abs(float(part.value)) for part in parts if type(part.value) in (int, float)}


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def calls(tree: ast.Module) -> set[str]:
    """Names of the functions that are called or imported."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.alias):
            names.add(node.name)
    return names


def classical_runge_kutta(tree: ast.Module) -> bool:
    """The weights 1/6, 1/3, 1/3, 1/6 side by side, or four slopes k1 to k4 of one step."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple | ast.List) and len(node.elts) == 4:
            weights = [value(x) for x in node.elts]
            if None not in weights and [round(6 * x) for x in weights] == [1, 2, 2, 1]:
                return True
    return any(
        {"k1", "k2", "k3", "k4"} <= {n.id for n in ast.walk(f) if isinstance(n, ast.Name)}
        for f in functions(tree)
    )


def quintic(tree: ast.Module) -> bool:
    """The coefficients of 10 x³ − 15 x⁴ + 6 x⁵, from rest to rest, in a list or in a function."""
    lists = [n for n in ast.walk(tree) if isinstance(n, ast.Tuple | ast.List) and len(n.elts) <= 6]
    short = [f for f in functions(tree) if len(f.body) < 15]
    return any({10.0, 15.0, 6.0} <= numbers(node) for node in (*lists, *short))


def friction(tree: ast.Module) -> bool:
    """A torque times [q̇ > 0] or [q̇ < 0]."""

    def sign(node: ast.AST) -> bool:
        return (
            isinstance(node, ast.Compare)
            and isinstance(node.ops[0], ast.Gt | ast.Lt)
            and "qd" in ast.unparse(node.left)
            and ast.unparse(node.comparators[0]) in ("0", "0.0")
        )

    products = (n for n in ast.walk(tree) if isinstance(n, ast.BinOp | ast.Call))
    return any(any(map(sign, ast.iter_child_nodes(node))) for node in products)


def sparse_solve(tree: ast.Module) -> bool:
    """A banded or sparse factorisation of S = A M⁻¹ Aᵀ."""
    return bool(calls(tree) & {"splu", "dpbtrf", "dpotrf", "spsolve", "solveh_banded"})


def driver(tree: ast.Module) -> bool:
    """The constraint that follows a motion in time."""
    return any(isinstance(node, ast.ClassDef) and node.name == "Driver" for node in ast.walk(tree))


ONCE: dict[Callable[[ast.Module], bool], str] = {
    classical_runge_kutta: "systems/runge_kutta.py",
    quintic: "control/trajectory.py",
    friction: "formulations/parts/elements.py",
    driver: "constraints/kinds.py",
    sparse_solve: "constraints/sparse/linear.py",
}


@pytest.mark.parametrize("what", ONCE, ids=lambda what: what.__name__)
def test_it_is_written_once(what):
    assert [name for name, tree in TREES.items() if what(tree)] == [ONCE[what]]
