"""Code that needs much memory for a moment, called from threads whose stacks are small.

What a function sets aside beyond two pages comes from the heap. Registers that do not suffice are
spilled by the compiler, and always to the stack: as many vectors as values are alive at once, which
for long programs is tens of kilobytes. Such functions look first how much is left, and where it is
not enough they run on a thread of their own, made for the occasion.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np

from dalembert.kernels.llvm.target import Target
from dalembert.kernels.llvm.text import Text, Vector
from dalembert.tracing.program import LEAVES, Program

MOST_ON_STACK = 8 * 1024  # bytes that a function sets aside on the stack
DEEP = 24 * 1024  # bytes of stack that are asked for before they are used
KEY = (
    "dalembert_stack_key"  # of the thread-specific value that holds the low end of a thread's stack
)
_SPARE = 64 * 1024  # for what is called from there
_HEAP = """declare noalias ptr @malloc(i64) nounwind
declare void @free(ptr) nounwind
declare void @llvm.trap() noreturn nounwind"""

# POSIX, and the extension of glibc and musl. pthread_attr_t is 64 bytes at most.
_LEFT = f"""@{KEY} = external global i32
declare ptr @pthread_getspecific(i32) nounwind
declare i32 @pthread_setspecific(i32, ptr) nounwind
declare i64 @pthread_self() nounwind
declare i32 @pthread_getattr_np(i64, ptr) nounwind
declare i32 @pthread_attr_getstack(ptr, ptr, ptr) nounwind
declare i32 @pthread_attr_init(ptr) nounwind
declare i32 @pthread_attr_setstacksize(ptr, i64) nounwind
declare i32 @pthread_attr_destroy(ptr) nounwind

define internal ptr @find_stack(i32 %key) noinline cold #0 {{
entry:
  %attributes = alloca [256 x i8], align 16
  %low_at = alloca ptr
  %size_at = alloca i64
  %self = call i64 @pthread_self()
  %failed = call i32 @pthread_getattr_np(i64 %self, ptr %attributes)
  %known = icmp eq i32 %failed, 0
  br i1 %known, label %read, label %unknown
read:
  %1 = call i32 @pthread_attr_getstack(ptr %attributes, ptr %low_at, ptr %size_at)
  %2 = call i32 @pthread_attr_destroy(ptr %attributes)
  %low = load ptr, ptr %low_at
  %3 = call i32 @pthread_setspecific(i32 %key, ptr %low)
  ret ptr %low
unknown:
  ret ptr null
}}
define internal i64 @stack_left() noinline #0 {{
entry:
  %here = alloca i8
  %key = load i32, ptr @{KEY}
  %cached = call ptr @pthread_getspecific(i32 %key)
  %is_new = icmp eq ptr %cached, null
  br i1 %is_new, label %find, label %known
find:
  %found = call ptr @find_stack(i32 %key)
  br label %known
known:
  %low = phi ptr [ %cached, %entry ], [ %found, %find ]
  %top = ptrtoint ptr %here to i64
  %bottom = ptrtoint ptr %low to i64
  %left = sub i64 %top, %bottom
  ret i64 %left
}}"""


def spilled(program: Program, v: Vector) -> int:
    """Bytes of registers that must wait in memory: the most operations whose values are alive."""
    op, operands = program.op.tolist(), (program.a.tolist(), program.b.tolist())
    last: dict[int, int] = {}
    for k, code in enumerate(op):
        if code not in LEAVES:
            last |= {column[k]: k for column in operands if column[k] >= 0}
    change = np.zeros(len(op) + 1, dtype=int)
    for k, end in last.items():
        if op[k] not in LEAVES:
            change[k] += 1
            change[end] -= 1
    return int(np.cumsum(change).max()) * v.width * v.size


class Block:
    """Memory of one function, aligned to cache lines: on the stack if it is small."""

    def __init__(self, name: str, size: int) -> None:
        self.name, self.size = name, size
        self.on_heap = size > MOST_ON_STACK

    def allocate(self, t: Text) -> None:
        """Name it."""
        if not self.on_heap:
            t.do(f"{self.name} = alloca [{self.size} x i8], align 64")
            return
        block = f"{self.name}_block"
        t.do(f"{block} = call ptr @malloc(i64 {self.size + 64})")
        none = t.let(f"icmp eq ptr {block}, null")
        t.when(none, lambda: t.do("call void @llvm.trap()"))
        address = t.let(f"ptrtoint ptr {block} to i64")
        up = t.let(f"add i64 {address}, 63")
        t.do(f"{self.name} = inttoptr i64 {t.let(f'and i64 {up}, -64')} to ptr")

    def release(self, t: Text) -> None:
        """Before the function returns."""
        if self.on_heap:
            t.do(f"call void @free(ptr {self.name}_block)")


def declarations(blocks: Sequence[Block]) -> str:
    """What these blocks call."""
    return _HEAP if any(block.on_heap for block in blocks) else ""


def is_deep(need: int, target: Target) -> bool:
    """Whether a function that takes so many bytes of stack asks for them first."""
    return need > DEEP and "linux" in target.triple


def checks() -> str:
    """What `guarded` calls, once in a module, beside the `DECLARATIONS` of threads."""
    return _LEFT


def guarded(name: str, parameters: Sequence[tuple[str, str]], need: int, linkage: str = "") -> str:
    """`void name(…)`, which calls `name_here(…)` where `need` bytes of stack are left for it.

    Where no thread can be started either, it is tried all the same.
    """
    t = Text()
    listed = ", ".join(f"{kind} %{key}" for kind, key in parameters)
    struct = "{ " + ", ".join(kind for kind, _ in parameters) + " }"
    t.do(f"%packed = alloca {struct}")
    t.do("%attributes = alloca [256 x i8], align 16")
    t.do("%id = alloca i64")
    left = t.let("call i64 @stack_left()")
    enough = t.let(f"icmp ugt i64 {left}, {need}")
    t.do(f"br i1 {enough}, label %here, label %away, !prof !2")
    t.label("away")
    for i, (kind, key) in enumerate(parameters):
        place = t.let(f"getelementptr {struct}, ptr %packed, i32 0, i32 {i}")
        t.do(f"store {kind} %{key}, ptr {place}")
    t.do("%made = call i32 @pthread_attr_init(ptr %attributes)")
    size = ceil((need + _SPARE) / 65536) * 65536
    t.do(f"%set = call i32 @pthread_attr_setstacksize(ptr %attributes, i64 {size})")
    t.do(
        "%failed = call i32 @pthread_create(ptr %id, ptr %attributes, "
        f"ptr @{name}_away, ptr %packed)"
    )
    t.do("%gone = call i32 @pthread_attr_destroy(ptr %attributes)")
    t.do(f"br i1 {t.let('icmp eq i32 %failed, 0')}, label %wait, label %here")
    t.label("wait")
    t.do("%thread = load i64, ptr %id")
    t.do("%joined = call i32 @pthread_join(i64 %thread, ptr null)")
    t.do("ret void")
    t.label("here")
    t.do(f"call void @{name}_here({listed})")
    t.do("ret void")
    return _unpacking(name, parameters, struct) + t.function(
        f"{linkage}void @{name}({listed}) noinline #0"
    )


def _unpacking(name: str, parameters: Sequence[tuple[str, str]], struct: str) -> str:
    """The function of the other thread."""
    t = Text()
    values = []
    for i, (kind, _) in enumerate(parameters):
        place = t.let(f"getelementptr {struct}, ptr %packed, i32 0, i32 {i}")
        values.append(f"{kind} {t.let(f'load {kind}, ptr {place}')}")
    t.do(f"call void @{name}_here({', '.join(values)})")
    t.do("ret ptr null")
    return t.function(f"internal ptr @{name}_away(ptr %packed) #0")
