"""The path of CuPy arrays, with a stand-in for CuPy that runs the CUDA kernels on the CPU.

benchmarks/gpu/device_path.py does the same with CuPy on a GPU.
"""

import pickle
import shutil
import sys

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import CompileError, ShapeError
from dalembert.kernels.cuda import device
from dalembert.kernels.cuda.device import _common_dtype
from tests.device.cupy_on_host import Device, DeviceArray, plain

pytestmark = pytest.mark.skipif(not shutil.which("g++"), reason="no C++ compiler here")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [False, True])
def test_values_and_layout(cupy, robot, states, dtype, columns):
    inputs = [x.astype(dtype) for x in states]
    inputs = [np.asfortranarray(x) if columns else x for x in inputs]
    tau = robot.inverse_dynamics(*map(cupy.asarray, inputs))
    assert isinstance(tau, DeviceArray)
    assert tau.dtype == dtype
    assert plain(tau).flags.f_contiguous == columns
    expected = robot.inverse_dynamics(*(x.astype(float) for x in inputs))
    tolerance = 100 * np.finfo(dtype).eps * np.abs(expected).max()
    np.testing.assert_allclose(plain(tau), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("columns", [False, True])
def test_known_shapes_go_straight_to_their_kernel(cupy, states, columns, monkeypatch):
    """A second call makes results and launches, and nothing else; its numbers are the same."""
    robot = dl.load("puma560")
    arrange = np.asfortranarray if columns else np.array
    inputs = [cupy.asarray(arrange(x)) for x in states]
    other = [cupy.asarray(arrange(x[::-1])) for x in states]
    quantities = {"inverse_dynamics": 3, "inverse_dynamics_derivatives": 3, "mass_matrix": 1}
    first = {name: getattr(robot, name)(*inputs[:n]) for name, n in quantities.items()}
    monkeypatch.setattr(device, "flatten_states", None)  # what the general way needs
    for name, n in quantities.items():
        again, turned = (getattr(robot, name)(*x[:n]) for x in (inputs, other))
        together = (first[name], again, turned)
        for a, b, c in zip(*(x if isinstance(x, tuple) else (x,) for x in together), strict=True):
            assert plain(a).strides == plain(b).strides
            np.testing.assert_array_equal(plain(a), plain(b))
            np.testing.assert_array_equal(plain(a)[::-1], plain(c))
    with pytest.raises(TypeError):  # not known: another shape
        robot.inverse_dynamics(*(x[:5] for x in inputs))


def test_arrays_are_computed_where_they_lie(cupy, states):
    """On cuda:1 while cuda:0 is current: its stream, results there, and the host's numbers follow."""
    robot = dl.load("puma560")
    with Device(1):
        q, qd = (cupy.asarray(np.array(x)) for x in states[:2])
    for _ in range(2):  # the second time by what is remembered of the first
        tau = robot.inverse_dynamics(q, qd, states[2])
        moved = robot.inverse_dynamics(q, qd, qd)
        assert tau.home == moved.home == 1 and Device.now == 0
    assert {stream for *_, stream in cupy.card.launches} == {8}
    saved = robot.rollout(q, qd, states[2], 4, 1e-3, every=2)
    assert [x.home for x in saved] == [1, 1]


def test_arrays_on_two_devices_are_refused_by_name(cupy, states):
    robot, q = dl.load("puma560"), cupy.asarray(np.array(states[0]))
    with Device(1):
        qd = cupy.asarray(np.array(states[1]))
    for _ in range(2):
        with pytest.raises(ShapeError, match="q is on cuda:0 and qd on cuda:1: bring them to one"):
            robot.inverse_dynamics(q, qd, states[2])
    with pytest.raises(ShapeError, match="q is on cuda:0 and qd on cuda:1"):
        robot.rollout(q, qd, states[2], 4, 1e-3)


def test_what_needs_a_copy_is_copied_every_time(cupy, states):
    """Strided, broadcast and mixed arrays are never taken for those that were read in place."""
    robot, (q, qd, qdd) = dl.load("puma560"), states
    wide = cupy.asarray(np.repeat(q, 2, axis=1)[:, ::2])
    expected = robot.inverse_dynamics(q, qd, qdd)
    one = robot.inverse_dynamics(q, np.broadcast_to(qd[0], qd.shape), qdd)
    for _ in range(3):
        results = robot.inverse_dynamics(wide, cupy.asarray(qd), cupy.asarray(qdd))
        np.testing.assert_allclose(plain(results), expected, atol=1e-11)
        results = robot.inverse_dynamics(cupy.asarray(q), cupy.asarray(qd[0]), cupy.asarray(qdd))
        np.testing.assert_allclose(plain(results), one, atol=1e-11)
        mixed = cupy.asarray(q), cupy.asarray(qd.astype(np.float32)), cupy.asarray(qdd)
        np.testing.assert_allclose(plain(robot.inverse_dynamics(*mixed)), expected, atol=1e-4)


def test_a_method_serves_the_host_and_the_card_whichever_came_first(cupy, states):
    one = [x[0] for x in states]
    for order in ([0, 1], [1, 0]):
        robot, calls = dl.load("puma560"), [one, [cupy.asarray(x) for x in states]]
        results = {}
        for k in [*order, *order]:
            results[k] = robot.inverse_dynamics(*calls[k])
        assert type(results[0]) is np.ndarray and isinstance(results[1], DeviceArray)
        np.testing.assert_allclose(results[0], plain(results[1])[0], atol=1e-11)
        again = pickle.loads(pickle.dumps(robot.inverse_dynamics))
        np.testing.assert_array_equal(again(*one), results[0])
        assert "puma560" in repr(pickle.loads(pickle.dumps(robot)))


def test_several_outputs_broadcast_and_strided(cupy, robot, states):
    q, qd, qdd = states
    wide = np.repeat(q, 2, axis=1)[:, ::2]
    results = robot.inverse_dynamics_derivatives(
        cupy.asarray(wide), cupy.asarray(qd[0]), cupy.asarray(qdd)
    )
    expected = robot.inverse_dynamics_derivatives(q, np.broadcast_to(qd[0], qd.shape), qdd)
    for a, b in zip(results, expected, strict=True):
        np.testing.assert_allclose(plain(a), b, rtol=0, atol=1e-12 * np.abs(b).max())


def test_results_in_given_arrays(cupy, robot, states):
    q, out = cupy.asarray(states[0]), cupy.empty((37, 6, 6), "float64")
    assert robot.mass_matrix(q, out=out) is out
    np.testing.assert_allclose(plain(out), robot.mass_matrix(states[0]), rtol=1e-12, atol=1e-13)


def test_one_state_and_none(cupy, robot, states):
    one = robot.mass_matrix(cupy.asarray(states[0][3]))
    assert one.shape == (6, 6)
    np.testing.assert_allclose(plain(one), robot.mass_matrix(states[0][3]), rtol=1e-12, atol=1e-13)
    assert robot.mass_matrix(cupy.asarray(np.zeros((0, 6)))).shape == (0, 6, 6)


def test_a_wrong_shape_is_named(cupy, robot):
    with pytest.raises(ShapeError, match=r"puma560\.mass_matrix: q must be \(\.\.\., 6\)"):
        robot.mass_matrix(cupy.asarray(np.zeros((4, 5))))


def test_parameters_from_the_host_keep_single_common_dtype(cupy):
    rod = dl.Robot.from_dh(
        [{"a": dl.Parameter("length", 0.7), "mass": 2.0, "com": [-0.3, 0.0, 0.0]}],
        convention="standard",
    )
    q = np.linspace(-1, 1, 5, dtype="float32")[:, None]
    results = rod.gravity_torque(cupy.asarray(q), parameters={"length": 0.9})
    assert results.dtype == np.float32
    expected = rod.gravity_torque(q.astype(float), parameters={"length": 0.9})
    np.testing.assert_allclose(plain(results), expected, rtol=1e-5, atol=1e-6)


def test_any_compiled_function(cupy):
    length = dl.compile_function(lambda x: np.sqrt(x @ x), {"x": 3})
    x = np.arange(12.0).reshape(4, 3)
    np.testing.assert_allclose(plain(length(cupy.asarray(x))), length(x), rtol=1e-15)


def test_the_report_says_how_it_is_launched(cupy, robot):
    report = robot.device_kernel("inverse_dynamics").report("float64", "column")
    assert report.registers == 40
    assert report.threads % 32 == 0


def test_without_cupy_the_extra_is_named(monkeypatch, states):
    monkeypatch.setitem(sys.modules, "cupy", None)
    robot = dl.load("puma560")
    with pytest.raises(CompileError, match=r"pip install cupy-cuda12x \(the extra \[gpu\]\)"):
        robot.mass_matrix(states[0].view(DeviceArray))


@pytest.mark.parametrize("kind", ["bool", "int8", "uint8", "int16", "float16", "int64", "float64"])
def test_only_float32_on_the_device_computes_in_float32(kind):
    class OnDevice:
        __cuda_array_interface__ = None

        def __init__(self, dtype):
            self.dtype = dtype

    single = OnDevice("torch.float32")
    assert _common_dtype([single, [1.0, 2.0]]) == "float32"
    assert _common_dtype([OnDevice(kind)]) == "float64"
    assert _common_dtype([single, OnDevice(np.dtype(kind))]) == "float64"


@pytest.mark.parametrize("columns", [False, True])
def test_a_kernel_that_is_not_its_programs_is_found_by_the_check(cupy, monkeypatch, columns):
    monkeypatch.setenv("DALEMBERT_CHECK", "1")
    robot, other = dl.load("planar_2r"), dl.load("planar_2r", l1=1.5)
    q = np.linspace(0.1, 0.9, 40).reshape(20, 2)
    inputs = cupy.asarray(np.asfortranarray(q) if columns else q)
    robot.device_kernel("mass_matrix")._source = other.device_kernel("mass_matrix")._source
    for _ in range(2):
        with pytest.raises(
            CompileError, match=r"CHECK: mass_matrix: the CUDA kernel gives M\[0, 0\]"
        ):
            robot.mass_matrix(inputs)
    right = dl.load("planar_2r").mass_matrix(inputs)
    np.testing.assert_allclose(plain(right), robot.mass_matrix(q), rtol=1e-12)
