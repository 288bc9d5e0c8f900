"""Writing MJCF: one body per moving body in its link frame, further frames as sites.

MuJoCo refuses moving bodies without mass or inertia; where ours have none it is asked to put 1e-14
there. Followers become equalities. Friction that depends on the direction is its mean for MuJoCo,
and exact in a <numeric> that our reader knows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from dalembert.errors import ModelError
from dalembert.importers.mjcf_loops import shifted
from dalembert.importers.mjcf_write_forces import ForceLines, actuator_line, fluid_geoms, options
from dalembert.importers.write import (
    Placed,
    body_of,
    comments,
    in_link,
    inertia_of,
    numbers,
    origin_of,
    other_frames,
    place_bodies,
    pose_words,
    quoted,
    screw_kind,
    site_line,
    unique,
)
from dalembert.importers.write import mjcf_attributes as attributes
from dalembert.model.body import Massive
from dalembert.model.joint import JOINT_KINDS, Ball, Free
from dalembert.model.model import Body, Model
from dalembert.model.notes import Equality
from dalembert.spatial.se3 import pose
from dalembert.text import xml_comment

EPSILON = np.finfo(float).eps
LEAST = 2e-15  # kg, kg m²: MuJoCo takes no less than 1e-15; real inertias above it stay as they are


def mjcf_from_model(
    model: Model, equalities: Sequence[Equality] = (), posture: np.ndarray | None = None
) -> str:
    """The text; joints that MuJoCo does not have (helical) are errors that name them.

    `equalities` close chains; `posture` (nq,) then goes with it as the keyframe "assembled".
    """
    model = model.bind(model.parameter_values())  # parameters at their defaults
    placed = place_bodies(model, on_axis=False, reserved=frozenset({"world"}))
    sites: dict[int, list[str]] = defaultdict(list)
    known: set[str] = set()
    for name, at, here in other_frames(model, placed):
        sites[at].append(site_line(name, here))
        known.add(name)
    for a in model.driven_by.actuators:  # frames that they pull at and that are no sites yet
        for end in (a.target, a.reference) if a.transmission in ("site", "crank") else ():
            if end is not None and end not in known:
                frame = model.frame(end)
                here = in_link(placed, frame.body, pose(*frame.placement))
                sites[frame.body].append(site_line(end, here))
                known.add(end)
    loops = LoopLines(model, placed, equalities)
    forces = ForceLines(model, placed)
    for parts_by_body in (loops.sites, forces.parts, fluid_geoms(model, placed)):
        for at, parts in parts_by_body.items():
            sites[at] += parts
    is_degenerate = any(
        float(b.mass) < LEAST
        or np.linalg.eigvalsh(np.asarray(b.inertia_about_center, float))[0] < LEAST
        for b in model.bodies
    )
    bound = f'boundmass="{LEAST}" boundinertia="{LEAST}" ' if is_degenerate else ""
    lines = [
        f"<mujoco model={quoted(model.name)}>",
        *(f"  {line}" for line in comments(model)),
        f'  <compiler angle="radian" inertiafromgeom="false" {bound}/>',
        f'  <option gravity="{numbers(model.gravity)}"{options(model)}/>',
        "  <worldbody>",
        *(f"    {site}" for site in sites[-1]),
        *_fixed(model, {item.name for item in placed}),
    ]
    for i in model.children(-1):
        lines += _bodies(model, placed, sites, forces, i)
    lifts = [float(lift.mass) for lift in model.elements.lifts]
    if lifts and max(lifts) <= 0.0:  # MuJoCo lifts nothing unless some share is positive
        lines.append('    <body gravcomp="1"/>')
    followers = []
    for name, follow in model.followers.items():
        polynomial = [follow.offset, follow.multiplier, 0, 0, 0]
        joints = attributes(joint1=name, joint2=follow.leader, polycoef=polynomial)
        followers.append(f"<joint{joints}/>")
    ends = _section("tendon", [*forces.tendons, *loops.tendons])
    ends += _section("equality", [*followers, *loops.equalities])
    if posture is not None:
        ends += _section("keyframe", [_key(model, posture, "assembled")])
    ends += _section("actuator", [actuator_line(a) for a in model.driven_by.actuators])
    ends += _section("custom", forces.numerics())
    return "\n".join([*lines, "  </worldbody>", *ends, "</mujoco>", ""])


def _bodies(
    model: Model, placed: list[Placed], sites: dict[int, list[str]], forces: ForceLines, root: int
) -> list[str]:
    """A body and all it carries; by a stack, since chains may be long."""
    lines: list[str] = []
    stack: list[tuple[int, bool]] = [(root, False)]
    while stack:
        i, done = stack.pop()
        pad = "  " * (len(model.supports[i]) + 1)
        if done:
            lines.append(f"{pad}</body>")
            continue
        origin = origin_of(model, placed, i)
        pose_text = pose_words(forces.body_pose(i, origin))
        name = attributes(name=placed[i].name)
        lines.append(f"{pad}<body{name}{pose_text}{forces.body(i)}>")
        body, item = model.bodies[i], placed[i]
        boxes = [s for s in model.elements.submerged if s.body == i and not len(s.coefficients)]
        axes = item.frame[:3, :3].T @ np.asarray(boxes[0].rotation, float) if boxes else None
        inertial = _inertial(body, item.name, item.frame, axes)
        joint = _joint(model, body, item, origin, forces.joint(i))
        lines += [f"{pad}  {part}" for part in (inertial, joint, *sites[i])]
        stack.append((i, True))
        stack += [(child, False) for child in reversed(model.children(i))]
    return lines


def _inertial(body: Massive, name: str, frame: np.ndarray, axes: np.ndarray | None = None) -> str:
    """The inertia by principal moments; MuJoCo insists on I₁ + I₂ ≥ I₃ to the last bit.

    `axes` (3, 3) are principal axes to be taken, where moments are equal and do not tell.
    """
    mass, com, tensor = inertia_of(body, frame)
    if axes is not None:
        moments = np.diag(axes.T @ tensor @ axes).copy()
    elif np.array_equal(tensor, np.diag(np.diag(tensor))):
        moments, axes = np.diag(tensor).copy(), np.eye(3)
    else:
        moments, axes = np.linalg.eigh(tensor)
        axes = axes * np.sign(np.linalg.det(axes))
    # what is left of I_o − m (cᵀc 1 − c cᵀ) is known to the rounding of I_o only
    noise = 64 * EPSILON * float(np.abs(body.inertia).max())
    moments = np.where(np.abs(moments) <= noise, 0.0, moments)
    largest = int(np.argmax(moments))
    others = float(np.delete(moments, largest).sum())
    if moments.min() < 0.0 or moments[largest] > others * (1.0 + 1e-12) + 2 * noise:
        raise ModelError(f"link {name!r}: MuJoCo takes no inertia that a body cannot have")
    moments[largest] = min(moments[largest], others)
    placed = pose_words(pose(axes, com))
    return f"<inertial{attributes(mass=mass)}{placed}{attributes(diaginertia=moments)}/>"


def _fixed(model: Model, used: set[str]) -> list[str]:
    """A body for the inertia fixed to the base, for files that attach this model elsewhere."""
    if not model.fixed.mass:
        return []
    name = unique("fixed_to_base", {*used, *model.frames})
    try:
        inertial = _inertial(model.fixed, name, np.eye(4))
    except ModelError:
        return [
            f"    {xml_comment('what is fixed to the base has no inertia that a body can have')}"
        ]
    return [f"    <body name={quoted(name)}>{inertial}</body>"]


def _joint(model: Model, body: Body, item: Placed, origin: np.ndarray, forces: str) -> str:
    drive, v, name = model.drive, body.v.start, attributes(name=item.joint)
    loss = 0.5 * (float(drive.coulomb_positive[v]) - float(drive.coulomb_negative[v]))
    driven = {"armature": float(drive.rotor[v]), "frictionloss": loss}
    forces += attributes(**{word: value for word, value in driven.items() if value != 0.0})
    if isinstance(body.chart, Free):
        if body.parent >= 0 or not np.allclose(origin, np.eye(4), atol=1e-15, rtol=0.0):
            raise ModelError(
                f"joint {item.joint!r}: MuJoCo's free joints start at the world's origin"
            )
        return f'<joint{name} type="free"{forces}/>'
    if isinstance(body.chart, Ball):
        return f'<joint{name} type="ball"{forces}/>'
    known = screw_kind(body)
    kind = None if known is None else JOINT_KINDS[known].mjcf
    if kind is None:
        raise ModelError(f"joint {item.joint!r}: MuJoCo has no {item.info.kind} joint")
    at = -item.frame[:3, :3].T @ item.frame[:3, 3]
    lower, upper = item.info.lower[item.number], item.info.upper[item.number]
    limits = (lower, upper) if np.isfinite([lower, upper]).all() and lower < upper else None
    geometry = attributes(type=kind, pos=at, axis=item.frame[2, :3], range=limits)
    return f"<joint{name}{geometry}{forces}/>"


def _section(name: str, lines: list[str]) -> list[str]:
    return [f"  <{name}>", *(f"    {line}" for line in lines), f"  </{name}>"] if lines else []


AXIS = 0.1  # m, between the two points of a hinge
DEGREE = 5  # coefficients of MuJoCo's polynomials


class LoopLines:
    """Sites and lines for the equalities of a model; `taken` are names of its frames."""

    def __init__(
        self, model: Model, placed: Sequence[Placed], equalities: Sequence[Equality]
    ) -> None:
        self.model, self.placed = model, placed
        self.taken = {*model.frames, *(item.name for item in placed)}
        self.tendon_names = {tendon.name for tendon in model.tendons}
        self.names = {equality.name for equality in equalities}
        self.sites: dict[int, list[str]] = defaultdict(list)  # lines by body
        self.tendons: list[str] = []
        self.equalities = [line for equality in equalities for line in self._lines(equality)]

    def _lines(self, equality: Equality) -> list[str]:
        if equality.factors:
            return [self._linear_coupling(equality)]
        if equality.kind in ("joint", "tendon"):
            return [self._coupling(equality)]
        if equality.kind == "distance":
            return [self._distance(equality)]
        words = {"point": "connect", "weld": "weld", "revolute": "connect"}
        if equality.directions not in words:
            raise ModelError(
                f"loop {equality.name!r}: MuJoCo holds points, hinges and frames, not "
                f"{equality.directions!r}; try to_urdf"
            )
        pairs: list[tuple[str, np.ndarray | None]] = [(equality.name, None)]
        if equality.directions == "revolute":  # a second point on the axis
            axis_name = unique(f"{equality.name}_axis", self.names)
            pairs.append((axis_name, pose(p=[0.0, 0.0, AXIS])))
        lines = []
        for name, far in pairs:
            first, second = self._ends(equality, name, far)
            sites = attributes(name=name, site1=first, site2=second)
            lines.append(f"<{words[str(equality.directions)]}{sites}/>")
        return lines

    def _ends(self, equality: Equality, name: str, far: np.ndarray | None = None) -> list[str]:
        """Two sites at the frames that are held, moved by `far` in them."""
        names = []
        pairs = ((equality.first, equality.pose_first), (equality.second, equality.pose_second))
        for end, (link, offset) in zip(("first", "second"), pairs, strict=True):
            site = unique(f"{name}_{end}", self.taken)
            body, here = -1, np.eye(4)
            if link is not None:
                frame = self.model.frame(link)
                body, here = frame.body, pose(*frame.placement)
            here = here if offset is None else here @ np.array(offset)
            here = in_link(self.placed, body, here)
            self.sites[body].append(site_line(site, here if far is None else here @ far))
            names.append(site)
        return names

    def _distance(self, equality: Equality) -> str:
        """A tendon between two sites; MuJoCo counts from its length where all joints are at zero."""
        name = unique(equality.name, self.tendon_names)
        ends = [f"<site{attributes(site=end)}/>" for end in self._ends(equality, name)]
        assert equality.length is not None
        return self._length_equality(
            equality, "spatial", name, ends, equality.length - equality.data[0]
        )

    def _length_equality(
        self, equality: Equality, kind: str, name: str, path: list[str], length: float
    ) -> str:
        """The equality that holds a new tendon at a length."""
        self.tendons.append(f"<{kind}{attributes(name=name)}>{''.join(path)}</{kind}>")
        polynomial = [length, 0, 0, 0, 0]
        return f"<tendon{attributes(name=equality.name, tendon1=name, polycoef=polynomial)}/>"

    def _linear_coupling(self, equality: Equality) -> str:
        """first − c₁ second − Σ factor · joint = c₀: a tendon over joints of length c₀."""
        if len(equality.polynomial) > 2:
            raise ModelError(
                f"constraint {equality.name!r}: MuJoCo has no polynomial of one joint beside terms of "
                "others; try to_urdf"
            )
        c0, *linear = equality.polynomial
        factors = [(equality.first, 1.0)]
        factors += [(equality.second, -c) for c in linear if equality.second]
        factors += [(joint, -factor) for joint, factor in equality.factors]
        name = unique(equality.name, self.taken)
        path = [
            f"<joint{attributes(joint=self._joint(joint or ''), coef=factor)}/>"
            for joint, factor in factors
        ]
        return self._length_equality(equality, "fixed", name, path, c0)

    def _coupling(self, equality: Equality) -> str:
        """A polynomial; of tendons MuJoCo counts from their lengths where all joints are at zero."""
        if len(equality.polynomial) > DEGREE:
            raise ModelError(
                f"constraint {equality.name!r}: MuJoCo's polynomials have {DEGREE} coefficients"
            )
        terms, ends = list(equality.polynomial), [x for x in (equality.first, equality.second) if x]
        if equality.kind == "tendon":
            first, second = equality.data
            terms = shifted(terms, -second)
            terms[0] -= first
        else:
            ends = [self._joint(x) for x in ends]
        terms += [0.0] * (DEGREE - len(terms))
        named = {f"{equality.kind}{k}": end for k, end in enumerate(ends, start=1)}
        return f"<{equality.kind}{attributes(name=equality.name, **named, polycoef=terms)}/>"

    def _joint(self, coordinate: str) -> str:
        """The name that the joint of a coordinate has in the file."""
        return self.placed[body_of(self.model, coordinate, "MuJoCo")].joint


def _key(model: Model, q: np.ndarray, name: str) -> str:
    """The posture q (nq,) of a keyframe, bodies depth first as they are written."""
    tree, q_tree = model.tree, np.asarray(model.expand(q), dtype=float)
    values: list[float] = []
    stack = list(reversed(model.children(-1)))
    while stack:
        i = stack.pop()
        stack += reversed(model.children(i))
        own = q_tree[tree.bodies[i].q]
        has_quaternion = len(own) >= 4  # (x, y, z, w) here, (w, x, y, z) in MuJoCo
        values += [*own[:-4], own[-1], *own[-4:-1]] if has_quaternion else [*own]
    return f"<key{attributes(name=name, qpos=values)}/>"
