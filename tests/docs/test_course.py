"""The chapters of the course run, one by one; what their blocks show is found."""

import re
import sys
from pathlib import Path

import pytest

from dalembert import references

COURSE = Path(__file__).parents[2] / "docs" / "course"
sys.path.insert(0, str(COURSE.parent))
import conf  # noqa: E402
from executed import BLOCK, outdated, run_page  # noqa: E402

CHAPTERS = [path for path in sorted(COURSE.glob("*.md")) if BLOCK.search(path.read_text("utf-8"))]


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_runs(path):
    text = path.read_text(encoding="utf-8")
    outputs = run_page(text, str(path))
    assert len(outputs) == len(BLOCK.findall(text))
    assert any(part.text or part.latex or part.figures for part in outputs)
    # what the page of the chapter will show: mathematics that can be drawn, pictures
    assert all(conf.mathml(line, "block") for part in outputs for line in conf.lines(part.latex))
    assert all(svg.count("<svg") == 1 for part in outputs for _, svg in part.figures)
    # comparisons that a chapter prints hold; "holonomic=False" is no comparison
    assert [part.text for part in outputs if re.search(r"(?<!=)\bFalse\b", part.text)] == []


def test_accents_of_formulas_are_accents_over_any_character():
    """Bold characters, nested accents, and the hat of a character, which is no caret."""
    formula = conf.mathml(
        r"\dot\omega + \hat z + \dot{\mathbf q} + \widehat{\dot\omega} + \vec r", "inline"
    )
    assert formula.count('<mover accent="true">') == 5
    assert "^" not in formula and "ˆ" in formula


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_ends_with_things_to_try(path):
    ending = path.read_text(encoding="utf-8").rpartition("\n## ")[2]
    assert ending.startswith("Things to try\n")
    assert ending.count("\n- ") >= 3 and ending.count("*You should see*") >= 3


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_names_its_document_by_author_or_title(path):
    text = path.read_text(encoding="utf-8")
    assert references.with_titles(text) == text
    known = (
        "Li and Wu",
        "Silver",
        "Lecture 11",
        "RBE 3005",
        "Anthropomorphic Manipulator",
        "Greenwood",
    )
    assert any(name in text.partition("\n## ")[0] for name in known)


PAGE = """# A page

```python
print("printed")
6 * 7
```

Prose.

```python
import sympy

sympy.Symbol("alpha") ** 2
```

```python
import matplotlib.pyplot as plt

figure, axes = plt.subplots()
axes.set(title="a line")
```
"""


def test_a_built_page_shows_what_its_blocks_show(tmp_path):
    """The extension, on a book of one page."""
    from sphinx.application import Sphinx

    (tmp_path / "docs" / "course").mkdir(parents=True)
    (tmp_path / "docs" / "course" / "page.md").write_text(PAGE, encoding="utf-8")
    (tmp_path / "docs" / "index.md").write_text("# Book\n\n```{toctree}\ncourse/page\n```\n")
    folders = (tmp_path / "docs", None, tmp_path / "html", tmp_path / "trees")
    settings = {"extensions": ["myst_parser", "executed"], "html_theme": "basic"}
    app = Sphinx(*folders, "html", confoverrides=settings, status=None, warningiserror=True)
    app.build()
    page = (tmp_path / "html" / "course" / "page.html").read_text(encoding="utf-8")
    assert "printed\n42" in page and "alpha" in page and 'alt="a line" src="data:image/svg' in page
    # a page that runs is never taken from an earlier build
    assert outdated(app, app.env, set(), set(), set()) == ["course/page"]


def test_what_is_printed_returned_and_drawn_is_shown():
    text, formula, picture = run_page(PAGE, "page.md")
    assert text.text == "printed\n42"
    assert formula.latex == r"\alpha^{2}"
    assert [title for title, _ in picture.figures] == ["a line"]
    assert picture.text == ""


def test_errors_and_warnings_name_the_line_of_the_page():
    for line in ("1 / 0", 'import warnings; warnings.warn("no", stacklevel=1)'):
        with pytest.raises((ZeroDivisionError, UserWarning)) as caught:
            run_page(f"# A page\n\n```python\nx = 1\n{line}\n```\n", "page.md")
        locations = [(entry.path, entry.lineno + 1) for entry in caught.traceback]
        assert any(str(path).endswith("page.md") and number == 5 for path, number in locations)
