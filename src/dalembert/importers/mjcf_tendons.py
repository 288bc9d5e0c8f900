"""Tendons of a compiled MJCF model: paths over joints, or through sites and over geoms."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from dalembert.importers.mjcf_physics import disabled, names_of, rotation_of, series
from dalembert.model.elements import Anchor, Segment, Tendon, Wrap
from dalembert.model.model import Model
from dalembert.model.notes import LeftOut


class Tendons:
    """Reads the tendons of `m` for a model whose bodies and joints have these names by index."""

    def __init__(
        self, mujoco: ModuleType, m: Any, model: Model, bodies: list[str], joints: list[str]
    ) -> None:
        self.mujoco, self.m, self.model = mujoco, m, model
        self.bodies, self.joints = bodies, joints
        self.left_out: list[LeftOut] = []
        named = enumerate(names_of(mujoco, m, "tendon"))
        found = (self._tendon(i, name) for i, name in named)
        self.found = tuple(tendon for tendon in found if tendon is not None)

    def _tendon(self, i: int, name: str) -> Tendon | None:
        first = int(self.m.tendon_adr[i])
        path = range(first, first + int(self.m.tendon_num[i]))
        still = disabled(self.mujoco, self.m, "PASSIVE")
        springs = not still and not disabled(self.mujoco, self.m, "SPRING")
        dampers = not still and not disabled(self.mujoco, self.m, "DAMPER")
        forces: dict[str, Any] = {
            "stiffness": series(self.m, "tendon_stiffness", i) if springs else np.zeros(0),
            "damping": series(self.m, "tendon_damping", i) if dampers else np.zeros(0),
            "rest": np.array(self.m.tendon_lengthspring[i], dtype=float),
        }
        self._leave_out(i, name)
        if int(self.m.wrap_type[first]) == self.mujoco.mjtWrap.mjWRAP_JOINT:
            infos = {joint.name: joint for joint in self.model.joints}
            over = [infos[self.joints[int(self.m.wrap_objid[k])]].bodies[0] for k in path]
            return Tendon(name, tuple(over), np.array(self.m.wrap_prm[path]), **forces)
        segments = self._segments(name, path)
        return None if segments is None else Tendon(name, segments=segments, **forces)

    def _segments(self, name: str, path: range) -> tuple[Segment, ...] | None:
        """Site to site, over the geom between them; a pulley begins a new branch."""
        kinds = self.mujoco.mjtWrap
        made: list[Segment] = []
        share, start, around = 1.0, None, None
        for k in path:
            kind, which = int(self.m.wrap_type[k]), int(self.m.wrap_objid[k])
            if kind == kinds.mjWRAP_PULLEY:
                share, start, around = 1.0 / float(self.m.wrap_prm[k]), None, None
            elif kind == kinds.mjWRAP_SITE:
                here = self._anchor(self.m.site_bodyid[which], self.m.site_pos[which])
                if start is not None:
                    made.append(Segment(start, here, share, around))
                start, around = here, None
            else:
                around = self._wrap(name, which, round(float(self.m.wrap_prm[k])))
                if around is None:
                    return None
        return tuple(made)

    def _wrap(self, name: str, geom: int, side: int) -> Wrap | None:
        m, body = self.m, int(self.m.geom_bodyid[geom])
        frame = self.model.frames[self.bodies[body] if body else "base"]
        turn = frame.rotation @ rotation_of(m.geom_quat[geom])
        center = frame.translation + frame.rotation @ m.geom_pos[geom]
        sphere = int(m.geom_type[geom]) == self.mujoco.mjtGeom.mjGEOM_SPHERE
        kind, radius, beside = "sphere" if sphere else "cylinder", float(m.geom_size[geom, 0]), ()
        if side >= 0:
            anchor = self._anchor(m.site_bodyid[side], m.site_pos[side])
            beside = turn.T @ (anchor.point - center)
            if anchor.body != frame.body or np.linalg.norm(beside) < radius:
                # inside of the geom, it asks for a way that touches it from within
                effect = "the tendon is no part of the model, nor is what acts along it"
                what = "tendon with a side site inside of the geom or on another body"
                self.left_out.append(LeftOut(what, name, effect))
                return None
        return Wrap(kind, frame.body, turn, center, radius, np.array(beside))

    def _anchor(self, body: Any, position: Any) -> Anchor:
        frame = self.model.frames[self.bodies[int(body)] if int(body) else "base"]
        return Anchor(frame.body, frame.translation + frame.rotation @ position)

    def _leave_out(self, i: int, name: str) -> None:
        """What a tendon has that the model does not."""
        effects = {
            "frictionloss": ("tendon friction", "the tendon slides without Coulomb friction"),
            "armature": ("tendon armature", "inertia that its motion has is missing from M"),
            "springyield": ("yield of a tendon spring", "the spring stays elastic"),
        }
        for word, (what, effect) in effects.items():
            if np.any(getattr(self.m, f"tendon_{word}", np.zeros(self.m.ntendon))[i]):
                self.left_out.append(LeftOut(what, name, effect))
        if self.m.tendon_limited[i] and not disabled(self.mujoco, self.m, "LIMIT", "CONSTRAINT"):
            effect = "the tendon may be longer or shorter than its range"
            self.left_out.append(LeftOut("tendon limit", name, effect))
