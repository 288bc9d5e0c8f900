"""The two exported functions around the parts of a program: NumPy's inner loop, and a single state.

    void dalembert_loop(char **args, intptr_t const *dimensions, intptr_t const *steps, void *data)
    void dalembert_one(void *const *in, void *const *out)

Full registers of states go first; in what is left over, lanes to spare repeat the last state.
Floating-point exception flags are left as they were: kernels are quiet, NaN and infinity speak for
themselves.
"""

from collections.abc import Callable
from functools import partial

from dalembert.kernels.llvm import calls, layout, threads
from dalembert.kernels.llvm.body import Asked, declarations, function
from dalembert.kernels.llvm.entry import entry, quiet
from dalembert.kernels.llvm.moves import moves
from dalembert.kernels.llvm.plan import Argument, Plan, arguments
from dalembert.kernels.llvm.ranges import RANGE, compute_alone, nothing, range_of_states
from dalembert.kernels.llvm.stack import checks, guarded, is_deep
from dalembert.kernels.llvm.stack import declarations as declarations_of
from dalembert.kernels.llvm.target import Target
from dalembert.kernels.llvm.text import Text, Vector
from dalembert.kernels.llvm.transpose import UNROLLED, Place
from dalembert.kernels.program.components import scheduled
from dalembert.kernels.program.segments import Part
from dalembert.tracing.program import LEAVES, Program

SHORT = 300  # instructions of a program whose module is not worth a thread of its own
_ONE = (("ptr", "in"), ("ptr", "out"))


def loops(program: Program, v: Vector, target: Target) -> list[Callable[[], str]]:
    """What writes the assembly of both functions, and of the parts: apart, unless they are short."""
    plan = Plan(program, scheduled(program), v, arguments(program))
    parts = _parts(plan)
    if _is_short(plan):
        return [lambda: f"{parts[0]()}\n{_both(plan, target)}"]
    parameters = ", ".join(["ptr"] * (3 + len(plan.outputs) + bool(moves(plan))))
    declared = [f"declare void @part_{i}({parameters}) nounwind" for i in range(len(parts))]
    return [lambda: "\n".join([*declared, _both(plan, target)]), *parts]


def _is_short(plan: Plan) -> bool:
    """Whether everything is one module."""
    return len(plan.parts) == 1 and len(plan.program) < SHORT


def _both(plan: Plan, target: Target) -> str:
    program, v = plan.program, plan.v
    shapes = ({port.shape for port in ports} for ports in (program.inputs, program.outputs))
    deep = is_deep(plan.need, target)
    return "\n".join(
        [
            nothing(plan),
            declarations_of([plan.block]),
            layout.functions(v, *shapes),
            calls.functions(plan.schedule, v, len(plan.outputs)),
            quiet(target),
            range_of_states(plan, deep),
            threads.workers(program, v, target),
            entry(v, program),
            _one(plan, deep),
            _guards(plan.need) if deep else "",
        ]
    )


def _guards(need: int) -> str:
    """`range` and `dalembert_one` around the functions that take so much stack."""
    both = [guarded("range", RANGE, need, "internal "), guarded("dalembert_one", _ONE, need)]
    return "\n".join([checks(), *both])


def _parts(plan: Plan) -> list[Callable[[], str]]:
    """What writes the functions of all parts; each asks for its share of the lines written next."""
    lines = plan.lines
    work = [sum(op not in LEAVES for op in part.program.op.tolist()) for part in plan.parts]
    total, done = max(1, sum(work)), 0
    texts: list[Callable[[], str]] = []
    linkage = "internal " if _is_short(plan) else ""
    for i, part in enumerate(plan.parts):
        share = lines[len(lines) * done // total : len(lines) * (done + work[i]) // total]
        done += work[i]
        asked = Asked(share, len(plan.outputs), moves(plan))
        texts.append(partial(_part, i, part, plan.v, asked, linkage))
    return texts


def _part(number: int, part: Part, v: Vector, asked: Asked, linkage: str) -> str:
    text = function(f"part_{number}", part.program, v, part.places, asked, linkage)
    return f"{declarations(part.program, v)}\n{text}"


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
            compute_alone(t, plan)
        own = argument.index if argument.is_input else argument.index - inputs
        arrays = "%in" if argument.is_input else "%out"
        base = t.let(f"load ptr, ptr {t.at(arrays, 8 * own)}")
        t.each(argument.port.size, partial(move, argument, base), UNROLLED)
    t.do("call void @restore_flags(i32 %flags)")
    plan.finish(t)
    name = "internal void @dalembert_one_here" if deep else "void @dalembert_one"
    return t.function(f"{name}(ptr %in, ptr %out) noinline #0")
