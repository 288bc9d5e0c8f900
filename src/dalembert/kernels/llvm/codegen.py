"""From a program to machine code: assembly text in, relocatable objects out.

LLVM is loaded only here and only when something is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ctypes import string_at
from functools import cache, partial
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

from dalembert.errors import CompileError
from dalembert.forking import llvm_lock
from dalembert.kernels.llvm.early import started
from dalembert.kernels.llvm.load import pack
from dalembert.kernels.llvm.loop import loops
from dalembert.kernels.llvm.side_by_side import side_by_side
from dalembert.kernels.llvm.target import Target
from dalembert.kernels.llvm.text import Vector
from dalembert.tracing.program import Program

if TYPE_CHECKING:
    import llvmlite.binding as llvm


def llvm_ir(program: Program, dtype: str, target: Target) -> list[str]:
    """The program's LLVM assembly, module by module; dtype is "float64" or "float32"."""
    return [written() for written in modules(program, dtype, target)]


def modules(program: Program, dtype: str, target: Target) -> list[Callable[[], str]]:
    """What writes each module of the program's LLVM assembly."""
    if dtype not in ("float64", "float32"):
        raise CompileError(f"kernels compute in float64 or float32, not in {dtype}")
    texts = loops(program, Vector.of(dtype, target), target)
    return [partial(_module, text, target) for text in texts]


def _module(written: Callable[[], str], target: Target) -> str:
    return module(written(), target)


def module(text: str, target: Target) -> str:
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
    written = modules(program, dtype, target)
    with llvm_lock:  # for all threads that compile
        return pack(side_by_side(written, partial(_emit, target=target), threads, progress))


def emitted(text: str, target: Target) -> bytes:
    """The relocatable object of one module."""
    with llvm_lock:  # the module, too, is freed within
        return _emit(text, target)


def _emit(text: str, target: Target) -> bytes:
    with _tools(target) as tools:
        return _object(_parsed(text, tools), tools.machine)


def _object(parsed: llvm.ModuleRef, machine: llvm.TargetMachine) -> bytes:
    """What `machine.emit_object` gives, but without llvmlite's lock around the long work."""
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
            texts.append(tools.machine.emit_assembly(_parsed(text, tools)))
    return "\n".join(texts)


def _parsed(text: str, tools: _Tools) -> llvm.ModuleRef:
    import llvmlite.binding as llvm

    try:
        # in a context of its own, for what a context has seen it keeps
        module = llvm.parse_assembly(text, context=llvm.create_context())
    except RuntimeError as error:
        raise CompileError(f"LLVM rejects the program: {error}") from error
    module.data_layout = str(tools.machine.target_data)
    tools.passes.run(module, tools.builder)
    return module


class _Tools(NamedTuple):
    """What one thread compiles with for a target."""

    machine: llvm.TargetMachine
    passes: llvm.ModulePassManager
    builder: llvm.PassBuilder


_idle: dict[Target, list[_Tools]] = {}


@contextmanager
def _tools(target: Target) -> Iterator[_Tools]:
    """Tools that nobody else uses, kept for later: llvmlite leaves memory behind for each of them.

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
def ready(target: Target, threads: int) -> Iterator[None]:
    """Make tools for two threads on another one during the block, where there are none yet."""
    if threads < 2 or _idle.get(target):
        yield
        return
    helper = Thread(target=_stock, args=(target,))
    there = started(helper)
    try:
        yield
    finally:
        if there:
            helper.join()


def _stock(target: Target) -> None:
    with suppress(Exception):  # what is wrong shows again where something is compiled
        _tuning(target)
        _idle[target] = [_new_tools(target) for _ in range(2)]


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
