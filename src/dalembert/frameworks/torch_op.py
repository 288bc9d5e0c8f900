"""One PyTorch op for every operation, on CPU and CUDA tensors, with autograd and vmap rules."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from math import prod
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.autograd.function import FunctionCtx

from dalembert.fork_safety import llvm_lock
from dalembert.frameworks.facade import one_or_all, spread
from dalembert.kernels.cuda.driver import driver
from dalembert.kernels.cuda.launch import Axis, BroadcastKernel, Launch
from dalembert.kernels.cuda.source import AXES
from dalembert.systems.derivatives import Operation

Tensors = Sequence[torch.Tensor]
Arrange = Callable[[Tensors], Tensors]
Shapes = Sequence[tuple[int, ...]]
_MOST_PLANS = 1024
_library = torch.library.Library("dalembert", "FRAGMENT")  # its ops last as long as the process


class _Plan(NamedTuple):
    """The part of a call that depends on shapes and strides only, computed once for each of them."""

    shapes: Shapes  # of the results
    launch: Launch
    arrange: Arrange | None  # copies, where there must be some


def unrecorded() -> AbstractContextManager[object]:
    """For work of a first call that is no part of a graph which PyTorch may be recording."""
    return driver().outside_capture() if torch.cuda.is_initialized() else nullcontext()


class TorchLaunch:
    """An operation's kernels on tensors (batch…, *shape) that broadcast, all on one device."""

    def __init__(self, kernel: BroadcastKernel) -> None:
        self.kernel = kernel
        self._ranks = [len(port.shape) for port in kernel.program.inputs]
        self._plans: dict[tuple[object, ...], _Plan] = {}

    def __call__(
        self, arrays: Tensors, shapes: Callable[[Tensors], Shapes]
    ) -> tuple[torch.Tensor, ...]:
        """The results; `shapes` of the tensors gives theirs."""
        first = arrays[0]
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
        results = [first.new_empty(shape) for shape in plan.shapes]
        inputs = arrays if plan.arrange is None else plan.arrange(arrays)
        addresses = [x.data_ptr() for x in inputs]
        addresses += [x.data_ptr() for x in results]
        plan.launch(torch._C._cuda_getCurrentRawStream(index), addresses)
        return tuple(results)

    def _planned(self, key: tuple[object, ...], arrays: Tensors, shapes: Shapes) -> _Plan:
        if len(self._plans) > _MOST_PLANS:
            self._plans.clear()
        rank = len(self.kernel.program.outputs[0].shape)
        arrange, axes = self._even(arrays, shapes[0][: len(shapes[0]) - rank])
        dtype = "float32" if arrays[0].dtype is torch.float32 else "float64"
        with driver().outside_capture():
            launch = self.kernel.planned(dtype, arrays[0].get_device(), axes)
        self._plans[key] = _Plan(shapes, launch, arrange)
        return self._plans[key]

    def _even(self, arrays: Tensors, batch: tuple[int, ...]) -> tuple[Arrange | None, list[Axis]]:
        """How the tensors are arranged, and the axes of their batch; too many of them: in rows."""
        torn = []  # whether a state is not one piece of memory
        for x, rank in zip(arrays, self._ranks, strict=True):
            core, strides = x.shape[x.dim() - rank :], x.stride()[x.dim() - rank :]
            even = [prod(core[k + 1 :]) for k in range(rank)]
            torn.append(any(n > 1 and a != b for n, a, b in zip(core, strides, even, strict=True)))

        def expanded(arrays: Tensors) -> list[torch.Tensor]:
            pairs = zip(arrays, torn, self._ranks, strict=True)
            whole = [(x.contiguous() if far else x, rank) for x, far, rank in pairs]
            return [x.expand(*batch, *x.shape[x.dim() - rank :]) for x, rank in whole]

        def rows(arrays: Tensors) -> list[torch.Tensor]:
            return [x.contiguous() for x in expanded(arrays)]

        axes = joined(batch, [x.stride()[: len(batch)] for x in expanded(arrays)])
        if len(axes) > AXES:
            return rows, joined(batch, [x.stride()[: len(batch)] for x in rows(arrays)])
        return expanded if any(torn) else None, axes


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


_ops: dict[str, Op] = {}


class Op:
    """An operation on tensors (batch…, *shape) with equally many axes of the batch."""

    def __init__(self, operation: Operation, name: str) -> None:
        self.operation, self.name = operation, name
        self._ufunc: Callable[..., Any] | None = None
        self._cuda: TorchLaunch | None = None
        with unrecorded():
            self.op = self._define()
            self.plain, self.traced = _functions(self)
        # what `apply` is where no transform of torch.func is active, which is checked before
        self.record = super(torch.autograd.Function, self.plain).apply  # type: ignore[misc]

    def __call__(self, arrays: Tensors) -> Tensors:
        if not is_plain(arrays):
            result = self.traced.apply(*arrays)
        elif is_forward() or (torch.is_grad_enabled() and any(x.requires_grad for x in arrays)):
            result = self.record(*arrays)
        else:
            return self.at_once(arrays)
        return result if isinstance(result, tuple) else (result,)

    def at_once(self, arrays: Tensors) -> Tensors:
        """The results of plain tensors, without derivatives."""
        try:
            return self.compute(arrays)
        except RuntimeError:  # no memory of their own, as in `grad(is_grads_batched=True)`
            result = self.op(*arrays)
            return result if isinstance(result, tuple) else (result,)

    def compute(self, arrays: Tensors) -> tuple[torch.Tensor, ...]:
        """The kernel on the memory of tensors, on their device, on its current stream."""
        if arrays[0].is_cuda:
            if self._cuda is None:
                with unrecorded():
                    self._cuda = TorchLaunch(spread(self.operation))
            return self._cuda(arrays, self.shapes)
        if self._ufunc is None:
            self._ufunc = self.operation.kernel.ufunc
        result = self._ufunc(*[(x.detach() if x.requires_grad else x).numpy() for x in arrays])
        if not isinstance(result, tuple):
            result = (result,)
        tensor = torch.from_numpy
        return tuple([tensor(y if isinstance(y, np.ndarray) else np.asarray(y)) for y in result])

    def shapes(self, arrays: Tensors) -> list[tuple[int, ...]]:
        """Shapes of the outputs."""
        pairs = zip(self.operation.inputs, arrays, strict=True)
        leads = [tuple(x.shape[: x.dim() - len(port.shape)]) for port, x in pairs]
        batch = leads[0]
        if any(lead != batch for lead in leads):  # it takes ten times as long as comparing
            batch = tuple(torch.broadcast_shapes(*leads))
        return [(*batch, *port.shape) for port in self.operation.outputs]

    # derivatives

    def pull(
        self,
        arrays: Tensors,
        weights: Sequence[torch.Tensor | None],
        needs_gradient: Sequence[bool],
    ) -> list[torch.Tensor | None]:
        """Σ weight · ∂output/∂input for each input that needs it, None for the others."""
        gradients: list[torch.Tensor | None] = [None] * len(arrays)
        wrt = tuple(i for i, needed in enumerate(needs_gradient) if needed)
        if not wrt:
            return gradients
        if any(w is None for w in weights):
            weights = [
                arrays[0].new_zeros(shape) if w is None else w
                for w, shape in zip(weights, self.shapes(arrays), strict=True)
            ]
        results = op(self.operation.vjp(wrt))([*arrays, *weights])
        for i, x in zip(wrt, results, strict=True):
            # the sum over the axes that were broadcast; compared first, as most have none
            gradients[i] = x if x.shape == arrays[i].shape else x.sum_to_size(arrays[i].shape)
        return gradients

    def push(self, arrays: Tensors, directions: Sequence[torch.Tensor | None]) -> Tensors:
        """The derivative along a direction of each input that has one."""
        wrt = tuple(i for i, d in enumerate(directions) if d is not None)
        along = [directions[i] for i in wrt]
        return op(self.operation.jvp(wrt))([*arrays, *along])

    def batched(self, axes: Sequence[int | None], arrays: Tensors) -> Tensors:
        """One more axis of the batch in front, 1 long where an array has none."""
        return self(
            [
                x.unsqueeze(0) if axis is None else x.movedim(axis, 0)
                for x, axis in zip(arrays, axes, strict=True)
            ]
        )

    # PyTorch's registry

    def _define(self) -> Callable[..., Any]:
        """The op with its rules: results, shapes, derivatives, batches."""
        several = len(self.operation.outputs) > 1
        parameters = ", ".join(f"Tensor x{i}" for i in range(len(self.operation.inputs)))
        results = ", ".join(["Tensor"] * len(self.operation.outputs))
        _library.define(f"{self.name}({parameters}) -> {f'({results})' if several else results}")

        def backward(ctx: FunctionCtx, *weights: torch.Tensor | None) -> Any:
            return one_or_all(self.pull(ctx.saved_tensors, weights, ctx.needs_input_grad))

        def batch(info: object, axes: Sequence[int | None], *arrays: torch.Tensor) -> Any:
            result = self.batched(axes, arrays)
            return one_or_all(result), one_or_all([0] * len(result))

        for device in ("CPU", "CUDA"):
            _library.impl(self.name, lambda *arrays: one_or_all(self.compute(arrays)), device)
        rules, name = torch.library, f"dalembert::{self.name}"
        rules.register_fake(
            name,
            lambda *arrays: one_or_all([arrays[0].new_empty(s) for s in self.shapes(arrays)]),
            lib=_library,
        )
        rules.register_autograd(
            name,
            backward,
            setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
            lib=_library,
        )
        rules.register_vmap(name, batch, lib=_library)
        registered: Callable[..., Any] = getattr(torch.ops.dalembert, self.name).default
        return registered


def _functions(op: Op) -> tuple[type[torch.autograd.Function], type[torch.autograd.Function]]:
    """The `autograd.Function` of an op: for plain tensors, and for transforms of `torch.func`.

    They differ in who saves the inputs: PyTorch takes thrice the time where it is not `forward`.
    """

    class Rules(torch.autograd.Function):
        @staticmethod
        def backward(ctx: FunctionCtx, *weights: torch.Tensor | None) -> Any:
            return one_or_all(op.pull(ctx.saved_tensors, weights, ctx.needs_input_grad))

        @staticmethod
        def jvp(ctx: FunctionCtx, *directions: torch.Tensor | None) -> Any:
            return one_or_all(op.push(ctx.saved_tensors, directions))

    class Plain(Rules):
        @staticmethod
        def forward(ctx: FunctionCtx, *arrays: torch.Tensor) -> Any:
            ctx.save_for_backward(*arrays)
            if is_forward():
                ctx.save_for_forward(*arrays)
            return one_or_all(op.at_once(arrays))

    class Traced(Rules):
        @staticmethod
        def forward(*arrays: torch.Tensor) -> Any:
            return op.op(*arrays)

        @staticmethod
        def setup_context(
            ctx: FunctionCtx, inputs: tuple[torch.Tensor, ...], output: object
        ) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def vmap(info: object, axes: Sequence[int | None], *arrays: torch.Tensor) -> Any:
            result = op.batched(axes, arrays)
            return one_or_all(result), one_or_all([0] * len(result))

    return Plain, Traced


def op(operation: Operation) -> Op:
    """The op of an operation; equal systems share theirs."""
    with llvm_lock:
        result: Op | None = operation.__dict__.get("_op")
        if result is None:
            key = repr((operation.system.dynamics.content, operation.label))
            digest = hashlib.sha256(key.encode()).hexdigest()[:24]
            name = f"{operation.root.name}_{digest}"
            result = _ops[name] = _ops.get(name) or Op(operation, name)
            operation.__dict__["_op"] = result
        return result


def is_plain(arrays: Tensors) -> bool:
    """Whether all are tensors proper, and no transform or mode watches what is done with them."""
    kinds = (torch.Tensor, torch.nn.Parameter)
    if not all(type(x) in kinds for x in arrays):
        return False
    active = torch._C._are_functorch_transforms_active() or torch._C._len_torch_dispatch_stack()
    return not active


def is_forward() -> bool:
    """Whether forward mode is on."""
    return bool(torch.autograd.forward_ad._current_level >= 0)
