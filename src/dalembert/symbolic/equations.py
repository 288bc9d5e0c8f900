"""Written equations: SymPy matrices with their symbols, to read, print and evaluate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy
from numpy.typing import ArrayLike

from dalembert.errors import EquationError
from dalembert.symbolic import layout
from dalembert.symbolic.operations import (
    entries_of,
    exact,
    needed_definitions,
    number,
    symbols_in,
)
from dalembert.symbolic.page import Section, html_page, sections
from dalembert.symbolic.quantities import ALIASES, TITLES, VECTORS, Symbols
from dalembert.symbolic.writer import GREEK
from dalembert.text import require_known


@dataclass(frozen=True, eq=False, kw_only=True)
class Equations(Symbols):
    """M q̈ + C q̇ + g = τ in symbols; every form has been checked against its program.

    Quantities are attributes, or items by name: `M`, `C` (Ṁ − 2C skew), `g` = ∂U/∂q, `Gamma` (i, j,
    k), `K`, `U`, Khatib's `B` and `Csq`, and the others of `System.equations`. `definitions` are
    the expressions of α, β, …. `complete` is False if the time was over before all forms were
    shortened; `note` then says what that means. `independent` are the coordinates of M_r, h_r, τ_r.
    """

    quantities: Mapping[str, Any]
    definitions: Mapping[sympy.Symbol, sympy.Expr]
    complete: bool = True
    note: str = ""

    @property
    def symbols(self) -> tuple[sympy.Symbol, ...]:
        """All symbols but those of definitions."""
        return (*self.q, *self.qd, *self.p, *self.tau, *self.t, *self.parameters)

    def __getattr__(self, name: str) -> Any:
        quantities = self.__dict__.get("quantities", {})
        if ALIASES.get(name, name) in quantities:
            return quantities[ALIASES.get(name, name)]
        if name in TITLES or name in ALIASES:
            key = ALIASES.get(name, name)
            raise EquationError(f"{key} was not requested; call equations(quantities=[{key!r}])")
        raise AttributeError(f"equations have no {name!r}")

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def text(self, quantity: str | None = None, width: int = 100, short: bool | None = None) -> str:
        """Unicode text at most `width` wide where sums allow; with `short`, c₂₃ = cos(θ₂ + θ₃)."""
        return layout.text(self, self._keys(quantity), width, self._short(short))

    def latex(self, quantity: str | None = None, short: bool | None = None) -> str:
        """LaTeX of one quantity, or of all of them as an `aligned` block."""
        return layout.latex(self, self._keys(quantity), self._short(short))

    def html(self, title: str | None = None, short: bool | None = None) -> str:
        """A page that browsers draw without network or scripts."""
        return html_page(self, title or self.name, self._short(short))

    def sections(self, digits: int | None = None, marked: bool = False) -> list[Section]:
        """The formulas of that page, quantity by quantity; `symbolic.sections` says more."""
        return sections(self, self._short(None), digits, marked)

    def latex_document(self, title: str | None = None, short: bool | None = None) -> str:
        """A document for `pdflatex`."""
        return layout.latex_document(self, title or self.name, self._short(short))

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Equations of {self.name}: {', '.join(self.quantities)}>"

    def expanded(self) -> Equations:
        """The same with every defined name replaced by its definition."""
        values: dict[sympy.Expr, sympy.Expr] = {}
        for symbol, definition in self.definitions.items():
            values[symbol] = definition.xreplace(values)
        return self._replaced(values, {})

    def where(self, **numbers: float) -> Equations:
        """With numbers for some symbols; constants that become numbers are put in, too.

        >>> import dalembert as dl
        >>> from dalembert.zoo.symbolic_models import symbolic_model
        >>> symbolic_model("pendulum").equations(["M"]).where(m=2.0, l=3.0).M
        Matrix([[18]])
        """
        known = {s.name: s for s in self.symbols}
        for name in numbers:
            require_known(name, known, f"{self.name} has no symbol", EquationError)
        values: dict[sympy.Expr, sympy.Expr] = {
            known[name]: number(exact(float(value))) for name, value in numbers.items()
        }
        definitions = {}
        for symbol, definition in self.definitions.items():
            value = definition.xreplace(values)
            if value.free_symbols:
                definitions[symbol] = value
            else:
                values[symbol] = value
        parameters = tuple(s for s in self.parameters if s.name not in numbers)
        return replace(self._replaced(values, definitions), parameters=parameters)

    def lambdify(self, quantity: str) -> Callable[..., np.ndarray]:
        """A NumPy function f(q, qd, tau, t, **parameters) of one quantity at one state.

        `qd`, `tau` and `t` may be left out where the quantity does not depend on them; parameters
        have the model's values by default. Momenta are ``p=`` where the equations have them.

        >>> from dalembert.zoo.symbolic_models import symbolic_model
        >>> float(symbolic_model("pendulum").equations(["g"]).lambdify("g")([np.pi / 2])[0])
        9.81
        """
        value = self[quantity]
        shape = value.shape if hasattr(value, "shape") else ()
        shape = shape[:1] if ALIASES.get(quantity, quantity) in VECTORS else shape
        arguments = (self.q, self.qd, self.p, self.tau, self.t, self.parameters)
        names = list(needed_definitions(entries_of(value), self.definitions).items())
        common = (lambda entries: (names, entries)) if names else True
        compiled = sympy.lambdify(arguments, entries_of(value), "numpy", cse=common)

        def function(
            q: ArrayLike,
            qd: ArrayLike | None = None,
            tau: ArrayLike | None = None,
            t: float = 0.0,
            **parameters: Any,
        ) -> np.ndarray:
            momenta = parameters.pop("p", np.zeros(len(self.p))) if self.p else []
            known = [s.name for s in self.parameters]
            for name in parameters:
                require_known(name, known, f"{self.name} has no parameter", EquationError)
            numbers = []
            for symbol in self.parameters:
                number = parameters.get(symbol.name, self.defaults.get(symbol.name))
                if number is None:
                    raise EquationError(f"{self.name}: no value for parameter {symbol.name!r}")
                numbers.append(float(number))
            rates = np.zeros(len(self.qd)) if qd is None else qd
            forces = np.zeros(len(self.tau)) if tau is None or not self.tau else tau
            clock = [t] * len(self.t)
            values = compiled(np.asarray(q, float), rates, momenta, forces, clock, numbers)
            return np.array(values, dtype=float).reshape(shape)

        return function

    def with_needed_constants(self, parts: Collection[sympy.Symbol] = ()) -> Equations:
        """The same with names of products that are used once replaced, and the names in order again.

        The names `parts` stay.
        """
        if not self.definitions:
            return self
        uses: Counter[sympy.Expr] = Counter()
        for value in (*self.quantities.values(), *self.definitions.values()):
            uses.update(s for e in entries_of(value) for s in symbols_in([e]))
        values: dict[sympy.Expr, sympy.Expr] = {}
        needed: dict[sympy.Symbol, sympy.Expr] = {}
        names = iter([n for n in GREEK if n not in {s.name for s in (*self.q, *self.parameters)}])
        for symbol, definition in self.definitions.items():
            if not definition.is_Add and uses[symbol] <= 1 and symbol not in parts:
                values[symbol] = definition.xreplace(values)
            elif symbol.name in GREEK:
                renamed = sympy.Symbol(next(names))
                values[symbol] = renamed
                needed[renamed] = definition
            else:
                needed[symbol] = definition
        return self._replaced(values, {s: d.xreplace(values) for s, d in needed.items()})

    def _replaced(
        self,
        values: Mapping[sympy.Expr, sympy.Expr],
        definitions: Mapping[sympy.Symbol, sympy.Expr],
    ) -> Equations:
        quantities = {
            key: value.applyfunc(lambda e: e.xreplace(values))
            if isinstance(value, sympy.NDimArray)
            else value.xreplace(values)
            for key, value in self.quantities.items()
        }
        return replace(self, quantities=quantities, definitions=dict(definitions))

    def _keys(self, quantity: str | None) -> tuple[str, ...]:
        if quantity is None:
            return tuple(self.quantities)
        self[quantity]
        return (ALIASES.get(quantity, quantity),)

    def _short(self, short: bool | None) -> bool:
        return len(self.q) > 2 if short is None else short
