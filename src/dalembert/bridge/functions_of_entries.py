"""NumPy's functions that are no ufuncs, where NumPy's own code cannot run on entries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.bridge.primitives import Unrecorded, is_truth
from dalembert.bridge.ufuncs import choose

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


def _einsum(*args: Any, **more: Any) -> Any:
    """Of booleans alone NumPy asks whether any product holds, and does not count them."""
    from dalembert.bridge.entries import plain, symbols

    given = [plain(x) for x in args]
    summed: Any = np.einsum
    found = summed._implementation(*given, **{key: plain(x) for key, x in more.items()})
    operands = given[1:] if isinstance(given[0], str) else given[0 : len(given) // 2 * 2 : 2]
    entries = (x for a in operands for x in np.asarray(a, dtype=object).ravel().tolist())
    asked = more.get("out") is None and more.get("dtype") is None and all(map(is_truth, entries))
    return np.not_equal(symbols(found), 0.0) if asked else found


def _inside(name: str) -> Callable[..., Any]:
    """A reduction as the method of an array, which asks its ufunc."""

    def reduced(a: Any, *args: Any, **more: Any) -> Any:
        from dalembert.bridge.entries import symbols

        given = {key: x for key, x in more.items() if x is not np._NoValue}
        return getattr(symbols(a), name)(*args, **given)

    return reduced


def _counting(function: Any) -> Callable[..., Any]:
    """A function that takes booleans for the numbers 0 and 1."""

    def called(*args: Any, **more: Any) -> Any:
        from dalembert.bridge.entries import PLAIN, counted, symbols

        given = [counted(x) if type(x) in PLAIN else x for x in args]
        return function._implementation(*map(symbols, given[:1]), *given[1:], **more)

    return called


_SUMS: tuple[str, ...] = (
    "average",
    "cumulative_sum",
    "cumulative_prod",
    "nansum",
    "nanprod",
    "nanmean",
    "nanvar",
)
_SUMS += ("nanstd", "nancumsum", "nancumprod")
_COUNTING = [getattr(np, name) for name in _SUMS if hasattr(np, name)]  # some in later versions
_NORMS = ("norm", "vector_norm", "matrix_norm", "trace")
_COUNTING += [getattr(np.linalg, name) for name in _NORMS if hasattr(np.linalg, name)]
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
    np.einsum: _einsum,
    np.sinc: _sinc,
    np.real: lambda val: val,
    np.imag: lambda val: 0.0 * val,
    np.count_nonzero: lambda a, axis=None, **more: np.sum(np.not_equal(a, 0.0), axis, **more),
    **{
        getattr(np, name): _inside(name)
        for name in ("sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "cumsum")
    },
    np.amax: _inside("max"),
    np.amin: _inside("min"),
    np.cumprod: _inside("cumprod"),
    np.trace: _inside("trace"),
    **{function: _counting(function) for function in _COUNTING},
}
"""Functions as they are written for entries."""


def by_casadi(function: Any, kind: Any, args: tuple[Any, ...], more: dict[str, Any]) -> Any:
    """A function of `numpy.linalg` in CasADi's operations; of a symmetric matrix its lower half."""
    if more:
        raise Unrecorded(f"np.linalg.{function.__name__}({', '.join(more)}=) of symbols")
    if function is np.linalg.cholesky:
        args = (np.tril(args[0]) + np.tril(args[0], -1).T,)
    return kind.by_casadi(function, args)


BY_CASADI = frozenset({np.linalg.inv, np.linalg.solve, np.linalg.det, np.linalg.cholesky})
"""Functions that CasADi has for symbols."""

_FIRST: tuple[str, ...] = (
    "argmax",
    "argmin",
    "argsort",
    "argpartition",
    "searchsorted",
    "ix_",
    "full_like",
)
_FIRST += ("shares_memory", "may_share_memory")
REFUSED = frozenset(getattr(np, name) for name in _FIRST)
"""Functions whose code, run on entries, gives something else than on numbers."""
