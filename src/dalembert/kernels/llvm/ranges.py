"""`range(args, steps, start, stop)`: states start … stop-1 of a batch, register by register.

Where a plan overlaps, two frames take turns. During the arithmetic on one, the states after are
brought into the other, and the results of the states before are taken out of it; the first states
are brought in before, and the last results are taken out after. No state is read after it was
written, so `out=` may be one of the inputs: NumPy makes no copy then.
"""

from collections.abc import Sequence

from dalembert.kernels.llvm import calls, layout
from dalembert.kernels.llvm.moves import RECORD
from dalembert.kernels.llvm.plan import Argument, Plan
from dalembert.kernels.llvm.text import Text

RANGE = (("ptr", "args"), ("ptr", "steps"), ("i64", "start"), ("i64", "stop"))
_OUTSIDE = {"rows": layout.ROWS, "any": layout.ANY}
_EVERY = {"whole": layout.WHOLE, "direct": layout.DIRECT} | _OUTSIDE


def nothing(plan: Plan) -> str:
    """What parts are given where no states come before or after."""
    words = max(len(plan.lines), RECORD // 8 * len(plan.arguments))
    return f"@nothing = internal constant [{words} x i64] zeroinitializer"


def compute(
    t: Text, plan: Plan, frame: str, offsets: str, ahead: Sequence[str], moves: str
) -> None:
    """All parts, one after the other."""
    if plan.schedule.calls:
        calls.compute(t, plan.schedule, plan.v)
        return
    places = [frame, frame, offsets, *ahead, *[moves] * plan.overlaps]
    for part in range(len(plan.parts)):
        t.do(f"call void @part_{part}({', '.join(f'ptr {place}' for place in places)})")


def compute_alone(t: Text, plan: Plan) -> None:
    """All parts, where no states come after: they ask for the frame itself."""
    compute(t, plan, "%frame", "@nothing", ["%frame"] * len(plan.outputs), "@nothing")


def range_of_states(plan: Plan, deep: bool) -> str:
    """The function; `range_here` where another one looks for enough stack first."""
    t = Text()
    plan.begin(t)
    t.do(f"%offsets = alloca [{len(plan.lines)} x i64]")
    t.do(f"%records = alloca [{RECORD // 8 * len(plan.arguments)} x i64]")
    count = t.let("sub i64 %stop, %start")
    small = t.let(f"icmp ult i64 {count}, {plan.v.width}")
    walks = [Walk(t, plan, argument) for argument in plan.arguments]
    t.do(f"br i1 {small}, label %partial, label %full")
    t.label("partial")
    for walk in walks:
        if walk.argument == plan.outputs[0]:
            compute_alone(t, plan)
        walk.partial(count)
    plan.finish(t)
    t.label("full")
    _full(t, plan, walks, count)
    plan.finish(t)
    listed = ", ".join(f"{kind} %{key}" for kind, key in RANGE)
    return t.function(f"internal void @range{'_here' * deep}({listed}) noinline #0")


def _full(t: Text, plan: Plan, walks: Sequence["Walk"], count: str) -> None:
    """Whole registers of states, and after them what is left over."""
    width = plan.v.width
    blocks = t.let(f"udiv i64 {count}, {width}")
    done = t.let(f"mul i64 {blocks}, {width}")
    last = t.let(f"sub i64 {done}, {width}")
    inputs = [walk for walk in walks if walk.argument.is_input]
    outputs = [walk for walk in walks if not walk.argument.is_input]
    for walk in walks:
        walk.prepare()
    for walk in inputs:
        walk.inside("pack", "0", "%frame")

    def block(index: str) -> None:
        state = t.let(f"mul i64 {index}, {width}")
        following = t.let(f"add i64 {state}, {width}")
        frame, other = _frames(t, plan, index)
        for walk in inputs:
            walk.outside("pack", state, frame)
        for walk in walks:
            walk.record(state, following, last, other)
        compute(t, plan, frame, "%offsets", [walk.at(following) for walk in outputs], "%records")
        for walk in outputs:
            walk.outside("unpack", state, frame)

    t.loop(blocks, block)
    frame, _ = _frames(t, plan, t.let(f"sub i64 {blocks}, 1"))
    for walk in outputs:
        walk.inside("unpack", last, frame)
    rest = t.let(f"add i64 %start, {done}")
    left = t.let(f"icmp ult i64 {rest}, %stop")
    t.when(left, lambda: t.do(f"call void @range(ptr %args, ptr %steps, i64 {rest}, i64 %stop)"))


def _frames(t: Text, plan: Plan, index: str) -> tuple[str, str]:
    """The frame of a register of states, and the other one."""
    if not plan.overlaps:
        return "%frame", "%frame"
    odd = t.let(f"and i64 {index}, 1")
    own = t.let(f"mul i64 {odd}, {plan.frame}")
    other = t.let(f"sub i64 {plan.frame}, {own}")
    return t.at("%frame", own), t.at("%frame", other)


class Walk:
    """Emits the moves of one argument between its array and the frames."""

    def __init__(self, t: Text, plan: Plan, argument: Argument):
        self.t, self.plan, self.argument = t, plan, argument
        base = t.let(f"load ptr, ptr {t.at('%args', 8 * argument.index)}")
        self.outer = t.let(f"load i64, ptr {t.at('%steps', 8 * argument.index)}")
        self.strides = t.at("%steps", 8 * argument.strides)
        self.base = t.at(base, t.let(f"mul i64 %start, {self.outer}"))
        self.mode = t.let(f"call i64 @mode_{argument.suffix}(i64 {self.outer}, ptr {self.strides})")
        self.moves_within = plan.moves_within(argument)
        self.within = ""  # the mode where it moves during the arithmetic

    def at(self, state: str) -> str:
        """Where a state begins. Asking for lines beyond the end of an array is harmless."""
        return self.t.at(self.base, self.t.let(f"mul i64 {state}, {self.outer}"))

    def _tile(self, frame: str) -> str:
        return self.t.at(frame, self.argument.slot * self.plan.v.width * self.plan.v.size)

    def _call(self, name: str, base: str, count: str | int, frame: str) -> None:
        self.t.do(
            f"call void @{name}_{self.argument.suffix}(ptr {base}, i64 {self.outer}, "
            f"ptr {self.strides}, i64 {count}, ptr {self._tile(frame)})"
        )

    def partial(self, count: str) -> None:
        """All of the few states, fewer than a register holds."""
        t, move = self.t, "pack" if self.argument.is_input else "unpack"
        whole, rows = (
            t.let(f"icmp eq i64 {self.mode}, {mode}") for mode in (layout.WHOLE, layout.ROWS)
        )
        fast, slow, after = (t.fresh(name) for name in ("fast", "slow", "moved"))
        t.do(f"br i1 {t.let(f'or i1 {whole}, {rows}')}, label %{fast}, label %{slow}")
        for label, way in ((fast, "rows"), (slow, "any")):
            t.label(label)
            self._call(f"{move}_{way}", self.base, count, "%frame")
            t.do(f"br label %{after}")
        t.label(after)

    def prepare(self) -> None:
        """What is the same for all states is packed here; lines to ask for are found."""
        t, plan = self.t, self.plan
        if self.argument.is_input:
            same = t.let(f"icmp eq i64 {self.mode}, {layout.SAME}")
            t.when(same, self._spread)
        elif plan.lines:
            place = t.at("%offsets", 8 * (self.argument.slot - plan.outputs[0].slot))
            suffix = self.argument.suffix
            t.do(f"call void @ahead_{suffix}(i64 {self.mode}, ptr {self.strides}, ptr {place})")
        if self.moves_within:
            apart = t.let(f"icmp ult i64 {self.mode}, {layout.DIRECT}")
            self.within = t.let(f"select i1 {apart}, i64 {layout.NONE}, i64 {self.mode}")
            t.do(f"store ptr {self.strides}, ptr {self._word(3)}")

    def _spread(self) -> None:
        for k in range(1 + self.plan.overlaps):
            frame = self.t.at("%frame", k * self.plan.frame)
            self._call("pack_same", self.base, 1, frame)

    def _word(self, k: int) -> str:
        return self.t.at("%records", RECORD * self.argument.index + 8 * k)

    def record(self, state: str, following: str, last: str, other: str) -> None:
        """What moves during the arithmetic: the inputs after these, the results before them."""
        t = self.t
        if not self.moves_within:
            return
        if self.argument.is_input:
            moved, none = following, t.let(f"icmp ugt i64 {following}, {last}")
        else:
            moved = t.let(f"sub i64 {state}, {self.plan.v.width}")
            none = t.let(f"icmp eq i64 {state}, 0")
        mode = t.let(f"select i1 {none}, i64 {layout.NONE}, i64 {self.within}")
        t.do(f"store i64 {mode}, ptr {self._word(0)}")
        t.do(f"store ptr {self.at(moved)}, ptr {self._word(1)}")
        t.do(f"store ptr {self._tile(other)}, ptr {self._word(2)}")

    def inside(self, move: str, state: str, frame: str) -> None:
        """One register of states, in the modes that move during the arithmetic."""
        if self.moves_within:
            self._switch(move, state, frame, ("whole", "direct"))

    def outside(self, move: str, state: str, frame: str) -> None:
        """One register of states, in the other modes."""
        self._switch(move, state, frame, tuple(_OUTSIDE if self.moves_within else _EVERY))

    def _switch(self, move: str, state: str, frame: str, names: tuple[str, ...]) -> None:
        t, after = self.t, self.t.fresh("moved")
        labels = {name: t.fresh(name) for name in names}
        listed = " ".join(f"i64 {_EVERY[name]}, label %{labels[name]}" for name in names)
        t.do(f"switch i64 {self.mode}, label %{after} [ {listed} ]")
        for name, label in labels.items():
            t.label(label)
            way = "rows" if name == "whole" else name
            self._call(f"{move}_{way}", self.at(state), self.plan.v.width, frame)
            t.do(f"br label %{after}")
        t.label(after)
