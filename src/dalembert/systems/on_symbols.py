"""Somebody's own symbols as arguments: lists of CasADi's, and SymPy's, for which SymPy comes back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert import tracing
from dalembert.errors import ShapeError
from dalembert.kernels import Port, Program


def as_arrays(arguments: Sequence[Any]) -> list[Any] | None:
    """The arguments with lists of CasADi's symbols as arrays; None where there are no symbols."""
    found = [_array(x) for x in arguments]
    return found if any(map(tracing.is_symbolic, found)) else None


def _array(x: Any) -> Any:
    items = _items(x)
    if not any(tracing.is_symbolic(item) for item in items):
        return x
    return tracing.flat(items)


def _items(x: Any) -> list[Any]:
    if isinstance(x, list | tuple):
        return [tracing.adopted(item) for item in x]
    if isinstance(x, np.ndarray) and x.dtype == object:
        return [tracing.adopted(item) for item in x.ravel()]
    return []


_UNSEEN = ("jax", "jaxlib", "torch", "dask", "xarray")


def is_symbols(x: Any) -> bool:
    """Whether a result is of symbols, CasADi's or SymPy's, and so neither finite nor not.

    So are the arrays of frameworks that trace, and those of dask and xarray: nobody knows their
    numbers yet, or they were looked at chunk by chunk.
    """
    if type(x) in (np.ndarray, float):
        return False
    return tracing.is_symbolic(x) or _is_sympy(x) or _module(x) in _UNSEEN


def _module(x: Any) -> str:
    return type(x).__module__.partition(".")[0]


def require_scalar_graph(name: str, quantity: str, arguments: Sequence[Any]) -> None:
    """Raise for casadi.MX, whose operations are matrices', in words."""
    if any(type(x).__name__ == "MX" for x in arguments):
        raise ShapeError(
            f"{name}.{quantity} takes casadi.SX; for casadi.MX call what "
            f"casadi_function({quantity!r}) gives"
        )


def has_sympy(arguments: Sequence[Any]) -> bool:
    """Whether expressions of SymPy are among the arguments."""
    return any(_is_sympy(item) for x in arguments for item in (x, *_items(x)))


def _is_sympy(x: Any) -> bool:
    return any(base.__module__.startswith("sympy.") for base in type(x).__mro__)


def by_sympy(
    program: Program, inputs: Sequence[Port], arguments: Sequence[Any], parameters: np.ndarray
) -> Any:
    """The outputs of a program of SymPy's expressions: expressions and matrices of SymPy."""
    from dalembert.symbolic.operations import exact, number, to_sympy

    def entries(x: Any) -> list[Any]:
        flat = list(x) if hasattr(x, "__len__") else [x]
        return [item if _is_sympy(item) else number(exact(float(item))) for item in flat]

    given = dict(zip([port.name for port in inputs], map(entries, arguments), strict=False))
    if "parameters" in [port.name for port in inputs]:
        given["parameters"] = entries(parameters)
    for port in inputs:
        if len(given[port.name]) != port.size:
            raise ShapeError(
                f"{port.name} has {len(given[port.name])} entries of SymPy, expected {port.size}"
            )
    found = tuple(to_sympy(program, given).values())
    return found if len(found) > 1 else found[0]
