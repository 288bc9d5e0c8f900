"""Threads over big batches, as LLVM assembly on POSIX threads, or on those of Windows.

A job is (next state, args, steps, count). All workers share it and take pieces of the batch from
its atomic counter; the calling thread works too. Threads live only during the call, so that forking
is safe, and where none can be started the caller does everything. Starting one takes a while, in which
those that run already work: no more are started than there are pieces, nor when all are taken.
"""

import numpy as np

from dalembert.kernels.llvm import libm
from dalembert.kernels.llvm.target import Target
from dalembert.kernels.llvm.text import Vector
from dalembert.tracing.program import LEAVES, Op, Program

_WORTHWHILE_NS = 200_000  # work below this is not worth starting threads
_PIECE_NS = 20_000  # work one thread takes at a time: as long as all may wait for the last one
_MAX_THREADS = 256
DECLARATIONS = """declare i32 @pthread_create(ptr, ptr, ptr, ptr) nounwind
declare i32 @pthread_join(i64, ptr) nounwind"""
# the same two where they are not: a thread is known by its handle, and starts with the same registers
_ON_WINDOWS = """declare ptr @CreateThread(ptr, i64, ptr, ptr, i32, ptr) nounwind
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


def worthwhile(program: Program, v: Vector) -> int:
    """How many states are worth more than one thread."""
    return max(1, int(_WORTHWHILE_NS / cost_ns(program, v)))


def cost_ns(program: Program, v: Vector) -> float:
    """A rough price of one state, good to a factor of two: 0.3 ns per vector instruction."""
    price = {Op.SIN: 15.0, Op.COS: 15.0, Op.DIV: 16.0, Op.SQRT: 20.0}
    price |= dict.fromkeys(libm.NAMES, 50.0 * v.width)
    price |= dict.fromkeys(LEAVES, 1.0)
    times = np.bincount(program.op)
    total = sum(int(n) * price.get(Op(op), 1.0) for op, n in enumerate(times) if n)
    return 0.3 * (total + 10.0) / v.width


def workers(program: Program, v: Vector, target: Target) -> str:
    """`in_parallel(args, steps, count, threads)`, around the `range` of the loop."""
    piece = max(1, int(_PIECE_NS / cost_ns(program, v)) // 64) * 64
    return f"""%job = type {{ i64, ptr, ptr, i64 }}
{_ON_WINDOWS if target.is_windows else DECLARATIONS}

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
