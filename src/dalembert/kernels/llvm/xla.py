"""Kernels behind XLA's foreign function interface, which is what JAX calls on a CPU and on a GPU.

    XLA_FFI_Error *dalembert_xla(XLA_FFI_CallFrame *frame)

Buffers are row-major, (batch…, *shape). A batch axis of length 1 where the results are longer has
stride zero, so that nothing is copied to broadcast it. Axes over which every array has a uniform
stride are merged into one group. Struct layouts are those of xla/ffi/api/c_api.h, version 0.1, which
every later runtime accepts. Nothing here is Python's: the handler may run in any thread.

On a CPU the longest group is passed to the compiled loop, and the others are iterated around it. On a
GPU the kernel (`cuda.source.broadcast_source`) is launched on XLA's stream, once for the whole batch
unless more than three groups remain. It does nothing else, so that XLA may record it in a CUDA graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from dalembert.kernels.llvm.ir import IRWriter, assembly_file
from dalembert.kernels.llvm.target import Target
from dalembert.tracing.program import Port

SYMBOL = "dalembert_xla"


# call frame: 8 extensions, 32 stage, 72 arguments, 112 results; buffer: 24 data, 32 rank, 40 extents.
# Metadata are asked for by an extension of type 1 (8 its type, 24 the reply); in the reply: 24 and 28
# the version, 32 traits. Only the stage of execution (3) is computed.
class BatchWalk:
    """Emits `ptr walk(frame)`: all states of the batch, in as few calls as there are."""

    spare = 1  # groups that there are in any case, one state long if there are no axes for them
    # subclasses write the code for a piece of the batch
    _open: Callable[[], None]  # before anything else
    _inner: Callable[[], str]  # how many states one call is for
    _inside: Callable[[str], str]  # whether a call walks a group itself
    _call: Callable[[], None]  # for the states that begin at %args
    _close: Callable[[], str]  # the error returned to XLA, or null

    def __init__(self, inputs: Sequence[Port], outputs: Sequence[Port], size: int) -> None:
        self.inputs, self.ports, self.size = len(inputs), (*inputs, *outputs), size
        self.count = len(self.ports)
        self.t = IRWriter()

    def text(self) -> str:
        t, count = self.t, self.count
        self._open()
        self._buffers()
        axes = t.op("sub", t.load("i64", t.at(self.last, 32)), len(self.ports[-1].shape))
        groups = t.op("add", axes, self.spare)
        for name, length in (("sizes", groups), ("strides", t.op("mul", groups, count))):
            t.do(f"%{name} = alloca i64, i64 {length}")
        for name in ("group", "longest", "outer", "rest"):
            t.do(f"%{name} = alloca i64")
        for name, value in (("%group", 0), ("%longest", 0), ("%outer", 1)):
            t.store("i64", value, name)
        for group in range(self.spare):
            t.store("i64", "1", t.at("%sizes", 8 * group))
        for k in range(count * self.spare):
            t.store("i64", "0", t.at("%strides", 8 * k))
        with t.when(t.op("icmp sgt", axes, 0)), t.loop(axes) as index:
            self._axis(axes, index)
        groups = t.op("add", t.load("i64", "%group"), 1)
        # the longest group, and how many states there are
        with t.loop(groups) as each:
            size = t.load("i64", t.element("i64", "%sizes", each))
            best = t.load("i64", "%longest")
            most = t.load("i64", t.element("i64", "%sizes", best))
            t.store("i64", t.select(t.op("icmp sgt", size, most), each, best), "%longest")
            t.store("i64", t.op("mul", t.load("i64", "%outer"), size), "%outer")
        # a call for each index of those groups that none walks itself
        inner = self._inner()
        total = t.load("i64", "%outer")
        with t.when(t.op("icmp sgt", total, 0)), t.loop(t.op("udiv", total, inner)) as index:
            self._call_at(groups, index)
        t.do(f"ret ptr {self._close()}")
        return t.function("internal ptr @walk(ptr %frame) noinline #0")

    def _buffers(self) -> None:
        """Start and extents of each array; the strides within one state."""
        t, count = self.t, self.count
        shapes = [port.shape for port in self.ports]
        strides = [self.size * prod(shape[k + 1 :]) for shape in shapes for k in range(len(shape))]
        t.do(f"%steps = alloca [{count + len(strides)} x i64]")
        for name in ("base", "extents", "here", "running", "args"):
            t.do(f"%{name} = alloca [{count} x i64]")
        for k, stride in enumerate(strides):
            t.store("i64", stride, t.at("%steps", 8 * (count + k)))
        arguments, results = (t.load("ptr", t.at("%frame", at)) for at in (72, 112))
        for a, port in enumerate(self.ports):
            address = (
                t.at(arguments, 8 * a) if a < self.inputs else t.at(results, 8 * (a - self.inputs))
            )
            buffer = self.last = t.load("ptr", address)
            for name, at in (("base", 24), ("extents", 40)):
                t.store("ptr", t.load("ptr", t.at(buffer, at)), t.at(f"%{name}", 8 * a))
            t.store("i64", port.size * self.size, t.at("%running", 8 * a))

    def _axis(self, axes: str, index: str) -> None:
        """The next axis of the batch, from the last to the first: joined to a group, or a new one."""
        t = self.t
        axis = t.op("sub", t.op("sub", axes, 1), index)
        extent = ""
        for a in range(self.count):
            extents = t.load("ptr", t.at("%extents", 8 * a))
            extent = t.load("i64", t.element("i64", extents, axis))
            running = t.load("i64", t.at("%running", 8 * a))
            stride = t.select(t.op("icmp eq", extent, 1), 0, running)
            t.store("i64", stride, t.at("%here", 8 * a))
            t.store("i64", t.op("mul", running, extent), t.at("%running", 8 * a))
        # joined to the last group where all arrays go on evenly
        with t.when(t.op("icmp ne", extent, 1)):
            group = t.load("i64", "%group")
            size = t.load("i64", t.element("i64", "%sizes", group))
            old = [t.load("i64", self._stride(group, a)) for a in range(self.count)]
            new = [t.load("i64", t.at("%here", 8 * a)) for a in range(self.count)]
            joined = t.op("icmp ne", size, 1)  # the first group is there before any axis is
            for x, y in zip(old, new, strict=True):
                even = t.op("icmp eq", t.op("mul", x, size), y)
                joined = t.op("and", joined, even, "i1")
            stays = t.op("or", joined, t.op("icmp eq", size, 1), "i1")
            target = t.select(stays, group, t.op("add", group, 1))
            t.store("i64", target, "%group")
            whole = t.select(joined, t.op("mul", size, extent), extent)
            t.store("i64", whole, t.element("i64", "%sizes", target))
            for a, (x, y) in enumerate(zip(old, new, strict=True)):
                t.store("i64", t.select(joined, x, y), self._stride(target, a))

    def _call_at(self, groups: str, index: str) -> None:
        """The call for the states at an index of the groups around it."""
        t = self.t
        t.store("i64", index, "%rest")
        for a in range(self.count):
            t.store("ptr", t.load("ptr", t.at("%base", 8 * a)), t.at("%args", 8 * a))
        with t.loop(groups) as group:
            size = t.load("i64", t.element("i64", "%sizes", group))
            size = t.select(self._inside(group), 1, size)
            rest = t.load("i64", "%rest")
            index = t.op("urem", rest, size)
            t.store("i64", t.op("udiv", rest, size), "%rest")
            for a in range(self.count):
                stride = t.load("i64", self._stride(group, a))
                at = t.load("ptr", t.at("%args", 8 * a))
                t.store("ptr", t.at(at, t.op("mul", index, stride)), t.at("%args", 8 * a))
        self._call()

    def _stride(self, group: str | int, a: int) -> str:
        """Address of the stride of array `a` along a group."""
        first = self.t.op("mul", group, self.count)
        return self.t.element("i64", "%strides", self.t.op("add", first, a))


CPU_SYMBOLS = ("dalembert_loop", "dalembert_settings")  # addresses that it is linked with
_CPU_DECLARATIONS = """
declare void @dalembert_loop(ptr, ptr, ptr, ptr)
@dalembert_settings = external global i8
"""


def cpu_handler(inputs: Sequence[Port], outputs: Sequence[Port], size: int, target: Target) -> str:
    """Assembly of the handler for arrays of these shapes, of numbers of `size` bytes."""
    # XLA computes with denormal numbers set to zero in its threads; results are to be those of NumPy
    mode = assembly_file("xla_cpu_x86" if target.is_x86 else "xla_cpu_arm")
    entry = assembly_file("xla_entry", TRAITS=0)
    walk = _CpuWalk(inputs, outputs, size).text()
    return "\n".join([_CPU_DECLARATIONS, f"\n{entry}\n", f"\n{mode}\n", walk])


class _CpuWalk(BatchWalk):
    """Calls the compiled loop over the longest group."""

    def _open(self) -> None:
        self.mode = self.t.let("call i32 @plain_mode()")

    def _inner(self) -> str:
        t = self.t
        self.longest = t.load("i64", "%longest")
        for a in range(self.count):
            t.store("i64", t.load("i64", self._stride(self.longest, a)), t.at("%steps", 8 * a))
        self.size_at = t.element("i64", "%sizes", self.longest)
        return t.load("i64", self.size_at)

    def _inside(self, group: str) -> str:
        return self.t.op("icmp eq", group, self.longest)

    def _call(self) -> None:
        arguments = f"ptr %args, ptr {self.size_at}, ptr %steps, ptr @dalembert_settings"
        self.t.do(f"call void @dalembert_loop({arguments})")

    def _close(self) -> str:
        self.t.do(f"call void @restore_mode(i32 {self.mode})")
        return "null"


GPU_SYMBOLS = ("dalembert_launch", "dalembert_kernel")  # cuLaunchKernel, and the kernel's handle
_GRAPH_COMPATIBLE = 1  # the trait XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE
_INTERNAL = 13  # XLA_FFI_Error_Code_INTERNAL
_MESSAGE = "dalembert: cuLaunchKernel failed with CUDA error "
_AXES, _LANES = 3, 32

# Call frame: 16 the interface, 24 the context. Interface: 48 XLA_FFI_Error_Create, 80
# XLA_FFI_Stream_Get; both take one structure that begins with its size and no extensions: then 16 the
# context, 24 the stream (returned), or 16 the message, 24 the code.
_GPU_DECLARATIONS = """
declare i32 @dalembert_launch(ptr, i32, i32, i32, i32, i32, i32, i32, ptr, ptr, ptr)
@dalembert_kernel = external global i8
@words = private constant [{size} x i8] c"{words}000\\00"
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""


def gpu_handler(
    inputs: Sequence[Port], outputs: Sequence[Port], size: int, threads: int, small: int
) -> str:
    """Assembly of the handler; batches of up to `small` states are launched in blocks of one warp."""
    walk = _GpuWalk(inputs, outputs, size)
    walk.threads, walk.small = threads, small
    declared = _GPU_DECLARATIONS.format(words=_MESSAGE, size=len(_MESSAGE) + 4)
    entry = assembly_file("xla_entry", TRAITS=_GRAPH_COMPATIBLE)
    return "\n".join([declared, f"\n{entry}\n", walk.text()])


class _GpuWalk(BatchWalk):
    """Launches the kernel over the three innermost groups."""

    spare = _AXES
    threads: int
    small: int

    def _open(self) -> None:
        """XLA's stream; its error is returned where there is none."""
        t = self.t
        self.api = t.load("ptr", t.at("%frame", 16))
        context = t.load("ptr", t.at("%frame", 24))
        t.do("%asked = alloca [4 x i64]")
        error = self._ask(80, context, "i64 0")
        none = t.op("icmp eq", error, "null", "ptr")
        with t.when(t.op("xor", none, "true", "i1")):
            t.do(f"ret ptr {error}")
            t.label(t.fresh("never"))
        self.stream = t.load("ptr", t.at("%asked", 24))
        t.do("%failed = alloca i32")
        t.store("i32", "0", "%failed")

    def _ask(self, function: int, third: str, fourth: str) -> str:
        """Call a function of XLA's interface with a structure of four words."""
        t = self.t
        for at, value in ((0, "i64 32"), (8, "ptr null"), (16, f"ptr {third}"), (24, fourth)):
            t.do(f"store {value}, ptr {t.at('%asked', at)}")
        called = t.load("ptr", t.at(self.api, function))
        return t.let(f"call ptr {called}(ptr %asked)")

    def _inner(self) -> str:
        """The arguments that every launch has: how many states, and the steps of the inputs."""
        t, ports = self.t, self.count
        words = ports + _AXES + _AXES * self.inputs
        for name in ("words", "places"):
            t.do(f"%{name} = alloca [{words} x i64]")
        for k in range(words):
            t.store("ptr", t.at("%words", 8 * k), t.at("%places", 8 * k))
        sizes = [t.load("i64", t.at("%sizes", 8 * k)) for k in range(_AXES)]
        states = t.op("mul", t.op("mul", sizes[0], sizes[1]), sizes[2])
        values = [states, *sizes[:-1]]
        for a in range(self.inputs):
            for group in range(_AXES):
                values.append(t.op("sdiv", t.load("i64", self._stride(group, a)), self.size))
        for k, value in enumerate(values):
            t.store("i64", value, t.at("%words", 8 * (ports + k)))
        self.block = t.select(t.op("icmp sle", states, self.small), _LANES, self.threads)
        blocks = t.op("sdiv", t.op("add", states, t.op("sub", self.block, 1)), self.block)
        self.blocks = t.let(f"trunc i64 {blocks} to i32")
        self.block = t.let(f"trunc i64 {self.block} to i32")
        return states

    def _inside(self, group: str) -> str:
        return self.t.op("icmp ult", group, _AXES)

    def _call(self) -> None:
        t = self.t
        for a in range(self.count):
            t.store("ptr", t.load("ptr", t.at("%args", 8 * a)), t.at("%words", 8 * a))
        grid = f"i32 {self.blocks}, i32 1, i32 1, i32 {self.block}, i32 1, i32 1, i32 0"
        arguments = f"ptr @dalembert_kernel, {grid}, ptr {self.stream}, ptr %places, ptr null"
        code = t.let(f"call i32 @dalembert_launch({arguments})")
        with t.when(t.op("icmp ne", code, 0, "i32")):
            t.store("i32", code, "%failed")

    def _close(self) -> str:
        t = self.t
        t.do("%error = alloca ptr")
        t.store("ptr", "null", "%error")
        code, size = t.load("i32", "%failed"), len(_MESSAGE) + 4
        with t.when(t.op("icmp ne", code, 0, "i32")):
            # an error that names the code, its three digits put at the end of the words
            t.do(f"%said = alloca [{size} x i8]")
            t.do(f"call void @llvm.memcpy.p0.p0.i64(ptr %said, ptr @words, i64 {size}, i1 0)")
            for k, power in enumerate((100, 10, 1)):
                digit = t.op("urem", t.op("udiv", code, power, "i32"), 10, "i32")
                character = t.let(f"trunc i32 {t.op('add', digit, 48, 'i32')} to i8")
                t.store("i8", character, t.at("%said", len(_MESSAGE) + k))
            t.store("ptr", self._ask(48, "%said", f"i64 {_INTERNAL}"), "%error")
        return t.load("ptr", "%error")
