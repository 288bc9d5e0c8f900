"""Motions in JAX: those of the system, with gradients of whatever is asked of them."""

import numpy as np
import pytest

import dalembert as dl
from tests.frameworks.jax_here import jax
from tests.frameworks.six import system

jnp = jax.numpy
RNG = np.random.default_rng(8)
DT = 1e-2


@pytest.fixture(scope="module")
def arm():
    return dl.jax(dl.load("planar_2r"))


def near(result, expected, tolerance):
    result, expected = np.asarray(result), np.asarray(expected)
    assert result.shape == expected.shape
    atol = tolerance * max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(result, expected, rtol=0, atol=atol)


def central(loss, x, d, h=1e-4):
    """The slope along d from differences, extrapolated: what is left is of order h⁴."""
    loss = jax.jit(loss)

    def at(s):
        up, down = ([a + k * h * b for a, b in zip(x, d, strict=True)] for k in (s, -s))
        return (loss(*up) - loss(*down)) / (2 * s * h)

    return (4 * at(1) - at(2)) / 3


@pytest.mark.parametrize("every", [1, 7])
@pytest.mark.parametrize("lead", [(), (20, 1), (20, 3)], ids=str)
def test_motions_are_those_of_the_system(arm, every, lead):
    q, qd = RNG.normal(size=(2, 3, 2))
    tau = RNG.normal(size=(*lead, 2))
    spread = np.broadcast_to(tau, (20, 3, 2)) if lead else tau
    expected = arm.system.rollout(q, qd, spread, 20, DT, every=every)
    for result, states in zip(arm.rollout(q, qd, tau, 20, DT, every=every), expected, strict=True):
        near(result, states, 1e-13)


@pytest.mark.parametrize("every", [1, 7])
def test_gradients_of_a_loss_on_the_motion(arm, every):
    def loss(q, qd, tau, dt):
        states = arm.rollout(q, qd, tau, 20, dt, every=every)
        return sum((x**2).sum() for x in states)

    q, qd = RNG.normal(size=(2, 3, 2))
    x = [q, qd, RNG.normal(size=(20, 1, 2)), np.array(DT)]
    d = [RNG.normal(size=a.shape) for a in x[:3]] + [np.array(DT)]
    derivatives = jax.jit(jax.grad(loss, (0, 1, 2, 3)))(*x)
    assert [a.shape for a in derivatives] == [a.shape for a in x]
    result = sum((a * b).sum() for a, b in zip(derivatives, d, strict=True))
    near(result, central(loss, x, d), 1e-9)


def test_memory_grows_with_the_root_of_the_steps(arm):
    """Residuals of the reverse sweep, as JAX lists them: states of segments, not of all steps."""
    steps, q = 400, np.zeros((8, 2))
    tau = np.zeros((8, 2))
    last = lambda q: arm.rollout(q, q, tau, steps, DT, every=steps)[0].sum()  # noqa: E731
    _, pull = jax.vjp(last, q)
    stored = sum(np.size(x) for x in jax.tree.leaves(pull))
    assert stored < 3 * 2 * np.sqrt(steps) * 2 * q.size


def test_what_xla_keeps_for_a_gradient_grows_so_too(arm):
    """Segments that were unrolled together were computed again and kept all at once."""

    steps, q = 1024, np.zeros((64, 2))
    last = lambda q: arm.rollout(q, q, q, steps, DT, every=steps)[0].sum()  # noqa: E731
    compiled = jax.jit(jax.grad(last)).lower(q).compile()
    # those at the begins of segments, those within one, and as many again on the way
    states = compiled.memory_analysis().temp_size_in_bytes / (2 * q.nbytes)
    assert states < 4 * np.sqrt(steps)


def test_closed_chains_stay_closed():
    mechanism = system("four_bar")
    there, q = dl.jax(mechanism), mechanism.neutral()
    qd, tau, d = mechanism.project_velocity(q, np.ones(3)), np.ones(3), np.array([1.0, 0.0, 0.5])
    run = dl.simulate(mechanism, q, qd, tau=tau, duration=0.2, dt=DT, method="rk4", save_every=5)
    near(there.rollout(q, qd, tau, 20, DT, every=5)[0], run.q.values[1:], 1e-13)
    loss = lambda tau: there.rollout(q, qd, tau, 20, DT, every=5)[0][-1].sum()  # noqa: E731
    near(jax.grad(loss)(tau) @ d, central(loss, [tau], [d]), 1e-9)


def test_parameters_are_found_from_a_motion():
    """A length by gradient steps through a simulation."""
    there = dl.jax(system("lagrangian"))
    q = np.array([0.5, 0.1])
    motion = lambda l: there.rollout(  # noqa: E731
        q, np.array([0.0, 1.0]), np.zeros(2), 30, DT, every=10, parameters={"l": l}
    )[0]
    goal = motion(jnp.float64(0.9))
    loss = jax.jit(jax.value_and_grad(lambda l: ((motion(l) - goal) ** 2).sum()))
    second = jax.jit(jax.hessian(lambda l: ((motion(l) - goal) ** 2).sum()))
    length = jnp.float64(0.85)
    for _ in range(8):
        length = length - loss(length)[1] / second(length)
    assert length == pytest.approx(0.9, rel=1e-10)


def test_wrong_arguments_are_named(arm):
    q = np.zeros(2)
    with pytest.raises(dl.SettingError, match="need 1 <= every <= steps"):
        arm.rollout(q, q, q, 3, DT, every=4)
    with pytest.raises(dl.ShapeError, match=r"tau has shape \(4, 2\).* the 3 steps"):
        arm.rollout(q, q, np.zeros((4, 2)), 3, DT)
    with pytest.raises(dl.ShapeError, match="tau holds int64"):
        arm.rollout(q, q, np.zeros(2, int), 3, DT)
    with pytest.raises(dl.FormulationError, match="take 'rk4'"):
        arm.rollout(q, q, q, 3, DT, method="RK45")
    with pytest.raises(dl.UnknownNameError, match="rk4"):
        arm.rollout(q, q, q, 3, DT, method="rk5")
    frictional, rest = dl.jax(dl.load("puma560")), np.zeros(6)
    with pytest.raises(dl.SettingError, match="smoothing="):
        frictional.rollout(rest, rest, rest, 3, DT)
    with pytest.raises(dl.SettingError, match="no friction"):
        frictional.rollout(rest, rest, rest, 3, DT, friction="none")
