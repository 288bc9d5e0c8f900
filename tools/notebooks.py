"""Write pages of the documentation as notebooks: `python tools/notebooks.py`.

The tutorial and some how-to pages become `docs/notebooks/*.ipynb`, their Python blocks as code cells
without output. The pages stay the source: their code runs in tests, and a test compares the notebooks
with them.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"
FOLDER = DOCS / "notebooks"
PAGES = (
    "tutorial.md",
    "howto/inverse_kinematics.md",
    "howto/closed_chains.md",
    "howto/digital_control.md",
    "howto/equations.md",
    "howto/identification.md",
)
BLOCK = re.compile(r"^```(\{?[\w-]*\}?)[^\n]*\n(.*?)^```\n?", flags=re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]*)(#[^)]*)?\)")
LANGUAGE = {"display_name": "Python 3", "language": "python", "name": "python3"}


def notebook(page: Path) -> dict[str, Any]:
    """The notebook of a page; directives of Sphinx are left out."""
    text, cells, end = page.read_text(encoding="utf-8"), [], 0
    for match in BLOCK.finditer(text):
        if match[1] != "python" and not match[1].startswith("{"):
            continue  # a block of another language is text
        _add_text(cells, text[end : match.start()], page)
        if match[1] == "python":
            _add(cells, "code", match[2])
        end = match.end()
    _add_text(cells, text[end:], page)
    return {
        "cells": cells,
        "metadata": {"kernelspec": LANGUAGE},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _add_text(cells: list[dict[str, Any]], text: str, page: Path) -> None:
    """A cell of text, with links from the folder of the notebooks."""

    def from_here(match: re.Match[str]) -> str:
        target = os.path.relpath(page.parent / match[1], FOLDER)
        return f"]({Path(target).as_posix()}{match[2] or ''})"

    _add(cells, "markdown", LINK.sub(from_here, text))


def _add(cells: list[dict[str, Any]], kind: str, text: str) -> None:
    if not text.strip():
        return
    source = text.strip().splitlines(keepends=True)
    more = {"execution_count": None, "outputs": []} if kind == "code" else {}
    number = f"cell-{len(cells) + 1}"
    cells.append({"cell_type": kind, "id": number, "metadata": {}, "source": source, **more})


def written(page: Path) -> str:
    """The text of a page's notebook."""
    return json.dumps(notebook(page), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in PAGES:
        path = FOLDER / f"{Path(name).stem}.ipynb"
        path.write_text(written(DOCS / name), encoding="utf-8")
        print(path.relative_to(DOCS.parent))
