"""From links, as importers describe them, to the one frozen model: checked, ordered, merged.

Every question of convention ends here. Fixed joints are merged exactly; joints of several degrees
become several bodies; each body frame gets its z axis along its joint's axis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.bridge import is_symbolic
from dalembert.errors import InertiaError, ModelError
from dalembert.model import check
from dalembert.model.check import numbers
from dalembert.model.drives import drive_of
from dalembert.model.elements import Elements
from dalembert.model.freedoms import Freedom, freedoms
from dalembert.model.joint import REVOLUTE, Chart, align
from dalembert.model.link import Link
from dalembert.model.model import Body, Frame, JointInfo, Model
from dalembert.model.parameter import Given, collect
from dalembert.model.passive import elements_of, is_none, share
from dalembert.model.tree import ordered
from dalembert.records import record
from dalembert.spatial.arrays import Matrix3, Pose, Scalar, Vector, Vector3
from dalembert.spatial.consistency import check_inertia
from dalembert.spatial.inertia import parallel_axis, rotate_tensor
from dalembert.spatial.placement import IDENTITY, Placement
from dalembert.spatial.rotations import rotation_z, snap
from dalembert.text import plain_name, short

BASE = "base"
TOOL = "tool"
STANDARD_GRAVITY = (0.0, 0.0, -9.81)

Moments = tuple[Scalar, Vector3, Matrix3]  # m, h = m c (3,) and I_o (3, 3)


@record
class _Place:
    """Where a link frame sits: fixed to a body."""

    body: int
    frame: Placement

    def then(self, pose: Pose) -> _Place:
        placed = self.frame.then(Placement(pose[0:3, 0:3], pose[0:3, 3]))
        return _Place(self.body, Placement(snap(placed.R), placed.p))


def build(
    links: Sequence[Link],
    *,
    name: str = "robot",
    base: Given | None = None,
    tool: Given | None = None,
    tool_link: str | None = None,
    frames: Mapping[str, tuple[str | None, Given]] | None = None,
    gravity: Given = STANDARD_GRAVITY,
    check_inertias: bool = True,
) -> Model:
    """A model from links in any order.

    `base` (4, 4) is the pose of the base in the world; `tool` (4, 4) the pose of the tool frame in
    the frame of `tool_link` (default: the last link); `frames` maps names to (link, pose), with None
    for the base. Inertias no body can have are errors, unless an importer has judged them already.
    """
    links = ordered(links)
    builder = _Builder(links, check_inertias)
    builder.places[None] = _Place(-1, IDENTITY).then(check.pose(base, "base"))
    for link in links:
        builder.add(link)
    if not builder.bodies:
        raise ModelError("every joint is fixed; a mechanism needs at least one that moves")
    ends = links[-1].name if tool_link is None else check.label(tool_link, "tool_link")
    builder.name_frames({} if frames is None else frames, tool, ends)
    drive = drive_of(builder.moving)
    model = Model(
        name=plain_name(name, "the robot"),
        bodies=tuple(builder.merged_bodies()),
        joints=tuple(builder.joints),
        frames=builder.frames,
        tool=TOOL,
        drive=drive,
        gravity=numbers(gravity, (3,), "gravity"),
        elements=builder.elements(drive.rotor),
    )
    return with_parameters(model)


class _Builder:
    """Grows the bodies link by link; the links must come parents first."""

    def __init__(self, links: Sequence[Link], check_inertias: bool) -> None:
        self.links = links
        self.check_inertias = check_inertias
        self.places: dict[str | None, _Place] = {}  # user's link frame
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
        place = self.places[link.parent].then(
            check.pose(joint.origin, f"origin of joint {label!r}")
        )
        pieces, first = freedoms(joint, label), len(self.bodies)
        for k, piece in enumerate(pieces, start=1):
            name = link.name if k == len(pieces) else f"{label}_{k}"
            place = self._grow(name, place, piece)
        moved = place.then(check.pose(link.frame, f"frame of link {link.name!r}"))
        self.places[link.name] = moved
        self._load(link, moved)
        if pieces:
            self.joints.append(_info(link, label, self.bodies[first:], first))
            self.moving.append((link, sum(piece.chart.nv for piece in pieces)))

    def _grow(self, name: str, place: _Place, piece: Freedom) -> _Place:
        """One more body at the end of `place`, moving by the chart about its axis."""
        chart = piece.chart
        turn = snap(align(piece.axis))
        quarter, offset = _quarter_turns(chart, piece.offset)
        nq = self.bodies[-1].q.stop if self.bodies else 0
        nv = self.bodies[-1].v.stop if self.bodies else 0
        self.bodies.append(
            Body(
                name=name,
                parent=place.body,
                rotation=snap(place.frame.R @ turn @ quarter),
                translation=place.frame.p,
                chart=chart,
                offset=offset,
                q=slice(nq, nq + chart.nq),
                v=slice(nv, nv + chart.nv),
                mass=0.0,
                moment=np.zeros(3),
                inertia=np.zeros((3, 3)),
            )
        )
        return _Place(len(self.bodies) - 1, Placement(turn.T, np.zeros(3)))

    def _load(self, link: Link, place: _Place) -> None:
        """Remember the link's inertia at the body that carries it (checked where it is numeric)."""
        where = f"link {link.name!r}"
        mass = numbers(link.mass, (), f"mass of {where}", InertiaError)
        com = numbers(link.com, (3,), f"com of {where}", InertiaError)
        tensor = numbers(link.inertia, (3, 3), f"inertia of {where}", InertiaError)
        if self.check_inertias and not any(is_symbolic(x) for x in (mass, com, tensor)):
            check_inertia(mass, com, tensor, name=where)
        moments = moments_of(place.frame, mass, com, tensor)
        self.loads.setdefault(place.body, []).append(moments)
        part = share(link)
        if place.body >= 0 and not is_none(part):
            self.lifted.setdefault(place.body, []).append((part * mass, part * moments[1]))

    def elements(self, rotor: Vector) -> Elements:
        """Springs, drag and lifted weights of all links."""
        links = [link for link, _ in self.moving]
        return elements_of(links, self.joints, self.bodies, rotor, self.lifted)

    def merged_bodies(self) -> list[Body]:
        """Bodies with the inertia of everything fixed to them."""
        merged = []
        for i, body in enumerate(self.bodies):
            if i in self.loads:
                # about one point and along the same axes, moments simply add
                mass, moment, inertia = (sum(each) for each in zip(*self.loads[i], strict=True))
                body = replace(body, mass=mass, moment=moment, inertia=inertia)
            merged.append(body)
        return merged

    def name_frames(
        self, extra: Mapping[str, tuple[str | None, Given]], tool: Given | None, tool_link: str
    ) -> None:
        """Every link's frame under its name, the extra ones, the base and the tool."""
        named: dict[str, _Place] = {BASE: self.places[None]}
        named |= {str(key): place for key, place in self.places.items() if key is not None}
        for key, (link, pose) in {**_attached(extra), TOOL: (tool_link, tool)}.items():
            if link is not None and link not in self.places:
                raise ModelError(f"frame {key!r} is attached to {link!r}, which is no link")
            if key in named and key != TOOL:
                raise ModelError(f"frame {key!r} has the name of a link; choose another")
            named[key] = self.places[link].then(check.pose(pose, f"frame {key!r}"))
        self.frames = {k: Frame(p.body, *p.frame) for k, p in named.items()}


def moments_of(frame: Placement, mass: Scalar, com: Vector3, tensor: Matrix3) -> Moments:
    """Moments about a body's origin of what is fixed to it: centre and central tensor in `frame`."""
    centre = frame.p + frame.R @ com
    turned = rotate_tensor(tensor, frame.R)
    return mass, mass * centre, parallel_axis(turned, mass, centre)


def _attached(frames: Any) -> dict[str, tuple[str | None, Any]]:
    """Frames as users give them: name → (link or None, pose)."""
    found = {}
    for key, value in check.mapping(frames, "frames").items():
        if not isinstance(value, tuple | list) or len(value) != 2:
            raise ModelError(f"frame {key!r} must be a pair (link, pose), not {short(value)}")
        link, pose = value
        found[key] = (link if link is None else check.label(link, f"link of frame {key!r}"), pose)
    return found


def _quarter_turns(chart: Chart, offset: Vector) -> tuple[Matrix3, Vector]:
    """Offsets of whole quarter turns become part of the placement, where they cost nothing."""
    if chart is REVOLUTE and not is_symbolic(offset):
        turned = snap(rotation_z(offset[0]))
        if np.isin(turned, (-1.0, 0.0, 1.0)).all():
            return turned, np.zeros(1)
    return np.eye(3), offset


def _info(link: Link, label: str, bodies: Sequence[Body], first: int) -> JointInfo:
    joint = link.joint
    q = slice(bodies[0].q.start, bodies[-1].q.stop)
    v = slice(bodies[0].v.start, bodies[-1].v.stop)
    nq = q.stop - q.start
    lower, upper = check.limits(joint.limits, label)
    return JointInfo(
        name=label,
        kind=joint.kind,
        link=link.name,
        bodies=range(first, first + len(bodies)),
        q=q,
        v=v,
        lower=(lower,) * nq,
        upper=(upper,) * nq,
        velocity_limit=check.limit(joint.velocity_limit, f"joint {label!r}: velocity_limit"),
        effort_limit=check.limit(joint.effort_limit, f"joint {label!r}: effort_limit"),
    )


def with_parameters(model: Model) -> Model:
    """The model with the parameters its numbers mention, in order of appearance.

    Symbols that mention none, such as zero times a parameter, become numbers again.
    """
    from dalembert.model.numbers import evaluate, flatten, unflatten

    flat = flatten(model)
    if not is_symbolic(flat):
        return replace(model, parameters={}) if model.parameters else model
    found = collect(flat)[0]
    made = replace(model, parameters=found)
    return made if found else unflatten(made, evaluate(made, np.zeros(0)))
