"""Print how large the package is: files, functions, lines of code, docstrings, imports and `Any`.

    python tools/size.py                # by package, with totals
    python tools/size.py --root PATH    # of another source tree

Code lines are physical lines without docstrings, blanks, comments and import statements.
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter, defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "dalembert"
COLUMNS = ("files", "functions", "code", "docstrings", "imports", "comments", "blank", "any")
Documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def measure(path: Path) -> Counter[str]:
    """Counts of one file by the names of `COLUMNS`."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    docstrings: set[int] = set()
    imports: set[int] = set()
    counts: Counter[str] = Counter(files=1)
    for node in ast.walk(tree):
        if isinstance(node, Documented) and ast.get_docstring(node, clean=False) is not None:
            docstrings.update(_lines(node.body[0]))
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            imports.update(_lines(node))
        counts["functions"] += isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    for annotation in _annotations(tree):
        counts["any"] += sum(
            isinstance(part, ast.Name) and part.id == "Any" for part in ast.walk(annotation)
        )
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if number in docstrings:
            counts["docstrings"] += 1
        elif number in imports:
            counts["imports"] += 1
        elif not stripped:
            counts["blank"] += 1
        elif stripped.startswith("#"):
            counts["comments"] += 1
        else:
            counts["code"] += 1
    return counts


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _annotations(tree: ast.Module) -> list[ast.expr]:
    """Annotations of arguments, results and variables, and aliases such as `Array = Any`."""
    result: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation is not None:
            result.append(node.annotation)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns is not None:
            result.append(node.returns)
        elif isinstance(node, ast.Assign) and isinstance(node.value, (ast.Name, ast.Subscript)):
            result.append(node.value)
    return result


def by_package(root: Path) -> dict[str, Counter[str]]:
    """Counts of every package below `root`; modules beside the packages count as "top"."""
    result: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).parts
        result[parts[0] if len(parts) > 1 else "top"] += measure(path)
    return dict(result)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=SOURCE, help="folder of the package")
    packages = by_package(parser.parse_args().root)
    rows = [*sorted(packages.items()), ("total", sum(packages.values(), Counter()))]
    print(f"{'package':16}" + "".join(f"{name:>12}" for name in COLUMNS))
    for name, counts in rows:
        print(f"{name:16}" + "".join(f"{counts[column]:12,}" for column in COLUMNS))


if __name__ == "__main__":
    main()
