"""Course pages run when they are built: what their Python blocks print, return and draw is shown.

The blocks of a page run in order in one namespace. As in a notebook, the value of a last line that
is an expression is shown, as mathematics where it knows LaTeX; of a block that draws, the figures
are shown instead. An error or a warning fails the build and names the page and the line.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import os
import re
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
FOLDER = "course/"
# one look for all pictures; arrays with the digits that one reads
FIGURES = {
    "figure.figsize": (6.6, 3.0),
    "figure.constrained_layout.use": True,
    "font.size": 9,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "course",
}
ARRAYS = {"precision": 4, "suppress": True, "linewidth": 92}


@dataclass
class Output:
    """What a block printed, its last value, and its figures as SVG with a title each."""

    text: str = ""
    latex: str = ""
    figures: list[tuple[str, str]] = field(default_factory=list)


def save_figure(block: Any, variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """The image scraper of sphinx-gallery: the `figure` that an example has drawn."""
    from sphinx_gallery.scrapers import figure_rst

    figure = variables["example_globals"].pop("figure", None)
    if figure is None:
        return ""
    path = next(variables["image_path_iterator"])
    figure.savefig(path, dpi=150)
    return str(figure_rst([path], settings["src_dir"]))


def run_page(text: str, page: str) -> list[Output]:
    """What each Python block of a page shows; they run in a folder of their own."""
    names: dict[str, Any] = {"__name__": "course"}
    outputs = []
    with tempfile.TemporaryDirectory() as folder, _inside(folder), _quiet_numbers():
        for match in BLOCK.finditer(text):
            line = text.count("\n", 0, match.start(1))
            outputs.append(run_block(match.group(1), names, page, line))
    return outputs


def run_block(code: str, names: dict[str, Any], page: str, line: int) -> Output:
    """One block, run in `names`; `line` is that of the page above it."""
    tree = ast.parse("\n" * line + code, filename=page)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(compile(tree, page, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), page, "eval"), names)
    output = Output(printed.getvalue().rstrip())
    figures = _figures()
    if hasattr(value, "savefig"):
        figures = [*figures, value] if value not in figures else figures
    elif hasattr(value, "_repr_latex_"):
        output.latex = value._repr_latex_().strip("$").replace(r"\displaystyle", "").strip()
    elif value is not None and not figures:
        output.text = f"{output.text}\n{value!r}".strip("\n")
    output.text = re.sub(r"-(0\.0*)(?!\d)", r" \1", output.text)  # no "-0." among rounded numbers
    output.figures = [_svg(figure) for figure in figures]
    return output


@contextlib.contextmanager
def _inside(folder: str) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def _quiet_numbers() -> Iterator[None]:
    import matplotlib
    import numpy as np

    matplotlib.use("Agg")
    with np.printoptions(**ARRAYS), matplotlib.rc_context(FIGURES):
        yield
    _figures()


def _figures() -> list[Any]:
    """The figures that are open, closed for whoever comes next."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return []
    figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
    pyplot.close("all")
    return figures


def _svg(figure: Any) -> tuple[str, str]:
    stream = io.BytesIO()
    figure.savefig(stream, format="svg", metadata={"Date": None})
    titles = [figure.get_suptitle(), *(axes.get_title() for axes in figure.axes)]
    return next(filter(None, titles), "plot"), stream.getvalue().decode()


# Sphinx


def outdated(
    app: Any, env: Any, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """Pages that run are read again each time: what they show depends on the whole package."""
    return [name for name in env.found_docs if name.startswith(FOLDER)]


def show(app: Any, doctree: Any) -> None:
    """Put what the blocks of a page show below them."""
    from docutils import nodes
    from sphinx.errors import ExtensionError

    name = app.env.current_document.docname
    if not name.startswith(FOLDER) or not app.config.run_pages:
        return
    path = Path(app.env.doc2path(name))
    blocks = [b for b in doctree.findall(nodes.literal_block) if b.get("language") == "python"]
    try:
        outputs = run_page(path.read_text(encoding="utf-8"), str(path))
    except Exception as error:
        where = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
        location = f"{path}:{where[-1].lineno}" if where else str(path)
        raise ExtensionError(f"{location}: {type(error).__name__}: {error}", error) from error
    for block, output in zip(blocks, outputs, strict=True):
        block.parent.insert(block.parent.index(block) + 1, _nodes(output))


def _nodes(output: Output) -> list[Any]:
    from docutils import nodes

    result: list[Any] = []
    if output.text:
        result.append(
            nodes.literal_block(output.text, output.text, language="none", classes=["shown"])
        )
    if output.latex:
        result.append(nodes.math_block(output.latex, output.latex, nowrap=True, number=None))
    for title, svg in output.figures:
        data = base64.b64encode(svg.encode()).decode()
        image = f'<img class="drawn" alt="{escape(title)}" src="data:image/svg+xml;base64,{data}">'
        result.append(nodes.raw("", image, format="html"))
    return result


def setup(app: Any) -> dict[str, bool]:
    """The extension."""
    app.add_config_value("run_pages", True, "env", bool)
    app.connect("env-get-outdated", outdated)
    app.connect("doctree-read", show)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
