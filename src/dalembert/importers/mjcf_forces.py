"""Forces of a compiled MJCF model: springs, damping, friction, armature, tendons, fluid."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.importers.mjcf_compile import CompiledModel
from dalembert.model.elements import Anchor, Segment, Submerged, Tendon, Wrap
from dalembert.model.model import Frame, Model
from dalembert.spatial.quaternions import matrix_from_quaternion
from dalembert.spatial.rotations import snap
from dalembert.spatial.se3 import Placement

ON_TWIST = "dalembert rotor "  # and a free joint: its rotor is no ballast
COULOMB = "dalembert coulomb "  # and a joint: a <numeric> that MuJoCo passes through


def rotation_of(quaternion: Any) -> np.ndarray:
    """R (3, 3) of MuJoCo's quaternion (w, x, y, z)."""
    return snap(matrix_from_quaternion(np.roll(quaternion, -1)))


def gravity_compensation(m: CompiledModel) -> np.ndarray:
    """The lifted share (nbody,) of the weight of each body; differences from MuJoCo are noted.

    MuJoCo looks for it only if some share is positive. In joints with actuatorgravcomp it is the
    actuators' force: nothing without actuators, and bounded by the joint's actuatorfrcrange.
    """
    shares = np.array(m.body_gravcomp, dtype=float)
    if not (m.has_passive and np.any(shares > 0.0)):
        return np.zeros(m.nbody)
    powered = m.actuator_count > 0 and not m.disabled("ACTUATION")
    for i in np.flatnonzero(shares).tolist():
        by_drives = [bool(m.jnt_actgravcomp[k]) for k in _supports(m, i)]
        if not powered and by_drives and all(by_drives):
            shares[i] = 0.0
    lifting = {k for i in np.flatnonzero(shares).tolist() for k in _supports(m, i)}
    for k in sorted(k for k in lifting if m.jnt_actgravcomp[k]):
        effect = "its drive lifts weights beyond actuatorfrcrange"
        if not powered:
            effect = "weights are lifted in this joint, although no actuator is there to do it"
        if not powered or m.jnt_actfrclimited[k]:
            m.leave_out("actuatorgravcomp", m.names["joint"][k], effect)
    return shares


def _supports(m: Any, body: int) -> list[int]:
    """The joints between a body and the world."""
    joints: list[int] = []
    while body > 0:
        first = int(m.body_jntadr[body])
        joints += range(first, first + int(m.body_jntnum[body]))
        body = int(m.body_parentid[body])
    return joints


def joint_forces(m: CompiledModel, k: int, added: np.ndarray) -> dict[str, Any]:
    """Forces in joint k, as keywords of `Joint`; `added` (2, nv) is what actuators add."""
    dof, name = int(m.jnt_dofadr[k]), m.names["joint"][k]
    kinds, numerics = m.mujoco.mjtJoint, m.names["numeric"]
    is_free = int(m.jnt_type[k]) == kinds.mjJNT_FREE
    frictional = not m.disabled("FRICTIONLOSS", "CONSTRAINT")
    coulomb: Any = float(m.dof_frictionloss[dof]) if frictional else 0.0
    if is_free and coulomb:
        effect = "it acts along the axes of the body here, of the world in MuJoCo"
        m.leave_out("frictionloss of a free joint", name, effect)
    if frictional and COULOMB + name in numerics:
        # the pair that `to_mjcf` wrote beside MuJoCo's symmetric loss
        at = int(m.numeric_adr[numerics.index(COULOMB + name)])
        coulomb = tuple(float(x) for x in m.numeric_data[at : at + 2])
    armature, damping = added[:, dof]
    keywords = {
        "rotor_inertia": float(m.dof_armature[dof] + armature),
        "coulomb": coulomb,
        "ballast": is_free and ON_TWIST + name not in numerics,
    }
    if not m.disabled("DAMPER", "PASSIVE"):
        series = m.series("dof_damping", dof)
        keywords["viscous"] = float(damping + sum(series[:1]))
        keywords["drag"] = series[1:]
    if not m.disabled("SPRING", "PASSIVE"):
        keywords["stiffness"] = m.series("jnt_stiffness", k)
        # coordinates at which the spring rests, with (x, y, z, w) quaternions
        first = int(m.jnt_qposadr[k])
        size = {int(kinds.mjJNT_FREE): 7, int(kinds.mjJNT_BALL): 4}.get(int(m.jnt_type[k]), 1)
        rest = np.array(m.qpos_spring[first : first + size], dtype=float)
        if size > 1:
            rest[-4:] = np.roll(rest[-4:], -1)
        keywords["rest"] = rest
        if getattr(m, "jnt_springyield", np.zeros(m.njnt))[k] != 0.0:
            m.leave_out("yield of a spring", name, "the spring stays elastic")
    return keywords


def reflected(m: CompiledModel) -> tuple[np.ndarray, np.ndarray]:
    """Armature and damping of actuators at joints (2, nv) and tendons (2, tendons), × gear².

    Only these may have them. MuJoCo adds both to every degree of a joint, with the first number of
    the gear.
    """
    at_joints, at_tendons = np.zeros((2, m.nv)), np.zeros((2, m.ntendon))
    for i, name in enumerate(m.names["actuator"]):
        own = np.array([float(m.of_actuator(word, i)) for word in ("armature", "damping")])
        if np.any(m.of_actuator("dampingpoly", i)):
            effect = "it brakes in proportion to the velocity only"
            m.leave_out("nonlinear damping of an actuator", name, effect)
        if not np.any(own):
            continue
        target, kind = int(m.actuator_trnid[i, 0]), int(m.actuator_trntype[i])
        ratio = float(m.actuator_gear[m.of_actuator("outadr", i, i), 0]) ** 2
        if kind == m.mujoco.mjtTrn.mjTRN_TENDON:
            at_tendons[:, target] += ratio * own
        else:
            at_joints[:, m.dof_jntid == target] += ratio * own[:, None]
    return at_joints, at_tendons


def tendon(m: CompiledModel, model: Model, i: int, armature: float, damping: float) -> Tendon:
    """Tendon i, with armature and damping that actuators add to its own."""
    name, first = m.names["tendon"][i], int(m.tendon_adr[i])
    path = range(first, first + int(m.tendon_num[i]))
    springs, dampers = (not m.disabled(word, "PASSIVE") for word in ("SPRING", "DAMPER"))
    series = m.series("tendon_damping", i)
    if damping != 0.0:
        series = np.array([sum(series[:1]) + damping, *series[1:]])
    zeros = np.zeros(m.ntendon)  # where a version of MuJoCo has no such field
    armature += float(getattr(m, "tendon_armature", zeros)[i])
    forces: dict[str, Any] = {
        "stiffness": m.series("tendon_stiffness", i) if springs else np.zeros(0),
        "damping": series if dampers else np.zeros(0),
        "rest": np.array(m.tendon_lengthspring[i], dtype=float),
        "armature": np.trim_zeros(np.array([armature])),
    }
    if np.any(getattr(m, "tendon_frictionloss", zeros)[i]):
        m.leave_out("tendon friction", name, "the tendon slides without Coulomb friction")
    if np.any(getattr(m, "tendon_springyield", zeros)[i]):
        m.leave_out("yield of a tendon spring", name, "the spring stays elastic")
    if m.tendon_limited[i] and not m.disabled("LIMIT", "CONSTRAINT"):
        m.leave_out("tendon limit", name, "the tendon may be longer or shorter than its range")
    if int(m.wrap_type[first]) == m.mujoco.mjtWrap.mjWRAP_JOINT:
        infos = {joint.name: joint for joint in model.joints}
        over = [infos[m.names["joint"][int(m.wrap_objid[k])]].bodies[0] for k in path]
        result = Tendon(name, tuple(over), np.array(m.wrap_prm[path]), **forces)
    else:
        result = Tendon(name, segments=_segments(m, model, path), **forces)
    moving = set(result.joints)  # on which its length depends
    for segment in result.segments:
        start, end = (
            set(model.supports[end.body]) if end.body >= 0 else set()
            for end in (segment.start, segment.end)
        )
        moving |= start ^ end
    # the last of them is not carried by all others
    is_branched = bool(moving - set(model.supports[max(moving, default=0)]))
    if result.armature.size and is_branched:
        effect = "M has entries between these branches, which MuJoCo leaves out"
        m.leave_out("zeros of M beside a tendon's armature", name, effect)
    return result


def _segments(m: CompiledModel, model: Model, path: range) -> tuple[Segment, ...]:
    """Site to site, over the geom between them; a pulley begins a new branch."""
    kinds = m.mujoco.mjtWrap
    segments: list[Segment] = []
    share, start, around = 1.0, None, None
    for k in path:
        kind, index = int(m.wrap_type[k]), int(m.wrap_objid[k])
        if kind == kinds.mjWRAP_PULLEY:
            share, start, around = 1.0 / float(m.wrap_prm[k]), None, None
        elif kind == kinds.mjWRAP_SITE:
            anchor = _anchor(m, model, index)
            if start is not None:
                segments.append(Segment(start, anchor, share, around))
            start, around = anchor, None
        else:
            around = _wrap(m, model, index, round(float(m.wrap_prm[k])))
    return tuple(segments)


def _wrap(m: CompiledModel, model: Model, geom: int, side: int) -> Wrap:
    frame = frame_of(m, model, m.geom_bodyid[geom])
    turn, center = frame.placement.then(
        Placement(rotation_of(m.geom_quat[geom]), np.array(m.geom_pos[geom]))
    )
    sphere = int(m.geom_type[geom]) == m.mujoco.mjtGeom.mjGEOM_SPHERE
    kind, radius = "sphere" if sphere else "cylinder", float(m.geom_size[geom, 0])
    surface = Wrap(kind, frame.body, turn, center, radius)
    if side < 0:
        return surface
    anchor = _anchor(m, model, side)
    if anchor.body != frame.body:
        return replace(surface, beside=anchor)
    return replace(surface, side=turn.T @ (anchor.point - center))


def _anchor(m: CompiledModel, model: Model, site: int) -> Anchor:
    frame = frame_of(m, model, m.site_bodyid[site])
    return Anchor(frame.body, frame.translation + frame.rotation @ m.site_pos[site])


def frame_of(m: CompiledModel, model: Model, body: Any) -> Frame:
    """The frame of a body of MuJoCo, of which 0 is the world."""
    return model.frames[m.names["body"][int(body)] if body else "base"]


LEAST = 1e-15  # MuJoCo's smallest number
POINT = 1e-13  # m: a geom so small marks a body on which the fluid does not act


def submerged(m: CompiledModel, model: Model) -> tuple[Submerged, ...]:
    """One shape for every body with mass, or one for each of its geoms that are ellipsoids.

    Those of bodies fixed to the world have the body −1.
    """
    if not m.has_passive or not (m.opt.density > 0.0 or m.opt.viscosity > 0.0):
        return ()
    fluid = float(m.opt.density), float(m.opt.viscosity), np.array(m.opt.wind)
    kinds = m.mujoco.mjtGeom
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
        frame = frame_of(m, model, i)
        for at, quaternion, size, coefficients in parts:
            own = Placement(rotation_of(quaternion), np.array(at))
            rotation, center = frame.placement.then(own)
            shapes.append(Submerged(frame.body, rotation, center, size, *fluid, coefficients))
    return tuple(shapes)
