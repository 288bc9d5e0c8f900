"""All solutions on tensors: those of the library, with derivatives by the target."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import ShapeError

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch")
DEVICES = ("cpu", *["cuda"] * torch.cuda.is_available())


@pytest.fixture(scope="module")
def scara():
    return dl.torch(dl.load("scara"))


def targets(arm, count):
    robot = arm.system
    return robot.pose(robot.random_state(np.random.default_rng(11), count)[0])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["scara", "ur5"])
def test_they_are_those_of_the_library(name, device):
    arm = dl.torch(dl.load(name))
    T = targets(arm, 5)
    T[4, :3, 3] += 10.0  # out of reach
    q, count, flags = arm.all_inverse_kinematics(torch.tensor(T, device=device))
    expected = arm.system.all_inverse_kinematics(T, turns=False)
    assert count.tolist() == expected.count.tolist() and not flags.any()
    for mine, other, n in zip(q.cpu().numpy(), expected.solutions, count.tolist(), strict=True):
        assert np.isnan(mine[n:]).all()
        order = [np.lexsort(x[:n].round(6).T) for x in (mine, other)]
        np.testing.assert_allclose(mine[order[0]], other[order[1]], rtol=0, atol=1e-10)


@pytest.mark.parametrize("device", DEVICES)
def test_the_gradient_is_that_of_the_implicit_function(scara, device):
    """A target moved by joints moves its nearest solution by the same, in both modes."""
    robot = scara.system
    q = torch.tensor([[0.3, 0.8, 0.2, 0.1], [-0.5, -1.1, 0.1, 0.4]], dtype=torch.float64)
    q = q.to(device).requires_grad_()
    near, solved = scara.inverse_kinematics(scara.pose(q), q0=q.detach())
    assert solved.all()
    np.testing.assert_allclose(near.detach().cpu(), q.detach().cpu(), atol=1e-12)
    weights = torch.tensor([1.0, 2.0, -3.0, 0.5], dtype=torch.float64, device=device)
    (gradient,) = torch.autograd.grad((near * weights).sum(), q)
    np.testing.assert_allclose(gradient.cpu(), weights.expand(2, 4).cpu(), atol=1e-11)
    solve = lambda q: scara.inverse_kinematics(scara.pose(q), q0=q.detach())[0]  # noqa: E731
    dense = torch.func.vmap(torch.func.jacrev(solve))(q.detach())
    identity = np.broadcast_to(np.eye(robot.nq), (2, 4, 4))
    np.testing.assert_allclose(dense.cpu(), identity, atol=1e-11)


def test_nan_rows_do_not_spread(scara):
    T = torch.tensor(targets(scara, 3))
    T[1, 0, 3] += 5.0
    T.requires_grad_()
    q, count, _ = scara.all_inverse_kinematics(T)
    assert count[1] == 0
    torch.nansum(torch.sin(q)).backward()
    assert torch.isfinite(T.grad).all() and (T.grad[1] == 0.0).all() and T.grad[0].abs().max() > 0.1


def test_single_precision_is_refused(scara):
    with pytest.raises(ShapeError, match="float64"):
        scara.all_inverse_kinematics(torch.eye(4))
