"""A system on PyTorch tensors, and rollouts as one node of the autograd graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, update_wrapper
from typing import Any

import numpy as np

from dalembert.frameworks.facade import Argument
from dalembert.frameworks.rollout import RollingFacade, States, Walk
from dalembert.frameworks.torch_op import Op, is_forward, is_plain, op
from dalembert.systems.derivatives import Operation
from dalembert.systems.evaluator import Variant
from dalembert.systems.system import System

State = Sequence[Any]


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
        self.timed, self.held = walk.timed, list(walk.given)
        # the torques of each step, taken apart at once: asking for them one by one takes longer
        self.turn = walk.names.index("tau") if walk.moving else None
        self.turns = () if self.turn is None else walk.given[self.turn].unbind()

    def inputs(self, k: int, state: State) -> list[Any]:
        """All inputs of one step."""
        if self.timed:
            return self.walk.inputs(k, tuple(state))
        if self.turn is not None:
            self.held[self.turn] = self.turns[k]
        return [*state, *self.held]

    def forwards(self, state: State) -> tuple[list[State], dict[int, State]]:
        """The states to return, and those to begin again from."""
        every, saved, kept = self.walk.every, [], {}
        for first, last in segments(self.walk):
            if first % every:
                kept[first] = state
            for k in range(first, last):
                state = self.step.at_once(self.inputs(k, state))
            if last % every == 0:
                saved.append(state)
        return saved, kept

    def backwards(
        self, start: Callable[[int], State], weights: Callable[[int], State], asked: Sequence[bool]
    ) -> list[Any]:
        """Σ weight · ∂saved/∂input for the state and what is given; None if not asked for."""
        walk, count = self.walk, len(self.walk.step.outputs)
        ports = [port.name for port in walk.step.inputs]
        wanted = [name for name, yes in zip(walk.names, asked[count:], strict=True) if yes]
        if walk.clock and "dt" in wanted:
            wanted.append("t")  # of step k, k dt
        pulled = op(walk.step.vjp((*range(count), *map(ports.index, wanted))))
        bars = [x.new_zeros(x.shape) for x in start(0)]
        sums: dict[str, Any] = {}
        turns: dict[int, Any] = {}
        for first, last in reversed(segments(walk)):
            states = [start(first)]
            for k in range(first, last - 1):
                states.append(self.step.at_once(self.inputs(k, states[-1])))
            for k in reversed(range(first, last)):
                if (k + 1) % walk.every == 0:
                    bars = [a + b for a, b in zip(bars, weights(k // walk.every), strict=True)]
                found = pulled.at_once([*self.inputs(k, states[k - first]), *bars])
                bars = list(found[:count])
                for name, bar in zip(wanted, found[count:], strict=True):
                    self._add(sums, turns, k, name, bar)
        return self._whole(bars, sums, turns, asked)

    def _add(
        self, sums: dict[str, Any], turns: dict[int, Any], k: int, name: str, bar: Any
    ) -> None:
        """What step k adds to the gradient of an input."""
        if name == "tau" and self.walk.moving:
            turns[k] = bar.sum_to_size(self.walk.given[0].shape[1:])
            return
        name, bar = ("dt", k * bar) if name == "t" else (name, bar)
        sums[name] = sums[name].add_(bar) if name in sums else bar

    def _whole(
        self, bars: State, sums: dict[str, Any], turns: dict[int, Any], asked: Sequence[bool]
    ) -> Any:
        torch = self.step.torch
        found = [bar if wanted else None for bar, wanted in zip(bars, asked, strict=False)]
        for name, x in zip(self.walk.names, self.walk.given, strict=True):
            if name == "tau" and turns:
                left = x.new_zeros(len(x) - len(turns), *x.shape[1:])  # steps after the last save
                each = torch.stack([turns[k] for k in range(len(turns))])
                found.append(torch.cat([each, left]) if len(left) else each)
            else:
                found.append(sums[name].sum_to_size(x.shape) if name in sums else None)
        return found


@cache
def rolled() -> Any:
    """The `autograd.Function` of (walk, by steps, state…, given…) → saved states."""
    import torch

    class Rolled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, walk: Walk, by_steps: Any, *arrays: Any) -> Any:
            n = len(walk.step.outputs)
            saved, kept = Sweep(walk._replace(given=arrays[n:])).forwards(arrays[:n])
            found = tuple(torch.stack(x) for x in zip(*saved, strict=True))
            ctx.walk = walk._replace(given=())
            ctx.by_steps, ctx.count = by_steps, len(arrays)
            ctx.kept = list(kept)
            ctx.save_for_backward(*arrays, *found, *(x for state in kept.values() for x in state))
            return found

        @staticmethod
        def backward(ctx: Any, *weights: Any) -> Any:
            arrays = ctx.saved_tensors[: ctx.count]
            n = len(ctx.walk.step.outputs)
            walk = ctx.walk._replace(given=arrays[n:])
            if torch.is_grad_enabled():
                found = _again(torch, ctx, walk, arrays, weights)
            else:
                saved = ctx.saved_tensors[ctx.count : ctx.count + n]
                kept = ctx.saved_tensors[ctx.count + n :]
                at = {k: kept[n * i : n * (i + 1)] for i, k in enumerate(ctx.kept)}
                at |= {0: arrays[:n]}

                def start(k: int) -> State:
                    return at[k] if k in at else [x[k // walk.every - 1] for x in saved]

                asked = ctx.needs_input_grad[2:]
                found = Sweep(walk).backwards(start, lambda i: [w[i] for w in weights], asked)
            return None, None, *found

    return Rolled.apply


def _again(torch: Any, ctx: Any, walk: Walk, arrays: State, weights: State) -> list[Any]:
    """The same by the ops of the steps, so that it has derivatives itself."""
    with torch.enable_grad():
        saved = ctx.by_steps(walk, tuple(arrays[: len(walk.step.outputs)]))
        wanted = [x for x, asked in zip(arrays, ctx.needs_input_grad[2:], strict=True) if asked]
        given = {"create_graph": True, "allow_unused": True}
        found = iter(torch.autograd.grad(saved, wanted, weights, **given))
    return [next(found) if asked else None for asked in ctx.needs_input_grad[2:]]


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

    def _argument(self, x: Any) -> Argument:
        if isinstance(x, self._torch.Tensor):
            return Argument(x, str(x.dtype).removeprefix("torch."), str(x.device))
        numbers = np.asarray(x)
        typed = isinstance(x, np.ndarray | np.generic) or numbers.dtype.kind != "f"
        return Argument(numbers, numbers.dtype.name if typed else None)

    def _cast(self, x: Argument, dtype: str, device: str | None = None) -> Any:
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
