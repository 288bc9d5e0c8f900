"""Plan of the functions around a program's parts: arguments, frame, calls of groups, interleaved moves.

Groups of a program have frames of their own: inputs are copied in, parts run, results copied out:

    void group_i(ptr frame, ptr reads, ptr writes, ptr local)

`reads` and `writes` are the entries of the program's frame for those of the local one, so that groups
which differ in nothing else share one function.

Arithmetic waits for its multiplications, and moving rows for loads, stores and shuffles; one after
the other takes the sum of both. So while the states of one register are computed, the inputs of the
next are loaded into a second frame, and the results of those before are stored from it, a few entries
at a time (software pipelining). Every argument has a record of four words:

    mode (NONE, DIRECT or WHOLE), array, tile, strides

Arrays of other layouts have mode NONE here and are moved before and after the arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.kernels.llvm import layout
from dalembert.kernels.llvm.ir import IRWriter, Vector
from dalembert.kernels.llvm.layout import (
    UNROLLED,
    cover_with_chunks,
    gather_columns,
    scatter_columns,
)
from dalembert.kernels.llvm.runtime import MAX_ON_STACK, Block, spilled_bytes
from dalembert.kernels.program.partition import Call, Part, Schedule
from dalembert.tracing.program import Port, Program


def group_functions(schedule: Schedule, v: Vector, ports: int) -> str:
    """All group functions with the tables of their calls; nothing where no group is called."""
    texts = ["declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"] if schedule.zeroed else []
    first = 0
    for i, frame in enumerate(schedule.frames if schedule.calls else ()):
        call = next(call for call in schedule.calls if call.part == i)
        parts = range(first, first + len(frame.parts))
        texts.append(_group_function(i, parts, call, v, ports))
        first = parts.stop
    for c, call in enumerate(schedule.calls):
        for name, entries in (("reads", call.reads), ("writes", call.writes)):
            listed = ", ".join(f"i64 {entry}" for entry in entries)
            texts.append(f"@{name}_{c} = internal constant [{len(entries)} x i64] [{listed}]")
    return "\n".join(texts)


def _group_function(i: int, parts: range, call: Call, v: Vector, ports: int) -> str:
    """One group of these parts, as in one of its calls."""
    t = IRWriter()

    def copy(index: str, table: str, start: int, out: bool) -> None:
        outer = t.element(v.type, "%frame", t.load("i64", t.element("i64", table, index)))
        inner = t.element(v.type, t.at("%local", start * v.width * v.size), index)
        source, target = (inner, outer) if out else (outer, inner)
        t.store(v.type, t.load(v.type, source), target)

    if call.reads:
        with t.loop(len(call.reads)) as index:
            copy(index, "%reads", 0, out=False)
    parameters = ", ".join(["ptr %local", "ptr %local", "ptr @nothing", *["ptr %local"] * ports])
    for k in parts:
        t.do(f"call void @part_{k}({parameters})")
    with t.loop(len(call.writes)) as index:
        copy(index, "%writes", len(call.reads), out=True)
    t.do("ret void")
    arguments = "ptr noalias %frame, ptr noalias %reads, ptr noalias %writes, ptr noalias %local"
    return t.function(f"internal void @group_{i}({arguments}) noinline #0")


MAX_INTERLEAVED = 100  # numbers of a state of which some are moved during the arithmetic
MAX_PREFETCHED = 40 * 1024  # bytes of results of one register of states


@dataclass(frozen=True)
class Argument:
    """One argument of the loop: where its strides are, and its entries in the frame."""

    port: Port
    index: int
    strides: int  # position of its core strides in `steps`
    offset: int  # of its first entry in the frame
    is_input: bool

    @property
    def suffix(self) -> str:
        return layout.shape_suffix(self.port.shape)


@dataclass(frozen=True)
class Plan:
    """Program, schedule, vector type and arguments from which the functions are written."""

    program: Program
    schedule: Schedule
    v: Vector
    arguments: list[Argument]

    @property
    def block(self) -> Block:
        """The memory of the `%frame`."""
        return Block("%frame", (1 + self.overlaps) * self.frame)

    @property
    def frame(self) -> int:
        """Bytes of all vectors that the parts read and write."""
        # behind the own frame the largest one that is called
        called = [self.schedule.frames[call.part].size for call in self.schedule.calls]
        size = self.schedule.size + max(called, default=0)
        return max(1, size) * self.v.width * self.v.size

    @property
    def overlaps(self) -> bool:
        """Whether states are moved to and from a second frame during the arithmetic on the first.

        Not where that is more than one function, or where there is so much to move that the moves
        cost the arithmetic as many registers and as much code as they save: a quadruped's inverse
        dynamics (73 numbers) is a twentieth faster so, a humanoid's (141) is not.
        """
        single = len(self.parts) == 1 and not (self.schedule.calls or self.schedule.zeroed)
        return single and self.numbers <= MAX_INTERLEAVED

    def moves_within(self, argument: Argument) -> bool:
        """Whether this argument is moved during the arithmetic: results only where they are few.

        Moving them waits for memory: derivatives of a UR5 (126 numbers) are a twentieth slower so,
        its mass matrix (42) a tenth faster.
        """
        return self.overlaps and (argument.is_input or self.numbers <= UNROLLED)

    @property
    def numbers(self) -> int:
        """How many numbers all arguments have for one state."""
        return sum(each.port.size for each in self.arguments)

    @property
    def parts(self) -> list[Part]:
        """The parts of all frames, each compiled as a function."""
        return [part for frame in self.schedule.frames for part in frame.parts]

    @property
    def need(self) -> int:
        """Bytes of stack that `range` takes; it calls itself once, for the states left over."""
        most = max(spilled_bytes(part.program, self.v) for part in self.parts)
        own = min(self.block.size, MAX_ON_STACK) + 8 * len(self.lines)
        return 2 * (most + own)

    def begin(self, t: IRWriter) -> None:
        """Set aside the frame; outputs that are zero for every state are so from the beginning."""
        self.block.allocate(t)
        if self.schedule.zeroed:
            first, count = self.outputs[0].offset, sum(each.port.size for each in self.outputs)
            size = self.v.width * self.v.size
            address = t.at("%frame", first * size)
            t.do(
                f"call void @llvm.memset.p0.i64(ptr align 64 {address}, i8 0, "
                f"i64 {count * size}, i1 false)"
            )

    def finish(self, t: IRWriter) -> None:
        """Leave the function that allocated."""
        self.block.release(t)
        t.do("ret void")

    @property
    def outputs(self) -> list[Argument]:
        return [argument for argument in self.arguments if not argument.is_input]

    @property
    def lines(self) -> list[tuple[int, int]]:
        """Lines to prefetch for the next states: (entry of all outputs, its port).

        Nothing, where it would not fit the first cache beside all else, or where parts write to
        frames of their own.
        """
        sizes = [argument.port.size for argument in self.outputs]
        if self.schedule.calls or sum(sizes) * self.v.width * self.v.size > MAX_PREFETCHED:
            return []
        return list(enumerate(p for p, size in enumerate(sizes) for _ in range(size)))


def arguments(program: Program) -> list[Argument]:
    """Inputs and outputs in their order, with their positions in `steps` and in the frame."""
    strides = len(program.inputs) + len(program.outputs)
    offset = 0
    result: list[Argument] = []
    for ports, is_input in ((program.inputs, True), (program.outputs, False)):
        for port in ports:
            result.append(Argument(port, len(result), strides, offset, is_input))
            strides += len(port.shape)
            offset += port.size
    return result


MOVE_RECORD = 32  # bytes


@dataclass(frozen=True)
class Move:
    """w entries of one argument from `start` on, of which `fresh` have not been moved before."""

    argument: Argument
    start: int
    w: int
    fresh: range

    def emit(self, t: IRWriter, v: Vector) -> None:
        """Emit the move for the mode in the argument's record; nothing moves for mode NONE."""
        record = t.at("%moves", MOVE_RECORD * self.argument.index)
        mode = t.load("i64", record)
        with t.when(t.op("icmp ne", mode, layout.NONE)):
            if self.w == 1:
                self._columns(t, v, record)
                return
            with t.when(t.op("icmp eq", mode, layout.WHOLE)):
                array, tile = (t.load("ptr", t.at(record, at)) for at in (8, 16))
                stride = self.argument.port.size * v.size  # bytes from state to state
                rows = [t.at(array, k * stride) for k in range(v.width)]
                addresses = [t.element(v.type, tile, self.start + k) for k in range(self.w)]
                if self.argument.is_input:
                    columns = gather_columns(t, v, rows, self.start, self.w)
                    for k in self.fresh:
                        t.store(v.type, columns[k], addresses[k])
                else:
                    columns = [t.load(v.type, address) for address in addresses]
                    scatter_columns(t, v, columns, rows, self.start)
            with t.when(t.op("icmp eq", mode, layout.DIRECT)):
                self._columns(t, v, record)

    def _columns(self, t: IRWriter, v: Vector, record: str) -> None:
        array, tile, strides = (t.load("ptr", t.at(record, at)) for at in (8, 16, 24))
        shape = self.argument.port.shape
        step = [t.load("i64", t.at(strides, 8 * axis)) for axis in range(len(shape))]
        for k in self.fresh:
            address, rest = array, self.start + k
            for axis in reversed(range(len(shape))):
                rest, index = divmod(rest, shape[axis])
                address = t.at(address, t.op("mul", index, step[axis]) if index else 0)
            inside = t.element(v.type, tile, self.start + k)
            source, target = (address, inside) if self.argument.is_input else (inside, address)
            t.store(v.type, t.load(v.type, source, "align 1"), target, "align 1")


def interleaved_moves(plan: Plan) -> list[Move]:
    """The moves of all arguments that are moved during the arithmetic, results first."""
    result = []
    within = filter(plan.moves_within, plan.arguments)
    for argument in sorted(within, key=lambda each: each.is_input):
        n = argument.port.size
        chunks = cover_with_chunks(plan.v, n) if n > 1 else [(0, n, range(n))] * n
        result += [Move(argument, *chunk) for chunk in chunks]
    return result
