"""The version, and when it was imported, in a place of their own so that every layer may name them."""

import time

__version__ = "0.1.0"

# by the clock that file systems stamp files with: what is touched later has a later stamp
_COARSE = getattr(time, "CLOCK_REALTIME_COARSE", None)
IMPORTED_NS = time.time_ns() if _COARSE is None else time.clock_gettime_ns(_COARSE)
