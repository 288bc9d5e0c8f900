"""The two exported functions around a body: NumPy's inner loop over states, and a single state.

    void dalembert_loop(char **args, intptr_t const *dimensions, intptr_t const *steps, void *data)
    void dalembert_one(void *const *in, void *const *out)

Full registers of states go first; what is left over goes number by number. No state is read after
it was written, so `out=` may be one of the inputs. Floating-point exception flags are left as they
were: kernels are quiet, NaN and infinity speak for themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.kernels import layout, threads
from dalembert.kernels.body import call
from dalembert.kernels.program import Port, Program
from dalembert.kernels.target import Target
from dalembert.kernels.text import Text, Vector


@dataclass(frozen=True)
class _Argument:
    """One argument of the loop: where its strides and its part of the tile are."""

    port: Port
    index: int
    strides: int  # position of its core strides in `steps`
    entry: int  # first entry in the tile
    tile: str

    @property
    def suffix(self) -> str:
        return layout.suffix(self.port.shape)


def loops(program: Program, v: Vector, target: Target) -> str:
    """Assembly of both functions and what they share."""
    shapes = {port.shape for port in (*program.inputs, *program.outputs)}
    arguments = _arguments(program)
    threaded = not target.is_windows
    return "\n".join(
        [
            f"@nothing = internal constant [{_entries(program.outputs)} x i64] zeroinitializer",
            layout.functions(v, shapes),
            _quiet(target),
            _range(program, v, arguments),
            threads.workers(program, v) if threaded else "",
            _loop(threaded, v, program),
            _one(program, v, arguments),
        ]
    )


def _arguments(program: Program) -> list[_Argument]:
    total = len(program.inputs) + len(program.outputs)
    strides = total
    found: list[_Argument] = []
    for ports, tile in ((program.inputs, "%x"), (program.outputs, "%y")):
        entry = 0
        for port in ports:
            found.append(_Argument(port, len(found), strides, entry, tile))
            strides += len(port.shape)
            entry += port.size
    return found


def _tiles(t: Text, program: Program, v: Vector) -> None:
    for name, ports in (("%x", program.inputs), ("%y", program.outputs)):
        t.do(f"{name} = alloca [{_entries(ports)} x {v.type}], align 64")


def _entries(ports: Sequence[Port]) -> int:
    return max(1, sum(port.size for port in ports))


def _alone(program: Program) -> str:
    """A call of the body with no register of states after it: it asks for its own tile."""
    return call("@nothing", ["%y"] * len(program.outputs))


def _range(program: Program, v: Vector, arguments: list[_Argument]) -> str:
    """`range(args, steps, start, stop)`: states start … stop-1, stop > start."""
    t = Text()
    _tiles(t, program, v)
    t.do(f"%offsets = alloca [{_entries(program.outputs)} x i64]")
    count = t.let("sub i64 %stop, %start")
    small = t.let(f"icmp ult i64 {count}, {v.width}")
    ports = [_Walk(t, v, argument) for argument in arguments]
    t.do(f"br i1 {small}, label %partial, label %full")
    t.label("partial")
    for walk in ports:
        walk.number_by_number(count, "pack", "%x")
    t.do(_alone(program))
    for walk in ports:
        walk.number_by_number(count, "unpack", "%y")
    t.do("ret void")
    t.label("full")
    for walk in ports:
        walk.prepare()
    blocks = t.let(f"udiv i64 {count}, {v.width}")

    def block(index: str) -> None:
        state = t.let(f"mul i64 {index}, {v.width}")
        for walk in ports:
            walk.register(state, "pack", "%x")
        following = t.let(f"add i64 {state}, {v.width}")
        ahead = [walk.at(following) for walk in ports if walk.argument.tile == "%y"]
        t.do(call("%offsets", ahead))
        for walk in ports:
            walk.register(state, "unpack", "%y")

    t.loop(blocks, block)
    # no state is read after it was written: out= may be an input, and NumPy makes no copy then
    done = t.let(f"mul i64 {blocks}, {v.width}")
    rest = t.let(f"add i64 %start, {done}")
    left = t.let(f"icmp ult i64 {rest}, %stop")
    t.when(left, lambda: t.do(f"call void @range(ptr %args, ptr %steps, i64 {rest}, i64 %stop)"))
    t.do("ret void")
    return t.function(
        "internal void @range(ptr %args, ptr %steps, i64 %start, i64 %stop) noinline #0"
    )


class _Walk:
    """Emits the moves of one argument between its array and its tile."""

    def __init__(self, t: Text, v: Vector, argument: _Argument):
        self.t, self.v, self.argument = t, v, argument
        base = t.let(f"load ptr, ptr {t.at('%args', 8 * argument.index)}")
        self.outer = t.let(f"load i64, ptr {t.at('%steps', 8 * argument.index)}")
        self.strides = t.at("%steps", 8 * argument.strides)
        self.base = t.at(base, t.let(f"mul i64 %start, {self.outer}"))
        self.tile = t.at(argument.tile, argument.entry * v.width * v.size)
        self.mode = ""

    def call(self, name: str, base: str, count: str | int) -> None:
        self.t.do(
            f"call void @{name}_{self.argument.suffix}(ptr {base}, i64 {self.outer}, "
            f"ptr {self.strides}, i64 {count}, ptr {self.tile})"
        )

    def number_by_number(self, count: str, move: str, tile: str) -> None:
        if self.argument.tile == tile:
            self.call(f"{move}_any", self.base, count)

    def prepare(self) -> None:
        """Find out how the array lies; what is the same for all states is packed here."""
        t, suffix = self.t, self.argument.suffix
        self.mode = t.let(f"call i64 @mode_{suffix}(i64 {self.outer}, ptr {self.strides})")
        if self.argument.tile == "%x":
            same = t.let(f"icmp eq i64 {self.mode}, {layout.SAME}")
            t.when(same, lambda: self.call("pack_same", self.base, 1))
        else:
            place = t.at("%offsets", 8 * self.argument.entry)
            t.do(f"call void @ahead_{suffix}(i64 {self.mode}, ptr {self.strides}, ptr {place})")

    def at(self, state: str) -> str:
        """Where a state begins. Asking for lines beyond the end of an array is harmless."""
        return self.t.at(self.base, self.t.let(f"mul i64 {state}, {self.outer}"))

    def register(self, state: str, move: str, tile: str) -> None:
        if self.argument.tile != tile:
            return
        t = self.t
        base = self.at(state)
        after = t.fresh("moved")
        cases = {"direct": layout.DIRECT, "rows": layout.ROWS, "any": layout.ANY}
        labels = {name: t.fresh(name) for name in cases}
        listed = " ".join(f"i64 {cases[name]}, label %{labels[name]}" for name in cases)
        t.do(f"switch i64 {self.mode}, label %{after} [ {listed} ]")
        for name, label in labels.items():
            t.label(label)
            self.call(f"{move}_{name}", base, self.v.width)
            t.do(f"br label %{after}")
        t.label(after)


def _one(program: Program, v: Vector, arguments: list[_Argument]) -> str:
    """`dalembert_one`: every lane computes the same state."""
    t = Text()
    _tiles(t, program, v)
    t.do("%flags = call i32 @save_flags()")
    stride = v.width * v.size
    inputs = [argument for argument in arguments if argument.tile == "%x"]
    for argument in inputs:
        base = t.let(f"load ptr, ptr {t.at('%in', 8 * argument.index)}")
        for k in range(argument.port.size):
            x = t.let(f"load {v.scalar}, ptr {t.at(base, k * v.size)}, align 1")
            layout.spread(t, v, x, t.at("%x", (argument.entry + k) * stride))
    t.do(_alone(program))
    for argument in arguments[len(inputs) :]:
        base = t.let(f"load ptr, ptr {t.at('%out', 8 * (argument.index - len(inputs)))}")
        for k in range(argument.port.size):
            place = t.at("%y", (argument.entry + k) * stride)
            x = t.let(f"load {v.scalar}, ptr {place}")
            t.do(f"store {v.scalar} {x}, ptr {t.at(base, k * v.size)}, align 1")
    t.do("call void @restore_flags(i32 %flags)")
    t.do("ret void")
    return t.function("void @dalembert_one(ptr %in, ptr %out) #0")


def _quiet(target: Target) -> str:
    """Keep the exception flags of the calling thread: save and restore, or else clear."""
    if not target.is_x86:
        return """declare i32 @feclearexcept(i32) nounwind
define internal i32 @save_flags() #0 { ret i32 0 }
define internal void @restore_flags(i32 %flags) #0 {
  %unused = call i32 @feclearexcept(i32 31)
  ret void
}"""
    return """declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
define internal i32 @save_flags() #0 {
  %slot = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %slot)
  %flags = load i32, ptr %slot
  ret i32 %flags
}
define internal void @restore_flags(i32 %flags) #0 {
  %slot = alloca i32
  store i32 %flags, ptr %slot
  call void @llvm.x86.sse.ldmxcsr(ptr %slot)
  ret void
}"""


def _loop(threaded: bool, v: Vector, program: Program) -> str:
    states = threads.worthwhile(program, v)
    choice = f"""  %none = icmp eq ptr %data, null
  br i1 %none, label %single, label %ask
ask:
  %threads = load atomic i32, ptr %data monotonic, align 4
  %many = icmp sgt i32 %threads, 1
  %worth = icmp uge i64 %count, {states}
  %split = and i1 %many, %worth
  br i1 %split, label %parallel, label %single
parallel:
  call void @in_parallel(ptr %args, ptr %steps, i64 %count, i32 %threads)
  br label %done"""
    return f"""define void @dalembert_loop(ptr %args, ptr %dimensions, ptr %steps, ptr %data) #0 {{
entry:
  %count = load i64, ptr %dimensions
  %empty = icmp slt i64 %count, 1
  br i1 %empty, label %nothing, label %work
work:
  %flags = call i32 @save_flags()
{choice if threaded else "  br label %single"}
single:
  call void @range(ptr %args, ptr %steps, i64 0, i64 %count)
  br label %done
done:
  call void @restore_flags(i32 %flags)
  ret void
nothing:
  ret void
}}"""
