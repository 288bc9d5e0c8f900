"""The one model every formulation reads: a frozen tree of bodies, with parameters bound or open."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.model.actuators import Actuation, Actuator
from dalembert.model.body import Body
from dalembert.model.elements import Elements
from dalembert.model.frozen import Frozen
from dalembert.model.jointed import Jointed
from dalembert.model.notes import Notes
from dalembert.records import record
from dalembert.spatial.arrays import Matrix, Matrix3, Vector, Vector3
from dalembert.spatial.placement import Placement

if TYPE_CHECKING:
    from dalembert.model.coupling import Follow


@record
class JointInfo:
    """What users see of a joint; `bodies` are the links of the tree it moves (several if compound)."""

    name: str
    kind: str
    link: str
    bodies: range
    q: slice
    v: slice
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    velocity_limit: float = np.inf
    effort_limit: float = np.inf


@record(eq=False)
class Frame(Frozen):
    """A named frame fixed to a body (−1: the base)."""

    body: int
    rotation: Matrix3  # (3, 3) in the body frame
    translation: Vector3  # (3,) in the body frame, m

    @property
    def placement(self) -> Placement:
        """This frame in the body's."""
        return Placement(self.rotation, self.translation)


@record(eq=False)
class Drive(Frozen):
    """Per velocity coordinate: friction and the reflected inertia of the motor's rotor."""

    viscous: Vector  # (nv,) N m s/rad or N s/m
    coulomb_positive: Vector  # (nv,) torque at positive velocity
    coulomb_negative: Vector  # (nv,) torque at negative velocity (a negative number)
    rotor: Vector  # (nv,) gear_ratio² × rotor inertia, kg m² or kg


@record(eq=False)
class Model(Frozen, Jointed):
    """A mechanism: bodies in topological order, joints, frames, drives, gravity.

    `parameters` holds the default of every named parameter; `bind` puts numbers (or symbols) in.
    """

    name: str
    bodies: tuple[Body, ...]
    joints: tuple[JointInfo, ...]
    frames: Mapping[str, Frame]
    tool: str
    drive: Drive
    gravity: Vector3  # (3,) m/s²
    elements: Elements = field(default_factory=Elements)  # springs, tendons, lifted weights
    parameters: Mapping[str, float | None] = field(default_factory=dict)
    driven_by: Actuation = field(default_factory=Actuation)
    notes: Notes = field(default_factory=Notes)  # what its file left to say; no part of its content

    @property
    def nq(self) -> int:
        """Number of configuration coordinates."""
        return sum(body.chart.nq for body in self.bodies)

    @property
    def nv(self) -> int:
        """Number of velocity coordinates (degrees of freedom)."""
        return sum(body.chart.nv for body in self.bodies)

    @property
    def tree(self) -> Model:
        """The model in which every joint moves on its own: this one."""
        return self

    @property
    def followers(self) -> Mapping[str, Follow]:
        """Joints that follow others, by name: none."""
        return {}

    def expand(self, q: Vector) -> Vector:
        """The tree's q from the model's: the same."""
        return q

    def with_bodies(self, bodies: tuple[Body, ...]) -> Model:
        """The same mechanism with other bodies, of other inertias say."""
        return replace(self, bodies=bodies)

    def with_notes(self, notes: Notes) -> Model:
        """The same mechanism with what its file left to say."""
        return replace(self, notes=notes)

    def with_actuators(self, actuators: Iterable[Actuator]) -> Model:
        """The same mechanism driven by these actuators instead of its own."""
        from dalembert.model.build import with_parameters

        return with_parameters(replace(self, driven_by=self.driven_by.having(self, actuators)))

    def joint_of(self, body: int) -> JointInfo:
        """The user's joint that moves this body."""
        return next(joint for joint in self.joints if body in joint.bodies)

    def neutral(self) -> np.ndarray:
        """The reference configuration q (nq,)."""
        return np.concatenate([np.zeros(0), *(b.chart.neutral() for b in self.bodies)])

    def integrate(self, q: Vector, step: Vector) -> Vector:
        """q moved by the velocity `step` (nv,) for unit time, each joint on its own manifold."""
        return np.concatenate([b.chart.integrate(q[b.q], step[b.v]) for b in self.bodies])

    def rate(self, q: Vector, qd: Vector) -> Vector:
        """dq/dt (nq,) for the velocity qd (nv,); the same vector except for quaternion joints."""
        return np.concatenate([b.chart.rate(q[b.q], qd[b.v]) for b in self.bodies])

    def difference(self, q: Vector, to: Vector) -> Vector:
        """The step (nv,) with integrate(q, step) = to, each joint the shortest way."""
        return np.concatenate([b.chart.difference(q[b.q], to[b.q]) for b in self.bodies])

    def pull_back(self, step: Vector, velocity: Vector) -> Vector:
        """The rate (nv,) of Ω = `step` at which integrate(q, Ω) moves with `velocity`."""
        return np.concatenate([b.chart.pull_back(step[b.v], velocity[b.v]) for b in self.bodies])

    def normalised(self, q: Vector) -> Vector:
        """q (..., nq) with quaternions of unit length."""
        return np.concatenate([b.chart.normalised(q.T[b.q]) for b in self.bodies]).T

    @property
    def coulomb(self) -> Matrix:
        """(2, nv) torque of Coulomb friction at positive and at negative velocity."""
        return np.stack([self.drive.coulomb_positive, self.drive.coulomb_negative])

    def without_coulomb(self) -> Model:
        """The same mechanism without Coulomb friction."""
        none = np.zeros(self.nv)
        return replace(
            self, drive=replace(self.drive, coulomb_positive=none, coulomb_negative=none)
        )

    @cached_property
    def content(self) -> str:
        """A digest of everything that shapes the numbers: equal models have equal digests."""
        from dalembert.model.numbers import number_bytes

        structure = (
            self.name,
            [(b.name, b.parent, type(b.chart).__name__, b.q, b.v) for b in self.bodies],
            self.joints,
            [(name, frame.body) for name, frame in self.frames.items()],
            self.tool,
            list(self.parameters.items()),
            self.driven_by.structure,
        )
        digest = hashlib.sha256(repr(structure).encode())
        if self.elements:
            digest.update(self.elements.structure.encode())
        digest.update(number_bytes(self))
        return digest.hexdigest()

    @cached_property
    def lean(self) -> Model:
        """The same mechanism with fewer numbers, for recursions; see `dalembert.model.lean`."""
        from dalembert.model.lean import lean

        return lean(self)

    def bind(self, values: Vector) -> Model:
        """This model with its parameters replaced by `values` (n_parameters,), floats or symbols."""
        from dalembert.model.numbers import evaluate, unflatten

        if not self.parameters:
            return self
        return replace(unflatten(self, evaluate(self, values)), parameters={})

    def __reduce__(self) -> Any:
        from dalembert.model.numbers import freeze

        return freeze(self)
