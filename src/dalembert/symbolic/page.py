"""A page of equations: formulas in MathML, quantity by quantity, in a frame of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dalembert.symbolic.layout import NAMES, PAGE_WIDTH, Block, Form, PrintedLine, blocks, title_of
from dalembert.symbolic.notation import DOTTED, Ledger, MathML, dotted
from dalembert.text import html

if TYPE_CHECKING:
    from dalembert.symbolic.equations import Equations

# of formulas on any page; browsers set an accent onto its symbol, where a dot touches the serifs
FORMULAS = Path(__file__).with_name("formulas.css").read_text(encoding="utf-8")
_STYLE = Path(__file__).with_name("page.css").read_text(encoding="utf-8")

_OPEN, _CLOSE = MathML.opening, MathML.closing
_Q, _RATE, _ACCELERATION = "<mi>q</mi>", dotted("<mi>q</mi>"), dotted("<mi>q</mi>", "¨")
_LEFT = {
    "M": f"<mi>M</mi>{_OPEN}{_Q}{_CLOSE}{_ACCELERATION}",
    "C": f'<mi>C</mi>{_OPEN}{_Q}<mo separator="true">,</mo>{_RATE}{_CLOSE}{_RATE}',
    "G": f"<mi>G</mi>{_OPEN}{_Q}{_CLOSE}{_RATE}",
    "g": f"<mi>g</mi>{_OPEN}{_Q}{_CLOSE}",
    "e": "<mi>e</mi>",
    "A": f"<msup><mi>A</mi><mi>T</mi></msup>{_OPEN}{_Q}{_CLOSE}<mi>λ</mi>",
}
_RIGHT = {"tau": "<mi>τ</mi>", "psi": "<mi>ψ</mi>"}
_CONSTRAINED = {"h", "A", "gamma", "lambda", "qdd", "P_omega", "P_T", "M_p", "h_p", "tau_p"}
_CONSTRAINED |= {"M_r", "h_r", "tau_r", "Delta"}


class Section(NamedTuple):
    """A quantity, or the definitions: its title and formulas as HTML, and their marked terms."""

    key: str
    title: str
    body: str
    ledger: Ledger  # empty unless marks were requested


def html_page(eq: Equations, title: str, short: bool = True) -> str:
    """A page of MathML, without scripts and without network."""
    # every section is a heading and a box that scrolls if it is too wide
    body = "".join(
        f'<section><h2>{section.title}</h2><div class="box">{section.body}</div></section>\n'
        for section in sections(eq, short)
    )
    # the equation of motion with the terms that a system of these quantities has
    present = {"M", "C", "g", "tau", *eq.quantities}
    present |= {"A"} if _CONSTRAINED & set(eq.quantities) else set()
    left, right = (
        "<mo>+</mo>".join(term for key, term in side.items() if key in present)
        for side in (_LEFT, _RIGHT)
    )
    motion = f"<math><mrow>{left}<mo>=</mo>{right}</mrow></math>"
    title, remark = html(title), f"<p>{html(eq.note)}</p>" if eq.note else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}{FORMULAS}</style>\n</head>\n<body>\n"
        f'<h1>{title}</h1>\n<p class="head">{motion}</p>\n{remark}\n{body}</body>\n</html>\n'
    )


def sections(
    eq: Equations, short: bool, digits: int | None = None, marked: bool = False
) -> list[Section]:
    """Every quantity, then the definitions of names; decimals have at most so many digits.

    With `marked`, entries and terms carry numbers, each section from zero: see its ledger.
    """
    printed = []
    form = Form(short, digits, marked)
    for block in blocks(eq, list(eq.quantities), MathML(), PAGE_WIDTH, form):
        title = "Names" if block.key == NAMES else html(title_of(eq, block.key))
        body = _matrix(block) if block.cells else _table(block.lines)
        body += f"<p>{block.absent}</p>" if block.absent else ""
        printed.append(Section(block.key, title, body, block.ledger))
    return printed


def _matrix(block: Block) -> str:
    cells = ""
    for row in block.cells:
        columns = "".join(f"<mtd{_mark(entry)}>{text}</mtd>" for entry, text in row)
        cells += f"<mtr>{columns}</mtr>"
    table = f'<mtable class="matrix">{cells}</mtable>'
    label = MathML().name(*DOTTED.get(block.key, (block.key,)))
    return f'<math display="block"><mrow>{label}<mo>=</mo>{table}</mrow></math>'


def _table(printed: Sequence[PrintedLine]) -> str:
    rows = []
    for line in printed:
        left = "<mo>=</mo>".join(line.labels)
        for k, row in enumerate(line.rows):
            head, sign = (f"<mrow>{left}</mrow>", "<mo>=</mo>") if k == 0 else ("", "")
            mark = "" if k else _mark(line.entry)
            cells = f"<mtd>{head}</mtd><mtd>{sign}</mtd><mtd><mrow>{row}</mrow></mtd>"
            rows.append(f"<mtr{mark}>{cells}</mtr>")
    if not rows:
        return ""
    return f'<math display="block"><mtable class="lines">{"".join(rows)}</mtable></math>'


def _mark(entry: int | None) -> str:
    return "" if entry is None else f' data-entry="{entry}"'
