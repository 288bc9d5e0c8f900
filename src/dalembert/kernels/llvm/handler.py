"""The loop behind XLA's foreign function interface, which is what JAX calls on a CPU.

    XLA_FFI_Error *dalembert_xla(XLA_FFI_CallFrame *frame)

The longest group of axes is the loop, the others are walked around it. Layouts are those of
xla/ffi/api/c_api.h, version 0.1, which every later runtime accepts. Nothing here is Python's: the
handler may run in any thread.
"""

from collections.abc import Sequence

from dalembert.kernels.llvm.target import Target
from dalembert.kernels.llvm.walk import SYMBOL, Walk, entry
from dalembert.tracing.program import Port

__all__ = ["KNOWN", "SYMBOL", "handler"]

KNOWN = ("dalembert_loop", "dalembert_settings")  # addresses that it is linked with
_DECLARED = """
declare void @dalembert_loop(ptr, ptr, ptr, ptr)
@dalembert_settings = external global i8
"""

# XLA computes with denormal numbers set to zero in its threads; results are to be those of NumPy
_X86_MODE = """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
define internal i32 @plain_mode() #0 {
  %slot = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %slot)
  %mode = load i32, ptr %slot
  store i32 8064, ptr %slot
  call void @llvm.x86.sse.ldmxcsr(ptr %slot)
  ret i32 %mode
}
define internal void @restore_mode(i32 %mode) #0 {
  %slot = alloca i32
  store i32 %mode, ptr %slot
  call void @llvm.x86.sse.ldmxcsr(ptr %slot)
  ret void
}
"""
_ARM_MODE = """
declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)
define internal i32 @plain_mode() #0 {
  %whole = call i64 @llvm.aarch64.get.fpcr()
  call void @llvm.aarch64.set.fpcr(i64 0)
  %mode = trunc i64 %whole to i32
  ret i32 %mode
}
define internal void @restore_mode(i32 %mode) #0 {
  %whole = zext i32 %mode to i64
  call void @llvm.aarch64.set.fpcr(i64 %whole)
  ret void
}
"""


def handler(inputs: Sequence[Port], outputs: Sequence[Port], size: int, target: Target) -> str:
    """Assembly of the handler for arrays of these shapes, of numbers of `size` bytes."""
    mode = _X86_MODE if target.is_x86 else _ARM_MODE
    return "\n".join([_DECLARED, entry(0), mode, _Loop(inputs, outputs, size).text()])


class _Loop(Walk):
    """Calls the compiled loop over the longest group."""

    def _open(self) -> None:
        self.mode = self.t.let("call i32 @plain_mode()")

    def _inner(self) -> str:
        t = self.t
        self.longest = t.let("load i64, ptr %longest")
        for a in range(self.count):
            stride = t.let(f"load i64, ptr {self._stride(self.longest, a)}")
            t.do(f"store i64 {stride}, ptr {t.at('%steps', 8 * a)}")
        self.size_at = self._entry("%sizes", self.longest)
        return t.let(f"load i64, ptr {self.size_at}")

    def _inside(self, group: str) -> str:
        return self.t.let(f"icmp eq i64 {group}, {self.longest}")

    def _call(self) -> None:
        given = f"ptr %args, ptr {self.size_at}, ptr %steps, ptr @dalembert_settings"
        self.t.do(f"call void @dalembert_loop({given})")

    def _close(self) -> str:
        self.t.do(f"call void @restore_mode(i32 {self.mode})")
        return "null"
