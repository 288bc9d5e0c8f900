"""Smooth pieces of a frame's way in space: lines, arcs, screws, rounded corners.

Each gives poses at shares σ of its own way, and a length √(ℓ² + (ρ φ)²): ℓ the way of the origin, φ
the turn, ρ = 0.25 m/rad.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dalembert.spatial.ways import placed, straight, turn_between, turned

RADIUS = 0.25  # m that count as much as a turn of one radian


class Segment(Protocol):
    """A smooth piece of a path: its length, and poses (k, 4, 4) at shares (k,) of it."""

    @property
    def length(self) -> float: ...
    def poses(self, share: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class Straight:
    """p₀ + σ (p₁ − p₀), R₀ exp(σ log(R₀ᵀ R₁)): the shortest way and the shortest turn."""

    start: np.ndarray
    goal: np.ndarray

    @property
    def way(self) -> np.ndarray:
        """p₁ − p₀ (3,), and the turn log(R₀ᵀ R₁) (3,) in the moving frame: (6,)."""
        way = self.goal[:3, 3] - self.start[:3, 3]
        return np.concatenate([way, turn_between(self.start, self.goal)])

    @property
    def length(self) -> float:
        """Way and turn together."""
        return _length(self.way)

    def poses(self, share: np.ndarray) -> np.ndarray:
        """Poses (k, 4, 4)."""
        return straight(self.start, self.goal, share)


@dataclass(frozen=True, eq=False)
class Arc:
    """The origin turns about an axis (3,) through a centre (3,), the frame from start to goal."""

    start: np.ndarray
    goal: np.ndarray
    center: np.ndarray
    turn: np.ndarray  # axis times angle, along the world's axes

    @property
    def length(self) -> float:
        """Way and turn together."""
        radius = np.linalg.norm(np.cross(unit(self.turn), self.start[:3, 3] - self.center))
        way = [radius * np.linalg.norm(self.turn), 0.0, 0.0, *turn_between(self.start, self.goal)]
        return _length(np.array(way))

    def poses(self, share: np.ndarray) -> np.ndarray:
        """Poses (k, 4, 4)."""
        p = self.center + turned(self.turn, share) @ (self.start[:3, 3] - self.center)
        return placed(self.start[:3, :3] @ turned(turn_between(self.start, self.goal), share), p)


@dataclass(frozen=True, eq=False)
class Screw:
    """exp(σ ξ̂ θ) T₀: a turn about an axis fixed in the world, with a shift along it."""

    start: np.ndarray
    twist: np.ndarray  # ξ θ (6,), (linear, angular), along the world's axes at its origin

    @property
    def length(self) -> float:
        """Way and turn together."""
        v, w = self.twist[:3], self.twist[3:]
        return _length(np.concatenate([v + np.cross(w, self.start[:3, 3]), w]))

    def poses(self, share: np.ndarray) -> np.ndarray:
        """Poses (k, 4, 4)."""
        v, w = self.twist[:3], self.twist[3:]
        angle = np.linalg.norm(w)
        R, shift = turned(w, share), share[:, None] * v
        if angle > 0.0:
            # ∫ exp(σ ŵ) v dσ; not by a point of the axis, which is far away where it hardly turns
            axis, phi = w / angle, (share * angle)[:, None]
            aside = np.cross(axis, v)
            shift = shift + 2.0 * np.sin(0.5 * phi) ** 2 / angle * aside
            shift = shift + (phi - np.sin(phi)) / angle * np.cross(axis, aside)
        return placed(R @ self.start[:3, :3], R @ self.start[:3, 3] + shift)


@dataclass(frozen=True, eq=False)
class Corner:
    """From `before` the corner on one line to behind it on the next: α back there, β ahead.

    p = p_c − d₁ α + d₂ β and R = R_c exp(−w₁ α) exp(w₂ β), α = (1 − σ)² r, β = σ² r: both lines are
    left and met with the directions they have.
    """

    at: np.ndarray  # pose of the corner
    before: np.ndarray  # (d₁, w₁) (6,) for each metre
    after: np.ndarray
    size: float  # r

    @property
    def length(self) -> float:
        """As long as what it replaces."""
        return 2.0 * self.size

    def poses(self, share: np.ndarray) -> np.ndarray:
        """Poses (k, 4, 4)."""
        back, ahead = self.size * (1.0 - share) ** 2, self.size * share**2
        way = ahead[:, None] * self.after[:3] - back[:, None] * self.before[:3]
        R = self.at[:3, :3] @ turned(-self.before[3:], back) @ turned(self.after[3:], ahead)
        return placed(R, self.at[:3, 3] + way)


def _length(way: np.ndarray) -> float:
    return float(np.hypot(np.linalg.norm(way[:3]), RADIUS * np.linalg.norm(way[3:])))


def unit(v: np.ndarray) -> np.ndarray:
    """v of length 1."""
    return v / np.linalg.norm(v)
