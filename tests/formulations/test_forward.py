"""Forward dynamics by every factorisation of M: it undoes inverse dynamics, for any mechanism."""

import numpy as np
import pytest
from hypothesis import given, settings

import dalembert as dl
from dalembert.formulations.forward import articulated_body, solve
from dalembert.formulations.inverse import newton_euler
from dalembert.formulations.mass import composite_body
from dalembert.linalg.factorisations import (
    back_substitution,
    cholesky_solve,
    forward_substitution,
    lower_inverse,
    upper_cholesky,
)
from dalembert.systems.counting import general_chain
from tests.formulations.comparison import ZOO, assert_close, traced
from tests.formulations.mechanisms import random_model, random_motion, random_state, seeds

FORWARD = {
    "composite_body": solve.composite_body,
    "tree_factor": solve.tree_factor,
    "square_root": solve.square_root,
    "symmetric_root": solve.symmetric_root,
    "operator": solve.operator,
}
every = pytest.mark.parametrize("forward_dynamics", FORWARD.values(), ids=FORWARD)


def undo(forward_dynamics, model, rng):
    q, qd, qdd = random_state(model, rng)
    for given_inputs in ({}, random_motion(rng)):
        tau = newton_euler.inverse_dynamics(model, q, qd, qdd, **given_inputs)
        actual = forward_dynamics(model, q, qd, tau, **given_inputs)
        assert_close(actual, articulated_body.forward_dynamics(model, q, qd, tau, **given_inputs))
        # errors of τ itself come back multiplied by the condition number
        condition = np.linalg.cond(composite_body.mass_matrix(model, q))
        assert_close(actual, qdd, max(1e-11, 1e-14 * condition))


@every
@settings(max_examples=25)
@given(seeds)
def test_undoes_inverse_dynamics(forward_dynamics, seed):
    rng = np.random.default_rng(seed)
    undo(forward_dynamics, random_model(rng, n=4, tree=bool(rng.integers(2))), rng)


@every
@pytest.mark.parametrize("robot", ZOO)
def test_zoo(forward_dynamics, robot):
    undo(forward_dynamics, ZOO[robot], np.random.default_rng(1))


@every
@pytest.mark.parametrize("given_input", ["tip_wrench", "base_twist", "base_acceleration"])
def test_optional_inputs_one_by_one(forward_dynamics, given_input):
    rng = np.random.default_rng(2)
    model = random_model(rng, n=4)
    (q, qd, _), tau = random_state(model, rng), rng.normal(size=model.nv)
    shifted = {given_input: rng.normal(size=6)}
    expected = articulated_body.forward_dynamics(model, q, qd, tau, **shifted)
    assert_close(forward_dynamics(model, q, qd, tau, **shifted), expected)


@every
def test_traced_equals_plain(forward_dynamics):
    rng = np.random.default_rng(3)
    model = random_model(rng, n=3)
    (q, qd, _), tau = random_state(model, rng), rng.normal(size=model.nv)
    inputs = {"q": q, "qd": qd, "tau": tau, **random_motion(rng)}
    (qdd,) = traced(forward_dynamics, model, **inputs)
    # sums in another order, multiplied by a condition number up to 1e3
    assert_close(qdd, forward_dynamics(model, **inputs), 1e-12)


@given(seeds)
def test_triangular_systems(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    L = np.tril(rng.normal(size=(n, n)), -1) + np.diag(rng.uniform(1.0, 2.0, n))
    x = rng.normal(size=n)
    # substitution is stable: the error is that of the system, cond(L) ε
    tolerance = 1e-14 * np.linalg.cond(L)
    assert_close(forward_substitution(L, L @ x), x, tolerance)
    assert_close(back_substitution(L.T, L.T @ x), x, tolerance)
    assert_close(lower_inverse(L) @ L, np.eye(n), tolerance)
    assert_close(cholesky_solve(L @ L.T, L @ (L.T @ x)), x, tolerance * np.linalg.cond(L))
    U = upper_cholesky(L @ L.T)
    np.testing.assert_array_equal(np.tril(U, -1), 0.0)
    assert_close(U @ U.T, L @ L.T)


@pytest.mark.parametrize("n", [6, 8, 10, 12])
def test_the_default_takes_the_fewest_operations(n):
    robot = dl.Robot(general_chain(n))
    default = robot.operation_count("forward_dynamics").total
    routes = ("articulated_body", "tree_factor")
    assert default == min(robot.operation_count("forward_dynamics", f).total for f in routes)
