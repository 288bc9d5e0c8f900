"""Least squares with linear inequalities."""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.optimize import nnls


def constrained_step(
    M: np.ndarray, c: np.ndarray, G: np.ndarray, h: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """y (n,) of least |M y − c| with G y ≥ h, and the multipliers of the rows.

    With M = Q R and z = R y − Qᵀ c: least |z| with (G R⁻¹) z ≥ h', whose dual is a least-squares
    problem in non-negative multipliers (Lawson and Hanson 1974, ch. 23).
    """
    Q, R, order = qr(M, mode="economic", pivoting=True)
    right = Q.T @ c
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    y = solve_triangular(R, right)
    short = h - G[:, order] @ y
    if not len(h) or short.max() <= 0.0:
        return y[back], np.zeros(len(h))
    F = solve_triangular(R, G[:, order].T, trans="T").T
    length = np.linalg.norm(F, axis=1)
    F, short = F / length[:, None], short / length
    v = np.linalg.lstsq(F, short, rcond=None)[0]
    u = nnls(F.T, v)[0]
    return (y + solve_triangular(R, F.T @ u))[back], u / length
