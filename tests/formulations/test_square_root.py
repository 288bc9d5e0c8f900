"""The roots of M: W of articulated inertias (000 p.48–50), and the symmetric one (003)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.formulations.mass import composite_body, square_root
from dalembert.linalg.factorisations import upper_cholesky
from dalembert.linalg.orthogonal import symmetric_roots
from tests.formulations.comparison import ZOO, assert_close, traced
from tests.formulations.mechanisms import random_model, random_state, seeds

ROOTS = (
    square_root.square_root,
    square_root.square_root_inverse,
    square_root.symmetric_root,
    square_root.symmetric_root_inverse,
)
few = settings(max_examples=25)


def mechanism(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, n=4, tree=bool(rng.integers(2)))
    return model, random_state(model, rng)[0]


@few
@given(seeds)
def test_square_root(seed):
    """W Wᵀ = M; W is the one upper triangular root with a positive diagonal."""
    model, q = mechanism(seed)
    M, W = composite_body.mass_matrix(model, q), square_root.square_root(model, q)
    W_inverse = square_root.square_root_inverse(model, q)
    assert_close(W @ W.T, M)
    assert not np.tril(W, -1).any()
    assert not np.tril(W_inverse, -1).any()
    assert_close(W, upper_cholesky(M), 1e-10)  # of a matrix with a condition number up to 1e4
    assert_close(W_inverse @ W, np.eye(model.nv))


@few
@given(seeds)
def test_identity_of_articulated_inertias(seed):
    """M = M̂ − ΓᵀM̂Γ + ΓᵀM̂ξ D⁻¹ ξᵀM̂Γ (000 p.50), with D the pivots and the rotors in them."""
    model, q = mechanism(seed)
    op, M_hat, U, U_inverse = square_root.factors(model, q)
    D = U @ U.T
    assert_close(square_root.articulated_inertia(model, q), M_hat)
    through = op.Gamma.T @ M_hat
    coupling = through @ op.xi
    assert_close(M_hat - through @ op.Gamma + coupling @ np.linalg.solve(D, coupling.T), op.M)
    assert_close(D, op.xi.T @ M_hat @ op.xi + np.diag(model.drive.rotor))
    assert_close(U_inverse @ U, np.eye(model.nv))


@given(seeds, st.integers(1, 9), st.floats(0.0, 12.0))
def test_symmetric_roots_against_eigenvalues(seed, n, decades):
    """Any spectrum over up to twelve decades; the error grows with cond(M)^{1/2} ε."""
    rng = np.random.default_rng(seed)
    vectors, _ = np.linalg.qr(rng.normal(size=(n, n)))
    values = 10.0 ** rng.uniform(-decades / 2, decades / 2, n)
    root, inverse = symmetric_roots((vectors * values) @ vectors.T)
    condition = np.sqrt(values.max() / values.min())
    tolerance = 1e-15 * 100 * condition
    np.testing.assert_array_equal(root, root.T)
    assert_close(root, (vectors * np.sqrt(values)) @ vectors.T, tolerance)
    assert_close(root @ inverse, np.eye(n), tolerance * condition)


@pytest.mark.parametrize("robot", ZOO)
def test_zoo(robot):
    model = ZOO[robot]
    q, _, _ = random_state(model, np.random.default_rng(2))
    M, W = composite_body.mass_matrix(model, q), square_root.square_root(model, q)
    root = square_root.symmetric_root(model, q)
    assert_close(W @ W.T, M)
    assert_close(root @ root, M)
    inverse = square_root.symmetric_root_inverse(model, q)
    np.testing.assert_allclose(inverse @ root, np.eye(model.nv), atol=1e-9)
    np.testing.assert_array_equal(inverse, inverse.T)


@pytest.mark.parametrize("root", ROOTS)
def test_traced_equals_plain(root):
    model, q = mechanism(7)
    assert_close(*traced(root, model, q=q), root(model, q), 1e-12)
