"""Kernels of a program whose inputs broadcast in place, ready for a launch on any stream."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache, partial
from math import prod

import numpy as np

from dalembert.fork_safety import llvm_lock
from dalembert.kernels.call.cache_key import load_or_compile_ir
from dalembert.kernels.cuda.driver import MAX_SMALL_BATCH, LoadedKernel, driver, machine_code
from dalembert.kernels.cuda.source import AXES, CudaSource, broadcast_source
from dalembert.kernels.llvm.target import native
from dalembert.kernels.llvm.xla import GPU_SYMBOLS, SYMBOL, gpu_handler
from dalembert.tracing.program import Program

Launch = Callable[[int, list[int]], None]
"""Launches a kernel on a stream, with the addresses of inputs and outputs."""
Axis = tuple[int, Sequence[int]]  # states along it, and the step of each input from one to the next


def load_kernel(source: CudaSource) -> LoadedKernel:
    """A kernel, compiled or from the cache on disk, loaded for all devices."""
    cuda = driver()
    return LoadedKernel(
        cuda.load(machine_code(source.text, cuda.arch), source.name), source.threads
    )


class BroadcastKernel:
    """A program in both precisions, compiled when first needed and never unloaded."""

    def __init__(self, program: Program, name: str) -> None:
        self.program, self.name = program, name
        self._source = cache(partial(broadcast_source, program, name))
        self._loaded = cache(lambda dtype: load_kernel(self._source(dtype)))
        self._prepared: set[tuple[str, int]] = set()

    def source(self, dtype: str) -> CudaSource:
        """The text of the kernel."""
        with llvm_lock:
            return self._source(dtype)

    def loaded(self, dtype: str) -> LoadedKernel:
        """The kernel, loaded for all devices."""
        with llvm_lock:
            return self._loaded(dtype)

    def identity(self, dtype: str) -> str:
        """A digest of everything that decides its machine code."""
        return hashlib.sha256(self.source(dtype).text.encode()).hexdigest()

    def handler(self, dtype: str) -> tuple[int, object]:
        """Address of an `XLA_FFI_Handler` on arrays of a GPU, and what keeps its code alive."""
        kernel, target = self.loaded(dtype), native()
        known = dict(zip(GPU_SYMBOLS, (driver().launching, kernel.handle), strict=True))
        ports = self.program.inputs, self.program.outputs
        sizes = np.dtype(dtype).itemsize, kernel.threads, MAX_SMALL_BATCH
        write = partial(gpu_handler, *ports, *sizes)
        key_parts = (repr(([[port.shape for port in side] for side in ports], *sizes)),)
        linked = load_or_compile_ir(key_parts, (SYMBOL,), write, target, known)
        return linked[SYMBOL], (self, linked)

    def planned(self, dtype: str, device: int, axes: Sequence[Axis]) -> Launch:
        """A batch of at most three axes, the last one first, to be launched on a device."""
        kernel, inputs = self.loaded(dtype), len(self.program.inputs)
        if (dtype, device) not in self._prepared:
            driver().prepare(kernel.handle, device)
            self._prepared.add((dtype, device))
        full = [*axes, *((1, (0,) * inputs),) * (AXES - len(axes))]
        count = prod(extent for extent, _ in full)
        steps = [step[a] for a in range(inputs) for _, step in full]
        words, launch = [count, full[0][0], full[1][0], *steps], driver().launch
        handle, grid = kernel.handle, kernel.geometry(count)

        def launched(stream: int, arrays: list[int]) -> None:
            if count:
                launch(handle, *grid, stream, device, arrays + words)

        return launched
