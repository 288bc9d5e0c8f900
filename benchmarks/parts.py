"""A kernel taken apart: its arithmetic alone, and with the rows of states in and out.

The parts are the library's own LLVM assembly with a loop around it, so that nothing of Python is in
the times; the few states they work on stay in the innermost cache.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable
from unittest.mock import patch

import numpy as np

from benchmarks.machine import compiled
from dalembert.kernels.llvm import batch_loop
from dalembert.kernels.llvm.codegen import llvm_ir
from dalembert.kernels.llvm.target import Target
from dalembert.tracing.program import Program

STATES, TURNS = 64, 64  # in the innermost cache; and how often over them per call
ARITHMETIC = re.compile(r"define internal void @part_0\((.*?)\) noinline #0")
REPEAT = """
define void @repeat_{name}(i64 %turns, {parameters}) #0 {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  call void @{function}({arguments})
  %j = add i64 %i, 1
  %more = icmp ult i64 %j, %turns
  br i1 %more, label %loop, label %out
out:
  ret void
}}
"""


class Parts:
    """Calls that take `registers` registers of states through the parts of a kernel.

    The program must be short enough that its arithmetic is one function.
    """

    def __init__(self, program: Program, target: Target) -> None:
        self.program, self.width = program, target.width("float64")
        self.registers = STATES * TURNS // self.width
        with patch.object(batch_loop, "SHORT", sys.maxsize):  # all of it in one module
            (whole,) = llvm_ir(program, "float64", target)
        self._engine = compiled(whole + _repeats(whole), target)
        ports = (*program.inputs, *program.outputs)
        rng = np.random.default_rng(0)
        sizes = [STATES * port.size for port in ports]
        raw = [rng.uniform(-np.pi, np.pi, size + 8) for size in (*sizes, 4 * sum(sizes))]
        # each begins a line of the cache; the last one is the frame
        self._arrays = [x[-x.ctypes.data % 64 // 8 :] for x in raw]

    def calls(self) -> dict[str, Callable[[], object]]:
        """The parts "arithmetic" and "both", to be timed."""
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        both = ctypes.CFUNCTYPE(None, number, pointer, pointer, number)(
            self._engine.get_function_address("repeat_rows")
        )
        arithmetic = ctypes.CFUNCTYPE(None, number, pointer)(
            self._engine.get_function_address("repeat_arithmetic")
        )
        args, steps, frame = self._pointers()
        return {
            "arithmetic": lambda: arithmetic(self.registers, frame),
            "both": lambda: both(TURNS, args, steps, STATES),
        }

    def _pointers(self) -> tuple[ctypes.Array, ctypes.Array, int]:
        """What NumPy hands to an inner loop: row-major arrays and their strides; and the frame."""
        ports = (*self.program.inputs, *self.program.outputs)
        *arrays, frame = (array.ctypes.data for array in self._arrays)
        each = [np.empty((STATES, *port.shape)).strides for port in ports]
        strides = [s[0] for s in each] + [inner for s in each for inner in s[1:]]
        args = (ctypes.c_void_p * len(arrays))(*arrays)
        return args, (ctypes.c_int64 * len(strides))(*strides), frame


def _repeats(text: str) -> str:
    """Loops around the arithmetic on one frame, and around the loop over all states."""
    match = ARITHMETIC.search(text)
    if match is None:
        raise ValueError("the arithmetic of this program is not one function part_0")
    names = re.findall(r"%\w+", match[1])
    still = ("%offsets", "%moves")
    arguments = ["ptr @nothing" if name in still else "ptr %frame" for name in names]
    arithmetic = REPEAT.format(
        name="arithmetic",
        function="part_0",
        parameters="ptr %frame",
        arguments=", ".join(arguments),
    )
    rows = REPEAT.format(
        name="rows",
        function="range",
        parameters="ptr %args, ptr %steps, i64 %count",
        arguments="ptr %args, ptr %steps, i64 0, i64 %count",
    )
    return arithmetic + rows
