"""Changed mechanisms: payloads, tools, locked joints, other bases, subtrees, merged models.

Each public function takes a model and returns a new one, as if it had been built so; numbers may be
parameters. Joints that follow others keep following.

Locking, cutting and merging share one step: a `Submodel` says for every body of an old model to which
body of the new one it is attached, and `assemble` makes one model of one or several of them. What is
fixed to the old body (frames, points of tendons, mass) is then fixed to the new one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np

from dalembert.errors import InertiaError, ModelError, UnknownNameError
from dalembert.model import validation
from dalembert.model.actuators import Actuation, Actuator
from dalembert.model.body import Body, Fixed
from dalembert.model.build import BASE, TOOL, Attachment, moments_of
from dalembert.model.coupling import CoupledModel, couple
from dalembert.model.elements import (
    Anchor,
    Ballast,
    Drag,
    Elements,
    Lift,
    Segment,
    Spring,
    Tendon,
    Wrap,
)
from dalembert.model.model import Drive, Frame, JointInfo, Model, with_parameters
from dalembert.model.notes import Equality, LeftOut, Notes, Visual
from dalembert.model.parameter import NumberLike
from dalembert.model.tool import Mount, Tool, default_tool
from dalembert.spatial.arrays import Matrix3, Scalar, Vector, Vector3
from dalembert.spatial.inertia import check_inertia, from_silver_tensor, pseudo_inertia_of_moments
from dalembert.spatial.se3 import IDENTITY, Placement, pose
from dalembert.text import plain_name, short, suggest
from dalembert.tracing import is_symbolic

Mechanism = Model | CoupledModel
E = TypeVar("E", Spring, Drag, Ballast)
B = TypeVar("B", Body, Fixed)


def with_payload(
    model: Mechanism,
    mass: NumberLike,
    com: NumberLike,
    inertia: NumberLike,
    frame: str | None,
) -> Mechanism:
    """The mechanism with a rigid body fixed to a frame: `com` (3,) and `inertia` (3, 3) there."""
    tree = model.tree
    name = tree.tool if frame is None else frame
    at = tree.frame(name)
    label = f"payload at {name!r}"
    if at.body < 0:
        raise ModelError(f"{label}: this frame does not move, so that a load changes nothing")
    payload = (
        validation.numbers(mass, (), f"mass of the {label}", InertiaError),
        validation.numbers(com, (3,), f"com of the {label}", InertiaError),
        validation.numbers(inertia, (3, 3), f"inertia of the {label}", InertiaError),
    )
    if not any(is_symbolic(x) for x in payload):
        check_inertia(*payload, name=label)
    bodies = list(tree.bodies)
    added = moments_of(at.placement, *payload)
    bodies[at.body] = with_added_moments(bodies[at.body], *added)
    return _with_tree(model, replace(tree, bodies=tuple(bodies)))


def with_tool(model: Mechanism, pose: NumberLike | None, frame: str | None) -> Mechanism:
    """The mechanism whose tool is at the pose (4, 4) in `frame`, by default in its present tool."""
    tree = model.tree
    at = tree.frame(tree.tool if frame is None else frame)
    tool = Attachment(at.body, at.placement).then(validation.placement(pose, "tool"))
    frames = {**tree.frames, tree.tool: Frame(tool.body, *tool.frame)}
    notes = replace(tree.notes, tool="placed by with_tool")
    return _with_tree(model, replace(tree, frames=frames, notes=notes))


def with_base(model: Mechanism, pose: NumberLike) -> Mechanism:
    """The mechanism whose base frame is at the pose (4, 4) in the world."""
    tree = model.tree
    old = tree.frames.get(BASE)
    back = IDENTITY if old is None or old.body >= 0 else _inverse(old.placement)
    attached = {i: Attachment(i, IDENTITY) for i in range(len(tree.bodies))}
    moving = {i: i for i in attached}
    attached[-1] = Attachment(-1, validation.placement(pose, "base").then(back))
    return _with_tree(model, assemble(tree, [Submodel(tree, attached, moving)]))


def with_gravity(model: Mechanism, gravity: NumberLike) -> Mechanism:
    """The mechanism with another gravity vector (3,), m/s²."""
    return _with_tree(
        model, replace(model.tree, gravity=validation.numbers(gravity, (3,), "gravity"))
    )


def with_joint_locked(model: Mechanism, name: str, value: NumberLike) -> Mechanism:
    """The mechanism with one joint locked at `value`, and its followers at their values for it."""
    tree, followers = model.tree, dict(model.followers)
    if name in followers:
        leader = followers[name].leader
        raise ModelError(f"joint {name!r} follows {leader!r}; lock {leader!r} instead")
    values = {name: _joint_value(_joint(tree, name), value)}
    for other, follow in model.followers.items():
        if follow.leader == name:
            values[other] = follow.multiplier * values[name] + follow.offset
            del followers[other]
    locked = {i: _joint(tree, key) for key in values for i in _joint(tree, key).bodies}
    if len(locked) == len(tree.bodies):
        raise ModelError(f"{model.name}: joint {name!r} is the last that moves; keep one")
    attached = {-1: Attachment(-1, IDENTITY)}
    moving: dict[int, int] = {}
    for i, body in enumerate(tree.bodies):
        if i not in locked:
            moving[i] = len(moving)
            attached[i] = Attachment(moving[i], IDENTITY)
            continue
        joint = locked[i]
        q = values[joint.name][body.q.start - joint.q.start : body.q.stop - joint.q.start]
        fixed = Placement(body.rotation, body.translation).then(
            body.chart.transform(q + body.offset)
        )
        attached[i] = attached[body.parent].then(fixed)
    submodel = Submodel(tree, attached, moving)
    return couple(assemble(tree, [submodel], locked=tuple(values)), followers)


def subtree(model: Mechanism, link: str) -> Mechanism:
    """What moves against a link, which becomes the base; its frame is that of the world."""
    tree = model.tree
    root = tree.frame(link)
    attached = {root.body: Attachment(-1, _inverse(root.placement))}
    moving: dict[int, int] = {}
    for i, body in enumerate(tree.bodies):
        if i > root.body and body.parent in attached:
            moving[i] = len(moving)
            attached[i] = Attachment(moving[i], IDENTITY)
    if not moving:
        raise ModelError(f"{model.name}: nothing moves against {link!r}")
    names = {tree.joint_of(i).name for i in moving}
    followers = {k: f for k, f in model.followers.items() if k in names}
    for name, follow in followers.items():
        if follow.leader not in names:
            raise ModelError(
                f"{model.name}: joint {name!r} follows {follow.leader!r}, which {link!r} does not "
                f"carry; lock it first, with_joint_locked({follow.leader!r}, …)"
            )
    submodel = Submodel(tree, attached, moving)
    return couple(assemble(tree, [submodel], followers=followers), followers)


def merge(model: Mechanism, other: Mechanism, at: str | None, prefix: str) -> Mechanism:
    """Both as one model: the base of `other` at a frame of the first, whose gravity holds for both."""
    tree, guest = model.tree, other.tree
    mount = tree.frame(tree.tool if at is None else at)
    count = len(tree.bodies)
    plain_name(prefix, "merge: prefix")

    def rename(name: str) -> str:
        own = f"{other.name}_" if name in (BASE, TOOL) and not prefix else prefix
        return f"{own}{name}"

    host_attached = {i: Attachment(i, IDENTITY) for i in range(-1, count)}
    guest_attached = {-1: Attachment(mount.body, mount.placement)}
    guest_attached |= {i: Attachment(count + i, IDENTITY) for i in range(len(guest.bodies))}
    host = Submodel(tree, host_attached, {i: i for i in range(count)})
    guest_moving = {i: count + i for i in range(len(guest.bodies))}
    joined = Submodel(guest, guest_attached, guest_moving, rename)
    followers = dict(model.followers) | {
        rename(k): replace(f, leader=rename(f.leader)) for k, f in other.followers.items()
    }
    return couple(assemble(tree, [host, joined]), followers)


def with_limits(
    model: Mechanism,
    position: Mapping[str, Any] | None,
    velocity: Mapping[str, Any] | None,
    effort: Mapping[str, Any] | None,
) -> Mechanism:
    """The mechanism with other limits of the named joints."""
    tree = model.tree
    limits = {"position": position, "velocity": velocity, "effort": effort}
    changed = {joint.name: joint for joint in tree.joints}
    for quantity, values in limits.items():
        for name, value in validation.mapping(values or {}, f"{quantity} limits").items():
            joint = _joint(tree, name)
            changed[name] = _with_limit(changed[joint.name], quantity, value)
    return _with_tree(model, replace(tree, joints=tuple(changed.values())))


def _with_limit(joint: JointInfo, quantity: str, value: Any) -> JointInfo:
    if quantity == "position":
        lower, upper = validation.limits(value, joint.name)
        if len(joint.lower) > joint.v.stop - joint.v.start and np.isfinite([lower, upper]).any():
            raise ModelError(
                f"joint {joint.name!r} turns freely, its position is a quaternion and has no lower "
                "and upper limit; velocity and effort can be limited"
            )
        return replace(joint, lower=(lower,) * len(joint.lower), upper=(upper,) * len(joint.upper))
    what = f"joint {joint.name!r}: {quantity} limit"
    limit = np.inf if value is None else validation.limit(value, what)
    if limit < 0.0:
        raise ModelError(f"{what} {limit} is negative")
    if quantity == "velocity":
        return replace(joint, velocity_limit=limit)
    return replace(joint, effort_limit=limit)


def _with_tree(model: Mechanism, tree: Model) -> Mechanism:
    """The mechanism with another tree of the same joints, its parameters collected again."""
    return couple(with_parameters(tree), model.followers)


def _joint(tree: Model, name: str) -> JointInfo:
    for joint in tree.joints:
        if joint.name == name:
            return joint
    known = [joint.name for joint in tree.joints]
    raise UnknownNameError(f"{tree.name} has no joint {short(name)}{suggest(name, known)}")


def _joint_value(joint: JointInfo, value: NumberLike) -> Vector:
    """(nq of the joint,) numbers or symbols, within the limits of a joint of one degree."""
    size, what = joint.q.stop - joint.q.start, f"value of joint {joint.name!r}"
    if size == 1 and validation.is_scalar(value):
        q: Vector = validation.number(value, what).reshape(1)
        low, high = joint.lower[0], joint.upper[0]
        if not is_symbolic(q) and not low <= q[0] <= high:
            raise ModelError(
                f"{what}, {q[0]:g}, is outside its limits {low:g} … {high:g}; lock it within "
                "them, or change them first by with_limits"
            )
        return q
    q = validation.numbers(value, (size,), f"{what}, one for each coordinate,")
    if size in (4, 7) and not is_symbolic(q) and abs(q[-4:] @ q[-4:] - 1.0) > 1e-6:
        raise ModelError(f"{what}: the quaternion {q[-4:]} is not of unit length")
    return q


def _inverse(placement: Placement) -> Placement:
    return Placement(placement.R.T, -(placement.R.T @ placement.p))


def with_added_moments(body: B, mass: Scalar, moment: Vector3, inertia: Matrix3) -> B:
    """The body with more mass on it; moments about one point add."""
    return replace(
        body,
        mass=body.mass + mass,
        moment=body.moment + moment,
        inertia=body.inertia + inertia,
    )


@dataclass(frozen=True)
class Submodel:
    """Bodies of a model attached to those of a new one, and the new names."""

    model: Model
    attached: Mapping[int, Attachment]  # of old bodies (−1: the base); others are left behind
    moving: Mapping[int, int]  # old bodies that keep their joints, and their new indices
    rename: Callable[[str], str] = str

    # bodies and joints

    def bodies(self) -> list[Body]:
        """The bodies that keep their joints, with new parents; coordinates are the old ones."""
        bodies = []
        for i in self.moving:
            body = self.model.bodies[i]
            at = self.attached[body.parent].then(Placement(body.rotation, body.translation))
            placed = replace(body, parent=at.body, rotation=at.frame.R, translation=at.frame.p)
            bodies.append(replace(placed, name=self.rename(body.name)))
        return bodies

    def loads(self) -> list[tuple[int, Body | Fixed]]:
        """(new body or −1, moments it gets) of the base and of bodies without joints.

        P' = g P gᵀ about the new origin, with Uicker's P = ∫ (r, 1)(r, 1)ᵀ dm.
        """
        loads: list[tuple[int, Body | Fixed]] = []
        for i, at in self.attached.items():
            body = self.model.bodies[i] if i >= 0 else self.model.fixed
            if i in self.moving or (i < 0 and not body):
                continue
            g = pose(*at.frame)
            P = g @ pseudo_inertia_of_moments(body.mass, body.moment, body.inertia) @ g.T
            tensor = from_silver_tensor(P[:3, :3])
            loads.append((at.body, replace(body, moment=P[:3, 3], inertia=tensor)))
        return loads

    def joints(self) -> list[JointInfo]:
        """The joints that stay; their coordinates are still the old ones."""
        joints = []
        for joint in self.model.joints:
            if joint.bodies[0] in self.moving:
                first = self.moving[joint.bodies[0]]
                bodies = range(first, first + len(joint.bodies))
                name, link = self.rename(joint.name), self.rename(joint.link)
                joints.append(replace(joint, name=name, link=link, bodies=bodies))
        return joints

    def frames(self) -> dict[str, Frame]:
        """The frames that are not left behind."""
        frames = {}
        for name, frame in self.model.frames.items():
            if frame.body in self.attached:
                at = self.attached[frame.body].then(frame.placement)
                frames[self.rename(name)] = Frame(at.body, *at.frame)
        return frames

    def drive(self, name: str) -> list[Vector]:
        """One array of the drives, a piece for each body that keeps its joint."""
        values = getattr(self.model.drive, name)
        return [values[self.model.bodies[i].v] for i in self.moving]

    # springs, tendons, actuators

    def elements(self) -> tuple[Elements, Elements]:
        """Elements of the joints and bodies that stay, and those fixed to the new base."""
        own, base = self.model.elements, self.model.fixed.elements
        known = {"springs", "drags", "lifts", "tendons", "ballasts", "submerged"}
        for f in fields(own):
            if f.name not in known and getattr(own, f.name):
                raise ModelError(f"{self.model.name}: its {f.name} cannot be carried along")
        lifts = []
        for lift in (*own.lifts, *base.lifts):
            if lift.body in self.attached:
                at = self.attached[lift.body]
                moment = at.frame.R @ lift.moment + lift.mass * at.frame.p
                lifts.append(Lift(at.body, lift.mass, moment))
        shapes = []
        for shape in (*own.submerged, *base.submerged):
            if shape.body in self.attached:
                at = self.attached[shape.body].then(Placement(shape.rotation, shape.center))
                moved = replace(shape, body=at.body, rotation=at.frame.R, center=at.frame.p)
                shapes.append(moved)
        moving = Elements(
            springs=tuple(self._of_joints(own.springs)),
            drags=tuple(self._of_joints(own.drags)),
            lifts=tuple(lift for lift in lifts if lift.body >= 0),
            tendons=tuple(self._tendon(t) for t in own.tendons if self._has_tendon(t)),
            ballasts=tuple(self._of_joints(own.ballasts)),
            submerged=tuple(shape for shape in shapes if shape.body >= 0),
        )
        still = Elements(
            lifts=tuple(lift for lift in lifts if lift.body < 0),
            submerged=tuple(shape for shape in shapes if shape.body < 0),
        )
        return moving, still

    def _of_joints(self, elements: Iterable[E]) -> list[E]:
        return [replace(e, body=self.moving[e.body]) for e in elements if e.body in self.moving]

    def _has_tendon(self, tendon: Tendon) -> bool:
        """Whether the tendon comes along; one that would be cut or blocked is an error."""
        if tendon.joints:
            stays = [body in self.moving for body in tendon.joints]
            lost = [body not in self.attached for body in tendon.joints]
        else:
            ends = {end.body for s in tendon.segments for end in (s.start, s.end)}
            surfaces = [s.around for s in tendon.segments if s.around is not None]
            ends |= {surface.body for surface in surfaces}
            ends |= {surface.beside.body for surface in surfaces if surface.beside is not None}
            stays = [body in self.attached for body in ends]
            lost = [not stay for stay in stays]
        if all(stays) or all(lost):
            return all(stays)
        raise ModelError(
            f"{self.model.name}: tendon {tendon.name!r} runs over joints or bodies that would be "
            "held or left behind; take it out of the model first"
        )

    def _tendon(self, tendon: Tendon) -> Tendon:
        segments = []
        for segment in tendon.segments:
            start, end = self._anchor(segment.start), self._anchor(segment.end)
            around = segment.around
            if around is not None:
                at = self.attached[around.body].then(Placement(around.rotation, around.center))
                beside = None if around.beside is None else self._anchor(around.beside)
                around = Wrap(around.kind, at.body, *at.frame, around.radius, around.side, beside)
            segments.append(Segment(start, end, segment.share, around))
        joints = tuple(self.moving[body] for body in tendon.joints)
        name = self.rename(tendon.name)
        return replace(tendon, name=name, joints=joints, segments=tuple(segments))

    def _anchor(self, anchor: Anchor) -> Anchor:
        at = self.attached[anchor.body].then(Placement(np.eye(3), anchor.point))
        return Anchor(at.body, at.frame.p)

    def actuation(self) -> Actuation:
        """The actuators of the joints, tendons and frames that stay."""
        old = self.model.driven_by
        joints = {j.name for j in self.model.joints if j.bodies[0] in self.moving}
        tendons = {t.name for t in self.model.tendons if self._has_tendon(t)}
        actuators = []
        for a in old.actuators:
            if self._has_target(a, joints, tendons):
                reference = None if a.reference is None else self.rename(a.reference)
                name, target = self.rename(a.name), self.rename(a.target)
                actuators.append(replace(a, name=name, target=target, reference=reference))
        return Actuation(
            tuple(actuators),
            {self.rename(k): pair for k, pair in old.joint_ranges.items() if k in joints},
            {self.rename(k): pair for k, pair in old.tendon_ranges.items() if k in tendons},
        )

    def _has_target(self, actuator: Actuator, joints: set[str], tendons: set[str]) -> bool:
        if actuator.transmission in ("joint", "joint_in_parent"):
            return actuator.target in joints
        if actuator.transmission == "tendon":
            return actuator.target in tendons
        ends = [name for name in (actuator.target, actuator.reference) if name is not None]
        present = [self.model.frames[name].body in self.attached for name in ends]
        if any(present) and not all(present):
            raise ModelError(
                f"{self.model.name}: actuator {actuator.name!r} acts between {ends[0]!r} and "
                f"{ends[1]!r}, of which one would be left behind; take it out of the model first"
            )
        return all(present)

    # notes

    @property
    def has_world(self) -> bool:
        """Whether its base is still the base, at the same pose."""
        base = self.attached.get(-1)
        return base is not None and base.body < 0 and base.is_identity

    def equalities(self) -> list[Equality]:
        """Equalities between links, joints and tendons that stay, under their new names."""
        joints = {j.name for j in self.model.joints if j.bodies[0] in self.moving}
        links = {name for name, f in self.model.frames.items() if f.body in self.attached}
        tendons = {t.name for t in self.model.tendons}
        equalities = []
        for e in self.model.notes.equalities:
            known: set[str | None] = {*{"joint": joints, "tendon": tendons}.get(e.kind, links)}
            if self.has_world or e.kind in ("joint", "tendon"):
                known.add(None)
            if {*e.ends} <= known:
                first, second = (None if x is None else self.rename(x) for x in (e.first, e.second))
                factors = tuple((self.rename(x), factor) for x, factor in e.factors)
                renamed = replace(e, name=self.rename(e.name), first=first, second=second)
                equalities.append(replace(renamed, factors=factors))
        return equalities

    def visuals(self) -> list[Visual]:
        """Shapes on links that stay, under their new names.

        Those of a world that is attached somewhere else go with its frame "base".
        """
        frames = self.model.frames
        visuals = []
        for visual in self.model.notes.visuals:
            if visual.link is None and self.has_world:
                visuals.append(visual)
                continue
            link = BASE if visual.link is None else visual.link
            if link in frames and frames[link].body in self.attached:
                visuals.append(replace(visual, link=self.rename(link)))
        return visuals


def assemble(
    tree: Model,
    parts: Sequence[Submodel],
    locked: tuple[str, ...] = (),
    followers: Collection[str] = (),
) -> Model:
    """One model of all parts, with name, tool and gravity of `tree`.

    A tool that is left behind is chosen anew; `followers` are joints that follow others.
    """
    bodies = [body for part in parts for body in part.bodies()]
    moving, still = zip(*(part.elements() for part in parts), strict=True)
    fixed = Fixed(elements=_concatenated(still))
    for i, load in (pair for part in parts for pair in part.loads()):
        moments = load.mass, load.moment, load.inertia
        if i >= 0:
            bodies[i] = with_added_moments(bodies[i], *moments)
        else:
            fixed = with_added_moments(fixed, *moments)
    nq = nv = 0
    for i, body in enumerate(bodies):  # contiguous coordinates
        q, v = slice(nq, nq + body.chart.nq), slice(nv, nv + body.chart.nv)
        bodies[i] = replace(body, q=q, v=v)
        nq, nv = q.stop, v.stop
    joints = []
    for joint in (joint for part in parts for joint in part.joints()):
        first, last = bodies[joint.bodies[0]], bodies[joint.bodies[-1]]
        q, v = slice(first.q.start, last.q.stop), slice(first.v.start, last.v.stop)
        joints.append(replace(joint, q=q, v=v))
    frames, notes = _frames(parts), _notes(parts, locked)
    if tree.tool not in frames:  # it was left behind
        tool = _default_tool(tree, bodies, followers)
        last_body = next(i for i, body in enumerate(bodies) if body.name == tool.name)
        frames[tree.tool] = frames.get(tool.name, Frame(last_body, *IDENTITY))
        notes = replace(notes, tool=tool.reason, warnings=(*notes.warnings, *tool.warnings))
    drive = {
        f.name: np.concatenate([x for part in parts for x in part.drive(f.name)])
        for f in fields(Drive)
    }
    model = Model(
        name=tree.name,
        bodies=tuple(bodies),
        joints=tuple(joints),
        frames=frames,
        tool=tree.tool,
        drive=Drive(**drive),
        gravity=tree.gravity,
        elements=_concatenated(moving),
        fixed=fixed,
        notes=notes,
    )
    for what, named in (
        ("joints", model.joints),
        ("links", model.bodies),
        ("tendons", model.tendons),
    ):
        _reject_duplicates(what, [each.name for each in named])
    actuations = [part.actuation() for part in parts]
    ranges = Actuation(
        joint_ranges={k: x for each in actuations for k, x in each.joint_ranges.items()},
        tendon_ranges={k: x for each in actuations for k, x in each.tendon_ranges.items()},
    )
    actuators = [a for each in actuations for a in each.actuators]
    return with_parameters(replace(model, driven_by=ranges.with_actuators(model, actuators)))


def _frames(parts: Sequence[Submodel]) -> dict[str, Frame]:
    """All frames, and a base where it was left behind."""
    frames = [part.frames() for part in parts]
    _reject_duplicates("frames", [name for each in frames for name in each])
    base = {BASE: Frame(-1, *IDENTITY)}
    return base | {name: frame for each in frames for name, frame in each.items()}


def _default_tool(tree: Model, bodies: Sequence[Body], followers: Collection[str]) -> Tool:
    following = {tree.bodies[i].name for j in tree.joints if j.name in followers for i in j.bodies}
    names = [body.name for body in bodies]
    mounts = {}
    for body in bodies:
        parent = names[body.parent] if body.parent >= 0 else None
        mounts[body.name] = Mount(parent, True, body.name in following)
    return default_tool(mounts) or Tool(names[-1], "the last link")


def _concatenated(elements: Sequence[Elements]) -> Elements:
    names = [f.name for f in fields(Elements)]
    return Elements(**{k: tuple(x for each in elements for x in getattr(each, k)) for k in names})


def _reject_duplicates(what: str, names: Sequence[str]) -> None:
    known: set[str] = set()
    for name in names:
        if name in known:
            raise ModelError(f"both have {what} called {name!r}; give a prefix for the second's")
        known.add(name)


def _notes(parts: Sequence[Submodel], locked: tuple[str, ...]) -> Notes:
    """The notes of all parts as one; postures belong to one tree and are those of a single part.

    An equality whose links or joints are no longer there is listed in `left_out`.
    """
    notes = [part.model.notes for part in parts]
    equalities = [part.equalities() for part in parts]
    lost = tuple(
        LeftOut(f"{e.kind} constraint", e.name, "it ends at something that is no longer there")
        for part, own in zip(parts, equalities, strict=True)
        for e in part.model.notes.equalities
        if part.rename(e.name) not in {k.name for k in own}
    )
    postures = []
    if len(parts) == 1:
        spans = [parts[0].model.bodies[i].q for i in parts[0].moving]
        for name, q in notes[0].postures:
            if len(q) == parts[0].model.nq:
                postures.append((name, tuple(x for span in spans for x in q[span])))
    return replace(
        notes[0],
        merged=tuple(x for each in notes for x in each.merged),
        ignored=tuple(x for each in notes for x in each.ignored),
        warnings=tuple(x for each in notes for x in each.warnings),
        provenance=tuple(x for each in notes for x in each.provenance),
        locked=(*(x for each in notes for x in each.locked), *locked),
        equalities=tuple(e for own in equalities for e in own),
        postures=tuple(postures),
        meshes=tuple(
            replace(mesh, link=part.rename(mesh.link))
            for part in parts
            for mesh in part.model.notes.meshes
        ),
        visuals=tuple(visual for part in parts for visual in part.visuals()),
        left_out=(*(x for each in notes for x in each.left_out), *lost),
    )
