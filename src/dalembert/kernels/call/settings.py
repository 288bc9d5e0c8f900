"""How many threads compiled kernels use: one number per process, read by the machine code."""

import ctypes
import operator
import os
import sys
from collections.abc import Callable, Sequence
from threading import Thread
from typing import SupportsIndex, TypeVar

from dalembert.errors import SettingError

MOST_THREADS = 256
T = TypeVar("T")


class _Settings(ctypes.Structure):
    _fields_ = (("num_threads", ctypes.c_int32),)


def set_num_threads(n: SupportsIndex) -> None:
    """Set the maximum number of threads of kernels on big batches; small ones run on one.

    Parameters
    ----------
    n : from 1 to 256; the default is the number of cores, or `$DALEMBERT_NUM_THREADS`.

    Raises
    ------
    SettingError
        Where `n` is no integer from 1 to 256.

    Examples
    --------
    >>> set_num_threads(1)
    >>> get_num_threads()
    1
    """
    _settings.num_threads = _checked(n, "set_num_threads")


def get_num_threads() -> int:
    """The number of threads kernels may use; by default, the cores this process may run on.

    Returns
    -------
    int
    """
    return int(_settings.num_threads)


def settings_address() -> int:
    """Address of the settings, whose first field is `int32_t num_threads`, for compiled loops."""
    return ctypes.addressof(_settings)


def checking() -> bool:
    """Whether DALEMBERT_CHECK is set: kernels are compared with their programs."""
    return os.environ.get("DALEMBERT_CHECK", "") not in ("", "0")


def in_threads(work: Callable[[T], object], items: Sequence[T], threads: int) -> None:
    """Call `work` with every item, in so many threads."""
    if threads == 1:
        for item in items:
            work(item)
        return

    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, items))


def start_thread(thread: Thread) -> bool:
    """Start a thread and return whether it runs: not where there may be no more, nor at exit.

    While Python exits a thread would never begin, and starting one would wait for that forever.
    """
    if sys.is_finalizing():
        return False
    try:
        thread.start()
    except RuntimeError:  # "can't start new thread"
        return False
    return True


def _checked(n: object, source: str) -> int:
    count = operator.index(n) if isinstance(n, SupportsIndex) and not isinstance(n, bool) else 0
    if not 1 <= count <= MOST_THREADS:
        raise SettingError(
            f"{source}: the number of threads must be an integer from 1 to {MOST_THREADS}, "
            f"got {n!r}"
        )
    return count


def _default() -> int:
    setting = os.environ.get("DALEMBERT_NUM_THREADS", "").strip()
    if setting:
        return _checked(int(setting) if setting.isdecimal() else setting, "DALEMBERT_NUM_THREADS")
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(usable or 1, MOST_THREADS)


_settings = _Settings(_default())
