"""What the functions around a program's parts are written from: its arguments, its frame, its parts."""

from dataclasses import dataclass

from dalembert.kernels.llvm import calls, layout
from dalembert.kernels.llvm.stack import MOST_ON_STACK, Block, spilled
from dalembert.kernels.llvm.text import Text, Vector
from dalembert.kernels.llvm.transpose import UNROLLED
from dalembert.kernels.program.components import Schedule
from dalembert.kernels.program.segments import Part
from dalembert.tracing.program import Port, Program

MOST_MOVED = 100  # numbers of a state of which some are moved during the arithmetic
MOST_ASKED = 40 * 1024  # bytes of results of one register of states


@dataclass(frozen=True)
class Argument:
    """One argument of the loop: where its strides and its slots of the frame are."""

    port: Port
    index: int
    strides: int  # position of its core strides in `steps`
    slot: int
    is_input: bool

    @property
    def suffix(self) -> str:
        return layout.suffix(self.port.shape)


@dataclass(frozen=True)
class Plan:
    """What all functions here are written from."""

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
        slots = self.schedule.slots + self.schedule.local
        return max(1, slots) * self.v.width * self.v.size

    @property
    def overlaps(self) -> bool:
        """Whether states are moved to and from a second frame during the arithmetic on the first.

        Not where that is more than one function, or where there is so much to move that the moves
        cost the arithmetic as many registers and as much code as they save: a quadruped's inverse
        dynamics (73 numbers) is a twentieth faster so, a humanoid's (141) is not.
        """
        single = len(self.parts) == 1 and not (self.schedule.calls or self.schedule.zeroed)
        return single and self.numbers <= MOST_MOVED

    def moves_within(self, argument: Argument) -> bool:
        """Whether this argument is moved during the arithmetic: results only where they are few.

        Moving them waits for memory: derivatives of a UR5 (126 numbers) are a twentieth slower so,
        its mass matrix (42) a tenth faster.
        """
        return self.overlaps and (argument.is_input or self.numbers <= UNROLLED)

    @property
    def numbers(self) -> int:
        """Of all arguments, for one state."""
        return sum(each.port.size for each in self.arguments)

    @property
    def parts(self) -> list[Part]:
        """All that are compiled."""
        return [part for frame in self.schedule.frames for part in frame.parts]

    @property
    def need(self) -> int:
        """Bytes of stack that `range` takes; it calls itself once, for the states left over."""
        most = max(spilled(part.program, self.v) for part in self.parts)
        own = min(self.block.size, MOST_ON_STACK) + 8 * len(self.lines)
        return 2 * (most + own)

    def begin(self, t: Text) -> None:
        """Set aside the frame; outputs that are zero for every state are so from the beginning."""
        self.block.allocate(t)
        if self.schedule.zeroed:
            first, count = self.outputs[0].slot, sum(each.port.size for each in self.outputs)
            calls.clear(t, self.v, first, count)

    def finish(self, t: Text) -> None:
        """Leave the function that allocated."""
        self.block.release(t)
        t.do("ret void")

    @property
    def outputs(self) -> list[Argument]:
        return [argument for argument in self.arguments if not argument.is_input]

    @property
    def lines(self) -> list[tuple[int, int]]:
        """What to ask for ahead of the next states: (entry of all outputs, its port).

        Nothing, where it would not fit the first cache beside all else, or where parts write to
        frames of their own.
        """
        sizes = [argument.port.size for argument in self.outputs]
        if self.schedule.calls or sum(sizes) * self.v.width * self.v.size > MOST_ASKED:
            return []
        return list(enumerate(p for p, size in enumerate(sizes) for _ in range(size)))


def arguments(program: Program) -> list[Argument]:
    """Inputs and outputs in their order, with their places in `steps` and in the frame."""
    strides = len(program.inputs) + len(program.outputs)
    slot = 0
    found: list[Argument] = []
    for ports, is_input in ((program.inputs, True), (program.outputs, False)):
        for port in ports:
            found.append(Argument(port, len(found), strides, slot, is_input))
            strides += len(port.shape)
            slot += port.size
    return found
