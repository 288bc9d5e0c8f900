"""Tests for symbols, without importing the tracer or CasADi."""

from __future__ import annotations


def is_symbolic(value: object) -> bool:
    """Whether it is an array of symbols, a scalar, or one of CasADi's.

    >>> from dalembert.tracing import symbol
    >>> is_symbolic(symbol("x")), is_symbolic(1.0)
    (True, False)
    """
    return is_array(value) or is_casadi(value)


def is_array(value: object) -> bool:
    """Whether it is an array of symbols or a scalar of this package."""
    return bool(getattr(type(value), "is_symbols", False))


def is_casadi(value: object) -> bool:
    """Whether it is one of CasADi's matrices or arrays."""
    return str(type(value).__module__).startswith("casadi")  # SymPy has types without a module
