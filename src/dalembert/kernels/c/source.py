"""A program as C99: a function without allocation, branches into data, or anything but <math.h>.

Every value is a constant with its own name, in the order of the program, so that the compiler's only
freedom is to fuse a product with a sum. With `-ffp-contract=off` the results are those of `interpret`
to the last bit, as far as the C library's functions are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dalembert.kernels.c import groups
from dalembert.kernels.c.text import Scalar, slots, statements
from dalembert.kernels.program.components import grouped
from dalembert.text import c_comment, c_identifier
from dalembert.tracing.program import Port, Program

_WIDTH = 92


def c_source(
    program: Program,
    name: str | None = None,
    dtype: str = "float64",
    about: Sequence[str] = (),
    units: Mapping[str, str] | None = None,
) -> str:
    """The text of a .c file that compiles on its own; `about` are lines for its opening comment,
    `units` what the numbers of a port are.

    >>> from dalembert.kernels.program.trace import trace
    >>> print(c_source(trace(lambda x: x[0] * x[1], {"x": (2,)}), "product").splitlines()[-7])
    void product(const double *restrict x, double *restrict out)
    """
    scalar, function = Scalar.of(dtype), c_identifier(name or program.name)
    load, store = entries(program)
    inputs = slots(program.inputs)
    read = {inputs[a][0].name for op, a in zip(program.op, program.a, strict=True) if op == 1}
    unused = [port for port in program.inputs if port.name not in read]
    body = [f"(void){c_identifier(port.name)};" for port in unused]
    found = grouped(program)
    if found.calls:
        body += list(groups.calls(found, program, scalar, function, load, store))
    else:
        body += list(statements(program, scalar, load, store))
    lines = [
        *comment(program, scalar, about, units or {}),
        "#include <math.h>",
        "",
        f"{_prototype(program, scalar, function, '')};",
        "",
        *groups.functions(found, scalar, function, "static "),
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
        *comment(program, scalar, about, units or {}),
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


def _prototype(program: Program, scalar: Scalar, function: str, restrict: str) -> str:
    inputs = [f"const {scalar.type} *{restrict}{c_identifier(p.name)}" for p in program.inputs]
    outputs = [f"{scalar.type} *{restrict}{output_name(p, program)}" for p in program.outputs]
    arguments = [*inputs, *outputs]
    line = f"void {function}({', '.join(arguments)})"
    if len(line) <= _WIDTH:
        return line
    return f"void {function}(\n    " + ",\n    ".join(arguments) + ")"


def output_name(port: Port, program: Program) -> str:
    """An output's name, told apart from an input of the same name."""
    taken = {c_identifier(p.name) for p in program.inputs}
    name = c_identifier(port.name)
    return f"{name}_out" if name in taken else name


def entries(
    program: Program, place: Callable[[Port, int], str] | None = None, own: str = ""
) -> tuple[Callable[[int], str], Callable[[int, str], str]]:
    """`load(k)` spells input entry k, `store(k, x)` the statement that sets output entry k.

    `place` spells the index of an entry of a port in its array; `own` ends the arrays' names.
    """
    inputs, outputs = slots(program.inputs), slots(program.outputs)

    def spelled(name: str, port: Port, k: int) -> str:
        return f"{name}{own}[{k if place is None else place(port, k)}]"

    def load(k: int) -> str:
        return spelled(c_identifier(inputs[k][0].name), *inputs[k])

    def store(k: int, value: str) -> str:
        return f"{spelled(output_name(outputs[k][0], program), *outputs[k])} = {value};"

    return load, store


def comment(
    program: Program, scalar: Scalar, about: Sequence[str], units: Mapping[str, str]
) -> list[str]:
    """The opening comment: what the function is, and every argument."""

    def row(kind: str, port: Port, name: str) -> str:
        shape = " x ".join(map(str, port.shape)) or "1"
        order = ", row-major" if len(port.shape) > 1 else ""
        unit = f"; {c_comment(units[port.name])}" if port.name in units else ""
        return f" *   {kind} {name}: {shape} {scalar.type}{order}{unit}"

    return [
        "/*",
        *(f" * {c_comment(line)}".rstrip() for line in about),
        *(row("in ", p, c_identifier(p.name)) for p in program.inputs),
        *(row("out", p, output_name(p, program)) for p in program.outputs),
        " * The arrays must not overlap. No allocation, no state, no loops: safe to call anywhere.",
        " */",
    ]
