"""LLVM imported on another thread, while this one still reads and traces.

Its library is large: opening it takes as long as tracing an arm, half of it outside Python's lock.
Where no thread can be started, all goes on without one.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from threading import Thread

from dalembert.kernels.call.settings import get_num_threads


def begin() -> None:
    """Begin to import LLVM, where there may be two threads; who imports it next waits for it."""
    if "llvmlite.binding" not in sys.modules and get_num_threads() > 1:
        started(Thread(target=_import, name="dalembert imports LLVM"))


def started(thread: Thread) -> bool:
    """Start a thread; whether it runs: not where there may be no more, nor while Python ends.

    While Python ends a thread would never begin, and who starts one waits for that for ever.
    """
    if sys.is_finalizing():
        return False
    try:
        thread.start()
    except RuntimeError:  # "can't start new thread"
        return False
    return True


def _import() -> None:
    with suppress(Exception):  # whoever needs it next says what is wrong
        import llvmlite.binding  # noqa: F401
