"""Constraints that close a tree: loops, rods, gears and tendons between frames or joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from dalembert.constraints.kinds import Constraint, Placed, Posture
from dalembert.errors import ConstraintError
from dalembert.formulations.registry import suggest
from dalembert.model.joint import AXES, JOINT_KINDS, kind_named
from dalembert.model.parameter import expression
from dalembert.model.validation import mapping
from dalembert.spatial.arrays import Array
from dalembert.systems.dynamics import Dynamics

DIRECTIONS = {kind.loop: kind.rows for kind in JOINT_KINDS.values() if kind.loop is not None}


class FramePairConstraint(Constraint):
    """A constraint between two frames: its force acts at the end in the second frame."""

    frame_a: str
    frame_b: str
    pose_a: Any
    pose_b: Any

    @property
    def between(self) -> tuple[str, str]:
        return self.frame_a, self.frame_b

    @property
    def ends(self) -> tuple[Placed, Placed]:
        """Both frames, each with its pose within its body."""
        return (self.frame_a, self.pose_a), (self.frame_b, self.pose_b)

    def point(self, at: Posture) -> Array:
        return at.pose(self.frame_b, self.pose_b)[1]


@dataclass(frozen=True, eq=False)
class Loop(FramePairConstraint):
    """Frame b may not move against frame a along and about these axes of frame a.

    `directions` is one of "point", "revolute" (about z), "prismatic" (along z), "cylindrical",
    "planar" (in x–y), "parallel" (z axes), "pin" (x and y), "weld", or a tuple of "x", "y", "z",
    "rx", "ry", "rz"; one of the last three alone holds the twist about it and leaves the swing free.
    A body turned by half a turn does not close the loop. `pose_a`, `pose_b` (4, 4) move the frames
    within their bodies. λ holds forces and moments along these axes: b receives −λ, a receives +λ.
    Points that coincide may also be held ``along="world"`` axes, or ``along="carrier"``, the axes of
    the nearest body that carries both frames: the shortest, as where that body is plays no part.

    Parameters
    ----------
    frame_a : str
        Frame along whose axes b is held.
    frame_b : str
        The other frame.
    directions : str or tuple of str
        Kind of the joint, or the axes that are held.
    pose_a : array_like (4, 4), optional
        Pose in the frame's body; default the frame itself.
    pose_b : array_like (4, 4), optional
        Pose in the frame's body; default the frame itself.
    along : str
        "frame", "world" or "carrier".
    name : str, optional
        Its name; default its kind and a number.
    """

    every_row_counts: ClassVar[bool] = False  # a planar mechanism meets rows out of its plane

    frame_a: str
    frame_b: str
    directions: str | tuple[str, ...] = "point"
    pose_a: Any = None
    pose_b: Any = None
    along: str = "frame"
    name: str | None = None

    def __post_init__(self) -> None:
        """A loop's name of directions that were given by a joint's: "fixed" is "weld"."""
        kind = kind_named(self.directions)
        if kind is not None and kind.loop is not None:
            object.__setattr__(self, "directions", kind.loop)

    @property
    def axes(self) -> tuple[str, ...]:
        """The constrained axes, in the order of the rows."""
        if isinstance(self.directions, str):
            if self.directions not in DIRECTIONS:
                raise ConstraintError(
                    f"loop {self.label!r}: no directions {self.directions!r}"
                    f"{suggest(self.directions, list(DIRECTIONS))}"
                )
            return DIRECTIONS[self.directions]
        unknown = [axis for axis in self.directions if axis not in AXES]
        if unknown or not self.directions or len(set(self.directions)) != len(self.directions):
            raise ConstraintError(
                f"loop {self.label!r}: directions {self.directions!r} must be different ones of "
                f"{', '.join(AXES)}"
            )
        return tuple(axis for axis in AXES if axis in self.directions)

    def position(self, at: Posture) -> Array:
        turns = any(axis.startswith("r") for axis in self.axes)
        if self.along not in ("frame", "world", "carrier") or (turns and self.along != "frame"):
            raise ConstraintError(
                f"loop {self.label!r}: along={self.along!r} must be 'frame', or for points 'world' "
                "or 'carrier'"
            )
        # both ends, in the world or in the body that carries them
        if self.along == "world":
            (R_a, p_a), (R_b, p_b) = (at.pose(*end) for end in self.ends)
        else:
            _, (R_a, p_a), (R_b, p_b) = at.poses_apart(*self.ends)
        axes = R_a if self.along == "frame" else np.eye(3)
        offset, R = axes.T @ (p_b - p_a), axes.T @ R_b
        angles = _angles(R, self.axes)
        return np.stack([angles[a] if a in angles else offset["xyz".index(a)] for a in self.axes])

    def angular_rows(self, at: Posture) -> dict[int, Any]:
        turns = {k: axis for k, axis in enumerate(self.axes) if axis.startswith("r")}
        if len(turns) < 2:
            return {}  # a twist alone leaves the swing free, and its rate is not ω along the axis
        R_a, p = at.pose(self.frame_a, self.pose_a)
        omega = R_a.T @ (at.jacobian(self.frame_b, p) - at.jacobian(self.frame_a, p))[3:6]
        return {k: omega["xyz".index(axis[1])] for k, axis in turns.items()}

    def motions(self, at: Posture) -> list[Array] | None:
        points = [at.pose(*end)[1] for end in self.ends]
        origins = [at.pose(frame)[1] for frame in self.between]
        J_a, J_b = (at.jacobian(*x) for x in zip(self.between, points, strict=True))
        angular = np.concatenate([J_a[3:6], J_b[3:6]])
        # a point on an axis does not move about it, but by the rounding of its lever arm: the
        # longest lever arm of its ends, m, within their bodies and between these
        arms = (points[0] - origins[0], points[1] - origins[1], origins[1] - origins[0])
        arm = max(float(np.linalg.norm(x)) for x in arms)
        linear = np.concatenate([J_a[0:3], J_b[0:3], arm * (J_b - J_a)[3:6]])
        return [angular if axis.startswith("r") else linear for axis in self.axes]

    def may_hold_nothing(self, system: Dynamics) -> bool:
        """Whether one joint carries one body on the other: a second bearing on its axis."""
        tree = getattr(system.description, "tree", None)
        if tree is None:
            return False
        first, second = (tree.frames[end].body for end in self.between)
        return any(
            child >= 0 and tree.bodies[child].parent == parent
            for child, parent in ((first, second), (second, first))
        )

    @property
    def units(self) -> tuple[str, ...]:  # type: ignore[override]  # by its axes
        return tuple("N m" if axis.startswith("r") else "N" for axis in self.axes)

    def wrench(self, at: Posture, lam: Array) -> Array:
        # the axes (3, 3) that the rows belong to, as columns
        if self.along == "carrier":
            R = at.poses_apart(*self.ends)[0][0]
        else:
            R = np.eye(3) if self.along == "world" else at.pose(*self.ends[0])[0]
        parts = {axis: -lam[i] for i, axis in enumerate(self.axes)}
        six = [parts.get(axis, 0.0 * lam[0]) for axis in AXES]
        # the rows x, y, z turn with their axes, so a force at b's origin is all there is
        return np.concatenate([R @ np.stack(six[0:3]), R @ np.stack(six[3:6])])


def _angles(R: Array, axes: tuple[str, ...]) -> dict[str, Array]:
    """Angles of frame b against frame a that all vanish only in the constrained orientation.

    With one free axis, the angles between the axes of b and a about the other two; otherwise the
    twist of R about each axis. Both range to ±π, where half turns are. Where they vanish together,
    their rates are ω along the axes of a.
    """
    turns = [axis for axis in axes if axis.startswith("r")]
    if len(turns) == 2:
        free = "xyz".index(next(a[1] for a in ("rx", "ry", "rz") if a not in turns))
        i, j = (free + 1) % 3, (free + 2) % 3
        along, across = R[free, free], {f"r{'xyz'[j]}": R[i, free], f"r{'xyz'[i]}": -R[j, free]}
        return {axis: np.arctan2(x, along) for axis, x in across.items()}
    # 2 atan2(q_axis, q_w) of R's quaternion: the rotation about an axis without the swing
    twists = {}
    for axis in turns:
        j, k = (("xyz".index(axis[1]) + n) % 3 for n in (1, 2))
        twists[axis] = np.arctan2(R[k, j] - R[j, k], R[j, j] + R[k, k])
    return twists


@dataclass(frozen=True, eq=False)
class Distance(FramePairConstraint):
    """A massless rod between the origins of two frames: ½ (d² − l²) = 0; its tension is λ l.

    Parameters
    ----------
    frame_a : str
        One end of the rod.
    frame_b : str
        The other end.
    length : float or Parameter
        l, m.
    pose_a : array_like (4, 4), optional
        Pose in the frame's body; default the frame itself.
    pose_b : array_like (4, 4), optional
        Pose in the frame's body; default the frame itself.
    name : str, optional
        Its name; default its kind and a number.
    """

    units = ("N/m",)

    frame_a: str
    frame_b: str
    length: Any
    pose_a: Any = None
    pose_b: Any = None
    name: str | None = None

    def position(self, at: Posture) -> Array:
        if isinstance(self.length, int | float) and not self.length > 0.0:
            raise ConstraintError(
                f"distance {self.label!r}: length {self.length} must be positive; frames that "
                "coincide are a Loop with directions='point'"
            )
        _, (_, p_a), (_, p_b) = at.poses_apart(*self.ends)
        d = p_b - p_a
        l = expression(self.length)
        return np.stack([0.5 * (d @ d - l * l)])

    def motions(self, at: Posture) -> list[Array] | None:
        points = [at.pose(*end)[1] for end in self.ends]
        J = [at.jacobian(*x)[0:3] for x in zip(self.between, points, strict=True)]
        d = points[1] - points[0]
        return [np.sqrt(d @ d) * np.concatenate(J)]

    def wrench(self, at: Posture, lam: Array) -> Array:
        d = self.point(at) - at.pose(self.frame_a, self.pose_a)[1]
        return np.concatenate([-lam[0] * d, np.zeros(3)])

    def terms(self, F: Array, lam: Array) -> dict[str, Any]:
        """The force on b, and the tension: positive where the rod pulls."""
        tension = np.sign(lam[..., 0]) * np.linalg.norm(F[..., 0:3], axis=-1)
        return {"force": F[..., 0:3], "tension": tension}


@dataclass(frozen=True, eq=False)
class JointCoupling(Constraint):
    """A gear between coordinates: q_follower = ratio · q_leader + offset.

    With a `polynomial` (c₀, c₁, …) instead, q_follower = Σ c_k q_leaderᵏ; without a leader the
    follower stays at c₀, or at `offset`. `factors` maps further coordinates to what they are
    multiplied by, as in a differential: q_follower = … + Σ factor · q.

    Parameters
    ----------
    follower : str
        Coordinate that follows.
    leader : str, optional
        Coordinate that it follows.
    ratio : float
        Ratio of the gear.
    offset : float
        rad or m.
    name : str, optional
        Its name; default its kind and a number.
    polynomial : sequence of float, optional
        (c₀, c₁, …) in place of ratio and offset.
    factors : mapping, optional
        {coordinate: factor} of further ones.
    """

    follower: str
    leader: str | None = None
    ratio: Any = 1.0
    offset: Any = 0.0
    name: str | None = None
    polynomial: tuple[Any, ...] = ()
    factors: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "factors", mapping(self.factors, f"factors of {self.follower!r}"))

    @property
    def coefficients(self) -> tuple[Any, ...]:
        """c_k of q_follower = Σ c_k q_leaderᵏ, c₀ alone without a leader."""
        polynomial = self.polynomial or (self.offset, self.ratio)
        return tuple(polynomial if self.leader is not None else polynomial[:1])

    def position(self, at: Posture) -> Array:
        leader = None if self.leader is None else at.coordinate(self.leader)
        value = _polynomial(self.coefficients, leader)
        for name, factor in self.factors.items():
            value = value + expression(factor) * at.coordinate(name)
        return np.stack([at.coordinate(self.follower) - value])


@dataclass(frozen=True, eq=False)
class TendonCoupling(Constraint):
    """The length of a tendon is a polynomial of another's: L_follower = Σ c_k L_leaderᵏ.

    Without a leader it stays c₀: a cable that neither stretches nor slackens, or joints geared to
    each other where the tendon runs over joints.

    Parameters
    ----------
    follower : str
        Tendon that follows.
    leader : str, optional
        Tendon that it follows.
    polynomial : sequence of float
        (c₀, c₁, …).
    name : str, optional
        Its name; default its kind and a number.
    """

    follower: str
    leader: str | None = None
    polynomial: tuple[Any, ...] = (0.0, 1.0)
    name: str | None = None

    def position(self, at: Posture) -> Array:
        leader = None if self.leader is None else at.tendon(self.leader)
        return np.stack([at.tendon(self.follower) - _polynomial(self.polynomial, leader)])

    def motions(self, at: Posture) -> list[Array] | None:
        tree = at.system.description.tree
        frames = {frame.body: name for name, frame in tree.frames.items()}
        tendons = {tendon.name: tendon for tendon in tree.tendons}
        velocities: list[Array] = []
        for name in filter(None, (self.follower, self.leader)):
            ends = [end for part in tendons[name].segments for end in (part.start, part.end)]
            if not ends:
                return None  # it runs over joints, whose coordinates do not cancel
            for end in ends:
                J = at.jacobian(frames[end.body], at.pose(frames[end.body])[1])
                velocities += [J[0:3], np.linalg.norm(end.point) * J[3:6]]
        return [np.concatenate(velocities)]

    def may_hold_nothing(self, system: Dynamics) -> bool:
        """A tendon between points of one body has a constant length."""
        return True


def _polynomial(coefficients: tuple[Any, ...], x: Array | None) -> Any:
    """Σ c_k xᵏ by Horner's scheme, c₀ where there is no x."""
    if x is None:
        return expression(coefficients[0])
    value: Any = 0.0
    for c in reversed(coefficients):
        value = value * x + expression(c)
    return value
