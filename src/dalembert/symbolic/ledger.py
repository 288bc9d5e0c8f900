"""Which terms of printed formulas are marked, so that a page can say what each is worth."""

from __future__ import annotations

from typing import NamedTuple

import sympy

from dalembert.symbolic.marks import MathML


class Term(NamedTuple):
    """A marked part of a printed sum; the terms of an entry add up to it."""

    entry: int
    value: sympy.Expr


class Entry(NamedTuple):
    """A printed formula: an entry of a matrix or column, a number, or what a name stands for."""

    at: tuple[int, ...]  # row and column, from zero
    value: sympy.Expr


class Ledger:
    """Entries and terms by the numbers that their elements carry: data-entry, data-term."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.terms: list[Term] = []

    def entry(self, at: tuple[int, ...], value: sympy.Expr) -> int:
        """The number of an entry that is printed next; terms belong to the latest one."""
        self.entries.append(Entry(at, value))
        return len(self.entries) - 1

    def term(self, value: sympy.Expr, body: str) -> str:
        """The body of a term with its mark."""
        self.terms.append(Term(len(self.entries) - 1, value))
        return MathML().marked(body, len(self.terms) - 1)
