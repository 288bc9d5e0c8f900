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

from dalembert.tracing.scalars import is_array, is_casadi, is_symbolic

if TYPE_CHECKING:
    from dalembert.tracing.arrays import (
        constant,
        copied,
        cut,
        entries_of,
        erf,
        flat,
        identity,
        is_symbol,
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
    from dalembert.tracing.casadi_io import adopted, exported, exported_array
    from dalembert.tracing.derivatives import (
        at,
        depends_on,
        directional,
        gradient,
        hessian,
        jacobian,
        transposed,
    )
    from dalembert.tracing.function import (
        Function,
        Mark,
        along,
        is_differentiating,
        jvp,
        marks,
        program_of,
        solution,
        traced,
        vjp,
    )

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
    "is_differentiating",
    "is_symbol",
    "is_symbolic",
    "is_zero",
    "jacobian",
    "jvp",
    "marks",
    "name_of",
    "of_identities",
    "of_keys",
    "operations",
    "program_of",
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
    "vjp",
    "zero_rows",
]


def __getattr__(name: str) -> Any:
    """The tracer is imported when it is first used: kernels from the cache need none."""
    if name not in __all__:
        raise AttributeError(f"module 'dalembert.tracing' has no attribute {name!r}")
    from dalembert.tracing import arrays, casadi_io, derivatives, function

    for module in (arrays, derivatives, casadi_io, function):
        globals().update({key: getattr(module, key) for key in __all__ if hasattr(module, key)})
    return globals()[name]
