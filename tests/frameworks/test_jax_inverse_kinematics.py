"""All solutions on arrays of JAX: those of the library, and their derivatives by the target."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import FormulationError, ShapeError
from tests.frameworks.jax_here import jax, single_precision

jnp = jax.numpy


@pytest.fixture(scope="module")
def scara():
    return dl.jax(dl.load("scara"))


def targets(arm, count):
    robot = arm.system
    return robot.pose(robot.random_state(np.random.default_rng(11), count)[0])


@pytest.mark.parametrize("name", ["scara", "ur5"])
def test_they_are_those_of_the_library(name):
    arm = dl.jax(dl.load(name))
    T = targets(arm, 5)
    T[4, :3, 3] += 10.0  # out of reach
    q, count, flags = jax.jit(arm.all_inverse_kinematics)(T)
    expected = arm.system.all_inverse_kinematics(T, turns=False)
    np.testing.assert_array_equal(count, expected.count)
    assert count[4] == 0 and not flags.any()
    for mine, other, n in zip(np.asarray(q), expected.solutions, expected.count, strict=True):
        assert np.isnan(mine[n:]).all()
        order = [np.lexsort(x[:n].round(6).T) for x in (mine, other)]
        np.testing.assert_allclose(mine[order[0]], other[order[1]], rtol=0, atol=1e-10)


def test_derivatives_are_those_of_the_implicit_function(scara):
    """δq = J⁻¹ (T⁻¹ δT)^∨: a motion of one joint comes back as that joint, forward and in reverse."""
    (T,), robot = targets(scara, 1), scara.system
    solve = lambda T: scara.all_inverse_kinematics(T, limits=False)[0]  # noqa: E731
    forward = jax.jit(lambda T, dT: (solve(T), jax.jvp(solve, (T,), (dT,))[1]))
    pulled = jax.jit(lambda T, bar: jax.vjp(solve, T)[1](bar)[0])
    q = np.asarray(forward(T, T)[0])
    J = robot.jacobian(q, expressed_in="body")  # columns are twists of the frame in its own axes
    for k in range(2):
        for j in range(4):
            dT = T @ hat6(J[k, :, j])
            _, dq = forward(T, dT)
            np.testing.assert_allclose(dq[k], np.eye(4)[j], atol=1e-11)
            bar = np.random.default_rng(j).normal(size=q.shape)
            np.testing.assert_allclose((pulled(T, bar) * dT).sum(), (bar * dq).sum(), atol=1e-10)


def hat6(twist):
    """The matrix of a twist (linear, angular)."""
    v, (x, y, z) = twist[:3], twist[3:]
    top = np.column_stack([np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]), v])
    return np.vstack([top, np.zeros(4)])


def test_finite_differences_and_second_derivatives(scara):
    robot, q0 = scara.system, np.array([0.3, 0.8, 0.2, 0.1])
    T0, v = robot.pose(q0), np.array([0.3, -0.2, 0.5, 0.0, 0.0, 0.7])

    def along(s):
        c, t = jnp.cos(0.7 * s), jnp.sin(0.7 * s)
        turn = jnp.array([[c, -t, 0.0], [t, c, 0.0], [0.0, 0.0, 1.0]])
        R = jnp.asarray(T0[:3, :3]) @ turn
        p = jnp.asarray(T0[:3, 3]) + s * jnp.asarray(T0[:3, :3] @ v[:3])
        T = jnp.concatenate([R, p[:, None]], axis=1)
        T = jnp.concatenate([T, jnp.array([[0.0, 0.0, 0.0, 1.0]])])
        return scara.inverse_kinematics(T, q0=q0)[0]

    first, second = jax.jit(jax.jacfwd(along)), jax.jit(jax.jacfwd(jax.jacfwd(along)))
    h = 1e-4
    value = jax.jit(along)
    np.testing.assert_allclose(value(0.0), q0, atol=1e-13)
    rough = (value(h) - value(-h)) / (2 * h)
    np.testing.assert_allclose(first(0.0), rough, atol=1e-6)
    np.testing.assert_allclose(second(0.0), (first(h) - first(-h)) / (2 * h), atol=1e-5)


def test_vmap_is_a_batch_and_nan_rows_do_not_spread(scara):
    T = jnp.asarray(targets(scara, 4)).at[2, 0, 3].add(5.0)
    solve = scara.all_inverse_kinematics
    for x, y in zip(jax.jit(solve)(T), jax.jit(jax.vmap(solve))(T), strict=True):
        np.testing.assert_array_equal(x, y)
    cost = lambda T: jnp.nansum(jnp.sin(solve(T)[0]))  # noqa: E731
    gradients = np.asarray(jax.jit(jax.vmap(jax.grad(cost)))(T))
    assert np.isfinite(gradients).all() and (gradients[2] == 0.0).all()
    assert np.abs(gradients[[0, 1, 3]]).max(axis=(1, 2)).min() > 0.1


def test_singular_targets_are_flagged_and_finite(scara):
    """A stretched arm: one solution of two roots."""
    T = jnp.asarray(scara.system.pose([0.4, 0.0, 0.1, 0.2]))
    q, count, flags = jax.jit(scara.all_inverse_kinematics)(T)
    assert count == 1 and flags == 1 + 4  # of two roots, perhaps not all
    np.testing.assert_allclose(q[0], [0.4, 0.0, 0.1, 0.2], atol=1e-6)
    gradient = jax.jit(jax.grad(lambda T: jnp.nansum(scara.all_inverse_kinematics(T)[0])))(T)
    assert np.isfinite(gradient).all()


def test_a_joint_can_be_fixed_and_the_nearest_is_chosen():
    robot = dl.load("panda")
    q = np.array([0.1, 0.3, 0.2, -1.8, 0.1, 2.0, 0.4])
    T, fixed = robot.pose(q), {"panda_joint7": 0.4}
    solve = lambda T, q0: dl.jax(robot).inverse_kinematics(T, q0=q0, fixed=fixed)  # noqa: E731
    near, solved = jax.jit(solve)(T, q + 0.05)
    assert solved and np.abs(near - q).max() < 1e-9
    # a motion of the other joints comes back as such
    dq = np.array([0.3, -0.2, 0.5, 0.1, 0.7, -0.4, 0.0])
    dT = T @ hat6(robot.jacobian(q, expressed_in="body") @ dq)
    _, back = jax.jit(lambda T, dT: jax.jvp(lambda T: solve(T, q)[0], (T,), (dT,)))(T, dT)
    np.testing.assert_allclose(back, dq, atol=1e-10)
    assert back[6] == 0.0
    with pytest.raises(FormulationError, match="fix 1 of them"):
        dl.jax(robot).inverse_kinematics(T)


def test_wrong_arguments(scara):
    with pytest.raises(ShapeError, match="float64"), single_precision():
        scara.all_inverse_kinematics(jnp.eye(4))
    with pytest.raises(ShapeError, match=r"T has shape \(3, 4\)"):
        scara.all_inverse_kinematics(jnp.ones((3, 4)))
    with pytest.raises(dl.UnknownNameError, match="no frame 'hand'"):
        scara.all_inverse_kinematics(jnp.eye(4), frame="hand")
