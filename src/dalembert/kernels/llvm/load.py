"""Object code in memory → addresses of its functions, with LLVM's ORC linker in this process."""

import contextlib
import ctypes
import functools
import gc
import itertools
import sys
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from dalembert.errors import CompileError
from dalembert.fork_safety import llvm_lock
from dalembert.kernels.call.settings import get_num_threads, start_thread

if TYPE_CHECKING:
    from llvmlite.binding.orcjit import LLJIT, ResourceTracker

# name of the variable with the pthread key under which a thread stores the low end of its stack
STACK_KEY = "dalembert_stack_key"
_LENGTH = 8  # bytes of the number of bytes of an object
_GENERATION = 32  # libraries of one linker
_MIN_LIBRARIES = 256  # libraries loaded before the garbage collector is run for them
_numbers = itertools.count()
_libraries: dict[int, tuple["ResourceTracker", "LLJIT"]] = {}
_dead: list[int] = []


class Loaded:
    """Linked object code; its functions exist as long as this object does.

    `loaded["symbol"]` is the address of an exported function.
    """

    most = _MIN_LIBRARIES  # libraries, beyond which garbage is collected before the next one

    def __init__(
        self, number: int, tracker: "ResourceTracker", linker: "LLJIT", symbols: Collection[str]
    ) -> None:
        # LLVM's objects free themselves when collected, in any order and any thread: they are kept
        # where the collector does not come
        self._number = number
        _libraries[number] = tracker, linker
        self._addresses = {symbol: int(tracker[symbol]) for symbol in symbols}

    def __getitem__(self, symbol: str) -> int:
        return self._addresses[symbol]

    # Python takes a module's names away before the last objects, at exit: this one is held here
    def __del__(self, at_exit: Callable[[], bool] = sys.is_finalizing) -> None:
        if not at_exit():
            _dead.append(self._number)
            _unload_dead()


def _unload_dead() -> None:
    """Free unreferenced code; if LLVM is busy, the next load does it.

    The garbage collector comes in any thread and at any time, so nothing is waited for here.
    """
    while _dead and llvm_lock.acquire(blocking=False):
        try:
            with contextlib.suppress(IndexError):  # another thread was faster
                tracker, linker = _libraries.pop(_dead.pop())
                tracker.close()
                del tracker, linker
        finally:
            llvm_lock.release()


def preload_llvm() -> None:
    """Import LLVM on another thread while this one still reads and traces, if there may be two.

    Its library is large: opening it takes as long as tracing an arm, half of it outside Python's lock.
    """

    def import_llvm() -> None:
        with contextlib.suppress(Exception):  # the next import of it raises the error
            import llvmlite.binding  # noqa: F401

    if "llvmlite.binding" not in sys.modules and get_num_threads() > 1:
        start_thread(threading.Thread(target=import_llvm, name="dalembert imports LLVM"))


def pack(objects: Sequence[bytes]) -> bytes:
    """Object files that belong together, as one sequence of bytes.

    >>> unpack(pack([b"one", b"", b"three"]))
    [b'one', b'', b'three']
    """
    return b"".join(len(code).to_bytes(_LENGTH, "little") + code for code in objects)


def unpack(packed: bytes) -> list[bytes]:
    """The object files; bytes that are no such sequence are an error."""
    objects, at = [], 0
    while at < len(packed):
        start = at + _LENGTH
        at = start + int.from_bytes(packed[at:start], "little")
        if at > len(packed):
            raise CompileError("compiled code could not be linked: it is cut off")
        objects.append(packed[start:at])
    return objects


def load(packed: bytes, symbols: Collection[str], known: Mapping[str, int] | None = None) -> Loaded:
    """Link packed object files and look up `symbols`, which they must define.

    What the code calls (libm, pthreads, CPython) is found in this process, or is `known` by its
    address. Each call makes a library of its own, so that all may define the same names.
    """
    from llvmlite.binding import JITLibraryBuilder

    library = JITLibraryBuilder().add_current_process()
    for code in unpack(packed):
        library.add_object_img(code)
    for symbol in symbols:
        library.export_symbol(symbol)
    for symbol, address in (known or {}).items():
        library.import_symbol(symbol, address)
    if STACK_KEY.encode() in packed:
        library.import_symbol(STACK_KEY, ctypes.addressof(_stack_key()))
    # Python's garbage collector runs by the number of objects and does not see machine code: it is
    # run here whenever the number of libraries has doubled
    if len(_libraries) > Loaded.most and gc.isenabled():
        gc.collect()
        Loaded.most = max(_MIN_LIBRARIES, 2 * len(_libraries))
    with llvm_lock:
        _unload_dead()
        number = next(_numbers)
        linker = _linker(number // _GENERATION)
        try:
            return Loaded(number, library.link(linker, f"object{number}"), linker, symbols)
        except (RuntimeError, OSError) as error:
            raise CompileError(f"compiled code could not be linked: {error}") from error


@functools.cache
def _stack_key() -> ctypes.c_uint:
    """The process's one key under which threads remember where their stacks end."""
    key = ctypes.c_uint()
    if ctypes.CDLL(None).pthread_key_create(ctypes.byref(key), None):
        raise CompileError("no thread-specific data are left in this process (PTHREAD_KEYS_MAX)")
    return key


@functools.lru_cache(maxsize=1)
def _linker(generation: int) -> "LLJIT":
    """LLVM's linker for every few libraries: the next generation replaces it.

    A linker keeps some 10 kB of each library that it has ever linked; it is freed with the last code
    that it has linked.
    """
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    # JITLink puts the sections of an object side by side, so that short relocations reach
    return llvm.create_lljit_compiler(machine, use_jit_link=True, suppress_errors=True)
