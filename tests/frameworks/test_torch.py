"""Systems on PyTorch tensors: the same numbers, PyTorch's own checks of ops, words for mistakes."""

import multiprocessing
import pickle
import sys
import threading

import numpy as np
import pytest

import dalembert as dl
from dalembert.frameworks.facade import Argument
from dalembert.systems.derivatives import quantity_operation
from tests.frameworks.six import system
from tests.kernels.complex_step import directional

torch = pytest.importorskip(
    "torch", reason="PyTorch is gigabytes with its GPU libraries: make test-frameworks installs it"
)
from dalembert.frameworks.torch_op import op  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.jit.script.*"),
    pytest.mark.filterwarnings("ignore:There is a performance drop"),
    pytest.mark.filterwarnings("ignore:Please use .torch.vmap"),
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf"),
]
RNG = np.random.default_rng(5)
BATCHES = [((), (), ()), ((5,), (5,), (5,)), ((0,), (1,), ()), ((3, 1, 2), (1, 7, 1), (2,))]
ONES = torch.ones(3, dtype=torch.float64)


@pytest.fixture(scope="module")
def arm():
    return dl.torch(dl.load("elbow_3r"))


def random(*shape, **kind):
    return torch.tensor(RNG.normal(size=shape), **kind)


def same(result, expected):
    result = result if isinstance(result, tuple | list) else (result,)
    expected = expected if isinstance(expected, tuple | list) else (expected,)
    for x, y in zip(result, expected, strict=True):
        assert x.numpy().dtype == np.asarray(y).dtype
        np.testing.assert_array_equal(x.numpy(), y)


def near(result, expected, tolerance=1e-12):
    result, expected = np.asarray(result), np.asarray(expected)
    atol = tolerance * max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(result, expected, rtol=0, atol=atol)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_results_are_those_of_the_ufunc_to_the_bit(arm, batch, dtype):
    x = [random(*lead, 3, dtype=dtype) for lead in batch]
    numbers = [a.numpy() for a in x]
    same(arm.forward_dynamics(*x), arm.system.forward_dynamics(*numbers))
    same(arm.kinetic_energy(*x[:2]), np.asarray(arm.system.kinetic_energy(*numbers[:2])))
    several = arm.system.inverse_dynamics_derivatives(*numbers)
    same(arm.inverse_dynamics_derivatives(*x), several)
    tracked = arm.forward_dynamics(x[0].requires_grad_(), *x[1:])
    assert tracked.requires_grad
    same(tracked.detach(), arm.system.forward_dynamics(*numbers))


def test_memory_that_does_not_lie_in_rows(arm):
    x = random(3, 2, 8).transpose(0, 2)[::2]
    same(arm.bias(x, x), arm.system.bias(x.numpy(), x.numpy()))
    same(arm.bias(x[:1].expand(4, 2, 3), x), arm.system.bias(x[:1].numpy(), x.numpy()))


def test_the_short_way_gives_what_the_long_way_gives():
    """From the second call on tensors that fit go to the op at once; what does not fit is as before."""
    there, robot = dl.torch(dl.load("planar_2r")), dl.load("planar_2r")
    x = [random(5, 2) for _ in range(3)]
    numbers = [a.numpy() for a in x]
    for _ in range(2):
        same(there.inverse_dynamics(*x), robot.inverse_dynamics(*numbers))
        transform = {"formulation": "lagrange"}
        same(there.inverse_dynamics(*x, **transform), robot.inverse_dynamics(*numbers, **transform))
        same(there.inverse_dynamics(*x[:2], x[2].tolist()), robot.inverse_dynamics(*numbers))
        one = robot.inverse_dynamics(numbers[0][0], *numbers[1:])
        same(there.inverse_dynamics(x[0][0], *x[1:]), one)
        with pytest.raises(dl.ShapeError, match=r"qd has shape \(5, 1\)"):
            there.inverse_dynamics(x[0], x[1][:, :1], x[2])
        with pytest.raises(dl.ShapeError, match="q is float32 and qd is float64"):
            there.inverse_dynamics(x[0].float(), *x[1:])


def test_a_method_of_a_subclass_is_not_passed_over():
    class Doubled(dl.Robot):
        def gravity_torque(self, q, **arguments):
            return 2 * self._evaluate("gravity_torque", (q,), **arguments)

    there, plain = dl.torch(Doubled(dl.load("planar_2r").model)), dl.torch(dl.load("planar_2r"))
    q = random(3, 2)
    for _ in range(2):
        assert torch.equal(there.gravity_torque(q), 2 * plain.gravity_torque(q))


def test_tensors_left_over_from_a_transform(arm):
    values, x = [], random(2, 3)
    torch.func.grad(lambda a: (values.append(a), (a**2).sum())[1])(x)
    same(arm.bias(values[0], x).detach(), arm.system.bias(x.numpy(), x.numpy()))
    tracked = x.clone().requires_grad_()
    arm.bias(values[0], tracked).sum().backward()
    expected = torch.func.grad(lambda v: arm.bias(x, v).sum())(x)
    near(tracked.grad, expected)


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_dynamics"])
def test_jacobians_are_the_analytical_derivatives(arm, quantity):
    x = tuple(random(3, 3))
    derivatives = getattr(arm.system, f"{quantity}_derivatives")(*(a.numpy() for a in x))
    for transform in (torch.func.jacrev, torch.func.jacfwd):
        for result, expected in zip(
            transform(getattr(arm, quantity), (0, 1, 2))(*x), derivatives, strict=True
        ):
            near(result, expected)


def test_gradcheck_and_gradgradcheck(arm):
    x = [random(2, 3, requires_grad=True), random(3, requires_grad=True), random(2, 3)]
    batched = {"check_batched_grad": True, "check_forward_ad": True}
    assert torch.autograd.gradcheck(arm.forward_dynamics, x, **batched)
    assert torch.autograd.gradgradcheck(arm.forward_dynamics, x, check_fwd_over_rev=True)
    several = arm.inverse_dynamics_derivatives
    assert torch.autograd.gradcheck(several, x, check_forward_ad=True)


@pytest.mark.parametrize("name", ["free", "coupled", "four_bar", "parallel_3rr"])
def test_directions_and_weights_through_the_dynamics(name):
    mechanism, rng = system(name), np.random.default_rng(1)
    there = dl.torch(mechanism)
    q = mechanism.integrate(mechanism.neutral(), 0.4 * rng.normal(size=mechanism.nv))
    q = mechanism.neutral() if mechanism.dynamics.rows else q
    x, d = [[a, *rng.normal(size=(2, mechanism.nv))] for a in (q, rng.normal(size=mechanism.nq))]
    f = quantity_operation(mechanism, mechanism._variant("forward_dynamics", None, {}))
    derivatives = directional(f.program, x, d)
    tensors = [torch.tensor(a, requires_grad=True) for a in x]
    along = tuple(map(torch.tensor, d))
    result = torch.func.jvp(there.forward_dynamics, tuple(tensors), along)[1]
    result = result if isinstance(result, tuple) else (result,)
    for a, b in zip(result, derivatives, strict=True):
        near(a.detach(), b)
    results = there.forward_dynamics(*tensors)
    results = results if isinstance(results, tuple) else (results,)
    weights = [random(*y.shape) for y in results]
    torch.autograd.backward(results, weights)
    expected = sum((w.numpy() * y).sum() for w, y in zip(weights, derivatives, strict=True))
    near(sum((a.grad * b).sum() for a, b in zip(tensors, along, strict=True)), expected)


def test_gradgradcheck_of_a_closed_chain():
    mechanism = system("four_bar")
    there = dl.torch(mechanism)
    q, qd, tau = torch.tensor(mechanism.neutral(), requires_grad=True), random(3), random(3)
    acceleration = lambda q, tau: there.forward_dynamics(q, qd, tau)[0]  # noqa: E731
    assert torch.autograd.gradgradcheck(acceleration, (q, tau.requires_grad_()))


def test_batches_of_hessians(arm):
    q = random(4, 3)
    result = torch.func.vmap(torch.func.hessian(arm.potential_energy))(q)
    near(result, arm.system.derivative("gravity_torque", (q.numpy(),)))
    reverse = torch.func.jacrev(torch.func.jacrev(arm.potential_energy))
    near(torch.func.vmap(reverse)(q), result)
    nested = torch.func.vmap(torch.func.vmap(arm.bias, (0, None)), (None, 1), out_dims=1)
    qd = random(3, 6)
    expected = arm.system.bias(q.numpy(), qd.numpy().T[:, None])
    same(nested(q, qd), np.moveaxis(expected, 0, 1))


def test_ops_pass_the_checks_of_pytorch(arm):
    robot = arm.system
    for quantity in ("forward_dynamics", "inverse_dynamics_derivatives"):
        f = quantity_operation(robot, robot._variant(quantity, None, {}))
        x = (random(2, 3, requires_grad=True), random(1, 3), random(2, 3, requires_grad=True))
        torch.library.opcheck(op(f).op, x)
        pulled = [random(2, *port.shape, requires_grad=True) for port in f.outputs]
        torch.library.opcheck(op(f.vjp((0, 2))).op, (*x, *pulled))


@pytest.mark.skipif(
    torch.__version__.startswith("2.5."), reason="2.5 traces into what is allowed in its graphs"
)
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_as_one_graph(arm, backend):
    def loss(q, qd, tau):
        return (
            arm.forward_dynamics(q, torch.sin(qd), tau, formulation="articulated_body") ** 2
        ).sum()

    x = [random(5, 3, requires_grad=True) for _ in range(3)]
    expected = torch.autograd.grad(loss(*x), x)
    compiled = torch.compile(loss, fullgraph=True, backend=backend)
    for result, derivative in zip(torch.autograd.grad(compiled(*x), x), expected, strict=True):
        near(result, derivative, 1e-14)


def test_named_parameters_are_differentiated():
    mechanism = system("lagrangian")
    there, x = dl.torch(mechanism), torch.tensor([0.4, 0.9], dtype=torch.float64)
    mass = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    tau = there.inverse_dynamics(x, x, x, parameters={"m": mass})
    same(tau.detach(), mechanism.inverse_dynamics(*[x.numpy()] * 3, parameters={"m": 1.5}))
    (result,) = torch.autograd.grad(tau.sum(), mass)
    near(result, tau.sum().detach() / 1.5)  # τ is linear in the mass


def test_inertias_are_differentiated(arm):
    x = [random(2, 3) for _ in range(3)]
    theta = torch.tensor(arm.system.parameters)
    torque = lambda theta: arm.with_inertia(theta).inverse_dynamics(*x)  # noqa: E731
    near(torch.func.jacrev(torque)(theta), arm.system.regressor(*(a.numpy() for a in x)))
    near(arm.inertia_of(arm.log_cholesky), arm.system.parameters, 1e-13)


def test_it_learns():
    """A parameter by gradient steps through the dynamics, as in a training loop."""
    mechanism = system("lagrangian")
    there, x = dl.torch(mechanism), random(50, 2)
    goal = there.inverse_dynamics(x, x, x, parameters={"m": 3.0}).detach()
    mass = torch.nn.Parameter(torch.tensor(1.0, dtype=torch.float64))
    steps = torch.optim.LBFGS([mass], max_iter=20)

    def closure():
        steps.zero_grad()
        loss = ((there.inverse_dynamics(x, x, x, parameters={"m": mass}) - goal) ** 2).mean()
        loss.backward()
        return loss

    steps.step(closure)
    assert mass.item() == pytest.approx(3.0, rel=1e-6)


@pytest.mark.parametrize("every", [1, 7, 20])
def test_motions_are_those_of_the_system_with_gradients(arm, every):
    q, qd, tau = random(3, 3), random(3, 3), random(20, 3, 3)
    numbers = [x.numpy() for x in (q, qd, tau)]
    expected = arm.system.rollout(*numbers, 20, 1e-2, every=every)
    for result, states in zip(
        arm.rollout(q, qd, tau, 20, 1e-2, every=every), expected, strict=True
    ):
        near(result, states, 1e-12)
    loss = lambda q, tau: (arm.rollout(q, qd, tau, 20, 1e-2, every=every)[0] ** 2).sum()  # noqa: E731
    x = q[:1].clone().requires_grad_(), random(20, 1, 3, requires_grad=True)
    assert torch.autograd.gradcheck(loss, x)
    derivative = torch.func.grad(loss, (0, 1))(*x)
    for result, other in zip(derivative, torch.autograd.grad(loss(*x), x), strict=True):
        near(result.detach(), other)


def test_laws_of_the_library_and_of_the_user_have_gradients_through_a_motion(arm):
    """Gains of a compiled law with a state of its own; weights of a function of tensors."""
    controller = dl.control.PDGravity(arm.system, [0.4, -0.3, 0.1], kp=20.0, kd=4.0, ki=3.0)
    q, qd = random(2, 3), random(2, 3)
    run = dl.simulate(
        arm.system, q.numpy(), qd.numpy(), controller, duration=0.1, dt=1e-2, method="rk4"
    )
    result, _ = arm.rollout(q, qd, controller, 10, 1e-2)
    near(result, run.q.transpose("time", "sample", ...).values[1:])
    by_gain = lambda kp: arm.rollout(q, qd, controller, 10, 1e-2, every=5, gains={"kp": kp})[0]  # noqa: E731
    assert torch.autograd.gradcheck(by_gain, random(2, 3, requires_grad=True))

    def policy(W):
        return lambda t, q, qd: torch.tanh(torch.cat([q, qd], -1) @ W) + t[..., None]

    by_weight = lambda W: arm.rollout(q, qd, policy(W), 10, 1e-2, every=5)[0]  # noqa: E731
    assert torch.autograd.gradcheck(by_weight, random(6, 3, requires_grad=True))


def test_nan_stays_in_its_lane_of_the_gradient_of_a_motion(arm):
    q, tau = random(5, 3), random(5, 3)
    results = []
    for lost in (0.0, np.nan):
        x = q.clone()
        x[2, 1] += lost
        x.requires_grad_()
        arm.rollout(x, tau, tau, 6, 1e-2, every=3)[0].sum().backward()
        results.append(x.grad)
    keep = [0, 1, 3, 4]
    assert results[1][2].isnan().any()
    assert torch.equal(results[0][keep], results[1][keep])


def test_memory_of_a_motion_grows_with_the_root_of_its_steps(arm):
    """Bytes that autograd keeps, with a law of the user too: states of segments, not of all steps."""
    q, W = random(8, 3, requires_grad=True), random(3, 3, requires_grad=True)
    for tau in (random(8, 3), lambda t, q, qd: torch.tanh(q @ W)):
        for steps in (100, 400):
            storages: dict[int, int] = {}

            def keep(x, storages=storages):
                storages[x.untyped_storage().data_ptr()] = x.nbytes
                return x

            with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
                arm.rollout(q, q, tau, steps, 1e-2, every=steps)[0].sum()
            assert sum(storages.values()) < 2 * steps**0.5 * 2 * q.nbytes


def test_nan_stays_in_its_lane(arm):
    q = random(11, 3)
    derivative = torch.func.vmap(torch.func.grad(arm.potential_energy))
    clean = derivative(q)
    q[4, 1] = np.nan
    result = derivative(q)
    assert result[4].isnan().any()
    keep = [i for i in range(11) if i != 4]
    assert torch.equal(result[keep], clean[keep])


WRONG = {
    "integers": (lambda arm: arm.bias(torch.ones(3, dtype=int), ONES), "q holds int64"),
    "whole numbers": (lambda arm: arm.bias(ONES, [0, 1, 2]), "qd holds int64"),
    "half precision": (lambda arm: arm.bias(ONES.half(), ONES), "q holds float16"),
    "two types": (lambda arm: arm.bias(ONES.float(), ONES), "q is float32 and qd is float64"),
    "shape": (lambda arm: arm.bias(ONES, ONES[:2]), r"qd has shape \(2,\), expected \(..., 3\)"),
    "batches": (lambda arm: arm.bias(ONES.expand(2, 3), ONES.expand(5, 3)), r"q \(2,\), qd \(5,\)"),
    "device": (lambda arm: arm.bias(ONES.to("meta"), ONES), "q is on 'meta'"),
    "out": (lambda arm: arm.bias(ONES, ONES, out=ONES), "out= has no meaning"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_named(arm, case):
    wrong, match = WRONG[case]
    with pytest.raises(dl.ShapeError, match=match):
        wrong(arm)


def test_plain_numbers_take_the_type_of_the_tensors(arm):
    assert arm.bias(ONES.float(), [0.0] * 3).dtype == torch.float32
    assert arm.bias(ONES, [0.0] * 3).dtype == torch.float64
    assert arm.bias([0.0] * 3, [0.0] * 3).dtype == torch.get_default_dtype()


def test_a_missing_framework_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(dl.DalembertError, match=r"pip install torch \(the extra \[torch\]\)"):
        dl.torch(dl.load("pendulum"))


def test_two_devices_are_an_error_that_names_both_arguments(arm):
    arguments = {
        "q": Argument(ONES, "float64", "cuda:0"),
        "qd": Argument(ONES, "float64", "cuda:1"),
    }
    with pytest.raises(dl.ShapeError, match=r"bias: q is on cuda:0 and qd is on cuda:1"):
        arm._common("bias", arguments)
    assert arm._common("bias", {"q": arguments["q"], "qd": Argument(ONES, None)}) == (
        "float64",
        "cuda:0",
    )


def test_pickled_and_compared(arm):
    again = pickle.loads(pickle.dumps(arm))
    assert again == arm and hash(again) == hash(arm) and again != dl.torch(dl.load("planar_2r"))
    same(again.gravity_torque(ONES), arm.system.gravity_torque(ONES.numpy()))


def test_a_forked_child_computes_too(arm):
    arm.gravity_torque(ONES)
    child = multiprocessing.get_context("fork").Process(target=arm.gravity_torque, args=(ONES,))
    child.start()
    child.join(60)
    assert child.exitcode == 0


def test_threads(arm):
    """Ops are made once, however many threads ask for them at the same time."""
    there, result = dl.torch(dl.load("planar_2r")), {}
    q = random(500, 2)

    def work(i):
        x = q.clone().requires_grad_()
        there.gravity_torque(x).sum().backward()
        result[i] = x.grad

    workers = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(result) == 6 and all(torch.equal(result[0], x) for x in result.values())
