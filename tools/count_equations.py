"""Count what a document displays, for docs/course/documents.toml: `count_equations.py TEXT`.

TEXT is the document as Markdown with LaTeX between `$$`. Where slides are headed "4.2 …" with the
page number below, equations are counted by page, in the last state of a slide that is shown in
several; otherwise by heading. Numbered equations, as in (2.5), are listed besides.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

SLIDE = re.compile(r"^#{1,2} \d\.\d .*$", flags=re.MULTILINE)
HEADING = re.compile(r"^(#+ .*)$", flags=re.MULTILINE)
NUMBER = re.compile(r"\((?:\\text\{)?([\dA-Z]\.\d{1,2})\}?\)")


def displayed(text: str) -> int:
    """Displayed equations of a text."""
    return len(re.findall(r"\$\$.*?\$\$", text, flags=re.DOTALL))


def by_page(text: str) -> Iterator[tuple[str, int]]:
    """(page, equations) of slides; those without a number of their own are called "?"."""
    most: dict[str, int] = {}
    for slide in SLIDE.split(text)[1:]:
        first = [line.strip() for line in slide.splitlines() if line.strip()][:6]
        page = next((f"p.{line}" for line in first if re.fullmatch(r"\d{1,2}", line)), "?")
        most[page] = max(most.get(page, 0), displayed(slide))
    yield from ((page, count) for page, count in most.items() if count)


def by_heading(text: str) -> Iterator[tuple[str, int]]:
    """(heading, equations), in order."""
    parts = HEADING.split(text)
    for title, part in zip(parts[1::2], parts[2::2], strict=True):
        if displayed(part):
            yield title.lstrip("# "), displayed(part)


def main(path: str) -> None:
    """Print both lists."""
    text = Path(path).read_text(encoding="utf-8")
    for section, count in by_page(text) if len(SLIDE.findall(text)) > 5 else by_heading(text):
        print(f'"{section}" = {count}')
    print("named =", sorted(set(NUMBER.findall(text))))


if __name__ == "__main__":
    main(sys.argv[1])
