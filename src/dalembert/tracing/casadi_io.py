"""CasADi's functions and expressions read as programs and arrays of symbols, and written again.

CasADi is an extra: it is imported here only, by those who use its objects, and nothing of it is
changed. Instruction lists are copied in and out.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from dalembert.errors import CompileError
from dalembert.tracing.arrays import array, of_identities, shape_of, table_with
from dalembert.tracing.function import program_of
from dalembert.tracing.kinds import is_casadi
from dalembert.tracing.program import BINARY, Op, Port, Program, program
from dalembert.tracing.scalars import scalar
from dalembert.tracing.table import Symbol, simplify

if TYPE_CHECKING:
    import casadi

# CasADi's names that differ from ours; INV, TWICE, ASSIGN and the ports are expanded below.
_RENAMED = {"FABS": Op.ABS, "FMIN": Op.MIN, "FMAX": Op.MAX, "IF_ELSE_ZERO": Op.SELECT0}
_OPS = {**Op.__members__, **_RENAMED, "CONSTPOW": Op.POW}


def _shape(rows: int, columns: int) -> tuple[int, ...]:
    return (rows, columns) if columns != 1 else (rows,) if rows != 1 else ()


def _positions(sparsity: casadi.Sparsity) -> list[int]:
    """C-order position of every nonzero of a column-major matrix."""
    rows, columns = sparsity.get_triplet()
    return [i * sparsity.size2() + j for i, j in zip(rows, columns, strict=True)]


def read(function: casadi.Function) -> Program:
    """The public instruction list of an SX function, as single-assignment code."""
    inputs = [function.sparsity_in(k) for k in range(function.n_in())]
    outputs = [function.sparsity_out(k) for k in range(function.n_out())]
    reader = _Reader(inputs, outputs)
    for k in range(function.n_instructions()):
        reader.take(function, k)
    return program(
        function.name(),
        _ports(function.name_in(), inputs),
        _ports(function.name_out(), outputs),
        reader.instructions,
        reader.constants,
        reader.results(),
    )


def _ports(names: list[str], sparsities: list[casadi.Sparsity]) -> tuple[Port, ...]:
    shapes = [_shape(*sparsity.shape) for sparsity in sparsities]
    return tuple(Port(name, shape) for name, shape in zip(names, shapes, strict=True))


class _Reader:
    """Turns instructions on a work vector, whose slots are reused, into values assigned once."""

    def __init__(self, inputs: list[casadi.Sparsity], outputs: list[casadi.Sparsity]):
        import casadi

        self.names = {getattr(casadi, key): key[3:] for key in dir(casadi) if key[:3] == "OP_"}
        self.instructions: list[tuple[int, int, int]] = []
        self.constants: list[float] = []
        self.slots: dict[int, int] = {}
        self.inputs = [_positions(s) for s in inputs]
        self.outputs = [_positions(s) for s in outputs]
        self.sizes = [s.numel() for s in outputs]
        self.offsets = np.cumsum([0, *(s.numel() for s in inputs)]).tolist()
        self.starts = np.cumsum([0, *self.sizes]).tolist()
        self.output_values: dict[int, int] = {}

    def emit(self, op: Op, a: int, b: int = -1) -> int:
        self.instructions.append((op, a, b))
        return len(self.instructions) - 1

    def constant(self, value: float) -> int:
        self.constants.append(value)
        return self.emit(Op.CONST, len(self.constants) - 1)

    def results(self) -> list[int]:
        """Value of every output entry; what CasADi leaves out as structurally zero is zero."""
        missing = [k for k in range(self.starts[-1]) if k not in self.output_values]
        if missing:
            self.output_values |= dict.fromkeys(missing, self.constant(0.0))
        return [self.output_values[k] for k in range(self.starts[-1])]

    def take(self, function: casadi.Function, k: int) -> None:
        name = self.names[function.instruction_id(k)]
        source, target = function.instruction_input(k), function.instruction_output(k)
        if name == "OUTPUT":
            port, nonzero = target
            self.output_values[self.starts[port] + self.outputs[port][nonzero]] = self.slots[
                source[0]
            ]
        elif name == "INPUT":
            port, nonzero = source
            position = self.offsets[port] + self.inputs[port][nonzero]
            self.slots[target[0]] = self.emit(Op.INPUT, position)
        elif name == "CONST":
            self.slots[target[0]] = self.constant(function.instruction_constant(k))
        else:
            values = [self.slots[slot] for slot in source]
            self.slots[target[0]] = self.operation(name, values)

    def operation(self, name: str, values: list[int]) -> int:
        if name == "ASSIGN":
            return values[0]
        if name == "INV":
            return self.emit(Op.DIV, self.constant(1.0), values[0])
        if name == "TWICE":
            return self.emit(Op.ADD, values[0], values[0])
        op = _OPS.get(name)
        if op is None:
            raise CompileError(f"CasADi's operation {name} has no compiled form")
        return self.emit(op, values[0], values[1] if op in BINARY else -1)


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


_INFIX = {Op.ADD: operator.add, Op.SUB: operator.sub, Op.MUL: operator.mul}
_INFIX |= {Op.DIV: operator.truediv, Op.POW: operator.pow}
_CASADI_NAMES = {Op.ABS: "fabs", Op.MIN: "fmin", Op.MAX: "fmax", Op.NOT: "logic_not"}
_CASADI_NAMES |= {Op.AND: "logic_and", Op.OR: "logic_or"}


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
    # casadi.fmin and fmax would give the other one where one operand is NaN
    extremes = {
        Op.MIN: lambda x, y: _first(x < y, y <= x, x, y),
        Op.MAX: lambda x, y: _first(x > y, y >= x, x, y),
    }
    values = _evaluate(program, flat, extremes)
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


def _evaluate(
    program: Program, flat: casadi.SX, instead: Mapping[Op, Callable[..., Any]] | None = None
) -> list[casadi.SX]:
    """Every output as one column, from all inputs as one column, both in C order.

    `instead` has functions of symbols for operations that are to be spelled otherwise.
    """
    import casadi

    values: list[Any] = []
    for code, a, b in program.rows:
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
    if op in _INFIX:
        return _INFIX[op](x, y)
    name = _CASADI_NAMES.get(op) or op.name.lower()
    function = getattr(casadi, name, None)
    if function is None:
        raise CompileError(f"CasADi has no operation {name}")
    return function(x) if y is None else function(x, y)


# each of our symbols and CasADi's that stands for it, which lives as long, so that its hash is its own
_expressions: WeakKeyDictionary[Symbol, Any] = WeakKeyDictionary()
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


def _read_column(entries: casadi.SX, shape: tuple[int, ...]) -> Any:
    import casadi

    met = casadi.symvar(entries)
    inputs = of_identities([_identity(s) for s in met], (len(met),))
    program_read = read(casadi.Function("expression", [casadi.vertcat(*met)], [entries]))
    table, (keys,) = table_with(inputs)
    return array([scalar(table, key) for key in table.replayed(program_read, keys)], shape)


def _identity(expression: casadi.SX) -> Symbol:
    """Our symbol for one of CasADi's."""
    symbol = _symbols.get(expression.element_hash())
    return _paired(Symbol(expression.name()), expression) if symbol is None else symbol


def _expression(symbol: Symbol) -> casadi.SX:
    """CasADi's symbol for one of ours."""
    import casadi

    if symbol not in _expressions:
        _paired(symbol, casadi.SX.sym(symbol.name))
    return _expressions[symbol]


def _paired(symbol: Symbol, expression: casadi.SX) -> Symbol:
    _expressions[symbol] = expression
    _symbols[expression.element_hash()] = symbol
    return symbol


def exported_array(value: Any) -> Any:
    """An array of symbols as CasADi's array of the same shape."""
    import casadi

    shape = shape_of(value)
    column = casadi.vec(exported(value).T)
    wrapper: Any = casadi.ArrayInterface
    return wrapper._wrap_nd(column, shape)


def exported(value: Any) -> casadi.SX:
    """An array of symbols as CasADi's matrix: vectors are columns.

    Symbols that came from CasADi are CasADi's again; others get one of their name, and come back as
    themselves.
    """
    _require()
    import casadi

    table, (keys,) = table_with(value)
    met = table.symbols_below(keys)
    program_written = program_of("expression", [of_identities(met, (len(met),))], {"out": value})
    column = _evaluate(program_written, casadi.vertcat(*map(_expression, met)))[0]
    rows, columns = _matrix(Port("out", shape_of(value)))
    return casadi.reshape(column, columns, rows).T
