"""`DALEMBERT_CHECK=1`: the first call of every kernel is compared with what it was made from.

Before a loop of machine code is used for the first time, in each precision, it is run on the states it
was called with, and so are the program, interpreted, and the plain NumPy function behind it where there
is one. If they differ by more than rounding, the call raises with both numbers, and goes on raising.
It finds machine code that is not that of its program: from a damaged or mistaken entry of the cache, or
of a model that was changed after its key was made. Rollouts are compared over their first steps
and kernels on a GPU by what they gave for their first states (confirm.py).
"""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.kernels.call.confirm import MOST_STATES, Confirmation, Reference
from dalembert.kernels.program.program import Port, Program


@dataclass(frozen=True)
class Check:
    """What a kernel is compared with; called with the raw arguments of a loop."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    program: Callable[[], Program]
    reference: Reference | None = None

    def __call__(self, dtype: str, loop: int, args: int, dimensions: int, steps: int) -> None:
        """Raise where the loop at this address is not what it should be."""
        states = self._states(dtype, args, dimensions, steps)
        if not len(states[0]):
            return
        found = self._run(dtype, loop, states)
        confirmation = Confirmation(self.name, self.inputs, self.outputs, states, found)
        rounding = confirmation.by_program(self.program())
        if self.reference is not None and dtype == "float64":
            confirmation.by_function(self.reference, rounding)

    def _states(self, dtype: str, args: int, dimensions: int, steps: int) -> list[np.ndarray]:
        """Copies of the first states of every input, (states, *shape)."""
        count = min(MOST_STATES, _number(dimensions, 0))
        at = len(self.inputs) + len(self.outputs)
        copies = []
        for i, port in enumerate(self.inputs):
            strides = [_number(steps, i), *(_number(steps, at + k) for k in range(len(port.shape)))]
            at += len(port.shape)
            kind = np.ctypeslib.as_ctypes_type(dtype)
            first = np.ctypeslib.as_array((kind * 1).from_address(_number(args, i)))
            shape = (count, *port.shape)
            copies.append(np.lib.stride_tricks.as_strided(first, shape, strides).copy())
        return copies

    def _run(self, dtype: str, loop: int, states: Sequence[np.ndarray]) -> list[np.ndarray]:
        count = len(states[0])
        results = [np.full((count, *port.shape), np.nan, dtype) for port in self.outputs]
        arrays = [*states, *results]
        cores = [stride for x in arrays for stride in x.strides[1:]]
        steps = [*(x.strides[0] for x in arrays), *cores]
        ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(loop)(
            (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays)),
            (ctypes.c_ssize_t * 1)(count),
            (ctypes.c_ssize_t * len(steps))(*steps),
            None,
        )
        return results


def _number(address: int, index: int) -> int:
    return int(ctypes.c_ssize_t.from_address(address + 8 * index).value)
