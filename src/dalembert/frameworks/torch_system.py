"""A system on PyTorch tensors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import update_wrapper
from typing import Any

import numpy as np

from dalembert.frameworks.facade import Given
from dalembert.frameworks.rolling import RollingFacade, States, Walk
from dalembert.frameworks.torch_call import Op, is_forward, is_plain, op
from dalembert.frameworks.torch_walk import rolled, segments
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
        self._short: dict[str, Op] = {}  # of quantities without choices that were asked for before
        # compilers see a method as one function of tensors, whatever is looked up within
        for name in (*system.dynamics.catalogue, "evaluate", "rollout"):
            whole = self._whole(name, getattr(self, name))
            self.__dict__[name] = torch.compiler.allow_in_graph(whole)

    def _whole(self, name: str, method: Any) -> Any:
        """A plain function that does what a bound method does, at once where all is as it should be."""

        def function(*inputs: Any, **given: Any) -> Any:
            made = self._short.get(name)
            if made is not None and not given and self._fits(made, inputs):
                found = made(inputs)
                return found[0] if len(found) == 1 else tuple(found)
            return method(*inputs, **given)

        return update_wrapper(function, method) if hasattr(method, "__name__") else function

    def _evaluate(
        self,
        quantity: str,
        inputs: tuple[Any, ...],
        formulation: str | None = None,
        parameters: Any = None,
        out: Any = None,
        **choices: Any,
    ) -> Any:
        found = super()._evaluate(quantity, inputs, formulation, parameters, out, **choices)
        chosen = formulation is not None or any(x is not None for x in choices.values())
        if quantity not in self._short and not chosen and self._is_own(quantity):
            self._short[quantity] = self._op(self.system._variant(quantity, None, {}))
        return found

    def _is_own(self, quantity: str) -> bool:
        """Whether the method is the library's own and takes nothing but the inputs of the op."""
        method = getattr(type(self.system), quantity, None)
        library = __name__.partition(".")[0]
        own = method is None or method.__module__.partition(".")[0] == library
        return own and not self.system.dynamics.parameters

    def _op(self, variant: Variant) -> Op:
        made = self._ops.get(variant)
        if made is None:
            made = self._ops[variant] = op(self._operation(variant))
        return made

    def _result(
        self, variant: Variant, arguments: tuple[Any, ...], parameters: Any, out: Any
    ) -> Any:
        made = self._op(variant)
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
        first = arguments[0]
        dtype, device, shape, core = first.dtype, first.device, first.shape, ports[0].shape
        if dtype is not torch.float64 and dtype is not torch.float32:
            return False
        if not (first.is_cpu or first.is_cuda):
            return False
        batch = shape[: len(shape) - len(core)]
        for port, x in zip(ports, arguments, strict=True):
            if not isinstance(x, torch.Tensor) or x.dtype is not dtype or x.device != device:
                return False
            if x.shape != (shape if port.shape == core else (*batch, *port.shape)):
                return False
        return shape[len(batch) :] == core

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

    def _walk(self, walk: Walk, state: States) -> States:
        arrays = (*state, *walk.given)
        plain = is_plain(self._torch, arrays) and not is_forward(self._torch)
        if plain and walk.law is None:
            return rolled()(walk, self._by_steps, *arrays)
        return self._by_steps(walk, state, again=plain and self._torch.is_grad_enabled())

    def _by_steps(self, walk: Walk, state: States, again: bool = False) -> States:
        """Op after op: for laws of the user, for transforms, and for higher derivatives.

        States, and what a law keeps, are computed `again` going backwards where PyTorch can.
        """
        from torch.utils.checkpoint import checkpoint

        step = op(walk.step)

        def segment(first: int, last: int, *x: Any) -> Any:
            for k in range(first, last):
                x = tuple(step(walk.inputs(k, x)))
            return x

        saved = []
        for first, last in segments(walk):
            if again:
                state = checkpoint(segment, first, last, *state, use_reentrant=False)
            else:
                state = segment(first, last, *state)
            if last % walk.every == 0:
                saved.append(state)
        return tuple(map(self._torch.stack, zip(*saved, strict=True)))
