"""From links, as importers describe them, to the one frozen model: checked, ordered, merged.

Every question of convention ends here. Fixed joints are merged exactly; joints of several degrees
become several bodies; each body frame gets its z axis along its joint's axis.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from dalembert.errors import InertiaError, ModelError
from dalembert.model import check
from dalembert.model.body import Body, Fixed
from dalembert.model.check import numbers
from dalembert.model.elements import Elements, Lift
from dalembert.model.joint import REVOLUTE, Chart, align
from dalembert.model.joint_data import Freedom, drive_of, elements_of, freedoms, is_none, share
from dalembert.model.link import Link, ordered
from dalembert.model.model import Frame, JointInfo, Model, with_parameters
from dalembert.model.notes import Notes
from dalembert.model.parameter import Given
from dalembert.model.tool import Mount, Tool
from dalembert.spatial.arrays import Matrix3, Scalar, Vector, Vector3
from dalembert.spatial.consistency import check_inertia
from dalembert.spatial.inertia import parallel_axis, rotate_tensor
from dalembert.spatial.placement import IDENTITY, Placement
from dalembert.spatial.rotations import rotation_z, snap
from dalembert.text import plain_name, short, suggest
from dalembert.tracing import is_symbolic

BASE = "base"
TOOL = "tool"
STANDARD_GRAVITY = (0.0, 0.0, -9.81)

B = TypeVar("B", Body, Fixed)
Moments = tuple[Scalar, Vector3, Matrix3]  # m, h = m c (3,) and I_o (3, 3)


class Place(NamedTuple):
    """A frame that is fixed to a body (−1: the base): a link's, or that of an old body in a new one."""

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
        """What is fixed to the frame at `inner`."""
        if self.frame is IDENTITY:
            return Place(self.body, inner)
        placed = self.frame.then(inner)
        return Place(self.body, Placement(snap(placed.R), placed.p))


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
    or "base" for the base. Inertias no body can have are errors, unless an importer has judged them
    already.
    """
    links = ordered(links)
    builder = _Builder(links, check_inertias)
    builder.places[None] = Place(-1, Placement(np.eye(3), np.zeros(3))).then(
        check.placement(base, "base")
    )
    for link in links:
        builder.add(link)
    if not builder.bodies:
        raise ModelError("every joint is fixed; a mechanism needs at least one that moves")
    chosen = Tool(links[-1].name, "the last link")  # whoever lists links says by that which it is
    if tool_link is not None:
        chosen = Tool(check.label(tool_link, "tool_link"), "given")
    builder.name_frames({} if frames is None else frames, tool, chosen.name)
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
        notes=Notes(tool=chosen.why if tool is None else "given", warnings=chosen.warnings),
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
        self.places: dict[str | None, Place] = {}  # user's link frame
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
            check.placement(joint.origin, f"origin of joint {label!r}")
        )
        pieces, first = freedoms(joint, label), len(self.bodies)
        for k, piece in enumerate(pieces, start=1):
            name = link.name if k == len(pieces) else f"{label}_{k}"
            place = self._grow(name, place, piece)
        moved = place.then(check.placement(link.frame, f"frame of link {link.name!r}"))
        self.places[link.name] = moved
        self._load(link, moved)
        if pieces:
            self.joints.append(_info(link, label, self.bodies[first:], first))
            self.moving.append((link, sum(piece.chart.nv for piece in pieces)))

    def _grow(self, name: str, place: Place, piece: Freedom) -> Place:
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
        return Place(len(self.bodies) - 1, Placement(turn.T, np.zeros(3)))

    def _load(self, link: Link, place: Place) -> None:
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
        if not is_none(part):
            self.lifted.setdefault(place.body, []).append((part * mass, part * moments[1]))

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
        self, extra: Mapping[str, tuple[str | None, Given]], tool: Given | None, tool_link: str
    ) -> None:
        """Every link's frame under its name, the extra ones, the base and the tool."""
        places = {BASE: self.places[None], **self.places}
        named: dict[str, Place] = {BASE: self.places[None]}
        named |= {str(key): place for key, place in self.places.items() if key is not None}
        for key, (link, pose) in {**_attached(extra), TOOL: (tool_link, tool)}.items():
            if link not in places:
                raise ModelError(
                    f"frame {key!r} is attached to {link!r}, which is no link"
                    f"{suggest(str(link), [x for x in places if x is not None])}"
                )
            if key in named and key != TOOL:
                raise ModelError(f"frame {key!r} has the name of a link; choose another")
            named[key] = places[link].then(check.placement(pose, f"frame {key!r}"))
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
