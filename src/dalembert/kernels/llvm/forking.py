"""Forking while other threads import, trace and compile: the child has their locks, but not them.

A fork waits until no thread is in LLVM and none is importing what kernels need, so that the child
finds both as they are between two uses. The locks of cached properties (Python 3.11 has one for
each, common to all objects) guard nothing that could be half done: the child gets new ones.
"""

import functools
import os
import sys
import threading
from collections.abc import Iterator
from importlib import _bootstrap  # type: ignore[attr-defined]

# One lock for all use of LLVM (llvmlite serialises its calls anyway).
llvm_lock = threading.RLock()
# This package and what it imports when first needed. Imports of others are not waited for: a program
# may be the import of its own main module, and never end.
_OURS = ("dalembert", "casadi", "llvmlite", "scipy", "sympy", "xarray")


def _before() -> None:
    while True:
        for name in _importing():
            _bootstrap._lock_unlock_module(name)  # waits for another thread, never for this one
        # not held while waiting: a module may compile something when it is imported
        llvm_lock.acquire()
        if not list(_importing()):
            return
        llvm_lock.release()


def _importing() -> Iterator[str]:
    """Names of our modules that another thread is importing just now."""
    here = threading.get_ident()
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in _OURS:
            spec = getattr(module, "__spec__", None)
            if getattr(spec, "_initializing", False) and _importer(name) not in (None, here):
                yield name


def _importer(name: str) -> int | None:
    """The thread that holds the lock of a module."""
    lock = _bootstrap._module_locks.get(name, lambda: None)()
    return getattr(lock, "owner", None)


def _in_child() -> None:
    llvm_lock.release()
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "dalembert":
            for kind in list(vars(module).values()):
                if isinstance(kind, type):
                    _renew(kind)


def _renew(kind: type) -> None:
    for attribute in vars(kind).values():
        if isinstance(attribute, functools.cached_property) and hasattr(attribute, "lock"):
            attribute.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before, after_in_parent=llvm_lock.release, after_in_child=_in_child
    )
