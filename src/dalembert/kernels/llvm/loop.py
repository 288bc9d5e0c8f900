"""The two exported functions around the parts of a program: NumPy's inner loop, and a single state.

    void dalembert_loop(char **args, intptr_t const *dimensions, intptr_t const *steps, void *data)
    void dalembert_one(void *const *in, void *const *out)

Full registers of states go first; what is left over goes number by number. No state is read after
it was written, so `out=` may be one of the inputs. Floating-point exception flags are left as they
were: kernels are quiet, NaN and infinity speak for themselves.
"""

from collections.abc import Sequence
from functools import partial

from dalembert.kernels.llvm import calls, layout, threads
from dalembert.kernels.llvm.body import Asked, declarations, function
from dalembert.kernels.llvm.entry import entry, quiet
from dalembert.kernels.llvm.plan import Argument, Plan, arguments
from dalembert.kernels.llvm.stack import checks, guarded, is_deep
from dalembert.kernels.llvm.stack import declarations as declarations_of
from dalembert.kernels.llvm.target import Target
from dalembert.kernels.llvm.text import Text, Vector
from dalembert.kernels.llvm.transpose import UNROLLED, Place
from dalembert.kernels.program.components import scheduled
from dalembert.kernels.program.program import LEAVES, Program

_RANGE = (("ptr", "args"), ("ptr", "steps"), ("i64", "start"), ("i64", "stop"))
_ONE = (("ptr", "in"), ("ptr", "out"))


def loops(program: Program, v: Vector, target: Target) -> list[str]:
    """Assembly of both functions, and of the parts: beside them if there is one, else apart."""
    plan = Plan(program, scheduled(program), v, arguments(program))
    parts = _parts(plan)
    if len(parts) == 1:
        return [f"{parts[0]}\n{_both(plan, target)}"]
    parameters = ", ".join(["ptr"] * (3 + len(plan.outputs)))
    declared = [f"declare void @part_{i}({parameters}) nounwind" for i in range(len(parts))]
    return ["\n".join([*declared, _both(plan, target)]), *parts]


def _both(plan: Plan, target: Target) -> str:
    program, v = plan.program, plan.v
    shapes = {port.shape for port in (*program.inputs, *program.outputs)}
    deep = is_deep(plan.need, target)
    return "\n".join(
        [
            f"@nothing = internal constant [{len(plan.lines)} x i64] zeroinitializer",
            declarations_of([plan.block]),
            layout.functions(v, shapes),
            calls.functions(plan.schedule, v, len(plan.outputs)),
            quiet(target),
            _range(plan, deep),
            threads.workers(program, v, target),
            entry(v, program),
            _one(plan, deep),
            _guards(plan.need) if deep else "",
        ]
    )


def _guards(need: int) -> str:
    """`range` and `dalembert_one` around the functions that take so much stack."""
    both = [guarded("range", _RANGE, need, "internal "), guarded("dalembert_one", _ONE, need)]
    return "\n".join([checks(), *both])


def _parts(plan: Plan) -> list[str]:
    """The functions of all parts; each asks for its share of the lines to be written next."""
    lines = plan.lines
    work = [sum(op not in LEAVES for op in part.program.op.tolist()) for part in plan.parts]
    total, done, texts = max(1, sum(work)), 0, []
    for i, part in enumerate(plan.parts):
        share = lines[len(lines) * done // total : len(lines) * (done + work[i]) // total]
        done += work[i]
        asked = Asked(share, len(plan.outputs))
        linkage = "internal " if len(work) == 1 else ""
        text = function(f"part_{i}", part.program, plan.v, part.places, asked, linkage)
        texts.append(f"{declarations(part.program, plan.v)}\n{text}")
    return texts


def _compute(t: Text, plan: Plan, offsets: str, ahead: Sequence[str]) -> None:
    """All parts, one after the other."""
    if plan.schedule.calls:
        calls.compute(t, plan.schedule, plan.v)
        return
    parameters = ", ".join(f"ptr {place}" for place in ("%frame", "%frame", offsets, *ahead))
    for part in range(len(plan.parts)):
        t.do(f"call void @part_{part}({parameters})")


def _compute_alone(t: Text, plan: Plan) -> None:
    """All parts, where no states come after: they ask for the frame itself."""
    _compute(t, plan, "@nothing", ["%frame"] * len(plan.outputs))


def _range(plan: Plan, deep: bool) -> str:
    """`range(args, steps, start, stop)`: states start … stop-1, stop > start."""
    t, v = Text(), plan.v
    plan.begin(t)
    t.do(f"%offsets = alloca [{len(plan.lines)} x i64]")
    count = t.let("sub i64 %stop, %start")
    small = t.let(f"icmp ult i64 {count}, {v.width}")
    walks = [_Walk(t, v, argument) for argument in plan.arguments]
    inputs = [walk for walk in walks if walk.argument.is_input]
    outputs = [walk for walk in walks if not walk.argument.is_input]
    t.do(f"br i1 {small}, label %partial, label %full")
    t.label("partial")
    for walk in inputs:
        walk.call("pack_any", walk.base, count)
    _compute_alone(t, plan)
    for walk in outputs:
        walk.call("unpack_any", walk.base, count)
    plan.finish(t)
    t.label("full")
    for walk in walks:
        walk.prepare(plan)
    blocks = t.let(f"udiv i64 {count}, {v.width}")

    def block(index: str) -> None:
        state = t.let(f"mul i64 {index}, {v.width}")
        for walk in inputs:
            walk.register(state, "pack")
        following = t.let(f"add i64 {state}, {v.width}")
        _compute(t, plan, "%offsets", [walk.at(following) for walk in outputs])
        for walk in outputs:
            walk.register(state, "unpack")

    t.loop(blocks, block)
    # no state is read after it was written: out= may be an input, and NumPy makes no copy then
    done = t.let(f"mul i64 {blocks}, {v.width}")
    rest = t.let(f"add i64 %start, {done}")
    left = t.let(f"icmp ult i64 {rest}, %stop")
    t.when(left, lambda: t.do(f"call void @range(ptr %args, ptr %steps, i64 {rest}, i64 %stop)"))
    plan.finish(t)
    listed = ", ".join(f"{kind} %{key}" for kind, key in _RANGE)
    return t.function(f"internal void @range{'_here' * deep}({listed}) noinline #0")


class _Walk:
    """Emits the moves of one argument between its array and the frame."""

    def __init__(self, t: Text, v: Vector, argument: Argument):
        self.t, self.v, self.argument = t, v, argument
        base = t.let(f"load ptr, ptr {t.at('%args', 8 * argument.index)}")
        self.outer = t.let(f"load i64, ptr {t.at('%steps', 8 * argument.index)}")
        self.strides = t.at("%steps", 8 * argument.strides)
        self.base = t.at(base, t.let(f"mul i64 %start, {self.outer}"))
        self.tile = t.at("%frame", argument.slot * v.width * v.size)
        self.mode = ""

    def call(self, name: str, base: str, count: str | int, outer: str | int | None = None) -> None:
        step = self.outer if outer is None else outer
        self.t.do(
            f"call void @{name}_{self.argument.suffix}(ptr {base}, i64 {step}, "
            f"ptr {self.strides}, i64 {count}, ptr {self.tile})"
        )

    def prepare(self, plan: Plan) -> None:
        """Find out how the array lies; what is the same for all states is packed here."""
        t, suffix = self.t, self.argument.suffix
        self.mode = t.let(f"call i64 @mode_{suffix}(i64 {self.outer}, ptr {self.strides})")
        if self.argument.is_input:
            same = t.let(f"icmp eq i64 {self.mode}, {layout.SAME}")
            t.when(same, lambda: self.call("pack_same", self.base, 1))
        elif plan.lines:
            place = t.at("%offsets", 8 * (self.argument.slot - plan.outputs[0].slot))
            t.do(f"call void @ahead_{suffix}(i64 {self.mode}, ptr {self.strides}, ptr {place})")

    def at(self, state: str) -> str:
        """Where a state begins. Asking for lines beyond the end of an array is harmless."""
        return self.t.at(self.base, self.t.let(f"mul i64 {state}, {self.outer}"))

    def register(self, state: str, move: str) -> None:
        t = self.t
        base = self.at(state)
        after, other = t.fresh("moved"), t.fresh("other")
        modes = {"direct": layout.DIRECT, "rows": layout.ROWS, "any": layout.ANY}
        labels = {name: t.fresh(name) for name in ("whole", *modes)}
        listed = " ".join(f"i64 {mode}, label %{labels[name]}" for name, mode in modes.items())
        whole = t.let(f"icmp eq i64 {self.mode}, {layout.WHOLE}")
        t.do(f"br i1 {whole}, label %{labels['whole']}, label %{other}")
        t.label(other)
        t.do(f"switch i64 {self.mode}, label %{after} [ {listed} ]")
        row = self.argument.port.size * self.v.size
        for name, label in labels.items():
            way, outer = ("rows", row) if name == "whole" else (name, None)
            t.label(label)
            self.call(f"{move}_{way}", base, self.v.width, outer)
            t.do(f"br label %{after}")
        t.label(after)


def _one(plan: Plan, deep: bool) -> str:
    """`dalembert_one`: every lane computes the same state."""
    t, v = Text(), plan.v
    plan.begin(t)
    t.do("%flags = call i32 @save_flags()")
    inputs = len(plan.arguments) - len(plan.outputs)

    def move(argument: Argument, base: str, entry: Place) -> None:
        """One number between the caller's array and all lanes, or the first, of its vector."""
        number = t.let(f"getelementptr {v.scalar}, ptr {base}, i64 {entry}")
        first = t.at("%frame", argument.slot * v.width * v.size)
        vector = t.let(f"getelementptr {v.type}, ptr {first}, i64 {entry}")
        if argument.is_input:
            layout.spread(t, v, t.let(f"load {v.scalar}, ptr {number}, align 1"), vector)
        else:
            x = t.let(f"load {v.scalar}, ptr {vector}")
            t.do(f"store {v.scalar} {x}, ptr {number}, align 1")

    for argument in plan.arguments:
        if argument.index == inputs:
            _compute_alone(t, plan)
        own = argument.index if argument.is_input else argument.index - inputs
        arrays = "%in" if argument.is_input else "%out"
        base = t.let(f"load ptr, ptr {t.at(arrays, 8 * own)}")
        t.each(argument.port.size, partial(move, argument, base), UNROLLED)
    t.do("call void @restore_flags(i32 %flags)")
    plan.finish(t)
    name = "internal void @dalembert_one_here" if deep else "void @dalembert_one"
    return t.function(f"{name}(ptr %in, ptr %out) noinline #0")
