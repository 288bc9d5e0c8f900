"""What was wrong with the arguments of a kernel, in words, after NumPy has refused them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.errors import ShapeError
from dalembert.tracing.program import Port


def explain(error: Exception, ports: Sequence[Port], args: Sequence[Any]) -> ShapeError:
    """The error to raise instead of the one a ufunc raised for `args`, naming the argument.

    Nothing is looked at before a call; this runs only when it has failed.

    >>> ports = [Port("q", (6,)), Port("qd", (6,))]
    >>> print(explain(ValueError("mismatch"), ports, [np.zeros((9, 6)), np.zeros(5)]))
    qd has shape (5,), expected (..., 6)
    """
    if len(args) != len(ports):
        names = ", ".join(port.name for port in ports)
        plural = "" if len(ports) == 1 else "s"
        return ShapeError(f"expected {len(ports)} array{plural} ({names}), got {len(args)}")
    problems = [
        text for port, arg in zip(ports, args, strict=True) if (text := _problem(port, arg))
    ]
    if not problems:
        problems = _batch_problem(ports, args) or [str(error)]
    return ShapeError("; ".join(problems))


def _problem(port: Port, arg: Any) -> str | None:
    """What one argument alone has wrong."""
    try:
        array = np.asarray(arg)
    except ValueError:
        return f"{port.name} has rows of different lengths, expected shape {_expected(port)}"
    if array.dtype.kind not in "fiub":
        kind = type(arg).__name__ if array.dtype == object else array.dtype
        return f"{port.name} is of type {kind}, expected real numbers of shape {_expected(port)}"
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        return f"{port.name} is {array.dtype}, expected float64 or float32: convert it with astype"
    core = array.shape[max(0, array.ndim - len(port.shape)) :]
    if core != port.shape:
        return f"{port.name} has shape {array.shape}, expected {_expected(port)}"
    return None


def _batch_problem(ports: Sequence[Port], args: Sequence[Any]) -> list[str]:
    """Whether arguments that are right one by one differ in how many states they hold."""
    shapes = [np.shape(arg) for arg in args]
    batches = [s[: len(s) - len(p.shape)] for s, p in zip(shapes, ports, strict=True)]
    try:
        np.broadcast_shapes(*batches)
    except ValueError:
        said = ", ".join(f"{port.name} {shape}" for port, shape in zip(ports, shapes, strict=True))
        return [f"the batch axes do not broadcast together: {said}"]
    return []


def _expected(port: Port) -> str:
    return f"(..., {', '.join(map(str, port.shape))})" if port.shape else "(...)"
