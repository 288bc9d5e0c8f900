"""`DALEMBERT_CHECK=1` for calls of JAX: what XLA was given is compared with the program, interpreted.

NumPy's calls are compared by the kernel itself (kernels/call/check.py); XLA calls machine code without
Python, so a callback is put behind the call. It looks at the first states of the first call of every
operation in each precision, and fails the computation where they are wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.interpreters import mlir

from dalembert.kernels.call.confirm import MOST_STATES, Confirmation
from dalembert.kernels.program.program import Port
from dalembert.systems.operation import Operation

_confirmed: set[str] = set()


def confirmed(
    ctx: Any, operands: Sequence[Any], results: Sequence[Any], operation: Operation, target: str
) -> Any:
    """The results, lowered so that they pass through a comparison."""
    kinds = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in ctx.avals_out]

    def passed(*arrays: Any) -> Any:
        return jax.pure_callback(partial(_compare, operation, target), kinds, *arrays)

    both = ctx.replace(avals_in=[*ctx.avals_in, *ctx.avals_out])
    return mlir.lower_fun(passed, multiple_results=True)(both, *operands, *results)


def _compare(operation: Operation, target: str, *arrays: Any) -> list[np.ndarray]:
    """The results as they are; raises where the program has others."""
    given = [np.asarray(x) for x in arrays]
    made = given[len(operation.inputs) :]
    if target not in _confirmed:
        ports = (*operation.inputs, *operation.outputs)
        batch = made[-1].shape[: made[-1].ndim - len(operation.outputs[-1].shape)]
        first = [_first(x, port, batch) for x, port in zip(given, ports, strict=True)]
        count = len(operation.inputs)
        if len(first[0]):
            Confirmation(
                operation.name,
                operation.inputs,
                operation.outputs,
                first[:count],
                first[count:],
                "the call of JAX",
            ).by_program(operation.program)
            _confirmed.add(target)
    return made


def _first(x: np.ndarray, port: Port, batch: tuple[int, ...]) -> np.ndarray:
    """The first states of the batch, (states, *shape)."""
    whole = np.broadcast_to(x, (*batch, *port.shape))
    return whole.reshape((-1, *port.shape))[:MOST_STATES]
