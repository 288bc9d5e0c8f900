"""Factorisations and solves that trace, rank decisions, and BLAS on one thread."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def single_threaded(function: Callable[P, R]) -> Callable[P, R]:
    """The function with the BLAS of NumPy and SciPy on one thread while it runs.

    A QR of some hundred rows takes a millisecond; shared between threads of a busy machine it takes a
    hundred. What is large is divided by whoever calls, into blocks.

    >>> import numpy as np
    >>> single_threaded(np.linalg.det)(np.eye(2))
    np.float64(1.0)
    """

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        import scipy.linalg  # noqa: F401  # its own BLAS can be held once it is there
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1, user_api="blas"):
            return function(*args, **kwargs)

    return run
