"""The version, when it was imported, and what it no longer calls as it did.

In a place of their own, so that every layer may name them; pyproject.toml reads the version from here.
"""

import time
import warnings

__version__ = "0.1.0"

# by the clock that file systems stamp files with: what is touched later has a later stamp
_COARSE = getattr(time, "CLOCK_REALTIME_COARSE", None)
IMPORTED_NS = time.time_ns() if _COARSE is None else time.clock_gettime_ns(_COARSE)


def deprecated(what: str, gone: str, stacklevel: int = 2) -> None:
    """Warn whoever called the function that calls this: `what` is to be said, `gone` the version.

    An old way works for at least one minor version after it was first warned of. A test finds those
    that are still here when their version has come.
    """
    text = f"{what}; the old way ends with dalembert {gone}"
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel + 1)
