"""The index of equations: a page made of `course/equations.toml` when the documentation is built.

The file has a section for each place of the course, with rows (number in the document, title,
function, test, note). `course/documents.toml` lists what the documents contain, as numbers, and the
sections of textbooks that the course follows; a test compares the two.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from dalembert.references import DOCUMENTS, TEXTBOOKS

COURSE = Path(__file__).parent / "course"
PAGE, MARKER = "course/equations", "<!-- the index -->"
NUMBERED = re.compile(r"(?P<part>.+) \((?P<first>\d+)(?:–(?P<last>\d+))?\)")


class Row(NamedTuple):
    """An equation of a document and where it is computed, checked and shown."""

    document: str
    number: str  # as in "p.9 (1–2)", "(2.5)" or "Property 3"
    title: str
    function: str  # dotted name, possibly with arguments
    test: str  # path below tests::name
    chapter: str  # page#heading
    note: str = ""

    @property
    def name(self) -> str:
        """The dotted name of the function."""
        return self.function.partition("(")[0]

    def numbers(self) -> Iterator[str]:
        """One number of the document after the other: p.9 (1–2) is p.9 (1) and p.9 (2)."""
        numbered = NUMBERED.fullmatch(self.number)
        if numbered is None:
            yield self.number
            return
        first = int(numbered["first"])
        for k in range(first, int(numbered["last"] or first) + 1):
            yield f"{numbered['part']} ({k})"


def rows() -> list[Row]:
    """All rows of the index, in the order of the file."""
    table = tomllib.loads((COURSE / "equations.toml").read_text(encoding="utf-8"))
    return [
        Row(section["document"], number, title, function, test, section["chapter"], *note)
        for section in table["section"]
        for number, title, function, test, *note in section["rows"]
    ]


def contents() -> dict[str, list[str]]:
    """The numbers of every document: displayed equations by place, then what has a name."""
    table = tomllib.loads((COURSE / "documents.toml").read_text(encoding="utf-8"))
    return {
        document: [
            f"{part} ({k})"
            for part, count in lists["displayed"].items()
            for k in range(1, count + 1)
        ]
        + lists["named"]
        for document, lists in table.items()
    }


def headings(text: str) -> set[str]:
    """The anchors of a page: its headings as links spell them."""
    plain = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    numbereds = re.findall(r"^#{1,3} (.+)$", plain, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in numbereds}


def ordered(document: str) -> list[Row]:
    """The rows of a document in its order; what has a name stays behind what it stands with."""
    position = {number: k for k, number in enumerate(contents()[document])}
    displayed = any(NUMBERED.fullmatch(number) for number in position)
    keys, last = [], 0
    mine = [row for row in rows() if row.document == document]
    for row in mine:
        if NUMBERED.fullmatch(row.number) or not displayed:
            last = position[next(row.numbers())]
        keys.append(last)
    return [mine[k] for k in sorted(range(len(mine)), key=keys.__getitem__)]


def page() -> str:
    """The index as Markdown: one table for each document."""
    lines = []
    sources = {number: (document.short, document.title) for number, document in DOCUMENTS.items()}
    sources |= {name: (name, title) for name, title in TEXTBOOKS.items()}
    for number, (short, title) in sources.items():
        mine = ordered(number)
        lines += [f"## {short}", "", f"{title}.", ""]
        lines += ["| equation | what it is | function | test |", "|---|---|---|---|"]
        lines += [_line(row) for row in mine]
        lines.append("")
    return "\n".join(lines)


def _line(row: Row) -> str:
    short = row.name.removeprefix("dalembert.") + row.function.removeprefix(row.name)
    title = f"{row.title} *{row.note}*" if row.note else row.title
    file, _, test = row.test.partition("::")
    cells = (
        f"[{row.number}]({row.chapter})",
        title,
        f"{{py:obj}}`{short} <{row.name}>`",
        f"`{file}` `{test}`",
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


# Sphinx


def fill(app: Any, name: str, source: list[str]) -> None:
    """Put the tables into the page of the index."""
    if name == PAGE:
        source[0] = source[0].replace(MARKER, page())


def setup(app: Any) -> dict[str, bool]:
    """The extension; the page is read again each time, as pages that run are."""
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
