"""From a program to machine code: assembly text in, one relocatable object out.

LLVM is loaded only here and only when something is compiled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.errors import CompileError
from dalembert.kernels.body import body
from dalembert.kernels.load import llvm_lock
from dalembert.kernels.loop import loops
from dalembert.kernels.program import Program
from dalembert.kernels.target import Target
from dalembert.kernels.text import Vector

if TYPE_CHECKING:
    import llvmlite.binding as llvm


def llvm_ir(program: Program, dtype: str, target: Target) -> str:
    """The program's LLVM assembly, as handed to LLVM; dtype is "float64" or "float32"."""
    if dtype not in ("float64", "float32"):
        raise CompileError(f"kernels compute in float64 or float32, not in {dtype}")
    v = Vector.of(dtype, target)
    width = f'"prefer-vector-width"="{target.bits}" "min-legal-vector-width"="{target.bits}"'
    return "\n".join(
        [
            f'target triple = "{target.triple}"',
            body(program, v),
            loops(program, v, target),
            f"attributes #0 = {{ nounwind {width} }}",
            '!0 = !{!"branch_weights", i32 1, i32 1000000}',
            "!1 = !{}",
        ]
    )


def object_code(program: Program, dtype: str, target: Target) -> bytes:
    """A relocatable object that exports `dalembert_loop` and `dalembert_one`."""
    with llvm_lock:
        module, machine = _parsed(llvm_ir(program, dtype, target), target)
        return machine.emit_object(module)


def assembly(program: Program, dtype: str, target: Target) -> str:
    """The machine instructions, for people."""
    with llvm_lock:
        module, machine = _parsed(llvm_ir(program, dtype, target), target)
        return machine.emit_assembly(module)


def _parsed(text: str, target: Target) -> tuple[llvm.ModuleRef, llvm.TargetMachine]:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=3, reloc="pic", codemodel="default"
    )
    try:
        module = llvm.parse_assembly(text)
    except RuntimeError as error:
        raise CompileError(f"LLVM rejects the program: {error}") from error
    module.data_layout = str(machine.target_data)
    # The program is simplified already: LLVM's usual passes take thrice the time and gain nothing.
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.run(module, builder)
    return module, machine
