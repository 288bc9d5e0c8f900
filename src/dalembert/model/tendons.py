"""Tendons as data: strings over joints or through points of the bodies, with spring and damper.

A fixed tendon has the length L = Σ c_i q_i. A spatial one runs straight from point to point, or over
a sphere or cylinder between two points; L is the sum of its segments, each times a share (the
inverse of the divisor of a pulley).
"""

from __future__ import annotations

from dataclasses import field

import numpy as np

from dalembert.model.frozen import Frozen
from dalembert.records import record
from dalembert.spatial.arrays import Matrix3, Scalar, Vector, Vector3


@record(eq=False)
class Anchor(Frozen):
    """A point fixed to a body (−1: the base)."""

    body: int
    point: Vector3  # (3,) in the body frame, m


@record(eq=False)
class Wrap(Frozen):
    """A sphere, or a cylinder without ends about its z axis, that a segment runs over."""

    kind: str  # "sphere" or "cylinder"
    body: int
    rotation: Matrix3  # (3, 3) its axes in the body frame
    center: Vector3  # (3,) in the body frame, m
    radius: Scalar  # m


@record(eq=False)
class Segment(Frozen):
    """From one point to the next, over a surface where there is one."""

    start: Anchor
    end: Anchor
    share: Scalar = 1.0  # of its length in the tendon's
    around: Wrap | None = None


@record(eq=False)
class Tendon(Frozen):
    """A fixed tendon over joints, or a spatial one along segments; its spring and its damper.

    The spring pulls with k_1 x + k_2 x² + …, where x is how far the length is outside of `rest`;
    the damper with b_1 L̇ + b_2 L̇|L̇| + b_3 L̇³.
    """

    name: str
    joints: tuple[int, ...] = ()  # bodies whose joints a fixed tendon runs over
    coefficients: Vector = field(default_factory=lambda: np.zeros(0))  # (joints,) c, m/rad or 1
    segments: tuple[Segment, ...] = ()
    stiffness: Vector = field(default_factory=lambda: np.zeros(0))  # (degree,) k_1, k_2, …; N/m
    damping: Vector = field(default_factory=lambda: np.zeros(0))  # (degree,) b_1, b_2, …; N s/m
    rest: Vector = field(default_factory=lambda: np.zeros(2))  # (2,) lengths without force, m

    @property
    def kind(self) -> str:
        """ "fixed" or "spatial"."""
        return "spatial" if self.segments else "fixed"
