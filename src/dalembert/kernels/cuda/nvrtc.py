"""CUDA text → machine code, by the NVRTC that JAX, PyTorch, CuPy or the toolkit brought.

What was compiled is left in the cache on disk; a process that finds it there does not load NVRTC.
"""

from __future__ import annotations

import ctypes
import os
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

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
    found = disk.get(key)
    if found is None:
        found = _compiled(text, arch)
        disk.put(key, found)
    return found


def _compiled(text: str, arch: int) -> bytes:
    nvrtc = _library()
    newest = max((a for a in _archs(nvrtc) if a <= arch), default=arch)
    exact = newest == arch
    flag = f"--gpu-architecture={'sm' if exact else 'compute'}_{newest}".encode()
    flags = (*_FLAGS, flag)
    program = ctypes.c_void_p()
    made = nvrtc.nvrtcCreateProgram(
        ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None
    )
    _require(nvrtc, made, "nvrtcCreateProgram")
    try:
        given = (ctypes.c_char_p * len(flags))(*flags)
        if nvrtc.nvrtcCompileProgram(program, len(flags), given):
            said = _read(nvrtc, "nvrtcGetProgramLog", program).rstrip(b"\0").decode()
            raise CompileError(f"NVRTC could not compile a kernel for sm_{arch}:\n{said[:2000]}")
        return _read(nvrtc, "nvrtcGetCUBIN" if exact else "nvrtcGetPTX", program)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _read(nvrtc: Any, name: str, program: ctypes.c_void_p) -> bytes:
    """What NVRTC gives by a pair of functions, its size first."""
    size = ctypes.c_size_t()
    _require(nvrtc, getattr(nvrtc, f"{name}Size")(program, ctypes.byref(size)), name)
    found = ctypes.create_string_buffer(size.value)
    _require(nvrtc, getattr(nvrtc, name)(program, found), name)
    return found.raw


def _archs(nvrtc: Any) -> list[int]:
    """Compute capabilities that it compiles for."""
    count = ctypes.c_int()
    _require(
        nvrtc, nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(count)), "nvrtcGetNumSupportedArchs"
    )
    found = (ctypes.c_int * count.value)()
    _require(nvrtc, nvrtc.nvrtcGetSupportedArchs(found), "nvrtcGetSupportedArchs")
    return list(found)


def _require(nvrtc: Any, code: int, name: str) -> None:
    if code:
        nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise CompileError(f"{name}: {nvrtc.nvrtcGetErrorString(code).decode()}")


@cache
def _library() -> Any:
    """NVRTC: one that is loaded or on the loader's path, else the newest of wheels and toolkits."""
    for path in ("libnvrtc.so.13", "libnvrtc.so.12", *map(str, _places())):
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    raise CompileError(
        "CUDA kernels need NVRTC (libnvrtc.so), which comes with jax[cuda13], with PyTorch for CUDA, "
        "with CuPy and with the CUDA toolkit: pip install cupy-cuda12x (the extra "
        "[gpu]), or nvidia-cuda-nvrtc"
    )


def _places() -> list[Path]:
    """Where wheels and toolkits put it, the newest first."""
    spec = find_spec("nvidia")
    wheels = [] if spec is None else list(spec.submodule_search_locations or [])
    folders = [folder for site in wheels for folder in Path(site).glob("*/lib")]
    for root in (os.environ.get("CUDA_PATH"), os.environ.get("CUDA_HOME"), *_TOOLKITS):
        folders += [Path(root) / "lib64", Path(root) / "lib"] if root else []
    found = [path for folder in folders for path in folder.glob("libnvrtc.so.*")]
    known = [path for path in found if _SONAME.search(path.name)]
    return sorted(known, key=lambda path: -int(path.suffix[1:]))
