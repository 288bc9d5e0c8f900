"""Building the frozen model from links: checked, ordered, merged.

Conventions are resolved here. Fixed joints are merged exactly; joints of several degrees
become several bodies; each body frame gets its z axis along its joint's axis.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from dalembert.errors import InertiaError, ModelError
from dalembert.model import validation
from dalembert.model.body import Body, Fixed
from dalembert.model.elements import Ballast, Drag, Elements, Lift, Spring
from dalembert.model.joint import KINDS, REVOLUTE, Chart, Factors, align, factors
from dalembert.model.link import Joint, Link, ordered
from dalembert.model.model import Drive, Frame, JointInfo, Model, with_parameters
from dalembert.model.notes import Notes
from dalembert.model.parameter import NumberLike
from dalembert.model.tool import Mount, Tool
from dalembert.model.validation import direction, is_scalar, number, numbers
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


class Attachment(NamedTuple):
    """A frame fixed to a body (−1: the base)."""

    body: int
    frame: Placement

    @property
    def is_identity(self) -> bool:
        """Whether numbers say that the frames are the same."""
        R, p = self.frame
        if is_symbolic(R) or is_symbolic(p):
            return False
        return bool(np.array_equal(R, np.eye(3)) and not np.any(p))

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
    builder = _Builder(links, check_inertias)
    builder.attachments[None] = Attachment(-1, Placement(np.eye(3), np.zeros(3))).then(
        validation.placement(base, "base")
    )
    for link in links:
        builder.add(link)
    if not builder.bodies:
        raise ModelError("every joint is fixed; a mechanism needs at least one that moves")
    tool_choice = Tool(links[-1].name, "the last link")
    if tool_link is not None:
        tool_choice = Tool(validation.label(tool_link, "tool_link"), "given")
    builder.name_frames({} if frames is None else frames, tool, tool_choice.name)
    drive = drive_of(builder.moving)
    model = Model(
        name=plain_name(name, "the robot"),
        bodies=tuple(builder.with_loads(i, body) for i, body in enumerate(builder.bodies)),
        joints=tuple(builder.joints),
        frames=builder.frames,
        tool=TOOL,
        drive=drive,
        gravity=numbers(gravity, (3,), "gravity"),
        elements=builder.elements(drive.rotor),
        fixed=builder.fixed(),
        notes=Notes(
            tool=tool_choice.reason if tool is None else "given", warnings=tool_choice.warnings
        ),
    )
    return with_parameters(model)


def mounts(links: Sequence[Link], followers: Collection[str] = ()) -> dict[str, Mount]:
    """How each link hangs in the tree; `followers` are names of joints that follow others."""
    return {
        link.name: Mount(link.parent, link.joint.kind != "fixed", link.joint.name in followers)
        for link in links
    }


class _Builder:
    """Grows the bodies link by link; the links must come parents first."""

    def __init__(self, links: Sequence[Link], check_inertias: bool) -> None:
        self.links = links
        self.check_inertias = check_inertias
        self.attachments: dict[str | None, Attachment] = {}  # user's link frame
        self.bodies: list[Body] = []
        self.joints: list[JointInfo] = []
        self.moving: list[tuple[Link, int]] = []  # link and its nv
        self.frames: dict[str, Frame] = {}
        self.loads: dict[int, list[Moments]] = {}  # what is fixed to each body, about its origin
        self.lifted: dict[int, list[tuple[Scalar, Vector3]]] = {}  # mass and moment of it

    def add(self, link: Link) -> None:
        """One link: its joint's bodies, its frame and its inertia."""
        joint = link.joint
        label = joint.name or link.name
        attachment = self.attachments[link.parent].then(
            validation.placement(joint.origin, f"origin of joint {label!r}")
        )
        pieces, first = freedoms(joint, label), len(self.bodies)
        for k, freedom in enumerate(pieces, start=1):
            name = link.name if k == len(pieces) else f"{label}_{k}"
            attachment = self._grow(name, attachment, freedom)
        link_frame = attachment.then(
            validation.placement(link.frame, f"frame of link {link.name!r}")
        )
        self.attachments[link.name] = link_frame
        self._load(link, link_frame)
        if pieces:
            self.joints.append(_info(link, label, self.bodies[first:], first))
            self.moving.append((link, sum(freedom.chart.nv for freedom in pieces)))

    def _grow(self, name: str, attachment: Attachment, freedom: Freedom) -> Attachment:
        """One more body at the end of `attachment`, moving by the chart about its axis."""
        chart = freedom.chart
        alignment = snap(align(freedom.axis))
        quarter, offset = _quarter_turns(chart, freedom.offset)
        nq = self.bodies[-1].q.stop if self.bodies else 0
        nv = self.bodies[-1].v.stop if self.bodies else 0
        self.bodies.append(
            Body(
                name=name,
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
        return Attachment(len(self.bodies) - 1, Placement(alignment.T, np.zeros(3)))

    def _load(self, link: Link, attachment: Attachment) -> None:
        """Add the link's inertia to the loads of the body that carries it."""
        where = f"link {link.name!r}"
        mass = numbers(link.mass, (), f"mass of {where}", InertiaError)
        com = numbers(link.com, (3,), f"com of {where}", InertiaError)
        tensor = numbers(link.inertia, (3, 3), f"inertia of {where}", InertiaError)
        if self.check_inertias and not any(is_symbolic(x) for x in (mass, com, tensor)):
            check_inertia(mass, com, tensor, name=where)
        moments = moments_of(attachment.frame, mass, com, tensor)
        self.loads.setdefault(attachment.body, []).append(moments)
        part = numbers(link.lifted, (), f"lifted of {where}")
        if is_symbolic(part) or part != 0.0:
            self.lifted.setdefault(attachment.body, []).append((part * mass, part * moments[1]))

    def elements(self, rotor: Vector) -> Elements:
        """Springs, drag and lifted weights of all links."""
        links = [link for link, _ in self.moving]
        lifted = {i: parts for i, parts in self.lifted.items() if i >= 0}
        return elements_of(links, self.joints, self.bodies, rotor, lifted)

    def fixed(self) -> Fixed:
        """What is fixed to the base, none of which moves."""
        lifts = [Lift(-1, *part) for part in self.lifted.get(-1, [])]
        return self.with_loads(-1, Fixed(elements=Elements(lifts=tuple(lifts))))

    def with_loads(self, i: int, body: B) -> B:
        """A body with the inertia of all fixed to it; moments about one point simply add."""
        if i not in self.loads:
            return body
        mass, moment, inertia = (sum(each) for each in zip(*self.loads[i], strict=True))
        return replace(body, mass=mass, moment=moment, inertia=inertia)

    def name_frames(
        self,
        extra: Mapping[str, tuple[str | None, NumberLike]],
        tool: NumberLike | None,
        tool_link: str,
    ) -> None:
        """Name the frames of all links, the extra ones, the base and the tool."""
        attachments = {BASE: self.attachments[None], **self.attachments}
        named: dict[str, Attachment] = {BASE: self.attachments[None]}
        named |= {
            str(key): attachment for key, attachment in self.attachments.items() if key is not None
        }
        frames: dict[str, tuple[str | None, NumberLike | None]] = {}
        for key, value in validation.mapping(extra, "frames").items():
            if not isinstance(value, tuple | list) or len(value) != 2:
                raise ModelError(f"frame {key!r} must be a pair (link, pose), not {short(value)}")
            link, pose = value
            if link is not None:
                validation.label(link, f"link of frame {key!r}")
            frames[key] = link, pose
        frames[TOOL] = tool_link, tool
        for key, (link, pose) in frames.items():
            if link not in attachments:
                raise ModelError(
                    f"frame {key!r} is attached to {link!r}, which is no link"
                    f"{suggest(str(link), [x for x in attachments if x is not None])}"
                )
            if key in named and key != TOOL:
                raise ModelError(f"frame {key!r} has the name of a link; choose another")
            named[key] = attachments[link].then(validation.placement(pose, f"frame {key!r}"))
        self.frames = {k: Frame(p.body, *p.frame) for k, p in named.items()}


def moments_of(frame: Placement, mass: Scalar, com: Vector3, tensor: Matrix3) -> Moments:
    """Moments about a body's origin of what is fixed to it: centre and central tensor in `frame`."""
    center = frame.p + frame.R @ com
    rotated = rotate_tensor(tensor, frame.R)
    return mass, mass * center, parallel_axis(rotated, mass, center)


def _quarter_turns(chart: Chart, offset: Vector) -> tuple[Matrix3, Vector]:
    """Offsets of whole quarter turns become part of the placement, where they cost nothing."""
    if chart is REVOLUTE and not is_symbolic(offset):
        rotation = snap(rotation_z(offset[0]))
        if np.isin(rotation, (-1.0, 0.0, 1.0)).all():
            return rotation, np.zeros(1)
    return np.eye(3), offset


def _info(link: Link, label: str, bodies: Sequence[Body], first: int) -> JointInfo:
    joint = link.joint
    q = slice(bodies[0].q.start, bodies[-1].q.stop)
    v = slice(bodies[0].v.start, bodies[-1].v.stop)
    nq = q.stop - q.start
    lower, upper = validation.limits(joint.limits, label)
    return JointInfo(
        name=label,
        kind=joint.kind,
        link=link.name,
        bodies=range(first, first + len(bodies)),
        q=q,
        v=v,
        lower=(lower,) * nq,
        upper=(upper,) * nq,
        velocity_limit=validation.limit(joint.velocity_limit, f"joint {label!r}: velocity_limit"),
        effort_limit=validation.limit(joint.effort_limit, f"joint {label!r}: effort_limit"),
    )


class Freedom(NamedTuple):
    """One chart of a joint: its unit axis in the joint frame, and what is added to its q."""

    axis: Vector3
    chart: Chart
    offset: Vector  # (nq,)


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
    pitch = number(joint.pitch, f"{where}: pitch")
    if joint.kind != "helical" and (is_symbolic(pitch) or pitch != 0.0):
        raise ModelError(f"{where}: pitch is for helical joints, this one is {joint.kind}")
    pieces = [(snap(a), chart) for a, chart in factors(joint.kind, axis, second, pitch)]
    offsets = _offsets(joint, pieces, f"{where}: offset")
    return [Freedom(a, chart, x) for (a, chart), x in zip(pieces, offsets, strict=True)]


def _unit(axis: Any, what: str) -> Vector3:
    vector = direction(axis, what)
    if is_symbolic(vector):
        return vector / np.sqrt(vector @ vector)
    return snap(vector / np.linalg.norm(vector))


def _offsets(joint: Joint, pieces: Factors, what: str) -> list[Vector]:
    """(nq,) for every piece, zeros by default; quaternions have no offset."""
    if is_scalar(joint.offset):
        offset = number(joint.offset, what)
        if not is_symbolic(offset) and offset == 0.0:
            return [np.zeros(chart.nq) for _, chart in pieces]
    if not pieces or any(chart.nq > 1 for _, chart in pieces):
        raise ModelError(f"{what}: a {joint.kind} joint has none; turn its origin instead")
    if len(pieces) == 1:
        return [number(joint.offset, what).reshape(1)]
    offsets = numbers(joint.offset, (len(pieces),), f"{what}, one for each coordinate,")
    return [offsets[k : k + 1] for k in range(len(pieces))]


# friction and rotor inertia, reflected to the joint side through the gear


def drive_of(moving: Sequence[tuple[Link, int]]) -> Drive:
    """Drive data of every velocity coordinate; a joint's numbers hold for each of its degrees."""
    columns: list[list[Scalar]] = [[], [], [], []]
    for link, degrees in moving:
        for column, value in zip(columns, _joint_drive(link.joint, link.name), strict=True):
            column.extend([value] * degrees)
    return Drive(*(np.stack(column) for column in columns))


def _joint_drive(joint: Joint, link: str) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """(viscous, coulomb at +velocity, coulomb at −velocity, rotor) at the joint.

    τ_friction = (B + G² B_m) q̇ + (T_c + |G| T_cm) sign(q̇), rotor G² J_m.
    """
    label = joint.name or link
    G = number(joint.gear_ratio, f"joint {label!r}: gear_ratio")
    positive, negative = _pair(joint.coulomb, f"joint {label!r}: coulomb")
    motor_positive, motor_negative = _pair(joint.coulomb_motor, f"joint {label!r}: coulomb_motor")
    ratio = np.abs(G)
    viscous = number(joint.viscous, f"joint {label!r}: viscous")
    viscous_motor = number(joint.viscous_motor, f"joint {label!r}: viscous_motor")
    rotor = number(joint.rotor_inertia, f"joint {label!r}: rotor_inertia")
    for what, value in (
        ("viscous", viscous),
        ("viscous_motor", viscous_motor),
        ("rotor_inertia", rotor),
    ):
        if not is_symbolic(value) and value < 0:
            raise ModelError(f"joint {label!r}: {what} is {value}; it cannot be negative")
    return (
        viscous + G * G * viscous_motor,
        positive + ratio * motor_positive,
        negative + ratio * motor_negative,
        G * G * rotor,
    )


def _pair(value: Any, what: str) -> tuple[Scalar, Scalar]:
    """Coulomb friction as (torque at positive velocity, torque at negative velocity)."""
    if is_scalar(value):
        positive = number(value, f"{what}, one number or (positive, negative),")
        negative = -positive
    else:
        positive, negative = numbers(value, (2,), f"{what}, one number or (positive, negative),")
    numeric = not is_symbolic(positive) and not is_symbolic(negative)
    if numeric and not positive >= 0 >= negative:
        raise ModelError(
            f"{what} ({positive}, {negative}) must oppose the motion: "
            "positive torque first, negative second"
        )
    return positive, negative


# springs, drag, ballast and lifted weights


def elements_of(
    links: Sequence[Link],
    joints: Sequence[JointInfo],
    bodies: Sequence[Body],
    rotor: Vector,
    lifted: Mapping[int, Sequence[tuple[Scalar, Vector3]]],
) -> Elements:
    """Elements of the joints, one for each of their bodies, and the lifted weight of each body."""
    springs: list[Spring] = []
    drags: list[Drag] = []
    ballasts: list[Ballast] = []
    for link, info in zip(links, joints, strict=True):
        joint, label = link.joint, f"joint {info.name!r}"
        own = [(i, bodies[i]) for i in info.bodies]
        stiffness = _series(joint.stiffness, f"{label}: stiffness")
        if len(stiffness):
            rest = _rest(joint, f"{label}: rest", [body for _, body in own])
            start = 0
            for i, body in own:
                springs.append(Spring(i, stiffness, rest[start : start + body.chart.nq]))
                start += body.chart.nq
        drag = _series(joint.drag, f"{label}: drag")
        drags += [Drag(i, drag) for i, _ in own if len(drag)]
        if joint.ballast:
            if joint.kind != "free":
                raise ModelError(f"{label}: ballast is for free joints, this one is {joint.kind}")
            masses = [(i, rotor[body.v][0]) for i, body in own]
            ballasts += [Ballast(i, mass) for i, mass in masses if is_symbolic(mass) or mass != 0.0]
    lifts = []
    for i, parts in sorted(lifted.items()):
        mass, moment = (sum(each) for each in zip(*parts, strict=True))
        lifts.append(Lift(i, mass, moment))
    return Elements(
        springs=tuple(springs), drags=tuple(drags), lifts=tuple(lifts), ballasts=tuple(ballasts)
    )


def _rest(joint: Joint, what: str, bodies: list[Body]) -> Vector:
    """Coordinates of the joint at rest (nq of the joint,)."""
    neutral = np.concatenate([body.chart.neutral() for body in bodies])
    if joint.rest is None:
        return neutral
    if neutral.shape == (1,) and is_scalar(joint.rest):
        return number(joint.rest, what).reshape(1)
    rest = numbers(joint.rest, neutral.shape, f"{what}, one for each coordinate,")
    turned = bodies[-1].chart.nq > 1
    if turned and not is_symbolic(rest) and abs(rest[-4:] @ rest[-4:] - 1.0) > 1e-6:
        raise ModelError(f"{what}: the quaternion {rest[-4:]} is not of unit length")
    return rest


def _series(value: Any, what: str) -> Vector:
    """Coefficients (degree,); one number is a list of one, zeros at the end are none."""
    if is_scalar(value):
        coefficients = number(value, what).reshape(1)
    else:
        coefficients = numbers(value, (len(value),), f"{what}, one number or one for each power,")
    return coefficients if is_symbolic(coefficients) else np.trim_zeros(coefficients, "b")
