"""NumPy's functions on scalars of symbols: primitive ufuncs, and others written in terms of these.

Each ufunc is one of objects, so that NumPy broadcasts, reduces and accumulates with it. Values that
depend on no symbol are computed at once, by NumPy itself. Functions that are no ufuncs are written
here where NumPy's own code cannot run on entries; `np.linalg.solve`, `inv`, `det` and `cholesky` have
a fixed order of operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.linalg.factorisations import (
    adjugate,
    back_substitution,
    cholesky,
    forward_substitution,
)
from dalembert.tracing.scalars import PRIMITIVE, Scalar, Unrecorded, choose, is_truth, operation

LN2, LN10 = np.log(2.0), np.log(10.0)
Value = Any
"""A scalar of symbols, a number, or an array of them."""
Function = Callable[..., Value]


def _rint(x: Value) -> Value:
    """To the nearest whole number, halves to the even one."""
    size = np.absolute(x)
    down = np.floor(size)
    odd = down - 2.0 * np.floor(0.5 * down)
    rest = size - down  # exact
    up = choose(rest == 0.5, odd, np.multiply(rest > 0.5, 1.0))
    return np.copysign(down + up, x)


def _across(remainder: Value, y: Value) -> Value:
    """Whether the remainder that fmod leaves lies on the other side of 0 than y."""
    return np.logical_and(remainder != 0.0, (y < 0.0) != (remainder < 0.0))


def _remainder(x: Value, y: Value) -> Value:
    """x mod y with the sign of y, from fmod, which is exact; zeros have fmod's sign and derivative."""
    remainder = np.fmod(x, y)
    return choose(_across(remainder, y), remainder + y, remainder)


def _modf(x: Value) -> tuple[Value, Value]:
    whole = np.trunc(x)
    return choose(_isinf(x), 0.0, x - whole), whole


def _floor_divide(x: Value, y: Value) -> Value:
    """⌊x / y⌋ as NumPy has it: from the remainder, so that it fits to it."""
    remainder = np.fmod(x, y)
    whole = (x - remainder) / y - np.multiply(_across(remainder, y), 1.0)
    down = np.floor(whole)
    near = choose(whole - down > 0.5, down + 1.0, down)
    return choose(np.equal(y, 0.0), np.divide(x, y), near)


def _heaviside(x: Value, at_zero: Value) -> Value:
    step = choose(x == 0.0, at_zero, np.multiply(np.less(0.0, x), 1.0))
    return choose(_isnan(x), x, step)


def _logaddexp(x: Value, y: Value) -> Value:
    """ln(eˣ + eʸ) from the larger one, which may be infinite; of equal ones both derivatives are ½."""
    first, second = x + np.log1p(np.exp(y - x)), y + np.log1p(np.exp(x - y))
    both = np.logical_and(np.equal(x, y), _isinf(x))
    return choose(both, x, choose(np.less_equal(y, x), first, second))


def _isnan(x: Value) -> Value:
    return np.logical_not(np.less_equal(x, np.inf))  # x ≠ x is simplified to false


def _isinf(x: Value) -> Value:
    return np.equal(np.absolute(x), np.inf)


def _number(x: Value, y: Value, chosen: Value) -> Value:
    """One of two, of which NaN is none."""
    return choose(_isnan(x), y, choose(_isnan(y), x, chosen))


def _bits(ufunc: Function) -> Function:
    """An operation on bits, which entries have only where they are true or false."""

    def apply(*args: Value) -> Value:
        if not all(map(is_truth, args)):
            raise Unrecorded(
                "operations on bits are for booleans: compare first, as in (x > 0) & …"
            )
        return ufunc(*args)

    return apply


_umath_clip = getattr(np, "_core", np).umath.clip
DERIVED: dict[np.ufunc, Function] = {
    np.positive: lambda x: x,
    np.conjugate: lambda x: x,
    np.fabs: np.absolute,
    np.reciprocal: lambda x: np.divide(1.0, x),
    np.log2: lambda x: np.log(x) / LN2,
    np.log10: lambda x: np.log(x) / LN10,
    np.exp2: lambda x: np.power(2.0, x),
    np.deg2rad: lambda x: x * (np.pi / 180.0),
    np.radians: lambda x: x * (np.pi / 180.0),
    np.rad2deg: lambda x: x * (180.0 / np.pi),
    np.degrees: lambda x: x * (180.0 / np.pi),
    np.cbrt: lambda x: np.copysign(np.power(np.absolute(x), 1.0 / 3.0), x),
    np.rint: _rint,
    np.trunc: lambda x: np.copysign(np.floor(np.absolute(x)), x),
    np.remainder: _remainder,
    np.floor_divide: _floor_divide,
    np.divmod: lambda x, y: (_floor_divide(x, y), _remainder(x, y)),
    np.modf: _modf,
    np.float_power: np.power,
    np.heaviside: _heaviside,
    np.logaddexp: _logaddexp,
    np.logaddexp2: lambda x, y: _logaddexp(x * LN2, y * LN2) / LN2,
    np.fmax: lambda x, y: _number(x, y, np.maximum(x, y)),
    np.fmin: lambda x, y: _number(x, y, np.minimum(x, y)),
    np.isnan: _isnan,
    np.isinf: _isinf,
    np.isfinite: lambda x: np.less(np.absolute(x), np.inf),
    np.signbit: lambda x: np.less(np.copysign(1.0, x), 0.0),
    np.greater: lambda x, y: np.less(y, x),
    np.greater_equal: lambda x, y: np.less_equal(y, x),
    np.logical_xor: lambda x, y: np.not_equal(np.not_equal(x, 0.0), np.not_equal(y, 0.0)),
    np.bitwise_and: _bits(np.logical_and),
    np.bitwise_or: _bits(np.logical_or),
    np.bitwise_xor: _bits(np.logical_xor),
    np.invert: _bits(np.logical_not),
    _umath_clip: lambda x, low, high: np.minimum(np.maximum(x, low), high),
}


# of booleans NumPy gives whole numbers of eight bits
_NO_BOOLEANS = {np.remainder, np.fmod, np.floor_divide, np.divmod, np.reciprocal, np.power}
_NO_BOOLEANS |= {np.square, np.sign}


def _of_entries(ufunc: np.ufunc) -> Value:
    """A ufunc of objects: noted down for entries, done at once for numbers."""
    spelled = DERIVED.get(ufunc)

    def apply(*args: Value) -> Value:
        for x in args:
            if isinstance(x, Scalar):
                if ufunc in _NO_BOOLEANS and all(map(is_truth, args)):
                    raise Unrecorded(f"np.{ufunc.__name__} of booleans has no compiled form")
                return operation(ufunc, args) if spelled is None else spelled(*args)
        with np.errstate(all="ignore"):  # a NaN that comes of it is one of the function's own
            result = ufunc(*(x if is_truth(x) else np.float64(x) for x in args))
        if isinstance(result, tuple):
            return tuple(map(float, result))
        return result if isinstance(result, np.bool_) else float(result)

    return np.frompyfunc(apply, ufunc.nin, ufunc.nout)


# NumPy's own loops of objects use the operators of entries, and are quicker
_NATIVE = (np.add, np.subtract, np.multiply, np.negative, np.matmul)
_NATIVE += tuple(getattr(np, name) for name in ("vecdot", "matvec", "vecmat") if hasattr(np, name))
OWN: dict[np.ufunc, Value] = {
    **{ufunc: _of_entries(ufunc) for ufunc in (*PRIMITIVE, *DERIVED)},
    **{ufunc: ufunc for ufunc in _NATIVE},
}


_chosen = np.frompyfunc(choose, 3, 1)


def _objects(value: Value) -> Value:
    """An array of objects, so that nothing asks again what to do."""
    array = np.empty(np.shape(value), dtype=object)
    array[...] = value
    return array


def where(condition: Value, *choices: Value) -> Value:
    """Entry by entry one of two."""
    if len(choices) != 2:
        raise Unrecorded("which entries hold depends on values: use np.where(condition, x, y)")
    return _chosen(*map(_objects, (condition, *choices)))


def _clip(
    a: Value,
    a_min: Value = None,
    a_max: Value = None,
    out: Value = None,
    *,
    min: Value = None,  # NumPy's own names
    max: Value = None,
    **more: Value,
) -> Value:
    low, high = a_min if min is None else min, a_max if max is None else max
    into = {} if out is None else {"out": out}
    result = a if low is None else np.maximum(a, low, **more, **(into if high is None else {}))
    return result if high is None else np.minimum(result, high, **more, **into)


def _round(a: Value, decimals: int = 0, out: Value = None) -> Value:
    scale = 10.0 ** abs(decimals)
    scaled = np.rint(a * scale) / scale if decimals > 0 else np.rint(a / scale) * scale
    result = scaled if decimals else np.rint(a)
    return result if out is None else np.positive(result, out=out)


def _select(condlist: Sequence[Value], choicelist: Sequence[Value], default: Value = 0) -> Value:
    result = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        result = where(condition, choice, result)
    return result


def _nan_to_num(
    x: Value, copy: bool = True, nan: Value = 0.0, posinf: Value = None, neginf: Value = None
) -> Value:
    largest = np.finfo(float).max
    ends = (largest if posinf is None else posinf, -largest if neginf is None else neginf)
    result = where(np.equal(x, np.inf), ends[0], where(np.equal(x, -np.inf), ends[1], x))
    result = where(np.isnan(x), nan, result)
    if copy:
        return result
    x[...] = result
    return x


def _isclose(
    a: Value, b: Value, rtol: Value = 1e-05, atol: Value = 1e-08, equal_nan: bool = False
) -> Value:
    near = np.less_equal(np.absolute(np.subtract(a, b)), atol + rtol * np.absolute(b))
    result = np.logical_or(np.logical_and(near, np.isfinite(b)), np.equal(a, b))
    return np.logical_or(result, np.logical_and(np.isnan(a), np.isnan(b))) if equal_nan else result


def _interp(
    x: Value, xp: Value, fp: Value, left: Value = None, right: Value = None, period: Value = None
) -> Value:
    """Straight lines through points (xp, fp) with rising xp, ends continued as constants."""
    if period is not None or getattr(xp, "is_symbols", False):
        raise Unrecorded("positions of symbols, and a period, have no compiled form")
    if len(xp) != len(fp) or not len(xp) or np.any(np.diff(xp) <= 0.0):
        raise ValueError("np.interp needs rising positions xp, and a value fp for each")
    result = fp[0] if left is None else left
    for k in range(len(xp) - 1):
        line = fp[k] + (x - xp[k]) * ((fp[k + 1] - fp[k]) / (xp[k + 1] - xp[k]))
        result = np.where(np.less_equal(xp[k], x), line, result)
    result = np.where(np.less_equal(xp[-1], x), fp[-1], result)
    if right is not None:
        result = np.where(np.less(xp[-1], x), right, result)
    return np.where(np.isnan(x), x, result)


def _sinc(x: Value) -> Value:
    angle = np.pi * np.where(np.equal(x, 0.0), 1e-20, x)
    return np.sin(angle) / angle


OWN_CALLS: dict[Function, Function] = {
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


def _is_zero(x: Value) -> bool:
    return isinstance(x, float | int) and x == 0.0


def _solve(A: Value, b: Value) -> Value:
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


def _orthonormal(A: Value) -> tuple[Value, Value]:
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


LINEAR_ALGEBRA: dict[Function, Function] = {
    np.linalg.solve: _solve,
    np.linalg.inv: lambda A: _solve(A, np.eye(len(A))),
    np.linalg.det: lambda A: adjugate(A)[1],
    np.linalg.cholesky: cholesky,
}
