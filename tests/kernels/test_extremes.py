"""np.minimum and np.maximum keep NaN wherever a program runs, as NumPy does."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import dalembert as dl
from dalembert.kernels.c_source import c_source
from dalembert.kernels.cuda.source import cuda_source
from dalembert.kernels.program.trace import replay, trace
from dalembert.tracing.casadi_io import to_casadi
from dalembert.tracing.interpreter import interpret
from tests.kernels.raw import Raw, runnable_targets
from tests.kernels.test_cuda_source import run

VALUES = [0.0, 1.0, -2.5, 40.0, np.inf, -np.inf, np.nan]
X, Y = (grid.ravel() for grid in np.meshgrid(VALUES, VALUES))


def extremes(x, y):
    return {
        "least": np.minimum(x, y),
        "largest": np.maximum(x, y),
        "clamped": np.minimum(np.maximum(x / 2.0, -1.0), 1.0),
        "clipped": np.clip(y, -1.0, 1.0),
    }


PROGRAM = trace(extremes, {"x": (), "y": ()}, name="extremes")
EXPECTED = list(extremes(X, Y).values())


def same(actual, expected=EXPECTED):
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(a, dtype=float).ravel(), b)


def test_interpreted():
    same(interpret(PROGRAM, X, Y))


@pytest.mark.parametrize("target", runnable_targets())
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_compiled(dtype, target):
    raw = Raw(PROGRAM, dtype, target)
    x, y = X.astype(dtype), Y.astype(dtype)
    same(raw.loop(x, y))
    states = [raw.one(np.array(a), np.array(b)) for a, b in zip(x, y, strict=True)]
    same(np.array(states).T)


@pytest.mark.skipif(not shutil.which("gcc"), reason="no C compiler here")
def test_in_c(tmp_path):
    (tmp_path / "f.c").write_text(c_source(PROGRAM, "f"))
    command = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "f.c", "-o", "f.so"]
    subprocess.run([*command, "-lm"], check=True, cwd=tmp_path)
    function = ctypes.CDLL(str(tmp_path / "f.so")).f
    actual = np.full((4, len(X)), 7.0)
    for k, state in enumerate(zip(X, Y, strict=True)):
        numbers = [ctypes.c_double(v) for v in (*state, 0.0, 0.0, 0.0, 0.0)]
        function(*map(ctypes.byref, numbers))
        actual[:, k] = [v.value for v in numbers[2:]]
    same(actual)


@pytest.mark.skipif(not shutil.which("g++"), reason="no C++ compiler here")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_in_cuda(tmp_path, dtype):
    same(run(tmp_path, PROGRAM, dtype, "row", [X, Y]))
    assert "fmin" not in cuda_source(PROGRAM, dtype=dtype).text


def test_in_casadi(casadi):
    function = to_casadi(PROGRAM)
    states = [function(x, y) for x, y in zip(X, Y, strict=True)]
    same(np.array([[float(v) for v in state] for state in states]).T)


def test_traced_again_it_is_the_same_program():
    again = trace(lambda x, y: replay(PROGRAM, {"x": x, "y": y}), {"x": (), "y": ()})
    assert len(again) == len(PROGRAM)
    same(interpret(again, X, Y))


def test_the_clamp_of_friction_keeps_a_lost_state_lost():
    """A NaN velocity must not come back as a finite friction torque."""
    clamp = dl.compile_function(lambda qd: np.minimum(np.maximum(qd / 1e-3, -1.0), 1.0), {"qd": 3})
    np.testing.assert_array_equal(clamp([np.nan, 5.0, -5.0]), [np.nan, 1.0, -1.0])
    derivative = clamp.jacobian("qd")([1e-4, 5.0, -5.0])
    np.testing.assert_allclose(derivative, np.diag([1000.0, 0.0, 0.0]))
