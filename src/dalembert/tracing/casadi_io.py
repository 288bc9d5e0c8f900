"""CasADi's functions and expressions read as programs and arrays of symbols, and written again.

CasADi is an extra: it is imported here only, by those who use its objects, and nothing of it is
changed. Instruction lists are copied in and out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from dalembert.errors import CompileError
from dalembert.tracing.arrays import array, of_identities, shape_of, table_with
from dalembert.tracing.function import program_of
from dalembert.tracing.interpreter import walk
from dalembert.tracing.program import BINARY, Op, Port, Program, port_slices, program
from dalembert.tracing.scalars import is_casadi, scalar
from dalembert.tracing.table import Symbol, simplify

if TYPE_CHECKING:
    import casadi

# CasADi's names that differ from ours; INV, TWICE, ASSIGN and the ports are expanded below.
_RENAMED = {"FABS": Op.ABS, "FMIN": Op.MIN, "FMAX": Op.MAX, "IF_ELSE_ZERO": Op.SELECT0}
_OPS = {**Op.__members__, **_RENAMED, "CONSTPOW": Op.POW}


def _shape(rows: int, columns: int) -> tuple[int, ...]:
    return (rows, columns) if columns != 1 else (rows,) if rows != 1 else ()


def _positions(sparsities: list[casadi.Sparsity]) -> list[list[int]]:
    """C-order positions of the nonzeros of column-major matrices, which follow each other."""
    result, start = [], 0
    for sparsity in sparsities:
        rows, columns = sparsity.get_triplet()
        width = sparsity.size2()
        result.append([start + i * width + j for i, j in zip(rows, columns, strict=True)])
        start += sparsity.numel()
    return result


def read(function: casadi.Function) -> Program:
    """The public instruction list of an SX function, as single-assignment code."""
    import casadi

    names = {getattr(casadi, key): key[3:] for key in dir(casadi) if key[:3] == "OP_"}
    inputs = [function.sparsity_in(k) for k in range(function.n_in())]
    outputs = [function.sparsity_out(k) for k in range(function.n_out())]
    # C-order positions of the nonzeros of each port in the concatenation of all ports
    positions_in, positions_out = map(_positions, (inputs, outputs))
    instructions: list[tuple[int, int, int]] = []
    constants: list[float] = []
    work: dict[int, int] = {}  # value in each entry of CasADi's work vector, which are reused
    results: dict[int, int] = {}

    def emit(op: Op, a: int, b: int = -1) -> int:
        instructions.append((op, a, b))
        return len(instructions) - 1

    def constant(value: float) -> int:
        constants.append(value)
        return emit(Op.CONST, len(constants) - 1)

    for k in range(function.n_instructions()):
        name = names[function.instruction_id(k)]
        source, target = function.instruction_input(k), function.instruction_output(k)
        if name == "OUTPUT":
            results[positions_out[target[0]][target[1]]] = work[source[0]]
        elif name == "INPUT":
            work[target[0]] = emit(Op.INPUT, positions_in[source[0]][source[1]])
        elif name == "CONST":
            work[target[0]] = constant(function.instruction_constant(k))
        elif name == "ASSIGN":
            work[target[0]] = work[source[0]]
        elif name == "INV":
            work[target[0]] = emit(Op.DIV, constant(1.0), work[source[0]])
        elif name == "TWICE":
            work[target[0]] = emit(Op.ADD, work[source[0]], work[source[0]])
        elif name in _OPS:
            op = _OPS[name]
            work[target[0]] = emit(op, work[source[0]], work[source[1]] if op in BINARY else -1)
        else:
            raise CompileError(f"CasADi's operation {name} has no compiled form")
    size = sum(sparsity.numel() for sparsity in outputs)
    missing = [k for k in range(size) if k not in results]  # structurally zero
    if missing:
        results |= dict.fromkeys(missing, constant(0.0))
    ports_in, ports_out = (
        tuple(Port(name, _shape(*s.shape)) for name, s in zip(names, sparsities, strict=True))
        for names, sparsities in ((function.name_in(), inputs), (function.name_out(), outputs))
    )
    numbers = [results[k] for k in range(size)]
    return program(function.name(), ports_in, ports_out, instructions, constants, numbers)


def _require() -> None:
    """An error that names the extra where CasADi is not installed."""
    if find_spec("casadi") is None:
        raise CompileError(
            "functions of CasADi need the extra dalembert[casadi]: pip install casadi"
        )


def from_casadi(function: casadi.Function) -> Program:
    """The program of a CasADi function; (n, 1) matrices become vectors and (1, 1) scalars."""
    if function.is_a("SXFunction"):
        return simplify(read(function))
    try:
        return simplify(read(function.expand()))
    except RuntimeError as error:
        message = f"{function.name()} cannot be written as scalar operations: {error}"
        raise CompileError(message) from error


_CASADI_NAMES = {
    **{Op.ADD: "plus", Op.SUB: "minus", Op.MUL: "times", Op.DIV: "rdivide", Op.POW: "power"},
    **{Op.ABS: "fabs", Op.MIN: "fmin", Op.MAX: "fmax"},
    **{Op.NOT: "logic_not", Op.AND: "logic_and", Op.OR: "logic_or"},
}


def to_casadi(program: Program, name: str | None = None) -> casadi.Function:
    """The function; vectors are columns, arrays of more axes (rows, all other axes).

    >>> import numpy as np
    >>> from dalembert.kernels.program.trace import trace
    >>> to_casadi(trace(lambda x: np.sin(x), {"x": (2,)}), "sine")
    Function(sine:(x[2])->(out[2]) SXFunction)
    """
    _require()
    import casadi

    inputs = [casadi.SX.sym(port.name, *_matrix(port)) for port in program.inputs]
    flat = casadi.vertcat(*(casadi.vec(x.T) for x in inputs))
    # NaN where one operand is NaN, for which casadi.fmin and fmax give the other one
    extremes: Meaning = {
        Op.MIN: lambda x, y: casadi.if_else(x < y, x, casadi.if_else(y <= x, y, x + y)),
        Op.MAX: lambda x, y: casadi.if_else(x > y, x, casadi.if_else(y >= x, y, x + y)),
    }
    outputs = _outputs(program, flat, extremes)
    names_in, names_out = (
        [port.name for port in side] for side in (program.inputs, program.outputs)
    )
    # a function may not have an output of an input's name
    names_out = [f"{key}_out" if key in names_in else key for key in names_out]
    return casadi.Function(name or program.name, inputs, outputs, names_in, names_out)


Meaning = dict[int, Callable[..., Any]]


def _outputs(program: Program, flat: casadi.SX, instead: Meaning) -> list[casadi.SX]:
    """Every output as a matrix, from all inputs as one column in C order.

    `instead` has functions of symbols for operations that are to be spelled otherwise.
    """
    import casadi

    meaning: Meaning = {op: partial(_apply, op) for op in Op}
    results = walk(program, meaning | instead, [*map(casadi.SX, program.constants)])(flat)
    columns = [casadi.vertcat(*results[own]) for own in port_slices(program.outputs)]
    return [
        casadi.reshape(column, *_matrix(port)[::-1]).T
        for column, port in zip(columns, program.outputs, strict=True)
    ]


def _matrix(port: Port) -> tuple[int, int]:
    rows = port.shape[0] if port.shape else 1
    return rows, port.size // rows if rows else 0


def _apply(op: Op, x: casadi.SX, y: Any = None) -> Any:
    import casadi

    if op == Op.NEG:
        return -x
    if op == Op.SQ:
        return x * x
    if op == Op.SELECT0:
        return casadi.if_else(x, y, 0.0)
    name = _CASADI_NAMES.get(op) or op.name.lower()
    function = getattr(casadi, name, None)
    if function is None:
        raise CompileError(f"CasADi has no operation {name}")
    return function(x) if y is None else function(x, y)


# each of our symbols and CasADi's that stands for it, which lives as long, so that its hash is its own
_expressions: WeakKeyDictionary[Symbol, casadi.SX] = WeakKeyDictionary()
_symbols: WeakValueDictionary[int, Symbol] = WeakValueDictionary()


def adopted(value: Any) -> Any:
    """CasADi's SX, DM or array as an array of symbols: columns as vectors, 1×1 as numbers.

    All else comes back as it is. The same symbol of CasADi is the same symbol here.

    >>> import casadi
    >>> [adopted(casadi.SX.sym("x", *shape)).shape for shape in ((), (2,), (2, 3))]
    [(), (2,), (2, 3)]
    """
    if not is_casadi(value):
        return value
    import casadi

    if hasattr(value, "to_casadi"):  # its arrays of any number of axes
        entries = casadi.SX(
            casadi.densify((value if len(value.shape) < 2 else value.ravel()).to_casadi())
        )
        return _read_column(entries, tuple(value.shape))
    if type(value).__name__ not in ("SX", "DM"):
        return value
    return _read_column(casadi.vec(casadi.SX(casadi.densify(value)).T), _shape(*value.shape))


def _read_column(entries: casadi.SX, shape: tuple[int, ...]) -> np.ndarray:
    import casadi

    met = casadi.symvar(entries)
    identities = []
    for expression in met:
        symbol = _symbols.get(expression.element_hash())
        if symbol is None:
            symbol = Symbol(expression.name())
            _pair(symbol, expression)
        identities.append(symbol)
    inputs = of_identities(identities, (len(met),))
    program_read = read(casadi.Function("expression", [casadi.vertcat(*met)], [entries]))
    table, (keys,) = table_with(inputs)
    return array([scalar(table, key) for key in table.replayed(program_read, keys)], shape)


def _pair(symbol: Symbol, expression: casadi.SX) -> None:
    _expressions[symbol] = expression
    _symbols[expression.element_hash()] = symbol


def exported_array(value: object) -> Any:
    """An array of symbols as CasADi's array of the same shape."""
    import casadi

    shape = shape_of(value)
    column = casadi.vec(exported(value).T)
    wrapper: Any = casadi.ArrayInterface
    return wrapper._wrap_nd(column, shape)


def exported(value: object) -> casadi.SX:
    """An array of symbols as CasADi's matrix: vectors are columns.

    Symbols that came from CasADi are CasADi's again; others get one of their name, and come back as
    themselves.
    """
    _require()
    import casadi

    table, (keys,) = table_with(value)
    met = table.symbols_below(keys)
    program_written = program_of("expression", [of_identities(met, (len(met),))], {"out": value})
    for symbol in met:
        if symbol not in _expressions:
            _pair(symbol, casadi.SX.sym(symbol.name))
    return _outputs(program_written, casadi.vertcat(*(_expressions[x] for x in met)), {})[0]
