"""The shortest vector in a polyhedron, for quadratic programs with few inequalities."""

from __future__ import annotations

import numpy as np

from dalembert.linalg.rank import least_squares

CONTRADICTION = 1e-9  # of the residual of the dual: a shorter one is rounding


class Infeasible(Exception):
    """No vector meets the inequalities; `weights` (m,) ≥ 0 have wᵀG = 0 and wᵀh > 0."""

    def __init__(self, weights: np.ndarray) -> None:
        super().__init__("the inequalities contradict each other")
        self.weights = weights


def least_distance(G: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(z (n,) of least norm with G z ≥ h, multipliers u (m,) ≥ 0 with z = Gᵀu).

    The residual r of the least squares E u ≈ (0, 1), E = [Gᵀ; hᵀ], u ≥ 0, has z = −r_{1…n}/r_{n+1}
    (Lawson and Hanson 1974, ch. 23, algorithm LDP); it vanishes where there is no such z (Farkas).
    On the rows with u > 0 the equations G z = h are then solved once more, so that z and u are
    exact to rounding. Rows may depend on each other; u is then one of many.

    >>> least_distance(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]]), np.array([1.0, 2.0, -1.0]))[0]
    array([1., 0.])
    """
    m, n = G.shape
    if not m or h.max() <= 0.0:
        return np.zeros(n), np.zeros(m)
    from scipy.optimize import nnls

    lengths = np.linalg.norm(G, axis=1)
    lengths[lengths == 0.0] = 1.0
    rows, right = G / lengths[:, None], h / lengths
    size = right.max()
    E, one = np.concatenate([rows.T, right[None] / size]), np.append(np.zeros(n), 1.0)
    weights, distance = nnls(E, one)
    if distance <= CONTRADICTION:
        raise Infeasible(weights / lengths)
    chosen = np.flatnonzero(weights)
    z, _ = least_squares(rows[chosen], right[chosen])
    u = np.zeros(m)
    u[chosen] = np.maximum(least_squares(rows[chosen].T, z)[0], 0.0) / lengths[chosen]
    return z, u
