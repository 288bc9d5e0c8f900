"""Sphinx settings. Mathematics becomes MathML when the pages are built: nothing is fetched later."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert

import dalembert
from dalembert.references import with_titles

sys.path.insert(0, str(Path(__file__).parent))  # executed.py, equations.py, exercises.py

project = "dalembert"
version = release = dalembert.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "executed",
    "equations",
    "exercises",
    "sphinx_gallery.gen_gallery",
]

sphinx_gallery_conf = {
    "examples_dirs": "../src/dalembert/examples",
    "gallery_dirs": "gallery",
    "ignore_pattern": "control_loop_c",
    # PyTorch is gigabytes: its example is shown, not run
    "filename_pattern": r"/(?!.*_with_torch)\w+\.py$",
    "image_scrapers": ("executed.save_figure",),
    "capture_repr": (),
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "remove_config_comments": True,
}
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
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py"]
MATHML = "http://www.w3.org/1998/Math/MathML"
ACCENTS = {"˙": "˙", "¨": "¨", "^": "ˆ", "~": "˜", "¯": "¯"}  # of LaTeX's commands, and as drawn
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "mixed"

ElementTree.register_namespace("", MATHML)


def plain_docstring(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Docstrings are written for terminals: markup is escaped, documents get author and title."""
    lines[:] = escaped([with_titles(line) for line in lines])


def escaped(lines: list[str]) -> list[str]:
    """What reST would take for markup, with backslashes; examples end at an empty line, untouched."""
    result, example = [], False
    for line in lines:
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        result.append(line if example else escaped_line(line))
    return result


def escaped_line(line: str) -> str:
    code = line.split("``")
    for k in range(0, len(code), 2):
        code[k] = code[k].replace("|", r"\|").replace("*", r"\*").replace("_ ", r"\_ ")
    return "``".join(code)


def mathml(text: str, display: str) -> str:
    """MathML of a formula, with accents close to their characters."""
    formula = accented(convert(text, display=display))
    # thin spaces around sines
    word = r"<mi>(?:sin|cos|tan|exp|log)</mi>"
    spaced = r'<mspace width="0.17em"/>\1<mspace width="0.17em"/>'
    return re.sub(rf"(<msup>{word}.*?</msup>|(?<!<msup>){word})", spaced, formula)


def accented(text: str) -> str:
    """Dots, bars and hats as accents of their characters; browsers draw other signs as limits."""
    root = ElementTree.fromstring(text)
    for over in root.iter(f"{{{MATHML}}}mover"):
        sign = over[-1]
        if sign.text in ACCENTS:
            sign.text = ACCENTS[sign.text]
            sign.set("stretchy", "false")
            over.set("accent", "true")
    return ElementTree.tostring(root, encoding="unicode")


def lines(text: str) -> list[str]:
    """The lines of a formula: `\\\\` ends one unless it stands inside a matrix."""
    text = re.sub(r"\\(begin|end)\{aligned\}", "", text)
    result, depth = [""], 0
    for part in re.split(r"(\\begin\{|\\end\{|\\\\|&)", text):
        depth += (part == r"\begin{") - (part == r"\end{")
        if part == r"\\" and not depth:
            result.append("")
        elif part != "&" or depth:
            result[-1] += part
    return [line for line in result if line.strip()]


def inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def display(translator: Any, node: nodes.math_block) -> None:
    rows = [mathml(row, "block") for row in lines(node.astext())]
    translator.body.append(f'<div class="formula">{"".join(rows)}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    app.connect("autodoc-process-docstring", plain_docstring)
