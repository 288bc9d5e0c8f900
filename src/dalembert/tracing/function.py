"""Arrays as functions of other arrays: numbers in, numbers out; symbols in, symbols out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from dalembert.errors import CompileError
from dalembert.tracing.arrays import (
    cut,
    entries_of,
    identity,
    is_symbolic,
    of_keys,
    recording,
    shape_of,
    symbol,
    table_with,
)
from dalembert.tracing.calculus import at, directional
from dalembert.tracing.evaluate import Evaluator
from dalembert.tracing.implicit import is_watched
from dalembert.tracing.program import Port, Program

Shapes = tuple[tuple[int, ...], ...]
DIGEST_FORMAT = 2  # of what `Function.serialize` gives; 1 was text of CasADi's


def program_of(
    name: str, inputs: Sequence[Any], outputs: Mapping[str, Any], names: Sequence[str] = ()
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

    def __init__(self, inputs: Sequence[Any], outputs: Sequence[Any] | Mapping[str, Any]) -> None:
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

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        sizes = [prod(shape) for shape in self.inputs]
        if len(arrays) != len(sizes):
            raise CompileError(f"expected {len(sizes)} arrays, got {len(arrays)}")
        if any(map(is_symbolic, arrays)):
            listed = [self._filled(entries_of(x), n) for x, n in zip(arrays, sizes, strict=True)]
            table, (keys,) = table_with([x for entries in listed for x in entries])
            results = table.replayed(self.program, keys)
            return tuple(cut(of_keys(table, results, (len(results),)), self.shapes))
        flat: list[float] = []
        for x, n in zip(arrays, sizes, strict=True):
            flat += self._filled(np.asarray(x, dtype=float).ravel().tolist(), n)
        return tuple(cut(np.array(self._evaluator(flat)), self.shapes))

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
    if is_watched():  # solutions inside are marked, each by itself
        return function
    with recording():
        arrays = {name: symbol(name, *shape) for name, shape in inputs.items()}
        returned = function(**arrays)
        several = isinstance(returned, tuple)
        made = Function(list(arrays.values()), returned if several else [returned])

    def call(**given: Any) -> Any:
        results = made(*(given[name] for name in arrays))
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
