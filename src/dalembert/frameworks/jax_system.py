"""A system on JAX arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dalembert.frameworks.facade import Argument
from dalembert.frameworks.jax_primitive import alike, call
from dalembert.frameworks.rollout import RollingFacade, States, Walk

# steps that XLA launches without looking at its loop in between: half the time of 4096 on a GPU
_UNROLLED = 8
Inputs = dict[str, jax.Array]  # that change from step to step


class JaxSystem(RollingFacade):
    """The quantities of a system as functions of JAX arrays."""

    framework = "jax"
    _apply = staticmethod(call)
    _xp = jnp
    _taken = staticmethod(jnp.take_along_axis)
    _detached = staticmethod(jax.lax.stop_gradient)

    def _argument(self, x: object) -> Argument:
        if not isinstance(x, jax.Array | np.ndarray | np.generic):
            numbers = np.asarray(x)
            return Argument(numbers, None if numbers.dtype.kind == "f" else numbers.dtype.name)
        array = x if isinstance(x, jax.Array) else jnp.asarray(x)
        weak = getattr(array, "weak_type", False) and array.dtype.kind == "f"
        return Argument(array, None if weak else array.dtype.name)

    def _cast(self, x: Argument, dtype: str, device: str | None = None) -> jax.Array:
        return x.array if x.dtype is not None else jnp.asarray(x.array, dtype)

    def _default(self) -> str:
        return str(jnp.zeros(0).dtype.name)

    def _stacked(self, arrays: Sequence[jax.Array], axis: int = -1) -> jax.Array:
        return jnp.stack(jnp.broadcast_arrays(*arrays), axis)

    def _like(self, x: object, other: jax.Array) -> jax.Array:
        return jnp.asarray(x, other.dtype)

    def _spread(self, x: jax.Array, shape: tuple[int, ...]) -> jax.Array:
        return jnp.broadcast_to(x, shape)

    def _walk(self, walk: Walk, state: States) -> States:
        def one(x: States, at: Inputs) -> tuple[States, None]:
            return tuple(call(walk.step, walk.inputs(at.get("k"), x, at.get("tau")))), None

        def repeated(function: Callable[..., Any], x: States, at: Inputs, length: int) -> Any:
            unroll = 1 if walk.torque is not None else min(_UNROLLED, length)
            return jax.lax.scan(function, x, at, length, unroll=unroll)

        # the intermediate values of a user's function are computed again too
        one = jax.checkpoint(one) if walk.torque is not None else one

        segment = jax.checkpoint(partial(repeated, one), static_argnums=2)

        def block(x: States, at: Inputs) -> tuple[States, States]:
            """`every` steps, in segments and what is left over."""
            whole, left = divmod(walk.every, walk.length)
            pieces = _folded({k: y[: whole * walk.length] for k, y in at.items()}, whole)
            # one at a time: segments in one body of XLA's loop would all be kept at once
            x, _ = jax.lax.scan(lambda x, u: segment(x, u, walk.length), x, pieces, whole)
            if left:
                x, _ = segment(x, {k: y[-left:] for k, y in at.items()}, left)
            return x, x

        # a state comes out of a step on as many devices as anything goes in
        state = tuple(alike([*state, *walk.constants])[: len(state)])
        steps = walk.saves * walk.every
        at = {"k": jnp.arange(steps, dtype=state[0].dtype)} if walk.timed else {}
        if walk.moving:
            at["tau"] = walk.constants[0][:steps]
        if walk.every == 1:
            block = lambda x, at: (one(x, at)[0],) * 2  # noqa: E731
        else:
            at = _folded(at, walk.saves)
        scan = repeated if walk.every == 1 else jax.lax.scan
        states: States = scan(block, state, at, walk.saves)[1]
        return states


def _folded(arrays: Inputs, count: int) -> Inputs:
    """The first axis as two, `count` long and the rest."""
    return {k: x.reshape((count, x.shape[0] // count, *x.shape[1:])) for k, x in arrays.items()}
