"""Tracing: arrays of symbols that record what is done with them, their derivatives, and functions.

Everything takes and gives arrays, of numbers or of symbols, so that what is built on it reads like
NumPy.

>>> import numpy as np
>>> from dalembert import tracing
>>> q = tracing.symbol("q", 2)
>>> derivative = tracing.jacobian(q[0] * q, q)  # ∂(q₀ q)/∂q (2, 2)
>>> tracing.Function([q], [derivative])(np.array([3.0, 5.0]))[0]
array([[6., 0.],
       [5., 3.]])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.tracing.kinds import is_array, is_casadi, is_symbolic

if TYPE_CHECKING:
    from dalembert.tracing.arrays import (
        constant,
        copied,
        cut,
        entries_of,
        erf,
        flat,
        identity,
        is_letter,
        is_zero,
        name_of,
        of_identities,
        of_keys,
        operations,
        recording,
        shape_of,
        symbol,
        symbols,
        symbols_beyond,
        symbols_of,
        table_with,
        zero_rows,
    )
    from dalembert.tracing.calculus import (
        at,
        depends_on,
        directional,
        gradient,
        hessian,
        jacobian,
        transposed,
    )
    from dalembert.tracing.casadi_io import adopted, exported, exported_array
    from dalembert.tracing.function import Function, along, program_of, traced
    from dalembert.tracing.implicit import Mark, is_watched, marks, pulled, pushed, solution

__all__ = [
    "Function",
    "Mark",
    "adopted",
    "along",
    "at",
    "constant",
    "copied",
    "cut",
    "depends_on",
    "directional",
    "entries_of",
    "erf",
    "exported",
    "exported_array",
    "flat",
    "gradient",
    "hessian",
    "identity",
    "is_array",
    "is_casadi",
    "is_letter",
    "is_symbolic",
    "is_watched",
    "is_zero",
    "jacobian",
    "marks",
    "name_of",
    "of_identities",
    "of_keys",
    "operations",
    "program_of",
    "pulled",
    "pushed",
    "recording",
    "shape_of",
    "solution",
    "symbol",
    "symbols",
    "symbols_beyond",
    "symbols_of",
    "table_with",
    "traced",
    "transposed",
    "zero_rows",
]


def __getattr__(name: str) -> Any:
    """The tracer is imported when it is first used: kernels from the cache need none."""
    if name not in __all__:
        raise AttributeError(f"module 'dalembert.tracing' has no attribute {name!r}")
    from dalembert.tracing import arrays, calculus, casadi_io, function, implicit

    for module in (arrays, calculus, casadi_io, function, implicit):
        globals().update({key: getattr(module, key) for key in __all__ if hasattr(module, key)})
    return globals()[name]
