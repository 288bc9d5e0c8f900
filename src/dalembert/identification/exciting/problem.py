"""A motion as a vector z, how good it is, and how far it is from its limits.

Limits enter by a logarithmic barrier, −Σ log(upper − r) − Σ log(r − lower) over all samples. Its
curvature is known: of q, q̇, q̈, which are linear in z, exactly; of torques and distances by their
slopes (Gauss and Newton).

What the joints may do: Fourier series that begin and end every period at rest.

Rest at t = 0 is linear in a series' coefficients, q̇(0) = ω Σ k b_k = 0 and q̈(0) = −ω² Σ k² a_k = 0, so
the series at rest are a subspace; each joint has coordinates z of its own there, and no optimiser can
leave it. A posture to begin at is one more such condition.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalembert.control.fourier import Fourier, fourier, waves
from dalembert.identification.exciting.columns import BaseColumns
from dalembert.identification.exciting.limits import Limits
from dalembert.identification.exciting.objective import Objective, Quality
from dalembert.identification.exciting.workspace import Workspace
from dalembert.systems.robot import Robot

NEAR = 6.0  # stiffness times the square of half the range; 2 in the middle
CHUNK = 2**25  # bytes of columns at a time
Motion = tuple[np.ndarray, np.ndarray, np.ndarray]  # q, q̇, q̈, each (..., samples, n)


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


@dataclass(frozen=True, eq=False)
class Problem:
    """All that a search needs; z (size · n,) is flat, the basis' functions of a joint together last."""

    robot: Robot  # without Coulomb friction
    basis: Basis
    columns: BaseColumns
    objective: Objective
    limits: Limits
    workspace: Workspace | None
    samples: int

    @cached_property
    def shapes(self) -> np.ndarray:
        """(3, samples, size)."""
        return self.basis.shapes(self.samples)

    @property
    def size(self) -> int:
        """Length of z."""
        return self.shapes.shape[2] * self.basis.joints

    def motion(self, z: np.ndarray, shapes: np.ndarray | None = None) -> Motion:
        """q, q̇, q̈ (..., samples, n) of z (..., size · n)."""
        z = z.reshape(*z.shape[:-1], -1, self.basis.joints)
        q, qd, qdd = (x @ z for x in (self.shapes if shapes is None else shapes))
        return q + self.basis.offset, qd, qdd

    def quality(self, z: np.ndarray, shapes: np.ndarray | None = None) -> Quality:
        """Condition and information."""
        return self.objective.quality(self.objective.weighted(self.columns(self.motion(z, shapes))))

    def rough(self, z: np.ndarray) -> np.ndarray:
        """The smoothest objective of many z (k, size · n), infinite outside of the limits."""
        bytes_each = 8 * self.samples * self.basis.joints * len(self.columns.base.names)
        chunk = max(1, CHUNK // bytes_each)
        found = np.full(len(z), np.inf)
        for start in range(0, len(z), chunk):
            part = slice(start, start + chunk)
            motion = self.motion(z[part])
            inside = self.inside(motion)
            W = self.columns([x[inside] for x in motion])
            found[part][inside] = self.objective.rough(self.objective.weighted(W))
        return found

    def inside(self, motion: Motion) -> np.ndarray:
        """Whether motions (..., samples, n) keep to all limits: (...)."""
        rows = zip(self.rows(motion), self.bounds, strict=True)
        kept = [((r > low) & (r < high)).all(axis=(-1, -2)) for r, (low, high) in rows]
        return np.logical_and.reduce(kept)

    def rows(self, motion: Motion) -> list[np.ndarray]:
        """What is limited, each (..., samples, rows): q, q̇, q̈, τ and distances."""
        found = [*motion, self.robot.inverse_dynamics(*motion)]
        return found if self.workspace is None else [*found, self.workspace.distances(motion[0])]

    @cached_property
    def bounds(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """(lower, upper) of each."""
        found = list(self.limits.bounds())
        if self.workspace is not None:
            low = np.full(len(self.workspace.names), self.workspace.clearance)
            found.append((low, np.full_like(low, np.inf)))
        return found

    def value(self, z: np.ndarray, p: float) -> tuple[float, np.ndarray]:
        """f_p and its slope by z; infinite where a parameter is not seen."""
        motion = self.motion(z)
        f, by_A = self.objective.slope(self.objective.weighted(self.columns(motion)), p)
        if by_A is None:
            return np.inf, np.zeros_like(z)
        weights = by_A.reshape(self.samples, self.basis.joints, -1)
        slopes = self.columns.pulled(motion, weights / self.objective.noise[:, None])
        return f, sum(b.T @ x for b, x in zip(self.shapes, slopes, strict=True)).ravel()

    def height(self, z: np.ndarray) -> float:
        """The barrier, per sample; infinite outside of the limits."""
        total, motion = 0.0, self.motion(z)
        for r, (low, high) in zip(motion, self.bounds, strict=False):
            total += _height(r, low, high)  # cheap ones first
        if np.isfinite(total):
            for r, (low, high) in zip(self.rows(motion)[3:], self.bounds[3:], strict=True):
                total += _height(r, low, high)
        return total / self.samples

    def barrier(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Slope (z,) and curvature (z, z) of the barrier, per sample, at a z inside of the limits."""
        motion, n = self.motion(z), self.basis.joints
        size = self.shapes.shape[2]
        slope = np.zeros((size, n))
        curvature = np.zeros((size, n, size, n))
        for order, (r, (low, high)) in enumerate(zip(self.rows(motion), self.bounds, strict=True)):
            push, stiff = 1.0 / (high - r) - 1.0 / (r - low), (high - r) ** -2 + (r - low) ** -2
            if order < 3:
                shape = self.shapes[order]
                slope += shape.T @ push
                for j in range(n):
                    curvature[:, j, :, j] += shape.T @ (stiff[:, j, None] * shape)
                continue
            parts = self._slopes(motion, order)
            for shape, part in zip(self.shapes, parts, strict=False):
                slope += shape.T @ (push[:, None, :] @ part)[:, 0]
            J = self._near(parts, stiff, high - low)
            curvature += (J.T @ J).reshape(curvature.shape)
        made = curvature.reshape(self.size, self.size)
        return slope.ravel() / self.samples, made / self.samples

    def _slopes(self, motion: Motion, order: int) -> list[np.ndarray]:
        """By q, q̇ and q̈, each (samples, rows, n): of torques, or of distances, which have only q."""
        if order == 3:
            by_q, by_qd, *_ = self.robot.inverse_dynamics_derivatives(*motion)
            return [by_q, by_qd, self.robot.mass_matrix(motion[0])]
        assert self.workspace is not None
        return [self.workspace.slopes(motion[0])]

    def _near(self, parts: list[np.ndarray], stiff: np.ndarray, span: np.ndarray) -> np.ndarray:
        """√stiffness · slope by z (near, size · n) of what is near its limits, where it is stiff."""
        half = np.where(np.isfinite(span), 0.5 * span, 1.0)
        sample, row = np.nonzero(stiff * half**2 > NEAR)
        J = sum(
            shape[sample][:, :, None] * part[sample, row][:, None, :]
            for shape, part in zip(self.shapes, parts, strict=False)
        )
        weights = np.sqrt(stiff[sample, row])
        return np.asarray(J).reshape(len(sample), self.size) * weights[:, None]


def _height(r: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """−Σ log(high − r) − Σ log(r − low) of finite bounds; infinite outside of them."""
    if not ((r > low).all() and (r < high).all()):
        return np.inf
    above, below = np.isfinite(high), np.isfinite(low)
    return -float(np.log((high - r)[..., above]).sum() + np.log((r - low)[..., below]).sum())
