"""Exported C: compiles without a warning, and computes what the program says to the last bit."""

import ctypes
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dalembert as dl
from dalembert.kernels.c_source import Scalar, c_header, c_source
from dalembert.kernels.program.trace import trace
from dalembert.text import c_identifier
from dalembert.tracing import interpreter
from dalembert.tracing.interpreter import interpret
from dalembert.tracing.program import Op, Program

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wmissing-prototypes"]
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
needs_compiler = pytest.mark.skipif(not COMPILERS, reason="no C compiler here")
QUANTITIES = ("inverse_dynamics", "forward_dynamics", "inverse_dynamics_derivatives", "pose")


def compiled(text: str, folder: Path, compiler: str, *flags: str) -> ctypes.CDLL:
    """The text as a shared library."""
    source, library = folder / "kernel.c", folder / f"kernel_{compiler}.so"
    source.write_text(text, encoding="ascii")
    command = [compiler, *STRICT, "-O2", *flags, "-fPIC", "-shared", source, "-o", library, "-lm"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return ctypes.CDLL(str(library))


def call(
    function: ctypes._CFuncPtr, program: Program, arrays: list[np.ndarray]
) -> list[np.ndarray]:
    """Call `void f(inputs…, outputs…)` on one state; outputs start as NaN."""
    dtype = arrays[0].dtype
    outputs = [np.full(port.shape, np.nan, dtype) for port in program.outputs]
    pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (*arrays, *outputs)]
    function(*pointers)
    return outputs


@needs_compiler
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_to_the_last_bit(tmp_path, monkeypatch, compiler, quantity):
    """Without fused products, C and the interpreter do the same operations in the same order.

    NumPy's own vectorised sine may differ from the C library's in the last bit, so the interpreter
    is given the latter.
    """
    for op, function in ((Op.SIN, math.sin), (Op.COS, math.cos)):
        monkeypatch.setitem(interpreter.MEANING, op, np.vectorize(function, otypes=[float]))
    robot = dl.load("ur5")
    program = robot.program(quantity)
    library = compiled(robot.source(quantity), tmp_path, compiler, "-ffp-contract=off")
    rng = np.random.default_rng(0)
    for _ in range(20):
        state = [rng.uniform(-3, 3, port.shape) for port in program.inputs]
        function = library[f"dalembert_ur5_{quantity}"]
        for mine, other in zip(
            call(function, program, state), interpret(program, *state), strict=True
        ):
            np.testing.assert_array_equal(mine, other)


@needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_beside_the_library(tmp_path, dtype):
    """Fused or not, C and our kernels differ by a few units in the last place of the largest torque."""
    robot = dl.load("panda")
    text = robot.source("inverse_dynamics", dtype=dtype)
    library = compiled(text, tmp_path, COMPILERS[0], "-ffp-contract=fast")
    rng, eps = np.random.default_rng(1), np.finfo(dtype).eps
    for _ in range(50):
        state = [rng.uniform(-2, 2, 7).astype(dtype) for _ in range(3)]
        (tau,) = call(
            library.dalembert_panda_inverse_dynamics, robot.program("inverse_dynamics"), state
        )
        ours = robot.inverse_dynamics(*state)
        assert ours.dtype == tau.dtype == np.dtype(dtype)
        # some two hundred sums lie between the wrist and the base
        np.testing.assert_allclose(tau, ours, rtol=0, atol=50 * eps * abs(ours).max())


@needs_compiler
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_operation(tmp_path, compiler, dtype):
    def function(x, y):
        truth = np.stack([x < y, x <= y, x == y, x != y])
        parts = [np.sin(x), np.cos(x), np.tan(y), np.arctan2(x, y), np.exp(y), np.log(abs(x) + 1.0)]
        parts += [np.sqrt(x * x), abs(x), np.sign(y), np.floor(x), np.ceil(y), np.fmod(x, 0.7)]
        parts += [np.minimum(x, y), np.maximum(x, y), np.where(x < y, x, y), x / y, np.tanh(x)]
        parts += [np.arcsin(0.3 * y), np.sinh(x), np.logical_and(x < y, x < 0.0) * x, -x]
        return {"truth": truth, "values": np.stack(parts)}

    program = trace(function, {"x": (), "y": ()})
    library = compiled(c_source(program, "all", dtype), tmp_path, compiler)
    eps = np.finfo(dtype).eps
    for x, y in ((0.4, 0.9), (-1.3, 0.2), (0.5, 0.5)):
        state = [np.array(x, dtype), np.array(y, dtype)]
        truth, values = call(library.all, program, state)
        expected = interpret(program, *state)
        np.testing.assert_array_equal(truth, expected[0])
        np.testing.assert_allclose(values, expected[1], rtol=8 * eps, atol=8 * eps)


@needs_compiler
def test_unused_input_and_header(tmp_path):
    program = trace(lambda x, idle: 2.0 * x, {"x": (2,), "idle": (3,)}, name="double up")
    text, header = c_source(program), c_header(program)
    assert "(void)idle;" in text
    (tmp_path / "up.h").write_text(header)
    (tmp_path / "up.c").write_text('#include "up.h"\n#include "up.h"\n' + text)
    for compiler in COMPILERS:
        subprocess.run([compiler, *STRICT, "-c", "up.c", "-o", "up.o"], check=True, cwd=tmp_path)


def test_text():
    text = dl.load("planar_2r").source("inverse_dynamics")
    assert text.startswith("/*\n * inverse_dynamics of planar_2r")
    assert "in  qd: 2 double; rad/s or m/s" in text
    assert [line for line in text.splitlines() if line.startswith("#")] == ["#include <math.h>"]
    assert not any(word in text for word in ("malloc", "for (", "while", "static"))
    text.encode("ascii")


def test_literals():
    double, single = Scalar.of("float64"), Scalar.of("float32")
    assert (double.literal(1.0), single.literal(0.1)) == ("1.0", "0.1f")
    assert float(double.literal(0.1 + 0.2)) == 0.1 + 0.2
    assert double.literal(-2.0) == "(-2.0)"
    assert (double.literal(np.inf), double.literal(np.nan)) == ("INFINITY", "NAN")
    assert single.literal(1e300) == "INFINITY"  # no number of single precision is so large
    with pytest.raises(dl.CompileError, match="float16"):
        Scalar.of("float16")


def test_identifier():
    assert c_identifier("7 dof/arm") == "m_7_dof_arm"


def test_unknown_target():
    with pytest.raises(dl.UnknownNameError, match="target='rust'"):
        dl.load("pendulum").source("bias", target="rust")


@needs_compiler
@pytest.mark.parametrize("compiler", COMPILERS)
def test_control_loop_example(tmp_path, compiler):
    """The 1 kHz loop builds with the strict flags, runs, and tracks its trajectory."""
    script = Path(__file__).parents[2] / "src/dalembert/examples/control_loop_c" / "build.py"
    environment = {**os.environ, "CC": compiler}
    subprocess.run([sys.executable, script, tmp_path], check=True, env=environment, timeout=600)


def test_the_header_names_every_entry_in_order_with_its_unit():
    """Joints, parameters with their defaults, actuators and constraint forces."""
    text = dl.symbolic_model("rp").source("inverse_dynamics", target="h")
    lines = [line.removeprefix(" * ") for line in text.splitlines()]
    at = lines.index("Entries of q:")
    assert lines[at + 1 : at + 3] == ["  [0] link1_joint, rad", "  [1] link2_joint, m"]
    at = lines.index("Entries of qd, qdd, tau:")
    assert lines[at + 1 : at + 3] == [
        "  [0] link1_joint, rad/s, rad/s^2, N m",
        "  [1] link2_joint, m/s, m/s^2, N",
    ]
    robot = dl.symbolic_model("rp")
    at = lines.index("Entries of parameters, SI units:") + 1
    named = [line.split()[1].rstrip(",") for line in lines[at : at + len(robot.named_parameters)]]
    assert named == list(robot.named_parameters)
    closed = dl.load("four_bar").source("forward_dynamics", target="h")
    assert " * Entries of lam:\n *   [0] " in closed
    servo = dl.Actuator("servo", "link1_joint", gain=[20.0])
    arm = dl.load("planar_2r").with_actuators([servo])
    assert " *   [0] servo\n" in arm.source("actuator_forces", target="h")
    assert "Entries" not in arm.source("pose", target="h").split("Entries of q:")[1]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("cpp", "target='cpp' is unknown; there are: c, h, cuda, wasm"),
        ("cudaa", "target='cudaa' is unknown; did you mean 'cuda'? There are: c, h, cuda, wasm"),
    ],
)
def test_unknown_targets_are_refused_in_whole_sentences(target, message):
    with pytest.raises(dl.UnknownNameError) as caught:
        dl.load("pendulum").source("bias", target=target)
    assert str(caught.value) == message
