"""Parts of a model carried to another: what locking, cutting and joining mechanisms have in common.

Every body of the old model is left behind, or gets a place: fixed to a body of the new model. What
is fixed to the old body (frames, points of tendons, mass) is then fixed to the new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import NamedTuple, TypeVar

import numpy as np

from dalembert.bridge import is_symbolic
from dalembert.errors import ModelError
from dalembert.model.actuators import Actuation, Actuator
from dalembert.model.body import Body
from dalembert.model.elements import Ballast, Drag, Elements, Lift, Spring
from dalembert.model.fluid import Submerged
from dalembert.model.model import Drive, Frame, JointInfo, Model
from dalembert.model.tendons import Anchor, Segment, Tendon, Wrap
from dalembert.spatial.arrays import Vector
from dalembert.spatial.inertia import from_silver_tensor, pseudo_inertia_of_moments
from dalembert.spatial.placement import IDENTITY, Placement
from dalembert.spatial.rotations import snap
from dalembert.spatial.se3 import pose

E = TypeVar("E", Spring, Drag, Ballast)


class Place(NamedTuple):
    """An old body's frame, fixed to a new body (−1: the new base)."""

    body: int
    frame: Placement

    @property
    def is_identity(self) -> bool:
        """Whether numbers say that the frames are the same."""
        R, p = self.frame
        if is_symbolic(R) or is_symbolic(p):
            return False
        return bool(np.array_equal(R, np.eye(3)) and not np.any(p))

    def then(self, inner: Placement) -> Place:
        """What is fixed to the old body at `inner`."""
        if self.frame is IDENTITY:
            return Place(self.body, inner)
        placed = self.frame.then(inner)
        return Place(self.body, Placement(snap(placed.R), placed.p))


@dataclass(frozen=True)
class Moved:
    """Where the bodies of a model go, and what its names become."""

    model: Model
    places: Mapping[int, Place]  # of old bodies (−1: the base); what has none is left behind
    moving: Mapping[int, int]  # old bodies that keep their joints, and their new numbers
    rename: Callable[[str], str] = str

    # bodies and joints

    def bodies(self) -> list[Body]:
        """The bodies that keep their joints, with new parents; coordinates as they were."""
        found = []
        for i in self.moving:
            body = self.model.bodies[i]
            at = self.places[body.parent].then(Placement(body.rotation, body.translation))
            placed = replace(body, parent=at.body, rotation=at.frame.R, translation=at.frame.p)
            found.append(replace(placed, name=self.rename(body.name)))
        return found

    def loads(self) -> list[tuple[int, Body]]:
        """(new body, what it carries from now on) of the old bodies that have lost their joints."""
        left = {i: at for i, at in self.places.items() if i >= 0 and i not in self.moving}
        return [(at.body, _seen_from(self.model.bodies[i], at)) for i, at in left.items()]

    def joints(self) -> list[JointInfo]:
        """The joints that stay; their coordinates are still the old ones."""
        found = []
        for joint in self.model.joints:
            if joint.bodies[0] in self.moving:
                first = self.moving[joint.bodies[0]]
                bodies = range(first, first + len(joint.bodies))
                name, link = self.rename(joint.name), self.rename(joint.link)
                found.append(replace(joint, name=name, link=link, bodies=bodies))
        return found

    def frames(self) -> dict[str, Frame]:
        """The frames that are not left behind."""
        found = {}
        for name, frame in self.model.frames.items():
            if frame.body in self.places:
                at = self.places[frame.body].then(frame.placement)
                found[self.rename(name)] = Frame(at.body, *at.frame)
        return found

    def drive(self) -> dict[str, list[Vector]]:
        """Numbers of the drives, a piece for each body that keeps its joint."""
        spans = [self.model.bodies[i].v for i in self.moving]
        drive = self.model.drive
        return {f.name: [getattr(drive, f.name)[v] for v in spans] for f in fields(Drive)}

    # springs, tendons, actuators

    def elements(self) -> Elements:
        """Springs and drags of the joints that stay, and weights and tendons that come along."""
        held = self.model.elements
        known = {"springs", "drags", "lifts", "tendons", "ballasts", "submerged"}
        for f in fields(held):
            if f.name not in known and getattr(held, f.name):
                raise ModelError(f"{self.model.name}: its {f.name} cannot be carried along")
        lifts = [self._lift(lift) for lift in held.lifts if lift.body in self.places]
        shapes = [self._shape(shape) for shape in held.submerged if shape.body in self.places]
        return Elements(
            springs=tuple(self._of_joints(held.springs)),
            drags=tuple(self._of_joints(held.drags)),
            lifts=tuple(lift for lift in lifts if lift.body >= 0),
            tendons=tuple(self._tendon(t) for t in held.tendons if self._keeps_tendon(t)),
            ballasts=tuple(self._of_joints(held.ballasts)),
            submerged=tuple(shape for shape in shapes if shape.body >= 0),
        )

    def _of_joints(self, elements: Iterable[E]) -> list[E]:
        return [replace(e, body=self.moving[e.body]) for e in elements if e.body in self.moving]

    def _lift(self, lift: Lift) -> Lift:
        at = self.places[lift.body]
        return Lift(at.body, lift.mass, at.frame.R @ lift.moment + lift.mass * at.frame.p)

    def _shape(self, shape: Submerged) -> Submerged:
        at = self.places[shape.body].then(Placement(shape.rotation, shape.center))
        return replace(shape, body=at.body, rotation=at.frame.R, center=at.frame.p)

    def _keeps_tendon(self, tendon: Tendon) -> bool:
        """Whether it comes along; one that would be cut, or held by a locked joint, is an error."""
        if tendon.joints:
            kept = [body in self.moving for body in tendon.joints]
            gone = [body not in self.places for body in tendon.joints]
        else:
            kept = [body in self.places for body in bodies_of(tendon)]
            gone = [not there for there in kept]
        if all(kept) or all(gone):
            return all(kept)
        raise ModelError(
            f"{self.model.name}: tendon {tendon.name!r} runs over joints or bodies that would be "
            "held or left behind; take it out of the model first"
        )

    def _tendon(self, tendon: Tendon) -> Tendon:
        joints = tuple(self.moving[body] for body in tendon.joints)
        segments = tuple(self._segment(s) for s in tendon.segments)
        return replace(tendon, name=self.rename(tendon.name), joints=joints, segments=segments)

    def _segment(self, segment: Segment) -> Segment:
        start, end, around = self._anchor(segment.start), self._anchor(segment.end), segment.around
        if around is not None:
            at = self.places[around.body].then(Placement(around.rotation, around.center))
            around = Wrap(around.kind, at.body, *at.frame, around.radius)
        return Segment(start, end, segment.share, around)

    def _anchor(self, anchor: Anchor) -> Anchor:
        at = self.places[anchor.body].then(Placement(np.eye(3), anchor.point))
        return Anchor(at.body, at.frame.p)

    def actuation(self) -> Actuation:
        """The actuators of what stays; those at a joint that is held or left behind go with it."""
        held = self.model.driven_by
        joints = {j.name for j in self.model.joints if j.bodies[0] in self.moving}
        tendons = {t.name for t in self.model.tendons if self._keeps_tendon(t)}
        return Actuation(
            tuple(self._actuator(a) for a in held.actuators if self._drives(a, joints, tendons)),
            {self.rename(k): pair for k, pair in held.joint_ranges.items() if k in joints},
            {self.rename(k): pair for k, pair in held.tendon_ranges.items() if k in tendons},
        )

    def _drives(self, actuator: Actuator, joints: set[str], tendons: set[str]) -> bool:
        if actuator.transmission in ("joint", "joint_in_parent"):
            return actuator.target in joints
        if actuator.transmission == "tendon":
            return actuator.target in tendons
        ends = [name for name in (actuator.target, actuator.reference) if name is not None]
        there = [self.model.frames[name].body in self.places for name in ends]
        if any(there) and not all(there):
            raise ModelError(
                f"{self.model.name}: actuator {actuator.name!r} acts between {ends[0]!r} and "
                f"{ends[1]!r}, of which one would be left behind; take it out of the model first"
            )
        return all(there)

    def _actuator(self, actuator: Actuator) -> Actuator:
        reference = None if actuator.reference is None else self.rename(actuator.reference)
        name, target = self.rename(actuator.name), self.rename(actuator.target)
        return replace(actuator, name=name, target=target, reference=reference)


def bodies_of(tendon: Tendon) -> set[int]:
    """The bodies a spatial tendon touches."""
    found = {end.body for s in tendon.segments for end in (s.start, s.end)}
    return found | {s.around.body for s in tendon.segments if s.around is not None}


def _seen_from(body: Body, at: Place) -> Body:
    """The body with its moments about the origin of the frame it is placed in.

    P' = g P gᵀ with Uicker's P = ∫ (r, 1)(r, 1)ᵀ dm.
    """
    g = pose(*at.frame)
    P = g @ pseudo_inertia_of_moments(body.mass, body.moment, body.inertia) @ g.T
    moments = {"mass": body.mass, "moment": P[:3, 3], "inertia": from_silver_tensor(P[:3, :3])}
    return replace(body, **moments)
