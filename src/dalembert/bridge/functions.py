"""Arrays as functions of other arrays: numbers in, numbers out; symbols in, symbols out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from dalembert.bridge.arrays import array, column, is_symbolic, shape_of, symbol
from dalembert.bridge.calculus import directional
from dalembert.bridge.implicit import is_watched

Shapes = tuple[tuple[int, ...], ...]


def columns_function(inputs: Sequence[Any], outputs: Sequence[Any], shared: bool = False) -> Any:
    """CasADi's own function of these arrays, each as a column of its entries in C order.

    With `shared`, common subexpressions are looked for once.
    """
    import casadi

    columns = [column(y) for y in outputs]
    columns = casadi.cse(columns) if shared and columns else columns
    return casadi.Function("function", [column(x) for x in inputs], columns)


class Function:
    """`outputs`, arrays of symbols, as a function of the symbols `inputs`; it pickles.

    Called with numbers it gives arrays of numbers; called inside a trace its operations become
    operations of that trace, without deriving them again. With `shared`, common subexpressions are
    looked for once. Outputs given as a mapping have `names`.

    >>> x, t = symbol("x", 2), symbol("t")
    >>> f = Function([x, t], [t * x, x @ x])
    >>> f(np.array([1.0, 2.0]), 3.0)
    (array([3., 6.]), array(5.))
    >>> f(symbol("y", 2), 1.0)[0].shape
    (2,)
    """

    def __init__(
        self,
        inputs: Sequence[Any],
        outputs: Sequence[Any] | Mapping[str, Any],
        shared: bool = False,
    ) -> None:
        self.names = tuple(outputs) if isinstance(outputs, Mapping) else ()
        outputs = list(outputs.values()) if isinstance(outputs, Mapping) else outputs
        self.inputs: Shapes = tuple(map(shape_of, inputs))
        self.shapes: Shapes = tuple(map(shape_of, outputs))
        self._columns = columns_function(inputs, outputs, shared)

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        if any(map(is_symbolic, arrays)):
            found = self._columns.call([column(x) for x in arrays])
            return tuple(array(y, *shape) for y, shape in zip(found, self.shapes, strict=True))
        given = [np.asarray(x, dtype=float).ravel() for x in arrays]
        if tuple(x.size for x in given) != tuple(map(prod, self.inputs)):
            # one number for all entries, or a mistake that CasADi explains
            plain = zip(self._columns.call(given), self.shapes, strict=True)
            return tuple(np.array(y, dtype=float).reshape(shape) for y, shape in plain)
        buffers = self._buffers
        for place, x in zip(buffers.inputs, given, strict=True):
            place[: x.size] = x
        buffers.run()
        written = zip(buffers.outputs, self.shapes, strict=True)
        return tuple(y[: prod(shape)].reshape(shape).copy() for y, shape in written)

    @property
    def _buffers(self) -> _Buffers:
        """Memory that CasADi reads and writes without copies, one for each thread."""
        local = self.__dict__.setdefault("_local", threading.local())
        if not hasattr(local, "buffers"):
            local.buffers = _Buffers(self._columns)
        return local.buffers

    def serialize(self) -> str:
        """The function as text: equal functions give equal text."""
        return f"{self.inputs} {self.shapes} {self.names} {self._columns.serialize()}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._columns.serialize(), self.inputs, self.shapes, self.names)


class _Buffers:
    """Inputs and outputs of one CasADi function; none is shorter than one number."""

    def __init__(self, function: Any) -> None:
        self._buffer, self.run = function.buffer()
        self.inputs = [np.zeros(max(1, function.numel_in(k))) for k in range(function.n_in())]
        self.outputs = [np.zeros(max(1, function.numel_out(k))) for k in range(function.n_out())]
        for k, place in enumerate(self.inputs):
            self._buffer.set_arg(k, place.data)
        for k, place in enumerate(self.outputs):
            self._buffer.set_res(k, place.data)


def _restored(text: str, inputs: Shapes, shapes: Shapes, names: tuple[str, ...]) -> Function:
    import casadi

    made = Function.__new__(Function)
    made.inputs, made.shapes, made.names = inputs, shapes, names
    made._columns = casadi.Function.deserialize(text)
    return made


def traced(
    function: Callable[..., Any], inputs: Mapping[str, tuple[int, ...]], shared: bool = False
) -> Callable[..., Any]:
    """`function(**arrays)` run once on symbols of these shapes, to be called again and again.

    It may return one array or a tuple of them; so does what comes back, also called by keyword.

    >>> square = traced(lambda x: x * x, {"x": (2,)})
    >>> square(x=np.array([2.0, 3.0]))
    array([4., 9.])
    """
    if is_watched():  # solutions inside are marked, each by itself
        return function
    symbols = {name: symbol(name, *shape) for name, shape in inputs.items()}
    returned = function(**symbols)
    several = isinstance(returned, tuple)
    made = Function(list(symbols.values()), returned if several else [returned], shared)

    def call(**arrays: Any) -> Any:
        found = made(*(arrays[name] for name in symbols))
        return found if several else found[0]

    return call


def along(
    function: Callable[[Any], Sequence[Any]], rate: Callable[[Any, Any], Any], q: Any, v: Any
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """(values, rates) of arrays that are functions of q, while q moves with dq/dt = rate(q, v).

    >>> values, rates = along(lambda q: [q @ q], lambda q, v: v, np.array([3.0]), np.array([2.0]))
    >>> float(values[0]), float(rates[0])
    (9.0, 12.0)
    """
    x, w = symbol("x", *q.shape), symbol("w", *v.shape)
    values = function(x)
    flow = rate(x, w)
    rates = [directional(y, x, flow) for y in values]
    found = Function([x, w], [*values, *rates])(q, v)
    return found[: len(values)], found[len(values) :]
