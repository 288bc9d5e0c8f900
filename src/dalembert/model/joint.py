"""Joints as data: charts with motion subspace, transform and integration; the table of joint kinds.

A `Chart` is one link's freedom in a frame whose z axis is the joint axis: a constant motion
subspace S (body coordinates, linear over angular), the configuration map q → (R, p), and the
manifold's own integration. Every lower pair is a short sequence of charts: a universal joint is two
revolute ones with a massless link between them, so no recursion ever meets an S that changes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.model.frozen import Frozen
from dalembert.spatial import quaternions
from dalembert.spatial.arrays import Matrix, Matrix3, Scalar, Vector, Vector3
from dalembert.spatial.rotations import left_jacobian_inverse_so3, rotation_z
from dalembert.spatial.se3 import Placement, bracket, exp_se3


@dataclass(frozen=True)
class Chart(Frozen):
    """Freedom of one link relative to its parent."""

    nq: int
    nv: int

    @property
    def subspace(self) -> np.ndarray:
        """S (6, nv): twist of the link in its own frame is S @ velocity."""
        raise NotImplementedError

    def transform(self, q: Vector) -> Placement:
        """The link frame in the joint frame."""
        raise NotImplementedError

    def neutral(self) -> np.ndarray:
        """The q of the reference posture."""
        return np.zeros(self.nq)

    def integrate(self, q: Vector, step: Vector) -> Vector:
        """q after moving with the constant velocity `step` for unit time, on the manifold."""
        return q + step

    def rate(self, q: Vector, velocity: Vector) -> Vector:
        """dq/dt (nq,) for a velocity (nv,)."""
        return velocity

    def difference(self, q: Vector, to: Vector) -> Vector:
        """The shortest step (nv,) with integrate(q, step) = to."""
        return to - q

    def pull_back(self, step: Vector, velocity: Vector) -> Vector:
        """The rate (nv,) of the step Ω at which integrate(q, Ω) moves with the velocity."""
        return velocity

    def normalised(self, q: Vector) -> Vector:
        """q (nq, ...) with its quaternion of unit length."""
        return q


@dataclass(frozen=True)
class Screw(Chart):
    """One coordinate about and along z: turns by `turn`·q radians and slides by `slide`·q metres."""

    turn: float = 1.0
    slide: Scalar = 0.0
    nq: int = 1
    nv: int = 1

    @property
    def subspace(self) -> Matrix:
        return np.stack([0.0, 0.0, self.slide, 0.0, 0.0, self.turn]).reshape(6, 1)

    def transform(self, q: Vector) -> Placement:
        slid = np.stack([0.0, 0.0, self.slide * q[0]])
        return Placement(rotation_z(self.turn * q[0]), slid)


@dataclass(frozen=True)
class Ball(Chart):
    """Rotation as a quaternion (x, y, z, w); velocity is the body angular velocity."""

    nq: int = 4
    nv: int = 3

    @property
    def subspace(self) -> np.ndarray:
        return np.vstack([np.zeros((3, 3)), np.eye(3)])

    def transform(self, q: Vector) -> Placement:
        return Placement(quaternions.matrix_from_quaternion(q), np.zeros(3))

    def neutral(self) -> np.ndarray:
        return np.array([0.0, 0.0, 0.0, 1.0])

    def integrate(self, q: Vector, step: Vector) -> Vector:
        return quaternions.integrate(q, step)

    def rate(self, q: Vector, velocity: Vector) -> Vector:
        return quaternions.rate_map(q) @ velocity

    def difference(self, q: Vector, to: Vector) -> Vector:
        return quaternions.difference(q, to)

    def pull_back(self, step: Vector, velocity: Vector) -> Vector:
        return _dexp_inverse(np.cross, step, velocity)

    def normalised(self, q: Vector) -> Vector:
        unit: Vector = q / np.sqrt(sum(q[k] * q[k] for k in range(4)))
        return unit


@dataclass(frozen=True)
class Free(Chart):
    """Position and quaternion (x, y, z, w); velocity is the body twist (linear, angular)."""

    nq: int = 7
    nv: int = 6

    @property
    def subspace(self) -> np.ndarray:
        return np.eye(6)

    def transform(self, q: Vector) -> Placement:
        return Placement(quaternions.matrix_from_quaternion(q[3:7]), q[0:3])

    def neutral(self) -> np.ndarray:
        return np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])

    def integrate(self, q: Vector, step: Vector) -> Vector:
        moved = exp_se3(step)
        rotation = quaternions.matrix_from_quaternion(q[3:7])
        return np.concatenate(
            [q[0:3] + rotation @ moved[0:3, 3], quaternions.integrate(q[3:7], step[3:6])]
        )

    def rate(self, q: Vector, velocity: Vector) -> Vector:
        linear = quaternions.matrix_from_quaternion(q[3:7]) @ velocity[0:3]
        return np.concatenate([linear, quaternions.rate_map(q[3:7]) @ velocity[3:6]])

    def difference(self, q: Vector, to: Vector) -> Vector:
        turned = quaternions.difference(q[3:7], to[3:7])
        local = quaternions.matrix_from_quaternion(q[3:7]).T @ (to[0:3] - q[0:3])
        return np.concatenate([left_jacobian_inverse_so3(turned) @ local, turned])

    def pull_back(self, step: Vector, velocity: Vector) -> Vector:
        return _dexp_inverse(bracket, step, velocity)

    def normalised(self, q: Vector) -> Vector:
        return np.concatenate([q[0:3], Ball().normalised(q[3:7])])


def _dexp_inverse(
    commutator: Callable[[Vector, Vector], Vector], step: Vector, V: Vector
) -> Vector:
    """Ω̇ = dexp⁻¹_{−Ω} V = V + ½ [Ω, V] + 1/12 [Ω, [Ω, V]] + O(Ω⁴) (Munthe-Kaas 1998).

    The next Bernoulli number is zero, so that these terms carry any explicit method up to order four.
    """
    once = commutator(step, V)
    return V + 0.5 * once + commutator(step, once) / 12.0


REVOLUTE, PRISMATIC = Screw(), Screw(turn=0.0, slide=1.0)
X, Y, Z = np.eye(3)

AXES = ("x", "y", "z", "rx", "ry", "rz")  # along and about the axes of a joint frame


class JointKind(NamedTuple):
    """A kind of joint between two frames, z along its axis, under all names it goes by.

    Attributes
    ----------
    name
        As robots name it.
    charts
        Of a robot's joint, in the order of its coordinates; their subspaces are its motions. None
        for what only closes loops. A helical joint's slides by its pitch.
    loop
        As `Loop` names it; None where the constrained directions are not those of a frame's axes.
    free
        The directions of `AXES` that a loop of this kind leaves free.
    planar, spatial
        As a mechanism in the plane or in space names it; None where it has no such joint.
    coordinates
        Quantities that a mechanism measures in it, in the order of a robot's coordinates.
    follows
        Further quantities that it measures.
    urdf, mjcf
        Its types in files, the one that is written last.
    """

    name: str
    charts: tuple[Chart, ...] | None
    loop: str | None = None
    free: tuple[str, ...] = ()
    planar: str | None = None
    spatial: str | None = None
    coordinates: tuple[str, ...] = ()
    follows: tuple[str, ...] = ()
    urdf: tuple[str, ...] = ()
    mjcf: str | None = None

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        return len(self.free) if self.charts is None else sum(c.nv for c in self.charts)

    @property
    def rows(self) -> tuple[str, ...]:
        """The directions of `AXES` that a loop of this kind constrains."""
        return tuple(axis for axis in AXES if axis not in self.free)

    @property
    def measures(self) -> tuple[str, ...]:
        """Quantities that a mechanism can measure in it, the angle first."""
        return tuple(sorted((*self.coordinates, *self.follows), key=lambda x: x != "angle"))

    @property
    def names(self) -> set[str]:
        """Its names for robots, loops and mechanisms."""
        return {x for x in (self.name, self.loop, self.planar, self.spatial) if x is not None}


JOINT_KINDS = {
    kind.name: kind
    for kind in (
        JointKind(
            "revolute",
            (REVOLUTE,),
            loop="revolute",
            free=("rz",),
            planar="revolute",
            spatial="revolute",
            coordinates=("angle",),
            urdf=("revolute",),
            mjcf="hinge",
        ),
        JointKind("continuous", (REVOLUTE,), loop="revolute", free=("rz",), urdf=("continuous",)),
        JointKind(
            "prismatic",
            (PRISMATIC,),
            loop="prismatic",
            free=("z",),
            planar="prismatic",
            spatial="prismatic",
            coordinates=("slide",),
            urdf=("prismatic",),
            mjcf="slide",
        ),
        JointKind(
            "helical", (REVOLUTE,), spatial="screw", coordinates=("angle",), follows=("slide",)
        ),
        JointKind(
            "cylindrical",
            (PRISMATIC, REVOLUTE),
            loop="cylindrical",
            free=("z", "rz"),
            spatial="cylindrical",
            coordinates=("slide", "angle"),
        ),
        JointKind(
            "universal", (REVOLUTE, REVOLUTE), spatial="universal", coordinates=("first", "second")
        ),
        JointKind(
            "planar",
            (PRISMATIC, PRISMATIC, REVOLUTE),
            loop="planar",
            free=("x", "y", "rz"),
            spatial="planar",
            coordinates=("x", "y", "angle"),
            urdf=("planar",),
        ),
        JointKind(
            "spherical",
            (Ball(),),
            loop="point",
            free=("rx", "ry", "rz"),
            spatial="spherical",
            urdf=("ball", "spherical"),  # not in the standard; Drake's, and PyBullet's
            mjcf="ball",
        ),
        JointKind("free", (Free(),), free=AXES, urdf=("floating",), mjcf="free"),
        JointKind("fixed", (), loop="weld", planar="rigid", spatial="fixed", urdf=("fixed",)),
        JointKind("parallel", None, loop="parallel", free=("x", "y", "z", "rz")),
        # a revolute joint of a mechanism that is planar already
        JointKind("pin", None, loop="pin", free=("z", "rx", "ry", "rz")),
    )
}
PLANAR_KINDS = {kind.planar: kind for kind in JOINT_KINDS.values() if kind.planar is not None}
SPATIAL_KINDS = {kind.spatial: kind for kind in JOINT_KINDS.values() if kind.spatial is not None}
KINDS = tuple(name for name, kind in JOINT_KINDS.items() if kind.charts is not None)


def kind_named(name: Any) -> JointKind | None:
    """The kind with this name for robots, loops or mechanisms; None if there is none.

    >>> kind_named("screw").name, kind_named("weld").name
    ('helical', 'fixed')
    """
    if not isinstance(name, str):
        return None
    return JOINT_KINDS.get(name) or next((k for k in JOINT_KINDS.values() if name in k.names), None)


def equivalent_name(name: Any, names: Collection[str]) -> str | None:
    """The one of `names` that means the same kind as `name`; None if there is none.

    >>> equivalent_name("helical", ["screw", "gear"]), equivalent_name("gear", ["screw", "gear"])
    ('screw', 'gear')
    """
    kind = kind_named(name)
    every = (name, *(() if kind is None else kind.names))
    return next((x for x in every if isinstance(x, str) and x in names), None)


Factors = list[tuple[Vector3, Chart]]


def factors(kind: str, axis: Vector3, axis2: Vector3 | None, pitch: Scalar) -> Factors:
    """The sequence of (axis in the joint frame, chart) that makes a joint of this kind.

    Order of coordinates: cylindrical (slide, turn), universal (about `axis`, then about `axis2`),
    planar (x, y, angle) in the plane normal to `axis`, free (position, quaternion).
    """
    charts = JOINT_KINDS[kind].charts or ()
    if kind == "helical":
        return [(axis, Screw(turn=1.0, slide=pitch))]
    axes = [axis] * len(charts)
    if kind == "universal":
        axes = [axis, Y if axis2 is None else axis2]
    elif kind == "planar":
        axes = [*align(axis).T[:2], axis]
    elif kind in ("spherical", "free"):
        axes = [Z]
    return list(zip(axes, charts, strict=True))


def align(axis: Vector3) -> Matrix3:
    """A rotation that takes z to the unit vector `axis`: the smallest one in the upper half space.

    >>> align(np.array([0.0, 1.0, 0.0])) @ Z
    array([0., 1., 0.])
    """
    x, y, z = axis
    # mirrored through half a turn about x where z < 0, so that 1 + z never cancels
    flip = np.where(z < 0.0, -1.0, 1.0)
    y, z = flip * y, flip * z
    k = 1.0 / (1.0 + z)
    rows = [[1 - k * x * x, -k * x * y, x], [-k * x * y, 1 - k * y * y, y], [-x, -y, z]]
    scaled = [rows[0], [flip * e for e in rows[1]], [flip * e for e in rows[2]]]
    return np.stack([np.stack(row) for row in scaled])
