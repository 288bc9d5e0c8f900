"""The one door to CasADi: arrays of symbols, their derivatives, and functions made of them.

Everything takes and gives arrays, of numbers or of symbols, so that what is built on it reads like
NumPy. CasADi is imported when the first symbol is made, not before.

>>> import numpy as np
>>> from dalembert import bridge
>>> q = bridge.symbol("q", 2)
>>> slope = bridge.jacobian(q[0] * q, q)  # ∂(q₀ q)/∂q (2, 2)
>>> bridge.Function([q], [slope])(np.array([3.0, 5.0]))[0]
array([[6., 0.],
       [5., 3.]])
"""

from dalembert.bridge.arrays import (
    array,
    column,
    constant,
    copied,
    cut,
    flat,
    is_symbolic,
    is_zero,
    shape_of,
    symbol,
    zero_rows,
)
from dalembert.bridge.calculus import (
    at,
    depends_on,
    directional,
    gradient,
    hessian,
    jacobian,
    transposed,
)
from dalembert.bridge.foreign import adopted, erf, is_array, is_letter, operations
from dalembert.bridge.functions import Function, along, columns_function, traced
from dalembert.bridge.implicit import (
    Mark,
    is_watched,
    marks,
    pulled,
    pushed,
    solution,
)
from dalembert.bridge.letters import identity, name_of, symbols_beyond, symbols_of

__all__ = [
    "Function",
    "Mark",
    "adopted",
    "along",
    "array",
    "at",
    "column",
    "columns_function",
    "constant",
    "copied",
    "cut",
    "depends_on",
    "directional",
    "erf",
    "flat",
    "gradient",
    "hessian",
    "identity",
    "is_array",
    "is_letter",
    "is_symbolic",
    "is_watched",
    "is_zero",
    "jacobian",
    "marks",
    "name_of",
    "operations",
    "pulled",
    "pushed",
    "shape_of",
    "solution",
    "symbol",
    "symbols_beyond",
    "symbols_of",
    "traced",
    "transposed",
    "zero_rows",
]
