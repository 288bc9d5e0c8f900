"""Fork safety: a fork waits for imports and compilations of other threads.

The child of a fork has the locks of these threads, but not the threads.

A fork waits until no thread makes a kernel or is in LLVM and none is importing what kernels need, so
that the child finds all of them as they are between two uses. Python runs other threads
once more after that, and an import may begin there: the child begins it anew. The locks of cached
properties (Python 3.11 has one for each, common to all objects) guard nothing that could be half
done: the child gets new ones.

Imported with the package itself, before anything of it can be imported by a thread.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock, get_ident
from importlib import _bootstrap

TYPE_CHECKING = False  # see dalembert/__init__.py
if TYPE_CHECKING:
    from typing import Any

_imports: Any = _bootstrap  # Python's import system; what is used here is not in its type stubs
# One lock for all use of LLVM (llvmlite serialises its calls anyway) and for what is compiled once.
llvm_lock = RLock()
# This package and what it imports when first needed. Imports of others are not waited for: a program
# may be the import of its own main module, and never end.
_OURS = ("dalembert", "llvmlite", "scipy", "sympy", "xarray")


def _before() -> None:
    while True:
        for name in _importing():
            _imports._lock_unlock_module(name)  # waits for another thread, never for this one
        # not held while waiting: a module may compile something when it is imported
        llvm_lock.acquire()
        if not _importing():
            return
        llvm_lock.release()


def _importing() -> list[str]:
    """Names of our modules that another thread is importing just now."""
    return [name for name in _held_by_others() if name.partition(".")[0] in _OURS]


def _held_by_others() -> list[str]:
    """Names of modules whose locks another thread has: it imports them."""
    # where this Python keeps them elsewhere, no import is waited for
    if not hasattr(_imports, "_lock_unlock_module"):
        return []
    references = getattr(_imports, "_module_locks", {})
    locks = [(name, reference()) for name, reference in list(references.items())]
    return [name for name, lock in locks if getattr(lock, "owner", None) not in (None, get_ident())]


def _begin_imports_anew() -> None:
    """Take away the locks of threads that are not here, and what they had imported by half.

    A module of a stranger stays as it is: it may be the program itself, which nobody wants twice.
    """
    for name in _held_by_others():
        _imports._module_locks.pop(name, None)
        spec = getattr(sys.modules.get(name), "__spec__", None)
        root = name.partition(".")[0]
        known = root in (*_OURS, "numpy") or root in sys.stdlib_module_names
        if known and getattr(spec, "_initializing", False):
            sys.modules.pop(name, None)


def _in_child() -> None:
    llvm_lock.release()
    _begin_imports_anew()
    # not imported here: another thread of the parent may have been importing it
    cached_property = getattr(sys.modules.get("functools"), "cached_property", None)
    for name, module in list(sys.modules.items()):
        if cached_property is not None and name.partition(".")[0] == "dalembert":
            for kind in list(vars(module).values()):
                for attribute in list(vars(kind).values()) if isinstance(kind, type) else ():
                    if isinstance(attribute, cached_property) and hasattr(attribute, "lock"):
                        attribute.lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=llvm_lock.release, after_in_child=_in_child)
