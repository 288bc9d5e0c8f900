"""What the joints may do: Fourier series that begin and end every period at rest.

Rest at t = 0 is linear in a series' coefficients, q̇(0) = ω Σ k b_k = 0 and q̈(0) = −ω² Σ k² a_k = 0, so
the series at rest are a subspace; each joint has coordinates z of its own there, and no optimiser can
leave it. A posture to begin at is one more such condition.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.control.fourier import Fourier, fourier, waves


@dataclass(frozen=True, eq=False)
class Basis:
    """Series of N harmonics at rest at t = 0: sums = Z z + (start, 0, …), z (size, n).

    With a `start` (n,) they are there at t = 0 too.
    """

    period: float  # s
    periods: int
    harmonics: int
    joints: int
    start: np.ndarray | None = None

    @property
    def Z(self) -> np.ndarray:
        """(2 N + 1, size) orthonormal, harmonics weighted by 1/k: as large as velocities allow."""
        value, slope, curve = waves(np.zeros((1, 1)), self.harmonics)
        rows = [slope, curve] if self.start is None else [slope, curve, value]
        k = np.arange(1.0, self.harmonics + 1.0)
        weights = np.concatenate([[1.0], 1.0 / k, 1.0 / k])
        at_rest = np.concatenate(rows) * weights
        null = np.linalg.svd(at_rest)[2][len(rows) :].T
        return weights[:, None] * null

    def shapes(self, count: int) -> np.ndarray:
        """(3, count, size): what z is multiplied by for q, q̇, q̈ at even times of one period."""
        phase = 2.0 * np.pi * np.arange(count)[:, None] / count
        rate = 2.0 * np.pi / self.period
        found = waves(phase, self.harmonics)
        return np.stack([x @ self.Z * rate**order for order, x in enumerate(found)])

    @property
    def offset(self) -> np.ndarray:
        """(n,) added to q."""
        return np.zeros(self.joints) if self.start is None else self.start

    def standing(self, q: np.ndarray) -> np.ndarray:
        """z (..., size, n) whose mean posture is q (..., n); zero where the start is given."""
        if self.start is not None:
            return np.zeros((*np.shape(q)[:-1], self.Z.shape[1], self.joints))
        mean = np.linalg.lstsq(self.Z, np.eye(len(self.Z))[:, 0], rcond=None)[0]
        return mean[:, None] * np.asarray(q)[..., None, :]

    def trajectory(self, z: np.ndarray) -> Fourier:
        """The motion of z (size, n), all periods."""
        sums = self.Z @ z
        sums[0] += self.offset
        return fourier(sums, self.period, self.periods)
