"""A program as C99: a function without allocation, branches or anything but <math.h>.

Every value is a constant with its own name, in the order of the program, so that the compiler's only
freedom is to fuse a product with a sum. With `-ffp-contract=off` the results are those of `interpret`
to the last bit, as far as the C library's functions are the same. CUDA kernels are written from the
same statements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.errors import CompileError
from dalembert.kernels.llvm import mathematics
from dalembert.kernels.program.partition import Groups, find_groups
from dalembert.text import c_comment, c_identifier
from dalembert.tracing.program import Op, Port, Program

_INFIX = {Op.ADD: "+", Op.SUB: "-", Op.MUL: "*", Op.DIV: "/"}
_COMPARE = {Op.LT: "<", Op.LE: "<=", Op.EQ: "==", Op.NE: "!="}
_FUNCTIONS = {
    **mathematics.LIBM_NAMES,
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
    """One precision in C: its type, and the suffix of functions and constants."""

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

    @property
    def size(self) -> int:
        """Bytes of one number."""
        return 4 if self.suffix else 8

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


def statements(
    program: Program,
    scalar: Scalar,
    load: Callable[[int], str],
    store: Callable[[int, str], str],
    sincos: str = "",
    extra: str = "",
) -> Iterator[str]:
    """Every value as a constant, and every output as soon as its value is there.

    `load(k)` is entry k of the inputs, `store(k, x)` the statement that sets output entry k.
    With `sincos`, a function (angle, &sine, &cosine), each angle's sine and cosine come together;
    `extra` is one more argument of it.
    """
    results: dict[int, list[int]] = {}  # of every value, the output entries that it is
    for index, k in enumerate(program.results.tolist()):
        results.setdefault(k, []).append(index)
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
                more = f", {extra}" if extra else ""
                yield f"{sincos}({names[a]}, &s{a}, &c{a}{more});"
            names.append(f"s{a}" if op == Op.SIN else f"c{a}")
        else:
            names.append(f"v{k}")
            operands = [] if op == Op.INPUT else [names[j] for j in (a, b) if j >= 0]
            value = load(a) if op == Op.INPUT else expression(op, scalar, *operands)
            yield f"const {scalar.type} v{k} = {value};"
        for index in results.get(k, []):
            yield store(index, names[k])


def expression(op: Op, scalar: Scalar, x: str, y: str = "") -> str:
    """One operation on named operands; truth values are 1 and 0."""
    one, zero = scalar.literal(1.0), scalar.literal(0.0)
    if op in _INFIX:
        return f"{x} {_INFIX[op]} {y}"
    if op in _FUNCTIONS:
        return f"{_FUNCTIONS[op]}{scalar.suffix}({f'{x}, {y}' if y else x})"
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


def port_entries(ports: tuple[Port, ...]) -> list[tuple[Port, int]]:
    """For every entry of all ports concatenated: its port, and its index in that port."""
    return [(port, k) for port in ports for k in range(port.size)]


# arrays beside those of the caller, whatever their names
_IN, _OUT, _BETWEEN = "dalembert_in", "dalembert_out", "dalembert_between"


def group_functions(
    groups: Groups, scalar: Scalar, name: str, head: str, sincos: str = ""
) -> list[str]:
    """`name_group0(x, y)` and so on, from inputs to results; `head` stands before their `void`."""
    lines: list[str] = []
    for i, part in enumerate(groups.parts):
        body = statements(part, scalar, "x[{}]".format, "y[{}] = {};".format, sincos)
        unused = [] if len(part.inputs[0].shape) and part.inputs[0].size else ["    (void)x;"]
        signature = f"void {name}_group{i}(const {scalar.type} *x, {scalar.type} *y)"
        lines += [f"{head}{signature}", "{", *unused, *(f"    {line}" for line in body), "}", ""]
    return lines


def group_calls(
    groups: Groups,
    source: Program,
    scalar: Scalar,
    name: str,
    load: Callable[[int], str],
    store: Callable[[int, str], str],
) -> Iterator[str]:
    """The calls, one block each: inputs gathered, results stored."""
    inputs, outputs = (sum(p.size for p in ports) for ports in (source.inputs, source.outputs))
    if groups.zeroed:
        computed = {position for call in groups.calls for position in call.writes}
        for k in range(outputs):
            if inputs + k not in computed:
                yield store(k, scalar.literal(0.0))
    if groups.crossing:
        yield f"{scalar.type} {_BETWEEN}[{groups.crossing}];"
    for call in groups.calls:
        yield "{"
        sizes = max(1, len(call.reads)), len(call.writes)
        yield f"    {scalar.type} {_IN}[{sizes[0]}], {_OUT}[{sizes[1]}];"
        for i, k in enumerate(call.reads):
            value = load(k) if k < inputs else f"{_BETWEEN}[{k - inputs - outputs}]"
            yield f"    {_IN}[{i}] = {value};"
        yield f"    {name}_group{call.part}({_IN}, {_OUT});"
        for i, k in enumerate(call.writes):
            crossing, value = k - inputs - outputs, f"{_OUT}[{i}]"
            between = f"{_BETWEEN}[{crossing}] = {value};"
            yield f"    {between if crossing >= 0 else store(k - inputs, value)}"
        yield "}"


_WIDTH = 92


def c_source(
    program: Program,
    name: str | None = None,
    dtype: str = "float64",
    about: Sequence[str] = (),
    units: Mapping[str, str] | None = None,
) -> str:
    """The text of a .c file that compiles on its own.

    Parameters
    ----------
    program : the program to write.
    name : name of the function; by default the program's.
    dtype : "float64" or "float32".
    about : lines of the opening comment.
    units : units of ports by name, for the opening comment.

    Examples
    --------
    >>> from dalembert.kernels.program.trace import trace
    >>> print(c_source(trace(lambda x: x[0] * x[1], {"x": (2,)}), "product").splitlines()[-7])
    void product(const double *restrict x, double *restrict out)
    """
    scalar, function = Scalar.of(dtype), c_identifier(name or program.name)
    load, store = entry_accessors(program)
    inputs = port_entries(program.inputs)
    read = {inputs[a][0].name for op, a, _ in program.rows if op == Op.INPUT}
    unused = [port.name for port in program.inputs if port.name not in read]
    body = [f"(void){c_identifier(port)};" for port in unused]
    groups = find_groups(program)
    if groups.calls:
        body += list(group_calls(groups, program, scalar, function, load, store))
    else:
        body += list(statements(program, scalar, load, store))
    lines = [
        *opening_comment(program, scalar, about, units or {}),
        "#include <math.h>",
        "",
        f"{_prototype(program, scalar, function, '')};",
        "",
        *group_functions(groups, scalar, function, "static "),
        _prototype(program, scalar, function, "restrict "),
        "{",
        *(f"    {line}" for line in body),
        "}",
        "",
    ]
    return "\n".join(lines)


def c_header(
    program: Program,
    name: str | None = None,
    dtype: str = "float64",
    about: Sequence[str] = (),
    units: Mapping[str, str] | None = None,
) -> str:
    """The text of the .h file that goes with `c_source`, for C and C++."""
    scalar, function = Scalar.of(dtype), c_identifier(name or program.name)
    guard = f"{function.upper()}_H"
    lines = [
        *opening_comment(program, scalar, about, units or {}),
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        *("#ifdef __cplusplus", 'extern "C" {', "#endif", ""),
        f"{_prototype(program, scalar, function, '')};",
        "",
        *("#ifdef __cplusplus", "}", "#endif", ""),
        f"#endif /* {guard} */",
        "",
    ]
    return "\n".join(lines)


def named_ports(program: Program) -> list[tuple[Port, str, str]]:
    """(Port, its name in C, "const " for inputs) of every port, inputs first.

    An output has a suffix where an input has the same name.
    """
    inputs = [(port, c_identifier(port.name), "const ") for port in program.inputs]
    taken = {name for _, name, _ in inputs}
    names = [c_identifier(port.name) for port in program.outputs]
    outputs = [
        (port, f"{name}_out" if name in taken else name, "")
        for port, name in zip(program.outputs, names, strict=True)
    ]
    return [*inputs, *outputs]


def pointers(program: Program, scalar: Scalar, restrict: str) -> list[str]:
    """The arrays of all ports as arguments of a function."""
    return [f"{const}{scalar.type} *{restrict}{name}" for _, name, const in named_ports(program)]


def _prototype(program: Program, scalar: Scalar, function: str, restrict: str) -> str:
    arguments = pointers(program, scalar, restrict)
    line = f"void {function}({', '.join(arguments)})"
    if len(line) <= _WIDTH:
        return line
    return f"void {function}(\n    " + ",\n    ".join(arguments) + ")"


def entry_accessors(
    program: Program, index: Callable[[Port, int], str] | None = None, suffix: str = ""
) -> tuple[Callable[[int], str], Callable[[int, str], str]]:
    """(load, store): `load(k)` is input entry k, `store(k, x)` the statement that sets output entry k.

    `index(port, k)` is the index of an entry of a port in its array; `suffix` ends the arrays' names.
    """

    spelled = [
        f"{name}{suffix}[{k if index is None else index(port, k)}]"
        for port, name, _ in named_ports(program)
        for k in range(port.size)
    ]
    outputs = spelled[sum(port.size for port in program.inputs) :]
    return spelled.__getitem__, lambda k, value: f"{outputs[k]} = {value};"


def opening_comment(
    program: Program, scalar: Scalar, about: Sequence[str], units: Mapping[str, str]
) -> list[str]:
    """The opening comment: what the function is, and every argument."""

    def row(port: Port, name: str, const: str) -> str:
        kind = "in " if const else "out"
        shape = " x ".join(map(str, port.shape)) or "1"
        order = ", row-major" if len(port.shape) > 1 else ""
        unit = f"; {c_comment(units[port.name])}" if port.name in units else ""
        return f" *   {kind} {name}: {shape} {scalar.type}{order}{unit}"

    return [
        "/*",
        *(f" * {c_comment(line)}".rstrip() for line in about),
        *(row(*named) for named in named_ports(program)),
        " * The arrays must not overlap. No allocation, no state, no loops: safe to call anywhere.",
        " */",
    ]
