"""Quantities on a GPU: CuPy arrays in, CuPy arrays out, on the current stream and without host copies.

Needs the extra ``gpu``. A batch whose states lie side by side (column-major) is used as it is; any
other is read as rows, copied first if it is not contiguous.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dalembert.errors import CompileError, ShapeError
from dalembert.kernels.cuda_source import CudaSource, cuda_source
from dalembert.kernels.program import Port, Program


def on_device(arrays: Sequence[Any]) -> bool:
    """Whether any of the arrays lies on a GPU."""
    return any(hasattr(x, "__cuda_array_interface__") for x in arrays)


@dataclass(frozen=True)
class Report:
    """What became of a kernel: per-thread registers and spilled bytes, and how it is launched."""

    registers: int
    local_bytes: int
    shared_bytes: int
    threads: int


class DeviceKernel:
    """The CUDA kernels of one program, compiled by NVRTC for each precision and layout when needed."""

    def __init__(self, program: Program, name: str) -> None:
        self.program, self.name = program, name
        self._made: dict[tuple[str, str], tuple[CudaSource, Any]] = {}

    def __call__(self, arrays: Sequence[Any], out: Any = None) -> Any:
        """Outputs (..., *shape) for inputs (..., *shape) that broadcast."""
        cp = _cupy()
        ports = self.program.inputs
        arrays = [cp.asarray(x) for x in arrays]
        dtype = "float32" if all(x.dtype == cp.float32 for x in arrays) else "float64"
        batch = cp.broadcast_shapes(*map(_lead, ports, arrays))
        count = 1
        for size in batch:
            count *= size
        flat = [
            cp.broadcast_to(x.astype(dtype, copy=False), (*batch, *port.shape)).reshape(
                count, port.size
            )
            for port, x in zip(ports, arrays, strict=True)
        ]
        columns = count > 1 and all(
            x.T.flags.c_contiguous and not x.flags.c_contiguous for x in flat
        )
        layout = "column" if columns else "row"
        given = [cp.ascontiguousarray(x.T if columns else x) for x in flat]
        shapes = [(p.size, count) if columns else (count, p.size) for p in self.program.outputs]
        results = [cp.empty(shape, dtype) for shape in shapes]
        if count:
            made, kernel = self.compiled(dtype, layout)
            blocks = (-(-count // made.threads),)
            kernel(blocks, (made.threads,), (*given, *results, cp.int64(count)))
        shaped = [
            (x.T if columns else x).reshape(*batch, *port.shape)
            for x, port in zip(results, self.program.outputs, strict=True)
        ]
        return _returned(shaped, out)

    def compiled(self, dtype: str, layout: str) -> tuple[CudaSource, Any]:
        """Source and `cupy.RawKernel` for a precision and a layout."""
        key = (dtype, layout)
        if key not in self._made:
            made = cuda_source(self.program, self.name, dtype, layout)
            self._made[key] = made, _cupy().RawKernel(made.text, made.name, options=("-std=c++17",))
        return self._made[key]

    def report(self, dtype: str = "float32", layout: str = "row") -> Report:
        """Registers, spills and launch shape of one of the kernels."""
        made, kernel = self.compiled(dtype, layout)
        facts = (kernel.num_regs, kernel.local_size_bytes, kernel.shared_size_bytes)
        return Report(*facts, made.threads)


def _lead(port: Port, x: Any) -> tuple[int, ...]:
    core = len(port.shape)
    if x.shape[x.ndim - core :] != port.shape:
        raise ShapeError(
            f"{port.name} must be (..., {', '.join(map(str, port.shape))}), not {x.shape}"
        )
    return tuple(x.shape[: x.ndim - core])


def _returned(results: list[Any], out: Any) -> Any:
    if out is not None:
        targets = out if isinstance(out, tuple) else (out,)
        for target, result in zip(targets, results, strict=True):
            target[...] = result
        results = list(targets)
    return results[0] if len(results) == 1 else tuple(results)


def _cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        raise CompileError("arrays on a GPU need CuPy: pip install 'dalembert[gpu]'") from error
    return cupy
