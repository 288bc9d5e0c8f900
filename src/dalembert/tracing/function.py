"""Functions of arrays of symbols, and derivatives through the solutions of equations.

For x with r(x, a) = 0 the implicit function theorem has dx = −K⁻¹ (∂r/∂a) da with K = ∂r/∂x, and for
a force w on x it has −(∂r/∂a)ᵀ K⁻ᵀ w: one more solution with the factors at hand, and derivatives of
r at fixed x. `solution` states r and how K⁻¹ and K⁻ᵀ are applied; a caller that differentiates opens
`marks()` first, and gets symbols in place of solutions until it is done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from dalembert.errors import CompileError
from dalembert.tracing.arrays import (
    cut,
    entries_of,
    flat,
    identity,
    is_symbolic,
    of_keys,
    recording,
    shape_of,
    symbol,
    table_with,
)
from dalembert.tracing.derivatives import at, directional, transposed
from dalembert.tracing.interpreter import Evaluator
from dalembert.tracing.program import Port, Program

Arrays = Sequence[np.ndarray]
Map = Callable[..., Arrays]
_open = threading.local()


@dataclass(frozen=True)
class Mark:
    """A solution x, symbols while derivatives are taken, and the equation it fulfils."""

    symbols: Arrays  # in place of x, and of constants
    values: Arrays  # what they stand for
    size: int  # how many of them are x
    residual: Arrays  # r at the symbols
    forth: Map  # (dr…) → K⁻¹ dr
    back: Map  # (w…) → K⁻ᵀ w


def is_differentiating() -> bool:
    """Whether somebody is about to differentiate what is computed now."""
    return bool(getattr(_open, "marks", ()))


@contextmanager
def marks(enabled: bool = True) -> Iterator[list[Mark]]:
    """The solutions that are marked inside, in the order in which they were computed.

    Unless `enabled`, nothing is marked inside: solutions are returned as computed.
    """
    before: tuple[list[Mark], ...] = getattr(_open, "marks", ())
    collected: list[Mark] = []
    _open.marks = (*before, collected) if enabled else ()
    try:
        yield collected
    finally:
        _open.marks = before


def solution(
    x: Sequence[Any], residual: Map, forth: Map, back: Map, constants: Sequence[Any] = ()
) -> Sequence[Any]:
    """The arrays x, solution of residual(*x, *constants) = 0; derivatives keep `constants` fixed.

    `residual` gives arrays (r, …), `forth` takes changes of them and gives −dx, `back` takes
    weights of x and gives those of −r. More residuals than unknowns may be given, of which those
    two make what they like. Only where derivatives are being taken is any of them called.

    >>> from dalembert.tracing import Function, symbol
    >>> a = symbol("a")
    >>> with marks() as solutions:  # x² = a, however it is solved
    ...     by_derivative = lambda r: [r / (2 * a**0.5)]
    ...     (x,) = solution([a**0.5], lambda x: [x * x - a], by_derivative, by_derivative)
    >>> Function([a], [vjp(solutions, x, a, 1.0)])(4.0)
    (array(0.25),)
    """
    if not is_differentiating():
        return x
    values = [*x, *constants]
    symbols = [symbol(f"solved{k}", *shape_of(value)) for k, value in enumerate(values)]
    mark = Mark(symbols, values, len(x), residual(*symbols), forth, back)
    _open.marks[-1].append(mark)
    return symbols[: len(x)]


def vjp(solutions: Sequence[Mark], y: object, x: object, force: object) -> np.ndarray:
    """(∂y/∂x)ᵀ f of the shape of x, for f of the shape of y, through the solutions in y."""
    total = transposed(y, _with(x, solutions), force)
    for k in reversed(range(len(solutions))):
        mark, inputs_before = solutions[k], _with(x, solutions[:k])
        size = shape_of(inputs_before)[0]
        weights = cut(total[size:], map(shape_of, mark.symbols[: mark.size]))
        total = total[:size] - transposed(
            flat(mark.residual), inputs_before, flat(mark.back(*weights))
        )
    return _resolved(solutions, total.reshape(shape_of(x)))


def jvp(solutions: Sequence[Mark], y: object, x: object, direction: object) -> np.ndarray:
    """(∂y/∂x) d of the shape of y, for d of the shape of x, through the solutions in y."""
    total = flat([direction])
    for k, mark in enumerate(solutions):
        changes = directional(flat(mark.residual), _with(x, solutions[:k]), total)
        rates = mark.forth(*cut(changes, map(shape_of, mark.residual)))
        total = flat([total, -flat(rates)])
    return _resolved(solutions, directional(y, _with(x, solutions), total))


def _with(x: object, solutions: Sequence[Mark]) -> np.ndarray:
    """The symbols x and those of the solutions, as one vector."""
    return flat([x, *(y for mark in solutions for y in mark.symbols[: mark.size])])


def _resolved(solutions: Sequence[Mark], y: np.ndarray) -> np.ndarray:
    """y with the solutions in place of their symbols; a solution may stand in the next ones."""
    symbols: list[np.ndarray] = []
    values: list[np.ndarray] = []
    for mark in solutions:
        values += at(mark.values, symbols, values) if symbols else mark.values
        symbols += mark.symbols
    return at([y], symbols, values)[0] if symbols else y


Shapes = tuple[tuple[int, ...], ...]
DIGEST_FORMAT = 2  # of what `Function.serialize` gives; 1 was text of CasADi's


def program_of(
    name: str, inputs: Sequence[object], outputs: Mapping[str, object], names: Sequence[str] = ()
) -> Program:
    """The program from arrays of symbols to arrays made of them."""
    labels = names or [f"in{k}" for k in range(len(inputs))]
    table, keys = table_with(*outputs.values())
    return table.program(
        name,
        tuple(Port(label, shape_of(x)) for label, x in zip(labels, inputs, strict=True)),
        tuple(Port(label, shape_of(y)) for label, y in outputs.items()),
        [key for row in keys for key in row],
        [identity(x) for array in inputs for x in entries_of(array)],
    )


class Function:
    """`outputs`, arrays of symbols, as a function of the symbols `inputs`; it pickles.

    Called with numbers it gives arrays of numbers; called inside a trace its operations become
    operations of that trace, without deriving them again. Outputs given as a mapping have `names`.

    >>> x, t = symbol("x", 2), symbol("t")
    >>> f = Function([x, t], [t * x, x @ x])
    >>> f(np.array([1.0, 2.0]), 3.0)
    (array([3., 6.]), array(5.))
    >>> f(symbol("y", 2), 1.0)[0].shape
    (2,)
    """

    def __init__(
        self, inputs: Sequence[object], outputs: Sequence[object] | Mapping[str, object]
    ) -> None:
        self.names = tuple(outputs) if isinstance(outputs, Mapping) else ()
        named = outputs if isinstance(outputs, Mapping) else dict(enumerate(outputs))
        self.program = program_of("function", inputs, {str(k): y for k, y in named.items()})

    @property
    def inputs(self) -> Shapes:
        return tuple(port.shape for port in self.program.inputs)

    @property
    def shapes(self) -> Shapes:
        return tuple(port.shape for port in self.program.outputs)

    @cached_property
    def _evaluator(self) -> Evaluator:
        return Evaluator(self.program)

    def __call__(self, *arrays: object) -> tuple[Any, ...]:
        sizes = [prod(shape) for shape in self.inputs]
        if len(arrays) != len(sizes):
            raise CompileError(f"expected {len(sizes)} arrays, got {len(arrays)}")
        has_symbols = any(map(is_symbolic, arrays))
        entries: list[Any] = []
        for x, n in zip(arrays, sizes, strict=True):
            own = entries_of(x) if has_symbols else np.asarray(x, dtype=float).ravel().tolist()
            entries += self._filled(own, n)
        if not has_symbols:
            return tuple(cut(np.array(self._evaluator(entries)), self.shapes))
        table, (keys,) = table_with(entries)
        results = table.replayed(self.program, keys)
        return tuple(cut(of_keys(table, results, (len(results),)), self.shapes))

    @staticmethod
    def _filled(entries: list[Any], size: int) -> list[Any]:
        """The entries of one input; one number stands for all of them."""
        if len(entries) == size:
            return entries
        if len(entries) != 1:
            raise CompileError(f"expected an array of {size} entries, got {len(entries)}")
        return entries * size

    def serialize(self) -> str:
        """The function as text: equal functions give equal text of one `DIGEST_FORMAT`."""
        return f"{DIGEST_FORMAT} {self.inputs} {self.shapes} {self.names} {self.program.digest}"

    def __getstate__(self) -> dict[str, Any]:
        return {"names": self.names, "program": self.program}


def traced(
    function: Callable[..., Any], inputs: Mapping[str, tuple[int, ...]]
) -> Callable[..., Any]:
    """`function(**arrays)` run once on symbols of these shapes, to be called again and again.

    It may return one array or a tuple of them; so does what comes back, also called by keyword.

    >>> square = traced(lambda x: x * x, {"x": (2,)})
    >>> square(x=np.array([2.0, 3.0]))
    array([4., 9.])
    """
    if is_differentiating():  # solutions inside are marked, each by itself
        return function
    with recording():
        arrays = {name: symbol(name, *shape) for name, shape in inputs.items()}
        returned = function(**arrays)
        several = isinstance(returned, tuple)
        traced_function = Function(list(arrays.values()), returned if several else [returned])

    def call(**arguments: Any) -> Any:
        results = traced_function(*(arguments[name] for name in arrays))
        return results if several else results[0]

    return call


def along(
    function: Callable[[Any], Sequence[Any]], rate: Callable[[Any, Any], Any], q: Any, v: Any
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """(values, rates) of arrays that are functions of q, while q moves with dq/dt = rate(q, v).

    Other symbols that `function` uses, such as parameters, stay in the result and do not move.

    >>> values, rates = along(lambda q: [q @ q], lambda q, v: v, np.array([3.0]), np.array([2.0]))
    >>> float(values[0]), float(rates[0])
    (9.0, 12.0)
    """
    x, w = symbol("x", *q.shape), symbol("w", *v.shape)
    values = function(x)
    flow = rate(x, w)
    rates = [directional(y, x, flow) for y in values]
    results = at([*values, *rates], [x, w], [q, v])
    return results[: len(values)], results[len(values) :]
