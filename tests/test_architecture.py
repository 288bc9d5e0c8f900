"""The house as it is drawn in docs/architecture.md against the imports that are really there."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from import_graph import circles, file_graph, import_graph  # noqa: E402

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
ROOM = re.compile(r"^### `(\w+)`\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
USES = re.compile(r"^Uses: (.*)\.$", re.MULTILINE)


def drawn() -> dict[str, set[str]]:
    """{room: rooms it may use}, as the page says."""
    rooms = {}
    for name, text in ROOM.findall(PAGE):
        said = USES.search(text)
        assert said is not None, f"the paragraph of {name} does not end with its 'Uses: …' line"
        rooms[name] = set(re.findall(r"`(\w+)`", said[1]))
    return rooms


def test_every_room_is_drawn_and_uses_what_it_says():
    assert drawn() == import_graph()


def test_no_package_imports_in_a_circle():
    assert circles(import_graph()) == []


def test_no_file_imports_in_a_circle():
    assert circles(file_graph()) == []


def test_a_circle_would_be_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


def test_imports_inside_functions_count_and_those_for_types_do_not(tmp_path):
    for room, text in {
        "low": "",
        "typed": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import dalembert.low\n",
        "lazy": "def f():\n    from dalembert.low import x\n",
    }.items():
        (tmp_path / f"{room}.py").write_text(text)
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


def test_the_picture_shows_every_room():
    picture = PAGE.partition("```text")[2].partition("```")[0]
    missing = [room for room in import_graph() if not re.search(rf"\b{room}\b", picture)]
    assert missing == []


def test_the_table_for_contributors_lists_every_room():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("| room | holds |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(import_graph())
