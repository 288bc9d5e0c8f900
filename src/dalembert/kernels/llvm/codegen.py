"""From a program to machine code: assembly text in, relocatable objects out.

LLVM is loaded only here and only when something is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from dalembert.errors import CompileError
from dalembert.forking import llvm_lock
from dalembert.kernels.llvm.load import pack
from dalembert.kernels.llvm.loop import loops
from dalembert.kernels.llvm.target import Target
from dalembert.kernels.llvm.text import Vector
from dalembert.kernels.program.program import Program

if TYPE_CHECKING:
    import llvmlite.binding as llvm


def llvm_ir(program: Program, dtype: str, target: Target) -> list[str]:
    """The program's LLVM assembly, module by module; dtype is "float64" or "float32"."""
    if dtype not in ("float64", "float32"):
        raise CompileError(f"kernels compute in float64 or float32, not in {dtype}")
    return [module(text, target) for text in loops(program, Vector.of(dtype, target), target)]


def module(text: str, target: Target) -> str:
    """Functions with what every module needs around them."""
    width = f'"prefer-vector-width"="{target.bits}" "min-legal-vector-width"="{target.bits}"'
    return "\n".join(
        [
            f'target triple = "{target.triple}"',
            text,
            f"attributes #0 = {{ nounwind {width} }}",
            '!0 = !{!"branch_weights", i32 1, i32 1000000}',
            "!1 = !{}",
            '!2 = !{!"branch_weights", i32 1000000, i32 1}',
        ]
    )


def object_code(
    program: Program,
    dtype: str,
    target: Target,
    progress: Callable[[float], None] = lambda share: None,
) -> bytes:
    """Relocatable objects that together export `dalembert_loop` and `dalembert_one`, packed."""
    texts = llvm_ir(program, dtype, target)
    lengths = [len(text) for text in texts]
    objects = []
    for i, text in enumerate(texts):
        objects.append(emitted(text, target))
        progress(sum(lengths[: i + 1]) / sum(lengths))
    return pack(objects)


def emitted(text: str, target: Target) -> bytes:
    """The relocatable object of one module."""
    with llvm_lock:  # the module, too, is freed within
        return _emit(text, target)


def _emit(text: str, target: Target) -> bytes:
    parsed, machine = _parsed(text, target)
    return machine.emit_object(parsed)


def assembly(program: Program, dtype: str, target: Target) -> str:
    """The machine instructions, for people."""
    texts = []
    with llvm_lock:
        for text in llvm_ir(program, dtype, target):
            parsed, machine = _parsed(text, target)
            texts.append(machine.emit_assembly(parsed))
    return "\n".join(texts)


def _parsed(text: str, target: Target) -> tuple[llvm.ModuleRef, llvm.TargetMachine]:
    import llvmlite.binding as llvm

    machine, passes, builder = _tools(target)
    try:
        # in a context of its own, for what a context has seen it keeps
        module = llvm.parse_assembly(text, context=llvm.create_context())
    except RuntimeError as error:
        raise CompileError(f"LLVM rejects the program: {error}") from error
    module.data_layout = str(machine.target_data)
    passes.run(module, builder)
    return module, machine


@cache
def _tools(target: Target) -> tuple[llvm.TargetMachine, llvm.ModulePassManager, llvm.PassBuilder]:
    """What compiles for a target, made once: llvmlite leaves memory behind for each of them.

    (1.5 kB for a builder, 96 bytes for passes; a run of them adds 32 bytes to what the builder holds.)
    """
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
    return machine, passes, builder
