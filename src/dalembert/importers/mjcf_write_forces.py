"""Springs, drag, lifted weights and tendons of a model as MJCF.

Points of tendons become sites, and what they run over geoms that touch nothing. MuJoCo's springs
of free joints rest where the file puts the body, and it lifts a share of a whole body.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from dalembert.errors import ModelError
from dalembert.importers.mjcf_physics import ON_TWIST
from dalembert.importers.mjcf_write_actuators import tendon_range
from dalembert.importers.write import Placed, numbers, unique
from dalembert.model.model import Model
from dalembert.model.tendons import Anchor, Tendon, Wrap
from dalembert.spatial.quaternions import matrix_from_quaternion, quaternion_from_matrix
from dalembert.spatial.se3 import inverse, pose

Quote = Callable[[str], str]


class ForceLines:
    """What the elements of a model add to its joints, bodies and sections."""

    def __init__(self, model: Model, placed: Sequence[Placed], quoted: Quote) -> None:
        self.model, self.placed, self.quoted = model, placed, quoted
        self.taken = {*model.frames, *(item.name for item in placed)}
        self.parts: dict[int, list[str]] = defaultdict(list)  # sites and geoms by body
        self.tendons = [line for tendon in model.tendons for line in self._tendon(tendon)]

    def joint(self, i: int) -> str:
        """Attributes of the joint of body i: damping, stiffness, where the spring rests."""
        viscous = float(np.asarray(self.model.drive.viscous, float)[self.model.bodies[i].v.start])
        drag = [d.coefficients for d in self.model.elements.drags if d.body == i]
        damping = [viscous, *(float(x) for row in drag for x in row)]
        text = f' damping="{numbers(damping)}"' if any(damping) else ""
        for spring in self.model.elements.springs:
            if spring.body == i:
                text += f' stiffness="{numbers(spring.stiffness)}"{self._rest(i, spring.rest)}'
        return text

    def _rest(self, i: int, rest: np.ndarray) -> str:
        chart = self.model.bodies[i].chart
        if chart.nq == 1:
            return f' springref="{numbers(rest)}"' if rest[0] != 0.0 else ""
        if chart.nq == 4 and not np.array_equal(rest, chart.neutral()):
            raise ModelError(
                f"joint {self.placed[i].joint!r}: MuJoCo's spring of a ball joint rests at its "
                "neutral posture, this one elsewhere"
            )
        return ""

    def place(self, i: int, here: np.ndarray) -> np.ndarray:
        """Where the file puts body i: a free joint moves it anyway, and its spring rests there."""
        for spring in self.model.elements.springs:
            if spring.body == i and self.model.bodies[i].chart.nq == 7:
                return pose(matrix_from_quaternion(spring.rest[3:7]), spring.rest[0:3])
        return here

    def body(self, i: int) -> str:
        """Attribute of body i: the share of its weight that is lifted."""
        body = self.model.bodies[i]
        for lift in self.model.elements.lifts:
            if lift.body != i:
                continue
            share = float(lift.mass) / float(body.mass) if body.mass else np.nan
            scale = float(np.abs(body.moment).max()) + float(body.mass)
            if not np.abs(share * body.moment - lift.moment).max() <= 1e-12 * scale:
                raise ModelError(
                    f"link {self.placed[i].name!r}: MuJoCo lifts a share of the whole link, not "
                    "of parts that are merged with it"
                )
            return f' gravcomp="{numbers([share])}"'
        return ""

    def numerics(self) -> list[str]:
        """Names of free joints whose rotor is no ballast, as our reader knows them."""
        heavy = {ballast.body for ballast in self.model.elements.ballasts}
        rotor = np.asarray(self.model.drive.rotor, float)
        return [
            f'<numeric name={self.quoted(ON_TWIST + self.placed[i].joint)} data="1"/>'
            for i, body in enumerate(self.model.bodies)
            if body.chart.nq == 7 and rotor[body.v.start] and i not in heavy
        ]

    def _tendon(self, tendon: Tendon) -> list[str]:
        given = f'name={self.quoted(tendon.name)} springlength="{numbers(tendon.rest)}"'
        given += tendon_range(self.model, tendon.name)
        for word in ("stiffness", "damping"):
            if len(getattr(tendon, word)):
                given += f' {word}="{numbers(getattr(tendon, word))}"'
        word = tendon.kind
        if word == "fixed":
            pairs = zip(tendon.joints, tendon.coefficients, strict=True)
            names = ((self.quoted(self.placed[i].joint), numbers([c])) for i, c in pairs)
            path = [f'<joint joint={name} coef="{c}"/>' for name, c in names]
        else:
            path = self._path(tendon)
        return [f"<{word} {given}>", *(f"  {part}" for part in path), f"</{word}>"]

    def _path(self, tendon: Tendon) -> list[str]:
        """Site to site; a pulley where the share changes or the string does not go on."""
        lines: list[str] = []
        share, last = 1.0, None  # the point the string has come to
        for segment in tendon.segments:
            if last is None or not _same(segment.start, last):
                if segment.share != share or last is not None:
                    lines.append(f'<pulley divisor="{numbers([1.0 / segment.share])}"/>')
                lines.append(f"<site site={self._site(tendon, segment.start)}/>")
            if segment.around is not None:
                lines.append(f"<geom geom={self._geom(tendon, segment.around)}/>")
            lines.append(f"<site site={self._site(tendon, segment.end)}/>")
            share, last = segment.share, segment.end
        return lines

    def _local(self, body: int, here: np.ndarray) -> np.ndarray:
        """A pose in the body frame, seen from the frame that the file has of it."""
        return here if body < 0 else inverse(self.placed[body].frame) @ here

    def _site(self, tendon: Tendon, anchor: Anchor) -> str:
        name = self.quoted(unique(f"{tendon.name} point", self.taken))
        here = self._local(anchor.body, pose(p=np.asarray(anchor.point, float)))
        self.parts[anchor.body].append(f'<site name={name} pos="{numbers(here[:3, 3])}"/>')
        return name

    def _geom(self, tendon: Tendon, around: Wrap) -> str:
        name = self.quoted(unique(f"{tendon.name} {around.kind}", self.taken))
        here = self._local(around.body, pose(around.rotation, around.center))
        x, y, z, w = quaternion_from_matrix(here[:3, :3])
        where = f'pos="{numbers(here[:3, 3])}" quat="{numbers([w, x, y, z])}"'
        size = [around.radius] if around.kind == "sphere" else [around.radius, around.radius]
        self.parts[around.body].append(
            f'<geom name={name} type="{around.kind}" size="{numbers(size)}" {where} '
            'contype="0" conaffinity="0" mass="0"/>'
        )
        return name


def _same(one: Anchor, other: Anchor) -> bool:
    return one.body == other.body and bool(np.array_equal(one.point, other.point))
