"""A rollout of PyTorch's as one node of its graph, whose reverse sweep calls the kernels itself.

The steps leave no graph behind them: states are kept at the start of every segment and computed again
going backwards. A derivative of that derivative goes by the ops of the steps, which have any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from dalembert.frameworks.rolling import Walk
from dalembert.frameworks.torch_call import op

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
