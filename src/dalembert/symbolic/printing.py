"""Equations and tables as text and LaTeX: which entries are printed, and how long lines break."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import sympy

from dalembert.symbolic.notation import DOTS, Latex, Ledger, Text, parts
from dalembert.symbolic.operations import entries_of
from dalembert.symbolic.printer import Printer, lines, short_label
from dalembert.symbolic.quantities import EQUATIONS, REDUCED, TITLES, VECTORS
from dalembert.text import latex as latex_text

if TYPE_CHECKING:
    from dalembert.symbolic.equations import Equations

MATRIX_WIDTH = 96  # characters of a matrix in text that is still printed as a matrix
PAGE_WIDTH = 96  # characters of a line on a page or in a document
Rates = Mapping[sympy.Symbol, sympy.Symbol]  # velocity → coordinate, acceleration → velocity


class Form(NamedTuple):
    """How formulas are printed."""

    short: bool  # c₂₃ for cos(θ₂ + θ₃)
    digits: int | None = None  # of decimals, at most
    ledger: Ledger | None = None  # of entries and terms, which are then marked

    def entry(self, index: tuple[int, ...], value: sympy.Expr) -> int | None:
        """The number of a new entry in the ledger, if there is one."""
        return None if self.ledger is None else self.ledger.entry(index, value)


class PrintedLine(NamedTuple):
    """label = … over one or more lines; equal entries share it: Γ_112 = Γ_121 = …"""

    labels: tuple[str, ...]
    rows: tuple[str, ...]
    entry: int | None = None  # its number in the ledger

    def latex(self) -> list[str]:
        """Rows of an `aligned` block."""
        first, *rest = self.rows
        return [f"{' = '.join(self.labels)} &= {first}", *(f"&\\quad {row}" for row in rest)]


def printer_of(eq: Equations, notation: Text, form: Form) -> Printer:
    """A printer with the symbols that are rates, and those that lead a product."""
    rates = dict(zip(eq.qd, eq.q, strict=False))
    leading = [s for s in eq.parameters if parts(s.name)[0] in ("m", "I", "J")]
    mark = form.ledger.term if form.ledger is not None else None
    return Printer(notation, rates, [*eq.definitions, *leading], form.short, form.digits, mark)


def title_of(eq: Equations, key: str) -> str:
    """The title of a quantity with its equation; of reduced ones with the coordinates r too."""
    titles = [TITLES[key], *filter(None, [EQUATIONS.get(key)])]
    if key in REDUCED:
        titles += ["M_r r̈ + h_r = τ_r"] if key == "M_r" else []
        titles.append(f"r = ({', '.join(Text().name(s.name) for s in eq.independent)})")
    title = ", ".join(titles)
    more = {"G": "G q̇", "e": "e"}
    return title.replace("C q̇ + g", " + ".join(["C q̇ + g", *(more[key] for key in eq.moving)]))


def _nonzero(key: str, value: Any) -> list[tuple[tuple[tuple[int, ...], ...], sympy.Expr]]:
    """Indices and value of the entries that are not zero, equal symmetric ones together."""
    if not hasattr(value, "shape"):
        return [(((),), value)]
    is_column = isinstance(value, sympy.MatrixBase) and key in VECTORS
    groups: dict[tuple[Any, sympy.Expr], list[tuple[int, ...]]] = {}
    for index, entry in zip(np.ndindex(*value.shape), entries_of(value), strict=True):
        mirrored = tuple(sorted(index)) if key == "M" else (index[0], *sorted(index[1:]))
        if entry != 0:
            family = mirrored if key in ("M", "Gamma") else index
            groups.setdefault((family, entry), []).append(index[:1] if is_column else index)
    return [(tuple(indices), entry) for (_, entry), indices in groups.items()]


def _broken(printer: Printer, plain: Printer, e: sympy.Expr, width: int) -> tuple[str, ...]:
    """An expression over lines, broken by the lengths of its plain text."""
    lengths = [[_width(piece) for piece in term] for term in plain.pieces(e, width)]
    return tuple(lines(printer.pieces(e, width), lengths, width))


def lines_of(eq: Equations, key: str, notation: Text, width: int, form: Form) -> list[PrintedLine]:
    """The entries of a quantity, one after the other."""
    printers = printer_of(eq, notation, form), printer_of(eq, Text(), form._replace(ledger=None))
    printed = []
    for indices, e in _nonzero(key, eq.quantities[key]):
        labels = []
        for index in indices:
            numbers = [str(i + 1) for i in index]
            joined = "".join(numbers) if all(len(n) == 1 for n in numbers) else "_".join(numbers)
            apart = "_" if joined and not joined.isdigit() else ""
            labels.append(notation.name(f"{key}{apart}{joined}"))
        entry = form.entry(indices[0], e)
        printed.append(PrintedLine(tuple(labels), _broken(*printers, e, width), entry))
    return printed


def name_lines(
    eq: Equations, keys: Sequence[str], notation: Text, width: int, form: Form
) -> list[PrintedLine]:
    """α = … for every name that is defined, and c₂₃ = cos(θ₂ + θ₃) for short sines and cosines."""
    printers = printer_of(eq, notation, form), printer_of(eq, Text(), form._replace(ledger=None))
    definitions = [
        PrintedLine(
            (notation.name(s.name),),
            entry=form.entry((), e),
            rows=_broken(*printers, e, width),
        )
        for s, e in eq.definitions.items()
    ]
    if not form.short:
        return definitions
    plain = printer_of(eq, notation, form._replace(short=False, ledger=None))
    return definitions + [
        PrintedLine((notation.name(name),), (plain.expression(e),), form.entry((), e))
        for name, e in sorted(angles(eq, keys).items())
        if e.args[0].is_Add
    ]


def is_narrow(eq: Equations, key: str, form: Form) -> bool:
    """Whether a quantity is a matrix narrow enough to be printed as one."""
    value = eq.quantities[key]
    if not isinstance(value, sympy.MatrixBase) or 0 in value.shape:
        return False
    plain = printer_of(eq, Text(), form._replace(ledger=None))
    cells = [[plain.expression(e) for e in row] for row in value.tolist()]
    widths = (max(map(len, column)) for column in zip(*cells, strict=True))
    return sum(width + 3 for width in widths) <= MATRIX_WIDTH


def _as_matrix(eq: Equations, key: str, notation: Text, form: Form) -> list[list[str]] | None:
    """Rows of a matrix narrow enough to be printed as one, else None."""
    if not is_narrow(eq, key, form):
        return None
    printer = printer_of(eq, notation, form)
    return [[printer.expression(e) for e in row] for row in eq.quantities[key].tolist()]


def angles(eq: Equations, keys: Sequence[str]) -> dict[str, sympy.Expr]:
    """Sines and cosines that have a short name, by it, in alphabetical order: c2, s23."""
    labels: dict[str, sympy.Expr] = {}
    for key in keys:
        value = eq.quantities[key]
        for function in value.atoms(sympy.sin, sympy.cos) if hasattr(value, "atoms") else ():
            label = short_label(function.args[0], set(eq.q))
            if label is not None:
                labels[f"{type(function).__name__[0]}{label}"] = function
    return dict(sorted(labels.items()))  # SymPy's sets have another order in every process


def zeros(eq: Equations, key: str) -> str:
    """A sentence on entries that are not printed, or nothing."""
    value = eq.quantities[key]
    if 0 in getattr(value, "shape", ()):
        return "There are no entries: there is only one coordinate."
    if not hasattr(value, "shape") or all(e != 0 for e in sympy.flatten(value.tolist())):
        return ""
    return "All other entries are zero." if _nonzero(key, value) else "All entries are zero."


def text(eq: Equations, keys: Sequence[str], width: int, short: bool) -> str:
    """Every quantity under its title, then the definitions of names."""

    def line(printed: PrintedLine) -> str:
        head = " = ".join(printed.labels) + " = "
        return head + ("\n" + " " * min(len(head), 12)).join(printed.rows)

    notation, blocks, form = Text(), [], Form(short)
    for key in keys:
        rows = _as_matrix(eq, key, notation, form)
        if rows is not None:
            body = text_matrix(f"{notation.name(key)} = ", rows)
        else:
            entries = lines_of(eq, key, notation, width - 12, form)
            body = "\n".join([*map(line, entries), *filter(None, [zeros(eq, key)])])
        blocks.append(f"{title_of(eq, key)}\n{body}")
    named = name_lines(eq, keys, notation, width - 12, form)
    if named:
        blocks.append("with\n" + "\n".join(map(line, named)))
    return "\n\n".join([*blocks, *filter(None, [latex_text(eq.note)])])


def text_matrix(head: str, rows: list[list[str]]) -> str:
    """head = a matrix of these cells, in brackets over as many lines as it has rows."""
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    printed = []
    for k, row in enumerate(rows):
        end = 3 if len(rows) == 1 else 0 if k == 0 else 2 if k == len(rows) - 1 else 1
        left, right = "⎡⎢⎣["[end], "⎤⎥⎦]"[end]
        cells = "   ".join(c + " " * (w - _width(c)) for c, w in zip(row, widths, strict=True))
        lead = head if k == (len(rows) - 1) // 2 else " " * _width(head)
        printed.append(f"{lead}{left} {cells} {right}")
    return "\n".join(printed)


def _width(printed: str) -> int:
    """Columns on a terminal: combining dots take none."""
    return len(printed) - sum(map(printed.count, DOTS[1:]))


def latex(eq: Equations, keys: Sequence[str], short: bool) -> str:
    """One `aligned` block of every quantity and of the definitions of names."""
    form = Form(short)
    rows = [row for key in keys for row in _latex_rows(eq, key, form)]
    named = name_lines(eq, keys, Latex(), PAGE_WIDTH, form)
    rows += [row for line in named for row in line.latex()]
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


def _latex_rows(eq: Equations, key: str, form: Form) -> list[str]:
    notation = Latex()
    matrix = _as_matrix(eq, key, notation, form)
    if matrix is not None:
        cells = " \\\\ ".join(" & ".join(row) for row in matrix)
        return [f"{notation.name(key)} &= \\begin{{bmatrix}} {cells} \\end{{bmatrix}}"]
    entries = lines_of(eq, key, notation, PAGE_WIDTH, form)
    rows = [row for line in entries for row in line.latex()]
    absent = zeros(eq, key)
    return [*rows, f"&\\text{{{absent}}}"] if absent else rows


def latex_document(eq: Equations, title: str, short: bool) -> str:
    """A complete document for pdflatex; long forms run over lines and pages."""
    form = Form(short)
    sections = [(TITLES[key], _latex_rows(eq, key, form)) for key in eq.quantities]
    named = name_lines(eq, list(eq.quantities), Latex(), PAGE_WIDTH, form)
    if named:
        sections.append(("Names", [row for line in named for row in line.latex()]))
    blocks = []
    for heading, rows in sections:
        aligned = " \\\\\n".join(rows)
        blocks.append(f"\\section*{{{heading}}}\n\\begin{{align*}}\n{aligned}\n\\end{{align*}}")
    return (
        "\\documentclass{article}\n\\usepackage{amsmath}\n\\usepackage[margin=2cm]{geometry}\n"
        f"\\allowdisplaybreaks\n\\title{{{latex_text(title)}}}\n\\date{{}}\n\\begin{{document}}\n\\maketitle\n"
        + "\n".join([*blocks, *filter(None, [latex_text(eq.note)])])
        + "\n\\end{document}\n"
    )


class TableEntry(NamedTuple):
    """One value of a table: its printed name, and a number, column or matrix of expressions."""

    label: str
    value: np.ndarray  # of objects, (), (k,) or (k, l)


def entry_text(entry: TableEntry, rates: Rates, width: int) -> str:
    """name = value; a column is printed in one line where that is narrow enough."""
    printer = Printer(Text(), rates)
    head = f"{entry.label} = "
    if entry.value.ndim == 0:
        return head + printer.expression(entry.value.item())
    if entry.value.ndim == 2:
        return text_matrix(head, [[printer.expression(e) for e in row] for row in entry.value])
    cells = [printer.expression(e) for e in entry.value]
    line = f"{head}({', '.join(cells)})"
    return line if len(line) <= width else text_matrix(head, [[cell] for cell in cells])


def entries_latex(entries: Sequence[TableEntry], rates: Rates) -> str:
    """One `aligned` block of the entries of a table."""
    printer = Printer(Latex(), rates)
    rows = []
    for label, value in entries:
        if value.ndim == 0:
            rows.append(f"{label} &= {printer.expression(value.item())}")
            continue
        matrix = [[e] for e in value] if value.ndim == 1 else value
        body = r" \\ ".join(" & ".join(map(printer.expression, row)) for row in matrix)
        rows.append(rf"{label} &= \begin{{bmatrix}} {body} \end{{bmatrix}}")
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"
