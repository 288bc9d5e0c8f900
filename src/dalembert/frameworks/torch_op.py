"""One PyTorch op for every operation, on CPU and CUDA tensors, with autograd and vmap rules."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from dalembert.fork_safety import llvm_lock
from dalembert.frameworks.facade import spread
from dalembert.kernels.cuda.driver import driver
from dalembert.kernels.cuda.launch import Axis, BroadcastKernel, Launch
from dalembert.kernels.cuda.source import AXES
from dalembert.systems.derivatives import Operation

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

    def __init__(self, kernel: BroadcastKernel) -> None:
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


_ops: dict[str, Op] = {}


class Op:
    """An operation on tensors (batch…, *shape) with equally many axes of the batch."""

    def __init__(self, operation: Operation, name: str) -> None:
        import torch

        self.torch, self.operation, self.name = torch, operation, name
        self._ufunc: Any = None
        self._cuda: TorchLaunch | None = None
        with unrecorded(torch):
            self.op = self._define()
            self.plain, self.traced = _functions(self)
        # what `apply` is where no transform of torch.func is active, which is asked before
        self.record = super(torch.autograd.Function, self.plain).apply  # type: ignore[misc]

    def __call__(self, arrays: Sequence[Any]) -> Sequence[Any]:
        torch = self.torch
        if not is_plain(torch, arrays):
            result = self.traced.apply(*arrays)
        elif is_forward(torch) or (
            torch.is_grad_enabled() and any(x.requires_grad for x in arrays)
        ):
            result = self.record(*arrays)
        else:
            return self.at_once(arrays)
        return result if isinstance(result, tuple) else (result,)

    def at_once(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """The results of plain tensors, without derivatives."""
        try:
            return self.compute(arrays)
        except RuntimeError:  # no memory of their own, as in `grad(is_grads_batched=True)`
            result = self.op(*arrays)
            return result if isinstance(result, tuple) else (result,)

    def compute(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The kernel on the memory of tensors, where they lie."""
        if arrays[0].is_cuda:
            return self._launched(arrays)
        if self._ufunc is None:
            self._ufunc = self.operation.kernel.ufunc
        result = self._ufunc(*[(x.detach() if x.requires_grad else x).numpy() for x in arrays])
        if not isinstance(result, tuple):
            result = (result,)
        tensor = self.torch.from_numpy
        return tuple([tensor(y if isinstance(y, np.ndarray) else np.asarray(y)) for y in result])

    def _launched(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The CUDA kernel on the current stream of the tensors' device."""
        if self._cuda is None:
            with unrecorded(self.torch):
                self._cuda = TorchLaunch(spread(self.operation))
        return self._cuda(arrays, self.shapes)

    def shapes(self, arrays: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Shapes of the outputs."""
        pairs = zip(self.operation.inputs, arrays, strict=True)
        leads = [tuple(x.shape[: x.dim() - len(port.shape)]) for port, x in pairs]
        batch = leads[0]
        if any(lead != batch for lead in leads):  # it takes ten times as long as asking
            batch = tuple(self.torch.broadcast_shapes(*leads))
        return [(*batch, *port.shape) for port in self.operation.outputs]

    # derivatives

    def pull(
        self, arrays: Sequence[Any], weights: Sequence[Any], asked: Sequence[bool]
    ) -> list[Any]:
        """Σ weight · ∂output/∂input for each input asked for, None for the others."""
        wrt = tuple(i for i, is_asked in enumerate(asked) if is_asked)
        if not wrt:
            return [None] * len(arrays)
        if any(w is None for w in weights):
            weights = [
                arrays[0].new_zeros(shape) if w is None else w
                for w, shape in zip(weights, self.shapes(arrays), strict=True)
            ]
        result = iter(op(self.operation.vjp(wrt))([*arrays, *weights]))
        return [
            _summed(next(result), x.shape) if is_asked else None
            for x, is_asked in zip(arrays, asked, strict=True)
        ]

    def push(self, arrays: Sequence[Any], directions: Sequence[Any]) -> Sequence[Any]:
        """The derivative along a direction of each input that has one."""
        wrt = tuple(i for i, d in enumerate(directions) if d is not None)
        along = [directions[i] for i in wrt]
        return op(self.operation.jvp(wrt))([*arrays, *along])

    def batched(self, axes: Sequence[int | None], arrays: Sequence[Any]) -> Sequence[Any]:
        """One more axis of the batch in front, 1 long where an array has none."""
        return self(
            [
                x.unsqueeze(0) if axis is None else x.movedim(axis, 0)
                for x, axis in zip(arrays, axes, strict=True)
            ]
        )

    # PyTorch's registry

    def _define(self) -> Any:
        """The op with its rules: what it computes, shapes, derivatives, batches."""
        rules, library, several = self.torch.library, _library(), len(self.operation.outputs) > 1
        parameters = ", ".join(f"Tensor x{i}" for i in range(len(self.operation.inputs)))
        given = ", ".join(["Tensor"] * len(self.operation.outputs))
        library.define(f"{self.name}({parameters}) -> {f'({given})' if several else given}")

        def one(values: Sequence[Any]) -> Any:
            return tuple(values) if several else values[0]

        def fake(*arrays: Any) -> Any:
            return one([arrays[0].new_empty(shape) for shape in self.shapes(arrays)])

        def save(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            ctx.save_for_backward(*inputs)

        def backward(ctx: Any, *weights: Any) -> Any:
            return one_or_all(self.pull(ctx.saved_tensors, weights, ctx.needs_input_grad))

        def batch(info: Any, axes: Sequence[int | None], *arrays: Any) -> Any:
            result = self.batched(axes, arrays)
            return one(result), one([0] * len(result))

        name = f"dalembert::{self.name}"
        for device in ("CPU", "CUDA"):
            library.impl(self.name, lambda *arrays: one(self.compute(arrays)), device)
        rules.register_fake(name, fake, lib=library)
        rules.register_autograd(name, backward, setup_context=save, lib=library)
        rules.register_vmap(name, batch, lib=library)
        return getattr(self.torch.ops.dalembert, self.name).default


def one_or_all(values: Sequence[Any]) -> Any:
    """A single value bare, several as a tuple."""
    return values[0] if len(values) == 1 else tuple(values)


def _summed(x: Any, shape: Any) -> Any:
    """The sum over the axes that were broadcast; asked first, as most have none."""
    return x if x.shape == shape else x.sum_to_size(shape)


def _functions(made: Op) -> tuple[Any, Any]:
    """The `autograd.Function` of an op: for plain tensors, and for transforms of `torch.func`.

    They differ in who saves the inputs: PyTorch takes thrice the time where it is not `forward`.
    """
    import torch

    class Rules(torch.autograd.Function):
        @staticmethod
        def backward(ctx: Any, *weights: Any) -> Any:
            return one_or_all(made.pull(ctx.saved_tensors, weights, ctx.needs_input_grad))

        @staticmethod
        def jvp(ctx: Any, *directions: Any) -> Any:
            return one_or_all(made.push(ctx.saved_tensors, directions))

    class Plain(Rules):
        @staticmethod
        def forward(ctx: Any, *arrays: Any) -> Any:
            ctx.save_for_backward(*arrays)
            if torch.autograd.forward_ad._current_level >= 0:
                ctx.save_for_forward(*arrays)
            return one_or_all(made.at_once(arrays))

    class Traced(Rules):
        @staticmethod
        def forward(*arrays: Any) -> Any:
            return made.op(*arrays)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def vmap(info: Any, axes: Sequence[int | None], *arrays: Any) -> Any:
            result = one_or_all(made.batched(axes, arrays))
            return result, 0 if not isinstance(result, tuple) else (0,) * len(result)

    return Plain, Traced


def op(operation: Operation) -> Op:
    """The op of an operation; equal systems share theirs."""
    with llvm_lock:
        result = operation.__dict__.get("_op")
        if result is None:
            key = repr((operation.system.dynamics.content, operation.label))
            digest = hashlib.sha256(key.encode()).hexdigest()[:24]
            name = f"{operation.root.name}_{digest}"
            result = _ops[name] = _ops.get(name) or Op(operation, name)
            operation.__dict__["_op"] = result
        return result


@cache
def _library() -> Any:
    """PyTorch's library of this package; its ops last as long as the process."""
    import torch

    return torch.library.Library("dalembert", "FRAGMENT")


def is_plain(torch: Any, arrays: Sequence[Any]) -> bool:
    """Whether all are tensors proper, and no transform or mode watches what is done with them."""
    kinds = (torch.Tensor, torch.nn.Parameter)
    if not all(type(x) in kinds for x in arrays):
        return False
    active = torch._C._are_functorch_transforms_active() or torch._C._len_torch_dispatch_stack()
    return not active


def is_forward(torch: Any) -> bool:
    """Whether forward mode is on."""
    return torch.autograd.forward_ad._current_level >= 0
