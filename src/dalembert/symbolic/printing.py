"""Equations as text, LaTeX and pages: which entries stand where, and how long lines are broken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import sympy

from dalembert.symbolic.ledger import Ledger
from dalembert.symbolic.marks import DOTS, Latex, Marks, Text
from dalembert.symbolic.names import parts
from dalembert.symbolic.operations import entries_of
from dalembert.symbolic.printer import Printer, lines, short_label
from dalembert.symbolic.titles import TITLES, VECTORS, titled
from dalembert.text import latex as latex_text

if TYPE_CHECKING:
    from dalembert.symbolic.equations import Equations

MATRIX_WIDTH = 96  # characters of a matrix in text that still stands as a matrix
PAGE_WIDTH = 96  # characters of a line on a page or in a document


class Form(NamedTuple):
    """How formulas are written."""

    short: bool  # c₂₃ for cos(θ₂ + θ₃)
    digits: int | None = None  # of decimals, at most
    ledger: Ledger | None = None  # of entries and terms, which are then marked


class PrintedLine(NamedTuple):
    """label = … over one or more lines; equal entries share it: Γ_112 = Γ_121 = …"""

    labels: tuple[str, ...]
    rows: tuple[str, ...]
    entry: int | None = None  # its number in the ledger


def printer_of(eq: Equations, marks: Marks, form: Form) -> Printer:
    """A printer that knows which letters are rates, and which lead a product."""
    rates = dict(zip(eq.qd, eq.q, strict=False))
    leading = [s for s in eq.parameters if parts(s.name)[0] in ("m", "I", "J")]
    marked = form.ledger.term if form.ledger is not None else None
    return Printer(marks, rates, [*eq.definitions, *leading], form.short, form.digits, marked)


def _pair(eq: Equations, marks: Marks, form: Form) -> tuple[Printer, Printer]:
    """The printer, and one in plain text that says how long its pieces are."""
    return printer_of(eq, marks, form), printer_of(eq, Text(), form._replace(ledger=None))


def title_of(eq: Equations, key: str) -> str:
    return titled(key, ", ".join(Text().name(s.name) for s in eq.independent))


def _label(key: str, index: tuple[int, ...], marks: Marks) -> str:
    numbers = [str(i + 1) for i in index]
    joined = "".join(numbers) if all(len(n) == 1 for n in numbers) else "_".join(numbers)
    apart = "_" if joined and not joined.isdigit() else ""
    return marks.name(f"{key}{apart}{joined}")


def _nonzero(key: str, value: Any) -> list[tuple[tuple[tuple[int, ...], ...], sympy.Expr]]:
    """Indices and value of the entries that are not zero, equal symmetric ones together."""
    if not hasattr(value, "shape"):
        return [(((),), value)]
    column = isinstance(value, sympy.MatrixBase) and key in VECTORS
    found: dict[tuple[Any, sympy.Expr], list[tuple[int, ...]]] = {}
    shape = value.shape
    for index, entry in zip(np.ndindex(*shape), entries_of(value), strict=True):
        mirrored = tuple(sorted(index)) if key == "M" else (index[0], *sorted(index[1:]))
        if entry != 0:
            family = mirrored if key in ("M", "Gamma") else index
            found.setdefault((family, entry), []).append(index[:1] if column else index)
    return [(tuple(indices), entry) for (_, entry), indices in found.items()]


def _broken(printer: Printer, reader: Printer, e: sympy.Expr, width: int) -> tuple[str, ...]:
    lengths = [[_width(piece) for piece in term] for term in reader.pieces(e, width)]
    return tuple(lines(printer.pieces(e, width), lengths, width))


def lines_of(eq: Equations, key: str, marks: Marks, width: int, form: Form) -> list[PrintedLine]:
    """The entries of a quantity, one after the other."""
    pair = _pair(eq, marks, form)
    return [
        PrintedLine(
            tuple(_label(key, i, marks) for i in indices),
            entry=_entry(form, indices[0], e),
            rows=_broken(*pair, e, width),
        )
        for indices, e in _nonzero(key, eq.quantities[key])
    ]


def name_lines(
    eq: Equations, keys: Sequence[str], marks: Marks, width: int, form: Form
) -> list[PrintedLine]:
    """α = … for every name that is defined, and c₂₃ = cos(θ₂ + θ₃) for short sines and cosines."""
    pair = _pair(eq, marks, form)
    found = [
        PrintedLine((marks.name(s.name),), entry=_entry(form, (), e), rows=_broken(*pair, e, width))
        for s, e in eq.definitions.items()
    ]
    return found + (_abbreviations(eq, keys, marks, form) if form.short else [])


def _entry(form: Form, index: tuple[int, ...], value: sympy.Expr) -> int | None:
    return None if form.ledger is None else form.ledger.entry(index, value)


def is_narrow(eq: Equations, key: str, form: Form) -> bool:
    """Whether a quantity is a matrix that can stand as one."""
    value = eq.quantities[key]
    if not isinstance(value, sympy.MatrixBase) or 0 in value.shape:
        return False
    reader = printer_of(eq, Text(), form._replace(ledger=None))
    cells = [[reader.expression(e) for e in row] for row in value.tolist()]
    widths = (max(map(len, column)) for column in zip(*cells, strict=True))
    return sum(width + 3 for width in widths) <= MATRIX_WIDTH


def _as_matrix(eq: Equations, key: str, marks: Marks, form: Form) -> list[list[str]] | None:
    """Rows of a matrix narrow enough to stand as one, else None."""
    if not is_narrow(eq, key, form):
        return None
    printer = printer_of(eq, marks, form)
    return [[printer.expression(e) for e in row] for row in eq.quantities[key].tolist()]


def _abbreviations(
    eq: Equations, keys: Sequence[str], marks: Marks, form: Form
) -> list[PrintedLine]:
    """c₂₃ = cos(θ₂ + θ₃) for the sums of angles that occur."""
    plain = printer_of(eq, marks, form._replace(short=False, ledger=None))
    return [
        PrintedLine((marks.name(name),), (plain.expression(e),), _entry(form, (), e))
        for name, e in sorted(angles(eq, keys).items())
        if e.args[0].is_Add
    ]


def angles(eq: Equations, keys: Sequence[str]) -> dict[str, sympy.Expr]:
    """Sines and cosines that have a short name, by it: c2, s23."""
    found: dict[str, sympy.Expr] = {}
    for key in keys:
        value = eq.quantities[key]
        for turned in value.atoms(sympy.sin, sympy.cos) if hasattr(value, "atoms") else ():
            label = short_label(turned.args[0], set(eq.q))
            if label is not None:
                found[f"{type(turned).__name__[0]}{label}"] = turned
    return found


def zeros(eq: Equations, key: str) -> str:
    """A sentence on entries that are not printed, or nothing."""
    value = eq.quantities[key]
    if 0 in getattr(value, "shape", ()):
        return "There are no entries: there is only one coordinate."
    if not hasattr(value, "shape") or all(e != 0 for e in sympy.flatten(value.tolist())):
        return ""
    nonzero = bool(_nonzero(key, value))
    return "All other entries are zero." if nonzero else "All entries are zero."


def text(eq: Equations, keys: Sequence[str], width: int, short: bool) -> str:
    """Every quantity under its title, then what the names mean."""
    marks, blocks, form = Text(), [], Form(short)
    for key in keys:
        rows = _as_matrix(eq, key, marks, form)
        if rows is not None:
            body = text_matrix(f"{marks.name(key)} = ", rows)
        else:
            found = lines_of(eq, key, marks, width - 12, form)
            body = "\n".join([*map(_text_line, found), *filter(None, [zeros(eq, key)])])
        blocks.append(f"{title_of(eq, key)}\n{body}")
    named = name_lines(eq, keys, marks, width - 12, form)
    if named:
        blocks.append("with\n" + "\n".join(map(_text_line, named)))
    return "\n\n".join([*blocks, *filter(None, [latex_text(eq.note)])])


def _text_line(line: PrintedLine) -> str:
    head = " = ".join(line.labels) + " = "
    return head + ("\n" + " " * min(len(head), 12)).join(line.rows)


def text_matrix(head: str, rows: list[list[str]]) -> str:
    """head = a matrix of these cells, in brackets over as many lines as it has rows."""
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    made = []
    for k, row in enumerate(rows):
        end = 3 if len(rows) == 1 else 0 if k == 0 else 2 if k == len(rows) - 1 else 1
        left, right = "⎡⎢⎣["[end], "⎤⎥⎦]"[end]
        cells = "   ".join(c + " " * (w - _width(c)) for c, w in zip(row, widths, strict=True))
        lead = head if k == (len(rows) - 1) // 2 else " " * _width(head)
        made.append(f"{lead}{left} {cells} {right}")
    return "\n".join(made)


def _width(printed: str) -> int:
    """Columns on a terminal: combining dots take none."""
    return len(printed) - sum(map(printed.count, DOTS[1:]))


def latex(eq: Equations, keys: Sequence[str], short: bool) -> str:
    """One `aligned` block of every quantity and of what the names mean."""
    marks, rows, form = Latex(), [], Form(short)
    for key in keys:
        rows += _latex_rows(eq, key, marks, form)
    named = name_lines(eq, keys, marks, PAGE_WIDTH, form)
    rows += [row for line in named for row in _latex_line(line)]
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


def _latex_rows(eq: Equations, key: str, marks: Latex, form: Form) -> list[str]:
    matrix = _as_matrix(eq, key, marks, form)
    if matrix is not None:
        cells = " \\\\ ".join(" & ".join(row) for row in matrix)
        return [f"{marks.name(key)} &= \\begin{{bmatrix}} {cells} \\end{{bmatrix}}"]
    found = [
        row for line in lines_of(eq, key, marks, PAGE_WIDTH, form) for row in _latex_line(line)
    ]
    absent = zeros(eq, key)
    return [*found, f"&\\text{{{absent}}}"] if absent else found


def _latex_line(line: PrintedLine) -> list[str]:
    first, *rest = line.rows
    return [f"{' = '.join(line.labels)} &= {first}", *(f"&\\quad {row}" for row in rest)]


def latex_document(eq: Equations, title: str, short: bool) -> str:
    """A complete document for pdflatex; long forms run over lines and pages."""
    marks, form = Latex(), Form(short)
    parts = []
    for key in eq.quantities:
        rows = " \\\\\n".join(_latex_rows(eq, key, marks, form))
        parts.append(f"\\section*{{{TITLES[key]}}}\n\\begin{{align*}}\n{rows}\n\\end{{align*}}")
    named = name_lines(eq, list(eq.quantities), marks, PAGE_WIDTH, form)
    if named:
        rows = " \\\\\n".join(row for line in named for row in _latex_line(line))
        parts.append(f"\\section*{{Names}}\n\\begin{{align*}}\n{rows}\n\\end{{align*}}")
    return (
        "\\documentclass{article}\n\\usepackage{amsmath}\n\\usepackage[margin=2cm]{geometry}\n"
        f"\\allowdisplaybreaks\n\\title{{{latex_text(title)}}}\n\\date{{}}\n\\begin{{document}}\n\\maketitle\n"
        + "\n".join([*parts, *filter(None, [latex_text(eq.note)])])
        + "\n\\end{document}\n"
    )
