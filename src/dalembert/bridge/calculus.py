"""Derivatives of arrays with respect to arrays of symbols, by CasADi's algorithmic differentiation.

y is what is differentiated, numbers included; x are symbols made by `symbol`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dalembert.bridge.arrays import array, column, constant, flat, shape_of


def jacobian(y: Any, x: Any) -> Any:
    """∂y/∂x (*y.shape, *x.shape).

    >>> from dalembert.bridge import symbol
    >>> x = symbol("x", 2)
    >>> print(jacobian(x[0] * x[1], x))
    [x_1, x_0]
    """
    import casadi

    slope = casadi.densify(casadi.jacobian(column(y), column(x)))
    return casadi.array(slope).reshape(*shape_of(y), *x.shape)


def gradient(y: Any, x: Any) -> Any:
    """∂y/∂x of the shape of x, y a number.

    >>> from dalembert.bridge import symbol
    >>> x = symbol("x", 2)
    >>> print(gradient(x[0] * x[1], x))
    [x_1, x_0]
    """
    import casadi

    return array(casadi.gradient(column(y), column(x)), *x.shape)


def hessian(y: Any, x: Any) -> Any:
    """∂²y/∂x² (n, n), symmetric, of a number y and a vector x (n,)."""
    import casadi

    second, _ = casadi.hessian(column(y), column(x))
    return casadi.array(casadi.densify(second))


def directional(y: Any, x: Any, direction: Any) -> Any:
    """(∂y/∂x) d of the shape of y, for a direction d of the shape of x: dy/dt for ẋ = d.

    >>> from dalembert.bridge import symbol
    >>> x, v = symbol("x", 2), symbol("v", 2)
    >>> print(directional(x[0] * x[1], x, v))
    ((x_1*v_0)+(x_0*v_1))
    """
    import casadi

    return array(casadi.jtimes(column(y), column(x), column(direction)), *shape_of(y))


def transposed(y: Any, x: Any, force: Any) -> Any:
    """(∂y/∂x)ᵀ f of the shape of x, for f of the shape of y: what f on y does along x."""
    import casadi

    return array(casadi.jtimes(column(y), column(x), column(force), True), *x.shape)


def at(results: Sequence[Any], symbols: Sequence[Any], values: Sequence[Any]) -> tuple[Any, ...]:
    """The arrays with `values` (numbers or symbols) in place of symbols; numbers where none is left.

    >>> import numpy as np
    >>> from dalembert.bridge import symbol
    >>> x, y = symbol("x", 2), symbol("y")
    >>> at([y * x, x], [x], [np.array([1.0, 2.0])])[1]
    array([1., 2.])
    """
    import casadi

    entries = [column(result) for result in results]
    found = casadi.substitute(entries, [column(flat(symbols))], [column(flat(values))])
    shaped = [array(y, *shape_of(result)) for y, result in zip(found, results, strict=True)]
    numbers = [constant(y) for y in shaped]
    return tuple(y if n is None else n for y, n in zip(shaped, numbers, strict=True))


def depends_on(y: Any, x: Any) -> bool:
    """Whether any of the symbols x is met in y."""
    import casadi

    return bool(casadi.depends_on(column(y), column(x)))
