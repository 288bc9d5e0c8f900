"""Arguments of kernels: the backend of an array, and what is wrong with arguments NumPy has refused.

The backend is looked up in every call, by the module of the array's type: nothing is imported for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import ShapeError
from dalembert.tracing.program import Port


def on_device(arrays: Sequence[object]) -> bool:
    """Whether any of the arrays is on a GPU."""
    return any(type(x) is not np.ndarray and hasattr(x, "__cuda_array_interface__") for x in arrays)


def is_dask(x: object) -> bool:
    """Whether it is a dask array."""
    return type(x).__module__.partition(".")[0] == "dask"


def is_xarray(x: object) -> bool:
    """Whether it is an xarray.DataArray."""
    package = type(x).__module__.partition(".")[0]
    return package == "xarray" and hasattr(x, "dims") and hasattr(x, "name")


def needs_mapping(arrays: Sequence[object]) -> bool:
    """Whether any of the arrays is one of dask or xarray, over which functions are mapped."""
    return any(type(x) is not np.ndarray and (is_dask(x) or is_xarray(x)) for x in arrays)


def explain_error(error: Exception, ports: Sequence[Port], args: Sequence[ArrayLike]) -> ShapeError:
    """The error to raise instead of the one a ufunc raised for `args`, naming the argument.

    Arguments are not checked before a call; this runs only when it has failed.

    >>> ports = [Port("q", (6,)), Port("qd", (6,))]
    >>> print(explain_error(ValueError("mismatch"), ports, [np.zeros((9, 6)), np.zeros(5)]))
    qd has shape (5,), expected (..., 6)
    """
    if len(args) != len(ports):
        names = ", ".join(port.name for port in ports)
        plural = "" if len(ports) == 1 else "s"
        return ShapeError(f"expected {len(ports)} array{plural} ({names}), got {len(args)}")
    pairs = list(zip(ports, args, strict=True))
    problems = [text for port, arg in pairs if (text := _argument_problem(port, arg))]
    if problems:
        return ShapeError("; ".join(problems))
    try:
        np.broadcast_shapes(*(np.shape(x)[: np.ndim(x) - len(port.shape)] for port, x in pairs))
    except ValueError:
        shapes = ", ".join(f"{port.name} {np.shape(arg)}" for port, arg in pairs)
        return ShapeError(f"the batch axes do not broadcast together: {shapes}")
    return ShapeError(str(error))


def _argument_problem(port: Port, arg: ArrayLike) -> str | None:
    """The mistake in one argument by itself; None where there is none."""
    expected = f"(..., {', '.join(map(str, port.shape))})" if port.shape else "(...)"
    try:
        array = np.asarray(arg)
    except ValueError:
        return f"{port.name} has rows of different lengths, expected shape {expected}"
    if array.dtype.kind not in "fiub":
        kind = type(arg).__name__ if array.dtype == object else array.dtype
        return f"{port.name} is of type {kind}, expected real numbers of shape {expected}"
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        return f"{port.name} is {array.dtype}, expected float64 or float32: convert it with astype"
    if array.shape[max(0, array.ndim - len(port.shape)) :] != port.shape:
        return f"{port.name} has shape {array.shape}, expected {expected}"
    return None
