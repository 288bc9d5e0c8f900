"""Equations in MathML, quantity by quantity: what a page consists of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dalembert.symbolic.ledger import Ledger
from dalembert.symbolic.marks import MathML
from dalembert.symbolic.page import page
from dalembert.symbolic.printing import (
    PAGE_WIDTH,
    Form,
    PrintedLine,
    is_narrow,
    lines_of,
    name_lines,
    printer_of,
    title_of,
    zeros,
)
from dalembert.text import html

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dalembert.symbolic.equations import Equations

NAMES = ""  # the key of the section that says what names stand for


class Section(NamedTuple):
    """A quantity, or the names: its title and formulas as HTML, and what is marked in them."""

    key: str
    title: str
    body: str
    ledger: Ledger  # empty unless marks were asked for


def html_page(eq: Equations, title: str, short: bool = True) -> str:
    """A page of MathML, without scripts and without network."""
    found = [(section.title, section.body) for section in sections(eq, short)]
    return page(html(title), found, html(eq.note), list(eq.quantities))


def sections(
    eq: Equations, short: bool, digits: int | None = None, marked: bool = False
) -> list[Section]:
    """Every quantity, then what the names mean; decimals have at most so many digits.

    With `marked`, entries and terms carry numbers, each section from zero: see its ledger.
    """
    made = []
    for key in eq.quantities:
        ledger = Ledger()
        body = _quantity(eq, key, Form(short, digits, ledger if marked else None))
        made.append(Section(key, html(title_of(eq, key)), body, ledger))
    ledger = Ledger()
    form = Form(short, digits, ledger if marked else None)
    named = name_lines(eq, list(eq.quantities), MathML(), PAGE_WIDTH, form)
    if named:
        made.append(Section(NAMES, "Names", _lines(named), ledger))
    return made


def _quantity(eq: Equations, key: str, form: Form) -> str:
    if is_narrow(eq, key, form):
        return _matrix(eq, key, form)
    absent = zeros(eq, key)
    found = _lines(lines_of(eq, key, MathML(), PAGE_WIDTH, form))
    return found + (f"<p>{absent}</p>" if absent else "")


def _matrix(eq: Equations, key: str, form: Form) -> str:
    value, printer = eq.quantities[key], printer_of(eq, MathML(), form)
    cells = ""
    for i in range(value.rows):
        cells += "<mtr>"
        for j in range(value.cols):
            e = value[i, j]
            mark = "" if form.ledger is None or e == 0 else _mark(form.ledger.entry((i, j), e))
            cells += f"<mtd{mark}>{printer.formula(e)}</mtd>"
        cells += "</mtr>"
    table = f'<mtable class="matrix">{cells}</mtable>'
    return f'<math display="block"><mrow>{MathML().name(key)}<mo>=</mo>{table}</mrow></math>'


def _lines(found: Sequence[PrintedLine]) -> str:
    rows = []
    for line in found:
        left = "<mo>=</mo>".join(line.labels)
        for k, row in enumerate(line.rows):
            head, sign = (f"<mrow>{left}</mrow>", "<mo>=</mo>") if k == 0 else ("", "")
            mark = "" if line.entry is None or k else _mark(line.entry)
            cells = f"<mtd>{head}</mtd><mtd>{sign}</mtd><mtd><mrow>{row}</mrow></mtd>"
            rows.append(f"<mtr{mark}>{cells}</mtr>")
    if not rows:
        return ""
    return f'<math display="block"><mtable class="lines">{"".join(rows)}</mtable></math>'


def _mark(entry: int) -> str:
    return f' data-entry="{entry}"'
