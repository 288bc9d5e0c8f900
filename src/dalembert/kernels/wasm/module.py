"""Programs and iterations of one system as a WebAssembly module that describes its contents.

The module exports its `memory` and functions of addresses of float64 arrays, row-major:

    name(inputs…, outputs…)              a program, for one state
    name_batch(n, inputs…, outputs…)     n states behind each other, two of them at a time
    name(steps, dt, base…, held…)        an iteration; base values (q, q̇) are updated in place

A long program is cut into parts, functions of their own, as for the CPU; values that cross a cut are
stored in memory. The custom section "dalembert" is JSON: for every function its arguments in their
order, with shapes, units and an address `at` that is reserved for one state of it. Inputs of one name
share an address, so that a value written there is read by all functions. From `heap` on the memory is
free.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from dalembert.errors import CompileError
from dalembert.kernels.program.iteration import Iteration
from dalembert.kernels.program.partition import split_into_parts
from dalembert.kernels.wasm.binary import I32, PAGE, Body, custom_section, instruction, module
from dalembert.kernels.wasm.body import ONE, PAIR, Arrays, Lanes, write_body
from dalembert.kernels.wasm.code import Function, Library, Memory, Value, constant
from dalembert.kernels.wasm.mathematics import CATALOGUE, TABLE_AT, two_over_pi_bits
from dalembert.text import short
from dalembert.tracing.program import Port, Program

# Operations of a program that is cut, and of one part. Engines before 2024 order the instructions of a
# function by a scheduler of their own, which keeps more values waiting the longer it is: parts make
# them up to a third faster, later ones up to a tenth slower.
LONG, LONGEST = 1300, 1000


def add_kernel(library: Library, name: str, program: Program, lanes: Lanes = ONE) -> None:
    """The function of one state, or of two in lanes, and those of its parts."""
    cut = split_into_parts(program, LONG, LONGEST)
    ports = (*program.inputs, *program.outputs)
    frame = library.memory.take(cut.size - sum(p.size for p in ports), 8 * lanes.width)
    arrays = Arrays(ports, lanes, frame)
    names = [f"{name} part {i}" for i in range(len(cut.parts))] if len(cut.parts) > 1 else [name]
    for own, part in zip(names, cut.parts, strict=True):
        body = write_body(part.program, part.writes, lanes, library, arrays)
        library.add(Body(own, (I32,) * len(ports), (), *body))
    if len(cut.parts) > 1:
        f = Function(library, name, "i" * len(ports), "")
        for own in names:
            f.run(own, *f.arguments)
        library.add(f.returning())


def add_rollout(library: Library, name: str, iteration: Iteration) -> None:
    """The function, and those of a stage and of the end of a step."""
    stage, finish = f"{name} stage", f"{name} finish"
    add_kernel(library, stage, iteration.stage)
    add_kernel(library, finish, iteration.finish)
    closing = [f"{name} closing {k}" for k in range(len(iteration.closing))]
    for each, (program, _) in zip(closing, iteration.closing, strict=True):
        add_kernel(library, each, program)
    f = Function(library, name, "id" + "i" * (len(iteration.base) + len(iteration.fixed)), "")
    steps, dt, *pointers = f.arguments
    base, fixed = pointers[: len(iteration.base)], pointers[len(iteration.base) :]
    pointer_of = dict(zip((port.name for port in iteration.base), base, strict=True))

    def allocate(sizes: Iterable[int]) -> list[Value]:
        return [constant(library.memory.take(size), I32) for size in sizes]

    def copy(target: Value, source: Value, port: Port) -> None:
        size = constant(8 * port.size, I32).code
        f.code += target.code + source.code + size + instruction("memory.copy", 0, 0)

    def update_base() -> None:
        for port, target, source in zip(iteration.base, base, new_base, strict=True):
            copy(target, source, port)

    work, after = (allocate(port.size for port, _ in iteration.work) for _ in range(2))
    new_base = allocate(port.size for port in iteration.base)
    scalars = allocate(1 for _ in iteration.table[0])
    with f.repeat(lambda: steps > 0):
        # working values start from base values, or from zero
        for (port, source), address in zip(iteration.work, work, strict=True):
            if source is None:
                zero, size = constant(0, I32).code, constant(8 * port.size, I32).code
                f.code += address.code + zero + size + instruction("memory.fill", 0)
            else:
                copy(address, pointer_of[source], port)
        now, then = work, after
        for row in iteration.table:
            for address, factor in zip(scalars, row, strict=True):
                f.code += address.code + (dt * factor).code + instruction("f64.store", 3, 0)
            f.run(stage, *base, *now, *fixed, *scalars, *then)
            now, then = then, now
        f.run(finish, *base, *now, *new_base)
        update_base()
        for each, (_, times) in zip(closing, iteration.closing, strict=True):
            for _ in range(times):
                f.run(each, *base, *fixed, *new_base)
                update_base()
        f.set(steps, steps - 1)
    library.add(f.returning())


SECTION = "dalembert"
FORMAT = 1
_FIRST_FREE = 192  # address behind the table of 2/π


def wasm_module(
    functions: Mapping[str, Program | Iteration],
    about: Mapping[str, Any] | None = None,
    units: Mapping[str, str] | None = None,
    notes: Mapping[str, Mapping[str, Any]] | None = None,
    batch: bool = True,
) -> bytes:
    """The bytes of a module with these functions, the same ones for the same programs.

    Parameters
    ----------
    functions : programs and iterations by the names of their functions.
    about : entries of the module's description.
    units : units of ports by name.
    notes : further entries of the descriptions of functions.
    batch : whether there are functions of many states too, which double the code.

    Returns
    -------
    bytes
        A WebAssembly module; `description` reads its contents.

    Examples
    --------
    >>> from dalembert.kernels.program.trace import trace
    >>> content = wasm_module({"product": trace(lambda x: x[0] * x[1], {"x": (2,)})})
    >>> description(content)["functions"]["product"]["inputs"]
    [{'name': 'x', 'shape': [2], 'at': 192}]
    """
    writer = ModuleWriter(about or {}, units or {})
    writer.add_all(functions, notes or {}, batch)
    return writer.content()


class ModuleWriter:
    """A module while functions are added, with their descriptions."""

    def __init__(self, about: Mapping[str, Any], units: Mapping[str, str]) -> None:
        self.about, self.units = about, units
        self.memory = Memory(_FIRST_FREE)
        self.library = Library(CATALOGUE, self.memory)
        self.addresses: dict[Port, int] = {}  # of inputs, one for all of a name and shape
        self.descriptions: dict[str, Any] = {}
        self.exported: dict[str, str] = {}

    def fitting(
        self,
        functions: Mapping[str, Program | Iteration],
        notes: Mapping[str, Mapping[str, Any]],
        most: int,
    ) -> ModuleWriter:
        """The module with these functions too; itself where they made it larger than `most` bytes."""
        larger = deepcopy(self)
        larger.add_all(functions, notes, batch=False)
        return larger if len(larger.content()) <= most else self

    def add_all(
        self,
        functions: Mapping[str, Program | Iteration],
        notes: Mapping[str, Mapping[str, Any]],
        batch: bool,
    ) -> None:
        """Functions, with what is noted of them."""
        for name, program in functions.items():
            self.add(name, program, batch)
            self.descriptions[name] |= notes.get(name, {})

    def add(self, name: str, program: Program | Iteration, batch: bool) -> None:
        """Add a function, and the one for batches if `batch`."""
        own = self._export(name, f"{name} of this module")  # as no function of the library
        if isinstance(program, Iteration):
            numbers = [
                {"name": "steps", "type": "i32"},
                {"name": "dt", "type": "f64", "units": "s"},
            ]
            inputs = [self._describe(port) for port in program.fixed]
            state = [self._describe(port) for port in program.base]
            self.descriptions[name] = {"numbers": numbers, "state": state, "inputs": inputs}
            add_rollout(self.library, own, program)
            return
        inputs = [self._describe(port) for port in program.inputs]
        outputs = [self._describe(p, self.memory.take(p.size)) for p in program.outputs]
        self.descriptions[name] = {"inputs": inputs, "outputs": outputs}
        add_kernel(self.library, own, program)
        self.descriptions[name]["bytes"] = self.library.size(own)
        if batch:
            self._export(f"{name}_batch", f"{own}_batch")
            add_kernel(self.library, f"{own}_pair", program, PAIR)
            ports = (*program.inputs, *program.outputs)
            f = Function(self.library, f"{own}_batch", "i" * (1 + len(ports)), "")
            n, *pointers = f.arguments
            with f.repeat(lambda: n > 1):
                f.run(f"{own}_pair", *pointers)
                for pointer, port in zip(pointers, ports, strict=True):
                    f.set(pointer, pointer + 16 * port.size)
                f.set(n, n - 2)
            with f.when(n > 0):
                f.run(own, *pointers)
            self.library.add(f.returning())
            self.descriptions[name]["batch"] = f"{name}_batch"

    def _describe(self, port: Port, at: int | None = None) -> dict[str, Any]:
        """Name, shape, units and address of an argument; inputs of one name share an address."""
        if at is None:
            if port not in self.addresses:
                self.addresses[port] = self.memory.take(port.size)
            at = self.addresses[port]
        units = {"units": self.units[port.name]} if port.name in self.units else {}
        return {"name": port.name, "shape": list(port.shape), "at": at, **units}

    def _export(self, name: object, own: str) -> str:
        """Export a function of this module under a name of its own."""
        if not isinstance(name, str) or name in ("", "memory") or name in self.exported:
            raise CompileError(
                f"a function cannot be named {short(name)} here: names are words, 'memory' is taken, "
                "and so is the name of every other function, also with _batch behind it"
            )
        self.exported[name] = own
        return own

    def content(self) -> bytes:
        """The bytes of the module."""
        heap = self.memory.take(0, 16)
        whole = {"format": FORMAT, **self.about, "heap": heap, "functions": self.descriptions}
        encoded = json.dumps(whole, separators=(",", ":"), allow_nan=False).encode()
        if "reduce_huge" in self.library.numbers:
            self.memory.put(TABLE_AT, two_over_pi_bits())
        pages, custom = -(-heap // PAGE), [(SECTION, encoded)]
        return module(self.library.bodies, self.exported, pages, self.memory.data, custom)


def require_float64(dtype: str, layout: str) -> None:
    """Raise unless the dtype is float64 and batches are in rows."""
    if dtype != "float64" or layout != "row":
        raise CompileError(
            f"target='wasm' computes in float64 with batches in rows, not dtype={dtype!r} and "
            f"layout={layout!r}"
        )


def description(content: bytes) -> dict[str, Any]:
    """The description of the functions in a module that `wasm_module` wrote."""
    section = custom_section(content, SECTION)
    if section is None:
        raise CompileError("this WebAssembly module is none of dalembert's")
    try:
        result = json.loads(section)
    except ValueError as error:
        raise CompileError(f"the module's description is broken: {error}") from None
    if not isinstance(result, dict) or result.get("format") != FORMAT:
        raise CompileError(f"the module's description is not of format {FORMAT}")
    return result
