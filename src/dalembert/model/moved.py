"""Parts of a model carried to another: what locking, cutting and joining mechanisms have in common.

Every body of the old model is left behind, or gets a place: fixed to a body of the new model. What
is fixed to the old body (frames, points of tendons, mass) is then fixed to the new one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np

from dalembert.errors import ModelError
from dalembert.model.actuators import Actuation, Actuator
from dalembert.model.body import Body, Fixed
from dalembert.model.build import BASE, Place
from dalembert.model.elements import (
    Anchor,
    Ballast,
    Drag,
    Elements,
    Lift,
    Segment,
    Spring,
    Submerged,
    Tendon,
    Wrap,
)
from dalembert.model.looks import Look
from dalembert.model.model import Drive, Frame, JointInfo, Model, with_parameters
from dalembert.model.notes import Equality, LeftOut, Notes
from dalembert.model.tool import Mount, Tool, default_tool
from dalembert.spatial.arrays import Vector
from dalembert.spatial.inertia import from_silver_tensor, pseudo_inertia_of_moments
from dalembert.spatial.placement import IDENTITY, Placement
from dalembert.spatial.se3 import pose

E = TypeVar("E", Spring, Drag, Ballast)
B = TypeVar("B", Body, Fixed)


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

    def loads(self) -> list[tuple[int, Body | Fixed]]:
        """(new body or −1, what it carries from now on) of the base and of bodies without joints."""
        base, left = (
            self.model.fixed,
            {i: at for i, at in self.places.items() if i not in self.moving},
        )
        each = [(at, self.model.bodies[i] if i >= 0 else base) for i, at in left.items()]
        return [(at.body, _seen_from(load, at)) for at, load in each if load is not base or base]

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

    def elements(self) -> tuple[Elements, Elements]:
        """Springs and drags of the joints that stay, and weights and tendons that come along.

        Second, the weights and shapes that are fixed to the base from now on.
        """
        held, base = self.model.elements, self.model.fixed.elements
        known = {"springs", "drags", "lifts", "tendons", "ballasts", "submerged"}
        for f in fields(held):
            if f.name not in known and getattr(held, f.name):
                raise ModelError(f"{self.model.name}: its {f.name} cannot be carried along")
        lifts = [self._lift(x) for x in (*held.lifts, *base.lifts) if x.body in self.places]
        shapes = [
            self._shape(x) for x in (*held.submerged, *base.submerged) if x.body in self.places
        ]
        moving = Elements(
            springs=tuple(self._of_joints(held.springs)),
            drags=tuple(self._of_joints(held.drags)),
            lifts=tuple(lift for lift in lifts if lift.body >= 0),
            tendons=tuple(self._tendon(t) for t in held.tendons if self._keeps_tendon(t)),
            ballasts=tuple(self._of_joints(held.ballasts)),
            submerged=tuple(shape for shape in shapes if shape.body >= 0),
        )
        still = Elements(
            lifts=tuple(lift for lift in lifts if lift.body < 0),
            submerged=tuple(shape for shape in shapes if shape.body < 0),
        )
        return moving, still

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
            around = Wrap(around.kind, at.body, *at.frame, around.radius, around.side)
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


def _seen_from(body: Body | Fixed, at: Place) -> Body | Fixed:
    """The body with its moments about the origin of the frame it is placed in.

    P' = g P gᵀ with Uicker's P = ∫ (r, 1)(r, 1)ᵀ dm.
    """
    g = pose(*at.frame)
    P = g @ pseudo_inertia_of_moments(body.mass, body.moment, body.inertia) @ g.T
    moments = {"mass": body.mass, "moment": P[:3, 3], "inertia": from_silver_tensor(P[:3, :3])}
    return replace(body, **moments)


# one model of carried parts: bodies numbered anew, names that must differ, parameters found again


def joined(
    tree: Model,
    parts: Sequence[Moved],
    locked: tuple[str, ...] = (),
    followers: Collection[str] = (),
) -> Model:
    """One model of all parts, with name, tool and field of the first.

    A tool that is left behind is chosen anew; `followers` are joints that follow others.
    """
    bodies = [body for part in parts for body in part.bodies()]
    elements, still = _elements(parts)
    fixed = Fixed(elements=still)
    for i, load in (pair for part in parts for pair in part.loads()):
        moments = load.mass, load.moment, load.inertia
        if i >= 0:
            bodies[i] = carrying(bodies[i], *moments)
        else:
            fixed = carrying(fixed, *moments)
    bodies = _numbered(bodies)
    frames, notes = _frames(parts), notes_of(parts, locked)
    if tree.tool not in frames:  # it was left behind
        following = {
            tree.bodies[i].name for j in tree.joints if j.name in followers for i in j.bodies
        }
        chosen = _tool(bodies, following)
        last = next(i for i, body in enumerate(bodies) if body.name == chosen.name)
        frames[tree.tool] = frames.get(chosen.name, Frame(last, *IDENTITY))
        notes = replace(notes, tool=chosen.why, warnings=(*notes.warnings, *chosen.warnings))
    made = Model(
        name=tree.name,
        bodies=tuple(bodies),
        joints=tuple(_placed(j, bodies) for part in parts for j in part.joints()),
        frames=frames,
        tool=tree.tool,
        drive=_drive(parts),
        gravity=tree.gravity,
        elements=elements,
        fixed=fixed,
        notes=notes,
    )
    for what, named in (("joints", made.joints), ("links", made.bodies), ("tendons", made.tendons)):
        _reject_clashes(what, [each.name for each in named])
    return with_parameters(replace(made, driven_by=_driven(made, parts)))


def _driven(made: Model, parts: Sequence[Moved]) -> Actuation:
    """The actuators of all parts, and the limits of joints and tendons."""
    each = [part.actuation() for part in parts]
    limits = Actuation(
        joint_ranges={k: x for held in each for k, x in held.joint_ranges.items()},
        tendon_ranges={k: x for held in each for k, x in held.tendon_ranges.items()},
    )
    return limits.having(made, [a for held in each for a in held.actuators])


def _frames(parts: Sequence[Moved]) -> dict[str, Frame]:
    """All frames; a base where it was left behind."""
    found = [part.frames() for part in parts]
    _reject_clashes("frames", [name for each in found for name in each])
    frames = {name: frame for each in found for name, frame in each.items()}
    return {BASE: Frame(-1, *IDENTITY), **frames}


def _tool(bodies: Sequence[Body], following: Collection[str]) -> Tool:
    """The default tool of bodies."""
    names = [body.name for body in bodies]
    mounts = {
        body.name: Mount(
            names[body.parent] if body.parent >= 0 else None, True, body.name in following
        )
        for body in bodies
    }
    return default_tool(mounts) or Tool(names[-1], "the last link")


def _elements(parts: Sequence[Moved]) -> tuple[Elements, Elements]:
    """Those of all parts at what moves, and at the base."""
    names = [f.name for f in fields(Elements)]

    def together(each: Sequence[Elements]) -> Elements:
        return Elements(**{k: tuple(x for held in each for x in getattr(held, k)) for k in names})

    moving, still = zip(*(part.elements() for part in parts), strict=True)
    return together(moving), together(still)


def _drive(parts: Sequence[Moved]) -> Drive:
    pieces = [part.drive() for part in parts]
    names = [f.name for f in fields(Drive)]
    return Drive(**{k: np.concatenate([x for each in pieces for x in each[k]]) for k in names})


def _numbered(bodies: Sequence[Body]) -> list[Body]:
    """The bodies with contiguous coordinates."""
    found, nq, nv = [], 0, 0
    for body in bodies:
        q, v = slice(nq, nq + body.chart.nq), slice(nv, nv + body.chart.nv)
        found.append(replace(body, q=q, v=v))
        nq, nv = q.stop, v.stop
    return found


def _placed(joint: JointInfo, bodies: Sequence[Body]) -> JointInfo:
    first, last = bodies[joint.bodies[0]], bodies[joint.bodies[-1]]
    q, v = slice(first.q.start, last.q.stop), slice(first.v.start, last.v.stop)
    return replace(joint, q=q, v=v)


def carrying(body: B, mass: Any, moment: Any, inertia: Any) -> B:
    """The body with more mass on it; about one point, moments simply add."""
    mass, moment = body.mass + mass, body.moment + moment
    return replace(body, mass=mass, moment=moment, inertia=body.inertia + inertia)


def _reject_clashes(what: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ModelError(f"both have {what} called {name!r}; give a prefix for the second's")
        seen.add(name)


# notes: what the files had left to say, where it still holds


def notes_of(parts: Sequence[Moved], locked: tuple[str, ...] = ()) -> Notes:
    """The notes of all parts as one; postures belong to one tree alone and are those of a single part.

    An equality whose links or joints are no longer there is named among what is left out.
    """
    each = [part.model.notes for part in parts]
    kept = [_equalities(part) for part in parts]
    lost = tuple(
        LeftOut(f"{e.kind} constraint", e.name, "it ends at something that is no longer there")
        for part, own in zip(parts, kept, strict=True)
        for e in part.model.notes.equalities
        if part.rename(e.name) not in {k.name for k in own}
    )
    return replace(
        each[0],
        merged=tuple(x for notes in each for x in notes.merged),
        ignored=tuple(x for notes in each for x in notes.ignored),
        warnings=tuple(x for notes in each for x in notes.warnings),
        provenance=tuple(x for notes in each for x in notes.provenance),
        locked=(*(x for notes in each for x in notes.locked), *locked),
        equalities=tuple(e for own in kept for e in own),
        postures=_postures(parts[0]) if len(parts) == 1 else (),
        meshes=tuple(
            replace(mesh, link=part.rename(mesh.link))
            for part in parts
            for mesh in part.model.notes.meshes
        ),
        looks=tuple(look for part in parts for look in _looks_of(part)),
        left_out=(*(x for notes in each for x in notes.left_out), *lost),
    )


def _equalities(part: Moved) -> list[Equality]:
    """Those between things that are still there; the world is, where it is still the base."""
    joints = {j.name for j in part.model.joints if j.bodies[0] in part.moving}
    links = {name for name, f in part.model.frames.items() if f.body in part.places}
    tendons = {t.name for t in part.model.tendons}
    world = _keeps_world(part)
    found = []
    for e in part.model.notes.equalities:
        known: set[str | None] = {"joint": joints, "tendon": tendons}.get(e.kind, links)  # type: ignore[assignment]
        constant = e.kind in ("joint", "tendon")
        known = {*known, None} if world or constant else known
        if {*e.ends} <= known:
            first, second = (None if x is None else part.rename(x) for x in (e.first, e.second))
            factors = tuple((part.rename(x), factor) for x, factor in e.factors)
            name = part.rename(e.name)
            found.append(replace(e, name=name, first=first, second=second, factors=factors))
    return found


def _keeps_world(part: Moved) -> bool:
    base = part.places.get(-1)
    return base is not None and base.body < 0 and base.is_identity


def _looks_of(part: Moved) -> list[Look]:
    """Shapes on links that are still there, under their new names.

    Those of a world that is attached somewhere else go with its frame "base".
    """
    frames, world = part.model.frames, _keeps_world(part)
    found = []
    for look in part.model.notes.looks:
        if look.link is None and world:
            found.append(look)
            continue
        link = BASE if look.link is None else look.link
        if link in frames and frames[link].body in part.places:
            found.append(replace(look, link=part.rename(link)))
    return found


def _postures(part: Moved) -> tuple[tuple[str, tuple[float, ...]], ...]:
    spans = [part.model.bodies[i].q for i in part.moving]
    return tuple(
        (name, tuple(x for span in spans for x in q[span]))
        for name, q in part.model.notes.postures
        if len(q) == part.model.nq
    )
