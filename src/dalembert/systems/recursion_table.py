"""A recursion as a table: every intermediate by name and link, in numbers or in letters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.bridge import is_symbolic
from dalembert.errors import EquationError, ShapeError, UnknownNameError
from dalembert.formulations.registry import suggest

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


@dataclass(frozen=True, eq=False)
class Recursion:
    """What a formulation of inverse dynamics computes for every link, from the base to τ.

    ``table["omega"]`` is an array (..., links, 3), ``table["tau"]`` (..., nv). `terms` say what there
    is: name, symbol, shape, units, meaning. Values are numbers, or SymPy expressions in letters, where
    `definitions` says what w1, w2, … stand for.
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
        from dalembert.systems.recursion_print import text

        return text(self._one(), width)

    def latex(self, name: str | None = None) -> str:
        """LaTeX of one term, or of all of them and τ, as an `aligned` block."""
        from dalembert.systems.recursion_print import latex

        return latex(self._one(), name)

    def __str__(self) -> str:
        return repr(self) if self.batch or is_symbolic(self["tau"]) else self.text()

    def __repr__(self) -> str:
        names = ", ".join(t.name for t in self.terms)
        size = f"{len(self.links)} links" + (f", batch {self.batch}" if self.batch else "")
        return f"<Recursion of {self.name} by {self.formulation}: {names}; {size}>"

    def _repr_html_(self) -> str | None:
        """Tables of numbers for a notebook; letters are shown by `_repr_latex_`."""
        from dalembert.systems.recursion_print import html_tables

        plain = not (self.letters or self.batch or is_symbolic(self["tau"]))
        return html_tables(self) if plain else None

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
