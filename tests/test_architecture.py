"""Packages as docs/architecture.md describes them, against the imports that are really there."""

import re
import sys
import threading
from pathlib import Path

import numpy as np

import dalembert as dl

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from import_graph import circles, file_graph, import_graph  # noqa: E402
from vocabulary import of_javascript, read_vocabulary  # noqa: E402

SOURCE = ROOT / "src" / "dalembert"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGE = re.compile(r"^### `(\w+)`\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
USES = re.compile(r"^Uses: (.*)\.$", re.MULTILINE)


def described_imports() -> dict[str, set[str]]:
    """{package: packages it may import}, by the "Uses" lines of the page."""
    uses = {}
    for name, text in PACKAGE.findall(PAGE):
        line = USES.search(text)
        assert line is not None, f"the paragraph of {name} does not end with its 'Uses: …' line"
        uses[name] = set(re.findall(r"`(\w+)`", line[1]))
    return uses


def test_every_package_is_described_with_its_imports():
    assert described_imports() == import_graph()


def test_no_package_imports_in_a_circle():
    assert circles(import_graph()) == []


def test_no_file_imports_in_a_circle():
    assert circles(file_graph()) == []


def test_a_circle_is_detected():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


def test_imports_inside_functions_count_and_those_for_types_do_not(tmp_path):
    for name, text in {
        "low": "",
        "typed": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import dalembert.low\n",
        "lazy": "def f():\n    from dalembert.low import x\n",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    assert import_graph(tmp_path) == {"lazy": {"low"}, "low": set(), "typed": set()}


def test_imports_of_the_top_package_and_by_name_count(tmp_path):
    for name, text in {
        "__init__": "OFFERS = {'x': 'low'}\ndef f(x):\n    import_module(f'dalembert.{OFFERS[x]}')\n",
        "low": "def f():\n    import dalembert\n",
        "taker": "from dalembert import x\n",
        "named": "from importlib import import_module\nimport_module('dalembert.taker')\n",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    graph = file_graph(tmp_path)
    assert graph["dalembert"] == {"dalembert.low"} and graph["dalembert.low"] == {"dalembert"}
    assert graph["dalembert.taker"] == {"dalembert"}
    assert graph["dalembert.named"] == {"dalembert.taker"}
    assert circles(graph) == [["dalembert", "dalembert.low"]]


def test_the_picture_shows_every_package():
    picture = PAGE.partition("```text")[2].partition("```")[0]
    missing = [name for name in import_graph() if not re.search(rf"\b{name}\b", picture)]
    assert missing == []


def test_the_table_for_contributors_lists_every_package():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("| package | contents |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(import_graph())


def test_the_interface_has_the_names_of_its_table():
    table = PAGE.partition("<!-- names -->")[2].partition("<!-- end of names -->")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    names = {x for cell in cells for x in re.findall(r"\w+", re.sub(r"\([^)]*\)", "", cell))}
    systems = [dl.load(name).dynamics for name in ("panda", "four_bar")]
    assert len(names) > 40
    assert [name for name in sorted(names) if not all(hasattr(x, name) for x in systems)] == []


def test_the_path_of_a_first_call_is_the_one_described(monkeypatch, tmp_path):
    """Six files from `robot.inverse_dynamics` to machine code, in this order."""
    section = PAGE.partition("## From a method to machine code")[2].partition("\n## ")[0]
    described = re.findall(r"^\d\. `([\w/]+\.py)`, `(\w+)`", section, re.MULTILINE)
    assert len(described) == len({file for file, _ in described}) <= 6
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))  # nothing is stored there
    called: list[tuple[str, str]] = []

    def record(frame, event, argument):
        file = frame.f_code.co_filename.partition("src/dalembert/")[2]
        if event == "call" and file:
            called.append((file, frame.f_code.co_name))

    links = [{"name": "a", "mass": 1.2345678, "com": (0.3, 0, 0), "joint": {"axis": (0, 1, 0)}}]
    robot, x = dl.Robot.from_links(links), np.zeros(1)
    before = sys.getprofile()
    threading.setprofile(record)  # the compiler runs in threads of its own
    sys.setprofile(record)
    try:
        robot.inverse_dynamics(x, x, x)
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    first_calls = [called.index(step) for step in described]
    assert first_calls == sorted(first_calls)


def test_file_names_answer_ordinary_questions():
    """Where the KKT system is solved, a cache key made, and so on, by the names of files alone."""
    files = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py")}
    assert {
        "constraints/kkt.py",
        "constraints/coulomb_friction.py",
        "importers/urdf_links_and_joints.py",
        "kernels/call/cache_key.py",
        "systems/runge_kutta.py",
    } <= files


def test_words_of_scripts_are_read_where_they_are_code():
    """Identifiers of JavaScript, not its strings, comments, properties and keys."""
    script = """// given
    const text = `given ${given.kept} "` + 'made', form = /['"]found/g;
    call({ said: whose, ...shown, other: (held) => held });
    """
    words = [(line, word) for line, word, _ in of_javascript(script, read_vocabulary())]
    assert words == [(2, "given"), (3, "whose"), (3, "shown"), (3, "held"), (3, "held")]
