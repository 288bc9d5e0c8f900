"""A program as a `casadi.Function`, for optimal control and for differentiation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dalembert import bridge
from dalembert.errors import CompileError
from dalembert.kernels.program.program import BINARY, Op, Port, Program

if TYPE_CHECKING:
    import casadi

_RENAMED = {Op.ABS: "fabs", Op.MIN: "fmin", Op.MAX: "fmax", Op.SELECT0: "if_else"}


def to_casadi(program: Program, name: str | None = None) -> casadi.Function:
    """The function; vectors are columns, arrays of more axes (rows, all other axes).

    >>> import numpy as np
    >>> from dalembert.kernels.program.trace import trace
    >>> to_casadi(trace(lambda x: np.sin(x), {"x": (2,)}), "sine")
    Function(sine:(x[2])->(out[2]) SXFunction)
    """
    import casadi

    inputs = [casadi.SX.sym(port.name, *_matrix(port)) for port in program.inputs]
    flat = casadi.vertcat(*(casadi.vec(x.T) for x in inputs))
    values = evaluate(program, flat, {Op.MIN: _minimum, Op.MAX: _maximum})
    outputs = []
    for port, column in zip(program.outputs, values, strict=True):
        m, n = _matrix(port)
        outputs.append(casadi.reshape(column, n, m).T)
    names_in, names_out = (
        [port.name for port in side] for side in (program.inputs, program.outputs)
    )
    # a function may not have an output of an input's name
    names_out = [f"{key}_out" if key in names_in else key for key in names_out]
    return casadi.Function(name or program.name, inputs, outputs, names_in, names_out)


def replay(program: Program, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The program's outputs as casadi arrays, from inputs given by name: to trace it once more.

    MIN and MAX stand there as `fmin` and `fmax`, which tracing reads as MIN and MAX again.
    """
    flat = bridge.column(bridge.flat(arrays[port.name] for port in program.inputs))
    columns = evaluate(program, flat)
    return {
        port.name: bridge.array(column, *port.shape)
        for port, column in zip(program.outputs, columns, strict=True)
    }


def simplified(arrays: Sequence[Any]) -> list[Any]:
    """The same arrays of symbols in fewer operations, as a program of them would have.

    >>> import numpy as np
    >>> x = bridge.symbol("x")
    >>> print(simplified([np.sin(x) ** 2 + np.cos(x) ** 2])[0])
    1
    """
    import casadi

    from dalembert.kernels.program.trace import from_casadi

    columns = [bridge.column(x) for x in arrays]
    symbols = casadi.vertcat(*casadi.symvar(casadi.vertcat(*columns)))
    program = from_casadi(casadi.Function("f", [symbols], casadi.cse(columns)))
    found = evaluate(program, symbols)
    return [bridge.array(y, *bridge.shape_of(x)) for y, x in zip(found, arrays, strict=True)]


def evaluate(
    program: Program, flat: casadi.SX, instead: Mapping[Op, Callable[..., Any]] | None = None
) -> list[casadi.SX]:
    """Every output as one column, from all inputs as one column, both in C order.

    `instead` has functions of symbols for operations that are to be spelled otherwise.
    """
    import casadi

    values: list[Any] = []
    rows = zip(program.op.tolist(), program.a.tolist(), program.b.tolist(), strict=True)
    for code, a, b in rows:
        op = Op(code)
        if op == Op.INPUT:
            values.append(flat[a])
        elif op == Op.CONST:
            values.append(casadi.SX(float(program.constants[a])))
        else:
            apply = (instead or {}).get(op) or partial(_apply, op)
            values.append(apply(*((values[a], values[b]) if op in BINARY else (values[a],))))
    outputs, start = [], 0
    for port in program.outputs:
        outputs.append(
            casadi.vertcat(*(values[k] for k in program.results[start : start + port.size]))
        )
        start += port.size
    return outputs


def _minimum(x: casadi.SX, y: casadi.SX) -> casadi.SX:
    """The lesser, or NaN where one is; casadi.fmin would give the other one."""
    return _first(x < y, y <= x, x, y)


def _maximum(x: casadi.SX, y: casadi.SX) -> casadi.SX:
    return _first(x > y, y >= x, x, y)


def _first(first: casadi.SX, second: casadi.SX, x: casadi.SX, y: casadi.SX) -> casadi.SX:
    """x or y, whichever comparison holds; x + y, which is NaN, where neither does."""
    import casadi

    return casadi.if_else(first, x, casadi.if_else(second, y, x + y))


def _matrix(port: Port) -> tuple[int, int]:
    rows = port.shape[0] if port.shape else 1
    return rows, port.size // rows if rows else 0


def _apply(op: Op, x: Any, y: Any = None) -> Any:
    import casadi

    if op == Op.NEG:
        return -x
    if op == Op.SQ:
        return x * x
    if op == Op.SELECT0:
        return casadi.if_else(x, y, 0.0)
    infix = {Op.ADD: "__add__", Op.SUB: "__sub__", Op.MUL: "__mul__", Op.DIV: "__truediv__"}
    infix |= {Op.POW: "__pow__"}
    if op in infix:
        return getattr(x, infix[op])(y)
    logic = {Op.LT: "lt", Op.LE: "le", Op.EQ: "eq", Op.NE: "ne", Op.NOT: "logic_not"}
    logic |= {Op.AND: "logic_and", Op.OR: "logic_or"}
    name = logic.get(op) or _RENAMED.get(op) or op.name.lower()
    function = getattr(casadi, name, None)
    if function is None:
        raise CompileError(f"CasADi has no operation {name}")
    return function(x) if y is None else function(x, y)
