"""Names for arrays that say their shapes: NumPy arrays, or arrays of symbols while tracing.

To a type checker they all are NumPy arrays. Arrays of symbols (`casadi.array`) follow NumPy's
slicing, operators and functions, so what is written for the one runs on the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray  # of any shape
Vector: TypeAlias = np.ndarray  # (n,): coordinates, velocities, torques
Matrix: TypeAlias = np.ndarray  # (m, n)
Vector3: TypeAlias = np.ndarray  # (3,)
Matrix3: TypeAlias = np.ndarray  # (3, 3): rotations, tensors
Matrix4: TypeAlias = np.ndarray  # (4, 4): rates of poses, pseudo-inertias
Matrix6: TypeAlias = np.ndarray  # (6, 6): inertias, adjoints
Twist: TypeAlias = np.ndarray  # (6,) linear, angular
Wrench: TypeAlias = np.ndarray  # (6,) force, moment
Pose: TypeAlias = np.ndarray  # (4, 4)
Quaternion: TypeAlias = np.ndarray  # (4,) x, y, z, w

Scalar: TypeAlias = Any  # a float, a 0-d array or a symbol: no type has all three
ArrayLike: TypeAlias = np.ndarray | Sequence[Any]  # an array, or nested sequences of scalars
