"""Springs, drag, lifted weights and tendons of a model as MJCF.

Points of tendons become sites, and what they run over geoms that touch nothing. MuJoCo's springs
of free joints rest where the file puts the body, and it lifts a share of a whole body.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from dalembert.errors import ModelError
from dalembert.importers.mjcf_forces import COULOMB, ON_TWIST, POINT
from dalembert.importers.write import Placed, friction_of, in_link, inertia_of, pose_words, unique
from dalembert.importers.write import mjcf_attributes as attributes
from dalembert.model.actuators import Actuator, Range
from dalembert.model.elements import Anchor, Submerged, Tendon, Wrap
from dalembert.model.model import Model
from dalembert.spatial.quaternions import matrix_from_quaternion
from dalembert.spatial.se3 import pose

# Actuators as MJCF: each a <general>, which says everything the shorthands do.


FAR = 1e30  # for MuJoCo a range has two ends
_TARGETS = {
    "joint": ("joint", ""),
    "joint_in_parent": ("jointinparent", ""),
    "tendon": ("tendon", ""),
    "site": ("site", "refsite"),
    "crank": ("cranksite", "slidersite"),
}


def options(model: Model) -> str:
    """Attributes of <option>: density, viscosity and wind, and the step of early activations."""
    leads = {a.lead for a in model.driven_by.actuators if a.lead}
    if len(leads) > 1:
        raise ModelError(
            f"{model.name}: MuJoCo has one lead for all actuators, not {sorted(leads)}"
        )
    timestep = attributes(timestep=list(leads))
    shapes = model.elements.submerged
    values = {(float(s.density), float(s.viscosity), *map(float, s.wind)) for s in shapes}
    if len(values) > 1:
        raise ModelError(f"{model.name}: MuJoCo has one fluid for all bodies")
    if not values:
        return timestep
    density, viscosity, *wind = values.pop()
    return timestep + attributes(density=density, viscosity=viscosity, wind=wind)


def actuator_line(a: Actuator) -> str:
    """The <general> of an actuator."""
    target, reference = _TARGETS[a.transmission]
    what, is_crank = f"actuator {a.name!r}", a.transmission == "crank"
    ends = {target: a.target} | ({reference: a.reference} if reference else {})
    text = attributes(
        name=a.name,
        **ends,
        cranklength=a.rod if is_crank else None,
        gear=a.gear,
        gaintype="affine" if np.any(a.gain[1:]) else "fixed",
        gainprm=a.gain,
    )
    if np.any(a.bias):
        text += attributes(biastype="affine", biasprm=a.bias)
    if a.active:
        early = "true" if a.lead else None
        text += attributes(dyntype=a.dynamics, dynprm=a.time_constant, actearly=early)
    ranges = {"ctrl": a.control_range, "force": a.force_range, "act": a.activation_range}
    return f"<general{text}{''.join(_range(key, x, what) for key, x in ranges.items())}/>"


def _range(key: str, pair: Range, what: str) -> str:
    if not np.isfinite(pair).any():
        return ""
    low, high = np.clip(pair, -FAR, FAR)
    if not low < high:
        raise ModelError(f"{what}: MuJoCo takes no range from {low:g} to {high:g}")
    return attributes(**{f"{key}limited": "true", f"{key}range": (low, high)})


# A fluid around a model as MJCF: one for all bodies, boxes by their inertia or ellipsoids.


TOLERANCE = 1e-9  # of sizes: a box is computed from moments of inertia
_LOOSE = 'contype="0" conaffinity="0" mass="0"'
# MuJoCo gives a link without mass a least one, and the fluid would act on a box of that mass
_POINT = (
    f'<geom type="sphere" size="{POINT}" fluidshape="ellipsoid" fluidcoef="0 0 0 0 0" {_LOOSE}/>'
)


def fluid_geoms(model: Model, placed: Sequence[Placed]) -> dict[int, list[str]]:
    """Geoms of the ellipsoids by body; a box must be the one that the body's inertia has."""
    geoms: dict[int, list[str]] = {}
    for i, body in enumerate(model.bodies) if model.elements.submerged else ():
        shapes = [shape for shape in model.elements.submerged if shape.body == i]
        boxes = [shape for shape in shapes if not len(shape.coefficients)]
        whole = not float(body.mass) or (len(boxes) == 1 and _is_box(model, i, boxes[0]))
        if (boxes or not shapes) and not (whole and len(shapes) <= 1):
            raise ModelError(
                f"link {placed[i].name!r}: MuJoCo's fluid acts on a whole link by its inertia, not "
                "on parts that are merged"
            )
        geoms[i] = [] if shapes else [_POINT]
        for shape in shapes:
            if len(shape.coefficients):
                pose_in_body = in_link(placed, i, pose(shape.rotation, shape.center))
                geometry = attributes(size=shape.size) + pose_words(pose_in_body)
                drag = attributes(fluidshape="ellipsoid", fluidcoef=shape.coefficients[:5])
                geoms[i].append(f'<geom type="ellipsoid"{geometry}{drag} {_LOOSE}/>')
    return geoms


def _is_box(model: Model, i: int, box: Submerged) -> bool:
    """Whether a box of the body's mass, where it is, has the body's inertia."""
    mass, com, tensor = inertia_of(model.bodies[i], np.eye(4))
    squares = np.asarray(box.size, float) ** 2
    moments = mass / 12.0 * (squares.sum() - squares)
    turned = box.rotation @ np.diag(moments) @ box.rotation.T
    near = np.abs(turned - tensor).max() <= TOLERANCE * np.abs(tensor).max()
    return bool(near and np.abs(com - box.center).max() <= TOLERANCE * (1.0 + np.abs(com).max()))


class ForceLines:
    """Lines and attributes of a model's elements: springs, lifted weights, tendons."""

    def __init__(self, model: Model, placed: Sequence[Placed]) -> None:
        self.model, self.placed = model, placed
        self.taken = {*model.frames, *(item.name for item in placed)}
        self.parts: dict[int, list[str]] = defaultdict(list)  # sites and geoms by body
        self.tendons = [line for tendon in model.tendons for line in self._tendon(tendon)]

    def joint(self, i: int) -> str:
        """Attributes of the joint of body i: limits of the drives, damping, and the spring.

        The limits of what all actuators exert on it; without actuators, whose own limits say it, the
        joint's effort limit.
        """
        name, effort = self.placed[i].joint, self.placed[i].info.effort_limit
        driven_by, chart = self.model.driven_by, self.model.bodies[i].chart
        limits = driven_by.joint_ranges.get(name)
        if limits is None and not driven_by.actuators and 0.0 < effort < np.inf:
            limits = (-effort, effort)
        text = ""
        if limits is not None and chart.nq == 1:
            text = _range("actuatorfrc", limits, f"joint {name!r}")
        viscous = float(np.asarray(self.model.drive.viscous, float)[self.model.bodies[i].v.start])
        drag = [d.coefficients for d in self.model.elements.drags if d.body == i]
        damping = [viscous, *(float(x) for row in drag for x in row)]
        text += attributes(damping=damping if any(damping) else None)
        for spring in self.model.elements.springs:
            if spring.body == i:
                rest, is_single = spring.rest, chart.nq == 1
                springref = rest if is_single and rest[0] != 0.0 else None
                text += attributes(stiffness=spring.stiffness, springref=springref)
                if chart.nq == 4 and not np.array_equal(rest, chart.neutral()):
                    raise ModelError(
                        f"joint {name!r}: MuJoCo's spring of a ball joint rests at "
                        "its neutral posture, this one elsewhere"
                    )
        return text

    def body_pose(self, i: int, pose_in_body: np.ndarray) -> np.ndarray:
        """Pose of body i in the file: the rest of the spring of a free joint, else `pose_in_body`."""
        for spring in self.model.elements.springs:
            if spring.body == i and self.model.bodies[i].chart.nq == 7:
                return pose(matrix_from_quaternion(spring.rest[3:7]), spring.rest[0:3])
        return pose_in_body

    def body(self, i: int) -> str:
        """Attribute of body i: the share of its weight that is lifted."""
        body = self.model.bodies[i]
        lifts = [lift for lift in self.model.elements.lifts if lift.body == i]
        if not lifts:
            return ""
        mass, moment = sum(float(lift.mass) for lift in lifts), sum(lift.moment for lift in lifts)
        share = mass / float(body.mass) if body.mass else np.nan
        scale = float(np.abs(body.moment).max()) + float(body.mass)
        if not np.abs(share * body.moment - moment).max() <= 1e-12 * scale:
            raise ModelError(
                f"link {self.placed[i].name!r}: MuJoCo lifts a share of the whole link, not "
                "of parts that are merged with it"
            )
        return attributes(gravcomp=share)

    def numerics(self) -> list[str]:
        """Numbers that only our reader knows.

        Coulomb friction where the two directions differ in size, and the names of free joints whose
        rotor is no ballast.
        """
        friction = []
        for body, item in zip(self.model.bodies, self.placed, strict=True):
            pair = friction_of(self.model, body.v.start)
            if pair[0] != -pair[1]:
                friction.append(f"<numeric{attributes(name=COULOMB + item.joint, data=pair)}/>")
        ballasted = {ballast.body for ballast in self.model.elements.ballasts}
        rotor = np.asarray(self.model.drive.rotor, float)
        return friction + [
            f'<numeric{attributes(name=ON_TWIST + self.placed[i].joint)} data="1"/>'
            for i, body in enumerate(self.model.bodies)
            if body.chart.nq == 7 and rotor[body.v.start] and i not in ballasted
        ]

    def _tendon(self, tendon: Tendon) -> list[str]:
        text = attributes(name=tendon.name, springlength=tendon.rest)
        limits = self.model.driven_by.tendon_ranges.get(tendon.name)
        if limits is not None:
            text += _range("actuatorfrc", limits, f"tendon {tendon.name!r}")
        words = ("stiffness", "damping", "armature")
        text += attributes(**{word: getattr(tendon, word) for word in words})
        if tendon.segments:
            path = self._path(tendon)
        else:
            pairs = zip(tendon.joints, tendon.coefficients, strict=True)
            names = [(self.placed[i].joint, c) for i, c in pairs]
            path = [f"<joint{attributes(joint=name, coef=c)}/>" for name, c in names]
        return [f"<{tendon.kind}{text}>", *(f"  {part}" for part in path), f"</{tendon.kind}>"]

    def _path(self, tendon: Tendon) -> list[str]:
        """Site to site; a pulley where the share changes or the string does not go on."""
        lines: list[str] = []
        share, last = 1.0, None  # the point the string has come to
        for segment in tendon.segments:
            start = segment.start
            is_continued = (
                last is not None
                and segment.share == share
                and start.body == last.body
                and np.array_equal(start.point, last.point)
            )
            if not is_continued:
                if segment.share != share or last is not None:
                    lines.append(f"<pulley{attributes(divisor=1.0 / segment.share)}/>")
                lines.append(f"<site{attributes(site=self._site(tendon, segment.start))}/>")
            if segment.around is not None:
                around, side = segment.around, segment.around.beside
                if len(around.side):
                    side = Anchor(around.body, around.center + around.rotation @ around.side)
                beside = None if side is None else self._site(tendon, side)
                geom = self._geom(tendon, around)
                lines.append(f"<geom{attributes(geom=geom, sidesite=beside)}/>")
            lines.append(f"<site{attributes(site=self._site(tendon, segment.end))}/>")
            share, last = segment.share, segment.end
        return lines

    def _site(self, tendon: Tendon, anchor: Anchor) -> str:
        name = unique(f"{tendon.name} point", self.taken)
        at = in_link(self.placed, anchor.body, pose(p=anchor.point))[:3, 3]
        self.parts[anchor.body].append(f"<site{attributes(name=name, pos=at)}/>")
        return name

    def _geom(self, tendon: Tendon, around: Wrap) -> str:
        name = unique(f"{tendon.name} {around.kind}", self.taken)
        pose_in_body = in_link(self.placed, around.body, pose(around.rotation, around.center))
        size = [around.radius] * (1 if around.kind == "sphere" else 2)
        text = attributes(name=name, type=around.kind, size=size) + pose_words(pose_in_body)
        self.parts[around.body].append(f"<geom{text} {_LOOSE}/>")
        return name
