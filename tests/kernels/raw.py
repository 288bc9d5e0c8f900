"""Calls the two exported functions of compiled programs directly, as NumPy and the stubs do."""

import ctypes

import numpy as np

from dalembert.kernels.llvm.codegen import object_code
from dalembert.kernels.llvm.load import load
from dalembert.kernels.llvm.target import by_name, native
from dalembert.tracing.program import Program

_FORM = {
    "dalembert_loop": ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4),
    "dalembert_one": ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2),
}


def runnable_targets() -> list[str]:
    """Names of the instruction sets that this machine can run."""
    levels = ["x86-64", "x86-64-v3", "x86-64-v4"] if native().is_x86 else ["aarch64"]
    return [name for name in levels if by_name(name).bits <= native().bits]


def _addresses(arrays):
    return (ctypes.c_void_p * len(arrays))(*[array.ctypes.data for array in arrays])


class Raw:
    def __init__(self, program: Program, dtype: str = "float64", target: str = "native"):
        self.program, self.dtype = program, np.dtype(dtype)
        loaded = load(object_code(program, dtype, by_name(target)), _FORM)
        self.functions = {name: form(loaded[name]) for name, form in _FORM.items()}
        self.loaded = loaded  # the code lives as long as this

    def loop(self, *inputs, outputs=None, threads=None):
        """Inputs (N, *shape) with any strides; those without the first axis are broadcast."""
        ports = (*self.program.inputs, *self.program.outputs)
        cores = [len(port.shape) for port in ports]
        lengths = [x.shape[0] for x, core in zip(inputs, cores, strict=False) if x.ndim > core]
        count = lengths[0] if lengths else 1
        if outputs is None:
            outputs = [np.full((count, *p.shape), 7.0, self.dtype) for p in self.program.outputs]
        arrays = [*inputs, *outputs]
        assert all(array.dtype == self.dtype for array in arrays)
        steps = [x.strides[0] if x.ndim > c else 0 for x, c in zip(arrays, cores, strict=True)]
        for x, core in zip(arrays, cores, strict=True):
            steps += x.strides[x.ndim - core :]
        self.run_loop(arrays, count, steps, threads)
        return tuple(outputs)

    def one(self, *inputs):
        """One state from contiguous inputs."""
        outputs = [np.full(port.shape, 7.0, self.dtype) for port in self.program.outputs]
        self.run_one(inputs, outputs)
        return tuple(outputs)

    def run_loop(self, arrays, count, steps, threads):
        self.functions["dalembert_loop"](
            _addresses(arrays),
            (ctypes.c_ssize_t * 1)(count),
            (ctypes.c_ssize_t * len(steps))(*steps),
            None if threads is None else (ctypes.c_int32 * 4)(threads),
        )

    def run_one(self, inputs, outputs):
        self.functions["dalembert_one"](_addresses(inputs), _addresses(outputs))
