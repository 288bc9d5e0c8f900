"""Tensors on a card that is not there: how kernels are launched for PyTorch, on host memory."""

import shutil

import numpy as np
import pytest

import dalembert as dl
from dalembert.systems.derivatives import quantity_operation
from tests.kernels.card import near, stand_in

torch = pytest.importorskip(
    "torch", reason="PyTorch is gigabytes with its GPU libraries: make test-frameworks installs it"
)
from dalembert.frameworks.facade import spread  # noqa: E402
from dalembert.frameworks.torch_op import TorchLaunch, joined  # noqa: E402

pytestmark = pytest.mark.skipif(not shutil.which("g++"), reason="no C++ compiler here")
RNG = np.random.default_rng(3)


@pytest.fixture
def card(monkeypatch, tmp_path):
    """A CUDA driver on the host, and PyTorch's part of CUDA replaced."""
    monkeypatch.setattr(torch._C, "_cuda_getDevice", lambda: 0, raising=False)
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda index: 7, raising=False)
    with stand_in(monkeypatch, tmp_path) as driver:
        yield driver


class Host:
    """A tensor on the host that says it lies on a card."""

    def __init__(self, tensor, index=0):
        self.tensor, self.index, self.device = tensor, index, torch.device("cuda", index)

    def __getattr__(self, name):
        return getattr(self.tensor, name)

    def get_device(self):
        return self.index

    def expand(self, *shape):
        return Host(self.tensor.expand(*shape))

    def contiguous(self):
        return Host(self.tensor.contiguous())

    def new_empty(self, shape):
        return torch.full(shape, torch.nan, dtype=self.tensor.dtype)


def launched(name, quantity):
    """The launches of an operation."""
    robot = dl.load(name)
    operation = quantity_operation(robot, robot._variant(quantity, None, {}))
    return robot, TorchLaunch(spread(operation))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_batches_of_every_kind(card, dtype):
    robot, bias = launched("planar_2r", "bias")
    kind = getattr(torch, dtype)
    rows = torch.tensor(RNG.normal(size=(3, 4, 2)), dtype=kind)
    turned = torch.tensor(RNG.normal(size=(2, 4, 3)), dtype=kind).permute(2, 1, 0)
    five = torch.tensor(RNG.normal(size=(2, 1, 2, 1, 2)), dtype=kind)
    for q, qd in [
        (rows, rows),
        (rows[:, ::2], rows[:, 1::2]),
        (turned, rows),
        (rows[:1], rows[:, :1]),
        (rows[0, 0], rows[0, 0]),
        (five, five.transpose(0, 1).transpose(2, 3)),
    ]:
        batch = torch.broadcast_shapes(q.shape[:-1], qd.shape[:-1])
        for _ in range(2):  # the second one is done as the first was
            (result,) = bias([Host(q), Host(qd)], lambda _, batch=batch: [(*batch, 2)])
        near(result.numpy(), robot.bias(q.double().numpy(), qd.double().numpy()), dtype)
    assert {launch[1:] for launch in card.launches} == {(32, 7)}
    assert len(card.launches) == 12


def test_no_states_and_two_devices(card):
    _, bias = launched("planar_2r", "bias")
    none, one = torch.zeros(0, 2, dtype=torch.float64), torch.zeros(5, 2, dtype=torch.float64)
    assert bias([Host(none), Host(none)], lambda _: [(0, 2)])[0].shape == (0, 2)
    assert card.launches == []
    with pytest.raises(RuntimeError, match="on cuda:0 and cuda:1"):
        bias([Host(one), Host(one, 1)], lambda _: [(5, 2)])


def test_axes_that_go_on_evenly_are_one():
    assert joined((3, 4), [(8, 2), (8, 2)]) == [(12, [2, 2])]
    assert joined((3, 4), [(8, 2), (0, 2)]) == [(4, [2, 2]), (3, [8, 0])]
    assert joined((1, 4, 1), [(99, 2, 99)]) == [(4, [2])]
    assert joined((), [()]) == []
