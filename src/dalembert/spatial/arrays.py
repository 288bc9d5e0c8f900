"""Names for arrays that say their shapes: NumPy arrays, or arrays of symbols while tracing.

To a type checker they all are NumPy arrays. Arrays of symbols (`tracing`) follow NumPy's
slicing, operators and functions, so what is written for the one runs on the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = np.ndarray  # of any shape
Vector: TypeAlias = NDArray[np.float64]  # (n,): coordinates, velocities, torques
Matrix: TypeAlias = NDArray[np.float64]  # (m, n)
Vector3: TypeAlias = NDArray[np.float64]  # (3,)
Matrix3: TypeAlias = NDArray[np.float64]  # (3, 3): rotations, tensors
Matrix4: TypeAlias = NDArray[np.float64]  # (4, 4): rates of poses, pseudo-inertias
Matrix6: TypeAlias = NDArray[np.float64]  # (6, 6): inertias, adjoints
Twist: TypeAlias = NDArray[np.float64]  # (6,) linear, angular
Wrench: TypeAlias = NDArray[np.float64]  # (6,) force, moment
Pose: TypeAlias = NDArray[np.float64]  # (4, 4)
Quaternion: TypeAlias = NDArray[np.float64]  # (4,) x, y, z, w

Scalar: TypeAlias = Any  # a float, a 0-d array or a symbol: no type has all three
ArrayLike: TypeAlias = np.ndarray | Sequence[Any]  # an array, or nested sequences of scalars


_NUMBERS = (float, int, np.number)


def is_numeric(x: Any) -> bool:
    """Whether `x` holds plain numbers, so that a branch may be taken now and not in the trace."""
    if isinstance(x, list | tuple):
        return all(is_numeric(entry) for entry in x)
    if isinstance(x, np.ndarray):
        return bool(x.dtype != object)
    return isinstance(x, _NUMBERS)


def as_array(x: Any) -> Vector:
    """`x` as an array: floats become float64, symbols stay; lists may mix both (vectors only)."""
    if isinstance(x, np.ndarray):
        return x
    if is_numeric(x):
        return np.asarray(x, dtype=float)
    return np.stack(x) if isinstance(x, list | tuple) else x


def vector(*entries: Scalar) -> Vector:
    """The entries as an (n,) array, of floats when all are numbers."""
    return np.array(entries, dtype=float) if is_numeric(entries) else np.stack(entries)


def matrix(rows: Sequence[Sequence[Scalar]]) -> Matrix:
    """The rows of scalars as an (m, n) array, of floats when all are numbers."""
    flat = [entry for row in rows for entry in row]
    return vector(*flat).reshape(len(rows), len(rows[0]))


def polynomial(x: Scalar, coefficients: Sequence[float] | Array) -> Scalar:
    """c₀ + c₁x + c₂x² + ... by Horner's rule."""
    value: Scalar = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        value = value * x + c
    return value
