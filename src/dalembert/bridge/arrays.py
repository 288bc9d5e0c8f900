"""Arrays of symbols: made, recognised, and turned into CasADi's own matrices and back."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.bridge.views import GIVEN, lock

if TYPE_CHECKING:
    import casadi


def is_symbolic(value: Any) -> bool:
    """Whether it is an array of symbols; CasADi is not imported to know.

    >>> is_symbolic(symbol("x")), is_symbolic(np.ones(2))
    (True, False)
    """
    kind = type(value)  # SymPy has types without a module
    return str(kind.__module__).startswith("casadi") or getattr(kind, "is_symbols", False)


def symbol(name: str, *shape: int) -> Any:
    """A fresh array of symbols of this shape; without one, a number ().

    >>> symbol("q", 3).shape, symbol("t").shape
    ((3,), ())
    """
    import casadi

    _strict()
    return lock(_shaped(casadi.SX.sym(name, prod(shape)), shape), GIVEN)


def array(entries: Any, *shape: int) -> Any:
    """An array of this shape from CasADi's column of its entries in C order.

    >>> array(column(np.arange(6.0)), 2, 3).shape
    (2, 3)
    """
    import casadi

    _strict()
    return _shaped(casadi.SX(casadi.densify(entries)), shape)


def _shaped(entries: Any, shape: tuple[int, ...]) -> Any:
    """CasADi's array of a column of entries in C order."""
    import casadi

    made: Any = casadi.ArrayInterface
    return made._wrap_nd(casadi.vec(entries.T), shape)


@cache
def _strict() -> None:
    """Let CasADi's arrays of symbols do as NumPy does, or refuse: see guards.py."""
    from dalembert.bridge.guards import guard

    guard()


def copied(value: Any) -> Any:
    """An array of its own, numbers or symbols, for functions that may write into it.

    >>> x = symbol("x", 2)
    >>> y = copied(x)
    >>> y[0] = 1.0
    >>> print(x)
    [x_0, x_1]
    """
    if hasattr(value, "to_casadi"):
        return type(value)(value)
    return value.copy() if isinstance(value, np.ndarray) else value


def column(value: Any) -> casadi.SX:
    """All entries of an array of symbols or numbers, in C order, as CasADi's dense column.

    CasADi's own matrices are taken too.

    >>> column(np.array([[1.0, 0.0], [2.0, 3.0]]))
    SX([1, 0, 2, 3])
    """
    import casadi

    own = getattr(type(value), "is_symbols", False)
    if own or (isinstance(value, np.ndarray) and value.dtype == object):
        from dalembert.bridge.cells import joined

        value = joined(value)
    if not is_symbolic(value):
        return casadi.SX(casadi.DM(np.asarray(value, dtype=float).ravel()))
    if not hasattr(value, "to_casadi"):
        entries = casadi.vec(value.T)
    else:
        entries = (value if len(value.shape) < 2 else value.ravel()).to_casadi()
    return casadi.SX(casadi.densify(entries))


def flat(values: Iterable[Any]) -> Any:
    """All entries of several arrays, each in C order, as one array of symbols (n,)."""
    import casadi

    entries = casadi.vertcat(*map(column, values))
    return array(entries, entries.numel())


def cut(vector: Any, shapes: Iterable[tuple[int, ...]]) -> list[Any]:
    """Arrays of these shapes from a vector of all their entries: the inverse of `flat`.

    >>> cut(np.arange(3.0), [(), (2,)])
    [array(0.), array([1., 2.])]
    """
    found, start = [], 0
    for shape in shapes:
        found.append(vector[start : start + prod(shape)].reshape(shape))
        start += prod(shape)
    return found


def constant(value: Any) -> np.ndarray | None:
    """The numbers of an array in which no symbol is met, else None.

    >>> x = symbol("x", 2)
    >>> constant(0 * x + 3), constant(x)
    (array([3., 3.]), None)
    """
    if not is_symbolic(value):
        return np.asarray(value, dtype=float)
    import casadi

    entries = column(value)
    if not entries.is_constant():
        return None
    return np.array(casadi.DM(entries)).reshape(shape_of(value))


def is_zero(value: Any) -> bool:
    """Whether every entry is zero, whatever the symbols are.

    >>> x = symbol("x")
    >>> is_zero(np.sin(x) - np.sin(x)), is_zero(x)
    (True, False)
    """
    import casadi

    return bool(casadi.cse(column(value)).is_zero())


def zero_rows(value: Any) -> list[int]:
    """Which rows of an array (m, n) are zero, whatever the symbols are.

    >>> x = symbol("x", 2)
    >>> zero_rows(np.stack([x, x - x]))
    [1]
    """
    import casadi

    m, n = shape_of(value)
    entries = casadi.cse(column(value))
    return [k for k in range(m) if entries[k * n : (k + 1) * n].is_zero()]


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of an array or number; `np.shape` would see CasADi's matrix behind an array."""
    return tuple(value.shape) if hasattr(value, "shape") else np.shape(value)
