"""The index of equations: every equation of the documents has a function, a test and a chapter."""

import ast
import re
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import equations  # noqa: E402

from tests.executed import resolved  # noqa: E402

ROWS = equations.rows()


def label(row):
    return f"{row.document} {row.number}"


@cache
def functions_of(file):
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@cache
def chapter(page):
    return (equations.COURSE / page).read_text(encoding="utf-8")


def code_below(text, anchor):
    """The Python of the section with this anchor."""
    code, inside, fenced = "", False, False
    for line in text.splitlines(keepends=True):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and line.startswith("#"):
            inside = anchor in equations.headings(line)
        elif fenced and inside:
            code += line
    return code


def test_numbers_are_listed_and_stand_once():
    contents = equations.contents()
    for document, numbers in contents.items():
        listed = [n for row in ROWS if row.document == document for n in row.numbers()]
        assert sorted({n for n in listed if listed.count(n) > 1}) == []
        assert [n for n in listed if n not in numbers] == []
    assert {row.document for row in ROWS} <= set(contents)


def test_the_index_is_complete():
    """Every number of the lists has a function, a test and a chapter."""
    listed = {(row.document, number) for row in ROWS for number in row.numbers()}
    expected = [(d, number) for d, numbers in equations.contents().items() for number in numbers]
    assert [one for one in expected if one not in listed] == []
    assert len(expected) > 400


def test_every_function_can_be_called_by_its_name():
    missing = []
    for name in sorted({row.name for row in ROWS}):
        try:
            target, _ = resolved(name)
        except AttributeError:
            missing.append(name)
            continue
        if not callable(target) and not isinstance(target, property):
            missing.append(name)
    assert missing == []


def documented():
    """What the directives of the reference show: by full name, and classes and modules as a whole."""
    names, whole = set(), {}
    for page in (ROOT / "docs" / "reference").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        directives = re.findall(r"^\.\. auto(\w+):: ([\w.]+)\n((?:   :.*\n)*)", text, re.MULTILINE)
        for kind, target, options in directives:
            names.add(target)
            if kind == "module" or ":members:" in options:
                whole[target] = ":inherited-members:" in options
    return names, whole


def test_every_function_has_a_place_in_the_reference():
    names, whole = documented()
    missing = []
    for name in sorted({row.name for row in ROWS} - names):
        target, _, last = name.rpartition(".")
        owner, _ = resolved(target)
        is_shown = target in whole or target.rpartition(".")[0] in whole
        if not is_shown or not (whole.get(target) or last in vars(owner)):
            missing.append(name)
    assert missing == [], missing


def test_every_test_exists():
    split = [(row, *row.test.split("::")) for row in ROWS]
    missing = [
        f"{label(row)}: {row.test}"
        for row, file, name in split
        if not name.startswith("test_") or name not in functions_of(file)
    ]
    assert missing == []


def test_every_chapter_has_the_heading_and_calls_the_function():
    missing = []
    for row in ROWS:
        page, _, anchor = row.chapter.partition("#")
        if anchor not in equations.headings(chapter(page)):
            missing.append(f"{label(row)}: {row.chapter}")
        elif row.name.rpartition(".")[2] not in code_below(chapter(page), anchor):
            missing.append(f"{label(row)}: {row.name} is not used in {row.chapter}")
    assert missing == []


def test_titles_are_short_and_our_own():
    """Titles of documents, not their sentences."""
    assert [
        row.title for row in ROWS if not 3 < len(row.title) < 100 or row.title.endswith(".")
    ] == []
