"""A system on JAX arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dalembert.frameworks.facade import Facade, Given
from dalembert.frameworks.jax_call import call
from dalembert.systems.operation import Operation


class JaxSystem(Facade):
    """The quantities of a system as functions of JAX arrays."""

    framework = "jax"

    def _given(self, x: Any) -> Given:
        if not isinstance(x, jax.Array | np.ndarray | np.generic):
            numbers = np.asarray(x)
            return Given(numbers, None if numbers.dtype.kind == "f" else numbers.dtype.name)
        array = x if isinstance(x, jax.Array) else jnp.asarray(x)
        weak = getattr(array, "weak_type", False) and array.dtype.kind == "f"
        return Given(array, None if weak else array.dtype.name)

    def _cast(self, x: Given, dtype: str) -> Any:
        return x.array if x.dtype is not None else jnp.asarray(x.array, dtype)

    def _default(self) -> str:
        return jnp.zeros(0).dtype.name

    def _stacked(self, arrays: Sequence[Any], axis: int = -1) -> Any:
        return jnp.stack(jnp.broadcast_arrays(*arrays), axis)

    def _apply(self, made: Operation, arrays: Sequence[Any]) -> Sequence[Any]:
        return call(made, arrays)
