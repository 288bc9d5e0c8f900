"""CUDA kernels on PyTorch's tensors: the current stream, no copies, nothing waited for."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from dalembert.kernels.cuda.launch import Axis, SpreadKernel
from dalembert.kernels.cuda.spread import AXES


class TorchLaunch:
    """An operation's kernels on tensors (batch…, *shape) that broadcast, all on one device."""

    def __init__(self, kernel: SpreadKernel) -> None:
        import torch

        self.torch, self.kernel = torch, kernel
        self._widths = [port.size for port in kernel.program.inputs]
        self._ranks = [len(port.shape) for port in kernel.program.inputs]

    def __call__(self, arrays: Sequence[Any], shapes: Sequence[tuple[int, ...]]) -> tuple[Any, ...]:
        """Results of these shapes."""
        device = arrays[0].device
        torch, index = self.torch, device.index
        if torch.cuda.current_device() != index:
            with torch.cuda.device(index):
                return self(arrays, shapes)
        for x in arrays:
            if x.device != device:
                raise RuntimeError(f"tensors are on {device} and on {x.device}: move them to one")
        batch = shapes[0][: len(shapes[0]) - len(self.kernel.program.outputs[0].shape)]
        made = [torch.empty(shape, dtype=arrays[0].dtype, device=device) for shape in shapes]
        given, axes = self._even(arrays, batch)
        dtype = "float32" if arrays[0].dtype is torch.float32 else "float64"
        stream = torch._C._cuda_getCurrentRawStream(index)
        places = [x.data_ptr() for x in (*given, *made)]
        self.kernel.launch(dtype, index, stream, places, axes)
        return tuple(made)

    def _even(
        self, arrays: Sequence[Any], batch: tuple[int, ...]
    ) -> tuple[Sequence[Any], list[Axis]]:
        """The tensors and the axes of their batch; where these are too many, in rows."""
        count = len(batch)
        if all(
            x.dim() == count + rank and x.is_contiguous() and x.shape[:count] == batch
            for x, rank in zip(arrays, self._ranks, strict=True)
        ):  # the usual case, which is to be quick
            return arrays, [(prod(batch), self._widths)]
        given = [self._rows(x, batch, rank) for x, rank in zip(arrays, self._ranks, strict=True)]
        axes = joined(batch, [x.stride()[:count] for x in given])
        if len(axes) > AXES:
            given = [x.contiguous() for x in given]
            axes = joined(batch, [x.stride()[:count] for x in given])
        return given, axes

    def _rows(self, x: Any, batch: tuple[int, ...], rank: int) -> Any:
        """The tensor over the whole batch, each state of it one piece of memory."""
        core = x.shape[x.dim() - rank :]
        steps = [prod(core[k + 1 :]) for k in range(rank)]
        pairs = zip(core, x.stride()[x.dim() - rank :], steps, strict=True)
        if any(n > 1 and step != even for n, step, even in pairs):
            x = x.contiguous()
        return x.expand(*batch, *core)


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
