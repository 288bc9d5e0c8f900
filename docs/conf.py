"""Sphinx settings. Mathematics becomes MathML when the pages are built: nothing is fetched later."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

import dalembert
from dalembert.sources import cited

project = "dalembert"
version = release = dalembert.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["myst.strikethrough"]
html_theme = "furo"
html_title = f"dalembert {release}"
html_math_renderer = "mathml"
html_static_path = ["formulas.css", "../src/dalembert/report/vendor/stix-math.woff2"]
html_css_files = ["formulas.css"]
html_copy_source = False
html_show_copyright = False
templates_path: list[str] = []
exclude_patterns = ["_build"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "mixed"


def plain_docstring(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Docstrings are written for terminals: markup is escaped, documents get author and title."""
    lines[:] = escaped([cited(line) for line in lines])


def escaped(lines: list[str]) -> list[str]:
    """What reST would take for markup, with backslashes; examples end at an empty line, untouched."""
    made, example = [], False
    for line in lines:
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        made.append(line if example else escaped_line(line))
    return made


def escaped_line(line: str) -> str:
    code = line.split("``")
    for k in range(0, len(code), 2):
        code[k] = code[k].replace("|", r"\|").replace("*", r"\*").replace("_ ", r"\_ ")
    return "``".join(code)


def mathml(text: str, display: str) -> str:
    """Dots above letters are accents: they stay close to them."""
    made = convert(text, display=display)
    return re.sub(r"<mover>(?=<m\w+>[^<]*</m\w+><mo[^>]*>(?:&#x000A8;|&#x002D9;|&#x0005E;|&#x000AF;))",
                  '<mover accent="true">', made)  # fmt: skip


def inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def display(translator: Any, node: nodes.math_block) -> None:
    rows = [mathml(row, "block") for row in node.astext().strip().split(r"\\") if row.strip()]
    translator.body.append(f'<div class="formula">{"".join(rows)}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    app.connect("autodoc-process-docstring", plain_docstring)
