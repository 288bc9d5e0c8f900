"""Bodies of a mechanism: where a joint sits, how it moves, and inertia (m, h, I_o); and the base."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import FormulationError
from dalembert.model.elements import Elements
from dalembert.model.frozen import Frozen
from dalembert.model.joint import Chart
from dalembert.spatial.arrays import Matrix, Matrix3, Matrix6, Scalar, Vector, Vector3
from dalembert.spatial.inertia import TOLERANCE, inertia_of_moments, parallel_axis, silver_tensor
from dalembert.spatial.se3 import Placement
from dalembert.tracing import is_symbolic

# entries of one tensor below this part of the tensor it is made of are what rounding leaves
ROUNDING = 16 * np.finfo(float).eps


class Massive:
    """Mass, first moment and inertia about the origin of a frame, and derived quantities."""

    if TYPE_CHECKING:
        name: str
        mass: Scalar  # m, kg
        moment: Vector3  # h = ∫ r dm = m c (3,), kg m
        inertia: Matrix3  # I_o = ∫ (|r|² 1 − r rᵀ) dm (3, 3) about the origin, kg m²

    @property
    def center(self) -> Vector3:
        """c = h/m (3,), the centre of mass in the body frame, m; 0 for a body without moments."""
        if is_symbolic(self.mass) or self.mass != 0.0:
            center: Vector3 = self.moment / self.mass
            return center
        if not is_symbolic(self.moment) and not np.any(self.moment):
            return np.zeros(3)
        raise FormulationError(
            f"link {self.name!r} has first moments but no mass, so no centre of mass; use a "
            "formulation that works with moments of mass, such as newton_euler or "
            "composite_body, or the robot it was reduced from"
        )

    @property
    def inertia_about_center(self) -> Matrix3:
        """I_c = I_o − m (cᵀc 1 − c cᵀ) (3, 3), body axes, kg m²; rounding of a zero is zero."""
        central = parallel_axis(self.inertia, -self.mass, self.center)
        if is_symbolic(central):
            return central
        return np.where(abs(central) <= ROUNDING * abs(self.inertia), 0.0, central)

    @property
    def second_moment(self) -> Matrix3:
        """Σ = ∫ r rᵀ dm = ½ tr(I_o) 1 − I_o (3, 3), kg m²: Silver's tensor (001 (2.11)).

        Rounding of a zero is zero: a body thin in z must not cost the products of a Σ_zz.
        """
        sigma = silver_tensor(self.inertia)
        if is_symbolic(sigma):
            return sigma
        return np.where(abs(sigma) <= ROUNDING * abs(np.trace(self.inertia)), 0.0, sigma)

    @property
    def spatial_inertia(self) -> Matrix6:
        """[[m 1, −ĥ], [ĥ, I_o]] (6, 6) about the body frame's origin (000 p.38)."""
        return inertia_of_moments(self.mass, self.moment, self.inertia)

    @property
    def is_real(self) -> bool:
        """Whether a real body can have these moments: positive mass, no negative principal moment."""
        if not self.mass > 0.0:
            return False
        moments = np.linalg.eigvalsh(self.inertia_about_center)
        return bool(moments[0] >= -TOLERANCE * abs(moments).max())


@dataclass(frozen=True, eq=False)
class Body(Massive, Frozen):
    """One moving body: its joint's placement and chart, and its inertia, all in its own frame.

    The body frame has its origin on the joint axis and its z axis along it. Moments about that
    origin add, change frame and enter the torques linearly, so they are what a body is given by;
    they need not be those of a real body (a robot with regrouped inertias has moments without mass).
    """

    name: str
    parent: int  # index of the parent body, −1 for the base
    rotation: Matrix3  # (3, 3) joint frame in the parent's body frame
    translation: Vector3  # (3,) its origin there, m
    chart: Chart
    offset: Vector  # (nq,) added to q before the chart; zero for quaternion charts
    q: slice
    v: slice
    mass: Scalar  # m, kg
    moment: Vector3  # h = ∫ r dm = m c (3,), kg m
    inertia: Matrix3  # I_o = ∫ (|r|² 1 − r rᵀ) dm (3, 3) about the origin, body axes, kg m²

    @property
    def subspace(self) -> Matrix:
        """S (6, nv), constant in the body frame."""
        return self.chart.subspace

    def transform(self, q: Vector) -> Placement:
        """This body's frame in its parent's, from the whole configuration q."""
        moved = self.chart.transform(q[self.q] + self.offset)
        return Placement(self.rotation, self.translation).then(moved)


@dataclass(frozen=True, eq=False)
class Fixed(Massive, Frozen):
    """Inertia and elements fixed to the base, in the world's axes about its origin.

    They never move, so no equation has them; where the base is attached to a body of another
    mechanism, that body carries them.
    """

    mass: Scalar = 0.0  # kg
    moment: Vector3 = field(default_factory=lambda: np.zeros(3))  # (3,) kg m
    inertia: Matrix3 = field(default_factory=lambda: np.zeros((3, 3)))  # kg m²
    elements: Elements = field(default_factory=Elements)  # lifts and fluid shapes, with body −1

    name = "base"

    def __bool__(self) -> bool:
        parts = (self.mass, self.moment, self.inertia)
        return any(is_symbolic(x) or np.any(x) for x in parts) or bool(self.elements)
