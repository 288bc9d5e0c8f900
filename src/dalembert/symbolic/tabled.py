"""Tables of vectors and matrices in letters, one for each link: as text and as LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import sympy

from dalembert.symbolic.marks import Latex, Text
from dalembert.symbolic.printer import Printer
from dalembert.symbolic.printing import text_matrix

Rates = Mapping[sympy.Symbol, sympy.Symbol]  # velocity → coordinate, acceleration → velocity


class Entry(NamedTuple):
    """One value: its name in a language, and a number, column or matrix of expressions."""

    label: str
    value: Any  # an object array (), (k,) or (k, l)


def entry_text(entry: Entry, rates: Rates, width: int) -> str:
    """name = value; a column stands in one line where that is narrow enough."""
    printer = Printer(Text(), rates)
    head = f"{entry.label} = "
    if entry.value.ndim == 0:
        return head + printer.expression(entry.value.item())
    if entry.value.ndim == 2:
        return text_matrix(head, [[printer.expression(e) for e in row] for row in entry.value])
    cells = [printer.expression(e) for e in entry.value]
    line = f"{head}({', '.join(cells)})"
    return line if len(line) <= width else text_matrix(head, [[cell] for cell in cells])


def entries_latex(entries: Sequence[Entry], rates: Rates) -> str:
    """One `aligned` block."""
    printer = Printer(Latex(), rates)

    def written(value: Any) -> str:
        if value.ndim == 0:
            return printer.expression(value.item())
        rows = [[e] for e in value] if value.ndim == 1 else value
        body = r" \\ ".join(" & ".join(map(printer.expression, row)) for row in rows)
        return rf"\begin{{bmatrix}} {body} \end{{bmatrix}}"

    lines = [f"{label} &= {written(value)}" for label, value in entries]
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"
