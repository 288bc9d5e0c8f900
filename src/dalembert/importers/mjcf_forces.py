"""Forces of a compiled MJCF model: springs, damping, friction, armature, tendons, fluid."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from dalembert.model.elements import Anchor, Segment, Submerged, Tendon, Wrap
from dalembert.model.model import Model
from dalembert.model.notes import LeftOut
from dalembert.spatial.quaternions import matrix_from_quaternion
from dalembert.spatial.rotations import snap

ON_TWIST = "dalembert rotor "  # and a free joint: its rotor is no ballast
COULOMB = "dalembert coulomb "  # and a joint: a <numeric> that MuJoCo passes through


def disabled(mujoco: ModuleType, m: Any, *names: str) -> bool:
    """Whether the file switches one of these parts off (flags differ between versions)."""
    flags = (getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}", None) for name in names)
    return any(flag is not None and m.opt.disableflags & flag.value for flag in flags)


def names_of(mujoco: ModuleType, m: Any, word: str) -> list[str]:
    """Names by index of everything of this kind ("body", "tendon", …); unnamed ones get a free name."""
    counts = {"body": m.nbody, "joint": m.njnt, "site": m.nsite, "numeric": m.nnumeric}
    counts |= {"tendon": m.ntendon, "equality": m.neq, "actuator": actuator_count(m)}
    kind = getattr(mujoco.mjtObj, f"mjOBJ_{word.upper()}")
    names = [mujoco.mj_id2name(m, kind, i) or "" for i in range(counts[word])]
    taken = set(names)
    for i, name in enumerate(names):
        if not name:
            unnamed = f"{word}{i}"
            while unnamed in taken:
                unnamed += "_"
            taken.add(unnamed)
            names[i] = unnamed
    return names


def rotation_of(quaternion: Any) -> np.ndarray:
    """R (3, 3) of MuJoCo's quaternion (w, x, y, z)."""
    return snap(matrix_from_quaternion(np.roll(quaternion, -1)))


def has_passive(mujoco: ModuleType, m: Any) -> bool:
    """Whether fluids and gravity compensation act: not with springs and dampers both disabled."""
    neither = disabled(mujoco, m, "SPRING") and disabled(mujoco, m, "DAMPER")
    return not (neither or disabled(mujoco, m, "PASSIVE"))


def gravity_compensation(
    mujoco: ModuleType, m: Any, joints: list[str]
) -> tuple[np.ndarray, list[LeftOut]]:
    """The lifted share (nbody,) of the weight of each body, and differences from MuJoCo.

    MuJoCo looks for it only if some share is positive. In joints with actuatorgravcomp it is the
    actuators' force: nothing without actuators, and bounded by the joint's actuatorfrcrange.
    """
    shares, left = np.array(m.body_gravcomp, dtype=float), []
    if not (has_passive(mujoco, m) and np.any(shares > 0.0)):
        return np.zeros(m.nbody), []
    powered = actuator_count(m) > 0 and not disabled(mujoco, m, "ACTUATION")
    for i in np.flatnonzero(shares).tolist():
        by_drives = [bool(m.jnt_actgravcomp[k]) for k in _supports(m, i)]
        if not powered and by_drives and all(by_drives):
            shares[i] = 0.0
    lifting = {k for i in np.flatnonzero(shares).tolist() for k in _supports(m, i)}
    for k in sorted(k for k in lifting if m.jnt_actgravcomp[k]):
        if not powered:
            effect = "weights are lifted in this joint, although no actuator is there to do it"
            left.append(LeftOut("actuatorgravcomp", joints[k], effect))
        elif m.jnt_actfrclimited[k]:
            effect = "its drive lifts weights beyond actuatorfrcrange"
            left.append(LeftOut("actuatorgravcomp", joints[k], effect))
    return shares, left


def _supports(m: Any, body: int) -> list[int]:
    """The joints between a body and the world."""
    joints: list[int] = []
    while body > 0:
        first = int(m.body_jntadr[body])
        joints += range(first, first + int(m.body_jntnum[body]))
        body = int(m.body_parentid[body])
    return joints


class JointForces:
    """Forces in each joint, as keywords of `Joint`."""

    def __init__(self, mujoco: ModuleType, m: Any, joints: list[str], numerics: list[str]) -> None:
        self.mujoco, self.m, self.joints, self.numerics = mujoco, m, joints, numerics
        actuators = reflected(mujoco, m)
        self.armature, self.damping = actuators.joints
        self.left_out = actuators.left_out
        self.sprung = not disabled(mujoco, m, "SPRING", "PASSIVE")
        self.damped = not disabled(mujoco, m, "DAMPER", "PASSIVE")
        self.frictional = not disabled(mujoco, m, "FRICTIONLOSS", "CONSTRAINT")

    def of(self, k: int) -> dict[str, Any]:
        """Keywords of joint k."""
        m, dof = self.m, int(self.m.jnt_dofadr[k])
        name, is_free = self.joints[k], int(m.jnt_type[k]) == self.mujoco.mjtJoint.mjJNT_FREE
        coulomb: Any = float(m.dof_frictionloss[dof]) if self.frictional else 0.0
        if self.frictional and COULOMB + name in self.numerics:
            # the pair that `to_mjcf` wrote beside MuJoCo's symmetric loss
            at = int(m.numeric_adr[self.numerics.index(COULOMB + name)])
            coulomb = tuple(float(x) for x in m.numeric_data[at : at + 2])
        keywords = {
            "rotor_inertia": float(m.dof_armature[dof] + self.armature[dof]),
            "coulomb": coulomb,
            "ballast": is_free and ON_TWIST + name not in self.numerics,
        }
        if is_free and self.frictional and m.dof_frictionloss[dof] != 0.0:
            effect = "it acts along the axes of the body here, of the world in MuJoCo"
            self.left_out.append(LeftOut("frictionloss of a free joint", name, effect))
        if self.damped:
            damping = series(m, "dof_damping", dof)
            keywords["viscous"] = float(self.damping[dof] + sum(damping[:1]))
            keywords["drag"] = damping[1:]
        if self.sprung:
            keywords["stiffness"] = series(m, "jnt_stiffness", k)
            # coordinates at which the spring rests, with (x, y, z, w) quaternions
            kinds, first = self.mujoco.mjtJoint, int(m.jnt_qposadr[k])
            sizes = {int(kinds.mjJNT_FREE): 7, int(kinds.mjJNT_BALL): 4}
            size = sizes.get(int(m.jnt_type[k]), 1)
            rest = np.array(m.qpos_spring[first : first + size], dtype=float)
            if size > 1:
                rest[-4:] = np.roll(rest[-4:], -1)
            keywords["rest"] = rest
            if getattr(m, "jnt_springyield", np.zeros(m.njnt))[k] != 0.0:
                effect = "the spring stays elastic"
                self.left_out.append(LeftOut("yield of a spring", name, effect))
        return keywords


class Reflected(NamedTuple):
    """Armature and damping of actuators at what they drive, × gear²; rows armature, damping."""

    joints: np.ndarray  # (2, nv)
    tendons: np.ndarray  # (2, tendons)
    left_out: list[LeftOut]


def reflected(mujoco: ModuleType, m: Any) -> Reflected:
    """Armature and damping of actuators, which only joints and tendons may have.

    MuJoCo adds both to every degree of a joint, with the first number of the gear.
    """
    at_joints, at_tendons, left = np.zeros((2, m.nv)), np.zeros((2, m.ntendon)), []
    degrees = {mujoco.mjtJoint.mjJNT_FREE: 6, mujoco.mjtJoint.mjJNT_BALL: 3}
    for i, name in enumerate(names_of(mujoco, m, "actuator")):
        own = [float(of_actuator(m, word, i)) for word in ("armature", "damping")]
        if np.any(of_actuator(m, "dampingpoly", i)):
            effect = "it brakes in proportion to the velocity only"
            left.append(LeftOut("nonlinear damping of an actuator", name, effect))
        if not np.any(own):
            continue
        target, kind = int(m.actuator_trnid[i, 0]), int(m.actuator_trntype[i])
        ratio = float(m.actuator_gear[of_actuator(m, "outadr", i, i), 0]) ** 2
        if kind == mujoco.mjtTrn.mjTRN_TENDON:
            at_tendons[:, target] += ratio * np.array(own)
            continue
        first = int(m.jnt_dofadr[target])
        last = first + degrees.get(int(m.jnt_type[target]), 1)
        at_joints[:, first:last] += ratio * np.array(own)[:, None]
    return Reflected(at_joints, at_tendons, left)


def actuator_count(m: Any) -> int:
    """How many actuators there are; MuJoCo 4 counts their controls (nu) apart."""
    return int(getattr(m, "nactuator", m.nu))


def of_actuator(m: Any, name: str, i: int, default: Any = 0) -> Any:
    """Field `name` of actuator i, or `default` where this version of MuJoCo does not have it."""
    values = getattr(m, f"actuator_{name}", None)
    return default if values is None else values[i]


def series(m: Any, name: str, i: int) -> np.ndarray:
    """Coefficients (degree,) of a polynomial spring or damper, the linear one first; empty for none.

    MuJoCo before 3.6 has linear ones only.
    """
    higher = getattr(m, f"{name}poly", None)
    linear = getattr(m, name)[i]
    coefficients = np.array([linear, *([] if higher is None else higher[i])], dtype=float)
    return np.trim_zeros(coefficients, "b")


class Tendons:
    """Reads the tendons of `m` for a model whose bodies and joints have these names by index."""

    def __init__(
        self, mujoco: ModuleType, m: Any, model: Model, bodies: list[str], joints: list[str]
    ) -> None:
        self.mujoco, self.m, self.model = mujoco, m, model
        self.bodies, self.joints = bodies, joints
        self.armature, self.damping = reflected(mujoco, m).tendons
        self.left_out: list[LeftOut] = []
        named = enumerate(names_of(mujoco, m, "tendon"))
        self.tendons = tuple(self._tendon(i, name) for i, name in named)

    def _tendon(self, i: int, name: str) -> Tendon:
        first = int(self.m.tendon_adr[i])
        path = range(first, first + int(self.m.tendon_num[i]))
        still = disabled(self.mujoco, self.m, "PASSIVE")
        springs = not still and not disabled(self.mujoco, self.m, "SPRING")
        dampers = not still and not disabled(self.mujoco, self.m, "DAMPER")
        damping = series(self.m, "tendon_damping", i)
        if self.damping[i] != 0.0:  # that of actuators at it
            damping = np.array([sum(damping[:1]) + self.damping[i], *damping[1:]])
        # zero in versions of MuJoCo that have none
        armature = float(getattr(self.m, "tendon_armature", np.zeros(self.m.ntendon))[i])
        forces: dict[str, Any] = {
            "stiffness": series(self.m, "tendon_stiffness", i) if springs else np.zeros(0),
            "damping": damping if dampers else np.zeros(0),
            "rest": np.array(self.m.tendon_lengthspring[i], dtype=float),
            "armature": np.trim_zeros(np.array([armature + self.armature[i]])),
        }
        effects = {
            "frictionloss": ("tendon friction", "the tendon slides without Coulomb friction"),
            "springyield": ("yield of a tendon spring", "the spring stays elastic"),
        }
        for word, (what, effect) in effects.items():
            if np.any(getattr(self.m, f"tendon_{word}", np.zeros(self.m.ntendon))[i]):
                self.left_out.append(LeftOut(what, name, effect))
        if self.m.tendon_limited[i] and not disabled(self.mujoco, self.m, "LIMIT", "CONSTRAINT"):
            effect = "the tendon may be longer or shorter than its range"
            self.left_out.append(LeftOut("tendon limit", name, effect))
        if int(self.m.wrap_type[first]) == self.mujoco.mjtWrap.mjWRAP_JOINT:
            infos = {joint.name: joint for joint in self.model.joints}
            over = [infos[self.joints[int(self.m.wrap_objid[k])]].bodies[0] for k in path]
            tendon = Tendon(name, tuple(over), np.array(self.m.wrap_prm[path]), **forces)
        else:
            tendon = Tendon(name, segments=self._segments(path), **forces)
        moving = set(tendon.joints)  # on which its length depends
        for segment in tendon.segments:
            start, end = (
                set(self.model.supports[end.body]) if end.body >= 0 else set()
                for end in (segment.start, segment.end)
            )
            moving |= start ^ end
        # the last of them is not carried by all others
        is_branched = bool(moving - set(self.model.supports[max(moving, default=0)]))
        if tendon.armature.size and is_branched:
            effect = "M has entries between these branches, which MuJoCo leaves out"
            self.left_out.append(LeftOut("zeros of M beside a tendon's armature", name, effect))
        return tendon

    def _segments(self, path: range) -> tuple[Segment, ...]:
        """Site to site, over the geom between them; a pulley begins a new branch."""
        kinds = self.mujoco.mjtWrap
        segments: list[Segment] = []
        share, start, around = 1.0, None, None
        for k in path:
            kind, index = int(self.m.wrap_type[k]), int(self.m.wrap_objid[k])
            if kind == kinds.mjWRAP_PULLEY:
                share, start, around = 1.0 / float(self.m.wrap_prm[k]), None, None
            elif kind == kinds.mjWRAP_SITE:
                anchor = self._anchor(self.m.site_bodyid[index], self.m.site_pos[index])
                if start is not None:
                    segments.append(Segment(start, anchor, share, around))
                start, around = anchor, None
            else:
                around = self._wrap(index, round(float(self.m.wrap_prm[k])))
        return tuple(segments)

    def _wrap(self, geom: int, side: int) -> Wrap:
        m, body = self.m, int(self.m.geom_bodyid[geom])
        frame = self.model.frames[self.bodies[body] if body else "base"]
        turn = frame.rotation @ rotation_of(m.geom_quat[geom])
        center = frame.translation + frame.rotation @ m.geom_pos[geom]
        sphere = int(m.geom_type[geom]) == self.mujoco.mjtGeom.mjGEOM_SPHERE
        kind, radius, beside = "sphere" if sphere else "cylinder", float(m.geom_size[geom, 0]), ()
        if side >= 0:
            anchor = self._anchor(m.site_bodyid[side], m.site_pos[side])
            if anchor.body != frame.body:
                return Wrap(kind, frame.body, turn, center, radius, beside=anchor)
            beside = turn.T @ (anchor.point - center)
        return Wrap(kind, frame.body, turn, center, radius, np.array(beside))

    def _anchor(self, body: Any, position: Any) -> Anchor:
        frame = self.model.frames[self.bodies[int(body)] if int(body) else "base"]
        return Anchor(frame.body, frame.translation + frame.rotation @ position)


LEAST = 1e-15  # MuJoCo's smallest number
POINT = 1e-13  # m: a geom so small marks a body on which the fluid does not act


def submerged(mujoco: ModuleType, m: Any, model: Model, bodies: list[str]) -> tuple[Submerged, ...]:
    """One shape for every body with mass, or one for each of its geoms that are ellipsoids.

    Those of bodies fixed to the world have the body −1.
    """
    if not has_passive(mujoco, m) or not (m.opt.density > 0.0 or m.opt.viscosity > 0.0):
        return ()
    fluid = float(m.opt.density), float(m.opt.viscosity), np.array(m.opt.wind)
    kinds = mujoco.mjtGeom
    shapes = []
    for i in range(1, m.nbody):
        if m.body_mass[i] < LEAST:
            continue
        parts = []  # position and quaternion in the body's frame, size, coefficients
        first = int(m.body_geomadr[i])
        geoms = range(first, first + int(m.body_geomnum[i]))
        ellipsoids = [k for k in geoms if m.geom_fluid[k, 0] > 0.0]
        for k in ellipsoids:
            size = np.array(m.geom_size[k], dtype=float)
            axes = {
                int(kinds.mjGEOM_SPHERE): size[[0, 0, 0]],
                int(kinds.mjGEOM_CAPSULE): np.array([size[0], size[0], size[1] + size[0]]),
                int(kinds.mjGEOM_CYLINDER): size[[0, 0, 1]],
            }.get(int(m.geom_type[k]), size)
            coefficients = np.array(m.geom_fluid[k, 1:12], dtype=float)
            if size.max() > POINT:
                parts.append((m.geom_pos[k], m.geom_quat[k], axes, coefficients))
        if not ellipsoids:  # the box that has the body's mass and principal moments
            I = np.array(m.body_inertia[i], dtype=float)
            sides = np.sqrt(np.maximum(I.sum() - 2.0 * I, LEAST) / float(m.body_mass[i]) * 6.0)
            parts.append((m.body_ipos[i], m.body_iquat[i], sides, np.zeros(0)))
        frame = model.frames[bodies[i]]
        for at, quaternion, size, coefficients in parts:
            rotation = frame.rotation @ rotation_of(quaternion)
            center = frame.translation + frame.rotation @ at
            shapes.append(Submerged(frame.body, rotation, center, size, *fluid, coefficients))
    return tuple(shapes)
