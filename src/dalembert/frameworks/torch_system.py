"""A system on PyTorch tensors, and rollouts as one node of the autograd graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

import numpy as np
import torch
from torch.autograd.function import FunctionCtx
from torch.utils.checkpoint import checkpoint

from dalembert.frameworks.facade import Argument, Results, one_or_all
from dalembert.frameworks.rollout import RollingFacade, States, Walk
from dalembert.frameworks.torch_op import Op, Tensors, is_forward, is_plain, op
from dalembert.systems.derivatives import Operation
from dalembert.systems.evaluator import Variant
from dalembert.systems.system import System


def segments(walk: Walk) -> list[tuple[int, int]]:
    """(first step, last step) of what is computed again in one piece."""
    blocks = range(0, walk.saves * walk.every, walk.every)
    return [
        (k, min(k + walk.length, first + walk.every))
        for first in blocks
        for k in range(first, first + walk.every, walk.length)
    ]


class Sweep:
    """The steps of a walk, forwards and backwards, on plain tensors."""

    def __init__(self, walk: Walk) -> None:
        self.walk, self.step = walk, op(walk.step)
        self.timed, self.constants = walk.timed, list(walk.constants)
        # the torques of each step, unbound at once: indexing them one by one takes longer
        self.torques = walk.constants[0].unbind() if walk.moving else None

    def inputs(self, k: int, state: Tensors) -> list[torch.Tensor]:
        """All inputs of one step."""
        if self.timed:
            return self.walk.inputs(k, tuple(state))
        if self.torques is not None:
            self.constants[0] = self.torques[k]
        return [*state, *self.constants]

    def forwards(self, state: Tensors) -> tuple[list[Tensors], dict[int, Tensors]]:
        """The states to return, and those to begin again from, by step."""
        every = self.walk.every
        saved: list[Tensors] = []
        starts: dict[int, Tensors] = {}
        for first, last in segments(self.walk):
            if first % every:
                starts[first] = state
            for k in range(first, last):
                state = self.step.at_once(self.inputs(k, state))
            if last % every == 0:
                saved.append(state)
        return saved, starts

    def backwards(
        self,
        start: Callable[[int], Tensors],
        weights: Callable[[int], Tensors],
        needs_gradient: Sequence[bool],
    ) -> list[torch.Tensor | None]:
        """Σ weight · ∂saved/∂input for the state and the constants; None where not needed."""
        walk, count = self.walk, len(self.walk.step.outputs)
        ports = [port.name for port in walk.step.inputs]
        needed = zip(walk.names, needs_gradient[count:], strict=True)
        names = [name for name, is_needed in needed if is_needed]
        if walk.clock and "dt" in names:
            names.append("t")  # of step k, k dt
        pulled = op(walk.step.vjp((*range(count), *map(ports.index, names))))
        bars = [x.new_zeros(x.shape) for x in start(0)]
        sums: dict[str, torch.Tensor] = {}
        by_step: dict[int, torch.Tensor] = {}  # gradients by the torques of each step
        for first, last in reversed(segments(walk)):
            states = [start(first)]
            for k in range(first, last - 1):
                states.append(self.step.at_once(self.inputs(k, states[-1])))
            for k in reversed(range(first, last)):
                if (k + 1) % walk.every == 0:
                    bars = [a + b for a, b in zip(bars, weights(k // walk.every), strict=True)]
                result = pulled.at_once([*self.inputs(k, states[k - first]), *bars])
                bars = list(result[:count])
                for name, bar in zip(names, result[count:], strict=True):
                    if name == "tau" and walk.moving:
                        by_step[k] = bar.sum_to_size(walk.constants[0].shape[1:])
                        continue
                    name, bar = ("dt", k * bar) if name == "t" else (name, bar)
                    sums[name] = sums[name].add_(bar) if name in sums else bar
        gradients = [x if needed else None for x, needed in zip(bars, needs_gradient, strict=False)]
        for name, x in zip(walk.names, walk.constants, strict=True):
            if name == "tau" and by_step:
                left = x.new_zeros(len(x) - len(by_step), *x.shape[1:])  # after the last save
                gradients.append(torch.cat([torch.stack(list(by_step.values())[::-1]), left]))
            else:
                gradients.append(sums[name].sum_to_size(x.shape) if name in sums else None)
        return gradients


class _Rollout(torch.autograd.Function):
    """(walk, by steps, state…, constants…) → saved states."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, walk: Walk, by_steps: Callable[..., Any], *arrays: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        n = len(walk.step.outputs)
        saved, starts = Sweep(walk._replace(constants=arrays[n:])).forwards(arrays[:n])
        states = tuple(torch.stack(x) for x in zip(*saved, strict=True))
        ctx.walk = walk._replace(constants=())
        ctx.by_steps, ctx.count = by_steps, len(arrays)
        ctx.starts = list(starts)
        ctx.save_for_backward(*arrays, *states, *(x for state in starts.values() for x in state))
        return states

    @staticmethod
    def backward(ctx: FunctionCtx, *weights: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        arrays = ctx.saved_tensors[: ctx.count]
        n = len(ctx.walk.step.outputs)
        walk = ctx.walk._replace(constants=arrays[n:])
        needs_gradient = ctx.needs_input_grad[2:]
        if torch.is_grad_enabled():
            # by the ops of the steps, so that the gradient has derivatives itself
            with torch.enable_grad():
                saved = ctx.by_steps(walk, arrays[:n])
                inputs = [x for x, needed in zip(arrays, needs_gradient, strict=True) if needed]
                options = {"create_graph": True, "allow_unused": True}
                result = iter(torch.autograd.grad(saved, inputs, weights, **options))
            gradients = [next(result) if needed else None for needed in needs_gradient]
        else:
            saved = ctx.saved_tensors[ctx.count : ctx.count + n]
            others = ctx.saved_tensors[ctx.count + n :]
            starts = {k: others[n * i : n * (i + 1)] for i, k in enumerate(ctx.starts)}
            starts[0] = arrays[:n]

            def start(k: int) -> Tensors:
                return starts[k] if k in starts else [x[k // walk.every - 1] for x in saved]

            gradients = Sweep(walk).backwards(
                start, lambda i: [w[i] for w in weights], needs_gradient
            )
        return None, None, *gradients


class TorchSystem(RollingFacade):
    """The quantities of a system as functions of tensors."""

    framework = "torch"
    _xp = torch
    _taken = staticmethod(torch.take_along_dim)
    _detached = staticmethod(torch.Tensor.detach)

    def __init__(self, system: System) -> None:
        super().__init__(system)
        self._ops: dict[Variant, Op] = {}
        self._short: dict[str, Op] = {}  # of quantities that were evaluated without options before
        # compilers see a method as one function of tensors, whatever is looked up within
        for name in (*system.dynamics.catalogue, "evaluate", "rollout"):
            whole = self._whole(name, getattr(self, name))
            self.__dict__[name] = torch.compiler.allow_in_graph(whole)

    def _whole(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """A plain function in place of a bound method; it calls the op where the arguments fit."""

        def function(*inputs: Any, **options: Any) -> Any:
            short = self._short.get(name)
            if short is not None and not options and self._fits(short, inputs):
                return one_or_all(short(inputs))
            return method(*inputs, **options)

        return update_wrapper(function, method) if hasattr(method, "__name__") else function

    def _evaluate(
        self,
        quantity: str,
        inputs: tuple[object, ...],
        formulation: str | None = None,
        parameters: object = None,
        out: object = None,
        **choices: Any,
    ) -> Results:
        result = super()._evaluate(quantity, inputs, formulation, parameters, out, **choices)
        chosen = formulation is not None or any(x is not None for x in choices.values())
        if quantity not in self._short and not chosen and not self.system.dynamics.parameters:
            # only where the method is the library's own
            method = getattr(type(self.system), quantity, None)
            if method is None or method.__module__.partition(".")[0] == "dalembert":
                self._short[quantity] = self._op(self.system._variant(quantity, None, {}))
        return result

    def _op(self, variant: Variant) -> Op:
        if variant not in self._ops:
            self._ops[variant] = op(self._operation(variant))
        return self._ops[variant]

    def _result(
        self, variant: Variant, arguments: tuple[object, ...], parameters: object, out: object
    ) -> Results:
        operator = self._op(variant)
        if parameters is None and out is None and self._fits(operator, arguments):
            return one_or_all(operator(arguments))
        return super()._result(variant, arguments, parameters, out)

    def _fits(self, operator: Op, arguments: tuple[Any, ...]) -> bool:
        """Whether nothing is to be done to the arguments: tensors of one type, batches all alike.

        It runs in every call, so that the usual one is quick.
        """
        ports = operator.operation.inputs
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
        return bool(shape[len(batch) :] == core)

    def _argument(self, x: object) -> Argument:
        if isinstance(x, torch.Tensor):
            return Argument(x, str(x.dtype).removeprefix("torch."), str(x.device))
        numbers = np.asarray(x)
        typed = isinstance(x, np.ndarray | np.generic) or numbers.dtype.kind != "f"
        return Argument(numbers, numbers.dtype.name if typed else None)

    def _cast(self, x: Argument, dtype: str, device: str | None = None) -> torch.Tensor:
        if isinstance(x.array, torch.Tensor):
            return x.array
        return torch.tensor(x.array, dtype=getattr(torch, dtype), device=device)

    def _default(self) -> str:
        return str(torch.get_default_dtype()).removeprefix("torch.")

    def _stacked(self, arrays: Tensors, axis: int = -1) -> torch.Tensor:
        return torch.stack(torch.broadcast_tensors(*arrays), axis)

    def _apply(self, operation: Operation, arrays: Tensors) -> Tensors:
        return op(operation)(arrays)

    def _like(self, x: object, other: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(x, dtype=other.dtype, device=other.device)

    def _spread(self, x: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
        return x.expand(shape)

    def _walk(self, walk: Walk, state: States) -> States:
        arrays = (*state, *walk.constants)
        plain = is_plain(arrays) and not is_forward()
        if plain and walk.torque is None:
            return tuple(_Rollout.apply(walk, self._by_steps, *arrays))
        return self._by_steps(walk, state, again=plain and torch.is_grad_enabled())

    def _by_steps(self, walk: Walk, state: States, again: bool = False) -> States:
        """Op after op: for torques by a function, for transforms, and for higher derivatives.

        States, and values inside the function, are computed `again` going backwards where PyTorch can.
        """
        step = op(walk.step)

        def segment(first: int, last: int, *x: torch.Tensor) -> States:
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
        return tuple(map(torch.stack, zip(*saved, strict=True)))
