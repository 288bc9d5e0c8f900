"""NumPy's functions that are no ufuncs, where NumPy's own code cannot run on entries.

`np.linalg.solve`, `inv`, `det` and `cholesky` are done in a fixed order of operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.linalg.cholesky import cholesky
from dalembert.linalg.cramer import adjugate
from dalembert.linalg.triangular import back_substitution, forward_substitution
from dalembert.tracing.scalars import Unrecorded, choose

_chosen = np.frompyfunc(choose, 3, 1)


def _objects(value: Any) -> Any:
    """An array of objects, so that nothing asks again what to do."""
    array = np.empty(np.shape(value), dtype=object)
    array[...] = value
    return array


def where(condition: Any, *choices: Any) -> Any:
    """Entry by entry one of two."""
    if len(choices) != 2:
        raise Unrecorded("which places hold depends on values: use np.where(condition, x, y)")
    return _chosen(*map(_objects, (condition, *choices)))


def _clip(
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    out: Any = None,
    *,
    min: Any = None,  # NumPy's own names
    max: Any = None,
    **more: Any,
) -> Any:
    low, high = a_min if min is None else min, a_max if max is None else max
    into = {} if out is None else {"out": out}
    found = a if low is None else np.maximum(a, low, **more, **(into if high is None else {}))
    return found if high is None else np.minimum(found, high, **more, **into)


def _round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    scale = 10.0 ** abs(decimals)
    scaled = np.rint(a * scale) / scale if decimals > 0 else np.rint(a / scale) * scale
    found = scaled if decimals else np.rint(a)
    return found if out is None else np.positive(found, out=out)


def _select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    found = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        found = where(condition, choice, found)
    return found


def _nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    largest = np.finfo(float).max
    ends = (largest if posinf is None else posinf, -largest if neginf is None else neginf)
    found = where(np.equal(x, np.inf), ends[0], where(np.equal(x, -np.inf), ends[1], x))
    found = where(np.isnan(x), nan, found)
    if copy:
        return found
    x[...] = found
    return x


def _isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    near = np.less_equal(np.absolute(np.subtract(a, b)), atol + rtol * np.absolute(b))
    found = np.logical_or(np.logical_and(near, np.isfinite(b)), np.equal(a, b))
    return np.logical_or(found, np.logical_and(np.isnan(a), np.isnan(b))) if equal_nan else found


def _interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """Straight lines through points (xp, fp) with rising xp, ends continued as constants."""
    if period is not None or getattr(xp, "is_symbols", False):
        raise Unrecorded("places of symbols, and a period, have no compiled form")
    if len(xp) != len(fp) or not len(xp) or np.any(np.diff(xp) <= 0.0):
        raise ValueError("np.interp needs rising places xp, and a value fp for each")
    found = fp[0] if left is None else left
    for k in range(len(xp) - 1):
        line = fp[k] + (x - xp[k]) * ((fp[k + 1] - fp[k]) / (xp[k + 1] - xp[k]))
        found = np.where(np.less_equal(xp[k], x), line, found)
    found = np.where(np.less_equal(xp[-1], x), fp[-1], found)
    if right is not None:
        found = np.where(np.less(xp[-1], x), right, found)
    return np.where(np.isnan(x), x, found)


def _sinc(x: Any) -> Any:
    angle = np.pi * np.where(np.equal(x, 0.0), 1e-20, x)
    return np.sin(angle) / angle


OWN_CALLS: dict[Any, Callable[..., Any]] = {
    np.where: where,
    np.clip: _clip,
    np.round: _round,
    np.around: _round,
    np.fix: np.trunc,
    np.select: _select,
    np.nan_to_num: _nan_to_num,
    np.isclose: _isclose,
    np.interp: _interp,
    np.sinc: _sinc,
    np.real: lambda val: val,
    np.imag: lambda val: 0.0 * val,
    np.count_nonzero: lambda a, axis=None, **more: np.sum(np.not_equal(a, 0.0), axis, **more),
}
"""Functions as they are written for symbols."""


REFUSED = frozenset(
    {np.argmax, np.argmin, np.argsort, np.argpartition, np.searchsorted}
    | {np.ix_, np.full_like, np.shares_memory, np.may_share_memory}
)
"""Functions whose code, run on objects, gives something else than on numbers."""


_SMALL = 3  # rows up to which minors take the fewest operations


def _is_zero(x: Any) -> bool:
    return isinstance(x, float | int) and x == 0.0


def _solve(A: Any, b: Any) -> Any:
    """A⁻¹ b for b (n,) or (n, m): by substitution, minors, or an orthonormal basis of the columns."""
    n = len(A)
    if all(_is_zero(A[i, j]) for i in range(n) for j in range(i + 1, n)):
        return forward_substitution(A, b)
    if all(_is_zero(A[i, j]) for i in range(n) for j in range(i)):
        return back_substitution(A, b)
    if n <= _SMALL:
        minors, determinant = adjugate(A)
        return (minors @ b) / determinant
    Q, R = _orthonormal(A)
    return back_substitution(R, Q.T @ b)


def _orthonormal(A: Any) -> tuple[Any, Any]:
    """A = Q R by modified Gram–Schmidt, which needs no pivots."""
    n = len(A)
    columns, R = [A[:, j] for j in range(n)], np.zeros((n, n), dtype=object)
    for i in range(n):
        R[i, i] = np.sqrt(columns[i] @ columns[i])
        columns[i] = columns[i] / R[i, i]
        for j in range(i + 1, n):
            R[i, j] = columns[i] @ columns[j]
            columns[j] = columns[j] - R[i, j] * columns[i]
    return np.stack(columns, axis=1), R


LINEAR_ALGEBRA: dict[Any, Callable[..., Any]] = {
    np.linalg.solve: _solve,
    np.linalg.inv: lambda A: _solve(A, np.eye(len(A))),
    np.linalg.det: lambda A: adjugate(A)[1],
    np.linalg.cholesky: cholesky,
}
