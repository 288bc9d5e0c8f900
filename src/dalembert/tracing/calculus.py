"""Derivatives of arrays with respect to arrays of symbols, by sweeps over their value table.

y is what is differentiated, numbers included; x are symbols made by `symbol`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.tracing import sweeps
from dalembert.tracing.arrays import array, constant, flat, of_keys, shape_of, symbols, table_with
from dalembert.tracing.scalars import scalar
from dalembert.tracing.table import Signed, Table


def jacobian(y: Any, x: Any) -> Any:
    """∂y/∂x (*y.shape, *x.shape).

    >>> from dalembert.tracing import symbol
    >>> x = symbol("x", 2)
    >>> jacobian(x[0] * x[1], x)
    [x_1 x_0]
    """
    table, (results, inputs) = table_with(y, x)
    rows = sweeps.jacobian(table, results, _numbers(inputs))
    return _dense(table, rows, len(inputs), (*shape_of(y), *shape_of(x)))


def gradient(y: Any, x: Any) -> Any:
    """∂y/∂x of the shape of x, y a number.

    >>> from dalembert.tracing import symbol
    >>> x = symbol("x", 2)
    >>> gradient(x[0] * x[1], x)
    [x_1 x_0]
    """
    return transposed(y, x, np.ones(shape_of(y)))


def hessian(y: Any, x: Any) -> Any:
    """∂²y/∂x² (n, n), symmetric, of a number y and a vector x (n,)."""
    second = jacobian(gradient(y, x), x)
    return symbols(np.tril(second)) + symbols(np.tril(second, -1)).T


def directional(y: Any, x: Any, direction: Any) -> Any:
    """(∂y/∂x) d of the shape of y, for a direction d of the shape of x: dy/dt for ẋ = d.

    >>> from dalembert.tracing import symbol
    >>> x, v = symbol("x", 2), symbol("v", 2)
    >>> directional(x[0] * x[1], x, v)
    ((x_1*v_0)+(x_0*v_1))
    """
    table, (results, inputs, changes) = table_with(y, x, direction)
    seeds = [_single(table, change) for change in changes]
    rates = sweeps.forward(table, results, _numbers(inputs), seeds)
    return _dense(table, rates, 1, shape_of(y))


def transposed(y: Any, x: Any, force: Any) -> Any:
    """(∂y/∂x)ᵀ f of the shape of x, for f of the shape of y: what f on y does along x."""
    table, (results, inputs, forces) = table_with(y, x, force)
    weights = [_single(table, weight) for weight in forces]
    bars = sweeps.backward(table, results, _numbers(inputs), weights)
    return _dense(table, bars, 1, shape_of(x))


def at(results: Sequence[Any], symbols: Sequence[Any], values: Sequence[Any]) -> tuple[Any, ...]:
    """The arrays with `values` (numbers or symbols) in place of symbols; numbers where none is left.

    >>> from dalembert.tracing import symbol
    >>> x, y = symbol("x", 2), symbol("y")
    >>> at([y * x, x], [x], [np.array([1.0, 2.0])])[1]
    array([1., 2.])
    """
    table, (inputs, replacements, *rows) = table_with(flat(symbols), flat(values), *results)
    mapping = dict(zip(_numbers(inputs), replacements, strict=True))
    flattened = table.substituted([key for row in rows for key in row], mapping)
    arrays, start = [], 0
    for row, result in zip(rows, results, strict=True):
        made = of_keys(table, flattened[start : start + len(row)], shape_of(result))
        numbers = constant(made)
        arrays.append(made if numbers is None else numbers)
        start += len(row)
    return tuple(arrays)


def depends_on(y: Any, x: Any) -> bool:
    """Whether any of the symbols x is met in y."""
    table, (results, inputs) = table_with(y, x)
    return not {k for k, _ in inputs}.isdisjoint(table.below(k for k, _ in results))


def _numbers(inputs: Sequence[Signed]) -> list[int]:
    """The value numbers of symbols."""
    return [number for number, _ in inputs]


def _single(table: Table, value: Signed) -> sweeps.Sparse:
    """One direction, or none where the value is zero."""
    return {} if table.values[value[0]] == 0.0 else {0: value}


def _dense(table: Table, rows: Sequence[sweeps.Sparse], width: int, shape: tuple[int, ...]) -> Any:
    entries: list[Any] = [0.0] * (len(rows) * width)
    for i, row in enumerate(rows):
        for j, key in row.items():
            entries[i * width + j] = scalar(table, key)
    return array(entries, shape)
