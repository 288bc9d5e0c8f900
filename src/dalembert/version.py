"""The version, the time of import, and deprecation warnings.

In the lowest layer, so that every module may use them; pyproject.toml reads the version from here.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

__version__ = "0.1.0"

# by the clock that file systems stamp files with: what is touched later has a later stamp
_COARSE = getattr(time, "CLOCK_REALTIME_COARSE", None)
IMPORTED_NS = time.time_ns() if _COARSE is None else time.clock_gettime_ns(_COARSE)


def deprecated(what: str, gone: str, stacklevel: int = 2) -> None:
    """Issue a DeprecationWarning at the caller of the calling function.

    `what` is the message, `gone` the version that removes the old name. An old name works for at least
    one minor version after its first warning; a test finds those that are overdue.
    """
    text = f"{what}; the old way ends with dalembert {gone}"
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel + 1)


def renamed_arguments(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator: arguments old="new" work by their old names until 0.3.0, with a warning.

    >>> @renamed_arguments(tolerance="tol")
    ... def solve(tol: float) -> float:
    ...     return tol
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     solve(tolerance=0.1), str(caught[0].message)
    (0.1, 'solve(tolerance=) is now tol=; the old way ends with dalembert 0.3.0')
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        title = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]

        @wraps(function)
        def call(*args: P.args, **options: P.kwargs) -> R:
            for old in names.keys() & options.keys():
                deprecated(f"{title}({old}=) is now {names[old]}=", gone="0.3.0")
                options[names[old]] = options.pop(old)
            return function(*args, **options)

        return call

    return decorate
