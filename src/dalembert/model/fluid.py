"""Bodies in a fluid at rest or in an even wind: boxes or ellipsoids that stand for their shape."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from dalembert.model.frozen import Frozen
from dalembert.records import record
from dalembert.spatial.arrays import Matrix3, Scalar, Vector, Vector3


@record(eq=False)
class Submerged(Frozen):
    """A shape fixed to a body, in MuJoCo's two models of a fluid.

    Without `coefficients` it is a box with these sides, else an ellipsoid with these half axes; the
    coefficients are those of blunt, slender and angular drag, of Kutta's and Magnus' lift, and three
    virtual masses and three virtual inertias per density.
    """

    body: int
    rotation: Matrix3  # (3, 3) its axes in the body frame
    center: Vector3  # (3,) in the body frame, m
    size: Vector3  # (3,) m
    density: Scalar  # of the fluid, kg/m³
    viscosity: Scalar  # Pa s
    wind: Vector3 = field(default_factory=lambda: np.zeros(3))  # (3,) in the world, m/s
    coefficients: Vector = field(default_factory=lambda: np.zeros(0))  # (11,), or none
