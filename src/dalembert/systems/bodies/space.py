"""The space of a body, planar or spatial, and rows Φ(q, p) on the coordinates of a few bodies.

A planar body has (x, y, φ); a spatial one the position of its centre of mass and a quaternion
(x, y, z, w), with the velocity (ṗ in world axes, ω in body axes). There are no quaternion rates
among the velocities, so no multiplier is spent on keeping a quaternion long; M is constant.

A `Kind` of joint or measure is a function Φ written once; its derivatives are derived and compiled,

    Φ(q, p),    J with Φ̇ = J v,    δ with Φ̈ = J v̇ + δ.

p are the numbers that tell one joint from another of its kind, so that all of them are one call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dalembert import tracing
from dalembert.kernels import Kernel, Port, Program, build, source_digest
from dalembert.kernels.program.trace import trace
from dalembert.model.joint import Ball, Chart, Screw
from dalembert.pickling import Portable
from dalembert.spatial import se3
from dalembert.spatial.quaternions import matrix_from_quaternion
from dalembert.spatial.rotations import hat, rotation_z

Array = np.ndarray  # of floats or of symbols


@dataclass(frozen=True)
class Space:
    """Sizes and names of the coordinates of one body; every method is traceable."""

    name: str
    coordinates: tuple[str, ...]
    velocities: tuple[str, ...]
    dimension: int
    turn: Chart = field(repr=False)  # of the rotation, q behind the position

    @property
    def nq(self) -> int:
        """Coordinates of a body."""
        return len(self.coordinates)

    @property
    def nv(self) -> int:
        """Velocities of a body."""
        return len(self.velocities)

    @property
    def reference(self) -> Array:
        """The coordinates (nq,) of the ground."""
        return np.concatenate([np.zeros(self.dimension), self.turn.neutral()])

    @property
    def kinds(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The kind of each entry of q and of the velocity of a body."""
        lengths, of_q = ("length",) * self.dimension, "quaternion" if self.turn.nq == 4 else "angle"
        return lengths + (of_q,) * self.turn.nq, lengths + ("angle",) * self.turn.nv

    def rate(self, q: Array, v: Array) -> Array:
        """q̇ (nq,) of one body with velocity v (nv,)."""
        n = self.dimension
        return np.concatenate([v[:n], self.turn.rate(q[n:], v[n:])])

    def integrate(self, q: Array, step: Array) -> Array:
        """Coordinates (nq,) after unit time at the velocity `step` (nv,)."""
        n = self.dimension
        return np.concatenate([q[:n] + step[:n], self.turn.integrate(q[n:], step[n:])])

    def difference(self, q: Array, to: Array) -> Array:
        """The shortest step (nv,) with integrate(q, step) = to."""
        n = self.dimension
        return np.concatenate([to[:n] - q[:n], self.turn.difference(q[n:], to[n:])])

    def pull_back(self, step: Array, velocity: Array) -> Array:
        """The rate (nv,) of the step Ω at which integrate(q, Ω) moves with the velocity."""
        n = self.dimension
        return np.concatenate([velocity[:n], self.turn.pull_back(step[n:], velocity[n:])])

    def normalised(self, q: Array) -> Array:
        """q (nq,) with its quaternion of unit length."""
        return np.concatenate([q[: self.dimension], self.turn.normalised(q[self.dimension :])])

    def rotation(self, q: Array) -> Array:
        """Axes of a body in the world, as columns: (2, 2) or (3, 3)."""
        if self.dimension == 3:
            return matrix_from_quaternion(q[3:7])
        c, s = np.cos(q[2]), np.sin(q[2])
        return np.stack([np.stack([c, -s]), np.stack([s, c])])

    def world_point(self, q: Array, local: Array) -> Array:
        """Position of a local point in the world, (2,) or (3,)."""
        point: Array = q[: self.dimension] + self.rotation(q) @ local
        return point

    def wrench(self, q: Array, pull: Array, about: Array) -> Array:
        """A force `pull` (nv,) along a body's velocities as force and moment about a point.

        (Fx, Fy, M) in the plane and (F, M) (6,) in space, along the world's axes.
        """
        arm = q[: self.dimension] - about
        if self.dimension == 2:
            return np.stack([pull[0], pull[1], pull[2] + arm[0] * pull[1] - arm[1] * pull[0]])
        moment = self.rotation(q) @ pull[3:6] + np.cross(arm, pull[0:3])
        return np.concatenate([pull[0:3], moment])

    def pose(self, q: Array) -> Array:
        """The (4, 4) pose of a body; the plane is that of x and y."""
        if self.dimension == 3:
            return se3.pose(self.rotation(q), q[:3])
        return se3.pose(rotation_z(q[2]), np.concatenate([q[:2], 0.0 * q[:1]]))

    def jacobian(self, q: Array, expressed_in: str = "world") -> Array:
        """(6, nv) from a body's velocity to that of its frame: world, body or spatial axes."""
        T = self.pose(q)
        R, p = T[:3, :3], T[:3, 3]
        if self.dimension == 2:
            linear, angular = np.diag([1.0, 1.0, 0.0]), np.diag([0.0, 0.0, 1.0])
        else:
            linear, angular = np.eye(3, 6), np.concatenate([np.zeros((3, 3)), R], axis=1)
        if expressed_in == "body":
            return np.concatenate([R.T @ linear, R.T @ angular])
        if expressed_in == "spatial":  # of the point of the body at the origin: v + p × ω
            linear = linear + hat(p) @ angular
        return np.concatenate([linear + 0.0 * q[0], angular + 0.0 * q[0]])


PLANAR = Space("planar", ("x", "y", "phi"), ("vx", "vy", "omega"), 2, Screw())
SPATIAL = Space(
    "spatial",
    ("x", "y", "z", "qx", "qy", "qz", "qw"),
    ("vx", "vy", "vz", "omega_x", "omega_y", "omega_z"),
    3,
    Ball(),
)


Rows = Callable[[Array, Array], Array]  # (q (nq,), p (parameters,)) → (rows,)
Rate = Callable[[Array, Array], Array]  # (q (nq,), v (nv,)) → dq/dt (nq,)


@dataclass(frozen=True, eq=False)
class RowFunction:
    """Φ with its sizes.

    `key` says everything that decides Φ, its sources included, so that a kernel on disk is found
    without tracing; without one the function is known by what it computes.
    """

    name: str
    nq: int
    nv: int
    rows: int
    parameters: int
    function: Rows
    rate: Rate
    key: str | None = None

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Inputs of the kernel."""
        return {"q": (self.nq,), "v": (self.nv,), "p": (self.parameters,)}

    def expanded(self, q: Array, v: Array, p: Array) -> tuple[Array, Array, Array]:
        """Φ (rows,), J (rows, nv) and δ (rows,), from symbols q, v and p."""
        flow = self.rate(q, v)
        phi = self.function(q, p)
        speed = tracing.directional(phi, q, flow)
        return phi, tracing.jacobian(speed, v), tracing.directional(speed, q, flow)

    @cached_property
    def at(self) -> Callable[..., tuple[Array, Array, Array]]:
        """(q, v, p) by keyword → (Φ, J, δ) of one joint, numbers or symbols."""
        return tracing.traced(self.expanded, self.shapes)

    @cached_property
    def kernel(self) -> Kernel:
        """The compiled (q, v, p) → (Φ, J, δ), batched over joints."""
        inputs = [Port(name, shape) for name, shape in self.shapes.items()]
        sizes = {"phi": (self.rows,), "jacobian": (self.rows, self.nv), "drift": (self.rows,)}
        outputs = [Port(name, shape) for name, shape in sizes.items()]
        return build(self.digest, self._program, inputs, outputs, self.name)

    def _program(self) -> Program:
        def named(q: Array, v: Array, p: Array) -> dict[str, Array]:
            return dict(zip(("phi", "jacobian", "drift"), self.expanded(q, v, p), strict=True))

        return trace(named, self.shapes, name=self.name)

    @cached_property
    def digest(self) -> str:
        """Identifies the function: its key, or the digest of its program."""
        return self.key or self._program().digest


Function = Callable[[Array, Array], Array]  # (q (bodies, nq), p (parameters,)) → (rows,)
TRACED_FROM = ("dalembert.systems", "dalembert.spatial", "dalembert.model")


@dataclass(frozen=True)
class Kind(Portable):
    """Rows on a few bodies, and the numbers p that tell one joint of the kind from another.

    p are `points` numbers of where it is on its bodies (two points in the plane, two points with
    axes in space), then those of the `numbers` by name. With `near`, the last one is an angle, and
    the function gives the angle nearest to it. A kind from outside the library has `custom=True`.
    """

    name: str
    space: Space
    bodies: int
    rows: int
    function: Function
    numbers: tuple[str, ...] = ()
    points: int | None = None
    near: bool = False
    custom: bool = False

    @property
    def parameters(self) -> int:
        """Length of p."""
        pair = 4 if self.space.dimension == 2 else 24
        return (pair if self.points is None else self.points) + len(self.numbers)

    @cached_property
    def row_function(self) -> RowFunction:
        """Φ, J and δ over the coordinates of its bodies, one after the other."""
        n, space = self.bodies, self.space

        def rate(q: Array, v: Array) -> Array:
            each = zip(np.split(q, n), np.split(v, n), strict=True)
            return np.concatenate([space.rate(x, y) for x, y in each])

        key = None
        if not self.custom:
            key = " ".join([space.name, self.name, *map(source_digest, TRACED_FROM)])
        sizes = (n * space.nq, n * space.nv, self.rows, self.parameters)
        function = self.function
        return RowFunction(
            self.name, *sizes, lambda q, p: function(q.reshape(n, space.nq), p), rate, key
        )


def kinds(*entries: Kind) -> dict[str, Kind]:
    """Kinds by their names."""
    return {kind.name: kind for kind in entries}


# of the vector d = between(q, p) from one point to another


def distance(between: Function, q: Array, p: Array) -> Array:
    """(|d|² − l²) / 2l for a massless rod of length l = p[-1]: its multiplier is the axial force."""
    d, l = between(q, p), p[-1]
    return np.stack([(d @ d - l * l) / (2.0 * l)])


def length(between: Function, q: Array, p: Array) -> Array:
    """Distance of two points."""
    d = between(q, p)
    return np.stack([np.sqrt(d @ d)])


def stretch(between: Function, q: Array, p: Array) -> Array:
    """Distance of two points that may coincide: what a spring without free length pulls along.

    Its derivative is zero at d = 0, where it has no direction.
    """
    d = between(q, p)
    square = d @ d
    size = np.where(square > 0.0, np.sqrt(np.where(square > 0.0, square, 1.0)), 0.0)
    return np.stack([size])


def near(about: float | Array, sine: Array, cosine: Array) -> Array:
    """The angle with this sine and cosine (times any length) that is nearest to `about`."""
    c, s = np.cos(about), np.sin(about)
    angle: Array = about + np.arctan2(sine * c - cosine * s, cosine * c + sine * s)
    return angle
