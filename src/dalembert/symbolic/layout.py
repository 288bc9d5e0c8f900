"""Equations and tables as text and LaTeX: which entries are printed, and how long lines break."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import sympy

from dalembert.symbolic.notation import DOTTED, Latex, Ledger, Text, parts
from dalembert.symbolic.operations import entries_of, needed_definitions
from dalembert.symbolic.printer import Printer, columns, short_label
from dalembert.symbolic.quantities import EQUATIONS, REDUCED, TITLES, VECTORS, indexed
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
    marked: bool = False  # entries and terms carry their numbers in a ledger


class PrintedLine(NamedTuple):
    """label = … over one or more lines; equal entries share it: Γ_112 = Γ_121 = …"""

    labels: tuple[str, ...]
    rows: tuple[str, ...]
    entry: int | None = None  # its number in the ledger


def printer_of(eq: Equations, notation: Text, form: Form, ledger: Ledger | None = None) -> Printer:
    """A printer with the symbols that are rates, and those that lead a product."""
    # quasi-velocities have names of their own
    rates = {v: x for x, v in zip(eq.q, eq.qd, strict=False) if v.name == f"d{x.name}"}
    leading = [s for s in eq.parameters if parts(s.name)[0] in ("m", "I", "J")]
    mark = ledger.term if ledger is not None and ledger.marked else None
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


NAMES = ""  # the key of the block with the definitions of names


@dataclass
class Block:
    """A quantity to print: a narrow matrix, or its entries line by line."""

    key: str
    ledger: Ledger
    cells: list[list[tuple[int | None, str]]] = field(default_factory=list)  # of a narrow matrix
    lines: list[PrintedLine] = field(default_factory=list)
    absent: str = ""  # a sentence on entries that are not printed

    @property
    def matrix(self) -> list[list[str]]:
        """The texts of the cells, without their numbers in the ledger."""
        return [[text for _, text in row] for row in self.cells]


def blocks(
    eq: Equations, keys: Sequence[str], notation: Text, width: int, form: Form
) -> Iterator[Block]:
    """Every quantity, then the definitions of names if there are any."""
    for key in keys:
        yield _quantity_block(eq, key, notation, width, form)
    # α = … for every name that is defined, and c₂₃ = cos(θ₂ + θ₃) for short sines and cosines
    block = Block(NAMES, Ledger(form.marked))
    printer = printer_of(eq, notation, form, block.ledger)
    entries = [e for key in keys for e in entries_of(eq.quantities[key])]
    for s, e in needed_definitions(entries, eq.definitions).items():
        entry = block.ledger.entry((), e)
        line = PrintedLine((notation.name(s.name),), printer.lines(e, width), entry)
        block.lines.append(line)
    whole = printer_of(eq, notation, form._replace(short=False))
    for name, e in angles(eq, keys).items() if form.short else ():
        if e.args[0].is_Add:
            label, row = notation.name(name), whole.expression(e)
            block.lines.append(PrintedLine((label,), (row,), block.ledger.entry((), e)))
    if block.lines:
        yield block


def _quantity_block(eq: Equations, key: str, notation: Text, width: int, form: Form) -> Block:
    """One quantity; a matrix is printed as such where it is narrow enough."""
    block, value = Block(key, Ledger(form.marked)), eq.quantities[key]
    printer = printer_of(eq, notation, form, block.ledger)
    if isinstance(value, sympy.MatrixBase) and 0 not in value.shape:
        plain = [[printer.plain.expression(e) for e in row] for row in value.tolist()]
        widths = (max(map(len, column)) for column in zip(*plain, strict=True))
        if sum(width + 3 for width in widths) <= MATRIX_WIDTH:
            for i, row in enumerate(value.tolist()):
                numbers = (
                    block.ledger.entry((i, j), e) if e != 0 else None for j, e in enumerate(row)
                )
                pairs = zip(numbers, map(printer.formula, row), strict=True)
                block.cells.append(list(pairs))
            return block
    groups = _nonzero(key, value)
    for indices, e in groups:
        base, dots = DOTTED.get(key, (key, 0))
        labels = [notation.name(indexed(base, index), dots) for index in indices]
        entry = block.ledger.entry(indices[0], e)
        block.lines.append(PrintedLine(tuple(labels), printer.lines(e, width), entry))
    if 0 in getattr(value, "shape", ()):
        reason = "no constraint holds a position" if key == "h" else "there is only one coordinate"
        block.absent = f"There are no entries: {reason}."
    elif sum(len(indices) for indices, _ in groups) < len(entries_of(value)):
        block.absent = "All other entries are zero." if groups else "All entries are zero."
    return block


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


def text(eq: Equations, keys: Sequence[str], width: int, short: bool) -> str:
    """Every quantity under its title, then the definitions of names."""
    notation, printed = Text(), []
    for part in blocks(eq, keys, notation, width - 12, Form(short)):
        rows = [title_of(eq, part.key) if part.key else "with"]
        if part.cells:
            rows.append(
                text_matrix(f"{notation.name(*DOTTED.get(part.key, (part.key,)))} = ", part.matrix)
            )
        for line in part.lines:
            head = " = ".join(line.labels) + " = "
            rows.append(head + ("\n" + " " * min(len(head), 12)).join(line.rows))
        printed.append("\n".join([*rows, *filter(None, [part.absent])]))
    return "\n\n".join([*printed, *filter(None, [latex_text(eq.note)])])


def text_matrix(head: str, rows: list[list[str]]) -> str:
    """head = a matrix of these cells, in brackets over as many lines as it has rows."""
    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    printed = []
    for k, row in enumerate(rows):
        end = 3 if len(rows) == 1 else 0 if k == 0 else 2 if k == len(rows) - 1 else 1
        left, right = "⎡⎢⎣["[end], "⎤⎥⎦]"[end]
        cells = "   ".join(c + " " * (w - columns(c)) for c, w in zip(row, widths, strict=True))
        lead = head if k == (len(rows) - 1) // 2 else " " * columns(head)
        printed.append(f"{lead}{left} {cells} {right}")
    return "\n".join(printed)


def latex(eq: Equations, keys: Sequence[str], short: bool) -> str:
    """One `aligned` block of every quantity and of the definitions of names."""
    parts = blocks(eq, keys, Latex(), PAGE_WIDTH, Form(short))
    return aligned([row for part in parts for row in _latex_rows(part)])


def aligned(rows: Sequence[str], environment: str = "aligned") -> str:
    """Rows of equations in an environment of LaTeX."""
    return f"\\begin{{{environment}}}\n" + " \\\\\n".join(rows) + f"\n\\end{{{environment}}}"


def _bmatrix(rows: Iterable[Iterable[str]]) -> str:
    cells = r" \\ ".join(" & ".join(row) for row in rows)
    return rf"\begin{{bmatrix}} {cells} \end{{bmatrix}}"


def _latex_rows(part: Block) -> list[str]:
    """Rows of an `aligned` block."""
    label = Latex().name(*DOTTED.get(part.key, (part.key,)))
    rows = [f"{label} &= {_bmatrix(part.matrix)}"] if part.cells else []
    for line in part.lines:
        first, *rest = line.rows
        rows += [f"{' = '.join(line.labels)} &= {first}", *(f"&\\quad {row}" for row in rest)]
    return [*rows, f"&\\text{{{part.absent}}}"] if part.absent else rows


def latex_document(eq: Equations, title: str, short: bool) -> str:
    """A complete document for pdflatex; long forms run over lines and pages."""
    body = [
        f"\\section*{{{TITLES[part.key] if part.key else 'Names'}}}\n"
        + aligned(_latex_rows(part), "align*")
        for part in blocks(eq, list(eq.quantities), Latex(), PAGE_WIDTH, Form(short))
    ]
    return (
        "\\documentclass{article}\n\\usepackage{amsmath}\n\\usepackage[margin=2cm]{geometry}\n"
        f"\\allowdisplaybreaks\n\\title{{{latex_text(title)}}}\n\\date{{}}\n\\begin{{document}}\n\\maketitle\n"
        + "\n".join([*body, *filter(None, [latex_text(eq.note)])])
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
        else:
            matrix = value.reshape(len(value), -1)
            rows.append(f"{label} &= {_bmatrix(map(printer.expression, row) for row in matrix)}")
    return aligned(rows)
