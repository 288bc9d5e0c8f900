"""Tables of recursions on paper: text, LaTeX and HTML, in numbers or letters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from dalembert.errors import UnknownNameError
from dalembert.symbolic.tabled import Entry, entries_latex, entry_text
from dalembert.systems.recursion_table import TORQUE
from dalembert.text import html, visible

if TYPE_CHECKING:
    from dalembert.formulations.parts.record import Term
    from dalembert.systems.recursion_table import Recursion

_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def text(table: Recursion, width: int) -> str:
    """Every term under its symbol and meaning, link by link; then τ, then what names stand for."""
    blocks = [[visible(f"{table.name}: {table.formulation} ({table.citation})")]]
    for term in table.terms:
        rows = _lettered(table, term, width) if table.letters else _numbered(table, term)
        blocks.append([f"{term.symbol}  {_heading(term)}", *rows])
    blocks.append([f"τ  {TORQUE}", *_torques(table, width)])
    if table.definitions:
        named = [Entry(s.name, _scalar(e)) for s, e in table.definitions.items()]
        blocks.append(["with", *(entry_text(entry, table.rates, width) for entry in named)])
    return "\n\n".join("\n".join(lines) for lines in blocks)


def latex(table: Recursion, name: str | None) -> str:
    """LaTeX of one term, or of all and τ."""
    entries = [
        Entry(term.latex.replace("#", str(k + 1)), value)
        for term in table.terms
        if name in (None, term.name)
        for k, value in enumerate(_values(table, term))
    ]
    if name in (None, "tau"):
        entries.append(Entry(r"\tau", _expressions(table["tau"])))
    if not entries:
        raise UnknownNameError(f"the recursion of {table.formulation} has no {name!r}")
    return entries_latex(entries, table.rates)


def html_tables(table: Recursion) -> str:
    """A table of numbers for every term."""
    head = f"<b>{html(table.name)}</b>: {html(table.formulation)} ({html(table.citation)})"
    made = [head]
    for term in table.terms:
        rows = "".join(
            f"<tr><th>{html(link)}</th>{''.join(f'<td>{x}</td>' for x in cells)}</tr>"
            for link, cells in _cells(table, term)
        )
        caption = f"<caption>{term.symbol} &nbsp; {html(_heading(term))}</caption>"
        made.append(f"<table>{caption}<tbody>{rows}</tbody></table>")
    return f"<div>{''.join(made)}</div>"


def _heading(term: Term) -> str:
    return f"{term.meaning}, {term.units}" if term.units else term.meaning


def _cells(table: Recursion, term: Term) -> Iterator[tuple[str, list[str]]]:
    """Rows of numbers, the link's name at the first row of each of its matrices."""
    values = table[term.name]
    largest = float(np.abs(values).max(initial=0.0))
    for link, value in zip(table.links, values, strict=True):
        for k, row in enumerate(np.atleast_2d(value)):
            yield (link if k == 0 else ""), [_digits(x, largest) for x in row]


def _digits(x: float, largest: float = 0.0) -> str:
    """Six digits; what is only the rounding of larger neighbours is zero."""
    return f"{0.0 if abs(x) <= 1e-14 * largest or x == 0.0 else x:.6g}"


def _numbered(table: Recursion, term: Term) -> list[str]:
    width = max(map(len, table.links))
    return [
        f"  {visible(link):{width}}" + "".join(f"{cell:>13}" for cell in cells)
        for link, cells in _cells(table, term)
    ]


def _lettered(table: Recursion, term: Term, width: int) -> list[str]:
    return _written(table, term.symbol, _values(table, term), width)


def _torques(table: Recursion, width: int) -> list[str]:
    if table.letters:
        return _written(table, "τ", map(_scalar, table["tau"]), width)
    names = max(map(len, table.velocities))
    listed = zip(table.velocities, table["tau"], table.torque_units, strict=True)
    return [f"  {visible(name):{names}}{_digits(x):>13} {unit}" for name, x, unit in listed]


def _written(table: Recursion, symbol: str, values: Iterable[Any], width: int) -> list[str]:
    return [
        entry_text(Entry(symbol + str(k + 1).translate(_SUBSCRIPTS), value), table.rates, width)
        for k, value in enumerate(values)
    ]


def _values(table: Recursion, term: Term) -> list[np.ndarray]:
    """The expressions of every link, an array of the term's shape each."""
    return [_expressions(x) for x in table[term.name]]


def _scalar(e: Any) -> np.ndarray:
    return _expressions(np.array(e, dtype=object))


def _expressions(values: Any) -> np.ndarray:
    """An array of SymPy expressions; numbers with six digits."""
    values = np.asarray(values, dtype=object)
    made = [e if isinstance(e, sympy.Basic) else sympy.Float(f"{e:.6g}") for e in values.ravel()]
    filled = np.empty(values.shape, dtype=object)
    filled.ravel()[:] = made
    return filled
