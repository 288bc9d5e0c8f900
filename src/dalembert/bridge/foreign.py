"""CasADi's own objects as users hand them in: taken as arrays, and looked into."""

from __future__ import annotations

from typing import Any

from dalembert.bridge.arrays import array, column, is_symbolic


def adopted(value: Any) -> Any:
    """A casadi.SX or DM as an array, columns as vectors and 1×1 as numbers; all else as it is.

    >>> import casadi
    >>> [adopted(casadi.SX.sym("x", *shape)).shape for shape in ((), (2,), (2, 3))]
    [(), (2,), (2, 3)]
    """
    if not is_symbolic(value) or type(value).__name__ not in ("SX", "DM"):
        return value
    rows, columns = value.shape
    shape = (rows, columns) if columns != 1 else (rows,) if rows != 1 else ()
    return array(column(value), *shape)


def is_array(value: Any) -> bool:
    """Whether it is an array of symbols, not another type of CasADi (MX, functions)."""
    return is_symbolic(value) and hasattr(value, "to_casadi")


def is_letter(value: Any) -> bool:
    """Whether it is a single symbol, with a name, and no expression.

    >>> from dalembert.bridge import symbol
    >>> x = symbol("x")
    >>> is_letter(x), is_letter(2 * x), is_letter(3.0)
    (True, False, False)
    """
    return is_array(value) and value.size == 1 and bool(column(value).is_symbolic())


def operations(value: Any) -> set[str]:
    """CasADi's names of the operations in an array of symbols.

    >>> from dalembert.bridge import symbol
    >>> x = symbol("x")
    >>> sorted(operations(x.reshape(1) * 3) - {"INPUT", "OUTPUT", "CONST"})
    ['MUL']
    """
    import casadi

    entries = column(value)
    function = casadi.Function("seen", casadi.symvar(entries), [entries])
    names = {getattr(casadi, key): key[3:] for key in dir(casadi) if key[:3] == "OP_"}
    return {names[function.instruction_id(k)] for k in range(function.n_instructions())}


def erf(x: Any) -> Any:
    """The error function of an array of symbols, which NumPy does not have."""
    import casadi

    return array(casadi.erf(column(x)), *x.shape)
