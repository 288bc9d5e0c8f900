"""Programs as statements of C, one value per line: what the C and the CUDA export share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dalembert.errors import CompileError
from dalembert.kernels.llvm import libm
from dalembert.tracing.program import Op, Port, Program

_INFIX = {Op.ADD: "+", Op.SUB: "-", Op.MUL: "*", Op.DIV: "/"}
_COMPARE = {Op.LT: "<", Op.LE: "<=", Op.EQ: "==", Op.NE: "!="}
_FUNCTIONS = {
    **libm.NAMES,
    Op.SIN: "sin",
    Op.COS: "cos",
    Op.SQRT: "sqrt",
    Op.ABS: "fabs",
    Op.FLOOR: "floor",
    Op.CEIL: "ceil",
    Op.COPYSIGN: "copysign",
}
_TYPES = {"float64": ("double", ""), "float32": ("float", "f")}


@dataclass(frozen=True)
class Scalar:
    """How C spells one precision: its type, and the suffix of functions and constants."""

    type: str
    suffix: str

    @classmethod
    def of(cls, dtype: str) -> Scalar:
        """The spelling of a dtype given by name."""
        try:
            name = np.dtype(dtype).name
        except (TypeError, ValueError):
            name = repr(dtype)
        if name not in _TYPES:
            raise CompileError(f"source is written in float64 or float32, not in {name}")
        return cls(*_TYPES[name])

    def literal(self, value: float) -> str:
        """A number with as many digits as it takes to read it back exactly."""
        if self.suffix:
            with np.errstate(over="ignore"):  # beyond single precision is infinity there
                value = float(np.float32(value))
        if math.isnan(value):
            return "NAN"
        if math.isinf(value):
            return "INFINITY" if value > 0 else "(-INFINITY)"
        text = str(np.float32(value)) if self.suffix else repr(float(value))
        spelled = text if any(c in text for c in ".e") else f"{text}.0"
        return f"({spelled}{self.suffix})" if value < 0 else f"{spelled}{self.suffix}"

    def call(self, name: str, *arguments: str) -> str:
        """A function of the mathematics library in this precision."""
        return f"{name}{self.suffix}({', '.join(arguments)})"


def statements(
    program: Program,
    scalar: Scalar,
    load: Callable[[int], str],
    store: Callable[[int, str], str],
    sincos: str = "",
    also: str = "",
) -> Iterator[str]:
    """Every value as a constant, and every output as soon as its value is there.

    `load(k)` spells entry k of the inputs, `store(k, x)` the statement that sets output entry k.
    With `sincos`, a function (angle, &sine, &cosine), each angle's sine and cosine come together;
    `also` is one more argument of it.
    """
    places: dict[int, list[int]] = {}
    for place, k in enumerate(program.results.tolist()):
        places.setdefault(k, []).append(place)
    names: list[str] = []
    angles: set[int] = set()
    for k, (code, a, b) in enumerate(program.rows):
        op = Op(code)
        if op == Op.CONST:
            names.append(scalar.literal(float(program.constants[a])))
        elif sincos and op in (Op.SIN, Op.COS):
            if a not in angles:
                angles.add(a)
                yield f"{scalar.type} s{a}, c{a};"
                more = f", {also}" if also else ""
                yield f"{sincos}({names[a]}, &s{a}, &c{a}{more});"
            names.append(f"s{a}" if op == Op.SIN else f"c{a}")
        else:
            names.append(f"v{k}")
            operands = [] if op == Op.INPUT else [names[j] for j in (a, b) if j >= 0]
            value = load(a) if op == Op.INPUT else expression(op, scalar, *operands)
            yield f"const {scalar.type} v{k} = {value};"
        for place in places.get(k, []):
            yield store(place, names[k])


def expression(op: Op, scalar: Scalar, x: str, y: str = "") -> str:
    """One operation on named operands; truth values are 1 and 0."""
    one, zero = scalar.literal(1.0), scalar.literal(0.0)
    if op in _INFIX:
        return f"{x} {_INFIX[op]} {y}"
    if op in _FUNCTIONS:
        return scalar.call(_FUNCTIONS[op], *([x, y] if y else [x]))
    if op in _COMPARE:
        return f"({x} {_COMPARE[op]} {y}) ? {one} : {zero}"
    return {
        Op.NEG: f"-{x}",
        Op.SQ: f"{x} * {x}",
        # fmin and fmax would drop a NaN
        Op.MIN: f"(({x} < {y}) || ({x} != {x})) ? {x} : {y}",
        Op.MAX: f"(({x} > {y}) || ({x} != {x})) ? {x} : {y}",
        Op.NOT: f"({x} == {zero}) ? {one} : {zero}",
        Op.AND: f"(({x} != {zero}) && ({y} != {zero})) ? {one} : {zero}",
        Op.OR: f"(({x} != {zero}) || ({y} != {zero})) ? {one} : {zero}",
        Op.SELECT0: f"({x} != {zero}) ? {y} : {zero}",
        Op.SIGN: f"({x} > {zero}) ? {one} : (({x} < {zero}) ? -{one} : {x})",
    }[op]


def slots(ports: tuple[Port, ...]) -> list[tuple[Port, int]]:
    """For every entry of all ports concatenated: its port, and its place in that port."""
    return [(port, k) for port in ports for k in range(port.size)]
