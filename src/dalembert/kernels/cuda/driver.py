"""The CUDA driver, by its own interface: loads machine code and launches it on a stream.

Kernels are loaded as libraries, which belong to no context: a launch takes place on the device of its
stream. They are never unloaded, for XLA and captured graphs keep what they were once given.
"""

from __future__ import annotations

import ctypes
import threading
from contextlib import contextmanager
from functools import cache, cached_property
from typing import Any, NamedTuple

from dalembert.errors import CompileError

LANES = 32
SMALL = (
    1 << 14
)  # states, up to which every warp is a block: all multiprocessors of a large card work
_CAPABILITY = (75, 76)  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, MINOR
_FACTS = (4, 3, 1)  # CU_FUNC_ATTRIBUTE_NUM_REGS, LOCAL_SIZE_BYTES, SHARED_SIZE_BYTES
_NO_CONTEXT = 201  # CUDA_ERROR_INVALID_CONTEXT
_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED


class Loaded(NamedTuple):
    """A kernel on the devices of this process, and the most threads that a block of it may have."""

    handle: int
    threads: int

    def geometry(self, count: int) -> tuple[int, int]:
        """Blocks and threads of each for so many states."""
        threads = LANES if count <= SMALL else self.threads
        return -(-count // threads), threads


class _Room(threading.local):
    """Where a thread puts the arguments of its launches."""

    size = 0

    def grow(self, size: int) -> None:
        """Make room for more of them."""
        self.size = size
        self.words: Any = (ctypes.c_int64 * size)()
        first = ctypes.addressof(self.words)
        self.places = (ctypes.c_void_p * size)(*range(first, first + 8 * size, 8))
        self.address = ctypes.addressof(self.places)


class Cards:
    """What the driver of this process does with its cards."""

    _room = _Room()

    def __init__(self) -> None:
        try:
            self._cuda: Any = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise CompileError(f"there is no CUDA driver here: {error}") from None
        self._do("cuInit", 0)

    @cached_property
    def launching(self) -> int:
        """Address of `cuLaunchKernel`."""
        return ctypes.cast(self._cuda.cuLaunchKernel, ctypes.c_void_p).value or 0

    @cached_property
    def arch(self) -> int:
        """The compute capability of the cards here, 90 for 9.0; of the least where they differ."""
        count = ctypes.c_int()
        self._do("cuDeviceGetCount", ctypes.byref(count))
        found = [self._capability(index) for index in range(count.value)]
        if not found:
            raise CompileError("the CUDA driver finds no device")
        return min(found)

    def load(self, code: bytes, name: str) -> int:
        """A handle of kernel `name` in a cubin or PTX, for `cuLaunchKernel` on any device."""
        library, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        none = (None, None, 0)
        with self.outside_capture():
            self._do("cuLibraryLoadData", ctypes.byref(library), code, *none, *none)
            self._do("cuLibraryGetKernel", ctypes.byref(kernel), library, name.encode())
        return kernel.value or 0

    def facts(self, handle: int, device: int = 0) -> tuple[int, int, int]:
        """Registers and bytes of local and of shared memory of a kernel."""
        found = ctypes.c_int()
        facts = []
        for which in _FACTS:
            kernel = ctypes.c_void_p(handle)
            self._do("cuKernelGetAttribute", ctypes.byref(found), which, kernel, device)
            facts.append(found.value)
        return facts[0], facts[1], facts[2]

    def prepare(self, handle: int, device: int) -> None:
        """Bring a kernel onto a device now, for a stream that is being captured brings nothing."""
        function = ctypes.c_void_p()
        with self.outside_capture():
            self._enter(device)
            self._do("cuKernelGetFunction", ctypes.byref(function), ctypes.c_void_p(handle))

    def launch(
        self, handle: int, blocks: int, threads: int, stream: int, device: int, words: list[int]
    ) -> None:
        """Launch a kernel; `words` are its arguments, each at the beginning of eight bytes."""
        places = self.packed(words)
        given = (handle, blocks, 1, 1, threads, 1, 1, 0, stream, places, None)
        code = self._launch(*given)
        if code == _NO_CONTEXT:  # the default stream, in a thread that has not used CUDA before
            self._enter(device)
            code = self._launch(*given)
        self._require(code, "cuLaunchKernel")

    def packed(self, words: list[int]) -> int:
        """Where the driver finds these arguments, until this thread's next launch."""
        room = self._room
        if len(words) > room.size:
            room.grow(len(words))
        room.words[: len(words)] = words
        return room.address

    @cached_property
    def _launch(self) -> Any:
        pointer, number = ctypes.c_void_p, ctypes.c_uint
        kind = ctypes.CFUNCTYPE(ctypes.c_int, pointer, *(number,) * 7, *(pointer,) * 3)
        return kind(self.launching)

    def _enter(self, device: int) -> None:
        """Make a device's context this thread's, as the CUDA runtime does."""
        context = ctypes.c_void_p()
        self._do("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._do("cuCtxSetCurrent", context)

    def _capability(self, index: int) -> int:
        device, found = ctypes.c_int(), ctypes.c_int()
        self._do("cuDeviceGet", ctypes.byref(device), index)
        digits = []
        for which in _CAPABILITY:
            self._do("cuDeviceGetAttribute", ctypes.byref(found), which, device)
            digits.append(found.value)
        return 10 * digits[0] + digits[1]

    @contextmanager
    def outside_capture(self) -> Any:
        """Things that no stream has to do with, while this thread may be capturing one.

        Python may at any time collect garbage that gives back something of CUDA's, which would
        spoil a capture.
        """
        mode = ctypes.c_int(_RELAXED)
        self._do("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
        try:
            yield
        finally:
            self._do("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))

    def _do(self, name: str, *given: Any) -> None:
        self._require(getattr(self._cuda, name)(*given), name)

    def _require(self, code: int, name: str) -> None:
        if code:
            text = ctypes.c_char_p()
            self._cuda.cuGetErrorString(code, ctypes.byref(text))
            said = (text.value or b"unknown error").decode()
            raise CompileError(f"{name}: {said} (CUDA error {code})")


@cache
def driver() -> Cards:
    """The one driver of this process."""
    return Cards()
