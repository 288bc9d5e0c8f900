"""Compiled programs where this machine is not: linked by a cross compiler, run by QEMU or Wine.

AArch64 needs qemu-aarch64 and aarch64-linux-gnu-gcc (Debian: qemu-user, gcc-aarch64-linux-gnu), Windows
wine and x86_64-w64-mingw32-gcc (Debian: wine64, gcc-mingw-w64-x86-64).
"""

import ctypes
import os
import shutil
import subprocess
import tempfile
import weakref
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from dalembert.kernels.llvm.codegen import object_code
from dalembert.kernels.llvm.load import unpack
from dalembert.kernels.llvm.target import Target, by_name
from dalembert.tracing.program import Program
from tests.kernels.raw import Raw

HARNESS = Path(__file__).with_name("harness.c")


class Emulated(Raw):
    """`Raw` for AArch64: the same calls, in a process of its own for each."""

    emulator, compiler = "qemu-aarch64", "aarch64-linux-gnu-gcc"
    options = ("-static", "-pthread")
    environment: ClassVar[dict[str, str]] = {}

    @staticmethod
    def target() -> Target:
        return by_name("aarch64")

    @classmethod
    def needed(cls) -> pytest.MarkDecorator:
        """Skips, with the reason, where its tools are not."""
        missing = [tool for tool in (cls.emulator, cls.compiler) if shutil.which(tool) is None]
        return pytest.mark.skipif(bool(missing), reason=f"not here: {', '.join(missing)}")

    def __init__(self, program: Program, dtype: str = "float64"):
        self.program, self.dtype = program, np.dtype(dtype)
        parts = unpack(object_code(program, dtype, self.target()))
        self._link([(f"part{k}.o", code) for k, code in enumerate(parts)])

    @classmethod
    def from_c(cls, program: Program, text: str, name: str, dtype: str = "float64"):
        """The exported C of a program, which has a function for one state only."""
        emulated = cls.__new__(cls)
        emulated.program, emulated.dtype = program, np.dtype(dtype)
        ins = [f"in[{k}]" for k in range(len(program.inputs))]
        outs = [f"out[{k}]" for k in range(len(program.outputs))]
        wrapper = (
            f"{text}\nvoid dalembert_one(void *const *in, void *const *out)"
            f" {{ {name}({', '.join(ins + outs)}); }}\n"
            "void dalembert_loop(char **a, long *b, long *c, void *d)"
            " { (void)a; (void)b; (void)c; (void)d; }\n"
        )
        emulated._link([("kernel.c", wrapper.encode("ascii"))])
        return emulated

    def _link(self, files):
        folder = Path(tempfile.mkdtemp("-emulated", "dalembert"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        for name, content in files:
            (folder / name).write_bytes(content)
        sources = [HARNESS, *(folder / name for name, _ in files)]
        self._binary = folder / "program.exe"
        command = [self.compiler, "-O2", *self.options, *sources, "-o", self._binary, "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def run_loop(self, arrays, count, steps, threads):
        self._run(0, count, threads or 0, len(self.program.inputs), steps, arrays)

    def run_one(self, inputs, outputs):
        self._run(1, 1, 0, len(inputs), [], [*inputs, *outputs])

    def _run(self, mode, count, threads, inputs, steps, arrays):
        """Arrays travel as they lie in memory, gaps of their strides and all."""
        assert all(stride >= 0 for x in arrays for stride in x.strides)
        spans = [_span(x) for x in arrays]
        head = [mode, count, threads, inputs, len(arrays), len(steps), *steps, *spans]
        sent = np.array(head, dtype=np.int64).tobytes() + b"".join(
            ctypes.string_at(x.ctypes.data, n) for x, n in zip(arrays, spans, strict=True)
        )
        done = subprocess.run(
            [self.emulator, self._binary],
            input=sent,
            capture_output=True,
            env={**os.environ, **self.environment},
        )
        assert done.returncode == 0, done.stderr.decode()
        assert len(done.stdout) == sum(spans)
        at = 0
        for k, (x, n) in enumerate(zip(arrays, spans, strict=True)):
            back = done.stdout[at : at + n]
            if k < inputs:  # what was given is only read
                assert back == ctypes.string_at(x.ctypes.data, n)
            else:
                ctypes.memmove(x.ctypes.data, back, n)
            at += n


class OnWindows(Emulated):
    """`Raw` for Windows: objects in COFF, Microsoft's calling convention, Windows' own threads."""

    emulator, compiler = "wine", "x86_64-w64-mingw32-gcc"
    options = ("-static",)
    environment: ClassVar[dict[str, str]] = {"WINEDEBUG": "-all"}

    @staticmethod
    def target() -> Target:
        return Target("x86_64-pc-windows-msvc", "x86-64-v3", "", 256)


def _span(x):
    """Bytes from the first entry of an array to the end of its last."""
    if not x.size:
        return 0
    extent = sum((n - 1) * step for n, step in zip(x.shape, x.strides, strict=True))
    return int(extent + x.itemsize)
