"""Tests for symbols, without importing the tracer or CasADi."""

from __future__ import annotations

from typing import Any


def is_symbolic(value: Any) -> bool:
    """Whether it is an array of symbols, a scalar, or one of CasADi's.

    >>> from dalembert.tracing import symbol
    >>> is_symbolic(symbol("x")), is_symbolic(1.0)
    (True, False)
    """
    kind = type(value)  # SymPy has types without a module
    return getattr(kind, "is_symbols", False) or str(kind.__module__).startswith("casadi")


def is_array(value: Any) -> bool:
    """Whether it is an array of symbols or a scalar of this package."""
    return getattr(type(value), "is_symbols", False)


def is_casadi(value: Any) -> bool:
    """Whether it is one of CasADi's matrices or arrays."""
    return str(type(value).__module__).startswith("casadi")
