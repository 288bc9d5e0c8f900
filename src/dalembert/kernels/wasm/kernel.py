"""A program as functions of pointers: of one state, of two states, and of a batch of them.

    name(inputs…, outputs…)              addresses of float64 arrays, row-major
    name_batch(n, inputs…, outputs…)     of n states behind each other, two of them at a time

A long program is cut into parts, functions of their own, as for the CPU; what one part leaves for later
ones waits in memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.kernels.program.segments import Part, framed
from dalembert.kernels.wasm.binary import I32, Body
from dalembert.kernels.wasm.body import Arrays, written
from dalembert.kernels.wasm.instructions import instruction
from dalembert.kernels.wasm.lanes import ONE, PAIR, Lanes
from dalembert.kernels.wasm.library import Function, Library
from dalembert.tracing.program import Port, Program

# Operations of a program that is cut, and of one part. Engines before 2024 order the instructions of a
# function by a scheduler of their own, which keeps more values waiting the longer it is: parts make
# them up to a third faster, later ones up to a tenth slower.
LONG, LONGEST = 1300, 1000
_EIGHT, _SIXTEEN = 3, 4  # alignments, as powers of two


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
        return [(i, place, port.size) for i, port in listed for place in range(port.size)]

    def arrays(self) -> Arrays:
        """How slots are read and written; of two states, the rows lie behind each other."""
        entries = self.entries

        def load(k: int) -> bytes:
            if k >= len(entries):
                return b"".join(self._between("load", k - len(entries)))
            parameter, place, row = entries[k]
            here, first, second = instruction("local.get", parameter), 8 * place, 8 * (place + row)
            if self.lanes.width == 1:
                return here + instruction("f64.load", _EIGHT, first)
            if row == 1:
                return here + instruction("v128.load", _EIGHT, first)
            one = here + instruction("v128.load64_splat", _EIGHT, first)
            return here + one + instruction("v128.load64_lane", _EIGHT, second, 1)

        def store(k: int) -> list[tuple[bytes, bytes]]:
            if k >= len(entries):
                return [self._between("store", k - len(entries))]
            parameter, place, row = entries[k]
            here = instruction("local.get", parameter)
            if self.lanes.width == 1:
                return [(here, instruction("f64.store", _EIGHT, 8 * place))]
            lanes = ((8 * (place + row * i), i) for i in (0, 1))
            return [(here, instruction("v128.store64_lane", _EIGHT, at, i)) for at, i in lanes]

        return Arrays(load, store)

    def _between(self, word: str, slot: int) -> tuple[bytes, bytes]:
        """(Address, load or store) of what one part leaves for another."""
        kind, size = ("f64", 8) if self.lanes.width == 1 else ("v128", 16)
        aligned = _EIGHT if size == 8 else _SIXTEEN
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
    cut = framed(program, LONG, LONGEST)
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
    variables, code = written(
        part.program, part.places, arguments.lanes, library, arguments.arrays(), count
    )
    return Body(name, (I32,) * count, (), variables, code)
