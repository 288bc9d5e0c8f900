"""The documentation: its code runs page by page, its links lead somewhere, it builds quietly."""

import contextlib
import io
import json
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer

import dalembert as dl
from dalembert import references
from dalembert.cli.app import app

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
# a block, and the text right below it, which on some pages is what the block prints
BLOCK = re.compile(
    r"^```python\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", flags=re.MULTILINE | re.DOTALL
)
WITH_OUTPUT = {"asked_elsewhere.md", "cheat_sheet.md", "coming_from.md"}
# what threads give, by the end of their address: half a unit of their last digit, and they
THREADS = {
    "drake/issues/24957": (5e-4, [-0.993]),
    "ros2_control/issues/1746": (0.0, [1.0, -1.0, 1.0, 1.0]),  # ẋ_j, and the torques that are right
    "robotics-toolbox-python/issues/490": (
        5.1e-8,
        [
            *(11.1024103, 0.0554268189, 0.0554268189, 0.0554268189, -0.0121107730, 0.0),
            *(0.0554268189, 10.6425026, 4.32753994, 0.0291654488, -0.0067088591, 0.0),
            *np.zeros(6),
        ],
    ),
    "robotics-toolbox-python/issues/483": (1e-7, [-23.4919616]),  # its file rounds quarter turns
}
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
    if "casadi_function(" in "".join(code for code, _ in BLOCK.findall(text)):
        request.getfixturevalue("casadi")
    if "import pinocchio" in text:
        pytest.importorskip("pinocchio", reason="pin is not installed")
    for match in BLOCK.finditer(text):
        # line numbers of errors are those of the page
        shifted = "\n" * text.count("\n", 0, match.start(1)) + match.group(1)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(shifted, str(path), "exec"), names)
        if name(path) in WITH_OUTPUT:
            lines = [line.rstrip() for line in printed.getvalue().rstrip().split("\n")]
            assert (match.group(2) or "").rstrip().split("\n") == lines, f"below {match.group(1)}"


@pytest.mark.parametrize("thread", THREADS)
def test_numbers_are_the_askers(thread):
    """What a section shows, and `test_code_runs` prints, has the numbers of its thread in order."""
    sections = (DOCS / "asked_elsewhere.md").read_text(encoding="utf-8").split("\n### ")
    (section,) = (text for text in sections if f"/{thread})" in text)
    numbers = [float(x) for x in re.findall(r"-?\d+\.\d*", BLOCK.search(section).group(2))]
    tolerance, expected = THREADS[thread]
    runs = [numbers[k : k + len(expected)] for k in range(len(numbers) - len(expected) + 1)]
    assert any(np.allclose(run, expected, rtol=0.0, atol=tolerance) for run in runs)


@pytest.mark.parametrize("page", ["coming_from.md", "glossary.md"])
def test_names_of_equivalents_and_terms_exist(page):
    """`robot.…`, `linkage.…` and `dl.…` of the glossary, and of the right columns of the tables."""
    owners = {"dl": dl, "robot": dl.Robot, "linkage": dl.Constrained, "system": dl.System}
    count = 0
    for line in BLOCK.sub("", (DOCS / page).read_text(encoding="utf-8")).split("\n"):
        here = line.split("|")[-2] if line.startswith("|") else "" if "coming" in page else line
        for code in re.findall(r"`([^`]*)`", here):
            for owner, names in re.findall(r"\b(dl|robot|linkage|system)\.([a-zA-Z_.]+)", code):
                first, *rest = names.split(".")
                value = getattr(owners[owner], first)
                for part in rest if owner == "dl" else []:
                    value = getattr(value, part)
                count += value is not None
    assert count > 60


def test_commands_of_the_cheat_sheet_parse(tmp_path, monkeypatch):
    """They exist, and have these options; what they compute is the business of tests/cli."""
    monkeypatch.chdir(tmp_path)
    for file in ("points.csv", "log.csv", "arm.urdf", "run.nc"):
        Path(file).touch()
    program = typer.main.get_command(app)
    text = (DOCS / "cheat_sheet.md").read_text(encoding="utf-8")
    lines = re.findall(r"^dalembert (\S+) (.*)$", text, flags=re.MULTILINE)
    assert len(lines) > 10
    for command, arguments in lines:
        program.commands[command].make_context(command, shlex.split(arguments))
    with pytest.raises(Exception, match="No such option"):
        program.commands["info"].make_context("info", ["ur5", "--no-such-option"])


def test_notebooks_are_those_of_their_pages():
    """Their code is that of the pages, which runs above; `python tools/notebooks.py` writes them."""
    tool = runpy.run_path(str(DOCS.parent / "tools" / "notebooks.py"))
    assert len(tool["PAGES"]) >= 6
    for page in tool["PAGES"]:
        path = DOCS / "notebooks" / f"{Path(page).stem}.ipynb"
        assert path.read_text(encoding="utf-8") == tool["written"](DOCS / page), page
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        assert code == [x.strip() for x, _ in BLOCK.findall((DOCS / page).read_text("utf-8"))]
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
