"""Kernels in threads with small stacks: big frames go to the heap, deep code to another thread."""

import re
import subprocess
import sys

import pytest

import dalembert as dl
from dalembert.kernels.llvm.codegen import assembly, llvm_ir
from dalembert.kernels.llvm.ir import Vector
from dalembert.kernels.llvm.runtime import DEEP, spilled_bytes
from dalembert.kernels.llvm.target import by_name, native
from dalembert.tracing.program import Op, Port, program

SMALL = """
import threading
import numpy as np
from dalembert.kernels import build, fast_call
from dalembert.tracing.interpreter import interpret
from tests.kernels.test_stack import deep, wide

def work(p, dtype):
    kernel = build(p.digest, lambda: p, p.inputs, p.outputs, p.name)
    call = fast_call(kernel, kernel.ufunc, p.name, "")
    for count in (0, 1, 7, 9, 100):
        x = np.linspace(0.1, 0.9, max(1, count) * p.inputs[0].size).astype(dtype)
        x = x.reshape(-1, p.inputs[0].size) if count else x
        got = call(x)
        expected = interpret(p, x.astype(float))[0]
        assert np.allclose(got, expected, rtol=1e-4 if dtype == "f" else 1e-11), (p.name, count)
    done.append(p.name)

done = []
programs = [wide(45), deep(1500)]
for p in programs:  # compiled here: LLVM itself needs a stack
    for dtype in "df":
        build(p.digest, lambda: p, p.inputs, p.outputs, p.name).ufunc(np.ones(p.inputs[0].size, dtype))
kept = [build(p.digest, lambda: p, p.inputs, p.outputs, p.name) for p in programs]
for kernel in kept:
    kernel.ufunc(np.ones(kernel.inputs[0].size, "f"))
threading.stack_size(128 * 1024)
for p in programs:
    for dtype in "df":
        thread = threading.Thread(target=work, args=(p, dtype))
        thread.start()
        thread.join()
print(*done)
"""


def wide(n: int):
    """(n,) → (n, n), whose frame alone is more than a small stack."""
    instructions = [(Op.INPUT, k, -1) for k in range(n)]
    instructions += [(Op.MUL, i, j) for i in range(n) for j in range(n)]
    return program(
        "wide", (Port("x", (n,)),), (Port("y", (n, n)),), instructions, [], range(n, n + n * n)
    )


def deep(n: int):
    """A chain of n operations, and the products of its ends taken inwards: n/2 values wait."""
    instructions = [(Op.INPUT, 0, -1), (Op.INPUT, 1, -1), (Op.ADD, 0, 1)]
    for k in range(2, n):
        instructions.append((Op.SIN, k, -1) if k % 7 == 0 else (Op.ADD, k, k % 2))
    total = 2
    for k in range(2, n):
        instructions.append((Op.MUL, k, n + 1 - k) if k % 2 else (Op.SUB, n, k))
        instructions.append((Op.ADD, total, len(instructions) - 1))
        total = len(instructions) - 1
    return program("deep", (Port("x", (2,)),), (Port("y", ()),), instructions, [], [total])


@pytest.mark.skipif(sys.platform != "linux", reason="stacks are measured on Linux only")
def test_threads_with_small_stacks_run_big_kernels():
    done = subprocess.run([sys.executable, "-c", SMALL], capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    assert done.stdout.split() == ["wide", "wide", "deep", "deep"]


def frames(text: str) -> dict[str, int]:
    """Bytes of stack of every function of x86 assembly."""
    used: dict[str, int] = {}
    name = ""
    for line in text.splitlines():
        if start := re.match(r"(\w+):", line):
            name = start[1]
        if taken := re.match(r"\s+subq\s+\$(\d+), %rsp", line):
            used[name] = max(used.get(name, 0), int(taken[1]))
    return used


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize(
    ("name", "quantity"),
    [
        ("ur5", "forward_dynamics"),
        ("panda", "inverse_dynamics_derivatives"),
        ("ur5", "christoffel"),
    ],
)
def test_the_stack_that_code_takes_is_foreseen(name, quantity, target):
    p, machine = dl.load(name).program(quantity), by_name(target)
    taken = frames(assembly(p, "float64", machine))
    foreseen = spilled_bytes(p, Vector.of("float64", machine))
    assert taken["part_0"] <= 1.2 * foreseen + 512
    assert max(taken["range"], taken["dalembert_one"]) <= 16 * 1024


def test_ordinary_kernels_do_not_ask_for_their_stack():
    machine = native()
    for quantity in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
        p = dl.load("panda").program(quantity)
        assert "stack_left" not in "".join(llvm_ir(p, "float64", machine))
    p = deep(2000)  # values, of the narrowest register there is
    assert spilled_bytes(p, Vector.of("float64", machine)) > DEEP
    assert "stack_left" in llvm_ir(p, "float64", machine)[0]
