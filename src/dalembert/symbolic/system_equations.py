"""The equations of a mechanical system, written from its programs and checked against them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from fractions import Fraction
from itertools import combinations, count
from typing import Any

import numpy as np
import sympy
from sympy.polys.rings import PolyElement

from dalembert.errors import EquationError
from dalembert.progress import on_terminal, progress_bar
from dalembert.symbolic.budget import Budget, TimeOver
from dalembert.symbolic.check import require_agreement, sample
from dalembert.symbolic.equations import Equations
from dalembert.symbolic.operations import (
    container,
    entries_of,
    exact,
    needed_definitions,
    number,
    symbols_in,
    to_sympy,
)
from dalembert.symbolic.polynomials import (
    Quotient,
    TooLargeError,
    linear_parameters,
    multiple,
    polynomials,
    quotient,
    shortened,
    split,
)
from dalembert.symbolic.quantities import (
    SOURCES,
    TITLES,
    SymbolicSystem,
    Symbols,
    indexed,
    quantity_key,
)
from dalembert.symbolic.writer import Constants, Writer
from dalembert.text import require_known
from dalembert.tracing.program import Op, Program

STYLES = dict.fromkeys(("M", "M_r", "M_p"), "parameters")
STYLES |= dict.fromkeys(("K", "T2", "T1", "T0", "U"), "bodies")
WITH_LENGTHS = ("h", "A", "gamma")  # never with α, β, …
DIVIDED = 1e-9  # what cancels to zero between quotients by numbers down to 0.05³
READABLE = 120  # terms of an entry above which it is unreadable, and common factors take too long
EXPANDED = (
    2000  # terms of a value up to which a quantity is multiplied out that has names for parts
)
SHORT = 40  # operations of an entry up to which it needs no names for its parts
CANCELLED = 500  # terms of an entry up to which common factors are taken out of each
FEW = 4  # constants by which the whole mass matrix is written without a request


def write_equations(
    system: SymbolicSystem,
    quantities: Sequence[str] = ("M", "C", "g"),
    simplify: str = "full",
    timeout: float | None = 10.0,
    group: bool | None = None,
    constants: Sequence[str] | None = None,
    progress: bool = True,
) -> Equations:
    """Write, check and return the equations; see `Robot.equations` for the arguments."""
    if simplify not in ("fast", "full"):
        raise EquationError(f"simplify={simplify!r} must be 'fast' or 'full'")
    keys = tuple(dict.fromkeys(map(quantity_key, quantities)))
    budget, is_shown = Budget(timeout), progress and on_terminal()
    writing = _Writing(system, simplify == "full", budget, constants)
    with progress_bar(f"equations of {system.name}", is_shown) as budget.report:
        try:
            with budget.limit():
                writing.decide(group)
        except TimeOver:
            writing.group = bool(group)
    for key in keys:
        with progress_bar(f"{system.name}: {TITLES[key]}", is_shown) as budget.report:
            writing.write(key)
    return writing.equations(keys)


class _Writing:
    """Writes one quantity after the other, with common constants."""

    def __init__(
        self, system: SymbolicSystem, deep: bool, budget: Budget, names: Sequence[str] | None
    ) -> None:
        self.system, self.deep, self.budget = system, deep, budget
        symbols = (*system.q, *system.qd, *system.tau, *system.p, *system.parameters)
        taken = [str(s) for s in symbols]
        self.constants = Constants(names, taken)
        self.has_names = names is not None
        self.group = False
        self.writers: dict[tuple[str, bool], Writer | None] = {}  # with names or without
        self.unwritten: dict[str, list[sympy.Expr]] = {}
        self.plain: dict[sympy.Symbol, sympy.Expr] = {}  # of programs too large to write out
        self.parts: dict[sympy.Symbol, sympy.Expr] = {}  # named parts of long quantities
        self.ranks: dict[sympy.Symbol, tuple[int, tuple[int, ...]]] = {}  # array and entry
        self.long_names = (f"rho{k}" for k in count(1))  # of roots and quotients
        self.results: dict[str, Any] = {}
        self.relations: tuple[Any, ...] = ()  # polynomials that are zero where the quantity is used
        self.notes: list[str] = []

    def decide(self, group: bool | None) -> None:
        """Name constants on request, or if a few of them, used repeatedly, are enough for all of M."""
        if group is not None or self.has_names:
            self.group = True if group is None else group
            return
        writer = self._writer("mass_matrix") if "mass_matrix" in self.system.programs else None
        if writer is None or not all(map(writer.is_simple, writer.source.entries)):
            return
        trial = Constants()
        entries = [writer.write_grouped(f, trial) for f in writer.source.entries]
        n = len(self.system.qd)
        upper = [entries[i * n + j] for i in range(n) for j in range(i, n)]
        repeated = [s for s in trial.definitions if sum(s in e.free_symbols for e in upper) > 1]
        self.group = bool(repeated) and len(trial.definitions) <= FEW

    def write(self, key: str) -> None:
        """One quantity; where the time is over first, not shortened or as its program computes it."""
        name, known = SOURCES[key], dict(self.parts)
        with suppress(TimeOver), self.budget.limit():
            self.results[key] = self._written(key)
        if key not in self.results and name in self.system.in_parts:  # which is quick
            self.parts, self.relations = dict(known), ()
            with suppress(TimeOver), Budget(0.0).limit():
                self.results[key] = self._checked(key, self._writer(name, in_parts=True))
        if key not in self.results:
            self.parts = known
            self.notes.append(
                f"{name} is not written within the time of {self.budget.seconds:g} s: it is shown "
                "as the program computes it."
            )
            self.results[key] = self._checked(key, None)

    def _written(self, key: str) -> Any:
        """One quantity; a long one in the names of its parts, where it has some and that is shorter."""
        name = SOURCES[key]
        form = None
        if name not in self.system.in_parts:
            return self._checked(key, self._writer(name))
        writer = self._writer(name)
        if writer is not None and max(map(len, writer.source.entries)) <= READABLE:
            form = self._checked(key, writer)
            if _operations([form]) <= SHORT * len(entries_of(form)):
                return form
        known = dict(self.parts)
        by_names = self._checked(key, self._writer(name, in_parts=True))
        used = needed_definitions(entries_of(by_names), self.parts)
        if form is None or _operations([by_names, *used.values()]) < _operations([form]):
            return by_names
        self.parts = known
        return form

    def _checked(self, key: str, writer: Writer | None) -> Any:
        """One quantity, returned only if it agrees with the program it is written from."""
        program = self._program(SOURCES[key])
        symbols = self.system.symbols(program)
        port = program.outputs[0]
        if writer is None:
            # as the program computes them, repeated values named
            if program.name not in self.unwritten:
                forms = to_sympy(program, symbols, self.plain)
                self.unwritten[program.name] = entries_of(next(iter(forms.values())))
            entries = self.unwritten[program.name]
        else:
            entries = list(writer.source.entries)
            self.parts |= writer.source.long
            own = dict(zip(writer.source.names, entries[port.size :], strict=False))
            for symbol, f in own.items():
                if symbol not in self.parts:
                    style = "parameters" if symbol.name.startswith("M") else "angles"
                    self.parts[symbol] = self._entry(style, writer, f)
        has_relations = writer is not None and not writer.source.names
        relations = entries[port.size :] if has_relations else []
        entries = entries[: port.size]
        form = self._form(key, writer, entries, port.shape)
        numbers = sample(program, symbols, self.system.qd)
        value = next(iter(numbers.outputs.values()))
        rates = np.stack([numbers.symbols[s] for s in self.system.qd], axis=-1)
        has_quotients = writer is not None and bool(writer.source.reciprocals)
        rounding = DIVIDED if has_quotients else numbers.rounding
        expected = numbers._replace(outputs={key: _derived(key, value, rates)}, rounding=rounding)
        definitions = {**self.plain, **self.constants.definitions, **self._ordered_parts()}
        needed = needed_definitions(entries_of(form), definitions)
        require_agreement(expected, {key: form}, needed)
        if relations and not self.budget.exhausted():
            # random numbers do not satisfy h = 0: shortening by it is exact algebra on a checked form
            self.relations = tuple(relations)
            form = self._form(key, writer, entries, port.shape)
            self.relations = ()
        return form

    def _ordered_parts(self) -> dict[sympy.Symbol, sympy.Expr]:
        """Named parts in the order of their arrays, but none before those it is written in."""
        parts: dict[sympy.Symbol, sympy.Expr] = {}
        symbols = {symbol: symbols_in([e]) for symbol, e in self.parts.items()}
        remaining = sorted(self.parts, key=self.ranks.__getitem__)
        while remaining:
            symbol = next(s for s in remaining if symbols[s].isdisjoint(remaining))
            parts[symbol] = self.parts[symbol]
            remaining.remove(symbol)
        return parts

    def _names(self, program: Program) -> dict[int, sympy.Expr]:
        """Symbols for the values of a program that are entries of its further outputs.

        Where an entry is −x, programs compute with x.
        """
        names: dict[int, sympy.Expr] = {}
        results = iter(program.results.tolist())
        own = self.system
        taken = {s.name for s in (*own.q, *own.qd, *own.tau, *own.t, *own.parameters)}
        for rank, port in enumerate(program.outputs):
            for index in np.ndindex(*port.shape):
                value, label = next(results), indexed(port.name, index)
                if rank:
                    symbol = sympy.Symbol(f"{label}_part" if label in taken else label)
                    self.ranks[symbol] = (rank, index)
                    names.setdefault(value, symbol)
                    if program.op[value] == Op.NEG:
                        names.setdefault(int(program.a[value]), -symbol)
        return names

    def equations(self, keys: Sequence[str]) -> Equations:
        """Everything written, constants of a single product used once put back."""
        definitions = {**self.plain, **self.constants.definitions, **self._ordered_parts()}
        entries = [e for key in keys for e in entries_of(self.results[key])]
        notes = list(self.notes)
        if self.budget.overrun:
            notes.append(
                f"The time of {self.budget.seconds:g} s was over before all forms were factored; "
                "every form is correct. Give a larger timeout for shorter ones."
            )
        result = Equations(
            quantities={key: self.results[key] for key in keys},
            definitions=needed_definitions(entries, definitions),
            complete=not (self.budget.overrun or self.notes),
            note=" ".join(notes),
            **{own.name: getattr(self.system, own.name) for own in fields(Symbols)},
        )
        return result if self.has_names else result.with_needed_constants(self.parts)

    def _program(self, name: str) -> Program:
        programs = self.system.programs
        require_known(name, programs, f"{self.system.name} has no program of", EquationError)
        return programs[name]

    def _writer(self, name: str, in_parts: bool = False) -> Writer | None:
        """The writer of a program, or of that in parts; None if it is too large."""
        if (name, in_parts) not in self.writers:
            program = self.system.in_parts[name] if in_parts else self._program(name)
            names = self._names(program) if in_parts else {}
            limit = EXPANDED if name in self.system.in_parts and not in_parts else None
            inputs, fixed = self.system.symbols(program), self.system.parameters
            try:
                source = polynomials(
                    program, inputs, self.budget, names, fixed, limit, self.long_names
                )
            except TooLargeError as error:
                if limit is None:
                    self.notes.append(f"{error}: it is shown as the program computes it.")
                self.writers[name, in_parts] = None
                return None
            if self.system.linear is None and name != "mass_matrix":
                self._writer("mass_matrix")
            if self.system.linear is None:
                linear = linear_parameters(source, self.system.parameters)
                self.system = replace(self.system, linear=linear)
            # Γ consists of derivatives of M, in which the same sums of angles occur
            like = self.writers.get(("mass_matrix", False)) if name == "christoffel" else None
            linear, parameters = self.system.linear or (), self.system.parameters
            self.ranks |= {
                symbol: (0, (len(self.ranks) + k,)) for k, symbol in enumerate(source.long)
            }
            writer = Writer(source, linear, parameters, self.budget, self.deep, like)
            self.writers[name, in_parts] = writer
        return self.writers[name, in_parts]

    def _entry(self, style: str, writer: Writer | None, f: Any, grouped: bool = True) -> sympy.Expr:
        if writer is None:
            return f
        if writer.source.reciprocals:
            parts = [shortened(part, self.relations) for part in self._quotients(writer, f)]
            if parts:
                return sympy.Add(*(_written(writer, part, style) for part in parts))
        if any(m[k] for m in f for k in writer.source.reciprocals):
            form = writer.write(f, style)
            if len(f) > CANCELLED or self.budget.exhausted():
                return form
            # too long for one quotient: common factors cancel in each term
            return sympy.Add(*map(sympy.factor_terms, sympy.Add.make_args(form)))
        if self.group and (style == "parameters" or not writer.source.names) and grouped:
            return writer.write_grouped(f, self.constants)
        return writer.write(f, style)

    def _quotients(self, writer: Writer, f: Any) -> list[Quotient]:
        """f as one quotient or, where forces or momenta have another denominator, as two; or []."""
        if len(f) > READABLE or self.budget.exhausted():
            return []
        whole = quotient(writer.source, f)
        forces = writer.source.positions((*self.system.tau, *self.system.p))
        if whole is None or not forces:
            return [] if whole is None else [whole]
        parts = split(f, forces).items()
        alone = sum((part for m, part in parts if not any(m)), f.ring.zero)
        quotients = [
            quotient(writer.source, part) or Quotient(part, f.ring.one)
            for part in (alone, f - alone)
            if part
        ]
        differ = len(quotients) == 2 and quotients[0].below != quotients[1].below
        return quotients if differ else [whole]

    def _form(
        self, key: str, writer: Writer | None, entries: list[Any], shape: tuple[int, ...]
    ) -> Any:
        """The quantity out of the entries of its program: polynomials, or plain expressions."""
        n = len(self.system.qd)
        if key == "C":
            rows = [entries[k * n : k * n + n] for k in range(n * n)]
            return container([self._contracted(writer, row) for row in rows], (n, n))
        if key in ("B", "Csq"):
            pairs = list(combinations(range(n), 2)) if key == "B" else [(j, j) for j in range(n)]
            scale = 2 if key == "B" else 1
            entries = [scale * entries[(i * n + j) * n + k] for i in range(n) for j, k in pairs]
            shape = (n, len(pairs))
        forms = []
        for done, f in enumerate(entries):
            style = STYLES.get(key, "angles")
            forms.append(self._entry(style, writer, f, key not in WITH_LENGTHS))
            self.budget.report(0.5 + 0.5 * done / len(entries))
        return container(forms, shape)

    def _contracted(self, writer: Writer | None, row: Sequence[Any]) -> sympy.Expr:
        """C_ij = Σ_k Γ_ijk q̇_k, equal symbols taken together: −β s₂ (θ̇₁ + θ̇₂)."""
        groups: list[tuple[Any, list[sympy.Expr]]] = []
        for f, rate in zip(row, self.system.qd, strict=True):
            if not f:
                continue
            for base, rates in groups:
                scale = multiple(f, base) if isinstance(f, PolyElement) else Fraction(f == base)
                if scale and scale.denominator == 1:
                    rates.append(int(scale.numerator) * rate)
                    break
            else:
                groups.append((f, [rate]))
        written = [
            (self._entry("angles", writer, base), sympy.Add(*rates)) for base, rates in groups
        ]
        return sympy.Add(*(sympy.Mul(*factors) for factors in written))


def _operations(forms: Iterable[Any]) -> int:
    """The operations of these forms as they are printed, each subexpression counted only once."""
    known: dict[sympy.Basic, int] = {}

    def size(e: sympy.Basic) -> int:
        if e not in known:
            known[e] = sum(map(size, e.args)) + max(len(e.args) - 1, int(e.is_Function))
        return known[e]

    return sum(size(e) for form in forms for e in entries_of(form))


def _written(writer: Writer, ratio: Quotient, style: str) -> sympy.Expr:
    """Each part in the style that has fewer terms."""
    parts = []
    for f in ratio:
        forms = [writer.write(f, each) for each in (style, "bodies")]
        parts.append(min(forms, key=lambda e: len(sympy.Add.make_args(e))))
    # (−a − b)/(−c − d) and −1/c (−a − b) without these signs
    signs = [all(t.could_extract_minus_sign() for t in sympy.Add.make_args(e)) for e in parts]
    if any(signs):
        parts = [-e if negative else e for e, negative in zip(parts, signs, strict=True)]
    result = sympy.Mul((-1) ** sum(signs), parts[0], 1 / parts[1])
    # SymPy multiplies a number into a sum, by which 0.01 · 100 becomes 1.0
    return result.xreplace({x: number(exact(float(x))) for x in result.atoms(sympy.Float)})


def _derived(key: str, value: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """A quantity in numbers, from the output of its program: C, B and Csq from Γ."""
    if key == "C":
        value = np.einsum("pijk,pk->pij", value, rates)
    elif key == "B":
        pairs = list(combinations(range(rates.shape[1]), 2))
        columns = [2 * value[:, :, j, k] for j, k in pairs]
        value = np.stack(columns, axis=-1) if pairs else value[:, :, 0, :0]
    elif key == "Csq":
        value = np.einsum("pijj->pij", value)
    return value
