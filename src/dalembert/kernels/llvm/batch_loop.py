"""The two exported functions around the parts of a program: NumPy's inner loop, and a single state.

    void dalembert_loop(char **args, intptr_t const *dimensions, intptr_t const *steps, void *data)
    void dalembert_one(void *const *in, void *const *out)

`range(args, steps, start, stop)` computes states start … stop-1 of a batch, register by register; in
the remainder, spare lanes repeat the last state. Where a plan overlaps, two frames alternate: during
the arithmetic on one, the inputs of the following states are loaded into the other, and the results
of the previous states are stored from it. No state is read after it was written, so `out=` may be one
of the inputs: NumPy makes no copy then.

Floating-point exception flags are restored: kernels raise no floating-point warnings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from dalembert.kernels.llvm import layout, runtime
from dalembert.kernels.llvm.body import Interleaved, part_declarations, part_function
from dalembert.kernels.llvm.ir import IRWriter, Vector, assembly_file
from dalembert.kernels.llvm.layout import UNROLLED, Index
from dalembert.kernels.llvm.plan import (
    MOVE_RECORD,
    Argument,
    Plan,
    arguments,
    group_functions,
    interleaved_moves,
)
from dalembert.kernels.llvm.runtime import guarded_function, heap_declarations, is_deep
from dalembert.kernels.llvm.target import Target
from dalembert.kernels.program.partition import Part, make_schedule
from dalembert.tracing.program import LEAVES, Program

RANGE = (("ptr", "args"), ("ptr", "steps"), ("i64", "start"), ("i64", "stop"))
_WITHIN = {"whole": layout.WHOLE, "direct": layout.DIRECT}
_OUTSIDE = {"rows": layout.ROWS, "any": layout.ANY}


def call_parts(
    t: IRWriter,
    plan: Plan,
    frame: str = "%frame",
    offsets: str = "@nothing",
    ahead: Sequence[str] | None = None,
    moves: str = "@nothing",
) -> None:
    """All parts, one after the other; where no states come after, they prefetch the frame itself."""
    if plan.schedule.calls:  # of groups on the frame, behind which the local frame is
        local = t.at("%frame", plan.schedule.size * plan.v.width * plan.v.size)
        for c, call in enumerate(plan.schedule.calls):
            tables = f"ptr @reads_{c}, ptr @writes_{c}"
            t.do(f"call void @group_{call.part}(ptr %frame, {tables}, ptr {local})")
        return
    ahead = ["%frame"] * len(plan.outputs) if ahead is None else ahead
    arguments = [frame, frame, offsets, *ahead, *[moves] * plan.overlaps]
    for part in range(len(plan.parts)):
        t.do(f"call void @part_{part}({', '.join(f'ptr {argument}' for argument in arguments)})")


def range_function(plan: Plan, deep: bool) -> str:
    """The function; `range_here` where another one looks for enough stack first."""
    t = IRWriter()
    plan.begin(t)
    t.do(f"%offsets = alloca [{len(plan.lines)} x i64]")
    t.do(f"%records = alloca [{MOVE_RECORD // 8 * len(plan.arguments)} x i64]")
    count = t.op("sub", "%stop", "%start")
    small = t.op("icmp ult", count, plan.v.width)
    movers = [ArgumentMover(t, plan, argument) for argument in plan.arguments]
    t.do(f"br i1 {small}, label %partial, label %full")
    t.label("partial")
    for mover in movers:
        if mover.argument == plan.outputs[0]:
            call_parts(t, plan)
        mover.partial(count)
    plan.finish(t)
    t.label("full")
    _full_registers(t, plan, movers, count)
    plan.finish(t)
    listed = ", ".join(f"{kind} %{key}" for kind, key in RANGE)
    return t.function(f"internal void @range{'_here' * deep}({listed}) noinline #0")


def _full_registers(t: IRWriter, plan: Plan, movers: Sequence[ArgumentMover], count: str) -> None:
    """Full registers of states, and after them the remainder."""
    width = plan.v.width
    blocks = t.op("udiv", count, width)
    done = t.op("mul", blocks, width)
    last = t.op("sub", done, width)
    inputs = [mover for mover in movers if mover.argument.is_input]
    outputs = [mover for mover in movers if not mover.argument.is_input]
    for mover in movers:
        mover.prepare()
    for mover in inputs:
        mover.move("0", "%frame", within=True)
    with t.loop(blocks) as index:
        state = t.op("mul", index, width)
        following = t.op("add", state, width)
        frame, other = _current_frames(t, plan, index)
        for mover in inputs:
            mover.move(state, frame)
        for mover in movers:
            mover.record(state, following, last, other)
        ahead = [mover.at(following) for mover in outputs]
        call_parts(t, plan, frame, "%offsets", ahead, "%records")
        for mover in outputs:
            mover.move(state, frame)
    frame, _ = _current_frames(t, plan, t.op("sub", blocks, 1))
    for mover in outputs:
        mover.move(last, frame, within=True)
    rest = t.op("add", "%start", done)
    with t.when(t.op("icmp ult", rest, "%stop")):
        t.do(f"call void @range(ptr %args, ptr %steps, i64 {rest}, i64 %stop)")


def _current_frames(t: IRWriter, plan: Plan, index: str) -> tuple[str, str]:
    """The frame of a register of states, and the other one."""
    if not plan.overlaps:
        return "%frame", "%frame"
    own = t.op("mul", t.op("and", index, 1), plan.frame)
    other = t.op("sub", plan.frame, own)
    return t.at("%frame", own), t.at("%frame", other)


class ArgumentMover:
    """Emits the moves of one argument between its array and the frames."""

    def __init__(self, t: IRWriter, plan: Plan, argument: Argument):
        self.t, self.plan, self.argument = t, plan, argument
        base = t.load("ptr", t.at("%args", 8 * argument.index))
        self.outer = t.load("i64", t.at("%steps", 8 * argument.index))
        self.strides = t.at("%steps", 8 * argument.strides)
        self.base = t.at(base, t.op("mul", "%start", self.outer))
        self.mode = t.let(f"call i64 @mode_{argument.suffix}(i64 {self.outer}, ptr {self.strides})")
        self.moves_within = plan.moves_within(argument)
        self.within = ""  # the mode where it moves during the arithmetic
        self.verb = "pack" if argument.is_input else "unpack"

    def at(self, state: str) -> str:
        """The address of a state. Prefetching lines beyond the end of an array is harmless."""
        return self.t.at(self.base, self.t.op("mul", state, self.outer))

    def _tile(self, frame: str) -> str:
        return self.t.at(frame, self.argument.offset * self.plan.v.width * self.plan.v.size)

    def _call(self, name: str, base: str, count: str | int, frame: str) -> None:
        self.t.do(
            f"call void @{self.verb}_{name}_{self.argument.suffix}(ptr {base}, i64 {self.outer}, "
            f"ptr {self.strides}, i64 {count}, ptr {self._tile(frame)})"
        )

    def partial(self, count: str) -> None:
        """All of the few states, fewer than a register holds."""
        t = self.t
        whole, rows = (t.op("icmp eq", self.mode, mode) for mode in (layout.WHOLE, layout.ROWS))
        fast, slow, after = (t.fresh(name) for name in ("fast", "slow", "moved"))
        t.do(f"br i1 {t.op('or', whole, rows, 'i1')}, label %{fast}, label %{slow}")
        for label, name in ((fast, "rows"), (slow, "any")):
            t.label(label)
            self._call(name, self.base, count, "%frame")
            t.do(f"br label %{after}")
        t.label(after)

    def prepare(self) -> None:
        """Pack inputs that are the same for all states; compute the offsets of lines to prefetch."""
        t, plan = self.t, self.plan
        if self.argument.is_input:
            with t.when(t.op("icmp eq", self.mode, layout.SAME)):
                for k in range(1 + plan.overlaps):
                    self._call("same", self.base, 1, t.at("%frame", k * plan.frame))
        elif plan.lines:
            address = t.at("%offsets", 8 * (self.argument.offset - plan.outputs[0].offset))
            suffix = self.argument.suffix
            t.do(f"call void @ahead_{suffix}(i64 {self.mode}, ptr {self.strides}, ptr {address})")
        if self.moves_within:
            apart = t.op("icmp ult", self.mode, layout.DIRECT)
            self.within = t.select(apart, layout.NONE, self.mode)
            t.store("ptr", self.strides, self._word(3))

    def _word(self, k: int) -> str:
        return self.t.at("%records", MOVE_RECORD * self.argument.index + 8 * k)

    def record(self, state: str, following: str, last: str, other: str) -> None:
        """Record what moves during the arithmetic: the next inputs, the previous results."""
        t = self.t
        if not self.moves_within:
            return
        if self.argument.is_input:
            state_moved, none = following, t.op("icmp ugt", following, last)
        else:
            state_moved = t.op("sub", state, self.plan.v.width)
            none = t.op("icmp eq", state, 0)
        t.store("i64", t.select(none, layout.NONE, self.within), self._word(0))
        t.store("ptr", self.at(state_moved), self._word(1))
        t.store("ptr", self._tile(other), self._word(2))

    def move(self, state: str, frame: str, within: bool = False) -> None:
        """One register of states, in the modes that move `within` the arithmetic, or in the others."""
        if within and not self.moves_within:
            return
        modes = _WITHIN if within else _OUTSIDE if self.moves_within else _WITHIN | _OUTSIDE
        t, after = self.t, self.t.fresh("moved")
        labels = {name: t.fresh(name) for name in modes}
        listed = " ".join(f"i64 {modes[name]}, label %{label}" for name, label in labels.items())
        t.do(f"switch i64 {self.mode}, label %{after} [ {listed} ]")
        for name, label in labels.items():
            t.label(label)
            function = "rows" if name == "whole" else name
            self._call(function, self.at(state), self.plan.v.width, frame)
            t.do(f"br label %{after}")
        t.label(after)


SHORT = 300  # instructions of a program whose module is not worth a thread of its own
_ONE = (("ptr", "in"), ("ptr", "out"))


def loop_modules(program: Program, v: Vector, target: Target) -> list[Callable[[], str]]:
    """Writers of the modules: both functions, and the parts, which are apart unless they are short."""
    plan = Plan(program, make_schedule(program), v, arguments(program))
    is_short = len(plan.parts) == 1 and len(program) < SHORT  # everything is one module
    linkage = "internal " if is_short else ""

    def write_part(number: int, part: Part, interleaved: Interleaved) -> str:
        text = part_function(f"part_{number}", part.program, v, part.writes, interleaved, linkage)
        return f"{part_declarations(part.program, v)}\n{text}"

    # each part prefetches its share of the next states' lines
    lines, moves = plan.lines, interleaved_moves(plan)
    work = [sum(op not in LEAVES for op in part.program.op.tolist()) for part in plan.parts]
    total, done = max(1, sum(work)), 0
    parts: list[Callable[[], str]] = []
    for i, part in enumerate(plan.parts):
        share = lines[len(lines) * done // total : len(lines) * (done + work[i]) // total]
        done += work[i]
        parts.append(partial(write_part, i, part, Interleaved(share, len(plan.outputs), moves)))
    if is_short:
        return [lambda: f"{parts[0]()}\n{_exported_functions(plan, target)}"]
    parameters = ", ".join(["ptr"] * (3 + len(plan.outputs) + bool(moves)))
    declared = [f"declare void @part_{i}({parameters}) nounwind" for i in range(len(parts))]
    return [lambda: "\n".join([*declared, _exported_functions(plan, target)]), *parts]


def _exported_functions(plan: Plan, target: Target) -> str:
    program, v = plan.program, plan.v
    shapes = ({port.shape for port in ports} for ports in (program.inputs, program.outputs))
    deep = is_deep(plan.need, target)
    words = max(len(plan.lines), MOVE_RECORD // 8 * len(plan.arguments))
    states = max(1, int(runtime.MIN_PARALLEL_NS / runtime.cost_ns(program, v)))
    guards = [
        assembly_file("stack_checks"),
        guarded_function("range", RANGE, plan.need, "internal "),
        guarded_function("dalembert_one", _ONE, plan.need),
    ]
    return "\n".join(
        [
            # tables for parts called where no states come before or after
            f"@nothing = internal constant [{words} x i64] zeroinitializer",
            heap_declarations([plan.block]),
            layout.packing_functions(v, *shapes),
            group_functions(plan.schedule, v, len(plan.outputs)),
            # the exception flags of the calling thread are saved and restored, or else cleared
            assembly_file("flags_x86" if target.is_x86 else "flags_generic"),
            range_function(plan, deep),
            runtime.worker_functions(program, v, target),
            # one thread, or several where the batch is worth it
            assembly_file("batch_entry", STATES=states),
            _single_state_function(plan, deep),
            "\n".join(guards) if deep else "",
        ]
    )


def _single_state_function(plan: Plan, deep: bool) -> str:
    """`dalembert_one`: every lane computes the same state."""
    t, v = IRWriter(), plan.v
    plan.begin(t)
    t.do("%flags = call i32 @save_flags()")
    inputs = len(plan.arguments) - len(plan.outputs)

    def move(argument: Argument, base: str, entry: Index) -> None:
        """One number between the caller's array and all lanes, or the first, of its vector."""
        number = t.element(v.scalar, base, entry)
        first = t.at("%frame", argument.offset * v.width * v.size)
        vector = t.element(v.type, first, entry)
        if argument.is_input:
            x = t.load(v.scalar, number, "align 1")
            t.store(v.type, t.splat(v, x), vector)
        else:
            x = t.load(v.scalar, vector)
            t.store(v.scalar, x, number, "align 1")

    for argument in plan.arguments:
        if argument.index == inputs:
            call_parts(t, plan)
        own = argument.index if argument.is_input else argument.index - inputs
        base = t.load("ptr", t.at("%in" if argument.is_input else "%out", 8 * own))
        if argument.port.size > UNROLLED:
            with t.loop(argument.port.size) as index:
                move(argument, base, index)
        else:
            for entry in range(argument.port.size):
                move(argument, base, entry)
    t.do("call void @restore_flags(i32 %flags)")
    plan.finish(t)
    name = "internal void @dalembert_one_here" if deep else "void @dalembert_one"
    return t.function(f"{name}(ptr %in, ptr %out) noinline #0")
