"""The documentation: its code runs page by page, its links lead somewhere, it builds quietly."""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from dalembert import references

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
# chapters of the course run in tests/docs, with what they show
WITH_CODE = [
    path
    for path in PAGES
    if BLOCK.search(path.read_text(encoding="utf-8")) and path.parent.name != "course"
]


def name(path):
    return str(path.relative_to(DOCS))


def test_there_is_documentation():
    assert len(WITH_CODE) >= 12
    names = {name(path) for path in PAGES}
    assert {"index.md", "tutorial.md", "conventions.md", "theory/index.md"} <= names


@pytest.mark.parametrize("path", WITH_CODE, ids=name)
def test_code_runs(path, tmp_path, monkeypatch, request):
    """In order, in one namespace; what a page writes goes to a folder of its own."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": path.stem}
    text = path.read_text(encoding="utf-8")
    if "casadi_function" in text:
        request.getfixturevalue("casadi")
    for match in BLOCK.finditer(text):
        # line numbers of errors are those of the page
        shifted = "\n" * text.count("\n", 0, match.start(1)) + match.group(1)
        exec(compile(shifted, str(path), "exec"), names)


def test_notebooks_are_those_of_their_pages():
    """Their code is that of the pages, which runs above; `python tools/notebooks.py` writes them."""
    tool = runpy.run_path(str(DOCS.parent / "tools" / "notebooks.py"))
    assert len(tool["PAGES"]) >= 6
    for page in tool["PAGES"]:
        path = DOCS / "notebooks" / f"{Path(page).stem}.ipynb"
        assert path.read_text(encoding="utf-8") == tool["written"](DOCS / page), page
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        assert code == [x.strip() for x in BLOCK.findall((DOCS / page).read_text("utf-8"))]
        links = re.findall(r"\]\(([^)#\s]+)", "".join(x for c in cells for x in c["source"]))
        files = [x for x in links if "://" not in x]
        assert [x for x in files if not (path.parent / x).exists()] == []


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_links_lead_somewhere(path):
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    missing = [x for x in links if "://" not in x and not (path.parent / x).exists()]
    assert not missing


def test_nothing_is_installed_from_an_index_that_does_not_have_it():
    """There is no release on PyPI: extras come from the sources, messages name the packages."""
    texts = [*PAGES, *DOCS.parent.glob("*.md"), *(DOCS.parent / "src").rglob("*.py")]
    wrong = re.compile(r"pip install ['\"]?dalembert")
    assert not [str(path) for path in texts if wrong.search(path.read_text(encoding="utf-8"))]


def test_every_formulation_is_derived():
    import dalembert as dl

    theory = "".join(p.read_text(encoding="utf-8") for p in (DOCS / "theory").glob("*.md"))
    for quantity in ("inverse_dynamics", "mass_matrix", "forward_dynamics"):
        assert all(f"`{formulation}`" in theory for formulation in dl.formulations(quantity))


def test_it_builds_without_warnings(tmp_path):
    pytest.importorskip("sphinx", reason="the extra docs is not installed")
    pytest.importorskip("furo", reason="the extra docs is not installed")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    # chapters of the course run one by one in tests/docs, examples in test_examples.py; the listings
    # of all modules, most of the work, only repeat them
    settings = runpy.run_path(str(DOCS / "conf.py"))["extensions"]
    extensions = [name for name in settings if name != "sphinx.ext.viewcode"]
    left_out = [
        "-D",
        "run_pages=0",
        "-D",
        "plot_gallery=0",
        "-D",
        f"extensions={','.join(extensions)}",
    ]
    built = subprocess.run(
        [*command, *left_out, "-d", str(tmp_path / "trees"), str(DOCS), tmp_path / "html"],
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert built.returncode == 0, built.stderr
    page = (tmp_path / "html" / "theory" / "lagrange.html").read_text(encoding="utf-8")
    assert "<math" in page
    for path in (tmp_path / "html" / "reference").glob("*.html"):
        text = re.sub(r"<[^>]*>", "", path.read_text(encoding="utf-8"))
        assert references.with_titles(text) == text, path.name
        assert r"\*" not in text, path.name
    # scripts, styles, fonts and pictures come from the pages' own folder
    fetched = re.findall(r'(?:src|<link[^>]*href)="(https?:[^"]*)"', page)
    assert not fetched
