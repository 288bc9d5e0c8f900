"""Gradients through JAX: against the library's own derivatives, complex steps and differences."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.systems.derivatives import quantity_operation
from tests.frameworks.jax_here import jax
from tests.frameworks.six import system
from tests.kernels.complex_step import directional

jnp = jax.numpy
RNG = np.random.default_rng(6)


def near(result, expected, tolerance=1e-12):
    result, expected = np.asarray(result), np.asarray(expected)
    atol = tolerance * max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(result, expected, rtol=0, atol=atol)


@pytest.fixture(scope="module")
def arm():
    return dl.jax(dl.load("elbow_3r"))


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_dynamics"])
def test_jacobians_are_the_analytical_derivatives(arm, quantity):
    x = RNG.normal(size=(3, 3))
    derivatives = getattr(arm.system, f"{quantity}_derivatives")(*x)
    for transform in (jax.jacfwd, jax.jacrev):
        for result, expected in zip(
            transform(getattr(arm, quantity), (0, 1, 2))(*x), derivatives, strict=True
        ):
            near(result, expected)


def test_batches_of_gradients_compile(arm):
    q, qd, tau = RNG.normal(size=(3, 40, 3))
    loss = lambda q, qd, tau: (arm.forward_dynamics(q, qd, tau) ** 2).sum()  # noqa: E731
    result = jax.jit(jax.vmap(jax.grad(loss, (0, 2)), (0, None, 0)))(q, qd[0], tau)
    qdd = arm.system.forward_dynamics(q, qd[0], tau)
    dq, _, dtau = arm.system.forward_dynamics_derivatives(q, qd[0], tau)
    near(result[0], 2 * np.einsum("ni,nij->nj", qdd, dq))
    near(result[1], 2 * np.einsum("ni,nij->nj", qdd, dtau))
    # what is the same for all states gets the sum
    shared = jax.grad(loss, 1)(q, qd[0], tau)
    near(shared, sum(jax.grad(loss, 1)(a, qd[0], b) for a, b in zip(q, tau, strict=True)))


def test_second_derivatives(arm):
    q, v = RNG.normal(size=(2, 3))
    H = jax.jit(jax.hessian(arm.potential_energy))(q)
    near(H, arm.system.derivative("gravity_torque", (q,)))
    near(H, jax.jacrev(jax.jacrev(arm.potential_energy))(q))
    near(H, jax.jacrev(jax.jacfwd(arm.potential_energy))(q))
    w, d = RNG.normal(size=(2, 3))
    pulled = lambda q: jax.vjp(arm.gravity_torque, q)[1](w)[0]  # noqa: E731
    near(jax.jvp(pulled, (q,), (d,))[1], arm.system.hvp("gravity_torque", [q], [w], [d]))
    M = arm.system.mass_matrix(q)
    near(jax.hessian(arm.kinetic_energy, 1)(q, v), M)


@pytest.mark.parametrize("name", ["free", "coupled", "four_bar", "parallel_3rr"])
def test_directions_and_weights_through_the_dynamics(name):
    """Quaternions by their four numbers, joints that follow, closed chains through their solve."""
    mechanism, rng = system(name), np.random.default_rng(1)
    there = dl.jax(mechanism)
    q = mechanism.integrate(mechanism.neutral(), 0.4 * rng.normal(size=mechanism.nv))
    q = mechanism.neutral() if mechanism.dynamics.rows else q
    x, d = [[a, *rng.normal(size=(2, mechanism.nv))] for a in (q, rng.normal(size=mechanism.nq))]
    f = quantity_operation(mechanism, mechanism._variant("forward_dynamics", None, {}))
    derivatives = directional(f.program, x, d)
    _, result = jax.jvp(there.forward_dynamics, tuple(x), tuple(d))
    result = result if isinstance(result, tuple) else (result,)
    for a, b in zip(result, derivatives, strict=True):
        near(a, b)
    weights = [rng.normal(size=np.shape(y)) for y in derivatives]
    loss = lambda x: sum(  # noqa: E731
        (w * y).sum()
        for w, y in zip(weights, jax.tree.leaves(there.forward_dynamics(*x)), strict=True)
    )
    pulled = jax.jit(jax.grad(loss))([jnp.asarray(a) for a in x])
    expected = sum((w * y).sum() for w, y in zip(weights, derivatives, strict=True))
    terms = np.concatenate([a * b for a, b in zip(pulled, d, strict=True)])
    # beside its terms, which cancel: that of a free base is a twentieth of them
    near(terms.sum() / np.abs(terms).max(), expected / np.abs(terms).max())


def test_second_order_of_a_closed_chain_against_differences():
    mechanism = system("four_bar")
    there, q, h = dl.jax(mechanism), mechanism.neutral(), 1e-4
    qd, tau, d = RNG.normal(size=(3, 3))
    derivative = jax.jit(jax.grad(lambda q: (there.forward_dynamics(q, qd, tau)[0] ** 2).sum()))
    H = jax.hessian(lambda q: (there.forward_dynamics(q, qd, tau)[0] ** 2).sum())(q)
    near(H, H.T)
    both = jax.jacrev(jax.jacrev(lambda q: (there.forward_dynamics(q, qd, tau)[0] ** 2).sum()))
    near(both(q), H)
    central = [
        (derivative(q + s * h * d) - derivative(q - s * h * d)) / (2 * s * h) for s in (1, 2)
    ]
    # (4 D(h) − D(2h)) / 3: what is left is of order h⁴, and rounding over h
    near(H @ d, (4 * central[0] - central[1]) / 3, 1e-8)


def test_steps_of_a_lagrangian_are_traced():
    there, q, d = dl.jax(system("lagrangian")), np.array([0.4, 0.5]), np.array([0.1, -0.2])
    near(jax.jit(there.integrate)(q, d), q + d, 0.0)
    near(jax.jacfwd(there.difference)(q, d), -np.eye(2), 0.0)


def test_only_what_is_linear_is_transposed(arm):
    q = jnp.ones(3)
    wrong = jax.linear_transpose(arm.gravity_torque, q)
    with pytest.raises(dl.FormulationError, match="gravity_torque is not linear in q"):
        wrong(q)


def test_named_parameters_as_a_tree():
    mechanism = system("lagrangian")
    there, x = dl.jax(mechanism), np.array([0.4, 0.9])
    torque = lambda p: there.inverse_dynamics(x, x, x, parameters=p)  # noqa: E731
    result = jax.jacrev(torque)({"m": jnp.float64(1.5), "l": jnp.float64(0.8)})
    values = mechanism.parameter_array({"m": 1.5, "l": 0.8})
    whole = jax.jacfwd(torque)(jnp.asarray(values))
    order = list(mechanism.dynamics.parameters)
    for name in ("m", "l"):
        near(result[name], whole[:, order.index(name)])
    f = quantity_operation(mechanism, mechanism._variant("inverse_dynamics", None, {}))
    along = [np.zeros(2)] * 3
    for i in range(len(values)):
        (derivative,) = directional(f.program, [x, x, x, values], [*along, np.eye(len(values))[i]])
        near(whole[:, i], derivative)
    many = jax.vmap(lambda m: torque({"m": m}))(jnp.linspace(1.0, 2.0, 5))
    near(
        many,
        mechanism.inverse_dynamics(
            x,
            x,
            x,
            parameters=np.stack(
                [mechanism.parameter_array({"m": m}) for m in np.linspace(1.0, 2.0, 5)]
            ),
        ),
        0.0,
    )


def test_inside_a_scan_with_checkpoints(arm):
    """A rollout written in JAX: the gradient is that of differences."""

    @jax.checkpoint
    def step(state, tau):
        q, qd = state
        qd = qd + 1e-2 * arm.forward_dynamics(q, qd, tau)
        return (q + 1e-2 * qd, qd), None

    def loss(tau):
        (q, _), _ = jax.lax.scan(step, (jnp.zeros(3), jnp.zeros(3)), tau)
        return (q**2).sum()

    tau, d, h = RNG.normal(size=(20, 3)), RNG.normal(size=(20, 3)), 1e-3
    derivative = jax.jit(jax.grad(loss))(tau)
    central = [(loss(tau + s * h * d) - loss(tau - s * h * d)) / (2 * s * h) for s in (1, 2)]
    near((derivative * d).sum(), (4 * central[0] - central[1]) / 3, 1e-10)
