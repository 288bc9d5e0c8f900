"""Redundant rows chosen block by block: the same pseudo-inverse, the zeros between blocks kept."""

import numpy as np

import dalembert as dl
from dalembert.linalg.row_space import blocked_rows

BLOCKS = [([0, 3, 4], 2), ([1], 0), ([2, 5], 2)]


def rows_in_blocks(rng):
    """(A (6, 9) whose blocks share no column, with one redundant row and one that is zero)."""
    A = np.zeros((6, 9))
    A[[0, 3], :4] = rng.normal(size=(2, 4))
    A[4] = 0.3 * A[0] - 1.2 * A[3]
    A[[2, 5], 4:] = rng.normal(size=(2, 5))
    return A


def test_solutions_are_those_of_the_pseudo_inverse():
    rng = np.random.default_rng(0)
    A, L = rows_in_blocks(rng), np.tril(rng.normal(size=(9, 9))) + 4.0 * np.eye(9)
    B, weights = np.linalg.solve(L, A.T).T, rng.uniform(0.5, 2.0, 9)
    space = blocked_rows(B, weights, BLOCKS)
    S = (B * weights) @ B.T
    for r in (S @ rng.normal(size=6), S @ rng.normal(size=(6, 3))):
        x, left = space.solve(r)
        np.testing.assert_allclose(x, np.linalg.pinv(S, rcond=1e-10) @ r, atol=1e-11)
        np.testing.assert_allclose(left, 0.0, atol=1e-12)
        u = space.back(space.coordinates(r)[0])
        np.testing.assert_allclose((B * weights) @ u, r, atol=1e-12)
    assert float(space.lost) == 0.0
    u = space.across(rng.normal(size=9))
    np.testing.assert_allclose((B * weights) @ u, 0.0, atol=1e-12)


def test_what_contradicts_is_left_and_a_lost_row_is_told():
    A = rows_in_blocks(np.random.default_rng(1))
    space = blocked_rows(A, np.ones(9), BLOCKS)
    assert abs(space.solve(np.array([0.0, 1.0, 0, 0, 0, 0]))[1]).max() == 1.0
    A[5] = 2.0 * A[2]
    space = blocked_rows(A, np.ones(9), BLOCKS)
    assert float(space.lost) == 1.0
    left = space.solve(np.array([0.0, 0.0, 1.0, 0.0, 0.0, 3.0]))[1]
    np.testing.assert_allclose(left, [0.0, 0.0, 0.0, 0.0, 0.0, 1.0], atol=1e-13)


def test_legs_of_a_biped_are_chosen_from_apart():
    closed = dl.load("cassie")
    independent = set(closed.dynamics.pivots.rows)
    sizes = [(len(rows), len(independent.intersection(rows))) for rows in closed.dynamics.blocks]
    assert sizes == 2 * [(2, 2), (1, 0), (3, 3)]
    assert closed.operation_count("forward_dynamics").total < 19_000
