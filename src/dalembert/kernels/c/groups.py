"""Programs that fall into groups as C: a function for each different group, and calls of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dalembert.kernels.c.text import Scalar, statements
from dalembert.kernels.program.components import Groups
from dalembert.tracing.program import Program

# arrays beside those of the caller, whatever their names
_IN, _OUT, _BETWEEN = "dalembert_in", "dalembert_out", "dalembert_between"


def functions(groups: Groups, scalar: Scalar, name: str, head: str, sincos: str = "") -> list[str]:
    """`name_group0(x, y)` and so on, from inputs to results; `head` stands before their `void`."""
    lines: list[str] = []
    for i, part in enumerate(groups.parts):
        body = statements(part, scalar, "x[{}]".format, "y[{}] = {};".format, sincos)
        unused = [] if len(part.inputs[0].shape) and part.inputs[0].size else ["    (void)x;"]
        signature = f"void {name}_group{i}(const {scalar.type} *x, {scalar.type} *y)"
        lines += [f"{head}{signature}", "{", *unused, *(f"    {line}" for line in body), "}", ""]
    return lines


def calls(
    groups: Groups,
    source: Program,
    scalar: Scalar,
    name: str,
    load: Callable[[int], str],
    store: Callable[[int, str], str],
) -> Iterator[str]:
    """The calls, one block each: inputs gathered, results put where they belong."""
    inputs, outputs = (sum(p.size for p in ports) for ports in (source.inputs, source.outputs))
    if groups.zeroed:
        written = {slot for call in groups.calls for slot in call.writes}
        for k in range(outputs):
            if inputs + k not in written:
                yield store(k, scalar.literal(0.0))
    if groups.crossing:
        yield f"{scalar.type} {_BETWEEN}[{groups.crossing}];"

    def read(slot: int) -> str:
        return load(slot) if slot < inputs else f"{_BETWEEN}[{slot - inputs - outputs}]"

    def write(slot: int, value: str) -> str:
        beyond = slot - inputs - outputs
        return f"{_BETWEEN}[{beyond}] = {value};" if beyond >= 0 else store(slot - inputs, value)

    for call in groups.calls:
        yield "{"
        sizes = max(1, len(call.reads)), len(call.writes)
        yield f"    {scalar.type} {_IN}[{sizes[0]}], {_OUT}[{sizes[1]}];"
        for i, slot in enumerate(call.reads):
            yield f"    {_IN}[{i}] = {read(slot)};"
        yield f"    {name}_group{call.part}({_IN}, {_OUT});"
        for i, slot in enumerate(call.writes):
            yield f"    {write(slot, f'{_OUT}[{i}]')}"
        yield "}"
