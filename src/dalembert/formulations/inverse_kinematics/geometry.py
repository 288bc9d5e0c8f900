"""The joint axes of a serial arm, and which of them are parallel or meet.

With the axes at q = 0 in the base frame and the pose M of the frame there, the pose is the product of
exponentials (Brockett 1984; Murray, Li and Sastry 1994, eq. 3.3)

    T(q) = exp(S₁ q₁) … exp(Sₙ qₙ) M ,   S = (−ω × p, ω), or (ω, 0) where the joint slides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from dalembert.spatial.rotations import hat

SAME = 1e-11  # rad, and of the arm's size: axes so close to parallel, or to meeting, are special
NEARLY = 2e-4  # and so close are treated as special first, and as general beside it
SNAPPED = 1e-14  # entries of directions and, times the size, of points that count as zero
CHECKED = 3  # configurations at which the product of exponentials is compared with the pose
SLIDING = 0.3  # of a joint's range between them, rad or m


class Mechanism(Protocol):
    """What of a mechanism decides about its axes."""

    @property
    def nq(self) -> int: ...
    @property
    def nv(self) -> int: ...
    @property
    def rows(self) -> int: ...
    def pose(self, q: np.ndarray, frame: str) -> np.ndarray: ...
    def frame_jacobian(self, q: np.ndarray, frame: str, expressed_in: str = "world") -> Any: ...


@dataclass(frozen=True, eq=False)
class SerialChain:
    """Joint axes of an arm in the base frame at q = 0, from the base to the frame.

    Examples
    --------
    >>> from dalembert.spatial import se3
    >>> z, origin = [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]
    >>> planar = SerialChain(np.array([z, z]), np.array([origin, [1.0, 0.0, 0.0]]),
    ...     np.array([False, False]), se3.pose(p=[1.5, 0.0, 0.0]))
    >>> planar.pose(np.array([0.0, np.pi / 2]))[:3, 3].round(12)
    array([1. , 0.5, 0. ])
    >>> planar.parallel(0, 1), planar.coplanar(0, 1), planar.meeting_point((0, 1)) is None
    (True, True, True)
    """

    directions: np.ndarray  # (n, 3) unit vectors
    points: np.ndarray  # (n, 3) the point of each axis nearest to their common centre, m
    prismatic: np.ndarray  # (n,) bool
    tool: np.ndarray  # (4, 4) pose of the frame at q = 0
    tolerance: float = SAME  # rad and parts of the size: axes so near to special ones are such

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.directions)

    @cached_property
    def size(self) -> float:
        """Length by which distances are judged: how far axes and tool are from their centre, m."""
        turning = self.points[~self.prismatic]
        points = np.concatenate([turning, self.tool[None, :3, 3]])
        return float(np.linalg.norm(points - points.mean(axis=0), axis=1).max()) or 1.0

    def pose(self, q: np.ndarray) -> np.ndarray:
        """(..., 4, 4) of the frame at q (..., n), by the product of exponentials."""
        return self.pose_and_jacobian(q)[0]

    def pose_and_jacobian(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """T (..., 4, 4), and J (..., 6, n): velocity of the frame's origin and angular velocity,
        along the base's axes, per joint.
        """
        R = np.broadcast_to(np.eye(3), (*q.shape[:-1], 3, 3))
        t = np.zeros((*q.shape[:-1], 3))
        axes, points = [], []
        for k in range(self.n):
            direction, point = self.directions[k], self.points[k]
            axes.append(R @ direction)
            points.append(R @ point + t)
            if self.prismatic[k]:
                t = t + q[..., k, None] * axes[-1]
                continue
            c, s = np.cos(q[..., k, None, None]), np.sin(q[..., k, None, None])
            along = np.outer(direction, direction)
            R = R @ (c * (np.eye(3) - along) + s * hat(direction) + along)
            t = points[-1] - R @ point
        T = np.zeros((*q.shape[:-1], 4, 4))
        T[..., :3, :3], T[..., :3, 3] = R @ self.tool[:3, :3], R @ self.tool[:3, 3] + t
        T[..., 3, 3] = 1.0
        columns = [
            np.concatenate([w, np.zeros_like(w)], axis=-1)
            if slides
            else np.concatenate([np.cross(w, T[..., :3, 3] - p), w], axis=-1)
            for w, p, slides in zip(axes, points, self.prismatic, strict=True)
        ]
        return T, np.stack(columns, axis=-1)

    def inverted(self) -> SerialChain:
        """The same arm from the frame to the base, joints in reverse: its pose is M T⁻¹ M.

        From T M⁻¹ = E₁ … Eₙ follows M T⁻¹ = Eₙ⁻¹ … E₁⁻¹: the same axes with opposite directions.
        """
        back = slice(None, None, -1)
        return replace(
            self,
            directions=-self.directions[back],
            points=self.points[back],
            prismatic=self.prismatic[back],
        )

    def part(self, joints: slice, tool: np.ndarray | None = None) -> SerialChain:
        """Some joints in a row, which carry a frame of their own: its pose at q = 0."""
        return SerialChain(
            self.directions[joints],
            self.points[joints],
            self.prismatic[joints],
            np.eye(4) if tool is None else tool,
            self.tolerance,
        )

    def locked(self, joint: int, value: float) -> SerialChain:
        """The arm without a joint, which stays at a value: all that it carries is moved by it."""
        g = self.part(slice(joint, joint + 1)).pose(np.array([value]))
        beyond = slice(joint + 1, None)
        directions, points = self.directions.copy(), self.points.copy()
        directions[beyond] = directions[beyond] @ g[:3, :3].T
        points[beyond] = points[beyond] @ g[:3, :3].T + g[:3, 3]
        others = np.arange(self.n) != joint
        return SerialChain(
            snapped(directions[others]),
            snapped(points[others], self.size),
            self.prismatic[others],
            g @ self.tool,
            self.tolerance,
        )

    # relations of axes

    def parallel(self, i: int, j: int) -> bool:
        """Whether two directions are parallel or opposite."""
        crossed = np.cross(self.directions[i], self.directions[j])
        return bool(np.linalg.norm(crossed) <= self.tolerance)

    def coplanar(self, i: int, j: int) -> bool:
        """Whether two axes are parallel or meet."""
        return self.parallel(i, j) or self.meeting_point((i, j)) is not None

    def meeting_point(self, joints: tuple[int, ...]) -> np.ndarray | None:
        """(3,) the point where the axes of revolute joints meet; None unless they do.

        It is nearest to all of them: Σ (1 − ω ωᵀ) (x − p) = 0. Parallel axes have none.
        """
        if self.prismatic[list(joints)].any():
            return None
        across = [np.eye(3) - np.outer(w, w) for w in self.directions[list(joints)]]
        A = np.concatenate(across)
        b = np.concatenate([P @ p for P, p in zip(across, self.points[list(joints)], strict=True)])
        x, _, rank, sizes = np.linalg.lstsq(A, b, rcond=None)
        # the least singular value is about the angle between the axes
        if rank < 3 or sizes[-1] <= self.tolerance:
            return None
        off = np.abs(A @ x - b).max()
        return x if off <= self.tolerance * self.size else None


def snapped(values: np.ndarray, size: float = 1.0) -> np.ndarray:
    """Values without the rounding beside exact zeros and ones, which then cost nothing."""
    near = np.where(np.abs(values) <= SNAPPED * size, 0.0, values)
    return np.where(np.abs(np.abs(near) - 1.0) <= 0.5 * SNAPPED, np.sign(near), near)


def serial_chain(
    mechanism: Mechanism, frame: str = "tool"
) -> tuple[SerialChain, np.ndarray] | None:
    """The axes (n) between base and frame, and the entries (n,) of q that turn or slide along them.

    Joints that do not move the frame are left out. None where the frame does not move by a product of
    exponentials: quaternions, screws, loops, joints that follow others.
    """
    if mechanism.nq != mechanism.nv or mechanism.rows:
        return None
    zero = np.zeros(mechanism.nq)
    J = np.asarray(mechanism.frame_jacobian(zero, frame, "spatial"), dtype=float).T
    tool = np.asarray(mechanism.pose(zero, frame), dtype=float)
    sizes = np.linalg.norm(J, axis=1)
    entries = np.flatnonzero(sizes > 1e-12 * sizes.max(initial=0.0))
    v, w = J[entries, :3], J[entries, 3:]
    rates = np.linalg.norm(w, axis=1)
    prismatic = rates < 0.5
    if not len(entries) or np.abs(np.where(prismatic, sizes[entries], rates) - 1.0).max() > 1e-9:
        return None
    directions = snapped(np.where(prismatic[:, None], v, w))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    points = np.cross(w, v)
    others = np.concatenate([points[~prismatic], tool[None, :3, 3]])
    centre = snapped(others.mean(axis=0))
    along = np.einsum("ij,ij->i", centre - points, directions)
    points = points + along[:, None] * directions
    points = np.where(prismatic[:, None], centre, points)
    size = float(np.abs(others - centre).max()) or 1.0
    chain = SerialChain(directions, snapped(points, size), prismatic, snapped(tool, size))
    rng, q = np.random.default_rng(0), zero.copy()
    for _ in range(CHECKED):
        q[entries] = rng.uniform(-SLIDING, SLIDING, len(entries)) * 5.0
        error = np.abs(chain.pose(q[entries]) - np.asarray(mechanism.pose(q, frame), dtype=float))
        if error.max() > 1e-11 * max(1.0, chain.size):
            return None
    return chain, entries
