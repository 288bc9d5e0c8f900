"""JAX on several devices, in forked processes, and under DALEMBERT_CHECK."""

import multiprocessing

import numpy as np
import pytest

import dalembert as dl
from dalembert.frameworks import jax_primitive
from tests.frameworks.jax_here import jax

jnp = jax.numpy
ROWS, ALL = jax.sharding.PartitionSpec("batch"), jax.sharding.PartitionSpec()
DIVIDES = hasattr(jax.ffi, "register_ffi_target_as_batch_partitionable")
W = np.array([1.0, -0.5, 0.3])


@pytest.fixture(scope="module")
def arm():
    return dl.jax(dl.load("elbow_3r"))


@pytest.fixture(scope="module")
def mesh():
    assert len(jax.devices()) == 2
    return jax.sharding.Mesh(np.array(jax.devices()), ("batch",))


@pytest.fixture(scope="module")
def spread(mesh):
    x = np.random.default_rng(3).normal(size=(8, 3))
    return jax.device_put(x, jax.sharding.NamedSharding(mesh, ROWS))


def near(result, expected, tolerance=1e-13):
    expected = np.asarray(expected)
    atol = tolerance * max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(np.asarray(result), expected, rtol=0, atol=atol)


def loss(arm, x, w):
    return (arm.inverse_dynamics(x, x, w) ** 2).sum()


def motion(arm, x, w):
    """From a state that is the same on all devices, by torques that are not."""
    return arm.rollout(W[None], W[None], x, 9, 1e-2, every=9)[0].sum() + w.sum()


# of states x (8, 3) and of numbers w (3,) that all of them share; results (8, ...)
OF_STATES = {
    "values": lambda arm, x, w: arm.inverse_dynamics(x, x, w),
    "several results": lambda arm, x, w: arm.inverse_dynamics_derivatives(x, x, x)[2],
    "numbers": lambda arm, x, w: arm.kinetic_energy(x, x),
    "two axes": lambda arm, x, w: arm.bias(x[:, None], jnp.stack([w, 2 * w])),
    "gradients": lambda arm, x, w: jax.grad(loss, 1)(arm, x, w),
    "of each": lambda arm, x, w: jax.vmap(jax.grad(loss, 1), (None, 0, None))(arm, x, w),
    "second": lambda arm, x, w: jax.vmap(jax.hessian(arm.potential_energy))(x),
    "motions": lambda arm, x, w: jax.grad(motion, 1)(arm, x, w),
}


def test_pmap(arm):
    x = np.random.default_rng(4).normal(size=(2, 4, 3))
    result = jax.pmap(arm.inverse_dynamics, in_axes=(0, 0, None))(x, x, x[0, 0])
    np.testing.assert_array_equal(result, arm.system.inverse_dynamics(x, x, x[0, 0]))


@pytest.mark.parametrize("name", OF_STATES)
def test_every_device_computes_its_share_under_jit(arm, spread, name):
    function = lambda x, w: OF_STATES[name](arm, x, w)  # noqa: E731
    compiled = jax.jit(function).lower(spread, W).compile()
    result = compiled(spread, W)
    near(result, function(np.asarray(spread), W))
    if DIVIDES:  # from 0.6 on; before, arrays are gathered
        assert result.sharding.spec == ROWS
        assert "all-gather" not in compiled.as_text()


def test_states_that_are_torn_apart_are_put_together(mesh):
    """Columns on different devices are no batch."""
    robot = dl.load("planar_2r")
    x = np.random.default_rng(5).normal(size=(7, 2))
    columns = jax.sharding.PartitionSpec(None, "batch")
    torn = jax.device_put(x, jax.sharding.NamedSharding(mesh, columns))
    result = jax.jit(dl.jax(robot).inverse_dynamics)(torn, torn, torn)
    np.testing.assert_array_equal(result, robot.inverse_dynamics(x, x, x))


@pytest.mark.skipif(not hasattr(jax, "shard_map"), reason="jax.shard_map is there from 0.6 on")
@pytest.mark.parametrize("name", OF_STATES)
def test_gradients_inside_of_shard_map(arm, mesh, spread, name):
    function = lambda x, w: OF_STATES[name](arm, x, w)  # noqa: E731
    inside = jax.shard_map(function, mesh=mesh, in_specs=(ROWS, ALL), out_specs=ROWS)
    near(jax.jit(inside)(spread, W), function(np.asarray(spread), W))


@pytest.mark.skipif(not hasattr(jax, "shard_map"), reason="jax.shard_map is there from 0.6 on")
def test_gradients_of_what_devices_share_are_summed_over_them(arm, mesh, spread):
    """They were those of the first device's states alone."""
    shared = lambda x, w: jax.grad(loss, 2)(arm, x, w)  # noqa: E731
    inside = jax.shard_map(shared, mesh=mesh, in_specs=(ROWS, ALL), out_specs=ALL)
    near(inside(spread, W), shared(np.asarray(spread), W))


@pytest.mark.process
@pytest.mark.parametrize("states", [5, 50000])
def test_a_forked_child_goes_on_with_what_was_compiled(arm, states):
    """JAX's own large operations, and anything that is compiled anew, wait for ever in a fork."""
    x = np.random.default_rng(6).normal(size=(states, 3))
    compiled, there = jax.jit(arm.gravity_torque), jnp.asarray(x)
    expected = np.asarray(compiled(there))

    def work():
        assert np.array_equal(np.asarray(compiled(there)), expected)
        assert np.array_equal(arm.system.gravity_torque(x), expected)

    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join(60)
    if child.exitcode is None:
        child.kill()
    assert child.exitcode == 0


def test_checked_where_the_environment_asks(monkeypatch):
    monkeypatch.setenv("DALEMBERT_CHECK", "1")
    monkeypatch.setattr(jax_primitive, "_confirmed", set())
    arm, x = dl.jax(dl.load("planar_2r")), np.ones((3, 2))
    evaluate = jax.jit(jax.vmap(jax.grad(arm.potential_energy)))
    near(evaluate(x), arm.system.gravity_torque(x))
    near(jax.jit(arm.bias)(np.ones((20000, 2)), x[0])[7], arm.system.bias(x[0], x[0]))
    assert len(jax_primitive._confirmed) >= 2

    def other(program, *states):
        return [np.full((len(states[0]), 2), 7.0)]

    monkeypatch.setattr("dalembert.tracing.interpreter.interpret", other)
    with pytest.raises(Exception, match=r"DALEMBERT_CHECK: .*the call of JAX gives"):
        jax.block_until_ready(jax.jit(arm.gravity_torque)(x))
