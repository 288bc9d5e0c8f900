"""The CUDA driver and NVRTC, by ctypes: compiles text, loads machine code, launches it on a stream.

NVRTC is the one that JAX, PyTorch, CuPy or the toolkit installed. Compiled code is stored in the cache
on disk; a process that finds it there does not load NVRTC. Kernels are loaded as libraries, which
belong to no context: a launch takes place on the device of its stream. They are never unloaded, for
XLA and captured graphs keep their handles.
"""

from __future__ import annotations

import ctypes
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from dalembert.errors import CompileError
from dalembert.kernels.call import cache as disk

_FLAGS = (b"-std=c++17", b"-default-device")
_SONAME = re.compile(r"libnvrtc\.so\.\d+$")
_TOOLKITS = ("/usr/local/cuda", "/opt/cuda")


def machine_code(text: str, arch: int) -> bytes:
    """The text compiled for compute capability `arch` (90 for 9.0): a cubin, or PTX for newer cards.

    >>> machine_code("", 90)  # doctest: +SKIP
    b'\\x7fELF...'
    """
    key = f"CUDA for sm_{arch}\n{text}"
    code = disk.get(key)
    if code is None:
        code = _compile(text, arch)
        disk.put(key, code)
    return code


def _compile(text: str, arch: int) -> bytes:
    nvrtc = _nvrtc_library()
    count = ctypes.c_int()
    status = nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(count))
    _require_nvrtc(nvrtc, status, "nvrtcGetNumSupportedArchs")
    archs = (ctypes.c_int * count.value)()  # compute capabilities that it compiles for
    _require_nvrtc(nvrtc, nvrtc.nvrtcGetSupportedArchs(archs), "nvrtcGetSupportedArchs")
    newest = max((a for a in archs if a <= arch), default=arch)
    exact = newest == arch
    flag = f"--gpu-architecture={'sm' if exact else 'compute'}_{newest}".encode()
    flags = (*_FLAGS, flag)
    program = ctypes.c_void_p()
    status = nvrtc.nvrtcCreateProgram(
        ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None
    )
    _require_nvrtc(nvrtc, status, "nvrtcCreateProgram")
    try:
        options = (ctypes.c_char_p * len(flags))(*flags)
        if nvrtc.nvrtcCompileProgram(program, len(flags), options):
            log = _read_output(nvrtc, "nvrtcGetProgramLog", program).rstrip(b"\0").decode()
            raise CompileError(f"NVRTC could not compile a kernel for sm_{arch}:\n{log[:2000]}")
        return _read_output(nvrtc, "nvrtcGetCUBIN" if exact else "nvrtcGetPTX", program)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _read_output(nvrtc: ctypes.CDLL, name: str, program: ctypes.c_void_p) -> bytes:
    """Output of NVRTC that is read by a pair of functions, its size first."""
    size = ctypes.c_size_t()
    _require_nvrtc(nvrtc, getattr(nvrtc, f"{name}Size")(program, ctypes.byref(size)), name)
    buffer = ctypes.create_string_buffer(size.value)
    _require_nvrtc(nvrtc, getattr(nvrtc, name)(program, buffer), name)
    return buffer.raw


def _require_nvrtc(nvrtc: ctypes.CDLL, code: int, name: str) -> None:
    if code:
        nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise CompileError(f"{name}: {nvrtc.nvrtcGetErrorString(code).decode()}")


@cache
def _nvrtc_library() -> ctypes.CDLL:
    """NVRTC: one that is loaded or on the loader's path, else the newest of wheels and toolkits."""
    for path in ("libnvrtc.so.13", "libnvrtc.so.12", *map(str, _nvrtc_paths())):
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    raise CompileError(
        "CUDA kernels need NVRTC (libnvrtc.so), which comes with jax[cuda13], with PyTorch for CUDA, "
        "with CuPy and with the CUDA toolkit: pip install cupy-cuda12x (the extra "
        "[gpu]), or nvidia-cuda-nvrtc"
    )


def _nvrtc_paths() -> list[Path]:
    """Paths of NVRTC in wheels and toolkits, the newest first."""
    spec = find_spec("nvidia")
    wheels = [] if spec is None else list(spec.submodule_search_locations or [])
    folders = [folder for site in wheels for folder in Path(site).glob("*/lib")]
    for root in (os.environ.get("CUDA_PATH"), os.environ.get("CUDA_HOME"), *_TOOLKITS):
        folders += [Path(root) / "lib64", Path(root) / "lib"] if root else []
    libraries = [path for folder in folders for path in folder.glob("libnvrtc.so.*")]
    known = [path for path in libraries if _SONAME.search(path.name)]
    return sorted(known, key=lambda path: -int(path.suffix[1:]))


LANES = 32
# states, up to which every warp is a block: all multiprocessors of a large card work
MAX_SMALL_BATCH = 1 << 14
_CAPABILITY = (75, 76)  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, MINOR
_ATTRIBUTES = (4, 3, 1)  # CU_FUNC_ATTRIBUTE_NUM_REGS, LOCAL_SIZE_BYTES, SHARED_SIZE_BYTES
_NO_CONTEXT = 201  # CUDA_ERROR_INVALID_CONTEXT
_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED


class LoadedKernel(NamedTuple):
    """A kernel on the devices of this process, and the most threads that a block of it may have."""

    handle: int
    threads: int

    def geometry(self, count: int) -> tuple[int, int]:
        """Blocks and threads of each for so many states."""
        threads = LANES if count <= MAX_SMALL_BATCH else self.threads
        return -(-count // threads), threads


class _ArgumentBuffer(threading.local):
    """The launch arguments of a thread, as `cuLaunchKernel` takes them."""

    size = 0

    def grow(self, size: int) -> None:
        """Allocate memory for more of them."""
        self.size = size
        self.words: Any = (ctypes.c_int64 * size)()
        first = ctypes.addressof(self.words)
        self.pointers = (ctypes.c_void_p * size)(*range(first, first + 8 * size, 8))
        self.address = ctypes.addressof(self.pointers)


class CudaDriver:
    """The CUDA driver of this process."""

    _buffer = _ArgumentBuffer()

    def __init__(self) -> None:
        try:
            self._cuda = ctypes.CDLL("libcuda.so.1")
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
        capabilities = []
        for index in range(self._number("cuDeviceGetCount")):
            device = self._number("cuDeviceGet", index)
            major, minor = (self._number("cuDeviceGetAttribute", x, device) for x in _CAPABILITY)
            capabilities.append(10 * major + minor)
        if not capabilities:
            raise CompileError("the CUDA driver finds no device; install one, or use NumPy arrays")
        return min(capabilities)

    def load(self, code: bytes, name: str) -> int:
        """A handle of kernel `name` in a cubin or PTX, for `cuLaunchKernel` on any device."""
        library, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        none = (None, None, 0)
        with self.outside_capture():
            self._do("cuLibraryLoadData", ctypes.byref(library), code, *none, *none)
            self._do("cuLibraryGetKernel", ctypes.byref(kernel), library, name.encode())
        return kernel.value or 0

    def facts(self, handle: int) -> tuple[int, int, int]:
        """Registers and bytes of local and of shared memory of a kernel, on the first device."""
        kernel = ctypes.c_void_p(handle)
        registers, local, shared = (
            self._number("cuKernelGetAttribute", x, kernel, 0) for x in _ATTRIBUTES
        )
        return registers, local, shared

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
        addresses = self.packed(words)
        arguments = (handle, blocks, 1, 1, threads, 1, 1, 0, stream, addresses, None)
        code = self._launch(*arguments)
        if code == _NO_CONTEXT:  # the default stream, in a thread that has not used CUDA before
            self._enter(device)
            code = self._launch(*arguments)
        self._require(code, "cuLaunchKernel")

    def packed(self, words: list[int]) -> int:
        """Address of the packed arguments, valid until this thread's next launch."""
        buffer = self._buffer
        if len(words) > buffer.size:
            buffer.grow(len(words))
        buffer.words[: len(words)] = words
        return buffer.address

    @cached_property
    def _launch(self) -> Callable[..., int]:
        pointer, number = ctypes.c_void_p, ctypes.c_uint
        kind = ctypes.CFUNCTYPE(ctypes.c_int, pointer, *(number,) * 7, *(pointer,) * 3)
        return kind(self.launching)

    def _enter(self, device: int) -> None:
        """Make a device's context this thread's, as the CUDA runtime does."""
        context = ctypes.c_void_p()
        self._do("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._do("cuCtxSetCurrent", context)

    @contextmanager
    def outside_capture(self) -> Iterator[None]:
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

    def _number(self, name: str, *arguments: object) -> int:
        """The integer that a function of the driver writes to its first argument."""
        value = ctypes.c_int()
        self._do(name, ctypes.byref(value), *arguments)
        return value.value

    def _do(self, name: str, *arguments: object) -> None:
        self._require(getattr(self._cuda, name)(*arguments), name)

    def _require(self, code: int, name: str) -> None:
        if code:
            text = ctypes.c_char_p()
            self._cuda.cuGetErrorString(code, ctypes.byref(text))
            message = (text.value or b"unknown error").decode()
            raise CompileError(f"{name}: {message} (CUDA error {code})")


@cache
def driver() -> CudaDriver:
    """The one driver of this process."""
    return CudaDriver()
