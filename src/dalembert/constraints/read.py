"""A user's constraint as rows of symbols: a function in NumPy or CasADi, or expressions by name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from dalembert import tracing
from dalembert.errors import CompileError, ConstraintError, DalembertError
from dalembert.model.parameter import Expression
from dalembert.systems.sympy_read import from_sympy, loose_symbols

# what a function may raise when it is given arrays of symbols it was not written for
UNTRACEABLE = (TypeError, NotImplementedError, AttributeError, RuntimeError, IndexError, ValueError)


def rows_of(given: Any, arguments: tuple[Any, ...], names: Mapping[str, Any], what: str) -> Any:
    """Rows (k,) from a function of `arguments` (arrays of symbols) or from expressions.

    Symbols of expressions, SymPy's or CasADi's, stand for what `names` says of their name.
    """
    value = _called(given, arguments, what) if callable(given) else given
    try:
        rows = [_scalar(x, names, what) for x in _entries(value)]
    except DalembertError:
        raise
    except (TypeError, ValueError, NotImplementedError) as error:
        raise ConstraintError(f"{what} gives {value!r}, which is no column of numbers") from error
    if not rows:
        raise ConstraintError(f"{what} gives no equation; return at least one number")
    return tracing.flat(rows)


def matrix_of(
    given: Any, arguments: tuple[Any, ...], names: Mapping[str, Any], columns: int, what: str
) -> Any:
    """A matrix (k, columns) likewise; a single row may be given as a vector."""
    value = _called(given, arguments, what) if callable(given) else given
    entries = [_scalar(x, names, what) for x in _entries(value)]
    shape = tuple(getattr(value, "shape", ())) or np.shape(value)
    width = shape[-1] if shape else 1
    if not entries or len(entries) % columns or width != columns:
        raise ConstraintError(
            f"{what} has shape {shape}; expected (k, {columns}), one column for each velocity"
        )
    return tracing.flat(entries).reshape(len(entries) // columns, columns)


def _called(function: Callable[..., Any], arguments: tuple[Any, ...], what: str) -> Any:
    """Its value on arrays of symbols, or on SX where it is written with CasADi's own functions."""
    try:
        return function(*map(tracing.copied, arguments))
    except CompileError as error:
        raise ConstraintError(f"{what} cannot be traced: {error}") from error
    except UNTRACEABLE as error:
        refused = error
    if sys.modules.get("casadi") is not None:
        plain = [tracing.exported(x) if tracing.is_array(x) else x for x in arguments]
        try:
            return function(*plain)
        except UNTRACEABLE as error:
            refused = error
    raise ConstraintError(
        f"{what} cannot be traced: {refused}. Write it with NumPy functions of the array q "
        "(np.stack for new arrays) or with CasADi"
    ) from refused


def _entries(value: Any) -> Iterable[Any]:
    """Scalars in C order."""
    value = tracing.adopted(value)
    if tracing.is_array(value):
        return list(value.ravel())
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype != object else value.ravel()
    if isinstance(value, list | tuple):
        return [x for item in value for x in _entries(item)]
    if hasattr(value, "is_Matrix") and value.is_Matrix:
        return list(value)
    return [value]


def _scalar(value: Any, names: Mapping[str, Any], what: str) -> Any:
    value = tracing.adopted(value.symbol() if isinstance(value, Expression) else value)
    if tracing.is_array(value):
        return _renamed(value, names)
    if any(base.__module__.startswith("sympy") for base in type(value).__mro__):
        return _from_sympy(value, names, what)
    number = float(value)
    if not np.isfinite(number):
        raise ConstraintError(f"{what} holds {number}; give finite numbers")
    return number


def _renamed(value: Any, names: Mapping[str, Any]) -> Any:
    """The user's own symbols replaced by ours of the same name."""
    ours = set(map(tracing.identity, names.values()))
    loose = {
        tracing.name_of(s): s for s in tracing.symbols_of(value) if tracing.identity(s) not in ours
    }
    met = [name for name in loose if name in names]
    if not met:
        return value
    return tracing.at([value], [loose[name] for name in met], [names[name] for name in met])[0]


def _from_sympy(value: Any, names: Mapping[str, Any], what: str) -> Any:
    from sympy.core.function import AppliedUndef

    nodes = {*value.free_symbols, *value.atoms(AppliedUndef)}
    table = {node: names[_name(node)] for node in nodes if _name(node) in names}
    unknown = loose_symbols(value, table, what)
    if unknown:
        raise ConstraintError(
            f"{what} uses {', '.join(unknown)}, neither a coordinate nor a parameter; there are: "
            f"{', '.join(names)}"
        )
    return from_sympy(value, table, what, smooth=True)


def _name(node: Any) -> str:
    return str(node.name if node.is_Symbol else node.func)
