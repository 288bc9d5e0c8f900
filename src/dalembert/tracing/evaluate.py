"""Programs evaluated without compiling: for functions that are called a few times only.

Python's own numbers take a tenth of the time of NumPy's arrays (). They raise where NumPy gives
infinity or NaN, so what raises is computed once more by `interpret`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from dalembert.tracing.interpret import run_flat
from dalembert.tracing.program import Op, Program

_STANDARD = {op: getattr(math, op.name.lower(), None) for op in Op}
_SCALAR: dict[int, Callable[..., Any]] = {
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
            self._function = _written(self.program) if is_worth else _walk(self.program)
        try:
            return self._function(inputs)
        except (ArithmeticError, ValueError):
            return run_flat(self.program, inputs)


def _walk(program: Program) -> Callable[[Sequence[float]], list[float]]:
    """A function that does one instruction after the other."""
    rows, constants = list(enumerate(program.rows)), program.constants.tolist()
    start = [constants[a] if op == Op.CONST else 0.0 for _, (op, a, _) in rows]
    positions = [(k, a) for k, (op, a, _) in rows if op == Op.INPUT]
    steps = [(k, _SCALAR[op], a, b) for k, (op, a, b) in rows if op > Op.INPUT]
    results = program.results.tolist()

    def run(inputs: Sequence[float]) -> list[float]:
        values = start.copy()
        for k, position in positions:
            values[k] = inputs[position]
        for k, function, a, b in steps:
            values[k] = function(values[a]) if b < 0 else function(values[a], values[b])
        return [values[k] for k in results]

    return run


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
            names.append(f"v{k}")
            lines.append(f" v{k} = {_expression(op, names[a], names[b] if b >= 0 else '')}")
    lines.append(f" return [{', '.join(names[k] for k in program.results.tolist())}]")
    scope: dict[str, Any] = {f"f{int(op)}": function for op, function in _SCALAR.items()}
    scope["c"] = constants
    exec("\n".join(lines), scope)  # numbers and names made above, nothing of a user's
    return scope["run"]


def _expression(op: int, x: str, y: str) -> str:
    if op in _INFIX:
        return f"{x} {_INFIX[Op(op)]} {y}"
    if op in (Op.NEG, Op.SQ):
        return f"-{x}" if op == Op.NEG else f"{x} * {x}"
    return f"f{op}({x}, {y})" if y else f"f{op}({x})"
