"""Machine code: every operation against the interpreter, and code for other machines."""

import threading

import numpy as np
import pytest

from dalembert.errors import CompileError
from dalembert.kernels.llvm.codegen import assembly, llvm_ir, object_code
from dalembert.kernels.llvm.target import by_name
from dalembert.kernels.program.trace import trace
from dalembert.tracing.interpreter import interpret
from dalembert.tracing.program import BINARY, LEAVES, Op, Port, program
from tests.kernels.arm import SHAPES, inverse_dynamics
from tests.kernels.raw import Raw, runnable_targets

VALUES = [0.0, 0.5, -0.5, 1.0, -1.0, 2.0, 2.5, -3.7, 40.0, np.inf, -np.inf, np.nan]


def _every_operation():
    """One output per operation, of the same two inputs."""
    instructions = [(Op.INPUT, 0, -1), (Op.INPUT, 1, -1)]
    operations = [op for op in Op if op not in LEAVES]
    instructions += [(op, 0, 1 if op in BINARY else -1) for op in operations]
    outputs = tuple(Port(op.name, ()) for op in operations)
    inputs = (Port("a", ()), Port("b", ()))
    return program("all", inputs, outputs, instructions, [], range(2, len(instructions)))


@pytest.mark.parametrize("target", runnable_targets())
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_operation(dtype, target):
    p = _every_operation()
    a, b = (grid.ravel().astype(dtype) for grid in np.meshgrid(VALUES, VALUES))
    expected = interpret(p, a.astype(float), b.astype(float))
    tolerance = 8 * np.finfo(dtype).eps
    for port, actual, exact in zip(
        p.outputs, Raw(p, dtype, target).loop(a, b), expected, strict=True
    ):
        with np.errstate(over="ignore"):
            exact = exact.astype(dtype)
        np.testing.assert_allclose(actual, exact, rtol=tolerance, atol=tolerance, err_msg=port.name)


def test_truth_values_combine():
    def function(a, b):
        both = np.logical_and(a > b, np.logical_not(a > 3.0))
        return np.where(both, a, -b)

    p = trace(function, {"a": (), "b": ()})
    x, y = np.arange(6.0), np.full(6, 1.5)
    np.testing.assert_array_equal(Raw(p).loop(x, y)[0], [-1.5, -1.5, 2.0, 3.0, -1.5, -1.5])


def test_constant_outputs():
    (actual,) = Raw(trace(lambda x: np.arange(3.0), {"x": (2,)})).loop(np.zeros((9, 2)))
    np.testing.assert_array_equal(actual, np.tile(np.arange(3.0), (9, 1)))


def test_aarch64_uses_its_vector_registers():
    text = assembly(trace(inverse_dynamics, SHAPES), "float64", by_name("aarch64"))
    assert "fmla\tv" in text and ".2d" in text and "dalembert_loop" in text


def test_wide_registers_and_fused_operations_are_used():
    p = trace(inverse_dynamics, SHAPES)
    wide = assembly(p, "float64", by_name("x86-64-v4"))
    assert "%zmm" in wide and "vfmadd" in wide
    assert "%zmm" not in assembly(p, "float64", by_name("x86-64-v3"))


def test_windows_asks_its_library_for_no_posix_threads():
    from dataclasses import replace

    target = replace(by_name("x86-64"), triple="x86_64-pc-windows-msvc-elf")
    (text,) = llvm_ir(trace(lambda x: x, {"x": ()}), "float64", target)
    assert "declare i32 @pthread" not in text and "@CreateThread" in text


def test_compiling_is_thread_safe():
    p, target = trace(lambda x: np.sin(x), {"x": (3,)}), by_name("native")
    objects = []
    workers = [
        threading.Thread(target=lambda: objects.append(object_code(p, "float64", target)))
        for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(objects) == 4 and len(set(objects)) == 1


def test_other_precisions_are_refused():
    with pytest.raises(CompileError, match="float16"):
        object_code(trace(lambda x: x, {"x": ()}), "float16", by_name("native"))
