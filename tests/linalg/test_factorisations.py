"""Every factorisation solves its system, and does on symbols what it does on numbers."""

import numpy as np
import pytest

from dalembert import tracing
from dalembert.kernels.program.trace import trace
from dalembert.linalg.factorisations import (
    LARGE,
    cholesky,
    cholesky_inverse,
    cholesky_solve,
    ldl,
    leaves_first,
    lower_inverse,
    lu,
    tree_inverse,
    tree_solve,
    upper_cholesky,
)
from dalembert.linalg.orthogonal import gram_schmidt, householder
from dalembert.linalg.row_space import row_space
from dalembert.tracing.interpreter import interpret


def solve_by_rows(rank):
    """M⁻¹ b for M = L D Lᵀ = (L D) D⁻¹ (L D)ᵀ, from the rows of L D."""

    def solve(M, b):
        factors = ldl(M)
        LD = np.stack(factors.half_solve(M)).T
        return row_space(LD, rank, weights=factors.weights).solve(b)[0]

    return solve


SOLVERS = {
    "cholesky": cholesky_solve,
    "cholesky_inverse": lambda M, b: cholesky_inverse(M) @ b,
    "lower_inverse": lambda M, b: lower_inverse(cholesky(M)).T @ (lower_inverse(cholesky(M)) @ b),
    "upper": lambda M, b: np.linalg.inv(upper_cholesky(M) @ upper_cholesky(M).T) @ b,
    "ldl": lambda M, b: ldl(M).solve(b),
    "lu": lambda M, b: lu(M).solve(b),
    "lu_transpose": lambda M, b: lu(M.T).transpose_solve(b),
    "row_space": solve_by_rows(4),
    "pivoted_row_space": solve_by_rows(None),
    "tree": tree_solve,
    "tree_inverse": lambda M, b: tree_inverse(M) @ b,
}


@pytest.fixture
def system():
    """A positive definite M (4, 4) and b (4,)."""
    rng = np.random.default_rng(3)
    root = rng.normal(size=(4, 4))
    return root @ root.T + np.eye(4), rng.normal(size=4)


@pytest.mark.parametrize("name", SOLVERS)
def test_solution(name, system):
    M, b = system
    np.testing.assert_allclose(SOLVERS[name](M, b), np.linalg.solve(M, b), rtol=1e-9)


@pytest.mark.parametrize("name", [name for name in SOLVERS if name != "upper"])
def test_on_symbols_as_on_numbers(name, system):
    M, b = system
    traced = tracing.traced(SOLVERS[name], {"M": (4, 4), "b": (4,)})
    np.testing.assert_allclose(traced(M=M, b=b), SOLVERS[name](M, b), rtol=1e-11)


@pytest.mark.parametrize("factorise", [ldl, lu])
def test_several_columns_at_once(factorise, system):
    M, _ = system
    B = np.random.default_rng(4).normal(size=(4, 3))
    np.testing.assert_allclose(factorise(M).solve(B), np.linalg.solve(M, B), rtol=1e-12)


def test_the_two_bases_span_the_same_rows():
    rows = np.random.default_rng(5).normal(size=(2, 5))
    first, (second, rest) = gram_schmidt(rows), householder(rows)
    np.testing.assert_allclose(first @ first.T, second @ second.T, atol=1e-14)
    np.testing.assert_allclose(rows @ rest, 0.0, atol=1e-14)


@pytest.mark.parametrize("columns", [(), (3,)])
def test_large_matrices_of_numbers_are_solved_for_symbols(columns):
    """LAPACK factorises them; what stands on the right may be traced all the same."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(LARGE, LARGE))
    M, b = root @ root.T + np.eye(LARGE), rng.normal(size=(LARGE, *columns))
    program = trace(lambda b: leaves_first(M).solve(b), {"b": b.shape})
    np.testing.assert_allclose(interpret(program, b)[0], np.linalg.solve(M, b), rtol=1e-9)


def test_large_rows_of_numbers_are_met_by_symbols():
    rng = np.random.default_rng(1)
    B, r, w = rng.normal(size=(5, LARGE)), rng.normal(size=5), rng.uniform(0.5, 2.0, size=LARGE)
    desired = np.linalg.solve(B * w @ B.T, r)
    program = trace(lambda r: row_space(B, rank=5, weights=w).solve(r)[0], {"r": r.shape})
    np.testing.assert_allclose(interpret(program, r)[0], desired, rtol=1e-9)
    program = trace(lambda w: row_space(B, rank=5, weights=w).solve(r)[0], {"w": w.shape})
    np.testing.assert_allclose(interpret(program, w)[0], desired, rtol=1e-9)
