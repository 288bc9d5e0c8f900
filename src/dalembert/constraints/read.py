"""A user's constraint as CasADi rows: a function in NumPy or CasADi, or expressions by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ConstraintError, DalembertError
from dalembert.model.parameter import Expression
from dalembert.systems.sympy_read import loose_symbols, to_casadi

if TYPE_CHECKING:
    import casadi

# what a function may raise when it is given arrays of symbols it was not written for
UNTRACEABLE = (TypeError, NotImplementedError, AttributeError, RuntimeError, IndexError, ValueError)


def rows_of(
    given: Any, arguments: tuple[Any, ...], names: Mapping[str, Any], what: str
) -> casadi.SX:
    """A column (k, 1) of SX from a function of `arguments` (casadi arrays) or from expressions.

    Symbols of expressions, SymPy's or CasADi's, stand for what `names` says of their name.
    """
    import casadi

    value = _called(given, arguments, what) if callable(given) else given
    try:
        flat = [_scalar(x, names, what) for x in _entries(value)]
    except DalembertError:
        raise
    except (TypeError, ValueError, NotImplementedError) as error:
        raise ConstraintError(f"{what} gives {value!r}, which is no column of numbers") from error
    if not flat:
        raise ConstraintError(f"{what} gives no equation; return at least one number")
    return casadi.vertcat(*flat)


def matrix_of(
    given: Any, arguments: tuple[Any, ...], names: Mapping[str, Any], columns: int, what: str
) -> casadi.SX:
    """A matrix (k, columns) of SX; a single row may be given as a vector."""
    import casadi

    value = _called(given, arguments, what) if callable(given) else given
    entries = casadi.vertcat(*(_scalar(x, names, what) for x in _entries(value)))
    count = entries.numel()
    shape = tuple(getattr(value, "shape", ())) or np.shape(value)
    width = shape[-1] if shape else 1
    if count == 0 or count % columns or width != columns:
        raise ConstraintError(
            f"{what} has shape {shape}; expected (k, {columns}), one column for each velocity"
        )
    return casadi.reshape(entries, columns, count // columns).T


def _called(function: Callable[..., Any], arguments: tuple[Any, ...], what: str) -> Any:
    """Its value on casadi arrays, or on SX where it is written with CasADi's own functions."""
    try:
        return function(*arguments)
    except UNTRACEABLE:
        plain = [x.to_casadi() if hasattr(x, "to_casadi") else x for x in arguments]
    try:
        return function(*plain)
    except UNTRACEABLE as error:
        raise ConstraintError(
            f"{what} cannot be traced: {error}. Write it with NumPy functions of the array q "
            "(np.stack for new arrays) or with CasADi"
        ) from error


def _entries(value: Any) -> Iterable[Any]:
    """Scalars in C order."""
    import casadi

    if isinstance(value, casadi.ArrayInterface):
        return casadi.vertsplit(casadi.SX(casadi.densify(value.ravel().to_casadi())))
    if isinstance(value, casadi.SX | casadi.DM):
        dense = casadi.SX(casadi.densify(value))
        return [dense[i, j] for i in range(dense.shape[0]) for j in range(dense.shape[1])]
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype != object else value.ravel()
    if isinstance(value, list | tuple):
        return [x for item in value for x in _entries(item)]
    if hasattr(value, "is_Matrix") and value.is_Matrix:
        return list(value)
    return [value]


def _scalar(value: Any, names: Mapping[str, Any], what: str) -> casadi.SX:
    import casadi

    if isinstance(value, Expression):
        value = value.symbol()
    if isinstance(value, casadi.ArrayInterface):
        value = casadi.SX(value.to_casadi())
    if isinstance(value, casadi.SX):
        return _renamed(value, names)
    if any(base.__module__.startswith("sympy") for base in type(value).__mro__):
        return casadi.SX(_from_sympy(value, names, what))
    number = float(value)
    if not np.isfinite(number):
        raise ConstraintError(f"{what} holds {number}; give finite numbers")
    return casadi.SX(number)


def _renamed(value: casadi.SX, names: Mapping[str, Any]) -> casadi.SX:
    """The user's own symbols replaced by ours of the same name."""
    import casadi

    ours = {symbol.element_hash() for symbol in names.values()}
    loose = [s for s in casadi.symvar(value) if s.element_hash() not in ours and s.name() in names]
    if not loose:
        return value
    return casadi.substitute(
        value, casadi.vertcat(*loose), casadi.vertcat(*(names[s.name()] for s in loose))
    )


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
    return to_casadi(value, table, what, smooth=True)


def _name(node: Any) -> str:
    return str(node.name if node.is_Symbol else node.func)
