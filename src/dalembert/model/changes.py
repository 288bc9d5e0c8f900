"""Changed mechanisms: payloads, tools, locked joints, other bases, subtrees, merged models.

Each public function takes a model and returns a new one, as if it had been built so; numbers may be
parameters. Joints that follow others keep following.

Locking, cutting and merging share one step: a `Submodel` says for every body of an old model to which
body of the new one it is attached, and `assemble` makes one model of one or several of them. What is
fixed to the old body (frames, points of tendons, mass) is then fixed to the new one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from dalembert.errors import InertiaError, ModelError, UnknownNameError
from dalembert.model import validation
from dalembert.model.actuators import Actuation, Actuator, Range
from dalembert.model.body import Body, Fixed
from dalembert.model.build import BASE, TOOL, Attachment, moments_of, with_added_moments
from dalembert.model.coupling import CoupledModel, couple
from dalembert.model.elements import (
    Anchor,
    Elements,
    Lift,
    Segment,
    Submerged,
    Tendon,
    Wrap,
    bodies_of,
)
from dalembert.model.model import Drive, Frame, JointInfo, Model, with_parameters
from dalembert.model.notes import Equality, LeftOut, Notes
from dalembert.model.parameter import NumberLike
from dalembert.model.tool import Mount, Tool, default_tool
from dalembert.spatial.arrays import Matrix3, Scalar, Vector3
from dalembert.spatial.inertia import check_inertia, from_silver_tensor, pseudo_inertia_of_moments
from dalembert.spatial.se3 import IDENTITY, Placement, pose
from dalembert.text import plain_name, short, suggest
from dalembert.tracing import is_symbolic

Mechanism = Model | CoupledModel
Shape = TypeVar("Shape", Submerged, Wrap)


def with_payload(
    model: Mechanism, mass: NumberLike, com: NumberLike, inertia: NumberLike, frame: str | None
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
    joint, what = _joint(tree, name), f"value of joint {name!r}"
    size, low, high = joint.q.stop - joint.q.start, joint.lower[0], joint.upper[0]
    values = {name: validation.coordinates(value, size, what)}
    is_number = size == 1 and not is_symbolic(values[name])
    if is_number and not low <= values[name][0] <= high:
        raise ModelError(
            f"{what}, {values[name][0]:g}, is outside its limits {low:g} … {high:g}; lock it within "
            "them, or change them first by with_limits"
        )
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
    """The mechanism carried by a link, which becomes the base; its frame is that of the world."""
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
    host = Submodel(tree, host_attached, {i: i for i in range(count)})
    moving = {i: count + i for i in range(len(guest.bodies))}
    attached = {i: Attachment(new, IDENTITY) for i, new in moving.items()}
    attached[-1] = Attachment(mount.body, mount.placement)
    joined = Submodel(guest, attached, moving, rename)
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
            _joint(tree, name)
            joint = changed[name]
            size, what = len(joint.lower), f"joint {name!r}: {quantity} limit"
            if quantity == "position":
                lower, upper = validation.limits(value, name)
                has_quaternion = size > joint.v.stop - joint.v.start
                if has_quaternion and np.isfinite([lower, upper]).any():
                    raise ModelError(
                        f"joint {name!r} turns freely, its position is a quaternion and has no lower "
                        "and upper limit; velocity and effort can be limited"
                    )
                changed[name] = replace(joint, lower=(lower,) * size, upper=(upper,) * size)
                continue
            limit = np.inf if value is None else validation.limit(value, what)
            if limit < 0.0:
                raise ModelError(f"{what} {limit} is negative")
            field: dict[str, Any] = {f"{quantity}_limit": limit}
            changed[name] = replace(joint, **field)
    return _with_tree(model, replace(tree, joints=tuple(changed.values())))


def _with_tree(model: Mechanism, tree: Model) -> Mechanism:
    """The mechanism with another tree of the same joints, its parameters collected again."""
    return couple(with_parameters(tree), model.followers)


def _joint(tree: Model, name: str) -> JointInfo:
    for joint in tree.joints:
        if joint.name == name:
            return joint
    known = [joint.name for joint in tree.joints]
    raise UnknownNameError(f"{tree.name} has no joint {short(name)}{suggest(name, known)}")


def _inverse(placement: Placement) -> Placement:
    return Placement(placement.R.T, -(placement.R.T @ placement.p))


class Submodel(NamedTuple):
    """Bodies of a model attached to those of a new one, and the new names."""

    model: Model
    attached: Mapping[int, Attachment]  # of old bodies (−1: the base); others are left behind
    moving: Mapping[int, int]  # old bodies that keep their joints, and their new indices
    rename: Callable[[str], str] = str

    @property
    def has_world(self) -> bool:
        """Whether its base is still the base, at the same pose."""
        base = self.attached.get(-1)
        if base is None or base.body >= 0 or any(map(is_symbolic, base.frame)):
            return False
        return bool(np.array_equal(base.frame.R, np.eye(3)) and not np.any(base.frame.p))

    @property
    def joints(self) -> dict[str, JointInfo]:
        """The old joints that stay, by name."""
        return {j.name: j for j in self.model.joints if j.bodies[0] in self.moving}

    def loads(self) -> Iterator[tuple[int, Scalar, Vector3, Matrix3]]:
        """(new body or −1, moments it gets) of the base and of bodies without joints.

        P' = g P gᵀ about the new origin, with Uicker's P = ∫ (r, 1)(r, 1)ᵀ dm.
        """
        for i, at in self.attached.items():
            body = self.model.bodies[i] if i >= 0 else self.model.fixed
            if i in self.moving or (i < 0 and not body):
                continue
            g = pose(*at.frame)
            P = g @ pseudo_inertia_of_moments(body.mass, body.moment, body.inertia) @ g.T
            yield at.body, body.mass, P[:3, 3], from_silver_tensor(P[:3, :3])

    def tendons(self) -> dict[str, Tendon]:
        """The tendons that come along, by their old names; a cut or blocked one is an error."""
        tendons = {}
        for tendon in self.model.tendons:
            bodies = set(bodies_of(tendon))
            staying = self.moving.keys() if tendon.joints else self.attached.keys()
            if bodies and bodies.isdisjoint(self.attached):
                continue
            if not bodies <= staying:
                raise ModelError(
                    f"{self.model.name}: tendon {tendon.name!r} runs over joints or bodies that would "
                    "be held or left behind; take it out of the model first"
                )
            segments: list[Segment] = []
            for segment in tendon.segments:
                around = segment.around
                if around is not None:
                    beside = None if around.beside is None else self._anchor(around.beside)
                    around = replace(self.placed(around), beside=beside)
                start, end = self._anchor(segment.start), self._anchor(segment.end)
                segments.append(replace(segment, start=start, end=end, around=around))
            tendons[tendon.name] = replace(
                tendon,
                name=self.rename(tendon.name),
                joints=tuple(self.moving[body] for body in tendon.joints),
                segments=tuple(segments),
            )
        return tendons

    def placed(self, shape: Shape) -> Shape:
        """A shape fixed to the new body."""
        at = self.attached[shape.body].then(Placement(shape.rotation, shape.center))
        return replace(shape, body=at.body, rotation=at.frame.R, center=at.frame.p)

    def _anchor(self, anchor: Anchor) -> Anchor:
        at = self.attached[anchor.body].then(Placement(np.eye(3), anchor.point))
        return Anchor(at.body, at.frame.p)

    def equalities(self) -> list[Equality]:
        """Equalities between links, joints and tendons that stay, under their new names."""
        links = {name for name, f in self.model.frames.items() if f.body in self.attached}
        ends = {"joint": {*self.joints}, "tendon": {t.name for t in self.model.tendons}}
        equalities = []
        for e in self.model.notes.equalities:
            known: set[str | None] = {*ends.get(e.kind, links)}
            if self.has_world or e.kind in ends:
                known.add(None)
            if {*e.ends} <= known:
                first, second = (None if x is None else self.rename(x) for x in (e.first, e.second))
                factors = tuple((self.rename(x), factor) for x, factor in e.factors)
                renamed = replace(e, name=self.rename(e.name), first=first, second=second)
                equalities.append(replace(renamed, factors=factors))
        return equalities


def assemble(
    tree: Model,
    parts: Sequence[Submodel],
    locked: tuple[str, ...] = (),
    followers: Collection[str] = (),
) -> Model:
    """One model of all parts, with name, tool and gravity of `tree`.

    A tool that is left behind is chosen anew; `followers` are joints that follow others.
    """
    bodies: list[Body] = []
    joints: list[JointInfo] = []
    nq = nv = 0
    for part in parts:
        for i in part.moving:
            body = part.model.bodies[i]
            at = part.attached[body.parent].then(Placement(body.rotation, body.translation))
            q, v = slice(nq, nq + body.chart.nq), slice(nv, nv + body.chart.nv)
            placed = replace(body, name=part.rename(body.name), parent=at.body, q=q, v=v)
            bodies.append(replace(placed, rotation=at.frame.R, translation=at.frame.p))
            nq, nv = q.stop, v.stop
        for joint in part.joints.values():
            start = part.moving[joint.bodies[0]]
            indices = range(start, start + len(joint.bodies))
            first, last = bodies[indices[0]], bodies[indices[-1]]
            q, v = slice(first.q.start, last.q.stop), slice(first.v.start, last.v.stop)
            moved = replace(joint, bodies=indices, q=q, v=v)
            name, link = part.rename(joint.name), part.rename(joint.link)
            joints.append(replace(moved, name=name, link=link))
    elements, still = _elements(parts)
    fixed = Fixed(elements=still)
    for i, *moments in (load for part in parts for load in part.loads()):
        if i >= 0:
            bodies[i] = with_added_moments(bodies[i], *moments)
        else:
            fixed = with_added_moments(fixed, *moments)
    frames, notes = _frames(parts), _notes(parts, locked)
    if tree.tool not in frames:  # it was left behind
        tool = _default_tool(tree, bodies, followers)
        last_body = next(i for i, body in enumerate(bodies) if body.name == tool.name)
        frames[tree.tool] = frames.get(tool.name, Frame(last_body, *IDENTITY))
        notes = tool.noted(notes)
    drives = [(part.model.drive, part.model.bodies[i].v) for part in parts for i in part.moving]
    model = Model(
        name=tree.name,
        bodies=tuple(bodies),
        joints=tuple(joints),
        frames=frames,
        tool=tree.tool,
        drive=Drive(
            *(np.concatenate([getattr(d, f.name)[v] for d, v in drives]) for f in fields(Drive))
        ),
        gravity=tree.gravity,
        elements=elements,
        fixed=fixed,
        notes=notes,
    )
    _reject_duplicates("joints", [joint.name for joint in joints])
    _reject_duplicates("links", [body.name for body in bodies])
    _reject_duplicates("tendons", [tendon.name for tendon in model.tendons])
    driven_by = _actuation(parts)
    driven_by = driven_by.with_actuators(model, driven_by.actuators)
    return with_parameters(replace(model, driven_by=driven_by))


def _elements(parts: Sequence[Submodel]) -> tuple[Elements, Elements]:
    """Elements of the joints and bodies that stay, and those fixed to the new base."""
    lists: dict[str, list[Any]] = {f.name: [] for f in fields(Elements)}
    for part in parts:
        own, base = part.model.elements, part.model.fixed.elements
        for kind in ("springs", "drags", "ballasts"):
            staying = [e for e in getattr(own, kind) if e.body in part.moving]
            lists[kind] += [replace(e, body=part.moving[e.body]) for e in staying]
        for lift in (*own.lifts, *base.lifts):
            if lift.body in part.attached:
                at = part.attached[lift.body]
                moment = at.frame.R @ lift.moment + lift.mass * at.frame.p
                lists["lifts"].append(Lift(at.body, lift.mass, moment))
        for shape in (*own.submerged, *base.submerged):
            if shape.body in part.attached:
                lists["submerged"].append(part.placed(shape))
        lists["tendons"] += part.tendons().values()
    still = {k: tuple(e for e in lists[k] if e.body < 0) for k in ("lifts", "submerged")}
    for kind in still:
        lists[kind] = [e for e in lists[kind] if e.body >= 0]
    return Elements(**{k: tuple(each) for k, each in lists.items()}), Elements(**still)


def _actuation(parts: Sequence[Submodel]) -> Actuation:
    """The actuators of the joints, tendons and frames that stay."""
    actuators: list[Actuator] = []
    joint_ranges: dict[str, Range] = {}
    tendon_ranges: dict[str, Range] = {}
    for part in parts:
        model, rename, joints, tendons = part.model, part.rename, part.joints, part.tendons()
        for a in model.driven_by.actuators:
            ends = [name for name in (a.target, a.reference) if name is not None]
            if a.transmission in ("joint", "joint_in_parent"):
                present = [a.target in joints]
            elif a.transmission == "tendon":
                present = [a.target in tendons]
            else:
                present = [model.frames[name].body in part.attached for name in ends]
            if any(present) and not all(present):
                raise ModelError(
                    f"{model.name}: actuator {a.name!r} acts between {ends[0]!r} and {ends[1]!r}, of "
                    "which one would be left behind; take it out of the model first"
                )
            if all(present):
                reference = None if a.reference is None else rename(a.reference)
                name, target = rename(a.name), rename(a.target)
                actuators.append(replace(a, name=name, target=target, reference=reference))
        ranges = model.driven_by.joint_ranges.items()
        joint_ranges |= {rename(k): pair for k, pair in ranges if k in joints}
        ranges = model.driven_by.tendon_ranges.items()
        tendon_ranges |= {rename(k): pair for k, pair in ranges if k in tendons}
    return Actuation(tuple(actuators), joint_ranges, tendon_ranges)


def _frames(parts: Sequence[Submodel]) -> dict[str, Frame]:
    """The frames that are not left behind, and a base where it was."""
    frames: list[tuple[str, Frame]] = []
    for part in parts:
        for name, frame in part.model.frames.items():
            if frame.body in part.attached:
                at = part.attached[frame.body].then(frame.placement)
                frames.append((part.rename(name), Frame(at.body, *at.frame)))
    _reject_duplicates("frames", [name for name, _ in frames])
    return {BASE: Frame(-1, *IDENTITY), **dict(frames)}


def _default_tool(tree: Model, bodies: Sequence[Body], followers: Collection[str]) -> Tool:
    following = {tree.bodies[i].name for j in tree.joints if j.name in followers for i in j.bodies}
    names = [body.name for body in bodies]
    mounts = {}
    for body in bodies:
        parent = names[body.parent] if body.parent >= 0 else None
        mounts[body.name] = Mount(parent, True, body.name in following)
    return default_tool(mounts) or Tool(names[-1], "the last link")


def _reject_duplicates(what: str, names: Sequence[str]) -> None:
    for k, name in enumerate(names):
        if name in names[:k]:
            raise ModelError(f"both have {what} called {name!r}; give a prefix for the second's")


def _notes(parts: Sequence[Submodel], locked: tuple[str, ...]) -> Notes:
    """The notes of all parts as one; postures belong to one tree and are those of a single part.

    An equality whose links or joints are no longer there is listed in `left_out`.
    """
    notes = [part.model.notes for part in parts]
    lists: dict[str, list[Any]] = {
        name: [x for each in notes for x in getattr(each, name)]
        for name in ("merged", "ignored", "warnings", "provenance", "locked", "left_out")
    }
    lists |= {"equalities": [], "postures": [], "meshes": [], "visuals": []}
    for part, own in zip(parts, notes, strict=True):
        equalities = part.equalities()
        lists["equalities"] += equalities
        known, effect = {e.name for e in equalities}, "it ends at something that is no longer there"
        lost = [e for e in own.equalities if part.rename(e.name) not in known]
        lists["left_out"] += [LeftOut(f"{e.kind} constraint", e.name, effect) for e in lost]
        lists["meshes"] += [mesh._replace(link=part.rename(mesh.link)) for mesh in own.meshes]
        # visuals of a world that is attached somewhere else go with its frame "base"
        has_world, frames = part.has_world, part.model.frames
        for visual in own.visuals:
            link = BASE if visual.link is None else visual.link
            if visual.link is None and has_world:
                lists["visuals"].append(visual)
            elif link in frames and frames[link].body in part.attached:
                lists["visuals"].append(visual._replace(link=part.rename(link)))
    if len(parts) == 1:
        spans = [parts[0].model.bodies[i].q for i in parts[0].moving]
        for name, q in notes[0].postures:
            if len(q) == parts[0].model.nq:
                lists["postures"].append((name, tuple(x for span in spans for x in q[span])))
    lists["locked"] += locked
    joined: dict[str, Any] = {name: tuple(values) for name, values in lists.items()}
    return replace(notes[0], **joined)
