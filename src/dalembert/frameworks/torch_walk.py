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

    def inputs(self, k: int, state: State) -> list[Any]:
        """All inputs of one step."""
        walk = self.walk
        return [*state, walk.tau[k] if walk.moving else walk.tau, *walk.rest]

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
        """Σ weight · ∂saved/∂input for q, q̇, the torques and the rest; None if not asked for."""
        walk, others = self.walk, [i for i, wanted in enumerate(asked) if wanted and i > 1]
        pulled = op(walk.step.vjp((0, 1, *others)))
        bars = [x.new_zeros(x.shape) for x in start(0)]
        sums: list[Any] = [None] * len(asked)
        turns: dict[int, Any] = {}
        for first, last in reversed(segments(walk)):
            states = [start(first)]
            for k in range(first, last - 1):
                states.append(self.step.at_once(self.inputs(k, states[-1])))
            for k in reversed(range(first, last)):
                if (k + 1) % walk.every == 0:
                    bars = [a + b for a, b in zip(bars, weights(k // walk.every), strict=True)]
                given = self.inputs(k, states[k - first])
                (*bars,) = pulled.at_once([*given, *bars])
                for i, bar in zip(others, bars[2:], strict=True):
                    if i == 2 and walk.moving:
                        turns[k] = bar.sum_to_size(walk.tau.shape[1:])
                    else:
                        sums[i] = bar if sums[i] is None else sums[i] + bar
                bars = bars[:2]
        return self._whole(bars, sums, turns, asked)

    def _whole(self, bars: State, sums: State, turns: dict[int, Any], asked: Sequence[bool]) -> Any:
        walk = self.walk
        found = [bar if wanted else None for bar, wanted in zip(bars, asked, strict=False)]
        for i, x in enumerate((walk.tau, *walk.rest), 2):
            if i == 2 and turns:
                left = x.new_zeros(len(x) - len(turns), *x.shape[1:])  # steps after the last save
                each = self.step.torch.stack([turns[k] for k in range(len(turns))])
                found.append(self.step.torch.cat([each, left]) if len(left) else each)
            else:
                found.append(None if sums[i] is None else sums[i].sum_to_size(x.shape))
        return found


@cache
def rolled() -> Any:
    """The `autograd.Function` of (walk, by steps, q, q̇, torques, rest…) → saved q and q̇."""
    import torch

    class Rolled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, walk: Walk, by_steps: Any, *arrays: Any) -> Any:
            saved, kept = Sweep(walk._replace(tau=arrays[2], rest=arrays[3:])).forwards(arrays[:2])
            q, qd = (torch.stack(x) for x in zip(*saved, strict=True))
            ctx.walk = walk._replace(tau=None, rest=())
            ctx.by_steps, ctx.count = by_steps, len(arrays)
            ctx.kept = list(kept)
            ctx.save_for_backward(*arrays, q, qd, *(x for state in kept.values() for x in state))
            return q, qd

        @staticmethod
        def backward(ctx: Any, *weights: Any) -> Any:
            arrays = ctx.saved_tensors[: ctx.count]
            walk = ctx.walk._replace(tau=arrays[2], rest=arrays[3:])
            if torch.is_grad_enabled():
                found = _again(torch, ctx, walk, arrays, weights)
            else:
                q, qd, *kept = ctx.saved_tensors[ctx.count :]
                at = {k: kept[2 * i : 2 * i + 2] for i, k in enumerate(ctx.kept)}
                at |= {0: arrays[:2]}

                def start(k: int) -> State:
                    save = k // walk.every - 1
                    return at[k] if k in at else (q[save], qd[save])

                asked = ctx.needs_input_grad[2:]
                found = Sweep(walk).backwards(start, lambda i: [w[i] for w in weights], asked)
            return None, None, *found

    return Rolled.apply


def _again(torch: Any, ctx: Any, walk: Walk, arrays: State, weights: State) -> list[Any]:
    """The same by the ops of the steps, so that it has derivatives itself."""
    with torch.enable_grad():
        saved = ctx.by_steps(walk, arrays[:2])
        wanted = [x for x, asked in zip(arrays, ctx.needs_input_grad[2:], strict=True) if asked]
        given = {"create_graph": True, "allow_unused": True}
        found = iter(torch.autograd.grad(saved, wanted, weights, **given))
    return [next(found) if asked else None for asked in ctx.needs_input_grad[2:]]
