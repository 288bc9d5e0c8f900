"""From a program to machine code: assembly text in, relocatable objects out.

LLVM is loaded only here and only when something is compiled. Modules are compiled in parallel, on
threads that end with the call: LLVM works outside Python's lock, and each module has a context of its
own. The caller holds `llvm_lock` until all threads are done, so that a fork elsewhere waits for them;
where the caller is interrupted, no thread begins another module, and begun ones are waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from ctypes import string_at
from functools import cache, partial
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, NamedTuple

from dalembert.errors import CompileError
from dalembert.fork_safety import llvm_lock
from dalembert.kernels.call.settings import start_thread
from dalembert.kernels.llvm.batch_loop import loop_modules
from dalembert.kernels.llvm.ir import Vector
from dalembert.kernels.llvm.load import pack
from dalembert.kernels.llvm.target import Target
from dalembert.tracing.program import Program

if TYPE_CHECKING:
    import llvmlite.binding as llvm


def compile_in_parallel(
    writers: Sequence[Callable[[], str]],
    compile_text: Callable[[str], bytes],
    threads: int = 1,
    progress: Callable[[float], None] = lambda share: None,
) -> list[bytes]:
    """`compiled(text())` for every text, in their order, on as many threads as are of use.

    Texts are written one at a time, for Python runs one thread at a time; meanwhile others compile.

    >>> compile_in_parallel([lambda: "one", lambda: "two"], lambda text: text.encode(), threads=2)
    [b'one', b'two']
    """
    objects: dict[int, bytes] = {}
    errors: list[BaseException] = []
    lock, stopped, indices = Lock(), Event(), iter(range(len(writers)))

    def run() -> None:
        """Compile one module after the other until none is left."""
        while True:
            with lock:
                index = None if stopped.is_set() else next(indices, None)
                if index is None:
                    return
                text = writers[index]()
            code = compile_text(text)
            with lock:
                objects[index] = code
                progress(len(objects) / len(writers))

    def run_elsewhere() -> None:
        """The same on another thread, whose errors are the caller's."""
        try:
            run()
        except BaseException as error:
            stopped.set()
            errors.append(error)

    helpers = [Thread(target=run_elsewhere) for _ in range(min(threads, len(writers)) - 1)]
    try:
        for helper in helpers:
            start_thread(helper)
        run()
    finally:
        stopped.set()
        for helper in helpers:
            if helper.ident is not None:
                helper.join()
    if errors:
        raise errors[0]
    return [objects[index] for index in range(len(writers))]


def llvm_ir(program: Program, dtype: str, target: Target) -> list[str]:
    """The program's LLVM assembly, module by module; dtype is "float64" or "float32"."""
    return [write() for write in module_writers(program, dtype, target)]


def module_writers(program: Program, dtype: str, target: Target) -> list[Callable[[], str]]:
    """Functions that each write one module of the program's LLVM assembly."""
    if dtype not in ("float64", "float32"):
        raise CompileError(f"kernels compute in float64 or float32, not in {dtype}")

    def complete(write: Callable[[], str]) -> str:
        return complete_module(write(), target)

    texts = loop_modules(program, Vector.of(dtype, target), target)
    return [partial(complete, text) for text in texts]


def complete_module(text: str, target: Target) -> str:
    """Functions with what every module needs around them."""
    width = f'"prefer-vector-width"="{target.bits}" "min-legal-vector-width"="{target.bits}"'
    return "\n".join(
        [
            f'target triple = "{target.triple}"',
            text,
            f"attributes #0 = {{ nounwind {width}{_tuning(target)} }}",
            '!0 = !{!"branch_weights", i32 1, i32 1000000}',
            "!1 = !{}",
            '!2 = !{!"branch_weights", i32 1000000, i32 1}',
        ]
    )


@cache
def _tuning(target: Target) -> str:
    """For which processor of its kind instructions are put in order: the one at hand.

    Others run the same code, with the same results, so that it is no part of a target.
    """
    import llvmlite.binding as llvm

    own, kind = (triple.split("-")[0] for triple in (llvm.get_process_triple(), target.triple))
    return f' "tune-cpu"="{llvm.get_host_cpu_name()}"' if own == kind else ""


def object_code(
    program: Program,
    dtype: str,
    target: Target,
    progress: Callable[[float], None] = lambda share: None,
    threads: int = 1,
) -> bytes:
    """Relocatable objects that together export `dalembert_loop` and `dalembert_one`, packed."""
    writers = module_writers(program, dtype, target)
    with llvm_lock:  # for all threads that compile
        return pack(compile_in_parallel(writers, partial(_emit, target=target), threads, progress))


def compile_module(text: str, target: Target) -> bytes:
    """The relocatable object of one module."""
    with llvm_lock:  # the module, too, is freed within
        return _emit(text, target)


def _emit(text: str, target: Target) -> bytes:
    with _tools(target) as tools:
        return _emit_object(_parse(text, tools), tools.machine)


def _emit_object(parsed: llvm.ModuleRef, machine: llvm.TargetMachine) -> bytes:
    """The same as `machine.emit_object`, but without llvmlite's lock around the long work."""
    from llvmlite.binding import ffi

    emit = ffi.lib.LLVMPY_TargetMachineEmitToMemory
    with ffi.OutputString() as error:
        # where llvmlite hides the function elsewhere, threads wait for each other
        buffer = getattr(emit, "_cfn", emit)(machine, parsed, 1, error)
        if not buffer:
            raise CompileError(f"LLVM cannot compile the program: {error}")
    try:
        start, size = ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer)
        return string_at(start, size)
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


def assembly(program: Program, dtype: str, target: Target) -> str:
    """The machine instructions, for people."""
    texts = []
    with llvm_lock, _tools(target) as tools:
        for text in llvm_ir(program, dtype, target):
            texts.append(tools.machine.emit_assembly(_parse(text, tools)))
    return "\n".join(texts)


def _parse(text: str, tools: _Tools) -> llvm.ModuleRef:
    import llvmlite.binding as llvm

    try:
        # in a context of its own, for a context keeps all that was parsed in it
        parsed = llvm.parse_assembly(text, context=llvm.create_context())
    except RuntimeError as error:
        raise CompileError(f"LLVM rejects the program: {error}") from error
    parsed.data_layout = str(tools.machine.target_data)
    tools.passes.run(parsed, tools.builder)
    return parsed


class _Tools(NamedTuple):
    """The LLVM objects with which one thread compiles for a target."""

    machine: llvm.TargetMachine
    passes: llvm.ModulePassManager
    builder: llvm.PassBuilder


_idle: dict[Target, list[_Tools]] = {}


@contextmanager
def _tools(target: Target) -> Iterator[_Tools]:
    """Tools of this thread alone, reused later: llvmlite leaks memory for each of them.

    (1.5 kB for a builder, 96 bytes for passes; a run of them adds 32 bytes to what the builder holds.)
    """
    idle = _idle.setdefault(target, [])
    try:
        tools = idle.pop()
    except IndexError:
        tools = _new_tools(target)
    try:
        yield tools
    finally:
        idle.append(tools)


@contextmanager
def prepared_tools(target: Target, threads: int) -> Iterator[None]:
    """Make tools for two threads on another one during the block, where there are none yet."""
    if threads < 2 or _idle.get(target):
        yield
        return

    def prepare() -> None:
        with suppress(Exception):  # the error is raised again where something is compiled
            _tuning(target)
            _idle[target] = [_new_tools(target) for _ in range(2)]

    helper = Thread(target=prepare)
    is_running = start_thread(helper)
    try:
        yield
    finally:
        if is_running:
            helper.join()


def _new_tools(target: Target) -> _Tools:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=3, reloc="pic", codemodel="default"
    )
    # The program is simplified already: LLVM's usual passes take thrice the time and gain nothing.
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    return _Tools(machine, passes, builder)
