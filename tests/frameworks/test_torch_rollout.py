"""Rollouts in PyTorch: one node of its graph, with derivatives of any order and bounded memory."""

import numpy as np
import pytest

import dalembert as dl

torch = pytest.importorskip(
    "torch", reason="PyTorch is gigabytes with its GPU libraries: make test-frameworks installs it"
)
from dalembert.frameworks.rollout import Walk  # noqa: E402
from dalembert.frameworks.torch_system import Sweep, segments  # noqa: E402
from tests.systems.test_time_and_gyroscopic import shaken_pendulum  # noqa: E402

RNG = np.random.default_rng(8)


@pytest.fixture(scope="module")
def rod():
    mass = dl.Parameter("mass", 2.0)
    links = [{"a": 0.5, "mass": mass, "com": (0, 0, 0)}, {"a": 0.4, "mass": 1.0, "com": (0, 0, 0)}]
    return dl.torch(dl.Robot.from_dh(links, convention="standard", gravity=(0, -9.81, 0)))


def tensors(*shapes):
    return [torch.tensor(RNG.normal(size=shape), requires_grad=True) for shape in shapes]


@pytest.mark.parametrize("every", [1, 2, 7])
def test_gradients_by_all_that_a_motion_depends_on(rod, every):
    """States, torques held or of each step, the step itself and a mass, in batches that broadcast."""
    dt = torch.tensor(1e-2, dtype=torch.float64, requires_grad=True)
    mass = torch.tensor([1.5, 2.5, 2.0], dtype=torch.float64, requires_grad=True)
    for shape in [(2,), (3, 2), (7, 1, 2), (7, 3, 2)]:
        q, qd, tau = tensors((3, 2), (1, 2), shape)

        def motion(*x):
            q, qd, tau, dt, mass = x
            options = {"every": every, "parameters": {"mass": mass}}
            return rod.rollout(q, qd, tau, 7, dt, **options)

        assert torch.autograd.gradcheck(motion, (q, qd, tau, dt, mass), fast_mode=True)


def test_the_derivative_of_a_derivative(rod):
    q, qd, tau = tensors((2,), (2,), (4, 2))
    motion = lambda q, tau: rod.rollout(q, qd.detach(), tau, 4, 1e-2, every=3)  # noqa: E731
    assert torch.autograd.gradgradcheck(motion, (q, tau), fast_mode=True)


def test_the_two_ways_agree(rod):
    """The sweep by kernels, and autograd's own way through the ops of the steps."""
    x = tensors((5, 2), (5, 2), (9, 5, 2))
    results = []
    for create_graph in (False, True):
        result = sum((a**2).sum() for a in rod.rollout(*x, 9, 1e-2, every=4))
        results.append(torch.autograd.grad(result, x, create_graph=create_graph))
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b.detach(), rtol=1e-13, atol=1e-13)
    assert not results[0][2][8].any()  # after the last state that is returned


def test_states_are_kept_at_starts_of_segments_only(rod):
    walk = Walk(None, (), (), False, every=100, saves=1, length=10)
    assert segments(walk) == [(k, k + 10) for k in range(0, 100, 10)]
    walk = Walk(None, (), (), False, every=7, saves=2, length=3)
    assert segments(walk) == [(0, 3), (3, 6), (6, 7), (7, 10), (10, 13), (13, 14)]
    sweep = Sweep.__new__(Sweep)
    sweep.walk, sweep.step = walk, type("Step", (), {"at_once": staticmethod(lambda x: x[0] + 1)})
    sweep.inputs = lambda k, state: [state]
    assert sweep.forwards(0) == ([7, 14], {3: 3, 6: 6, 10: 10, 13: 13})


def test_the_step_moves_the_times_of_a_system_that_depends_on_time():
    there = dl.torch(dl.Lagrangian(*shaken_pendulum()))
    q, dt = torch.tensor([0.3], dtype=torch.float64), torch.tensor(1e-2, dtype=torch.float64)
    run = dl.simulate(there.system, [0.3], [0.3], duration=0.2, dt=1e-2, method="rk4")
    result = there.rollout(q, q, None, 20, dt)[0]
    np.testing.assert_allclose(result, run.q.values[1:], rtol=0, atol=1e-13)
    motion = lambda dt: there.rollout(q, q, None, 20, dt, every=5)  # noqa: E731
    assert torch.autograd.gradcheck(motion, dt.requires_grad_())
