"""NumPy's ufuncs on scalars: the primitive ones, and the others written in terms of these.

Each is a ufunc of objects, so that NumPy broadcasts, reduces and accumulates with it. What depends on
no symbol is computed at once, by NumPy itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.tracing.scalars import (
    PRIMITIVE,
    Scalar,
    Unrecorded,
    choose,
    is_truth,
    operation,
)

LN2, LN10 = np.log(2.0), np.log(10.0)


def _rint(x: Any) -> Any:
    """To the nearest whole number, halves to the even one."""
    size = np.absolute(x)
    down = np.floor(size)
    odd = down - 2.0 * np.floor(0.5 * down)
    rest = size - down  # exact
    up = choose(rest == 0.5, odd, np.multiply(rest > 0.5, 1.0))
    return np.copysign(down + up, x)


def _trunc(x: Any) -> Any:
    return np.copysign(np.floor(np.absolute(x)), x)


def _across(left: Any, y: Any) -> Any:
    """Whether the remainder that fmod leaves lies on the other side of 0 than y."""
    return np.logical_and(left != 0.0, (y < 0.0) != (left < 0.0))


def _remainder(x: Any, y: Any) -> Any:
    """x mod y with the sign of y, from fmod, which is exact; a zero has fmod's sign, and its slope."""
    left = np.fmod(x, y)
    return choose(_across(left, y), left + y, left)


def _modf(x: Any) -> tuple[Any, Any]:
    whole = _trunc(x)
    return choose(_isinf(x), 0.0, x - whole), whole


def _floor_divide(x: Any, y: Any) -> Any:
    """⌊x / y⌋ as NumPy has it: from the remainder, so that it fits to it."""
    left = np.fmod(x, y)
    whole = (x - left) / y - np.multiply(_across(left, y), 1.0)
    down = np.floor(whole)
    near = choose(whole - down > 0.5, down + 1.0, down)
    return choose(np.equal(y, 0.0), np.divide(x, y), near)


def _heaviside(x: Any, at_zero: Any) -> Any:
    step = choose(x == 0.0, at_zero, np.multiply(np.less(0.0, x), 1.0))
    return choose(_isnan(x), x, step)


def _logaddexp(x: Any, y: Any) -> Any:
    """ln(eˣ + eʸ), from the larger one, which may be infinite; of equal ones either, slopes are ½."""
    first, second = x + np.log1p(np.exp(y - x)), y + np.log1p(np.exp(x - y))
    both = np.logical_and(np.equal(x, y), _isinf(x))
    return choose(both, x, choose(np.less_equal(y, x), first, second))


def _isnan(x: Any) -> Any:
    return np.logical_not(np.less_equal(x, np.inf))  # x ≠ x is simplified to false


def _isinf(x: Any) -> Any:
    return np.equal(np.absolute(x), np.inf)


def _number(x: Any, y: Any, chosen: Any) -> Any:
    """One of two, of which NaN is none."""
    return choose(_isnan(x), y, choose(_isnan(y), x, chosen))


def _bits(ufunc: Callable[..., Any]) -> Callable[..., Any]:
    """An operation on bits, which entries have only where they are true or false."""

    def apply(*args: Any) -> Any:
        if not all(map(is_truth, args)):
            raise Unrecorded(
                "operations on bits are for booleans: compare first, as in (x > 0) & …"
            )
        return ufunc(*args)

    return apply


def _xor(x: Any, y: Any) -> Any:
    return np.not_equal(np.not_equal(x, 0.0), np.not_equal(y, 0.0))


_umath_clip = getattr(np, "_core", np).umath.clip
DERIVED: dict[Any, Callable[..., Any]] = {
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
    np.trunc: _trunc,
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
    np.logical_xor: _xor,
    np.bitwise_and: _bits(np.logical_and),
    np.bitwise_or: _bits(np.logical_or),
    np.bitwise_xor: _bits(_xor),
    np.invert: _bits(np.logical_not),
    _umath_clip: lambda x, low, high: np.minimum(np.maximum(x, low), high),
}


def _of_numbers(ufunc: Any, args: tuple[Any, ...]) -> Any:
    with np.errstate(all="ignore"):  # a NaN that comes of it is one of the function's own
        found = ufunc(*(x if is_truth(x) else np.float64(x) for x in args))
    if isinstance(found, tuple):
        return tuple(map(float, found))
    return found if isinstance(found, np.bool_) else float(found)


# of booleans NumPy gives whole numbers of eight bits
_NO_BOOLEANS = {np.remainder, np.fmod, np.floor_divide, np.divmod, np.reciprocal, np.power}
_NO_BOOLEANS |= {np.square, np.sign}


def _of_entries(ufunc: Any) -> Any:
    """A ufunc of objects: noted down for entries, done at once for numbers."""
    spelled = DERIVED.get(ufunc)

    def apply(*args: Any) -> Any:
        for x in args:
            if isinstance(x, Scalar):
                if ufunc in _NO_BOOLEANS and all(map(is_truth, args)):
                    raise Unrecorded(f"np.{ufunc.__name__} of booleans has no compiled form")
                return operation(ufunc, args) if spelled is None else spelled(*args)
        return _of_numbers(ufunc, args)

    return np.frompyfunc(apply, ufunc.nin, ufunc.nout)


# NumPy's own loops of objects use the operators of entries, and are quicker
_NATIVE = (np.add, np.subtract, np.multiply, np.negative, np.matmul)
_NATIVE += tuple(getattr(np, name) for name in ("vecdot", "matvec", "vecmat") if hasattr(np, name))
OWN: dict[Any, Any] = {
    **{ufunc: _of_entries(ufunc) for ufunc in (*PRIMITIVE, *DERIVED)},
    **{ufunc: ufunc for ufunc in _NATIVE},
}
