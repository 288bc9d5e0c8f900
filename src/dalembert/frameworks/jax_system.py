"""A system on JAX arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dalembert.frameworks.facade import Given
from dalembert.frameworks.jax_call import call
from dalembert.frameworks.rolling import RollingFacade, Walk
from dalembert.systems.operation import Operation


class JaxSystem(RollingFacade):
    """The quantities of a system as functions of JAX arrays."""

    framework = "jax"

    def _given(self, x: Any) -> Given:
        if not isinstance(x, jax.Array | np.ndarray | np.generic):
            numbers = np.asarray(x)
            return Given(numbers, None if numbers.dtype.kind == "f" else numbers.dtype.name)
        array = x if isinstance(x, jax.Array) else jnp.asarray(x)
        weak = getattr(array, "weak_type", False) and array.dtype.kind == "f"
        return Given(array, None if weak else array.dtype.name)

    def _cast(self, x: Given, dtype: str, device: str | None = None) -> Any:
        return x.array if x.dtype is not None else jnp.asarray(x.array, dtype)

    def _default(self) -> str:
        return jnp.zeros(0).dtype.name

    def _stacked(self, arrays: Sequence[Any], axis: int = -1) -> Any:
        return jnp.stack(jnp.broadcast_arrays(*arrays), axis)

    def _apply(self, made: Operation, arrays: Sequence[Any]) -> Sequence[Any]:
        return call(made, arrays)

    def _like(self, x: Any, other: Any) -> Any:
        return jnp.asarray(x, other.dtype)

    def _spread(self, x: Any, shape: tuple[int, ...]) -> Any:
        return jnp.broadcast_to(x, shape)

    def _walk(self, walk: Walk, state: tuple[Any, Any]) -> tuple[Any, Any]:
        def one(x: Any, tau: Any) -> Any:
            return tuple(call(walk.step, [*x, walk.tau if tau is None else tau, *walk.rest])), None

        @partial(jax.checkpoint, static_argnums=2)
        def segment(x: Any, tau: Any, length: int) -> Any:
            return jax.lax.scan(one, x, tau, length)

        def block(x: Any, tau: Any) -> Any:
            """`every` steps, in segments and what is left over."""
            whole, left = divmod(walk.every, walk.length)
            first = None if tau is None else tau[: whole * walk.length]
            pieces = _folded(first, whole, walk.length)
            x, _ = jax.lax.scan(lambda x, u: segment(x, u, walk.length), x, pieces, whole)
            if left:
                x, _ = segment(x, None if tau is None else tau[-left:], left)
            return x, x

        if walk.every == 1:
            block = lambda x, tau: (one(x, tau)[0],) * 2  # noqa: E731
            tau = walk.tau if walk.moving else None
        else:
            used = walk.tau[: walk.saves * walk.every] if walk.moving else None
            tau = _folded(used, walk.saves, walk.every)
        return jax.lax.scan(block, state, tau, walk.saves)[1]


def _folded(x: Any, *lengths: int) -> Any:
    """The first axis as several; none where there is no array."""
    return None if x is None else x.reshape((*lengths, *x.shape[1:]))
