"""CUDA kernels on PyTorch's tensors: the current stream, no copies, nothing waited for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from math import prod
from typing import Any, NamedTuple

from dalembert.kernels.cuda.driver import driver
from dalembert.kernels.cuda.launch import Axis, Launch, SpreadKernel
from dalembert.kernels.cuda.spread import AXES

_MOST_PLANS = 1024


class _Plan(NamedTuple):
    """What a call does that depends on shapes and strides only, so that it is found out once."""

    shapes: Sequence[tuple[int, ...]]  # of the results
    launch: Launch
    arranged: Callable[[Sequence[Any]], Sequence[Any]] | None  # copies, where there must be some


def unrecorded(torch: Any) -> Any:
    """For work of a first call that is no part of a graph which PyTorch may be recording."""
    return driver().outside_capture() if torch.cuda.is_initialized() else nullcontext()


class TorchLaunch:
    """An operation's kernels on tensors (batch…, *shape) that broadcast, all on one device."""

    def __init__(self, kernel: SpreadKernel) -> None:
        import torch

        self.torch, self.kernel = torch, kernel
        self._ranks = [len(port.shape) for port in kernel.program.inputs]
        self._plans: dict[Any, _Plan] = {}

    def __call__(
        self, arrays: Sequence[Any], shapes: Callable[[Sequence[Any]], Sequence[tuple[int, ...]]]
    ) -> tuple[Any, ...]:
        """The results; `shapes` of the tensors gives theirs."""
        first, torch = arrays[0], self.torch
        index = first.get_device()
        if torch._C._cuda_getDevice() != index:
            with torch.cuda.device(index):
                return self(arrays, shapes)
        for x in arrays:
            if x.get_device() != index:
                raise RuntimeError(
                    f"tensors are on {first.device} and {x.device}: move them to one"
                )
        key = (first.dtype, index, *[x.shape for x in arrays], *[x.stride() for x in arrays])
        plan = self._plans.get(key) or self._planned(key, arrays, shapes(arrays))
        made = [first.new_empty(shape) for shape in plan.shapes]
        given = arrays if plan.arranged is None else plan.arranged(arrays)
        places = [x.data_ptr() for x in given]
        places += [x.data_ptr() for x in made]
        plan.launch(torch._C._cuda_getCurrentRawStream(index), places)
        return tuple(made)

    def _planned(self, key: Any, arrays: Sequence[Any], shapes: Sequence[tuple[int, ...]]) -> _Plan:
        if len(self._plans) > _MOST_PLANS:
            self._plans.clear()
        rank = len(self.kernel.program.outputs[0].shape)
        batch = shapes[0][: len(shapes[0]) - rank]
        arranged, axes = self._even(arrays, batch)
        dtype = "float32" if arrays[0].dtype is self.torch.float32 else "float64"
        with driver().outside_capture():
            launch = self.kernel.planned(dtype, arrays[0].get_device(), axes)
        self._plans[key] = _Plan(shapes, launch, arranged)
        return self._plans[key]

    def _even(
        self, arrays: Sequence[Any], batch: tuple[int, ...]
    ) -> tuple[Callable[[Sequence[Any]], Sequence[Any]] | None, list[Axis]]:
        """How the tensors are arranged, and the axes of their batch; too many of them: in rows."""
        torn = [self._is_torn(x, rank) for x, rank in zip(arrays, self._ranks, strict=True)]

        def spread(arrays: Sequence[Any]) -> list[Any]:
            pairs = zip(arrays, torn, self._ranks, strict=True)
            whole = [(x.contiguous() if far else x, rank) for x, far, rank in pairs]
            return [x.expand(*batch, *x.shape[x.dim() - rank :]) for x, rank in whole]

        def rows(arrays: Sequence[Any]) -> list[Any]:
            return [x.contiguous() for x in spread(arrays)]

        axes = joined(batch, [x.stride()[: len(batch)] for x in spread(arrays)])
        if len(axes) > AXES:
            return rows, joined(batch, [x.stride()[: len(batch)] for x in rows(arrays)])
        return spread if any(torn) else None, axes

    def _is_torn(self, x: Any, rank: int) -> bool:
        """Whether a state is not one piece of memory."""
        core, strides = x.shape[x.dim() - rank :], x.stride()[x.dim() - rank :]
        even = [prod(core[k + 1 :]) for k in range(rank)]
        return any(n > 1 and a != b for n, a, b in zip(core, strides, even, strict=True))


def joined(batch: Sequence[int], steps: Sequence[Sequence[int]]) -> list[Axis]:
    """The axes of a batch, the last one first; those over which all go on evenly as one."""
    axes: list[Axis] = []
    for k in reversed(range(len(batch))):
        extent, here = batch[k], [step[k] for step in steps]
        if extent == 1:
            continue
        if axes and all(s == axes[-1][0] * t for s, t in zip(here, axes[-1][1], strict=True)):
            axes[-1] = (axes[-1][0] * extent, axes[-1][1])
        else:
            axes.append((extent, here))
    return axes
