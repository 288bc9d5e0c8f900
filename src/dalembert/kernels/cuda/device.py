"""Quantities on a GPU: CuPy arrays in, CuPy arrays out, on the current stream and without host copies.

Needs the extra ``gpu``. A batch whose states lie side by side (column-major) is used as it is; any
other is read as rows, copied on the device first if it is not contiguous. Results come in the layout
of the inputs; those too wide for rows lie in columns. Arrays of other libraries on the GPU (PyTorch,
JAX) are taken too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import prod
from typing import Any

import numpy as np

from dalembert.errors import CompileError, ShapeError
from dalembert.kernels.call.confirm import MOST_STATES, Confirmation, confirm_rollout
from dalembert.kernels.call.settings import checking
from dalembert.kernels.call.whose import on_device
from dalembert.kernels.cuda.driver import driver
from dalembert.kernels.cuda.launch import loaded
from dalembert.kernels.cuda.plan import Key, Plan, key_of, planned
from dalembert.kernels.cuda.rollout import cuda_rollout
from dalembert.kernels.cuda.source import CudaSource, cuda_source, fits_rows
from dalembert.kernels.program.iteration import Iteration, lead
from dalembert.tracing.program import Port, Program

Shape = tuple[int, ...]
KIND = "the CUDA kernel"
_MOST_PLANS = 256  # shapes of batches that a kernel remembers


@dataclass(frozen=True)
class Report:
    """What became of a kernel: per-thread registers and spilled bytes, and how it is launched."""

    registers: int
    local_bytes: int
    shared_bytes: int
    threads: int


class _OnStream:
    """A kernel that is launched on CuPy's current stream and device."""

    def __init__(self, source: CudaSource) -> None:
        self.loaded = loaded(source)

    def __call__(self, grid: Shape, block: Shape, arguments: Sequence[Any]) -> None:
        """Launch; `arguments` are CuPy's arrays and NumPy's numbers."""
        cuda = require_cupy().cuda
        values = [x.data.ptr if x.ndim else _word(x) for x in arguments]
        place = cuda.get_current_stream().ptr, cuda.Device().id
        driver().launch(self.loaded.handle, grid[0], block[0], *place, values)


class Compiled:
    """Kernels compiled for each precision and layout when needed."""

    def __init__(self, source: Callable[[str, str], CudaSource]) -> None:
        self._source = source
        self._made: dict[tuple[str, str], tuple[CudaSource, _OnStream]] = {}
        self._confirmed: set[tuple[str, str]] = set()

    def compiled(self, dtype: str, layout: str) -> tuple[CudaSource, _OnStream]:
        """Source and kernel for a precision and a layout."""
        key = (dtype, layout)
        if key not in self._made:
            made = self._source(dtype, layout)
            self._made[key] = made, _OnStream(made)
        return self._made[key]

    def report(self, dtype: str = "float32", layout: str = "row") -> Report:
        """Registers, spills and launch shape of one of the kernels."""
        made, kernel = self.compiled(dtype, layout)
        return Report(*driver().facts(kernel.loaded.handle), made.threads)

    def _launch(self, count: int, dtype: str, layout: str, arguments: Sequence[Any]) -> None:
        if count:
            made, kernel = self.compiled(dtype, layout)
            kernel((-(-count // made.threads),), (made.threads,), arguments)


class DeviceKernel(Compiled):
    """The CUDA kernels of one program."""

    def __init__(self, program: Program, name: str) -> None:
        super().__init__(partial(cuda_source, program, name))
        self.program, self.name = program, name
        self._fits_rows = cache(partial(fits_rows, program))
        self.plans: dict[Key, Plan] = {}

    def __call__(self, arrays: Sequence[Any], out: Any = None) -> Any:
        """Outputs (..., *shape) for inputs (..., *shape) that broadcast."""
        cp = require_cupy()
        key = None if out is not None else key_of(arrays)
        if key in self.plans:
            return self.plans[key](arrays)
        dtype, ports = _precision(arrays), self.program.inputs
        with home([port.name for port in ports], arrays):
            arrays = [cp.asarray(x) for x in arrays]
            batch = np.broadcast_shapes(*map(lead, ports, arrays))
            states = list(map(partial(flat, dtype, batch), ports, arrays))
            columns = all(map(_in_columns, states)) or not self._fits_rows(dtype)
            given = [cp.ascontiguousarray(x.T if columns else x) for x in states]
            results = [
                cp.empty((port.size, prod(batch)) if columns else (prod(batch), port.size), dtype)
                for port in self.program.outputs
            ]
            layout = "column" if columns else "row"
            self._launch(prod(batch), dtype, layout, (*given, *results, np.int64(prod(batch))))
            rows = [x.T if columns else x for x in results]
            if (dtype, layout) not in self._confirmed:
                self._confirm(states, rows)
                self._confirmed.add((dtype, layout))
            if key is not None and all(map(_same_place, given, arrays)):
                self._plan(key, dtype, layout, batch)
            shaped = [
                x.reshape(*batch, *port.shape)
                for x, port in zip(rows, self.program.outputs, strict=True)
            ]
            return _returned(shaped, out)

    def _plan(self, key: Key, dtype: str, layout: str, batch: Shape) -> None:
        """Remember what a call with arrays of these shapes and places needs."""
        if len(self.plans) >= _MOST_PLANS:
            self.plans.clear()
        kernel = self.compiled(dtype, layout)[1].loaded
        shapes = [port.shape for port in self.program.outputs]
        self.plans[key] = planned(require_cupy(), kernel, dtype, layout, batch, shapes, key)

    def _confirm(self, inputs: Sequence[Any], results: Sequence[Any]) -> None:
        """With DALEMBERT_CHECK, raise where first states are not what the program gives."""
        if checking() and len(inputs[0]):
            ports = (*self.program.inputs, *self.program.outputs)
            host = [
                x[:MOST_STATES].get().reshape(-1, *port.shape)
                for x, port in zip((*inputs, *results), ports, strict=True)
            ]
            n, sides = len(inputs), (self.program.inputs, self.program.outputs)
            Confirmation(self.name, *sides, host[:n], host[n:], KIND).by_program(self.program)


class DeviceRollout(Compiled):
    """The CUDA kernels of one iteration."""

    def __init__(self, iteration: Iteration, name: str) -> None:
        super().__init__(partial(cuda_rollout, iteration, name))
        self.iteration, self.name = iteration, name

    def __call__(
        self, base: Sequence[Any], held: Sequence[Any], steps: int, every: int, dt: float
    ) -> list[Any]:
        """Saved base values, each (steps // every, ..., *shape); `held` as for the CPU's rollouts."""
        cp = require_cupy()
        dtype = _precision((*base, *held))
        ports = (*self.iteration.base, *self.iteration.held)
        with home([port.name for port in ports], (*base, *held)):
            base, held = ([cp.asarray(x) for x in arrays] for arrays in (base, held))
            start = np.broadcast_shapes(*map(lead, self.iteration.base, base))
            leads = list(map(lead, self.iteration.held, held))
            moving, batch = self.iteration.batch(start, leads, steps, every)
            if (dtype, "row") not in self._confirmed:
                self._confirm([*base, *held], steps if moving else 0, batch, dt, dtype)
            count, often = prod(batch), ((steps, *batch) if moving else batch)
            given = [
                *map(partial(flat, dtype, batch), self.iteration.base, base),
                *map(partial(flat, dtype, often), self.iteration.held, held),
            ]
            saves = steps // every
            results = [cp.empty((saves, count, p.size), dtype) for p in self.iteration.base]
            counts = (np.int64(count), *map(np.int32, (steps, every, moving)))
            arguments = (*map(cp.ascontiguousarray, given), *results, *counts)
            self._launch(count, dtype, "row", (*arguments, np.dtype(dtype).type(dt)))
            return [
                x.reshape(saves, *batch, *port.shape)
                for x, port in zip(results, self.iteration.base, strict=True)
            ]

    def _confirm(
        self, arrays: Sequence[Any], moves: int, batch: Shape, dt: float, dtype: str
    ) -> None:
        """With DALEMBERT_CHECK, raise where first steps of first states are not the programs'."""
        self._confirmed.add((dtype, "row"))
        if not checking():
            return
        try:
            given = [x.astype(dtype, copy=False) for x in arrays]
            ways = {"broadcast": require_cupy().broadcast_to, "host": lambda x: x.get()}
            confirm_rollout(self.iteration, self, given, moves, batch, dt, KIND, **ways)
        except BaseException:
            self._confirmed.discard((dtype, "row"))
            raise


def _word(x: Any) -> int:
    """A number as the first of eight bytes."""
    return int.from_bytes(np.asarray(x).tobytes(), "little")


def _precision(arrays: Sequence[Any]) -> str:
    """float32 if all that lies on the device is; numbers from the host follow."""
    kinds = {str(x.dtype).split(".")[-1] for x in arrays if on_device([x])}
    return "float32" if kinds == {"float32"} else "float64"


def home(names: Sequence[str], arrays: Sequence[Any]) -> Any:
    """The device of all arrays that lie on one, as a context; numbers of the host follow there."""
    there = [
        (name, require_cupy().asarray(x).device)
        for name, x in zip(names, arrays, strict=True)
        if on_device([x])
    ]
    first, device = there[0]
    for other, place in there[1:]:
        if place != device:
            raise ShapeError(
                f"{first} is on cuda:{device.id} and {other} on cuda:{place.id}: bring them to one, "
                f"with cupy.cuda.Device({device.id}): {other} = {other}.copy()"
            )
    return device


def flat(dtype: str, batch: Shape, port: Port, x: Any) -> Any:
    """(states, entries), copied only where it must be."""
    full = require_cupy().broadcast_to(x.astype(dtype, copy=False), (*batch, *port.shape))
    return full.reshape(prod(batch), port.size)


def _same_place(used: Any, given: Any) -> bool:
    """Whether an array was taken as it was given, without a copy."""
    return bool(used.data.ptr == given.data.ptr)


def _in_columns(x: Any) -> bool:
    return x.T.flags.c_contiguous and not x.flags.c_contiguous


def _returned(results: list[Any], out: Any) -> Any:
    if out is not None:
        # as for a ufunc, None is a place that is still to be made
        given = zip(out if isinstance(out, tuple) else (out,), results, strict=True)
        targets = [result if target is None else target for target, result in given]
        for target, result in zip(targets, results, strict=True):
            if target is not result:
                target[...] = result
        results = targets
    return results[0] if len(results) == 1 else tuple(results)


def require_cupy() -> Any:
    """CuPy, or an error that says how to install it."""
    try:
        import cupy
    except ImportError as error:
        raise CompileError(
            "arrays on a GPU need CuPy: pip install cupy-cuda12x (the extra [gpu])"
        ) from error
    return cupy
