"""Programs evaluated without compiling: the meaning of each operation, and `Evaluator` for few calls.

`interpret` runs each instruction as one NumPy operation on a batch of states. `Evaluator` uses
Python's own numbers, which take a tenth of the time of NumPy's arrays (). They raise where NumPy
gives infinity or NaN, so such inputs are evaluated once more by `interpret`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.errors import ShapeError
from dalembert.tracing.program import Op, Program, port_slices

Operation = Callable[..., np.ndarray]
"""An operation on arrays of numbers, entry by entry."""


def _truth(function: np.ufunc) -> Operation:
    return lambda *args: function(*args).astype(np.result_type(*args))


def _each(function: Callable[..., float]) -> Operation:
    """A scalar function of the standard library, applied entry by entry."""
    return lambda *args: np.vectorize(function, otypes=[np.result_type(*args)])(*args)


def _remainder(x: float, y: float) -> float:
    defined = math.isfinite(x) and y != 0.0 and not math.isnan(y)
    return math.remainder(x, y) if defined else math.nan


_NUMPY_NAMES = {
    **{Op.NEG: "negative", Op.SUB: "subtract", Op.MUL: "multiply", Op.DIV: "divide"},
    **{Op.SQ: "square", Op.MIN: "minimum", Op.MAX: "maximum"},
    **{Op.LT: "less", Op.LE: "less_equal", Op.EQ: "equal", Op.NE: "not_equal"},
    **{Op.NOT: "logical_not", Op.AND: "logical_and", Op.OR: "logical_or"},
}
_NO_UFUNCS = {Op.CONST, Op.INPUT, Op.ERF, Op.REMAINDER, Op.SELECT0}
UFUNCS: dict[Op, np.ufunc] = {
    op: getattr(np, _NUMPY_NAMES.get(op, op.name.lower())) for op in Op if op not in _NO_UFUNCS
}
"""Operations that are one of NumPy's ufuncs."""

TRUTHS = (Op.LT, Op.LE, Op.EQ, Op.NE, Op.NOT, Op.AND, Op.OR)
"""Those whose results are true or false."""

MEANING: dict[Op, Operation] = {
    **UFUNCS,
    **{op: _truth(UFUNCS[op]) for op in TRUTHS},
    Op.ERF: _each(math.erf),
    Op.REMAINDER: _each(_remainder),
    Op.SELECT0: lambda a, b: np.where(a != 0, b, np.zeros_like(b)),
}
"""The operations as functions of arrays of numbers."""


def interpret(program: Program, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """The program's outputs, each (..., *shape), for inputs (..., *shape) that broadcast.

    float32 inputs are computed in float32, everything else in float64. Infinite and NaN values
    propagate without warning, as in compiled kernels.
    """
    if len(arrays) != len(program.inputs):
        names = ", ".join(port.name for port in program.inputs)
        raise ShapeError(f"{program.name} takes {len(program.inputs)} arrays ({names})")
    arrays = tuple(np.asarray(array) for array in arrays)
    single = bool(arrays) and all(array.dtype == np.float32 for array in arrays)
    dtype = np.dtype(np.float32 if single else float)
    leads: list[tuple[int, ...]] = []
    flat: list[np.ndarray] = []  # one array, of the batch or broadcasting to it, per input entry
    for port, array in zip(program.inputs, arrays, strict=True):
        split = array.ndim - len(port.shape)
        if split < 0 or array.shape[split:] != port.shape:
            raise ShapeError(f"{port.name} must be (..., *{port.shape}), not {array.shape}")
        lead = array.shape[:split]
        entries = array.astype(dtype).reshape(*lead, port.size)
        leads.append(lead)
        flat.extend(entries[..., k] for k in range(port.size))
    batch = np.broadcast_shapes(*leads)
    with np.errstate(all="ignore"):
        results = walk(program, MEANING, program.constants.astype(dtype))(flat)
    outputs = []
    for port, own in zip(program.outputs, port_slices(program.outputs), strict=True):
        out = np.empty((*batch, port.size), dtype)
        for entry, result in enumerate(results[own]):
            out[..., entry] = result
        outputs.append(out.reshape((*batch, *port.shape)))
    return tuple(outputs)


def walk(
    program: Program, meaning: Mapping[Any, Callable[..., Any]], constants: Any
) -> Callable[[Any], list[Any]]:
    """A function from all inputs to all results that does one instruction after the other.

    Its values are whatever `meaning` takes: numbers, arrays, expressions.
    """
    rows = list(enumerate(program.rows))
    start = [constants[a] if op == Op.CONST else None for _, (op, a, _) in rows]
    positions = [(k, a) for k, (op, a, _) in rows if op == Op.INPUT]
    steps = [(k, meaning[op], a, b) for k, (op, a, b) in rows if op > Op.INPUT]
    results = program.results.tolist()

    def run(inputs: Any) -> list[Any]:
        values: list[Any] = start.copy()
        for k, position in positions:
            values[k] = inputs[position]
        for k, function, a, b in steps:
            values[k] = function(values[a]) if b < 0 else function(values[a], values[b])
        return [values[k] for k in results]

    return run


_STANDARD = {op: getattr(math, op.name.lower(), None) for op in Op}
_SCALAR: dict[int, Callable[..., float]] = {
    **{op: function for op, function in _STANDARD.items() if function is not None},
    Op.NEG: operator.neg,
    Op.ADD: operator.add,
    Op.SUB: operator.sub,
    Op.MUL: operator.mul,
    Op.DIV: operator.truediv,
    Op.SQ: lambda x: x * x,
    Op.ABS: abs,
    Op.SIGN: lambda x: x if x == 0.0 or x != x else math.copysign(1.0, x),
    Op.FLOOR: lambda x: float(math.floor(x)),
    Op.CEIL: lambda x: float(math.ceil(x)),
    Op.MIN: lambda x, y: y if y < x or y != y else x,
    Op.MAX: lambda x, y: y if y > x or y != y else x,
    Op.LT: lambda x, y: 1.0 if x < y else 0.0,
    Op.LE: lambda x, y: 1.0 if x <= y else 0.0,
    Op.EQ: lambda x, y: 1.0 if x == y else 0.0,
    Op.NE: lambda x, y: 1.0 if x != y else 0.0,
    Op.NOT: lambda x: 0.0 if x else 1.0,
    Op.AND: lambda x, y: 1.0 if x and y else 0.0,
    Op.OR: lambda x, y: 1.0 if x or y else 0.0,
    Op.SELECT0: lambda c, x: x if c else 0.0,
}


_INFIX = {Op.ADD: "+", Op.SUB: "-", Op.MUL: "*", Op.DIV: "/"}
_FEW = 20  # calls after which a Python function is worth writing: it takes 6 µs per instruction
_LONGEST = 20_000  # instructions of such a function


class Evaluator:
    """A program as a function from all its inputs to all its results, as flat lists of numbers.

    The first calls walk over the instructions; a function that is called more often is written out
    in Python, which runs four times as fast.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self._calls = 0
        self._function: Callable[[Sequence[float]], list[float]] | None = None

    def __call__(self, inputs: Sequence[float]) -> list[float]:
        self._calls += 1
        if self._function is None or self._calls == _FEW:
            is_worth = self._calls >= _FEW and len(self.program) <= _LONGEST
            if is_worth:
                self._function = _written(self.program)
            else:
                self._function = walk(self.program, _SCALAR, self.program.constants.tolist())
        try:
            return self._function(inputs)
        except (ArithmeticError, ValueError):
            # all results of one state, from all its inputs
            flat = [np.asarray(x, dtype=float) for x in inputs]
            with np.errstate(all="ignore"):
                return list(map(float, walk(self.program, MEANING, self.program.constants)(flat)))


def _written(program: Program) -> Callable[[Sequence[float]], list[float]]:
    """The same as straight-line Python."""
    lines, names = ["def run(x):"], []
    constants = program.constants.tolist()
    for k, (op, a, b) in enumerate(program.rows):
        if op == Op.INPUT:
            names.append(f"x[{a}]")
        elif op == Op.CONST:
            names.append(f"c[{a}]" if not math.isfinite(constants[a]) else repr(constants[a]))
        else:
            x, y = names[a], names[b] if b >= 0 else ""
            if op in _INFIX:
                value = f"{x} {_INFIX[Op(op)]} {y}"
            elif op in (Op.NEG, Op.SQ):
                value = f"-{x}" if op == Op.NEG else f"{x} * {x}"
            else:
                value = f"f{op}({x}, {y})" if y else f"f{op}({x})"
            names.append(f"v{k}")
            lines.append(f" v{k} = {value}")
    lines.append(f" return [{', '.join(names[k] for k in program.results.tolist())}]")
    scope: dict[str, Any] = {f"f{int(op)}": function for op, function in _SCALAR.items()}
    scope["c"] = constants
    exec("\n".join(lines), scope)  # numbers and names made above, nothing of a user's
    run: Callable[[Sequence[float]], list[float]] = scope["run"]
    return run
