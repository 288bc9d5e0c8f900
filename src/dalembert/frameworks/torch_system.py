"""A system on PyTorch tensors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import update_wrapper
from typing import Any

import numpy as np

from dalembert.frameworks.facade import Given
from dalembert.frameworks.rolling import RollingFacade, Walk
from dalembert.frameworks.torch_call import Op, op
from dalembert.systems.operation import Operation
from dalembert.systems.system import System
from dalembert.systems.variant import Variant


class TorchSystem(RollingFacade):
    """The quantities of a system as functions of tensors."""

    framework = "torch"

    def __init__(self, system: System) -> None:
        import torch

        super().__init__(system)
        self._torch = torch
        self._ops: dict[Variant, Op] = {}
        # compilers see a method as one function of tensors, whatever is looked up within
        for name in (*system.dynamics.catalogue, "evaluate", "rollout"):
            self.__dict__[name] = torch.compiler.allow_in_graph(_whole(getattr(self, name)))

    def _result(
        self, variant: Variant, arguments: tuple[Any, ...], parameters: Any, out: Any
    ) -> Any:
        made = self._ops.get(variant)
        if made is None:
            made = self._ops[variant] = op(self._operation(variant))
        if parameters is None and out is None and self._fits(made, arguments):
            found = made(arguments)
            return found[0] if len(found) == 1 else tuple(found)
        return super()._result(variant, arguments, parameters, out)

    def _fits(self, made: Op, arguments: tuple[Any, ...]) -> bool:
        """Whether nothing is to be done to the arguments: tensors of one type, batches all alike.

        It is asked in every call, so that the usual one is quick.
        """
        torch, ports = self._torch, made.operation.inputs
        if len(ports) != len(arguments) or not isinstance(arguments[0], torch.Tensor):
            return False
        dtype, device = arguments[0].dtype, arguments[0].device
        if dtype is not torch.float64 and dtype is not torch.float32:
            return False
        if device.type != "cpu" and device.type != "cuda":
            return False
        batch = arguments[0].shape[: arguments[0].dim() - len(ports[0].shape)]
        return all(
            isinstance(x, torch.Tensor)
            and x.dtype is dtype
            and x.device == device
            and x.shape == (*batch, *port.shape)
            for port, x in zip(ports, arguments, strict=True)
        )

    def _given(self, x: Any) -> Given:
        if isinstance(x, self._torch.Tensor):
            return Given(x, str(x.dtype).removeprefix("torch."), str(x.device))
        numbers = np.asarray(x)
        typed = isinstance(x, np.ndarray | np.generic) or numbers.dtype.kind != "f"
        return Given(numbers, numbers.dtype.name if typed else None)

    def _cast(self, x: Given, dtype: str, device: str | None = None) -> Any:
        if isinstance(x.array, self._torch.Tensor):
            return x.array
        return self._torch.tensor(x.array, dtype=getattr(self._torch, dtype), device=device)

    def _default(self) -> str:
        return str(self._torch.get_default_dtype()).removeprefix("torch.")

    def _stacked(self, arrays: Sequence[Any], axis: int = -1) -> Any:
        return self._torch.stack(self._torch.broadcast_tensors(*arrays), axis)

    def _apply(self, made: Operation, arrays: Sequence[Any]) -> Sequence[Any]:
        return op(made)(arrays)

    def _like(self, x: Any, other: Any) -> Any:
        return self._torch.as_tensor(x, dtype=other.dtype, device=other.device)

    def _spread(self, x: Any, shape: tuple[int, ...]) -> Any:
        return x.expand(shape)

    def _walk(self, walk: Walk, state: tuple[Any, Any]) -> tuple[Any, Any]:
        from torch.utils.checkpoint import checkpoint

        step = op(walk.step)

        def segment(first: int, last: int, *x: Any) -> Any:
            for k in range(first, last):
                x = tuple(step([*x, walk.tau[k] if walk.moving else walk.tau, *walk.rest]))
            return x

        # transforms of torch.func know no checkpoints, and keep every state
        kept = walk.length == 1 or self._torch._C._are_functorch_transforms_active()
        saved = []
        for first in range(0, walk.saves * walk.every, walk.every):
            for k in range(first, first + walk.every, walk.length):
                last = min(k + walk.length, first + walk.every)
                if kept or not self._torch.is_grad_enabled():
                    state = segment(k, last, *state)
                else:
                    state = checkpoint(segment, k, last, *state, use_reentrant=False)
            saved.append(state)
        q, qd = zip(*saved, strict=True)
        return self._torch.stack(q), self._torch.stack(qd)


def _whole(method: Any) -> Any:
    """A plain function that does what a bound method does."""

    def function(*inputs: Any, **given: Any) -> Any:
        return method(*inputs, **given)

    return update_wrapper(function, method) if hasattr(method, "__name__") else function
