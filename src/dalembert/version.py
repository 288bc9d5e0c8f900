"""The version, the time of import, and deprecation warnings.

In the lowest layer, so that every module may use them; pyproject.toml reads the version from here.
"""

import time
import warnings

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
