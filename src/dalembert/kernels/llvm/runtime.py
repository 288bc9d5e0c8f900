"""Memory, stack and threads of compiled functions, as LLVM assembly.

Memory beyond two pages comes from the heap. Values that do not fit the registers are spilled by the
compiler, always to the stack: as many vectors as values are alive at once, which for long programs is
tens of kilobytes. Such functions first look how much stack is left; where it is not enough, they run
on a new thread with a larger one.

Threads over big batches are POSIX threads, or those of Windows. A job is (next state, args, steps,
count). All workers share it and take pieces of the batch from its atomic counter; the calling thread
works too. Threads live only during the call, so that forking is safe, and where none can be started
the caller does everything. Starting one takes a while, in which those that run already work: no more
are started than there are pieces, nor when all pieces are taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np

from dalembert.kernels.llvm.ir import IRWriter, Vector
from dalembert.kernels.llvm.load import STACK_KEY
from dalembert.kernels.llvm.mathematics import LIBM_NAMES
from dalembert.kernels.llvm.target import Target
from dalembert.tracing.program import LEAVES, Op, Program

MAX_ON_STACK = 8 * 1024  # bytes that a function sets aside on the stack
DEEP = 24 * 1024  # bytes of stack that are asked for before they are used
_SPARE = 64 * 1024  # for what is called from there
_HEAP = """declare noalias ptr @malloc(i64) nounwind
declare void @free(ptr) nounwind
declare void @llvm.trap() noreturn nounwind"""

# called by `guarded_function`; once in a module, beside THREAD_DECLARATIONS.
# POSIX, and the extension of glibc and musl. pthread_attr_t is 64 bytes at most.
STACK_CHECKS = f"""@{STACK_KEY} = external global i32
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
  %key = load i32, ptr @{STACK_KEY}
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


def spilled_bytes(program: Program, v: Vector) -> int:
    """Bytes of vectors that are spilled: the largest number of operations alive at once."""
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
        self.on_heap = size > MAX_ON_STACK

    def allocate(self, t: IRWriter) -> None:
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

    def release(self, t: IRWriter) -> None:
        """Before the function returns."""
        if self.on_heap:
            t.do(f"call void @free(ptr {self.name}_block)")


def heap_declarations(blocks: Sequence[Block]) -> str:
    """Declarations of the functions that these blocks call."""
    return _HEAP if any(block.on_heap for block in blocks) else ""


def is_deep(need: int, target: Target) -> bool:
    """Whether a function that takes so many bytes of stack checks the stack first."""
    return need > DEEP and "linux" in target.triple


def guarded_function(
    name: str, parameters: Sequence[tuple[str, str]], need: int, linkage: str = ""
) -> str:
    """`void name(…)`, which calls `name_here(…)` where `need` bytes of stack are left for it.

    Where no thread can be started either, it is tried all the same.
    """
    t = IRWriter()
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
        field = t.let(f"getelementptr {struct}, ptr %packed, i32 0, i32 {i}")
        t.do(f"store {kind} %{key}, ptr {field}")
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
    return _thread_function(name, parameters, struct) + t.function(
        f"{linkage}void @{name}({listed}) noinline #0"
    )


def _thread_function(name: str, parameters: Sequence[tuple[str, str]], struct: str) -> str:
    """The function of the other thread."""
    t = IRWriter()
    values = []
    for i, (kind, _) in enumerate(parameters):
        field = t.let(f"getelementptr {struct}, ptr %packed, i32 0, i32 {i}")
        values.append(f"{kind} {t.let(f'load {kind}, ptr {field}')}")
    t.do(f"call void @{name}_here({', '.join(values)})")
    t.do("ret ptr null")
    return t.function(f"internal ptr @{name}_away(ptr %packed) #0")


MIN_PARALLEL_NS = 200_000  # work below this is not worth starting threads
_PIECE_NS = 20_000  # work one thread takes at a time: as long as all may wait for the last one
_MAX_THREADS = 256
THREAD_DECLARATIONS = """declare i32 @pthread_create(ptr, ptr, ptr, ptr) nounwind
declare i32 @pthread_join(i64, ptr) nounwind"""
# the same two where they are not: a thread is known by its handle, and starts with the same registers
_WINDOWS_THREADS = """declare ptr @CreateThread(ptr, i64, ptr, ptr, i32, ptr) nounwind
declare i32 @WaitForSingleObject(ptr, i32) nounwind
declare i32 @CloseHandle(ptr) nounwind
define internal i32 @pthread_create(ptr %id, ptr %attributes, ptr %start, ptr %argument) #0 {
  %handle = call ptr @CreateThread(ptr null, i64 0, ptr %start, ptr %argument, i32 0, ptr null)
  store ptr %handle, ptr %id
  %failed = icmp eq ptr %handle, null
  %code = zext i1 %failed to i32
  ret i32 %code
}
define internal i32 @pthread_join(i64 %id, ptr %result) #0 {
  %handle = inttoptr i64 %id to ptr
  %waited = call i32 @WaitForSingleObject(ptr %handle, i32 -1)
  %closed = call i32 @CloseHandle(ptr %handle)
  ret i32 0
}"""


def cost_ns(program: Program, v: Vector) -> float:
    """A rough price of one state, good to a factor of two: 0.3 ns per vector instruction."""
    price = {Op.SIN: 15.0, Op.COS: 15.0, Op.DIV: 16.0, Op.SQRT: 20.0}
    price |= dict.fromkeys(LIBM_NAMES, 50.0 * v.width)
    price |= dict.fromkeys(LEAVES, 1.0)
    times = np.bincount(program.op)
    total = sum(int(n) * price.get(Op(op), 1.0) for op, n in enumerate(times) if n)
    return 0.3 * (total + 10.0) / v.width


def worker_functions(program: Program, v: Vector, target: Target) -> str:
    """`in_parallel(args, steps, count, threads)`, around the `range` of the loop."""
    piece = max(1, int(_PIECE_NS / cost_ns(program, v)) // 64) * 64
    return f"""%job = type {{ i64, ptr, ptr, i64 }}
{_WINDOWS_THREADS if target.is_windows else THREAD_DECLARATIONS}

define internal ptr @worker(ptr %job) #0 {{
entry:
  %args_at = getelementptr %job, ptr %job, i64 0, i32 1
  %steps_at = getelementptr %job, ptr %job, i64 0, i32 2
  %count_at = getelementptr %job, ptr %job, i64 0, i32 3
  %args = load ptr, ptr %args_at
  %steps = load ptr, ptr %steps_at
  %count = load i64, ptr %count_at
  br label %take
take:
  %start = atomicrmw add ptr %job, i64 {piece} monotonic
  %more = icmp slt i64 %start, %count
  br i1 %more, label %compute, label %done
compute:
  %beyond = add i64 %start, {piece}
  %stop = call i64 @llvm.smin.i64(i64 %beyond, i64 %count)
  call void @range(ptr %args, ptr %steps, i64 %start, i64 %stop)
  br label %take
done:
  ret ptr null
}}
declare i64 @llvm.smin.i64(i64, i64)
declare i32 @llvm.smin.i32(i32, i32)

define internal void @in_parallel(ptr %args, ptr %steps, i64 %count, i32 %threads) #0 {{
entry:
  %job = alloca %job, align 64
  %ids = alloca [{_MAX_THREADS} x i64]
  %args_at = getelementptr %job, ptr %job, i64 0, i32 1
  %steps_at = getelementptr %job, ptr %job, i64 0, i32 2
  %count_at = getelementptr %job, ptr %job, i64 0, i32 3
  store i64 0, ptr %job
  store ptr %args, ptr %args_at
  store ptr %steps, ptr %steps_at
  store i64 %count, ptr %count_at
  %allowed = call i32 @llvm.smin.i32(i32 %threads, i32 {_MAX_THREADS})
  %others = sub i32 %allowed, 1
  %many = sext i32 %others to i64
  %last = sub i64 %count, 1
  %pieces = sdiv i64 %last, {piece}
  %wanted = call i64 @llvm.smin.i64(i64 %many, i64 %pieces)
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %next, %started ]
  %taken = load atomic i64, ptr %job monotonic, align 8
  %left = icmp slt i64 %taken, %count
  %few = icmp slt i64 %i, %wanted
  %again = and i1 %left, %few
  br i1 %again, label %start, label %work
start:
  %id = getelementptr i64, ptr %ids, i64 %i
  %failed = call i32 @pthread_create(ptr %id, ptr null, ptr @worker, ptr %job)
  %ok = icmp eq i32 %failed, 0
  br i1 %ok, label %started, label %work
started:
  %next = add i64 %i, 1
  br label %look
work:
  %running = phi i64 [ %i, %look ], [ %i, %start ]
  %unused = call ptr @worker(ptr %job)
  br label %wait
wait:
  %j = phi i64 [ 0, %work ], [ %after, %joined ]
  %waiting = icmp slt i64 %j, %running
  br i1 %waiting, label %joined, label %done
joined:
  %id_at = getelementptr i64, ptr %ids, i64 %j
  %thread = load i64, ptr %id_at
  %status = call i32 @pthread_join(i64 %thread, ptr null)
  %after = add i64 %j, 1
  br label %wait
done:
  ret void
}}"""
