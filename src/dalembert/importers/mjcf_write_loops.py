"""Loops and couplings as MJCF equalities, between sites: so they hold whatever qpos0 is.

MuJoCo holds points, frames, joints and tendons. A hinge that closes a loop is two points on its
axis; a rod is a tendon from point to point of one length.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from dalembert.errors import ModelError
from dalembert.importers.mjcf_loops import shifted
from dalembert.importers.write import Placed, body_of, numbers, quoted, site_line, unique
from dalembert.model.model import Model
from dalembert.model.notes import Equality
from dalembert.spatial.se3 import inverse, pose

AXIS = 0.1  # m, between the two points of a hinge
DEGREE = 5  # coefficients of MuJoCo's polynomials


class LoopLines:
    """Sites and lines for the equalities of a model; `taken` are names of its frames."""

    def __init__(
        self, model: Model, placed: Sequence[Placed], equalities: Sequence[Equality]
    ) -> None:
        self.model, self.placed = model, placed
        self.taken = {*model.frames, *(item.name for item in placed)}
        self.strings = {tendon.name for tendon in model.tendons}
        self.names = {given.name for given in equalities}
        self.sites: dict[int, list[str]] = defaultdict(list)  # lines by body
        self.tendons: list[str] = []
        self.equalities = [line for given in equalities for line in self._lines(given)]

    def _lines(self, given: Equality) -> list[str]:
        if given.factors:
            return [self._geared(given)]
        if given.kind in ("joint", "tendon"):
            return [self._coupling(given)]
        if given.kind == "distance":
            return [self._rod(given)]
        words = {"point": "connect", "weld": "weld"}
        if given.directions == "revolute":
            far = pose(p=[0.0, 0.0, AXIS])
            return [
                self._held("connect", given, given.name),
                self._held("connect", given, unique(f"{given.name}_axis", self.names), far),
            ]
        if given.directions not in words:
            raise ModelError(
                f"loop {given.name!r}: MuJoCo holds points, hinges and frames, not "
                f"{given.directions!r}; try to_urdf"
            )
        return [self._held(words[str(given.directions)], given, given.name)]

    def _held(self, word: str, given: Equality, name: str, far: np.ndarray | None = None) -> str:
        ends = self._ends(given, name, far)
        sites = " ".join(f"site{k}={quoted(end)}" for k, end in enumerate(ends, start=1))
        return f"<{word} name={quoted(name)} {sites}/>"

    def _ends(self, given: Equality, name: str, far: np.ndarray | None = None) -> list[str]:
        """Two sites at the frames that are held, moved by `far` in them."""
        made = []
        pairs = ((given.first, given.pose_first), (given.second, given.pose_second))
        for end, (link, offset) in zip(("first", "second"), pairs, strict=True):
            site = unique(f"{name}_{end}", self.taken)
            here = np.eye(4) if link is None else pose(*self.model.frame(link).placement)
            here = here if offset is None else here @ np.array(offset)
            body = -1 if link is None else self.model.frame(link).body
            at = inverse(self.placed[body].frame) if body >= 0 else np.eye(4)
            here = at @ here if far is None else at @ here @ far
            self.sites[body].append(site_line(site, here))
            made.append(site)
        return made

    def _rod(self, given: Equality) -> str:
        """A tendon between two sites; MuJoCo counts from its length where all joints are at zero."""
        name = unique(given.name, self.strings)
        through = "".join(f"<site site={quoted(end)}/>" for end in self._ends(given, name))
        self.tendons.append(f"<spatial name={quoted(name)}>{through}</spatial>")
        assert given.length is not None
        more = numbers([given.length - given.data[0], 0, 0, 0, 0])
        called = quoted(given.name)
        return f'<tendon name={called} tendon1={quoted(name)} polycoef="{more}"/>'

    def _geared(self, given: Equality) -> str:
        """first − c₁ second − Σ factor · joint = c₀: a tendon over joints of length c₀."""
        if len(given.polynomial) > 2:
            raise ModelError(
                f"constraint {given.name!r}: MuJoCo has no polynomial of one joint beside terms of "
                "others; try to_urdf"
            )
        c0, *slope = given.polynomial
        factors = [(given.first, 1.0), *((given.second, -c) for c in slope if given.second)]
        factors += [(joint, -factor) for joint, factor in given.factors]
        name = unique(given.name, self.taken)
        through = "".join(
            f'<joint joint={quoted(self._joint(joint or ""))} coef="{numbers([factor])}"/>'
            for joint, factor in factors
        )
        self.tendons.append(f"<fixed name={quoted(name)}>{through}</fixed>")
        called, constant = quoted(given.name), numbers([c0, 0, 0, 0, 0])
        return f'<tendon name={called} tendon1={quoted(name)} polycoef="{constant}"/>'

    def _coupling(self, given: Equality) -> str:
        """A polynomial; of tendons MuJoCo counts from their lengths where all joints are at zero."""
        if len(given.polynomial) > DEGREE:
            raise ModelError(
                f"constraint {given.name!r}: MuJoCo's polynomials have {DEGREE} coefficients"
            )
        terms, ends = list(given.polynomial), [x for x in (given.first, given.second) if x]
        if given.kind == "tendon":
            first, second = given.data
            terms = shifted(terms, -second)
            terms[0] -= first
        else:
            ends = [self._joint(x) for x in ends]
        terms += [0.0] * (DEGREE - len(terms))
        named = " ".join(f"{given.kind}{k}={quoted(end)}" for k, end in enumerate(ends, start=1))
        name = quoted(given.name)
        return f'<{given.kind} name={name} {named} polycoef="{numbers(terms)}"/>'

    def _joint(self, coordinate: str) -> str:
        """The name that the joint of a coordinate has in the file."""
        return self.placed[body_of(self.model, coordinate, "MuJoCo")].joint


def keyframe(model: Model, q: np.ndarray, order: Sequence[int], name: str) -> list[str]:
    """The posture q (nq,) as a keyframe; `order` are the bodies as MuJoCo counts them."""
    tree, whole = model.tree, np.asarray(model.expand(q), dtype=float)
    values: list[float] = []
    for i in order:
        own = whole[tree.bodies[i].q]
        turned = len(own) >= 4  # its quaternion is (x, y, z, w), MuJoCo's (w, x, y, z)
        values += [*own[:-4], own[-1], *own[-4:-1]] if turned else [*own]
    return ["  <keyframe>", f'    <key name="{name}" qpos="{numbers(values)}"/>', "  </keyframe>"]
