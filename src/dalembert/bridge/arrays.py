"""Arrays of symbols: made, recognised, and turned into CasADi's own matrices and back."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import casadi


def is_symbolic(value: Any) -> bool:
    """Whether it is an array of symbols; CasADi is not imported to know.

    >>> is_symbolic(symbol("x")), is_symbolic(np.ones(2))
    (True, False)
    """
    return type(value).__module__.startswith("casadi")


def symbol(name: str, *shape: int) -> Any:
    """A fresh array of symbols of this shape; without one, a number ().

    >>> symbol("q", 3).shape, symbol("t").shape
    ((3,), ())
    """
    import casadi

    return casadi.array(casadi.SX.sym(name, prod(shape))).reshape(*shape)


def array(entries: Any, *shape: int) -> Any:
    """An array of this shape from CasADi's column of its entries in C order.

    >>> array(column(np.arange(6.0)), 2, 3).shape
    (2, 3)
    """
    import casadi

    return casadi.array(casadi.SX(casadi.densify(entries))).reshape(*shape)


def column(value: Any) -> casadi.SX:
    """All entries of an array of symbols or numbers, in C order, as CasADi's dense column.

    >>> column(np.array([[1.0, 0.0], [2.0, 3.0]]))
    SX([1, 0, 2, 3])
    """
    import casadi

    if is_symbolic(value):
        return casadi.SX(casadi.densify(value.ravel().to_casadi()))
    return casadi.SX(casadi.DM(np.asarray(value, dtype=float).ravel()))


def joined(values: Iterable[Any]) -> casadi.SX:
    """The columns of several arrays, one below the other."""
    import casadi

    return casadi.vertcat(*map(column, values))


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of an array or number; `np.shape` would see CasADi's matrix behind an array."""
    return tuple(value.shape) if hasattr(value, "shape") else np.shape(value)
