"""A CUDA kernel behind XLA's foreign function interface, which is what JAX calls for a GPU.

    XLA_FFI_Error *dalembert_xla(XLA_FFI_CallFrame *frame)

The kernel (kernels/cuda/spread.py) is launched on XLA's stream, once for the whole batch; only where
more than three groups of axes go on in steps of their own, once for each place of the outer ones. It
does nothing else, so that XLA may record it in a CUDA graph.
"""

from collections.abc import Sequence
from functools import partial

from dalembert.kernels.llvm.walk import SYMBOL, Walk, entry
from dalembert.tracing.program import Port

__all__ = ["KNOWN", "SYMBOL", "launcher"]

KNOWN = ("dalembert_launch", "dalembert_kernel")  # cuLaunchKernel, and the kernel's handle
_CAPTURED = 1  # the trait XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE
_INTERNAL = 13  # XLA_FFI_Error_Code_INTERNAL
_WORDS = "dalembert: cuLaunchKernel failed with CUDA error "
_AXES, _LANES = 3, 32

# Call frame: 16 the interface, 24 the context. Interface: 48 XLA_FFI_Error_Create, 80
# XLA_FFI_Stream_Get; both take one structure that begins with its size and no extensions: then 16 the
# context, 24 the stream (returned), or 16 the message, 24 the code.
_DECLARED = """
declare i32 @dalembert_launch(ptr, i32, i32, i32, i32, i32, i32, i32, ptr, ptr, ptr)
@dalembert_kernel = external global i8
@words = private constant [{size} x i8] c"{words}000\\00"
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""


def launcher(
    inputs: Sequence[Port], outputs: Sequence[Port], size: int, threads: int, small: int
) -> str:
    """Assembly of the handler; batches of up to `small` states are launched in blocks of one warp."""
    walk = _Launch(inputs, outputs, size)
    walk.threads, walk.small = threads, small
    declared = _DECLARED.format(words=_WORDS, size=len(_WORDS) + 4)
    return "\n".join([declared, entry(_CAPTURED), walk.text()])


class _Launch(Walk):
    """Launches the kernel over the three innermost groups."""

    spare = _AXES
    threads: int
    small: int

    def _open(self) -> None:
        """XLA's stream; without one its own error goes back."""
        t = self.t
        self.api = t.let(f"load ptr, ptr {t.at('%frame', 16)}")
        context = t.let(f"load ptr, ptr {t.at('%frame', 24)}")
        t.do("%asked = alloca [4 x i64]")
        error = self._ask(80, context, "i64 0")
        none = t.let(f"icmp eq ptr {error}, null")
        t.when(t.let(f"xor i1 {none}, true"), lambda: self._leave(error))
        self.stream = t.let(f"load ptr, ptr {t.at('%asked', 24)}")
        t.do("%failed = alloca i32")
        t.do("store i32 0, ptr %failed")

    def _leave(self, error: str) -> None:
        t = self.t
        t.do(f"ret ptr {error}")
        t.label(t.fresh("never"))

    def _ask(self, function: int, third: str, fourth: str) -> str:
        """What a function of XLA's interface returns for a structure of four words."""
        t = self.t
        for at, value in ((0, "i64 32"), (8, "ptr null"), (16, f"ptr {third}"), (24, fourth)):
            t.do(f"store {value}, ptr {t.at('%asked', at)}")
        called = t.let(f"load ptr, ptr {t.at(self.api, function)}")
        return t.let(f"call ptr {called}(ptr %asked)")

    def _inner(self) -> str:
        """The arguments that every launch has: how many states, and the steps of the inputs."""
        t, ports = self.t, self.count
        words = ports + _AXES + _AXES * self.inputs
        for name in ("words", "places"):
            t.do(f"%{name} = alloca [{words} x i64]")
        for k in range(words):
            t.do(f"store ptr {t.at('%words', 8 * k)}, ptr {t.at('%places', 8 * k)}")
        sizes = [t.let(f"load i64, ptr {t.at('%sizes', 8 * k)}") for k in range(_AXES)]
        states = t.let(f"mul i64 {t.let(f'mul i64 {sizes[0]}, {sizes[1]}')}, {sizes[2]}")
        values = [states, *sizes[:-1]]
        for a in range(self.inputs):
            for group in range(_AXES):
                stride = t.let(f"load i64, ptr {self._stride(group, a)}")
                values.append(t.let(f"sdiv i64 {stride}, {self.size}"))
        for k, value in enumerate(values):
            t.do(f"store i64 {value}, ptr {t.at('%words', 8 * (ports + k))}")
        few = t.let(f"icmp sle i64 {states}, {self.small}")
        self.block = t.let(f"select i1 {few}, i64 {_LANES}, i64 {self.threads}")
        last = t.let(f"add i64 {states}, {t.let(f'sub i64 {self.block}, 1')}")
        self.blocks = t.let(f"trunc i64 {t.let(f'sdiv i64 {last}, {self.block}')} to i32")
        self.block = t.let(f"trunc i64 {self.block} to i32")
        return states

    def _inside(self, group: str) -> str:
        return self.t.let(f"icmp ult i64 {group}, {_AXES}")

    def _call(self) -> None:
        t = self.t
        for a in range(self.count):
            at = t.let(f"load ptr, ptr {t.at('%args', 8 * a)}")
            t.do(f"store ptr {at}, ptr {t.at('%words', 8 * a)}")
        grid = f"i32 {self.blocks}, i32 1, i32 1, i32 {self.block}, i32 1, i32 1, i32 0"
        given = f"ptr @dalembert_kernel, {grid}, ptr {self.stream}, ptr %places, ptr null"
        code = t.let(f"call i32 @dalembert_launch({given})")
        t.when(t.let(f"icmp ne i32 {code}, 0"), lambda: t.do(f"store i32 {code}, ptr %failed"))

    def _close(self) -> str:
        t = self.t
        t.do("%error = alloca ptr")
        t.do("store ptr null, ptr %error")
        code = t.let("load i32, ptr %failed")
        t.when(t.let(f"icmp ne i32 {code}, 0"), partial(self._refused, code))
        return t.let("load ptr, ptr %error")

    def _refused(self, code: str) -> None:
        """An error that names the code, its three digits put at the end of the words."""
        t, length = self.t, len(_WORDS)
        t.do(f"%said = alloca [{length + 4} x i8]")
        t.do(f"call void @llvm.memcpy.p0.p0.i64(ptr %said, ptr @words, i64 {length + 4}, i1 0)")
        for k, power in enumerate((100, 10, 1)):
            digit = t.let(f"urem i32 {t.let(f'udiv i32 {code}, {power}')}, 10")
            letter = t.let(f"trunc i32 {t.let(f'add i32 {digit}, 48')} to i8")
            t.do(f"store i8 {letter}, ptr {t.at('%said', length + k)}")
        made = self._ask(48, "%said", f"i64 {_INTERNAL}")
        t.do(f"store ptr {made}, ptr %error")
