"""The machines kernels are compiled for: instruction set, vector width, object format.

The native machine is described by one of the standard levels of its architecture, found through
NumPy's own detection, so that compiled objects carry over between machines of the same level
and no compiler library is needed to look one up.
"""

import importlib
import os
import platform
import sys
from dataclasses import dataclass

import numpy as np

from dalembert.errors import CompileError


@dataclass(frozen=True)
class Target:
    """A machine for LLVM: triple, cpu and features; `bits` is the width of a vector register."""

    triple: str
    cpu: str
    features: str
    bits: int

    def width(self, dtype: str) -> int:
        """How many numbers of that type one register holds.

        >>> by_name("x86-64-v3").width("float64"), by_name("x86-64-v4").width("float32")
        (4, 16)
        """
        return self.bits // (8 * np.dtype(dtype).itemsize)

    @property
    def is_x86(self) -> bool:
        """Whether the x86 control register intrinsics exist."""
        return self.triple.startswith("x86_64")


_BITS = {"x86-64": 128, "x86-64-v3": 256, "x86-64-v4": 512, "x86-64-v4-256": 256, "aarch64": 128}
_LEVELS = ("x86-64", "x86-64-v3", "x86-64-v4")  # each runs those before it


def by_name(name: str) -> Target:
    """A target by its standard name: x86-64, x86-64-v3, x86-64-v4, aarch64 or native.

    x86-64-v4-256 is the last level of x86 with vectors of half its registers' width. A target may be a
    machine that this one is not, to write code for it.
    """
    if name == "native":
        return native()
    if name not in _BITS:
        known = ", ".join(["native", *_BITS])
        raise CompileError(f"unknown target {name!r}; choose one of {known}")
    machine, cpu = ("aarch64", "generic") if name == "aarch64" else ("x86_64", name[:9])
    if sys.platform == "darwin":
        triple = f"{machine.replace('aarch64', 'arm64')}-apple-macosx"
    elif sys.platform == "win32":
        # ELF, which LLVM links in memory on every system; for AArch64 it has none under Windows
        triple = f"{machine}-pc-windows-msvc{'-elf' if machine == 'x86_64' else ''}"
    else:
        triple = f"{machine}-unknown-linux-gnu"
    return Target(triple, cpu, "", _BITS[name])


def native() -> Target:
    """This machine, or the lesser one that the environment variable DALEMBERT_TARGET names."""
    level = _level()
    requested = os.environ.get("DALEMBERT_TARGET") or "native"
    target = by_name(level if requested == "native" else requested)
    own = by_name(level)
    runs = target.triple == own.triple
    if runs and own.is_x86:
        runs = _LEVELS.index(target.cpu) <= _LEVELS.index(own.cpu)
    if not runs:
        raise CompileError(
            f"DALEMBERT_TARGET={requested}: this machine runs {level}, and code for {requested} "
            f"would crash it; unset the variable, or choose native or a lower level of the same "
            "architecture"
        )
    return target


def _level() -> str:
    machine = platform.machine().lower()
    if machine in ("arm64", "aarch64"):
        if sys.platform == "win32":
            raise CompileError(
                "no compiled kernels for ARM processors under Windows: LLVM links none "
                "there; use Python for x86-64, which Windows emulates"
            )
        return "aarch64"
    if machine not in ("x86_64", "amd64"):
        raise CompileError(f"no compiled kernels for {machine} processors")
    try:
        # NumPy's stubs hide the module behind np.show_runtime, which only prints
        umath = importlib.import_module("numpy._core._multiarray_umath")
        features = dict(umath.__cpu_features__)
    except (ImportError, AttributeError):
        features = {}  # code for the least processor of the architecture, which all of them run
    if features.get("AVX512_SKX"):
        return "x86-64-v4"
    return "x86-64-v3" if features.get("AVX2") and features.get("FMA3") else "x86-64"
