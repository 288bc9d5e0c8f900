"""A recursion as a table: every intermediate by name and link, in numbers or in letters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import EquationError, ShapeError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.text import html, visible
from dalembert.tracing import is_symbolic

if TYPE_CHECKING:
    import sympy
    import xarray

    from dalembert.formulations.parts.record import Term

AXES = ("x", "y", "z")
LABELS = {
    "axis": AXES,
    "component": tuple(f"{part} {axis}" for part in ("linear", "angular") for axis in AXES),
}
DIMS: Mapping[tuple[int, ...], tuple[str, ...]] = {(): (), (3,): ("axis",), (6,): ("component",)}
TORQUE = "torque or force of the drives"
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@dataclass(frozen=True, eq=False)
class Recursion:
    """What a formulation of inverse dynamics computes for every link, from the base to τ.

    ``table["omega"]`` is an array (..., links, 3), ``table["tau"]`` (..., nv). `terms` say what there
    is: name, symbol, shape, units, meaning; ``list(table)`` their names. Everything stands in the
    frames of the links that `pose` knows, and wrenches through joints are those of `joint_wrenches`:
    about the joint's origin, in the link's axes. The bodies inside a joint of several degrees have
    no such frame; theirs has its z axis along their own axis. Values are numbers, or SymPy
    expressions in letters, where `definitions` says what w1, w2, … stand for.
    """

    name: str
    formulation: str
    citation: str
    links: tuple[str, ...]
    velocities: tuple[str, ...]
    terms: tuple[Term, ...]
    values: Mapping[str, Any]  # arrays of numbers, of SymPy expressions, or of CasADi symbols
    torque_units: tuple[str, ...]
    rates: Mapping[sympy.Symbol, sympy.Symbol] = field(default_factory=dict)
    definitions: Mapping[sympy.Symbol, sympy.Expr] = field(default_factory=dict)

    @property
    def letters(self) -> bool:
        """Whether the values are SymPy expressions."""
        return isinstance(self["tau"], np.ndarray) and self["tau"].dtype == object

    @property
    def batch(self) -> tuple[int, ...]:
        """The shape of the batch; () for one state."""
        return self["tau"].shape[:-1]

    def __getitem__(self, name: str) -> Any:
        try:
            return self.values[name]
        except KeyError:
            hint = suggest(name, list(self.values))
            raise UnknownNameError(
                f"the recursion of {self.formulation} has no {name!r}{hint}"
            ) from None

    def __iter__(self) -> Iterator[str]:
        """The names of all terms, "tau" last."""
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __contains__(self, name: object) -> bool:
        return name in self.values

    def link(self, name: str) -> dict[str, Any]:
        """All terms of one link, each (..., *shape)."""
        if name not in self.links:
            hint = suggest(name, list(self.links))
            raise UnknownNameError(f"{self.name} has no link {name!r}{hint}")
        one = (*(slice(None) for _ in self.batch), self.links.index(name))
        return {t.name: self[t.name][one] for t in self.terms}

    def at(self, *index: int) -> Recursion:
        """The table of one state of a batch."""
        return replace(self, values={name: x[index] for name, x in self.values.items()})

    def to_xarray(self) -> xarray.Dataset:
        """The table as an `xarray.Dataset` over link and axis, with units and meanings."""
        import xarray

        several = len(self.batch) > 1
        batch = tuple(f"sample_{k}" if several else "sample" for k in range(len(self.batch)))
        coords: dict[str, Any] = {"link": list(self.links), "joint": list(self.velocities)}
        fields: dict[str, Any] = {}
        for term in self.terms:
            dims = DIMS.get(term.shape, ("row", "column")[: len(term.shape)])
            coords |= {dim: list(LABELS[dim]) for dim in dims if dim in LABELS}
            about = {"units": term.units, "long_name": term.meaning}
            fields[term.name] = ((*batch, "link", *dims), self[term.name], about)
        about = {"units": ", ".join(sorted(set(self.torque_units))), "long_name": TORQUE}
        fields["tau"] = ((*batch, "joint"), self["tau"], about)
        sources = {"robot": self.name, "formulation": self.formulation, "source": self.citation}
        return xarray.Dataset(fields, coords, sources)

    def text(self, width: int = 100) -> str:
        """Every term under its symbol and meaning, link by link; then τ."""
        return _text(self._one(), width)

    def latex(self, name: str | None = None) -> str:
        """LaTeX of one term, or of all of them and τ, as an `aligned` block."""
        return _latex(self._one(), name)

    def __str__(self) -> str:
        return repr(self) if self.batch or is_symbolic(self["tau"]) else self.text()

    def __repr__(self) -> str:
        names = ", ".join(t.name for t in self.terms)
        size = f"{len(self.links)} links" + (f", batch {self.batch}" if self.batch else "")
        return f"<Recursion of {self.name} by {self.formulation}: {names}; {size}>"

    def _repr_html_(self) -> str | None:
        """Tables of numbers for a notebook; letters are shown by `_repr_latex_`."""
        plain = not (self.letters or self.batch or is_symbolic(self["tau"]))
        return _html_tables(self) if plain else None

    def _repr_latex_(self) -> str | None:
        return f"$\\displaystyle {self.latex()}$" if self.letters and not self.batch else None

    def _one(self) -> Recursion:
        """Itself, if it is the table of one state."""
        if self.batch:
            raise ShapeError(
                f"the table of a batch {self.batch} is not printed; take one state, table.at(0), or "
                "table.to_xarray()"
            )
        if is_symbolic(self["tau"]):
            raise EquationError(
                "a table of CasADi symbols is not printed; ask for it without a state, or with SymPy "
                "expressions"
            )
        return self


def _text(table: Recursion, width: int) -> str:
    """Every term under its symbol and meaning, link by link; then τ, then what names stand for."""
    from dalembert.symbolic.tabled import Entry, entry_text

    blocks = [[visible(f"{table.name}: {table.formulation} ({table.citation})")]]
    for term in table.terms:
        rows = (
            _written(table, term.symbol, _values(table, term), width)
            if table.letters
            else _numbered(table, term)
        )
        blocks.append([f"{term.symbol}  {_heading(term)}", *rows])
    blocks.append([f"τ  {TORQUE}", *_torques(table, width)])
    if table.definitions:
        named = [Entry(s.name, _scalar(e)) for s, e in table.definitions.items()]
        blocks.append(["with", *(entry_text(entry, table.rates, width) for entry in named)])
    return "\n\n".join("\n".join(lines) for lines in blocks)


def _latex(table: Recursion, name: str | None) -> str:
    """LaTeX of one term, or of all and τ."""
    from dalembert.symbolic.tabled import Entry, entries_latex

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


def _html_tables(table: Recursion) -> str:
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


def _torques(table: Recursion, width: int) -> list[str]:
    if table.letters:
        return _written(table, "τ", map(_scalar, table["tau"]), width)
    names = max(map(len, table.velocities))
    listed = zip(table.velocities, table["tau"], table.torque_units, strict=True)
    return [f"  {visible(name):{names}}{_digits(x):>13} {unit}" for name, x, unit in listed]


def _written(table: Recursion, symbol: str, values: Iterable[Any], width: int) -> list[str]:
    from dalembert.symbolic.tabled import Entry, entry_text

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
    import sympy

    values = np.asarray(values, dtype=object)
    made = [e if isinstance(e, sympy.Basic) else sympy.Float(f"{e:.6g}") for e in values.ravel()]
    filled = np.empty(values.shape, dtype=object)
    filled.ravel()[:] = made
    return filled
