"""Controlled motions in JAX: laws of the library and of the user, with gradients of their numbers."""

import numpy as np
import pytest

import dalembert as dl
from tests.frameworks.jax_here import jax
from tests.frameworks.six import system
from tests.frameworks.test_jax_rollout import DT, central, near
from tests.systems.test_time_and_gyroscopic import shaken_pendulum

jnp = jax.numpy
RNG = np.random.default_rng(9)


@pytest.fixture(scope="module")
def arm():
    return dl.load("planar_2r")


def law_of(arm, ki=None):
    return dl.control.PDGravity(arm, [0.4, -0.3], kp=20.0, kd=4.0, ki=ki)


@pytest.mark.parametrize(
    "ki", [None, 3.0], ids=["its state is the arm's", "with a state of its own"]
)
def test_a_compiled_law_moves_as_in_simulate(arm, ki):
    controller, (q, qd) = law_of(arm, ki), RNG.normal(size=(2, 5, 2))
    run = dl.simulate(arm, q, qd, controller, duration=0.2, dt=DT, method="rk4", save_every=4)
    result = dl.jax(arm).rollout(q, qd, controller, 20, DT, every=4)
    for a, b in zip(result, (run.q, run.qd), strict=True):
        near(np.moveaxis(a, 0, 1), b.transpose("sample", "time", ...).values[:, 1:], 1e-12)


def test_gradients_by_the_gains_of_a_compiled_law(arm):
    there, controller, (q, qd) = dl.jax(arm), law_of(arm, 3.0), RNG.normal(size=(2, 5, 2))

    def by(kp, ki):
        gains = {"kp": kp, "ki": ki}
        return (there.rollout(q, qd, controller, 20, DT, every=5, gains=gains)[0] ** 2).sum()

    # the same for all states, and one for each
    for lead in ((), (5,)):
        x = [np.full((*lead, 2), 20.0), np.full((*lead, 2), 3.0)]
        d = [RNG.normal(size=a.shape) for a in x]
        derivatives = jax.jit(jax.grad(by, (0, 1)))(*x)
        assert [a.shape for a in derivatives] == [a.shape for a in x]
        near(
            sum((a * b).sum() for a, b in zip(derivatives, d, strict=True)), central(by, x, d), 1e-9
        )


def test_a_function_of_jax_is_asked_at_every_step(arm):
    """A policy of the user: the same torques as an array, and gradients of its own weights."""
    there, (q, qd) = dl.jax(arm), RNG.normal(size=(2, 5, 2))
    W = RNG.normal(size=(4, 2))

    def policy(W):
        return lambda t, q, qd: jnp.tanh(jnp.concatenate([q, qd], -1) @ W) + jnp.sin(t)[..., None]

    every = there.rollout(q, qd, policy(W), 12, DT)
    states = [jnp.concatenate([a[None], b[:-1]]) for a, b in zip((q, qd), every, strict=True)]
    torques = jnp.stack(
        [policy(W)(jnp.array(k * DT), x, v) for k, (x, v) in enumerate(zip(*states, strict=True))]
    )
    for a, b in zip(there.rollout(q, qd, torques, 12, DT), every, strict=True):
        near(a, b, 1e-13)
    for save in (1, 4):
        loss = lambda W: (there.rollout(q, qd, policy(W), 12, DT, every=save)[0] ** 2).sum()  # noqa: E731, B023
        d = RNG.normal(size=W.shape)
        near((jax.jit(jax.grad(loss))(W) * d).sum(), central(loss, [W], [d]), 1e-9)


def test_closed_chains_under_a_law_stay_closed():
    mechanism = system("four_bar")
    there, q = dl.jax(mechanism), mechanism.neutral()
    controller = lambda k: lambda t, q, qd: -k * qd  # noqa: E731
    qd = mechanism.project_velocity(q, np.ones(3))
    motion = lambda k: there.rollout(q, qd, controller(k), 20, DT, every=10)[0]  # noqa: E731
    states = motion(0.3)
    assert np.abs(mechanism.residual(np.asarray(states))).max() < 1e-10
    last = lambda k: motion(k)[-1].sum()  # noqa: E731
    near(jax.grad(last)(0.3), central(last, [np.array(0.3)], [np.array(1.0)]), 1e-9)


def test_parameters_may_be_the_same_for_all_states_or_one_for_each():
    there = dl.jax(system("lagrangian"))
    q, qd = np.array([[0.5, 0.1], [0.7, 0.2], [0.4, -0.3]]), RNG.normal(size=(3, 2))

    def loss(l):
        run = there.rollout(q, qd, np.zeros(2), 15, DT, every=5, parameters={"l": l})
        return (run[0] ** 2).sum()

    each = jax.jit(jax.grad(loss))(np.full(3, 0.7))
    together = jax.jit(jax.grad(loss))(np.array(0.7))
    assert each.shape == (3,)
    near(each.sum(), together, 1e-12)
    near(together, central(loss, [np.array(0.7)], [np.array(1.0)]), 1e-9)


def test_systems_that_depend_on_time_are_counted_along():
    """A pendulum on a shaken pivot: as by simulate, and the step moves the times of all others."""
    mechanism = dl.Lagrangian(*shaken_pendulum())
    there, q, qd = dl.jax(mechanism), np.array([0.3]), np.array([0.1])
    run = dl.simulate(mechanism, q, qd, duration=0.3, dt=DT, method="rk4", save_every=6)
    near(there.rollout(q, qd, None, 30, DT, every=6)[0], run.q.values[1:], 1e-13)
    loss = lambda dt: (there.rollout(q, qd, None, 30, dt, every=6)[0] ** 2).sum()  # noqa: E731
    near(jax.grad(loss)(DT), central(loss, [np.array(DT)], [np.array(1.0)], 1e-5), 1e-8)


def test_inertias_have_gradients_through_a_motion(arm):
    there = dl.jax(arm)
    q, qd = RNG.normal(size=(2, 4, 2))

    def loss(theta):
        model = there.with_inertia(theta)
        return (model.rollout(q, qd, np.zeros(2), 15, DT, every=5)[0] ** 2).sum()

    theta, d = arm.parameters, RNG.normal(size=arm.parameters.shape)
    near(loss(theta), (there.rollout(q, qd, np.zeros(2), 15, DT, every=5)[0] ** 2).sum(), 1e-12)
    near(jax.jit(jax.grad(loss))(theta) @ d, central(loss, [theta], [d]), 1e-8)


def test_wrong_laws_are_named(arm):
    there, q = dl.jax(arm), np.zeros(2)
    with pytest.raises(dl.SettingError, match="gains= are constants of a controller"):
        there.rollout(q, q, q, 3, DT, gains={"kp": 1.0})
    with pytest.raises(dl.SettingError, match="PDGravity has no gain 'kq'; there are: kp, kd"):
        there.rollout(q, q, law_of(arm), 3, DT, gains={"kq": 1.0})
    with pytest.raises(dl.ShapeError, match=r"gain kp has shape \(3,\), expected \(..., 2\)"):
        there.rollout(q, q, law_of(arm), 3, DT, gains={"kp": np.ones(3)})
    with pytest.raises(dl.ShapeError, match=r"tau returned has shape \(3,\), expected \(..., 2\)"):
        there.rollout(q, q, lambda t, q, qd: jnp.zeros(3), 3, DT)
    with pytest.raises(
        dl.ShapeError, match="the state is float64 and what the function tau returned is float32"
    ):
        there.rollout(q, q, lambda t, q, qd: jnp.zeros(2, jnp.float32), 3, DT)
    pid = dl.control.PID(arm, [0.0, 0.0], kp=1.0, ki=1.0, kd=1.0)
    with pytest.raises(dl.SettingError, match="PID keeps numbers of its own"):
        there.rollout(q, q, pid, 3, DT)
