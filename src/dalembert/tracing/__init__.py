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

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dalembert.tracing.scalars import is_array as is_array
from dalembert.tracing.scalars import is_casadi as is_casadi
from dalembert.tracing.scalars import is_symbolic as is_symbolic

if TYPE_CHECKING:
    from dalembert.tracing.arrays import constant as constant
    from dalembert.tracing.arrays import copied as copied
    from dalembert.tracing.arrays import cut as cut
    from dalembert.tracing.arrays import entries_of as entries_of
    from dalembert.tracing.arrays import erf as erf
    from dalembert.tracing.arrays import flat as flat
    from dalembert.tracing.arrays import identity as identity
    from dalembert.tracing.arrays import is_symbol as is_symbol
    from dalembert.tracing.arrays import is_zero as is_zero
    from dalembert.tracing.arrays import name_of as name_of
    from dalembert.tracing.arrays import of_identities as of_identities
    from dalembert.tracing.arrays import of_keys as of_keys
    from dalembert.tracing.arrays import operations as operations
    from dalembert.tracing.arrays import recording as recording
    from dalembert.tracing.arrays import shape_of as shape_of
    from dalembert.tracing.arrays import symbol as symbol
    from dalembert.tracing.arrays import symbols as symbols
    from dalembert.tracing.arrays import symbols_beyond as symbols_beyond
    from dalembert.tracing.arrays import symbols_of as symbols_of
    from dalembert.tracing.arrays import table_with as table_with
    from dalembert.tracing.arrays import zero_rows as zero_rows
    from dalembert.tracing.casadi_io import adopted as adopted
    from dalembert.tracing.casadi_io import exported as exported
    from dalembert.tracing.casadi_io import exported_array as exported_array
    from dalembert.tracing.derivatives import at as at
    from dalembert.tracing.derivatives import depends_on as depends_on
    from dalembert.tracing.derivatives import directional as directional
    from dalembert.tracing.derivatives import gradient as gradient
    from dalembert.tracing.derivatives import hessian as hessian
    from dalembert.tracing.derivatives import jacobian as jacobian
    from dalembert.tracing.derivatives import transposed as transposed
    from dalembert.tracing.function import Function as Function
    from dalembert.tracing.function import Mark as Mark
    from dalembert.tracing.function import along as along
    from dalembert.tracing.function import is_differentiating as is_differentiating
    from dalembert.tracing.function import jvp as jvp
    from dalembert.tracing.function import marks as marks
    from dalembert.tracing.function import program_of as program_of
    from dalembert.tracing.function import solution as solution
    from dalembert.tracing.function import traced as traced
    from dalembert.tracing.function import vjp as vjp


def __getattr__(name: str) -> Any:
    """The tracer is imported when it is first used: kernels from the cache need none."""
    for module in ("arrays", "derivatives", "casadi_io", "function"):
        names = vars(import_module(f"{__name__}.{module}"))
        if name in names and not name.startswith("__"):
            return globals().setdefault(name, names[name])
    raise AttributeError(f"module 'dalembert.tracing' has no attribute {name!r}")
