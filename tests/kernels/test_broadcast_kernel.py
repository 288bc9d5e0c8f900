"""Kernels that broadcast where their inputs lie, and how they are launched."""

import shutil

import numpy as np
import pytest

import dalembert as dl
from dalembert.kernels.cuda.driver import MAX_SMALL_BATCH, LoadedKernel
from dalembert.kernels.cuda.launch import BroadcastKernel
from tests.kernels.card import near, stand_in
from tests.kernels.frame import STREAM, Frame, traits

pytestmark = pytest.mark.skipif(not shutil.which("g++"), reason="no C++ compiler here")


@pytest.fixture
def card(monkeypatch, tmp_path):
    with stand_in(monkeypatch, tmp_path) as host_card:
        yield host_card


def computed(kernel, dtype, arrays, batch):
    """The outputs, each input of the batch's rank, 1 long where it is broadcast."""
    steps = []
    for x, port in zip(arrays, kernel.program.inputs, strict=True):
        lead = x.shape[: x.ndim - len(port.shape)]
        strides = np.array(x.strides[: len(lead)], int) // x.itemsize
        steps.append(np.where(np.array(lead, int) == 1, 0, strides)[::-1])
    axes = [(n, [int(s[k]) for s in steps]) for k, n in enumerate(batch[::-1])]
    outs = [np.full((*batch, *p.shape), np.nan, dtype) for p in kernel.program.outputs]
    kernel.planned(dtype, 0, axes)(7, [x.ctypes.data for x in (*arrays, *outs)])
    return outs


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("quantity", ["inverse_dynamics", "inverse_dynamics_derivatives"])
def test_inputs_broadcast_along_every_axis(card, quantity, dtype):
    """Narrow results straight to memory, wide ones through shared memory."""
    robot = dl.load("elbow_3r")
    kernel = BroadcastKernel(robot.program(quantity), quantity)
    rng = np.random.default_rng(0)
    for leads in [((5,), (5,), (5,)), ((2, 1, 7), (1, 3, 1), (2, 3, 7)), ((37, 1), (1, 1), (1, 2))]:
        x = [rng.normal(size=(*lead, 3)).astype(dtype) for lead in leads]
        batch = np.broadcast_shapes(*leads)
        results = computed(kernel, dtype, x, batch)
        expected = robot.evaluate(quantity, *(a.astype(float) for a in x))
        for a, b in zip(
            results, expected if isinstance(expected, tuple) else (expected,), strict=True
        ):
            near(a, b, dtype)
    assert card.launches == [(1, 32, 7), (2, 32, 7), (3, 32, 7)]


def test_rows_too_wide_for_shared_memory_are_written_straight(card):
    program = dl.compile_function(
        lambda x: np.stack([x * k for k in range(1, 500)]), {"x": ()}
    ).program
    x = np.arange(40.0)
    (results,) = computed(BroadcastKernel(program, "wide"), "float64", [x], (40,))
    np.testing.assert_array_equal(results, x[:, None] * np.arange(1, 500))


def test_nothing_is_launched_for_no_states(card):
    kernel = BroadcastKernel(dl.load("planar_2r").program("gravity_torque"), "gravity")
    assert computed(kernel, "float64", [np.zeros((0, 2))], (0,))[0].shape == (0, 2)
    assert card.launches == []


def test_small_batches_are_blocks_of_one_warp():
    kernel = LoadedKernel(1, 128)
    assert kernel.geometry(33) == (2, 32)
    assert kernel.geometry(MAX_SMALL_BATCH) == (MAX_SMALL_BATCH // 32, 32)
    assert kernel.geometry(MAX_SMALL_BATCH + 1) == (MAX_SMALL_BATCH // 128 + 1, 128)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_handler_launches_on_the_stream_of_xla(card, dtype):
    robot = dl.load("planar_2r")
    kernel = BroadcastKernel(robot.program("mass_matrix"), "mass")
    bias = BroadcastKernel(robot.program("bias"), "bias")
    rng = np.random.default_rng(0)
    for leads in [((), ()), ((5,), (5,)), ((4, 1, 3), (1, 40, 1)), ((2, 1, 2, 1), (1, 2, 1, 2))]:
        q, qd = (rng.normal(size=(*lead, 2)).astype(dtype) for lead in leads)
        for launched, arguments, expected in (
            (kernel, [q], robot.mass_matrix(q.astype(float))),
            (bias, [q, qd], robot.bias(q.astype(float), qd.astype(float))),
        ):
            out = np.full(expected.shape, np.nan, dtype)
            address, _owner = launched.handler(dtype)
            assert Frame(arguments, [out]).call(address) is None
            near(out, expected, dtype)
    blocks = [launch[0] for launch in card.launches]
    assert blocks == [1, 1, 1, 1, 1, 15, 1, 1, 1]  # only the last one is in two pieces
    assert {stream for _, _, stream in card.launches} == {STREAM}


def test_the_handler_says_what_went_wrong(card):
    address, _owner = BroadcastKernel(dl.load("planar_2r").program("bias"), "bias").handler(
        "float64"
    )
    assert traits(address) == [0, 1, 1]  # version 0.1, and that it may be recorded in a graph
    x = [np.ones((0, 2)) for _ in range(3)]
    assert Frame(x[:2], x[2:]).call(address) is None and card.launches == []
    x = [np.ones((5, 2)) for _ in range(3)]
    assert Frame(x[:2], x[2:], stream=None).call(address) == 99  # XLA's own error
    card.code = 719
    frame = Frame(x[:2], x[2:])
    assert frame.call(address) == 77
    assert frame.errors == [("dalembert: cuLaunchKernel failed with CUDA error 719", 13)]
