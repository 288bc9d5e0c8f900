"""Poses on the way from one to another."""

from __future__ import annotations

import numpy as np

from dalembert.spatial.rotations import hat, log_so3


def straight(start: np.ndarray, goal: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Poses (k, 4, 4) at shares σ (k,): p₀ + σ (p₁ − p₀), R₀ exp(σ log(R₀ᵀ R₁)).

    >>> turn = np.block([[np.diag([-1.0, -1.0, 1.0]), np.array([[2.0], [0.0], [0.0]])], [0, 0, 0, 1]])
    >>> straight(np.eye(4), turn, np.array([0.5]))[0, :2, 3].round(12)
    array([1., 0.])
    """
    R = start[:3, :3] @ turned(turn_between(start, goal), share)
    return placed(R, start[:3, 3] + share[:, None] * (goal[:3, 3] - start[:3, 3]))


def turn_between(start: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """log(R₀ᵀ R₁) (3,), axis times angle in the moving frame."""
    return log_so3(start[:3, :3].T @ goal[:3, :3])


def turned(turn: np.ndarray, share: np.ndarray) -> np.ndarray:
    """exp(σ ŵ) (k, 3, 3) for one w (3,) and shares σ (k,)."""
    angle = float(np.linalg.norm(turn))
    K = hat(turn / angle if angle > 0.0 else turn)
    phi = (share * angle)[:, None, None]
    return np.eye(3) + np.sin(phi) * K + 2.0 * np.sin(0.5 * phi) ** 2 * (K @ K)


def placed(R: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Poses (k, 4, 4) of rotations (k, 3, 3) and positions (k, 3)."""
    made = np.zeros((len(p), 4, 4))
    made[:, :3, :3], made[:, :3, 3], made[:, 3, 3] = R, p, 1.0
    return made
