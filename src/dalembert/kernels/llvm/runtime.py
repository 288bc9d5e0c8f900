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

from dalembert.kernels.llvm.ir import IRWriter, Vector, assembly_file
from dalembert.kernels.llvm.mathematics import LIBM_NAMES
from dalembert.kernels.llvm.target import Target
from dalembert.kernels.program.partition import alive_counts
from dalembert.tracing.program import LEAVES, Op, Program

MAX_ON_STACK = 8 * 1024  # bytes that a function sets aside on the stack
DEEP = 24 * 1024  # bytes of stack that are asked for before they are used
_SPARE = 64 * 1024  # for what is called from there
_HEAP = """declare noalias ptr @malloc(i64) nounwind
declare void @free(ptr) nounwind
declare void @llvm.trap() noreturn nounwind"""


def spilled_bytes(program: Program, v: Vector) -> int:
    """Bytes of vectors that are spilled: the largest number of operations alive at once."""
    operations = np.flatnonzero(~np.isin(program.op, list(LEAVES)))
    return max(alive_counts(program.rows, operations.tolist())) * v.width * v.size


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
        with t.when(t.op("icmp eq", block, "null", "ptr")):
            t.do("call void @llvm.trap()")
        up = t.op("add", t.let(f"ptrtoint ptr {block} to i64"), 63)
        t.do(f"{self.name} = inttoptr i64 {t.op('and', up, -64)} to ptr")

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
    listed = ", ".join(f"{kind} %{key}" for kind, key in parameters)
    struct = "{ " + ", ".join(kind for kind, _ in parameters) + " }"
    # `name_away` is the function of the other thread
    t, values = IRWriter(), []
    for i, (kind, _) in enumerate(parameters):
        field = t.let(f"getelementptr {struct}, ptr %packed, i32 0, i32 {i}")
        values.append(f"{kind} {t.load(kind, field)}")
    t.do(f"call void @{name}_here({', '.join(values)})")
    t.do("ret ptr null")
    away = t.function(f"internal ptr @{name}_away(ptr %packed) #0")
    t = IRWriter()
    t.do(f"%packed = alloca {struct}")
    t.do("%attributes = alloca [256 x i8], align 16")
    t.do("%id = alloca i64")
    enough = t.op("icmp ugt", t.let("call i64 @stack_left()"), need)
    t.do(f"br i1 {enough}, label %here, label %away, !prof !2")
    t.label("away")
    for i, (kind, key) in enumerate(parameters):
        field = t.let(f"getelementptr {struct}, ptr %packed, i32 0, i32 {i}")
        t.store(kind, f"%{key}", field)
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
    return away + t.function(f"{linkage}void @{name}({listed}) noinline #0")


MIN_PARALLEL_NS = 200_000  # work below this is not worth starting threads
_PIECE_NS = 20_000  # work one thread takes at a time: as long as all may wait for the last one
_MAX_THREADS = 256
THREAD_DECLARATIONS = """declare i32 @pthread_create(ptr, ptr, ptr, ptr) nounwind
declare i32 @pthread_join(i64, ptr) nounwind"""


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
    # a thread of Windows is known by its handle, and starts with the same registers
    is_windows = "windows" in target.triple
    threads = assembly_file("windows_threads") if is_windows else THREAD_DECLARATIONS
    return assembly_file("workers", THREADS=threads, PIECE=piece, MAX_THREADS=_MAX_THREADS)
