"""How many threads compiled kernels use: one number per process, read by the machine code."""

import ctypes
import operator
import os

from dalembert.errors import SettingError

MOST_THREADS = 256


class _Settings(ctypes.Structure):
    _fields_ = (("num_threads", ctypes.c_int32),)


def set_num_threads(n: int) -> None:
    """Let kernels use up to `n` threads on big batches; small ones always run on one.

    >>> set_num_threads(1)
    >>> get_num_threads()
    1
    """
    _settings.num_threads = _checked(n, "set_num_threads")


def get_num_threads() -> int:
    """The number of threads kernels may use; by default, the cores this process may run on."""
    return int(_settings.num_threads)


def settings_address() -> int:
    """Address of the settings, whose first field is `int32_t num_threads`, for compiled loops."""
    return ctypes.addressof(_settings)


def _checked(n: object, source: str) -> int:
    try:
        count = int(n) if isinstance(n, str) else operator.index(n)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        count = 0
    if not 1 <= count <= MOST_THREADS or isinstance(n, bool):
        raise SettingError(
            f"{source}: the number of threads must be an integer from 1 to {MOST_THREADS}, "
            f"got {n!r}"
        )
    return count


def _default() -> int:
    wanted = os.environ.get("DALEMBERT_NUM_THREADS", "").strip()
    if wanted:
        return _checked(wanted, "DALEMBERT_NUM_THREADS")
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(usable or 1, MOST_THREADS)


_settings = _Settings(_default())
