"""Frames of their own for the groups of a program: inputs copied in, parts run, results copied out.

    void group_i(ptr frame, ptr reads, ptr writes, ptr local)

`reads` and `writes` say which vectors of the program's frame the vectors of the local one are, so that
groups which differ in nothing else share one function.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from dalembert.kernels.llvm.text import Text, Vector
from dalembert.kernels.program.components import Schedule
from dalembert.kernels.program.segments import StackFrame


def functions(schedule: Schedule, v: Vector, ports: int) -> str:
    """All group functions with the tables of their calls; nothing where no group is called."""
    texts = ["declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"] if schedule.zeroed else []
    first = 0
    for i, frame in enumerate(schedule.frames if schedule.calls else ()):
        call = next(call for call in schedule.calls if call.part == i)
        sizes = len(call.reads), len(call.writes)
        texts.append(_group(i, frame, first, sizes, v, ports))
        first += len(frame.parts)
    for c, call in enumerate(schedule.calls):
        texts += [_table(f"reads_{c}", call.reads), _table(f"writes_{c}", call.writes)]
    return "\n".join(texts)


def compute(t: Text, schedule: Schedule, v: Vector) -> None:
    """All groups, one after the other, on the `%frame`, behind which the local ones lie."""
    local = t.at("%frame", schedule.slots * v.width * v.size)
    for c, call in enumerate(schedule.calls):
        tables = f"ptr @reads_{c}, ptr @writes_{c}"
        t.do(f"call void @group_{call.part}(ptr %frame, {tables}, ptr {local})")


def clear(t: Text, v: Vector, first: int, count: int) -> None:
    """Set vectors of the `%frame` to zero."""
    vector = v.width * v.size
    place = t.at("%frame", first * vector)
    t.do(
        f"call void @llvm.memset.p0.i64(ptr align 64 {place}, i8 0, i64 {count * vector}, i1 false)"
    )


def _table(name: str, slots: Sequence[int]) -> str:
    listed = ", ".join(f"i64 {slot}" for slot in slots)
    return f"@{name} = internal constant [{len(slots)} x i64] [{listed}]"


def _group(
    i: int, frame: StackFrame, first: int, sizes: tuple[int, int], v: Vector, ports: int
) -> str:
    """One group, whose parts are numbered from `first`; `sizes` count its inputs and results."""
    t = Text()

    def copy(index: str, table: str, start: int, out: bool) -> None:
        slot = t.let(f"load i64, ptr {t.let(f'getelementptr i64, ptr {table}, i64 {index}')}")
        outer = t.let(f"getelementptr {v.type}, ptr %frame, i64 {slot}")
        here = t.at("%local", start * v.width * v.size)
        inner = t.let(f"getelementptr {v.type}, ptr {here}, i64 {index}")
        source, target = (inner, outer) if out else (outer, inner)
        t.do(f"store {v.type} {t.let(f'load {v.type}, ptr {source}')}, ptr {target}")

    reads, writes = sizes
    if reads:
        t.loop(reads, partial(copy, table="%reads", start=0, out=False))
    parameters = ", ".join(["ptr %local", "ptr %local", "ptr @nothing", *["ptr %local"] * ports])
    for k in range(first, first + len(frame.parts)):
        t.do(f"call void @part_{k}({parameters})")
    t.loop(writes, partial(copy, table="%writes", start=reads, out=True))
    t.do("ret void")
    arguments = "ptr noalias %frame, ptr noalias %reads, ptr noalias %writes, ptr noalias %local"
    return t.function(f"internal void @group_{i}({arguments}) noinline #0")
