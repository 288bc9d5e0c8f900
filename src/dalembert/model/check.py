"""Numbers at the door: of the right shape and finite, or an error that names the part and the key.

Parameters and expressions of them pass as symbols; everything else becomes floats here, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from dalembert.errors import ModelError
from dalembert.model.parameter import Expression, expression
from dalembert.spatial.placement import Placement
from dalembert.spatial.rotations import snap
from dalembert.text import plain_name, short
from dalembert.tracing import is_symbolic

# m l² of numbers beyond this would overflow later, where nobody knows their name any more
LARGEST = 1e60
_WORDS = {
    (): "one finite number",
    (3,): "three finite numbers",
    (6,): "six finite numbers",
    (3, 3): "3×3 finite numbers (about the centre of mass)",
    (4, 4): "a 4×4 pose of finite numbers",
}


def numbers(
    value: Any, shape: tuple[int, ...], what: str, error: type[ModelError] = ModelError
) -> Any:
    """An array of this shape, floats or symbols.

    >>> numbers((1, 2, 3), (3,), "com of link 'arm'")
    array([1., 2., 3.])
    >>> numbers((1,), (3,), "com of link 'arm'")
    Traceback (most recent call last):
    ...
    dalembert.errors.ModelError: com of link 'arm' must be three finite numbers, not (1,)
    """
    array = _read(value)
    if array is not None and array.shape == shape and (is_symbolic(array) or _finite(array)):
        return array
    words = _WORDS.get(shape, f"{shape[0] if shape else 1} finite numbers")
    found = f" of shape {array.shape}" if array is not None and len(shape) > 1 else ""
    raise error(f"{what} must be {words}, not {short(value)}{found}")


def is_one(value: Any) -> bool:
    """Whether something is one number or symbol, not a list of them."""
    array = _read(value)
    return array is None or array.shape == ()


def number(value: Any, what: str) -> Any:
    """One number, shape ()."""
    return numbers(value, (), what)


def direction(value: Any, what: str) -> Any:
    """An axis (3,), not zero as far as it is numbers."""
    axis = numbers(value, (3,), what)
    if not is_symbolic(axis) and np.linalg.norm(axis) < 1e-9:
        raise ModelError(f"{what} is {axis}; it must be three numbers, not all zero")
    return axis


def pose(value: Any, what: str) -> Any:
    """A (4, 4) pose; None is the identity. Numeric rotations are checked to be rotations."""
    if value is None:
        return np.eye(4)
    given = numbers(value, (4, 4), what)
    if is_symbolic(given):
        return given
    rotation = given[:3, :3]
    off = np.abs(rotation @ rotation.T - np.eye(3)).max()
    if not np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-6):
        raise ModelError(f"{what} is not a rigid pose: its rotation R has R Rᵀ off 1 by {off:.2g}")
    if np.linalg.det(rotation) < 0:
        raise ModelError(f"{what} is not a rigid pose: its rotation is mirrored, determinant −1")
    if np.any(given[3] != (0, 0, 0, 1)):
        raise ModelError(
            f"{what} is not a rigid pose: its last row is {given[3]}, not (0, 0, 0, 1)"
        )
    return np.block([[snap(rotation), given[:3, 3:]], [given[3:]]])


def placement(value: Any, what: str) -> Placement:
    """The same as rotation and origin."""
    given = pose(value, what)
    return Placement(given[:3, :3], given[:3, 3])


def limit(value: Any, what: str) -> float:
    """One number that may be infinite, but not NaN."""
    array = _read(value)
    if array is not None and is_symbolic(array):
        raise ModelError(
            f"{what} is the parameter {short(value)}; limits are not in the equations and must be "
            "numbers (with_limits gives a robot with others)"
        )
    if array is None or array.shape != () or np.isnan(array):
        raise ModelError(f"{what} must be a number, or inf for none, not {short(value)}")
    return float(array)


def limits(value: Any, label: str) -> tuple[float, float]:
    """Lower and upper limit of a joint; None is no limit."""
    if value is None:
        return -np.inf, np.inf
    try:
        lower, upper = value
    except (TypeError, ValueError):
        raise ModelError(
            f"joint {label!r}: limits must be (lower, upper), not {short(value)}"
        ) from None
    pair = limit(lower, f"joint {label!r}: lower limit"), limit(upper, f"joint {label!r}: upper")
    if pair[0] > pair[1]:
        raise ModelError(f"joint {label!r}: limits ({pair[0]}, {pair[1]}) are reversed")
    return pair


def mapping(value: Any, what: str) -> dict[str, Any]:
    """A copy of a mapping whose keys are text."""
    if not isinstance(value, Mapping):
        raise ModelError(f"{what} must be a mapping of keys to values, not {short(value)}")
    for key in value:
        plain_name(key, what)
    return dict(value)


def label(name: Any, what: str) -> str:
    """A name that is not empty."""
    if not isinstance(name, str) or not name:
        raise ModelError(f"{what} needs a name; got {short(name)}")
    return plain_name(name, what)


def _read(value: Any) -> Any:
    """Floats or symbols; None where it is neither."""
    try:
        array = expression(value)
        if is_symbolic(array):
            return array if _sound_beside(value) else None
        given = np.asarray(value)
    except (TypeError, ValueError, OverflowError, NotImplementedError, RuntimeError):
        return None
    # NumPy would read "1" as a number, None as NaN and 1 + 2j as 1
    real = given.dtype.kind in "biuf" or all(isinstance(x, Real) for x in given.ravel())
    return array if real else None


def _sound_beside(value: Any) -> bool:
    """Whether what stands beside the symbols of a list is finite numbers."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return all(map(_sound_beside, value))
    if isinstance(value, Expression) or is_symbolic(value):
        return True
    return isinstance(value, Real) and abs(float(value)) <= LARGEST  # NaN is not


def _finite(array: np.ndarray) -> bool:
    return bool((np.abs(array) <= LARGEST).all())  # NaN is not
