"""Solutions of equations, marked, so that derivatives go through the equation and not the solving.

For x with r(x, a) = 0 the implicit function theorem has dx = −K⁻¹ (∂r/∂a) da with K = ∂r/∂x, and for
a force w on x it has −(∂r/∂a)ᵀ K⁻ᵀ w: one more solution with factors that are at hand, and
derivatives of r at fixed x. Whoever solves says what r is and how K⁻¹ and K⁻ᵀ are applied; whoever
differentiates opens `marks()` first, and gets symbols in place of solutions until it is done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dalembert.tracing.arrays import cut, flat, shape_of, symbol
from dalembert.tracing.calculus import at, directional, transposed

Arrays = Sequence[Any]
Map = Callable[..., Arrays]
_open = threading.local()


@dataclass(frozen=True)
class Mark:
    """A solution x, symbols while derivatives are taken, and the equation it fulfils."""

    symbols: Arrays  # in place of x, and of what is held
    values: Arrays  # what they stand for
    size: int  # how many of them are x
    residual: Arrays  # r at the symbols
    forth: Map  # (dr…) → K⁻¹ dr
    back: Map  # (w…) → K⁻ᵀ w

    @property
    def x(self) -> Any:
        """The solution as one vector of symbols."""
        return flat(self.symbols[: self.size])


def is_watched() -> bool:
    """Whether somebody is about to differentiate what is computed now."""
    return bool(getattr(_open, "marks", ()))


@contextmanager
def marks(wanted: bool = True) -> Iterator[list[Mark]]:
    """The solutions that are marked inside, in the order in which they were found.

    Where marks are not `wanted`, nobody watches inside: solutions are what they are.
    """
    before: tuple[list[Mark], ...] = getattr(_open, "marks", ())
    found: list[Mark] = []
    _open.marks = (*before, found) if wanted else ()
    try:
        yield found
    finally:
        _open.marks = before


def solution(x: Arrays, residual: Map, forth: Map, back: Map, held: Arrays = ()) -> Arrays:
    """The arrays x, solution of residual(*x, *held) = 0; `held` are constants of its derivatives.

    `residual` gives arrays (r, …), `forth` takes changes of them and gives −dx, `back` takes
    weights of x and gives those of −r. More residuals than unknowns may be given, of which those
    two make what they like. Only where derivatives are being taken is any of them called.

    >>> from dalembert.tracing import Function, symbol
    >>> a = symbol("a")
    >>> with marks() as found:  # x² = a, however it is solved
    ...     by_slope = lambda r: [r / (2 * a**0.5)]
    ...     (x,) = solution([a**0.5], lambda x: [x * x - a], by_slope, by_slope)
    >>> Function([a], [pulled(found, x, a, 1.0)])(4.0)
    (array(0.25),)
    """
    if not is_watched():
        return x
    values = [*x, *held]
    symbols = [symbol(f"solved{k}", *shape_of(value)) for k, value in enumerate(values)]
    found = Mark(symbols, values, len(x), residual(*symbols), forth, back)
    _open.marks[-1].append(found)
    return symbols[: len(x)]


def pulled(found: Sequence[Mark], y: Any, x: Any, force: Any) -> Any:
    """(∂y/∂x)ᵀ f of the shape of x, for f of the shape of y, through the solutions in y."""
    total = transposed(y, _with(x, found), force)
    for k in reversed(range(len(found))):
        mark, known = found[k], _with(x, found[:k])
        size = shape_of(known)[0]
        weights = cut(total[size:], map(shape_of, mark.symbols[: mark.size]))
        total = total[:size] - transposed(flat(mark.residual), known, flat(mark.back(*weights)))
    return _resolved(found, total.reshape(shape_of(x)))


def pushed(found: Sequence[Mark], y: Any, x: Any, direction: Any) -> Any:
    """(∂y/∂x) d of the shape of y, for d of the shape of x, through the solutions in y."""
    total = flat([direction])
    for k, mark in enumerate(found):
        changes = directional(flat(mark.residual), _with(x, found[:k]), total)
        moved = mark.forth(*cut(changes, map(shape_of, mark.residual)))
        total = flat([total, -flat(moved)])
    return _resolved(found, directional(y, _with(x, found), total))


def _with(x: Any, found: Sequence[Mark]) -> Any:
    """The symbols x and those of the solutions, as one vector."""
    return flat([x, *(mark.x for mark in found)])


def _resolved(found: Sequence[Mark], y: Any) -> Any:
    """y with the solutions in place of their symbols; a solution may stand in the next ones."""
    symbols: list[Any] = []
    values: list[Any] = []
    for mark in found:
        values += at(mark.values, symbols, values) if symbols else mark.values
        symbols += mark.symbols
    return at([y], symbols, values)[0] if symbols else y
