"""A system on JAX arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dalembert.frameworks.facade import Argument
from dalembert.frameworks.jax_primitive import alike, call
from dalembert.frameworks.rollout import RollingFacade, States, Walk
from dalembert.systems.derivatives import Operation

# steps that XLA launches without looking at its loop in between: half the time of 4096 on a GPU
_UNROLLED = 8


class JaxSystem(RollingFacade):
    """The quantities of a system as functions of JAX arrays."""

    framework = "jax"

    def _argument(self, x: Any) -> Argument:
        if not isinstance(x, jax.Array | np.ndarray | np.generic):
            numbers = np.asarray(x)
            return Argument(numbers, None if numbers.dtype.kind == "f" else numbers.dtype.name)
        array = x if isinstance(x, jax.Array) else jnp.asarray(x)
        weak = getattr(array, "weak_type", False) and array.dtype.kind == "f"
        return Argument(array, None if weak else array.dtype.name)

    def _cast(self, x: Argument, dtype: str, device: str | None = None) -> Any:
        return x.array if x.dtype is not None else jnp.asarray(x.array, dtype)

    def _default(self) -> str:
        return jnp.zeros(0).dtype.name

    def _stacked(self, arrays: Sequence[Any], axis: int = -1) -> Any:
        return jnp.stack(jnp.broadcast_arrays(*arrays), axis)

    def _apply(self, op: Operation, arrays: Sequence[Any]) -> Sequence[Any]:
        return call(op, arrays)

    def _like(self, x: Any, other: Any) -> Any:
        return jnp.asarray(x, other.dtype)

    def _spread(self, x: Any, shape: tuple[int, ...]) -> Any:
        return jnp.broadcast_to(x, shape)

    def _walk(self, walk: Walk, state: States) -> States:
        def one(x: Any, at: Any) -> Any:
            return tuple(call(walk.step, walk.inputs(at.get("k"), x, at.get("tau")))), None

        def repeated(function: Any, x: Any, at: Any, length: int) -> Any:
            several = 1 if walk.law is not None else min(_UNROLLED, length)
            return jax.lax.scan(function, x, at, length, unroll=several)

        # what a function of the user keeps is computed again too
        one = jax.checkpoint(one) if walk.law is not None else one

        @partial(jax.checkpoint, static_argnums=2)
        def segment(x: Any, at: Any, length: int) -> Any:
            return repeated(one, x, at, length)

        def block(x: Any, at: Any) -> Any:
            """`every` steps, in segments and what is left over."""
            whole, left = divmod(walk.every, walk.length)
            pieces = _folded({k: y[: whole * walk.length] for k, y in at.items()}, whole)
            # one at a time: segments in one body of XLA's loop would all be kept at once
            x, _ = jax.lax.scan(lambda x, u: segment(x, u, walk.length), x, pieces, whole)
            if left:
                x, _ = segment(x, {k: y[-left:] for k, y in at.items()}, left)
            return x, x

        # a state comes out of a step on as many devices as anything goes in
        state = tuple(alike([*state, *walk.given])[: len(state)])
        steps = walk.saves * walk.every
        at = {"k": jnp.arange(steps, dtype=state[0].dtype)} if walk.timed else {}
        if walk.moving:
            at["tau"] = walk.given[0][:steps]
        if walk.every == 1:
            block = lambda x, at: (one(x, at)[0],) * 2  # noqa: E731
        else:
            at = _folded(at, walk.saves)
        return (repeated if walk.every == 1 else jax.lax.scan)(block, state, at, walk.saves)[1]


def _folded(arrays: dict[str, Any], count: int) -> dict[str, Any]:
    """The first axis as two, `count` long and the rest."""
    return {k: x.reshape((count, x.shape[0] // count, *x.shape[1:])) for k, x in arrays.items()}
