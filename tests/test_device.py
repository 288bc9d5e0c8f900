"""The path of CuPy arrays, with a stand-in for CuPy that runs the CUDA kernels on the CPU.

benchmarks/gpu/device_path.py does the same with CuPy on a GPU.
"""

import pickle
import shutil
import sys
from dataclasses import dataclass
from enum import Enum
from types import ModuleType, SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import CompileError, ConstraintError, ShapeError
from dalembert.kernels.cuda import device
from dalembert.kernels.cuda.device import _precision
from dalembert.kernels.cuda.rollout import cuda_rollout
from dalembert.systems.rollouts import iteration
from tests.constraints.states import load_states
from tests.kernels.card import stand_in

pytestmark = pytest.mark.skipif(not shutil.which("g++"), reason="no C++ compiler here")


@dataclass
class Device:
    """A device by its number, or the current one."""

    id: int | None = None
    now: ClassVar[int] = 0

    def __post_init__(self):
        self.id = Device.now if self.id is None else self.id

    def __enter__(self):
        self.before, Device.now = Device.now, self.id

    def __exit__(self, *_):
        Device.now = self.before


class DeviceArray(np.ndarray):
    """An array that says it lies on a GPU, and that NumPy's own functions refuse."""

    __cuda_array_interface__ = property(lambda self: self.__array_interface__)
    device = property(lambda self: Device(self.home))
    data = property(lambda self: SimpleNamespace(ptr=self.ctypes.data, device_id=self.home))

    def __array_finalize__(self, source):
        """Where it is made from another, there; else on the current device."""
        self.home = getattr(source, "home", Device.now)

    def __array_ufunc__(self, *_, **__):
        return NotImplemented

    def max(self, axis):
        return plain(self).max(axis).view(DeviceArray)

    def get(self):
        return plain(self)

    def __float__(self):
        return float(plain(self))

    def __bool__(self):
        return bool(plain(self))

    def __int__(self):
        return int(plain(self))


def _as_cupy_does(name):
    """Operators and methods that CuPy's arrays have of their own."""

    def method(self, *given, **named):
        if any(isinstance(x, Enum) for x in given):
            raise TypeError("CuPy's arrays know plain numbers only")
        found = getattr(plain(self), name)(*map(plain, given), **named)
        return np.asarray(found).view(DeviceArray)

    return method


for _name in ("add", "sub", "mul", "truediv", "eq", "ne", "le", "ge", "and", "invert"):
    setattr(DeviceArray, f"__{_name}__", _as_cupy_does(f"__{_name}__"))
for _name in ("sum", "all", "any"):
    setattr(DeviceArray, _name, _as_cupy_does(_name))


@pytest.fixture
def cupy(monkeypatch, tmp_path):
    made = ModuleType("cupy")
    for name in ("int32", "int64", "dtype", "broadcast_to"):
        setattr(made, name, getattr(np, name))
    made.asarray = lambda x: x if type(x) is DeviceArray else np.asarray(x).view(DeviceArray)
    made.ascontiguousarray = lambda x: np.require(x, requirements="C").view(DeviceArray)
    made.empty = lambda shape, dtype: np.full(shape, np.nan, dtype).view(DeviceArray)
    made.broadcast_to = lambda x, shape: np.broadcast_to(x, shape, subok=True)
    made.cuda = SimpleNamespace(
        get_current_stream=lambda: SimpleNamespace(ptr=7 + Device.now), Device=Device
    )
    monkeypatch.setitem(sys.modules, "cupy", made)
    with stand_in(monkeypatch, tmp_path) as made.card:
        yield made


def plain(x):
    return np.asarray(x).view(np.ndarray)


@pytest.fixture(scope="module")
def robot():
    return dl.load("puma560")


@pytest.fixture(scope="module")
def states(robot):
    return robot.random_state(np.random.default_rng(0), 37)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [False, True])
def test_values_and_layout(cupy, robot, states, dtype, columns):
    given = [x.astype(dtype) for x in states]
    given = [np.asfortranarray(x) if columns else x for x in given]
    tau = robot.inverse_dynamics(*map(cupy.asarray, given))
    assert isinstance(tau, DeviceArray)
    assert tau.dtype == dtype
    assert plain(tau).flags.f_contiguous == columns
    expected = robot.inverse_dynamics(*(x.astype(float) for x in given))
    tolerance = 100 * np.finfo(dtype).eps * np.abs(expected).max()
    np.testing.assert_allclose(plain(tau), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("columns", [False, True])
def test_known_shapes_go_straight_to_their_kernel(cupy, states, columns, monkeypatch):
    """A second call makes results and launches, and nothing else; its numbers are the same."""
    robot = dl.load("puma560")
    place = np.asfortranarray if columns else np.array
    given = [cupy.asarray(place(x)) for x in states]
    other = [cupy.asarray(place(x[::-1])) for x in states]
    quantities = {"inverse_dynamics": 3, "inverse_dynamics_derivatives": 3, "mass_matrix": 1}
    first = {name: getattr(robot, name)(*given[:n]) for name, n in quantities.items()}
    monkeypatch.setattr(device, "flat", None)  # what the general way needs
    for name, n in quantities.items():
        again, turned = (getattr(robot, name)(*x[:n]) for x in (given, other))
        together = (first[name], again, turned)
        for a, b, c in zip(*(x if isinstance(x, tuple) else (x,) for x in together), strict=True):
            assert plain(a).strides == plain(b).strides
            np.testing.assert_array_equal(plain(a), plain(b))
            np.testing.assert_array_equal(plain(a)[::-1], plain(c))
    with pytest.raises(TypeError):  # not known: another shape
        robot.inverse_dynamics(*(x[:5] for x in given))


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
        found = robot.inverse_dynamics(wide, cupy.asarray(qd), cupy.asarray(qdd))
        np.testing.assert_allclose(plain(found), expected, atol=1e-11)
        found = robot.inverse_dynamics(cupy.asarray(q), cupy.asarray(qd[0]), cupy.asarray(qdd))
        np.testing.assert_allclose(plain(found), one, atol=1e-11)
        mixed = cupy.asarray(q), cupy.asarray(qd.astype(np.float32)), cupy.asarray(qdd)
        np.testing.assert_allclose(plain(robot.inverse_dynamics(*mixed)), expected, atol=1e-4)


def test_a_method_serves_the_host_and_the_card_whichever_came_first(cupy, states):
    one = [x[0] for x in states]
    for order in ([0, 1], [1, 0]):
        robot, ways = dl.load("puma560"), [one, [cupy.asarray(x) for x in states]]
        found = {}
        for k in [*order, *order]:
            found[k] = robot.inverse_dynamics(*ways[k])
        assert type(found[0]) is np.ndarray and isinstance(found[1], DeviceArray)
        np.testing.assert_allclose(found[0], plain(found[1])[0], atol=1e-11)
        again = pickle.loads(pickle.dumps(robot.inverse_dynamics))
        np.testing.assert_array_equal(again(*one), found[0])
        assert "puma560" in repr(pickle.loads(pickle.dumps(robot)))


def test_several_outputs_broadcast_and_strided(cupy, robot, states):
    q, qd, qdd = states
    wide = np.repeat(q, 2, axis=1)[:, ::2]
    found = robot.inverse_dynamics_derivatives(
        cupy.asarray(wide), cupy.asarray(qd[0]), cupy.asarray(qdd)
    )
    expected = robot.inverse_dynamics_derivatives(q, np.broadcast_to(qd[0], qd.shape), qdd)
    for a, b in zip(found, expected, strict=True):
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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_closed_chains_where_their_arrays_lie(cupy, dtype):
    closed, *state = load_states("four_bar", count=5)
    given = [x.astype(dtype) for x in state]
    qdd, lam = closed.forward_dynamics(*map(cupy.asarray, given))
    expected = closed.forward_dynamics(*given)
    assert isinstance(qdd, DeviceArray) and qdd.dtype == dtype
    atol = 1e4 * np.finfo(dtype).eps * np.abs(expected[1]).max()
    np.testing.assert_allclose(plain(qdd), expected[0], rtol=0, atol=atol)
    np.testing.assert_allclose(plain(lam), expected[1], rtol=0, atol=atol)
    given[0][2], given[2][4] = given[0][2] + 0.1, np.nan
    on_device = [cupy.asarray(x) for x in given]
    found = closed.forward_dynamics(*on_device, errors="flag")
    np.testing.assert_array_equal(plain(found.status), [0, 0, 2, 0, 4])
    assert isinstance(found.status, DeviceArray)
    np.testing.assert_allclose(plain(found.qdd)[:2], expected[0][:2], rtol=0, atol=atol)
    found = closed.inverse_dynamics(*on_device, errors="flag")
    np.testing.assert_array_equal(plain(found.status), [0, 0, 2, 0, 4])


def test_results_too_wide_for_rows_lie_in_columns(cupy):
    """Six slopes of a gripper are more than a warp's shared memory holds in double precision."""
    closed = dl.load("robotiq_2f85")
    q = closed.neutral()
    given = [np.stack([x] * 3) for x in (q, np.zeros(closed.nv), np.ones(closed.nv))]
    found = closed.forward_dynamics_derivatives(*map(cupy.asarray, given))
    expected = closed.forward_dynamics_derivatives(*given)
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(plain(a), b, rtol=0, atol=1e-9 * (1.0 + np.abs(b).max()))


def test_bad_states_on_the_device_are_said_in_words(cupy):
    closed, *state = load_states("pendulum_constrained", count=3)
    q = np.zeros((3, 2))  # where the rod is not there
    with pytest.raises(ConstraintError, match="2 other states"):
        closed.forward_dynamics(*map(cupy.asarray, (q, state[1], state[2])))
    side = np.array([[1.0, 0.0], [0.0, -1.0]])
    rest = cupy.asarray(np.zeros((2, 2)))
    found = closed.forward_dynamics(cupy.asarray(side), rest, rest, formulation="elimination")
    np.testing.assert_allclose(plain(found[0]), [[0.0, -9.81], [0.0, 0.0]], atol=1e-12)


def test_a_wrong_shape_is_named(cupy, robot):
    with pytest.raises(ShapeError, match=r"puma560\.mass_matrix: q must be \(\.\.\., 6\)"):
        robot.mass_matrix(cupy.asarray(np.zeros((4, 5))))


def test_parameters_from_the_host_keep_single_precision(cupy):
    rod = dl.Robot.from_dh(
        [{"a": dl.Parameter("length", 0.7), "mass": 2.0, "com": [-0.3, 0.0, 0.0]}],
        convention="standard",
    )
    q = np.linspace(-1, 1, 5, dtype="float32")[:, None]
    found = rod.gravity_torque(cupy.asarray(q), parameters={"length": 0.9})
    assert found.dtype == np.float32
    expected = rod.gravity_torque(q.astype(float), parameters={"length": 0.9})
    np.testing.assert_allclose(plain(found), expected, rtol=1e-5, atol=1e-6)


def test_any_compiled_function(cupy):
    length = dl.compile_function(lambda x: np.sqrt(x @ x), {"x": 3})
    x = np.arange(12.0).reshape(4, 3)
    np.testing.assert_allclose(plain(length(cupy.asarray(x))), length(x), rtol=1e-15)


@pytest.mark.parametrize("method", ["rk4", "semi_implicit"])
@pytest.mark.parametrize("moving", [False, True])
def test_rollouts(cupy, robot, states, method, moving):
    q, qd, tau = states
    tau = np.stack([tau * k for k in range(6)]) if moving else tau
    arguments = {"steps": 6, "dt": 1e-3, "method": method, "every": 2}
    found = robot.rollout(*map(cupy.asarray, (q, qd, tau)), **arguments)
    for a, b in zip(found, robot.rollout(q, qd, tau, **arguments), strict=True):
        assert isinstance(a, DeviceArray)
        np.testing.assert_allclose(plain(a), b, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rollouts_of_closed_chains_and_laws_where_their_arrays_lie(cupy, dtype):
    """Newton's steps, time and a controller inside the kernel; lost runs are flagged on the device."""
    closed, *state = load_states("four_bar", count=37)
    q, qd, tau = (x.astype(dtype) for x in state)
    options = {"steps": 4, "dt": 1e-3, "every": 2, "errors": "flag"}
    tau[3], q[5, 0] = 1e9, np.nan
    found = closed.rollout(*map(cupy.asarray, (q, qd, tau)), **options)
    expected = closed.rollout(q, qd, tau, **options)
    assert isinstance(found.status, DeviceArray) and found.q.dtype == dtype
    np.testing.assert_array_equal(plain(found.status), expected.status)
    assert (expected.status[[3, 5]] == [dl.Status.LOST, dl.Status.NOT_FINITE]).all()
    atol = 1e4 * np.finfo(dtype).eps
    np.testing.assert_allclose(plain(found.q), expected.q, rtol=0, atol=atol)
    law = dl.control.ComputedTorque(closed, target=closed.neutral(), kp=5.0, kd=1.0)
    found = closed.rollout(cupy.asarray(q[:3]), cupy.asarray(qd[:3]), law, 4, 1e-3)
    expected = closed.rollout(q[:3], qd[:3], law, 4, 1e-3)
    np.testing.assert_allclose(plain(found[0]), expected[0], rtol=0, atol=atol)


def test_runs_with_steps_of_their_own_where_their_arrays_lie(cupy, monkeypatch):
    """Tries, states within steps and flags as on the CPU; more runs than a warp has, one no number."""
    monkeypatch.setenv("DALEMBERT_CHECK", "1")
    robot = dl.load("planar_2r")
    speeds = np.geomspace(0.1, 10.0, 37)[:, None]
    q, qd, tau = robot.random_state(np.random.default_rng(0), 37)
    qd, q[5, 0] = speeds * qd, np.nan
    how = {"steps": 10, "dt": 0.02, "every": 2, "method": "RK45", "rtol": 1e-7}
    found = robot.rollout(*map(cupy.asarray, (q, qd)), tau[0], **how, errors="flag")
    expected = robot.rollout(q, qd, tau[0], **how, errors="flag")
    assert isinstance(found.q, DeviceArray) and isinstance(found.qd, DeviceArray)
    np.testing.assert_array_equal(plain(found.status), expected.status)
    assert expected.status[5] == dl.Status.NOT_FINITE and (expected.status[6:] == 0).all()
    np.testing.assert_array_equal(plain(found.tries), expected.tries)
    assert expected.tries.max() > 5 * expected.tries[0]
    for a, b in zip(found[:2], expected[:2], strict=True):
        np.testing.assert_allclose(plain(a), b, rtol=1e-9, atol=1e-9)
    with pytest.raises(dl.SimulationError, match="after 3 of max_steps=3 steps tried"):
        robot.rollout(*map(cupy.asarray, (q[:2], qd[:2])), tau[0], **how, max_steps=3)
    assert robot.rollout(*map(cupy.asarray, (q[:0], qd[:0])), tau[0], **how)[0].shape == (5, 0, 2)


def test_closed_chains_with_steps_of_their_own_where_their_arrays_lie(cupy):
    """Newton's steps after every try and at every saved time, with the state of a law."""
    closed, q, qd, _ = load_states("four_bar", count=3)
    law = dl.control.ComputedTorque(closed, target=closed.neutral(), kp=5.0, kd=1.0)
    how = {"steps": 20, "dt": 1e-3, "every": 5, "method": "RK23", "rtol": 1e-6}
    found = closed.rollout(cupy.asarray(q), cupy.asarray(qd), law, **how)
    for a, b in zip(found, closed.rollout(q, qd, law, **how), strict=True):
        np.testing.assert_allclose(plain(a), b, rtol=0, atol=1e-9)
    assert np.abs(closed.residual(plain(found[0]))).max() < 1e-13


def test_actuators_and_runs_under_controls_where_their_arrays_lie(cupy):
    """A servo with an activation and limits: forces, rates, and activations in a rollout."""
    arm = dl.load("planar_2r")
    joints = arm.model.velocities
    servo = {"gain": [9.0], "bias": [0.0, -9.0, -1.0], "force_range": (-4.0, 5.0)}
    filtered = dl.Actuator("a", joints[0], dynamics="filter", time_constant=0.1, **servo)
    robot = arm.with_actuators([filtered, dl.Actuator("b", joints[1], **servo)])
    q, qd, u = arm.random_state(np.random.default_rng(0), 37)
    w = 0.1 * u[:, :1]
    on = [cupy.asarray(x) for x in (q, qd, u, w)]
    forces = robot.actuator_forces(*on)
    assert isinstance(forces, DeviceArray)
    np.testing.assert_allclose(plain(forces), robot.actuator_forces(q, qd, u, w), atol=1e-12)
    rate = robot.activation_rate(*on[2:])
    np.testing.assert_allclose(plain(rate), robot.activation_rate(u, w), rtol=1e-12)
    options = {"steps": 3, "dt": 1e-3}
    found = robot.rollout(*on[:2], None, controls=on[2], activation=on[3], **options)
    expected = robot.rollout(q, qd, None, controls=u, activation=w, **options)
    assert len(found) == 3
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(plain(a), b, rtol=1e-11, atol=1e-11)


def test_the_report_says_how_it_is_launched(cupy, robot):
    report = robot.device_kernel("inverse_dynamics").report("float64", "column")
    assert report.registers == 40
    assert report.threads % 32 == 0


def test_without_cupy_the_extra_is_named(monkeypatch, states):
    monkeypatch.setitem(sys.modules, "cupy", None)
    robot = dl.load("puma560")
    with pytest.raises(CompileError, match=r"pip install 'dalembert\[gpu\]'"):
        robot.mass_matrix(states[0].view(DeviceArray))


@pytest.mark.parametrize("kind", ["bool", "int8", "uint8", "int16", "float16", "int64", "float64"])
def test_only_float32_on_the_device_computes_in_float32(kind):
    class OnDevice:
        __cuda_array_interface__ = None

        def __init__(self, dtype):
            self.dtype = dtype

    single = OnDevice("torch.float32")
    assert _precision([single, [1.0, 2.0]]) == "float32"
    assert _precision([OnDevice(kind)]) == "float64"
    assert _precision([single, OnDevice(np.dtype(kind))]) == "float64"


@pytest.mark.parametrize("columns", [False, True])
def test_a_kernel_that_is_not_its_programs_is_found_by_the_check(cupy, monkeypatch, columns):
    monkeypatch.setenv("DALEMBERT_CHECK", "1")
    robot, other = dl.load("planar_2r"), dl.load("planar_2r", l1=1.5)
    q = np.linspace(0.1, 0.9, 40).reshape(20, 2)
    given = cupy.asarray(np.asfortranarray(q) if columns else q)
    robot.device_kernel("mass_matrix")._source = other.device_kernel("mass_matrix")._source
    for _ in range(2):
        with pytest.raises(
            CompileError, match=r"CHECK: mass_matrix: the CUDA kernel gives M\[0, 0\]"
        ):
            robot.mass_matrix(given)
    right = dl.load("planar_2r").mass_matrix(given)
    np.testing.assert_allclose(plain(right), robot.mass_matrix(q), rtol=1e-12)


@pytest.mark.parametrize("moving", [False, True])
def test_a_rollout_that_is_not_its_programs_is_found_by_the_check(cupy, monkeypatch, moving):
    monkeypatch.setenv("DALEMBERT_CHECK", "1")
    robot, other = dl.load("planar_2r"), dl.load("planar_2r", l1=1.5)
    q, qd, tau = np.random.default_rng(0).standard_normal((3, 20, 2))
    given = [cupy.asarray(x) for x in (q, qd, np.stack([tau] * 4) if moving else tau)]
    mistaken = iteration(other.dynamics.bound(), "rk4")
    with monkeypatch.context() as patch:
        patch.setattr(device, "cuda_rollout", lambda _, *rest: cuda_rollout(mistaken, *rest))
        for _ in range(2):
            with pytest.raises(CompileError, match="the CUDA kernel gives q"):
                robot.rollout(*given, steps=4, dt=0.01)
    found = dl.load("planar_2r").rollout(*given, steps=4, dt=0.01)
    expected = robot.rollout(*(plain(x) for x in given), steps=4, dt=0.01)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(plain(a), b, rtol=1e-11, atol=1e-11)
