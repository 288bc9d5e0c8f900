"""Arrays of symbols: NumPy arrays of objects whose entries record the operations on them.

NumPy itself moves, views and assigns the entries; what it computes with them goes through `apply` (for
ufuncs) and `call` (for other functions): a few primitive operations are recorded, everything else is
written in terms of these (numpy_functions.py), or refused by name.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, NoReturn

import numpy as np

from dalembert.progress import step
from dalembert.tracing.numpy_functions import LINEAR_ALGEBRA, OWN, OWN_CALLS, REFUSED
from dalembert.tracing.program import LEAVES, Op
from dalembert.tracing.scalars import (
    Boolean,
    Scalar,
    Unrecorded,
    is_array,
    is_symbolic,
    is_truth,
    keys_of,
    number_of,
    operand,
    scalar,
    table_of,
)
from dalembert.tracing.table import Signed, Symbol, Table

AnyFunction = Callable[..., Any]


class SymbolicArray(np.ndarray):
    """An array of scalars and numbers that overrides NumPy's ufuncs and functions."""

    is_symbols = True

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **more: Any) -> Any:
        return apply(ufunc, method, inputs, more)

    def __array_function__(
        self, function: AnyFunction, types: object, args: Iterable[Any], more: Mapping[str, Any]
    ) -> Any:
        return call(function, tuple(args), dict(more))

    def astype(self, dtype: Any, *args: Any, **more: Any) -> Any:
        """The same entries; of booleans the numbers 0 and 1, of numbers whether they are not 0."""
        kind = np.dtype(dtype)
        if kind.kind == "O":
            return super().astype(dtype, *args, **more)
        if kind == np.float64 or (kind.kind in "iu" and all(map(is_truth, self.ravel().tolist()))):
            return _wrapped(_as_numbers(self))
        if kind.kind == "b":
            return apply(np.not_equal, "__call__", (self, 0.0), {})
        raise Unrecorded(f"astype({kind}) of symbols, which are float64")

    def __round__(self, digits: int | None = None) -> np.ndarray:
        return np.round(self, digits or 0)

    def __float__(self) -> float:
        return float(self.item())

    _sympy_ = Scalar._sympy_

    def __repr__(self) -> str:
        return str(self.view(np.ndarray))

    __str__ = __repr__

    def __reduce__(self) -> NoReturn:
        raise TypeError("symbols do not pickle: they have an identity in this process only")

    def _order(self, *args: object, **more: object) -> NoReturn:
        raise Unrecorded("which entry is the largest, or comes first, depends on values")

    argmax = argmin = argsort = sort = argpartition = partition = searchsorted = _order


def array(entries: Sequence[object], shape: tuple[int, ...]) -> np.ndarray:
    """Scalars and numbers in C order as an array of this shape."""
    filled = np.empty(len(entries), dtype=object)
    filled[:] = entries
    return filled.reshape(shape).view(SymbolicArray)


def symbols(value: object) -> np.ndarray:
    """An array, list, scalar or number as an array of symbols."""
    return np.asarray(_plain(value), dtype=object).view(SymbolicArray)


_open = threading.local()


@contextmanager
def recording() -> Iterator[Table]:
    """A table of its own for all symbols made inside, in which everything they meet is recorded."""
    table = Table(is_trace=True)
    before = getattr(_open, "table", None)
    _open.table = table
    try:
        with np.errstate(all="ignore"):  # infinite and NaN constants are the function's own
            yield table
    finally:
        _open.table = before


def symbol(name: str, *shape: int) -> np.ndarray:
    """A fresh array of symbols of this shape; without one, a number ().

    >>> symbol("q", 3).shape, symbol("t").shape
    ((3,), ())
    """
    size = prod(shape)
    names = [name] if not shape else [f"{name}_{k}" for k in range(size)]
    return of_identities([Symbol(label) for label in names], shape)


def of_identities(identities: Sequence[Symbol], shape: tuple[int, ...] = ()) -> np.ndarray:
    """An array of symbols that are known already."""
    table = getattr(_open, "table", None)
    table = Table() if table is None else table
    result = array([Scalar(table, table.input(one)) for one in identities], shape)
    result.flags.writeable = False
    return result


def entries_of(value: object) -> list[Any]:
    """The entries of an array, list, scalar or number, in C order."""
    return np.asarray(_plain(value), dtype=object).ravel().tolist()


def shape_of(value: object) -> tuple[int, ...]:
    """The shape of an array or number."""
    return tuple(value.shape) if hasattr(value, "shape") else np.shape(_plain(value))


def table_with(*values: object) -> tuple[Table, list[list[Signed]]]:
    """The table in which arrays meet, and the entries of each as values of it."""
    listed = [entries_of(value) for value in values]
    table = table_of([x for entries in listed for x in entries])
    return table, [keys_of(table, entries) for entries in listed]


def of_keys(table: Table, keys: Iterable[Signed], shape: tuple[int, ...]) -> np.ndarray:
    """An array of values of a table."""
    return array([scalar(table, key) for key in keys], shape)


def operations(value: object) -> set[Op]:
    """The operations in an array of symbols.

    >>> x = symbol("x")
    >>> operations(np.sin(x * 3)) == {Op.MUL, Op.SIN}
    True
    """
    table, (keys,) = table_with(value)
    codes = {table.nodes[k][0] for k in table.below(k for k, _ in keys)}
    return {Op(code) for code in codes} - LEAVES


def erf(x: object) -> np.ndarray:
    """The error function of an array of symbols, which NumPy does not have."""
    table, (keys,) = table_with(x)
    return of_keys(table, [table.unary(Op.ERF, key) for key in keys], shape_of(x))


def copied(value: Any) -> Any:
    """An array of its own, numbers or symbols, for functions that may write into it.

    >>> x = symbol("x", 2)
    >>> y = copied(x)
    >>> y[0] = 1.0
    >>> x
    [x_0 x_1]
    """
    return value.copy() if isinstance(value, np.ndarray) else value


def flat(values: Iterable[object]) -> np.ndarray:
    """All entries of several arrays, each in C order, as one array of symbols (n,)."""
    entries = [x for value in values for x in entries_of(value)]
    return array(entries, (len(entries),))


def cut(vector: np.ndarray, shapes: Iterable[tuple[int, ...]]) -> list[np.ndarray]:
    """Arrays of these shapes from a vector of all their entries: the inverse of `flat`.

    >>> cut(np.arange(3.0), [(), (2,)])
    [array(0.), array([1., 2.])]
    """
    parts, start = [], 0
    for shape in shapes:
        parts.append(vector[start : start + prod(shape)].reshape(shape))
        start += prod(shape)
    return parts


def constant(value: object) -> np.ndarray | None:
    """The numbers of an array that depends on no symbol, else None.

    >>> x = symbol("x", 2)
    >>> constant(0 * x + 3), constant(x)
    (array([3., 3.]), None)
    """
    if not is_symbolic(value):
        return np.asarray(value, dtype=float)
    entries = entries_of(value)
    if any(isinstance(x, Scalar) for x in entries):
        return None
    return np.array(entries, dtype=float).reshape(shape_of(value))


def is_zero(value: object) -> bool:
    """Whether every entry is zero, whatever the symbols are.

    >>> x = symbol("x")
    >>> is_zero(np.sin(x) - np.sin(x)), is_zero(x)
    (True, False)
    """
    return all(not isinstance(x, Scalar) and x == 0.0 for x in entries_of(value))


def zero_rows(value: object) -> list[int]:
    """Which rows of an array (m, n) are zero, whatever the symbols are.

    >>> x = symbol("x", 2)
    >>> zero_rows(np.stack([x, x - x]))
    [1]
    """
    return [k for k, row in enumerate(symbols(value)) if is_zero(row)]


def symbols_of(value: object) -> list[np.ndarray]:
    """The symbols () met in an array, those of its first entry first.

    >>> x, y = symbol("x"), symbol("y")
    >>> [name_of(s) for s in symbols_of(np.stack([x, x * y]))]
    ['x', 'y']
    """
    table, (keys,) = table_with(value)
    return [array([Scalar(table, table.input(s))], ()) for s in table.symbols_below(keys)]


def symbols_beyond(value: object, known: object) -> list[np.ndarray]:
    """The symbols () met in an array and not in another.

    >>> x, y = symbol("x"), symbol("y")
    >>> [name_of(s) for s in symbols_beyond(x * y, x)]
    ['y']
    """
    own = set(map(identity, symbols_of(known)))
    return [s for s in symbols_of(value) if identity(s) not in own]


def identity(symbol: object) -> Symbol:
    """Identity of a symbol (), shared only by occurrences of the same symbol.

    >>> x, other = symbol("x"), symbol("x")
    >>> identity(x) is identity(symbols_of(2 * x)[0]), identity(x) is identity(other)
    (True, False)
    """
    result = _symbol(symbol)
    if result is None:
        raise Unrecorded(f"{symbol} is an expression, not a symbol")
    return result


def name_of(symbol: object) -> str:
    """The name of a symbol (); not unique."""
    return identity(symbol).name


def is_symbol(value: object) -> bool:
    """Whether it is a single symbol, with a name, and no expression.

    >>> x = symbol("x")
    >>> is_symbol(x), is_symbol(2 * x), is_symbol(3.0)
    (True, False, False)
    """
    return _symbol(value) is not None


def _symbol(value: object) -> Symbol | None:
    entries = entries_of(value) if getattr(type(value), "is_symbols", False) else []
    if len(entries) != 1 or not isinstance(entries[0], Scalar) or entries[0].key[1] < 0:
        return None
    _, a, _ = entries[0].table.nodes[entries[0].key[0]]
    return a if isinstance(a, Symbol) else None


def _cell(value: object) -> np.ndarray:
    """One scalar or number as an array ()."""
    return array([value], ())


_PLAIN: dict[type, AnyFunction] = {
    # of objects: with named parameters as their symbols
    np.ndarray: lambda x: x if x.dtype != object else np.asarray(_operands(x), dtype=object),
    SymbolicArray: lambda value: value.view(np.ndarray),
    Scalar: lambda value: _cell(value).view(np.ndarray),
    Boolean: lambda value: _cell(value).view(np.ndarray),
    list: lambda value: list(map(_inner, value)),
    tuple: lambda value: tuple(map(_inner, value)),
}


def _plain(value: Any) -> Any:
    """NumPy's arrays of objects in place of ours, also inside lists."""
    kind = type(value)
    convert = _PLAIN.get(kind)
    if convert is not None:
        return convert(value)
    if hasattr(kind, "symbol"):  # a named parameter
        return np.asarray(_plain(value.symbol()), dtype=object)
    if str(kind.__module__).startswith("sympy"):  # one of its numbers
        return np.asarray(operand(value), dtype=object)
    return value


_operands: Any = np.frompyfunc(lambda x: x if isinstance(x, np.ndarray | str) else operand(x), 1, 1)


def _inner(value: Any) -> Any:
    """The same inside a list, where NumPy takes a scalar as such and not in an array ()."""
    result = _plain(value)
    return result.item() if isinstance(result, np.ndarray) and result.ndim == 0 else result


def _wrapped(value: Any) -> Any:
    """NumPy's arrays of objects as ours, also inside lists."""
    kind = type(value)
    if kind is np.ndarray and value.dtype == object:
        return value.view(SymbolicArray)
    if kind in (list, tuple):
        return kind(map(_wrapped, value))
    return value


_numbers_of = np.frompyfunc(number_of, 1, 1)


def _as_numbers(value: object) -> Any:
    """Booleans as the numbers 0 and 1, as where NumPy adds up many of them."""
    return _numbers_of(_plain(value))


_KNOWN = (Scalar, np.ndarray, float, int, np.number, np.bool_, list, tuple)


def apply(ufunc: np.ufunc, method: str, inputs: tuple[object, ...], more: dict[str, Any]) -> Any:
    """The result of a ufunc, or of one of its methods, on arrays of symbols."""
    step()
    for x in inputs:
        if not isinstance(x, _KNOWN) and method != "at" and _plain(x) is x:
            raise Unrecorded(f"np.{ufunc.__name__} of symbols and {type(x).__name__}")
    if method == "__call__" and not more:
        return _wrapped(_own(ufunc)(*map(_plain, inputs)))
    more = {k: x for k, x in more.items() if x is not None or k == "axis"}
    dtype = more.pop("dtype", object)
    if dtype not in (object, float, np.dtype(object), np.dtype(float)):
        raise Unrecorded(f"np.{ufunc.__name__} of symbols in {np.dtype(dtype)}: they are float64")
    more = {k: x for k, x in more.items() if k not in ("casting", "order", "subok")}
    out = more.pop("out", None)
    out = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    if method == "__call__":
        condition = more.pop("where", True)
        plain = {k: _plain(x) for k, x in more.items()}
        result = _wrapped(_own(ufunc)(*map(_plain, inputs), **plain))
        if condition is not True:
            if out is None:
                raise Unrecorded(
                    f"np.{ufunc.__name__}(where=) without out=: elsewhere it has no value"
                )
            result = call(np.where, (condition, result, out), {})
    else:
        result = _over(ufunc, method, [_plain(x) for x in inputs], more)
    return result if out is None else _written(ufunc, result, out)


def _own(ufunc: np.ufunc) -> Any:
    """The ufunc as one of objects."""
    own = OWN.get(ufunc)
    if own is None:
        raise Unrecorded(f"np.{ufunc.__name__} of symbols has no compiled form")
    return own


# what does not change the result of a reduction; that of the last four is the one given
_START: dict[np.ufunc, float | None] = {
    np.add: 0.0,
    np.multiply: 1.0,
    np.logical_and: True,
    np.logical_or: False,
}
_START |= {np.subtract: None, np.divide: None}
_LARGEST = (np.maximum, np.minimum, np.fmax, np.fmin)


def _over(ufunc: np.ufunc, method: str, inputs: list[Any], more: dict[str, Any]) -> Any:
    """reduce, accumulate, outer, at: along an axis, of pairs, or at given positions."""
    if method in ("reduce", "accumulate", "reduceat"):
        if ufunc not in (*_START, *_LARGEST):
            raise Unrecorded(f"np.{ufunc.__name__}.{method} of symbols has no compiled form")
        logical = ufunc in (np.logical_and, np.logical_or, np.logical_xor)
        inputs[0] = _own(np.not_equal)(inputs[0], 0.0) if logical else inputs[0]
        inputs[0] = _as_numbers(inputs[0]) if ufunc in (np.add, np.multiply) else inputs[0]
    if method == "reduce":
        # along some axes, which become one: a ufunc of objects takes no more
        a = inputs[0]
        initial = more.get("initial")
        neutral = initial if ufunc in _LARGEST else _START[ufunc]
        if more.get("where", True) is not True:
            if neutral is None:
                raise Unrecorded(f"np.{ufunc.__name__} of symbols with where= needs initial=")
            a = _plain(call(np.where, (more["where"], a, neutral), {}))
        a = np.asarray(a, dtype=object)
        axis = more.get("axis", 0)
        axes = (
            range(a.ndim) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, a.ndim)
        )
        others = [k for k in range(a.ndim) if k not in axes]
        rows = a.transpose(*others, *axes).reshape(*(a.shape[k] for k in others), -1)
        start = neutral if initial is None and not rows.shape[-1] else initial
        if ufunc is np.hypot and initial is None:
            start = 0.0  # of one number its size
        result = _own(ufunc).reduce(rows, axis=-1, **({} if start is None else {"initial": start}))
        return _wrapped(np.expand_dims(result, tuple(axes)) if more.get("keepdims") else result)
    own = _own(ufunc)
    return _wrapped(getattr(own, method)(*inputs, **{k: _plain(x) for k, x in more.items()}))


def _written(ufunc: np.ufunc, result: Any, out: Any) -> Any:
    """The result in an array that is there already."""
    if isinstance(out, tuple):
        return tuple(_written(ufunc, *pair) for pair in zip(result, out, strict=True))
    if not is_array(out) and np.dtype(getattr(out, "dtype", float)).kind != "O":
        raise Unrecorded(
            f"np.{ufunc.__name__} of symbols into an array of numbers: write y = y + x, not y += x, "
            "or make the array with np.zeros_like(q)"
        )
    out[...] = result
    return out


def call(function: AnyFunction, args: tuple[object, ...], more: dict[str, Any]) -> Any:
    """The result of a NumPy function that is no ufunc, on arrays of symbols."""
    name = f"{function.__module__}.{function.__name__}".replace("numpy", "np", 1)
    if function in REFUSED:
        raise Unrecorded(f"{name} of symbols has no compiled form")
    if function in LINEAR_ALGEBRA:
        if more:
            raise Unrecorded(f"{name}({', '.join(more)}=) of symbols")
        return _wrapped(LINEAR_ALGEBRA[function](*map(symbols, args)))
    own = OWN_CALLS.get(function) or _OWN_REDUCTIONS.get(function)
    try:
        with np.errstate(all="ignore"):
            if own is not None:
                return _wrapped(own(*args, **more))
            inner = getattr(function, "_implementation", function)  # which asks nobody again
            return _wrapped(inner(*map(_plain, args), **{k: _plain(x) for k, x in more.items()}))
    except Unrecorded as error:
        raise Unrecorded(f"{name}: {error}") from None
    except (TypeError, AttributeError) as error:
        raise Unrecorded(f"{name} of symbols: {error}") from error


def _einsum(*args: Any, **more: Any) -> Any:
    """Of booleans alone NumPy asks whether any product holds, and does not count them."""
    plain = [_plain(x) for x in args]
    einsum: Any = np.einsum
    result = einsum._implementation(*plain, **{key: _plain(x) for key, x in more.items()})
    operands = plain[1:] if isinstance(plain[0], str) else plain[0 : len(plain) // 2 * 2 : 2]
    entries = (x for a in operands for x in np.asarray(a, dtype=object).ravel().tolist())
    logical = more.get("out") is None and more.get("dtype") is None and all(map(is_truth, entries))
    return np.not_equal(symbols(result), 0.0) if logical else result


def _method(name: str) -> AnyFunction:
    """A reduction as the method of an array, which asks its ufunc."""

    def reduced(a: object, *args: object, **more: object) -> Any:
        options = {key: x for key, x in more.items() if x is not np._NoValue}
        return getattr(symbols(a), name)(*args, **options)

    return reduced


def _counting(function: Any) -> AnyFunction:
    """A function that takes booleans for the numbers 0 and 1."""

    def called(*args: object, **more: object) -> Any:
        numbers = [_as_numbers(x) if is_array(x) or type(x) in (list, tuple) else x for x in args]
        return function._implementation(*map(symbols, numbers[:1]), *numbers[1:], **more)

    return called


_REDUCTIONS = "sum prod max min any all mean var std cumsum cumprod trace"
_OWN_REDUCTIONS: dict[AnyFunction, AnyFunction] = {
    np.einsum: _einsum,
    **{getattr(np, name): _method(name) for name in _REDUCTIONS.split()},
    np.amax: _method("max"),
    np.amin: _method("min"),
}
# some of these exist in later versions of NumPy only
_SUMS = "average cumulative_sum cumulative_prod nansum nanprod nanmean nanvar nanstd nancumsum"
for _module, _names in (
    (np, f"{_SUMS} nancumprod"),
    (np.linalg, "norm vector_norm matrix_norm trace"),
):
    for _function in (getattr(_module, name, None) for name in _names.split()):
        if _function is not None:
            _OWN_REDUCTIONS[_function] = _counting(_function)


def _complete(kind: type[Any]) -> None:
    """Give scalars the methods and operators of NumPy's arrays ()."""

    def method(name: str) -> AnyFunction:
        return lambda self, *args, **more: getattr(_cell(self), name)(*args, **more)

    def computed(ufunc: np.ufunc) -> AnyFunction:
        return lambda self, *others: ufunc(self, *others)

    def operator(ufunc: np.ufunc, reflected: bool) -> AnyFunction:
        def run(self: object, *other: object) -> Any:
            if other and isinstance(other[0], np.ndarray):
                return NotImplemented  # NumPy asks again, entry by entry
            args = (other[0], self) if reflected else (self, *other)
            return apply(ufunc, "__call__", args, {})

        return run

    methods = """all any astype clip copy cumprod cumsum diagonal dot fill flatten max mean min
        nonzero prod ravel repeat reshape round squeeze std sum swapaxes take trace transpose var
        argmax argmin argsort choose compress item sort tolist"""
    for name in methods.split():
        setattr(kind, name, method(name))
    for ufunc in (x for x in vars(np).values() if isinstance(x, np.ufunc) and not x.signature):
        if not hasattr(kind, ufunc.__name__):
            setattr(kind, ufunc.__name__, computed(ufunc))
    operators: dict[str, np.ufunc] = {"abs": np.absolute, "floor": np.floor, "ceil": np.ceil}
    operators |= {"trunc": np.trunc, "mod": np.remainder, "floordiv": np.floor_divide}
    operators |= {"divmod": np.divmod, "invert": np.invert, "and": np.bitwise_and}
    operators |= {"or": np.bitwise_or, "xor": np.bitwise_xor}
    for name, ufunc in operators.items():
        setattr(kind, f"__{name}__", operator(ufunc, False))
        if ufunc.nin == 2:
            setattr(kind, f"__r{name}__", operator(ufunc, True))
    kind.__array_ufunc__ = SymbolicArray.__array_ufunc__
    kind.__array_function__ = SymbolicArray.__array_function__
    kind.__round__ = lambda self, digits=None: np.round(_cell(self), digits or 0)


_complete(Scalar)
