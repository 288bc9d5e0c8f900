"""Object code in memory → addresses of its functions, with LLVM's ORC linker in this process."""

import ctypes
import functools
import itertools
import os
import struct
import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from dalembert.errors import CompileError
from dalembert.kernels.llvm.stack import KEY as STACK_KEY

if TYPE_CHECKING:
    from llvmlite.binding.orcjit import LLJIT, ResourceTracker

# One lock for all use of LLVM (llvmlite serialises its calls anyway). Forking takes it too, so that
# a child never inherits LLVM in the middle of something another thread was doing.
llvm_lock = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=llvm_lock.acquire,
        after_in_parent=llvm_lock.release,
        after_in_child=llvm_lock.release,
    )
_LENGTH = struct.Struct("<Q")
_names = map("object{}".format, itertools.count())


class Loaded:
    """Linked object code; its functions exist as long as this object does.

    `loaded["symbol"]` is the address of an exported function.
    """

    __slots__ = ("_tracker",)

    def __init__(self, tracker: "ResourceTracker") -> None:
        self._tracker = tracker

    def __getitem__(self, symbol: str) -> int:
        return int(self._tracker[symbol])


def pack(objects: Sequence[bytes]) -> bytes:
    """Object files that belong together, as one sequence of bytes.

    >>> unpack(pack([b"one", b"", b"three"]))
    [b'one', b'', b'three']
    """
    return b"".join(_LENGTH.pack(len(code)) + code for code in objects)


def unpack(packed: bytes) -> list[bytes]:
    """The object files; bytes that are no such sequence are an error."""
    objects, at = [], 0
    while at < len(packed):
        start = at + _LENGTH.size
        if start > len(packed):
            raise CompileError("compiled code could not be linked: it is cut off")
        (length,) = _LENGTH.unpack_from(packed, at)
        at = start + length
        if at > len(packed):
            raise CompileError("compiled code could not be linked: it is cut off")
        objects.append(packed[start:at])
    return objects


def load(packed: bytes, symbols: Iterable[str]) -> Loaded:
    """Link packed object files and look up `symbols`, which they must define.

    What the code calls (libm, pthreads, CPython) is found in this process. Each call makes a
    library of its own, so that all may define the same names.
    """
    from llvmlite.binding import JITLibraryBuilder

    library = JITLibraryBuilder().add_current_process()
    for code in unpack(packed):
        library.add_object_img(code)
    for symbol in symbols:
        library.export_symbol(symbol)
    if STACK_KEY.encode() in packed:
        library.import_symbol(STACK_KEY, _stack_key_address())
    with llvm_lock:
        try:
            return Loaded(library.link(_linker(), next(_names)))
        except RuntimeError as error:
            raise CompileError(f"compiled code could not be linked: {error}") from error


@functools.cache
def _stack_key() -> ctypes.c_uint:
    """The process's one key under which threads remember where their stacks end."""
    key = ctypes.c_uint()
    if ctypes.CDLL(None).pthread_key_create(ctypes.byref(key), None):
        raise CompileError("no thread-specific data are left in this process (PTHREAD_KEYS_MAX)")
    return key


def _stack_key_address() -> int:
    return ctypes.addressof(_stack_key())


@functools.cache
def _linker() -> "LLJIT":
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    # JITLink puts the sections of an object side by side, so that short relocations reach
    return llvm.create_lljit_compiler(machine, use_jit_link=True, suppress_errors=True)
