"""Building the frozen model from links: checked, ordered, merged.

Conventions are resolved here. Fixed joints are merged exactly; joints of several degrees
become several bodies; each body frame gets its z axis along its joint's axis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from dalembert.errors import InertiaError, ModelError
from dalembert.model import validation
from dalembert.model.body import Body, Fixed
from dalembert.model.elements import Ballast, Drag, Elements, Lift, Spring
from dalembert.model.joint import KINDS, REVOLUTE, Chart, align, factors
from dalembert.model.link import Joint, Link, ordered
from dalembert.model.model import Drive, Frame, JointInfo, Model, with_parameters
from dalembert.model.notes import Notes
from dalembert.model.parameter import NumberLike
from dalembert.model.validation import coordinates, is_scalar, numbers
from dalembert.spatial.arrays import Matrix3, Scalar, Vector, Vector3
from dalembert.spatial.inertia import check_inertia, parallel_axis, rotate_tensor
from dalembert.spatial.rotations import rotation_z, snap
from dalembert.spatial.se3 import IDENTITY, Placement
from dalembert.text import plain_name, short, suggest
from dalembert.tracing import is_symbolic

BASE = "base"
TOOL = "tool"
STANDARD_GRAVITY = (0.0, 0.0, -9.81)

B = TypeVar("B", Body, Fixed)
Moments = tuple[Scalar, Vector3, Matrix3]  # m, h = m c (3,) and I_o (3, 3)
Freedom = tuple[Vector3, Chart, Vector]  # unit axis in the joint frame, chart, offset (nq,) of q


class Attachment(NamedTuple):
    """A frame fixed to a body (−1: the base)."""

    body: int
    frame: Placement

    def then(self, inner: Placement) -> Attachment:
        """The frame at `inner` in this one, fixed to the same body."""
        if self.frame is IDENTITY:
            return Attachment(self.body, inner)
        placed = self.frame.then(inner)
        return Attachment(self.body, Placement(snap(placed.R), placed.p))


def build(
    links: Sequence[Link],
    *,
    name: str = "robot",
    base: NumberLike | None = None,
    tool: NumberLike | None = None,
    tool_link: str | None = None,
    frames: Mapping[str, tuple[str | None, NumberLike]] | None = None,
    gravity: NumberLike = STANDARD_GRAVITY,
    check_inertias: bool = True,
) -> Model:
    """A model from links in any order.

    Parameters
    ----------
    links
        The links; those with parent None are on the base.
    name
        Name of the mechanism.
    base
        (4, 4) pose of the base in the world.
    tool
        (4, 4) pose of the tool frame in the frame of `tool_link`, by default of the last link.
    frames
        Further frames by name: (link, pose), with None or "base" for the base.
    gravity
        (3,) m/s².
    check_inertias
        Whether inertias that no body can have are errors.
    """
    links = ordered(links)
    builder = _Builder(validation.placement(base, "base"), check_inertias)
    for link in links:
        builder.add(link)
    if not builder.bodies:
        raise ModelError("every joint is fixed; a mechanism needs at least one that moves")
    last = links[-1].name if tool_link is None else validation.label(tool_link, "tool_link")
    drive = _drive(builder.moving, builder.joints)
    still = Elements(lifts=tuple(lift for lift in builder.lifts if lift.body < 0))
    model = Model(
        name=plain_name(name, "the robot"),
        bodies=tuple(builder.bodies),
        joints=tuple(builder.joints),
        frames=_frames(builder.attachments, {} if frames is None else frames, tool, last),
        tool=TOOL,
        drive=drive,
        gravity=numbers(gravity, (3,), "gravity"),
        elements=_elements(builder, drive.rotor),
        fixed=replace(builder.fixed, elements=still),
        notes=Notes(tool="the last link" if tool is None and tool_link is None else "given"),
    )
    return with_parameters(model)


class _Builder:
    """Grows the bodies link by link; the links must come parents first."""

    def __init__(self, base: Placement, check_inertias: bool) -> None:
        self.check_inertias = check_inertias
        world = Attachment(-1, Placement(np.eye(3), np.zeros(3)))
        self.attachments: dict[str | None, Attachment] = {None: world.then(base)}  # link frames
        self.bodies: list[Body] = []
        self.joints: list[JointInfo] = []
        self.moving: list[Link] = []  # those of the joints
        self.fixed = Fixed()  # to the base
        self.lifts: list[Lift] = []  # of every link

    def add(self, link: Link) -> None:
        """One link: its joint's bodies, its frame and its inertia."""
        joint, first = link.joint, len(self.bodies)
        label = joint.name or link.name
        origin = validation.placement(joint.origin, f"origin of joint {label!r}")
        attachment = self.attachments[link.parent].then(origin)
        pieces = freedoms(joint, label)
        nq = start_q = self.bodies[-1].q.stop if self.bodies else 0
        nv = start_v = self.bodies[-1].v.stop if self.bodies else 0
        for k, (axis, chart, offset) in enumerate(pieces, start=1):
            alignment, quarter = snap(align(axis)), np.eye(3)
            if chart is REVOLUTE and not is_symbolic(offset):
                # offsets of whole quarter turns are part of the placement, where they cost nothing
                rotation = snap(rotation_z(offset[0]))
                if np.isin(rotation, (-1.0, 0.0, 1.0)).all():
                    quarter, offset = rotation, np.zeros(1)
            self.bodies.append(
                Body(
                    name=link.name if k == len(pieces) else f"{label}_{k}",
                    parent=attachment.body,
                    rotation=snap(attachment.frame.R @ alignment @ quarter),
                    translation=attachment.frame.p,
                    chart=chart,
                    offset=offset,
                    q=slice(nq, nq + chart.nq),
                    v=slice(nv, nv + chart.nv),
                    mass=0.0,
                    moment=np.zeros(3),
                    inertia=np.zeros((3, 3)),
                )
            )
            nq, nv = nq + chart.nq, nv + chart.nv
            attachment = Attachment(len(self.bodies) - 1, Placement(alignment.T, np.zeros(3)))
        frame = validation.placement(link.frame, f"frame of link {link.name!r}")
        self.attachments[link.name] = attachment.then(frame)
        self._load(link, self.attachments[link.name])
        if pieces:
            lower, upper = validation.limits(joint.limits, label)
            size, what = nq - start_q, f"joint {label!r}"
            info = JointInfo(
                name=label,
                kind=joint.kind,
                link=link.name,
                bodies=range(first, len(self.bodies)),
                q=slice(start_q, nq),
                v=slice(start_v, nv),
                lower=(lower,) * size,
                upper=(upper,) * size,
                velocity_limit=validation.limit(joint.velocity_limit, f"{what}: velocity_limit"),
                effort_limit=validation.limit(joint.effort_limit, f"{what}: effort_limit"),
            )
            self.joints.append(info)
            self.moving.append(link)

    def _load(self, link: Link, attachment: Attachment) -> None:
        """Add the link's inertia to that of the body that carries it."""
        where = f"link {link.name!r}"
        mass = numbers(link.mass, (), f"mass of {where}", InertiaError)
        com = numbers(link.com, (3,), f"com of {where}", InertiaError)
        tensor = numbers(link.inertia, (3, 3), f"inertia of {where}", InertiaError)
        if self.check_inertias and not any(is_symbolic(x) for x in (mass, com, tensor)):
            check_inertia(mass, com, tensor, name=where)
        moments = moments_of(attachment.frame, mass, com, tensor)
        i = attachment.body
        if i >= 0:
            self.bodies[i] = with_added_moments(self.bodies[i], *moments)
        else:
            self.fixed = with_added_moments(self.fixed, *moments)
        part = numbers(link.lifted, (), f"lifted of {where}")
        if is_symbolic(part) or part != 0.0:
            self.lifts.append(Lift(i, part * mass, part * moments[1]))


def _frames(
    attachments: Mapping[str | None, Attachment],
    extra: Mapping[str, tuple[str | None, NumberLike]],
    tool: NumberLike | None,
    tool_link: str,
) -> dict[str, Frame]:
    """Frames of the base, all links, the extra ones and the tool, by name."""
    carriers = {BASE: attachments[None], **attachments}
    named = {str(key): at for key, at in carriers.items() if key is not None}
    frames: dict[str, tuple[str | None, NumberLike | None]] = {}
    for key, value in validation.mapping(extra, "frames").items():
        if not isinstance(value, tuple | list) or len(value) != 2:
            raise ModelError(f"frame {key!r} must be a pair (link, pose), not {short(value)}")
        if value[0] is not None:
            validation.label(value[0], f"link of frame {key!r}")
        frames[key] = value[0], value[1]
    frames[TOOL] = tool_link, tool
    for key, (link, pose) in frames.items():
        if link not in carriers:
            raise ModelError(
                f"frame {key!r} is attached to {link!r}, which is no link"
                f"{suggest(str(link), [x for x in carriers if x is not None])}"
            )
        if key in named and key != TOOL:
            raise ModelError(f"frame {key!r} has the name of a link; choose another")
        named[key] = carriers[link].then(validation.placement(pose, f"frame {key!r}"))
    return {k: Frame(at.body, *at.frame) for k, at in named.items()}


def moments_of(frame: Placement, mass: Scalar, com: Vector3, tensor: Matrix3) -> Moments:
    """Moments about a body's origin of what is fixed to it: centre and central tensor in `frame`."""
    center = frame.p + frame.R @ com
    rotated = rotate_tensor(tensor, frame.R)
    return mass, mass * center, parallel_axis(rotated, mass, center)


def with_added_moments(body: B, mass: Scalar, moment: Vector3, inertia: Matrix3) -> B:
    """The body with more mass on it; moments about one point add."""
    return replace(
        body, mass=body.mass + mass, moment=body.moment + moment, inertia=body.inertia + inertia
    )


def freedoms(joint: Joint, label: str) -> list[Freedom]:
    """The charts of a joint in the order of its coordinates; a fixed joint has none."""
    where = f"joint {label!r}"
    if not isinstance(joint.kind, str) or joint.kind not in KINDS:
        known = ", ".join(KINDS)
        raise ModelError(
            f"{where}: joint type {short(joint.kind)} is unknown; known types: {known}"
        )
    axis, second = _unit(joint.axis, f"{where}: axis"), None
    if joint.axis2 is not None:
        if joint.kind != "universal":
            raise ModelError(f"{where}: axis2 is for universal joints, this one is {joint.kind}")
        second = _unit(joint.axis2, f"{where}: axis2")
    pitch = numbers(joint.pitch, (), f"{where}: pitch")
    if joint.kind != "helical" and (is_symbolic(pitch) or pitch != 0.0):
        raise ModelError(f"{where}: pitch is for helical joints, this one is {joint.kind}")
    pieces = [(snap(a), chart) for a, chart in factors(joint.kind, axis, second, pitch)]
    what = f"{where}: offset"
    if is_scalar(joint.offset):
        offset = numbers(joint.offset, (), what)
        if not is_symbolic(offset) and offset == 0.0:
            return [(a, chart, np.zeros(chart.nq)) for a, chart in pieces]
    if not pieces or any(chart.nq > 1 for _, chart in pieces):
        raise ModelError(f"{what}: a {joint.kind} joint has none; turn its origin instead")
    offsets = coordinates(joint.offset, len(pieces), what)
    return [(a, chart, offsets[k : k + 1]) for k, (a, chart) in enumerate(pieces)]


def _unit(value: Any, what: str) -> Vector3:
    """The direction of an axis (3,), which is not zero as far as it is numbers."""
    axis: Vector3 = numbers(value, (3,), what)
    length = np.sqrt(axis @ axis) if is_symbolic(axis) else np.linalg.norm(axis)
    if not is_symbolic(axis) and length < 1e-9:
        raise ModelError(f"{what} is {axis}; it must be three numbers, not all zero")
    unit: Vector3 = axis / length
    return unit if is_symbolic(unit) else snap(unit)


def _drive(links: Sequence[Link], joints: Sequence[JointInfo]) -> Drive:
    """Friction and rotor inertia of every velocity, reflected to the joint through its gear G.

    τ_friction = (B + G² B_m) q̇ + (T_c + |G| T_cm) sign(q̇), rotor G² J_m; a joint's numbers hold for
    each of its degrees.
    """
    rows: list[tuple[Scalar, ...]] = []
    for link, info in zip(links, joints, strict=True):
        joint, label = link.joint, f"joint {info.name!r}"
        G = numbers(joint.gear_ratio, (), f"{label}: gear_ratio")
        positive, negative = _pair(joint.coulomb, f"{label}: coulomb")
        motor_positive, motor_negative = _pair(joint.coulomb_motor, f"{label}: coulomb_motor")
        signed = {
            key: numbers(getattr(joint, key), (), f"{label}: {key}")
            for key in ("viscous", "viscous_motor", "rotor_inertia")
        }
        for what, value in signed.items():
            if not is_symbolic(value) and value < 0:
                raise ModelError(f"{label}: {what} is {value}; it cannot be negative")
        viscous, viscous_motor, rotor = signed.values()
        row = (
            viscous + G * G * viscous_motor,
            positive + np.abs(G) * motor_positive,
            negative + np.abs(G) * motor_negative,
            G * G * rotor,
        )
        rows += [row] * (info.v.stop - info.v.start)
    return Drive(*(np.stack(column) for column in zip(*rows, strict=True)))


def _pair(value: Any, what: str) -> tuple[Scalar, Scalar]:
    """Coulomb friction as (torque at positive velocity, torque at negative velocity)."""
    label = f"{what}, one number or (positive, negative),"
    if is_scalar(value):
        positive = numbers(value, (), label)
        negative = -positive
    else:
        positive, negative = numbers(value, (2,), label)
    numeric = not is_symbolic(positive) and not is_symbolic(negative)
    if numeric and not positive >= 0 >= negative:
        raise ModelError(
            f"{what} ({positive}, {negative}) must oppose the motion: "
            "positive torque first, negative second"
        )
    return positive, negative


def _elements(builder: _Builder, rotor: Vector) -> Elements:
    """Elements of the joints, one for each of their bodies, and the lifted weight of each body."""
    springs: list[Spring] = []
    drags: list[Drag] = []
    ballasts: list[Ballast] = []
    for link, info in zip(builder.moving, builder.joints, strict=True):
        joint, label = link.joint, f"joint {info.name!r}"
        own = [(i, builder.bodies[i]) for i in info.bodies]
        stiffness = _series(joint.stiffness, f"{label}: stiffness")
        if len(stiffness):
            rest = np.concatenate([body.chart.neutral() for _, body in own])
            if joint.rest is not None:
                rest = coordinates(joint.rest, len(rest), f"{label}: rest")
            for i, body in own:
                part = slice(body.q.start - info.q.start, body.q.stop - info.q.start)
                springs.append(Spring(i, stiffness, rest[part]))
        drag = _series(joint.drag, f"{label}: drag")
        drags += [Drag(i, drag) for i, _ in own if len(drag)]
        if joint.ballast:
            if joint.kind != "free":
                raise ModelError(f"{label}: ballast is for free joints, this one is {joint.kind}")
            masses = [(i, rotor[body.v][0]) for i, body in own]
            ballasts += [Ballast(i, mass) for i, mass in masses if is_symbolic(mass) or mass != 0.0]
    lifts = []
    for i in sorted({lift.body for lift in builder.lifts if lift.body >= 0}):
        parts = [lift for lift in builder.lifts if lift.body == i]
        moment = sum((part.moment for part in parts), np.zeros(3))
        lifts.append(Lift(i, sum(part.mass for part in parts), moment))
    return Elements(tuple(springs), tuple(drags), tuple(lifts), ballasts=tuple(ballasts))


def _series(value: Any, what: str) -> Vector:
    """Coefficients (degree,); one number is a list of one, zeros at the end are none."""
    if is_scalar(value):
        coefficients: Vector = numbers(value, (), what).reshape(1)
    else:
        coefficients = numbers(value, (len(value),), f"{what}, one number or one for each power,")
    return coefficients if is_symbolic(coefficients) else np.trim_zeros(coefficients, "b")
