"""Where NumPy comes in: `dalembert_loop` around the states, and the flags it leaves as they were."""

from dalembert.kernels.llvm import threads
from dalembert.kernels.llvm.target import Target
from dalembert.kernels.llvm.text import Vector
from dalembert.tracing.program import Program


def quiet(target: Target) -> str:
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


def entry(v: Vector, program: Program) -> str:
    """`dalembert_loop`: one thread, or several where the batch is worth it."""
    states = threads.worthwhile(program, v)
    return f"""define void @dalembert_loop(ptr %args, ptr %dimensions, ptr %steps, ptr %data) #0 {{
entry:
  %count = load i64, ptr %dimensions
  %empty = icmp slt i64 %count, 1
  br i1 %empty, label %nothing, label %work
work:
  %flags = call i32 @save_flags()
  %none = icmp eq ptr %data, null
  br i1 %none, label %single, label %ask
ask:
  %threads = load atomic i32, ptr %data monotonic, align 4
  %many = icmp sgt i32 %threads, 1
  %worth = icmp uge i64 %count, {states}
  %split = and i1 %many, %worth
  br i1 %split, label %parallel, label %single
parallel:
  call void @in_parallel(ptr %args, ptr %steps, i64 %count, i32 %threads)
  br label %done
single:
  call void @range(ptr %args, ptr %steps, i64 0, i64 %count)
  br label %done
done:
  call void @restore_flags(i32 %flags)
  ret void
nothing:
  ret void
}}"""
