"""Functions of CasADi read as programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import CompileError
from dalembert.kernels.program.program import BINARY, Op, Port, Program, program

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
        self.found: dict[int, int] = {}

    def emit(self, op: Op, a: int, b: int = -1) -> int:
        self.instructions.append((op, a, b))
        return len(self.instructions) - 1

    def constant(self, value: float) -> int:
        self.constants.append(value)
        return self.emit(Op.CONST, len(self.constants) - 1)

    def results(self) -> list[int]:
        """Value of every output entry; what CasADi leaves out as structurally zero is zero."""
        missing = [k for k in range(self.starts[-1]) if k not in self.found]
        if missing:
            self.found |= dict.fromkeys(missing, self.constant(0.0))
        return [self.found[k] for k in range(self.starts[-1])]

    def take(self, function: casadi.Function, k: int) -> None:
        name = self.names[function.instruction_id(k)]
        source, target = function.instruction_input(k), function.instruction_output(k)
        if name == "OUTPUT":
            port, nonzero = target
            self.found[self.starts[port] + self.outputs[port][nonzero]] = self.slots[source[0]]
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
