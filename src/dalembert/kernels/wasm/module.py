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
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from dalembert.errors import CompileError
from dalembert.kernels.program.iteration import Iteration
from dalembert.kernels.program.partition import Part, split_into_parts
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
_ALIGN_8, _ALIGN_16 = 3, 4  # alignments, as powers of two


@dataclass(frozen=True)
class Arguments:
    """The pointers of a program's ports as parameters, and where it keeps what crosses parts."""

    program: Program
    lanes: Lanes
    frame: int  # where slots beyond inputs and outputs lie

    @property
    def ports(self) -> tuple[Port, ...]:
        return (*self.program.inputs, *self.program.outputs)

    @property
    def entries(self) -> list[tuple[int, int, int]]:
        """(Parameter, place in its row, length of the row) of every slot."""
        listed = enumerate(self.ports)
        return [(i, position, port.size) for i, port in listed for position in range(port.size)]

    def arrays(self) -> Arrays:
        """Access to slots; the rows of two states are behind each other."""
        entries = self.entries

        def load(k: int) -> bytes:
            if k >= len(entries):
                return b"".join(self._between("load", k - len(entries)))
            parameter, position, row = entries[k]
            here, first, second = (
                instruction("local.get", parameter),
                8 * position,
                8 * (position + row),
            )
            if self.lanes.width == 1:
                return here + instruction("f64.load", _ALIGN_8, first)
            if row == 1:
                return here + instruction("v128.load", _ALIGN_8, first)
            one = here + instruction("v128.load64_splat", _ALIGN_8, first)
            return here + one + instruction("v128.load64_lane", _ALIGN_8, second, 1)

        def store(k: int) -> list[tuple[bytes, bytes]]:
            if k >= len(entries):
                return [self._between("store", k - len(entries))]
            parameter, position, row = entries[k]
            here = instruction("local.get", parameter)
            if self.lanes.width == 1:
                return [(here, instruction("f64.store", _ALIGN_8, 8 * position))]
            lanes = ((8 * (position + row * i), i) for i in (0, 1))
            return [(here, instruction("v128.store64_lane", _ALIGN_8, at, i)) for at, i in lanes]

        return Arrays(load, store)

    def _between(self, word: str, slot: int) -> tuple[bytes, bytes]:
        """(Address, load or store) of what one part leaves for another."""
        kind, size = ("f64", 8) if self.lanes.width == 1 else ("v128", 16)
        aligned = _ALIGN_8 if size == 8 else _ALIGN_16
        address = instruction("i32.const", 0)
        return address, instruction(f"{kind}.{word}", aligned, self.frame + size * slot)


def add_kernel(library: Library, name: str, program: Program) -> None:
    """The function of one state."""
    _add(library, name, program, ONE)


def add_batch(library: Library, name: str, program: Program) -> None:
    """`name_batch` for the kernel of that name, which is there."""
    pair = f"{name}_pair"
    _add(library, pair, program, PAIR)
    ports = (*program.inputs, *program.outputs)
    f = Function(library, f"{name}_batch", "i" * (1 + len(ports)), "")
    n, *pointers = f.arguments
    with f.repeat(lambda: n > 1):
        f.run(pair, *pointers)
        for pointer, port in zip(pointers, ports, strict=True):
            f.set(pointer, pointer + 16 * port.size)
        f.set(n, n - 2)
    with f.when(n > 0):
        f.run(name, *pointers)
    library.add(f.returning())


def _add(library: Library, name: str, program: Program, lanes: Lanes) -> None:
    cut = split_into_parts(program, LONG, LONGEST)
    crossing = cut.slots - sum(p.size for p in (*program.inputs, *program.outputs))
    frame = library.memory.take(crossing, 8 * lanes.width)
    arguments = Arguments(program, lanes, frame)
    count = len(arguments.ports)
    if len(cut.parts) == 1:
        library.add(_body(library, name, cut.parts[0], arguments))
        return
    f = Function(library, name, "i" * count, "")
    for i, part in enumerate(cut.parts):
        library.add(_body(library, f"{name} part {i}", part, arguments))
        f.run(f"{name} part {i}", *f.arguments)
    library.add(f.returning())


def _body(library: Library, name: str, part: Part, arguments: Arguments) -> Body:
    count = len(arguments.ports)
    variables, code = write_body(
        part.program, part.slots, arguments.lanes, library, arguments.arrays(), count
    )
    return Body(name, (I32,) * count, (), variables, code)


def add_rollout(library: Library, name: str, iteration: Iteration) -> None:
    """The function, and those of a stage and of the end of a step."""
    stage, finish = f"{name} stage", f"{name} finish"
    add_kernel(library, stage, iteration.stage)
    add_kernel(library, finish, iteration.finish)
    closing = [f"{name} closing {k}" for k in range(len(iteration.closing))]
    for each, (program, _) in zip(closing, iteration.closing, strict=True):
        add_kernel(library, each, program)
    library.add(_RolloutWriter(library, name, iteration).written(stage, finish, closing))


class _RolloutWriter:
    def __init__(self, library: Library, name: str, iteration: Iteration) -> None:
        self.iteration, self.memory = iteration, library.memory
        count = len(iteration.base) + len(iteration.held)
        self.f = Function(library, name, "id" + "i" * count, "")
        self.steps, self.dt, *pointers = self.f.arguments
        self.base = pointers[: len(iteration.base)]
        self.held = pointers[len(iteration.base) :]
        work = [port for port, _ in iteration.work]
        self.work, self.after = (self._allocate(work) for _ in range(2))
        self.new_state = self._allocate(iteration.base)
        self.scalars = [constant(self.memory.take(1), I32) for _ in iteration.table[0]]

    def _allocate(self, ports: Sequence[Port]) -> list[Value]:
        return [constant(self.memory.take(port.size), I32) for port in ports]

    def written(self, stage: str, finish: str, closing: Sequence[str]) -> Body:
        f, iteration = self.f, self.iteration
        with f.repeat(lambda: self.steps > 0):
            self._begin()
            now, then = self.work, self.after
            for row in iteration.table:
                for address, factor in zip(self.scalars, row, strict=True):
                    f.code += (
                        address.code + (self.dt * factor).code + instruction("f64.store", 3, 0)
                    )
                f.run(stage, *self.base, *now, *self.held, *self.scalars, *then)
                now, then = then, now
            f.run(finish, *self.base, *now, *self.new_state)
            self._keep()
            for each, (_, times) in zip(closing, iteration.closing, strict=True):
                for _ in range(times):
                    f.run(each, *self.base, *self.held, *self.new_state)
                    self._keep()
            f.set(self.steps, self.steps - 1)
        return f.returning()

    def _begin(self) -> None:
        """Working values start from base values, or from zero."""
        names = [port.name for port in self.iteration.base]
        for (port, source), address in zip(self.iteration.work, self.work, strict=True):
            if source is None:  # memory.fill
                size = constant(8 * port.size, I32).code
                zero = constant(0, I32).code
                self.f.code += address.code + zero + size + instruction("memory.fill", 0)
            else:
                self._copy(address, self.base[names.index(source)], port)

    def _keep(self) -> None:
        """Copy the new state to the base values."""
        for port, base, new in zip(self.iteration.base, self.base, self.new_state, strict=True):
            self._copy(base, new, port)

    def _copy(self, target: Value, source: Value, port: Port) -> None:
        """memory.copy of one port."""
        size = constant(8 * port.size, I32).code
        self.f.code += target.code + source.code + size + instruction("memory.copy", 0, 0)


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

    `about` goes into the description as it is, `notes` into that of a function; `units` say what the
    numbers of a port are. Without `batch` there are no functions of many states, and half the code.

    >>> from dalembert.kernels.program.trace import trace
    >>> made = wasm_module({"product": trace(lambda x: x[0] * x[1], {"x": (2,)})})
    >>> description(made)["functions"]["product"]["inputs"]
    [{'name': 'x', 'shape': [2], 'at': 192}]
    """
    writer = ModuleWriter(about or {}, units or {})
    writer.add_all(functions, notes or {}, batch)
    return writer.content()


class ModuleWriter:
    """A module while functions are added, with their descriptions."""

    def __init__(self, about: Mapping[str, Any], units: Mapping[str, str]) -> None:
        self.about = about
        self.memory = Memory(_FIRST_FREE)
        self.library = Library(CATALOGUE, self.memory)
        self.addresses = _Addresses(self.memory, units)
        self.said: dict[str, Any] = {}
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
            self.said[name] |= notes.get(name, {})

    def add(self, name: str, program: Program | Iteration, batch: bool) -> None:
        """Add a function, and the one for batches if `batch`."""
        own = self._named(name, f"{name} of this module")  # no function of the library is called so
        self.said[name] = self.addresses.of(program)
        if isinstance(program, Iteration):
            add_rollout(self.library, own, program)
            return
        add_kernel(self.library, own, program)
        self.said[name]["bytes"] = self.library.size(own)
        if batch:
            self._named(f"{name}_batch", f"{own}_batch")
            add_batch(self.library, own, program)
            self.said[name]["batch"] = f"{name}_batch"

    def _named(self, name: object, own: str) -> str:
        """A name of its own for every export."""
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
        whole = {"format": FORMAT, **self.about, "heap": heap, "functions": self.said}
        encoded = json.dumps(whole, separators=(",", ":"), allow_nan=False).encode()
        if self.library.has("reduce_huge"):
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


class _Addresses:
    """One place in memory for every input of a name and shape, and for every output."""

    def __init__(self, memory: Memory, units: Mapping[str, str]) -> None:
        self._memory, self._units = memory, units
        self._inputs: dict[Port, int] = {}

    def of(self, program: Program | Iteration) -> dict[str, Any]:
        """The arguments of a function, in their order."""
        if isinstance(program, Iteration):
            numbers = [
                {"name": "steps", "type": "i32"},
                {"name": "dt", "type": "f64", "units": "s"},
            ]
            inputs = [self._input(port) for port in program.held]
            return {
                "numbers": numbers,
                "state": list(map(self._input, program.base)),
                "inputs": inputs,
            }
        inputs = [self._input(port) for port in program.inputs]
        outputs = [self._said(port, self._memory.take(port.size)) for port in program.outputs]
        return {"inputs": inputs, "outputs": outputs}

    def _input(self, port: Port) -> dict[str, Any]:
        if port not in self._inputs:
            self._inputs[port] = self._memory.take(port.size)
        return self._said(port, self._inputs[port])

    def _said(self, port: Port, at: int) -> dict[str, Any]:
        units = {"units": self._units[port.name]} if port.name in self._units else {}
        return {"name": port.name, "shape": list(port.shape), "at": at, **units}


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
