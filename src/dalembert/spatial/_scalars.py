"""Arrays over any scalar: floats, or symbols that follow NumPy's functions (`casadi.array`)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.spatial.arrays import Array, Scalar

_NUMBERS = (float, int, np.number, np.ndarray)


def is_numeric(x: Any) -> bool:
    """Whether `x` holds plain numbers, so that a branch may be taken now and not in the trace."""
    if isinstance(x, list | tuple):
        return all(is_numeric(entry) for entry in x)
    return isinstance(x, _NUMBERS)


def as_array(x: Any) -> Array:
    """`x` as an array: floats become float64, symbols stay; lists may mix both (vectors only)."""
    if isinstance(x, np.ndarray):
        return x
    if is_numeric(x):
        return np.asarray(x, dtype=float)
    return np.stack(x) if isinstance(x, list | tuple) else x


def vector(*entries: Scalar) -> Array:
    """The entries as an (n,) array, of floats when all are numbers."""
    return np.array(entries, dtype=float) if is_numeric(entries) else np.stack(entries)


def matrix(rows: Sequence[Sequence[Scalar]]) -> Array:
    """The rows of scalars as an (m, n) array, of floats when all are numbers."""
    flat = [entry for row in rows for entry in row]
    return vector(*flat).reshape(len(rows), len(rows[0]))


def polynomial(x: Scalar, coefficients: Sequence[float]) -> Scalar:
    """c₀ + c₁x + c₂x² + ... by Horner's rule."""
    value: Scalar = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        value = value * x + c
    return value
