"""`DALEMBERT_CHECK=1`: the first call of every kernel is compared with what it was made from.

Before a loop of machine code is used for the first time, in each precision, it is run on the states it
was called with, and so are the program, interpreted, and the plain NumPy function behind it where there
is one. If they differ by more than rounding, the call raises with both numbers, and goes on raising.
It finds machine code that is not that of its program: from a damaged or mistaken entry of the cache, or
of a model that was changed after its key was made.
"""

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import CompileError
from dalembert.kernels.program.program import Port, Program

MOST_STATES = 16
# relative to the largest entry: accelerations of an ill-conditioned mass matrix are no better
TOLERANCE = {"float64": 1e-7, "float32": 1e-3}
Reference = Callable[..., Mapping[str, Any]]
"""Results by name, from arrays of one state by name."""


def enabled() -> bool:
    """Whether the environment asks for it."""
    return os.environ.get("DALEMBERT_CHECK", "") not in ("", "0")


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
        program = self.program()
        self._compare("the program", states, found, _interpreted(program, states), dtype)
        if self.reference is not None and dtype == "float64":
            plain = [self._plain(self.reference, k, states) for k in range(len(states[0]))]
            expected = [np.stack(column) for column in zip(*plain, strict=True)]
            self._compare("plain NumPy", states, found, (expected, expected), dtype)

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

    def _plain(
        self, reference: Reference, k: int, states: Sequence[np.ndarray]
    ) -> list[np.ndarray]:
        named = {port.name: x[k] for port, x in zip(self.inputs, states, strict=True)}
        results = reference(**named)
        return [
            np.asarray(x, dtype=float).reshape(port.shape)
            for port, x in zip(self.outputs, results.values(), strict=True)
        ]

    def _compare(
        self,
        what: str,
        states: Sequence[np.ndarray],
        found: Sequence[np.ndarray],
        expected: tuple[Sequence[np.ndarray], Sequence[np.ndarray]],
        dtype: str,
    ) -> None:
        """`expected` in the kernel's precision, and in double precision: what rounding does."""
        for port, x, y, exact in zip(self.outputs, found, *expected, strict=True):
            with np.errstate(all="ignore"):
                size = np.max(np.abs(y), initial=0.0, where=np.isfinite(y))
                slack = TOLERANCE[dtype] * size + 16 * np.nan_to_num(np.abs(y - exact))
                right = (x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= slack)
            if not np.all(right):
                raise CompileError(self._words(what, states, port, x, y, right))

    def _words(
        self,
        what: str,
        states: Sequence[np.ndarray],
        port: Port,
        found: np.ndarray,
        expected: np.ndarray,
        right: np.ndarray,
    ) -> str:
        place = tuple(int(i) for i in np.argwhere(~right)[0])
        given = ", ".join(
            f"{p.name} = {x[place[0]].tolist()}" for p, x in zip(self.inputs, states, strict=True)
        )
        entry = f"[{', '.join(map(str, place[1:]))}]" if place[1:] else ""
        return (
            f"DALEMBERT_CHECK: {self.name}: the compiled kernel gives {port.name}{entry} = "
            f"{float(found[place])!r}, {what} {float(expected[place])!r}, at {given}; remove the cache "
            "(DALEMBERT_CACHE=off avoids it) and report this if it comes again"
        )


def _interpreted(
    program: Program, states: Sequence[np.ndarray]
) -> tuple[Sequence[np.ndarray], Sequence[np.ndarray]]:
    from dalembert.kernels.program.interpret import interpret

    double = [x.astype(float) for x in states]
    return interpret(program, *states), interpret(program, *double)


def _number(address: int, index: int) -> int:
    return int(ctypes.c_ssize_t.from_address(address + 8 * index).value)
