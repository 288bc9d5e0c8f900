"""Quantities on a GPU: CuPy arrays in, CuPy arrays out, on the current stream and without host copies.

Needs the extra ``gpu``. A batch in column-major order is used as it is; any other is read as rows,
copied on the device first if it is not contiguous. Results have the layout of the inputs; those too
wide for rows are in columns. Arrays of other libraries on the GPU (PyTorch, JAX) are accepted too.

The general questions about arrays (broadcast shape, precision, layout, copies) take tens of
microseconds of Python. For arrays that a kernel reads in place, the answers are kept as a `Plan`, so
that a second call with arrays of the same shapes only allocates the results and launches the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import CompileError, ShapeError
from dalembert.kernels.call.arguments import on_device
from dalembert.kernels.call.check import (
    MAX_STATES,
    Confirmation,
    confirm_adaptive_steps,
    confirm_rollout,
)
from dalembert.kernels.call.settings import checking
from dalembert.kernels.cuda.driver import LoadedKernel, driver
from dalembert.kernels.cuda.iterations import (
    ADAPTIVE_DTYPE,
    ADAPTIVE_GRID,
    SEARCH_GRID,
    RowGrid,
    cuda_adaptive,
    cuda_rollout,
    cuda_search,
)
from dalembert.kernels.cuda.launch import load_kernel
from dalembert.kernels.cuda.source import CudaSource, cuda_source, fits_rows
from dalembert.kernels.program.iteration import Iteration, lead
from dalembert.tracing.program import Port, Program, port_slices

if TYPE_CHECKING:
    import cupy

    from dalembert.kernels.call.iterations import AdaptiveResult, SearchOptions


Shape = tuple[int, ...]
Key = tuple[Any, ...]


def plan_key(arrays: Sequence[Any]) -> Key | None:
    """Shapes, strides, types and devices of CuPy's arrays; None where others are among them."""
    try:
        return tuple(
            [(x.shape, x.strides, x.dtype.char, x.data.device_id) for x in arrays]  # quicker so
        )
    except AttributeError:
        return None


Plan = Callable[[Sequence[Any]], Any]
"""Results for inputs of one key, all on one device, which are used as they are."""


def make_plan(
    cupy: Any,
    kernel: LoadedKernel,
    dtype: str,
    layout: str,
    batch: Shape,
    shapes: Sequence[Shape],
    key: Key,
) -> Plan:
    """New arrays with the results, on the current stream; a closure, as attributes take time."""
    count, device = prod(batch), key[0][3]
    handle, (blocks, threads) = kernel.handle, kernel.geometry(count)
    current, stream = cupy.cuda.runtime.getDevice, cupy.cuda.get_current_stream
    launch, packed = driver().launch, driver().packed
    # CuPy's own call of the same function takes half the time of ctypes
    quick = getattr(getattr(cupy.cuda, "driver", None), "launchKernel", None)
    kind = np.dtype(dtype)

    def allocator(shape: Shape) -> Callable[[], cupy.ndarray]:
        whole = (*batch, *shape)
        if layout == "row":
            return partial(cupy.ndarray, whole, kind)  # `empty` only adds a function around it
        return lambda: cupy.ndarray((prod(shape), count), kind).T.reshape(whole)

    allocators = [allocator(shape) for shape in shapes]

    def plan(arrays: Sequence[Any]) -> Any:
        if current() != device:
            with cupy.cuda.Device(device):
                return plan(arrays)
        results = [allocate() for allocate in allocators]
        if count:
            words = [x.data.ptr for x in arrays]
            words += [x.data.ptr for x in results]
            words.append(count)
            if quick is None:
                launch(handle, blocks, threads, stream().ptr, device, words)
            else:
                quick(handle, blocks, 1, 1, threads, 1, 1, 0, stream().ptr, packed(words), 0)
        return results[0] if len(results) == 1 else tuple(results)

    return plan


KERNEL_KIND = "the CUDA kernel"
_MAX_PLANS = 256  # shapes of batches that a kernel remembers


@dataclass(frozen=True)
class Report:
    """Registers and spilled bytes per thread of a kernel, and its launch shape."""

    registers: int
    local_bytes: int
    shared_bytes: int
    threads: int


class CompiledKernels:
    """Kernels compiled for each precision and layout when needed."""

    def __init__(self, source: Callable[[str, str], CudaSource]) -> None:
        self._source = source
        self._compiled: dict[tuple[str, str], tuple[CudaSource, LoadedKernel]] = {}
        self._confirmed: set[tuple[str, str]] = set()

    def compiled(self, dtype: str, layout: str) -> tuple[CudaSource, LoadedKernel]:
        """Source and kernel for a precision and a layout."""
        key = (dtype, layout)
        if key not in self._compiled:
            source = self._source(dtype, layout)
            self._compiled[key] = source, load_kernel(source)
        return self._compiled[key]

    def report(self, dtype: str = "float32", layout: str = "row") -> Report:
        """Registers, spills and launch shape of one of the kernels."""
        source, kernel = self.compiled(dtype, layout)
        return Report(*driver().facts(kernel.handle), source.threads)

    def _launch(
        self,
        count: int,
        dtype: str,
        layout: str,
        arguments: Sequence[Any],
        grid: RowGrid | None = None,
    ) -> None:
        """Launch on CuPy's current stream and device; `arguments` are its arrays, NumPy's numbers."""
        if not count:
            return
        source, kernel = self.compiled(dtype, layout)
        blocks = -(-count // source.threads) if grid is None else grid.blocks(count)
        cuda = require_cupy().cuda
        values = [  # an address, or a number as the first of eight bytes
            x.data.ptr if x.ndim else int.from_bytes(np.asarray(x).tobytes(), "little")
            for x in arguments
        ]
        stream, device = cuda.get_current_stream().ptr, cuda.Device().id
        driver().launch(kernel.handle, blocks, source.threads, stream, device, values)

    def _confirm_once(self, dtype: str, layout: str, confirm: Callable[[], None]) -> None:
        """With DALEMBERT_CHECK, confirm a kernel, which `confirm` may call, until that succeeds."""
        key = (dtype, layout)
        if key in self._confirmed or not checking():
            return
        self._confirmed.add(key)
        try:
            confirm()
        except BaseException:
            self._confirmed.discard(key)
            raise


class DeviceKernel(CompiledKernels):
    """The CUDA kernels of one program."""

    def __init__(self, program: Program, name: str) -> None:
        super().__init__(partial(cuda_source, program, name))
        self.program, self.name = program, name
        self._fits_rows = cache(partial(fits_rows, program))
        self.plans: dict[Key, Plan] = {}

    def __call__(self, arrays: Sequence[Any], out: Any = None) -> Any:
        """Outputs (..., *shape) for inputs (..., *shape) that broadcast."""
        cp = require_cupy()
        key = None if out is not None else plan_key(arrays)
        if key in self.plans:
            return self.plans[key](arrays)
        dtype, ports, outputs = _common_dtype(arrays), self.program.inputs, self.program.outputs
        with common_device([port.name for port in ports], arrays):
            arrays = [cp.asarray(x) for x in arrays]
            batch = np.broadcast_shapes(*map(lead, ports, arrays))
            states = list(map(partial(flatten_states, dtype, batch), ports, arrays))
            columns = all(
                x.T.flags.c_contiguous and not x.flags.c_contiguous for x in states
            ) or not self._fits_rows(dtype)
            inputs = [cp.ascontiguousarray(x.T if columns else x) for x in states]
            results = [
                cp.empty((port.size, prod(batch)) if columns else (prod(batch), port.size), dtype)
                for port in outputs
            ]
            layout = "column" if columns else "row"
            self._launch(prod(batch), dtype, layout, (*inputs, *results, np.int64(prod(batch))))
            rows = [x.T if columns else x for x in results]
            self._confirm_once(dtype, layout, partial(self._confirm, states, rows))
            copied = any(x.data.ptr != y.data.ptr for x, y in zip(inputs, arrays, strict=True))
            if key is not None and not copied:
                if len(self.plans) >= _MAX_PLANS:
                    self.plans.clear()
                kernel, shapes = self.compiled(dtype, layout)[1], [p.shape for p in outputs]
                self.plans[key] = make_plan(cp, kernel, dtype, layout, batch, shapes, key)
            shaped = [x.reshape(*batch, *p.shape) for x, p in zip(rows, outputs, strict=True)]
            if out is not None:  # as for a ufunc, None stands for an array still to be allocated
                pairs = zip(out if isinstance(out, tuple) else (out,), shaped, strict=True)
                targets = [result if target is None else target for target, result in pairs]
                for target, result in zip(targets, shaped, strict=True):
                    if target is not result:
                        target[...] = result
                shaped = targets
            return shaped[0] if len(shaped) == 1 else tuple(shaped)

    def _confirm(self, inputs: Sequence[cupy.ndarray], results: Sequence[cupy.ndarray]) -> None:
        """Raise where first states are not what the program gives."""
        if len(inputs[0]):
            sides, n = (self.program.inputs, self.program.outputs), len(inputs)
            pairs = zip((*inputs, *results), (*sides[0], *sides[1]), strict=True)
            host = [x[:MAX_STATES].get().reshape(-1, *port.shape) for x, port in pairs]
            confirmation = Confirmation(self.name, *sides, host[:n], host[n:], KERNEL_KIND)
            confirmation.by_program(self.program)


class DeviceRollout(CompiledKernels):
    """The CUDA kernels of one iteration."""

    def __init__(self, iteration: Iteration, name: str) -> None:
        super().__init__(lambda dtype, layout: cuda_rollout(iteration, name, dtype))
        self.iteration, self.name = iteration, name

    def __call__(
        self, base: Sequence[Any], fixed: Sequence[Any], steps: int, every: int, dt: float
    ) -> list[cupy.ndarray]:
        """Saved base values, each (steps // every, ..., *shape); arrays as for the CPU's rollouts."""
        cp = require_cupy()
        dtype = _common_dtype((*base, *fixed))
        ports = (*self.iteration.base, *self.iteration.fixed)
        with common_device([port.name for port in ports], (*base, *fixed)):
            base, fixed = ([cp.asarray(x) for x in arrays] for arrays in (base, fixed))
            moving, batch = self.iteration.batch(base, fixed, steps, every)

            def confirm() -> None:
                typed = [x.astype(dtype, copy=False) for x in (*base, *fixed)]
                shape = (steps if moving else 0, batch, dt, KERNEL_KIND)
                transfers = (cp.broadcast_to, lambda x: x.get())
                confirm_rollout(self.iteration, self, typed, *shape, *transfers)

            self._confirm_once(dtype, "row", confirm)
            count, often = prod(batch), ((steps, *batch) if moving else batch)
            inputs = [
                *map(partial(flatten_states, dtype, batch), self.iteration.base, base),
                *map(partial(flatten_states, dtype, often), self.iteration.fixed, fixed),
            ]
            saves = steps // every
            results = [cp.empty((saves, count, p.size), dtype) for p in self.iteration.base]
            counts = (np.int64(count), *map(np.int32, (steps, every, moving)))
            arguments = (*map(cp.ascontiguousarray, inputs), *results, *counts)
            self._launch(count, dtype, "row", (*arguments, np.dtype(dtype).type(dt)))
            return [
                x.reshape(saves, *batch, *port.shape)
                for x, port in zip(results, self.iteration.base, strict=True)
            ]


def _common_dtype(arrays: Sequence[Any]) -> str:
    """ "float32" if all arrays on the device are, else "float64"; host numbers do not count."""
    kinds = {str(x.dtype).split(".")[-1] for x in arrays if on_device([x])}
    return "float32" if kinds == {"float32"} else "float64"


def common_device(names: Sequence[str], arrays: Sequence[Any]) -> Any:
    """The device of all arrays that are on one, as a context manager."""
    on_devices = [
        (name, require_cupy().asarray(x).device)
        for name, x in zip(names, arrays, strict=True)
        if on_device([x])
    ]
    first, device = on_devices[0]
    for other, other_device in on_devices[1:]:
        if other_device != device:
            raise ShapeError(
                f"{first} is on cuda:{device.id} and {other} on cuda:{other_device.id}: bring them "
                f"to one, with cupy.cuda.Device({device.id}): {other} = {other}.copy()"
            )
    return device


def flatten_states(dtype: str, batch: Shape, port: Port, x: cupy.ndarray) -> cupy.ndarray:
    """(states, entries), copied only where it must be."""
    full = require_cupy().broadcast_to(x.astype(dtype, copy=False), (*batch, *port.shape))
    return full.reshape(prod(batch), port.size)


def require_cupy() -> Any:
    """The module CuPy; a CompileError with the command to install it where it is missing."""
    try:
        import cupy
    except ImportError as error:
        raise CompileError(
            "arrays on a GPU need CuPy: pip install cupy-cuda12x (the extra [gpu])"
        ) from error
    return cupy


class DeviceAdaptive(CompiledKernels):
    """The CUDA kernel of adaptive runs, called like `AdaptiveLoop`."""

    def __init__(self, iteration: Iteration, saved: int, name: str) -> None:
        super().__init__(lambda dtype, layout: cuda_adaptive(iteration, saved, name))
        self.iteration, self.saved = iteration, saved

    @staticmethod
    def asarray(x: Any) -> cupy.ndarray:
        """Numbers in double precision, on the current device."""
        return require_cupy().asarray(x).astype(ADAPTIVE_DTYPE, copy=False)

    @staticmethod
    def rows(ports: Sequence[Port], values: Mapping[str, Any], batch: Shape) -> cupy.ndarray:
        """Values of all ports (rows, entries), zero where nothing is given."""
        cp, count = require_cupy(), prod(batch)
        result = cp.empty((count, sum(port.size for port in ports)), ADAPTIVE_DTYPE)
        for port, own in zip(ports, port_slices(ports), strict=True):
            x = cp.asarray(values.get(port.name, 0.0))
            result[:, own] = flatten_states(ADAPTIVE_DTYPE, batch, port, x)
        return result

    def __call__(
        self, base: cupy.ndarray, fixed: cupy.ndarray, saves: int, interval: float
    ) -> AdaptiveResult:
        """From base values (rows, …) under fixed values (rows, …), saved `saves` times."""
        from dalembert.kernels.call.iterations import AdaptiveResult

        cp, count = require_cupy(), len(base)

        def run(x: np.ndarray, u: np.ndarray, at: float) -> tuple[np.ndarray, np.ndarray]:
            result = self(cp.asarray(x), cp.asarray(u), 1, at)
            return result.saved.get(), result.ends.get()

        def confirm() -> None:
            confirm_adaptive_steps(self.iteration, run, base.get(), fixed.get(), KERNEL_KIND)

        if count:
            self._confirm_once(ADAPTIVE_DTYPE, "row", confirm)
        saved = cp.empty((count, saves, self.saved), ADAPTIVE_DTYPE)
        ends = cp.empty((count, base.shape[1]), ADAPTIVE_DTYPE)
        saved[...] = ends[...] = np.nan
        next_row = cp.asarray([0]).astype("uint64")
        numbers = (np.int64(count), np.int64(saves), np.float64(interval))
        arguments = (base, fixed, saved, ends, next_row, *numbers)
        self._launch(count, ADAPTIVE_DTYPE, "row", arguments, ADAPTIVE_GRID)
        return AdaptiveResult(saved, ends, 0)


class DeviceSearch(CompiledKernels):
    """The CUDA kernel of one search, called as `kernels.call.iterations.SearchLoop` is."""

    def __init__(self, iteration: Iteration) -> None:
        super().__init__(lambda dtype, layout: cuda_search(iteration, "inverse_kinematics", dtype))
        self.iteration = iteration

    def __call__(
        self, fixed: Sequence[Any], pool: Any, effort: SearchOptions, first: Any = None
    ) -> tuple[cupy.ndarray, cupy.ndarray]:
        """(points (rows, n), costs (rows,)) on the device."""
        cp, rows, n = require_cupy(), len(fixed[0]), self.iteration.base[0].size
        with fixed[0].device:
            ports = zip(self.iteration.fixed, fixed, strict=True)
            arrays = [flatten_states("float64", (rows,), p, cp.asarray(x)) for p, x in ports]
            arrays += [cp.asarray(pool if first is None else first), cp.asarray(pool)]
            ends, costs = cp.empty((rows, n), "float64"), cp.empty((rows,), "float64")
            next_row = cp.asarray([0]).astype("uint64")
            counts = (int(first is not None), effort.starts, effort.steps, len(pool) - 1)
            numbers = [cp.dtype("float64").type(x) for x in (effort.gain, effort.enough)]
            arguments = (*map(cp.ascontiguousarray, arrays), ends, costs, next_row, cp.int64(rows))
            tail = (*map(cp.int32, counts), *numbers)
            self._launch(rows, "float64", "row", (*arguments, *tail), SEARCH_GRID)
            return ends, costs
