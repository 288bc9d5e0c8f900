"""Exported CUDA: run lane by lane on the CPU against the library, and compiled by nvcc where it is."""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import dalembert as dl
from dalembert.frameworks.rollout import step_operation
from dalembert.kernels.c_source import Scalar
from dalembert.kernels.cuda.iterations import cuda_rollout
from dalembert.kernels.cuda.source import CudaSource, broadcast_source, cuda_source
from dalembert.kernels.cuda.text import sincos
from dalembert.kernels.program.trace import trace
from dalembert.systems.rollout_kernels import iteration
from dalembert.tracing.program import Program

SHIM = Path(__file__).with_name("cuda_on_host.h")
needs_compiler = pytest.mark.skipif(not shutil.which("g++"), reason="no C++ compiler here")
needs_nvcc = pytest.mark.skipif(not shutil.which("nvcc"), reason="no CUDA compiler here")
LAYOUTS = ("row", "column")


def on_host(folder: Path, kernel: CudaSource, parameters: list[str]) -> ctypes._CFuncPtr:
    """`run(arguments…)`: the kernel launched over all its states; `count` must be an argument."""
    names = ", ".join(re.split(r"[ *]", p)[-1] for p in parameters)
    text = f'#include "{SHIM}"\n{kernel.text}\nextern "C" void run({", ".join(parameters)})\n'
    text += f"{{ launch(count, {kernel.threads}, [=] {{ {kernel.name}({names}); }}); }}\n"
    source, library = folder / "kernel.cpp", folder / "kernel.so"
    source.write_text(text)
    flags = ["-std=c++17", "-O1", "-Wno-unknown-pragmas", "-fPIC", "-shared", "-pthread"]
    subprocess.run(["g++", *flags, source, "-o", library], check=True, capture_output=True)
    return ctypes.CDLL(str(library)).run


def pointer(x: np.ndarray) -> ctypes.c_void_p:
    return x.ctypes.data_as(ctypes.c_void_p)


def arranged(x: np.ndarray, layout: str) -> np.ndarray:
    """A batch (states, …) as the kernel wants it in memory."""
    flat = x.reshape(len(x), -1)
    return np.ascontiguousarray(flat if layout == "row" else flat.T)


def run(folder: Path, program: Program, dtype: str, layout: str, arrays: list[np.ndarray]) -> list:
    """All outputs (states, …) of the kernel of a program; what it does not write stays NaN."""
    source = cuda_source(program, "kernel", dtype, layout)
    count, T = len(arrays[0]), Scalar.of(dtype).type
    inputs = [f"const {T} *a{k}" for k in range(len(arrays))]
    outputs = [f"{T} *o{k}" for k in range(len(program.outputs))]
    function = on_host(folder, source, [*inputs, *outputs, "long long count"])
    typed = [arranged(x.astype(dtype), layout) for x in arrays]
    results = [arranged(np.full((count, p.size), np.nan, dtype), layout) for p in program.outputs]
    function(*map(pointer, (*typed, *results)), ctypes.c_longlong(count))
    shaped = [x if layout == "row" else x.T for x in results]
    return [x.reshape(count, *p.shape) for x, p in zip(shaped, program.outputs, strict=True)]


@needs_compiler
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "quantity"),
    [("planar_2r", "inverse_dynamics"), ("elbow_3r", "inverse_dynamics_derivatives")],
)
def test_every_state_of_a_ragged_batch(tmp_path, name, quantity, dtype, layout):
    """Odd and even widths, full warps and a last one of five states."""
    robot = dl.load(name)
    state = robot.random_state(np.random.default_rng(0), 32 * 3 + 5)
    results = run(tmp_path, robot.program(quantity), dtype, layout, list(state))
    expected = robot.kernel(quantity)(*(x.astype(dtype) for x in state))
    expected = expected if isinstance(expected, tuple) else (expected,)
    for mine, other in zip(results, expected, strict=True):
        scale = abs(other).max()
        np.testing.assert_allclose(mine, other, rtol=0, atol=30 * np.finfo(dtype).eps * scale)


@needs_compiler
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sincos(tmp_path, dtype):
    """Within 1.6 units in the last place, also at multiples of π/2, and beyond its own range."""
    program = trace(lambda x: {"s": np.sin(x), "c": np.cos(x)}, {"x": ()})
    rng = np.random.default_rng(0)
    near = np.arange(-40, 40) * (np.pi / 2)
    far = np.array([4.9e4, -1.2e6, 3e7, 0.0])
    x = np.concatenate([rng.uniform(-4, 4, 400), rng.uniform(-4e4, 4e4, 400), near, far]).astype(
        dtype
    )
    wide = x.astype(np.longdouble)
    for mine, exact in zip(
        run(tmp_path, program, dtype, "column", [x]), (np.sin(wide), np.cos(wide)), strict=True
    ):
        assert (abs(mine - exact) <= 1.6 * np.spacing(abs(exact.astype(dtype)))).all()


@needs_compiler
@pytest.mark.parametrize("moving", [0, 1])
@pytest.mark.parametrize("method", ["rk4", "semi_implicit"])
def test_rollout(tmp_path, method, moving):
    """The fused loop against the same steps taken one at a time in NumPy."""
    robot = dl.load("planar_2r")
    count, steps, every, dt = 37, 6, 2, 0.01
    rng = np.random.default_rng(1)
    q, qd = rng.normal(size=(2, count, 2))
    tau = rng.normal(size=(steps if moving else 1, count, 2))
    source = cuda_rollout(iteration(robot.dynamics, method), "roll", "float64")
    arguments = [
        "const double *q",
        "const double *qd",
        "const double *tau",
        "double *qs",
        "double *qds",
    ]
    arguments += ["long long count", "int steps", "int every", "int moving", "double dt"]
    function = on_host(tmp_path, source, arguments)
    saved = [np.full((steps // every, count, 2), np.nan) for _ in range(2)]
    inputs = (q, qd, tau, *saved)
    counts = (ctypes.c_longlong(count), steps, every, moving, ctypes.c_double(dt))
    function(*map(pointer, inputs), *counts)
    for step in range(steps):
        q, qd = taken(robot, method, q, qd, tau[step if moving else 0], dt)
        if (step + 1) % every == 0:
            np.testing.assert_allclose(saved[0][step // every], q, atol=1e-12)
            np.testing.assert_allclose(saved[1][step // every], qd, atol=1e-12)


@needs_compiler
@pytest.mark.parametrize("method", ["rk4", "semi_implicit"])
def test_rollout_turns_on_groups(tmp_path, method):
    """Quaternions and smoothed friction: the same numbers as on the CPU."""
    part = {"mass": 1.0, "com": (0.1, 0.0, 0.2), "inertia": np.diag([0.3, 0.4, 0.5])}
    ball = {"name": "a", "joint": {"type": "spherical"}, **part}
    arm = {"name": "b", "parent": "a", "joint": {"type": "revolute", "coulomb": 0.2}, **part}
    robot = dl.Robot.from_links([ball, arm])
    count, steps, dt = 5, 6, 0.01
    q, qd, tau = robot.random_state(np.random.default_rng(1), count)
    source = cuda_rollout(iteration(robot.dynamics, method), "roll", "float64")
    arguments = [f"const double *{name}" for name in ("q", "qd", "tau", "width")]
    arguments += ["double *qs", "double *qds"]
    arguments += ["long long count", "int steps", "int every", "int moving", "double dt"]
    function = on_host(tmp_path, source, arguments)
    saved = [np.full((2, count, size), np.nan) for size in (robot.nq, robot.nv)]
    inputs = (q, qd, tau, np.full((count, robot.nv), 0.05), *saved)
    counts = (ctypes.c_longlong(count), steps, 3, 0, ctypes.c_double(dt))
    function(*map(pointer, inputs), *counts)
    expected = robot.rollout(q, qd, tau, steps, dt, method=method, every=3, smoothing=0.05)
    for mine, other in zip(saved, expected, strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-13)


def taken(robot, method, q, qd, tau, dt):
    """One step, as a textbook writes it."""
    if method == "semi_implicit":
        qd = qd + dt * robot.forward_dynamics(q, qd, tau)
        return q + dt * qd, qd

    def rate(x, v):
        return v, robot.forward_dynamics(x, v, tau)

    k1 = rate(q, qd)
    k2 = rate(q + dt / 2 * k1[0], qd + dt / 2 * k1[1])
    k3 = rate(q + dt / 2 * k2[0], qd + dt / 2 * k2[1])
    k4 = rate(q + dt * k3[0], qd + dt * k3[1])
    rows = zip(k1, k2, k3, k4, strict=True)
    dq, dqd = (dt / 6 * (a + 2 * b + 2 * c + d) for a, b, c, d in rows)
    return q + dq, qd + dqd


@needs_nvcc
@pytest.mark.parametrize("layout", LAYOUTS)
def test_nvcc_keeps_everything_in_registers(tmp_path, layout):
    """All first derivatives of the Panda in float32 without a spill."""
    text = dl.load("panda").source("inverse_dynamics_derivatives", "cuda", "float32", layout=layout)
    (tmp_path / "kernel.cu").write_text(text)
    command = ["nvcc", "-arch=sm_90", "-cubin", "-Xptxas", "-v", "kernel.cu", "-o", "kernel.cubin"]
    report = subprocess.run(
        command, cwd=tmp_path, check=True, capture_output=True, text=True
    ).stderr
    assert "0 bytes spill stores, 0 bytes spill loads" in report


@needs_nvcc
def test_nvcc_gives_registers_to_a_long_program_in_double(tmp_path):
    """Without a word on blocks, ptxas gave the reverse of a step 32 of them and 29 kB of stack."""
    step = step_operation(dl.load("panda"), "rk4", "plain", None)
    source = broadcast_source(step.vjp((0, 1, 2)).program, "back", "float64")
    (tmp_path / "kernel.cu").write_text(source.text)
    command = ["nvcc", "-arch=sm_90", "-cubin", "-Xptxas", "-v", "kernel.cu", "-o", "kernel.cubin"]
    report = subprocess.run(
        command, cwd=tmp_path, check=True, capture_output=True, text=True
    ).stderr
    assert "Used 255 registers" in report


def test_what_cannot_be():
    program = trace(lambda x: x * 2.0, {"x": (2,)})
    with pytest.raises(dl.CompileError, match="layout='diagonal'"):
        cuda_source(program, layout="diagonal")
    wide = trace(lambda x: np.stack([x * k for k in range(1, 500)]), {"x": ()})
    with pytest.raises(dl.CompileError, match='use layout="column"'):
        cuda_source(wide, layout="row", dtype="float64")
    assert "sincos" not in sincos("turn", Scalar.of("float32")).split("(")[0]
