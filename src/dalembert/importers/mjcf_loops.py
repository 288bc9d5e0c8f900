"""Equalities, keyframes and notes of a compiled MJCF model, in names and coordinates of the model.

MuJoCo holds two points together (connect), two frames (weld), one joint or tendon at a quartic
polynomial of another (joint, tendon), each from its value at the reference posture qpos0. A weld
whose torquescale is 0 holds no rotation: it is a connect.
"""

from __future__ import annotations

from dataclasses import replace
from math import comb
from typing import Any

import numpy as np

from dalembert.importers.file_access import Roots
from dalembert.importers.loops_file import Frames, loop_of
from dalembert.importers.mjcf_compile import CompiledModel
from dalembert.importers.mjcf_forces import rotation_of
from dalembert.importers.visuals import mjcf_visuals
from dalembert.model.notes import Equality, Notes
from dalembert.spatial.se3 import pose

KINDS = ("connect", "weld", "joint", "tendon")
TORQUE_SCALE = 10  # its place in the data of a weld


def equalities(m: CompiledModel) -> tuple[list[Equality], list[tuple[str, str]]]:
    """Those that are read, and (kind, name) of the others."""
    known, others = [], []
    enforced = not m.disabled("EQUALITY", "CONSTRAINT")
    for i, name in enumerate(m.names["equality"]):
        kind = m.mujoco.mjtEq(int(m.eq_type[i])).name.removeprefix("mjEQ_").lower()
        if kind not in KINDS:
            others.append((kind, name))
            continue
        active, data = enforced and bool(m.eq_active0[i]), tuple(map(float, m.eq_data[i]))
        if kind in ("connect", "weld"):
            holds_rotation = kind == "weld" and data[TORQUE_SCALE] != 0.0
            loop = loop_of(name, _frames(m, i, kind), "weld" if holds_rotation else "point")
            known.append(replace(loop, active=active, data=data))
            continue
        # x₁ = x₁₀ + Σ c_k (x₂ − x₂₀)ᵏ as a polynomial of x₂; without a second, x₁ = x₁₀ + c₀
        names = m.names[kind]
        at0 = m.qpos0[m.jnt_qposadr] if kind == "joint" else m.tendon_length0
        first, second = int(m.eq_obj1id[i]), int(m.eq_obj2id[i])
        at = [float(at0[k]) if k >= 0 else 0.0 for k in (first, second)]
        c0, *higher = shifted(list(data[: 5 if second >= 0 else 1]), at[1])
        follower, leader = names[first], names[second] if second >= 0 else None
        coupling = Equality(kind, name, follower, leader, active, data)
        known.append(replace(coupling, polynomial=(c0 + at[0], *higher)))
    return known, others


def _frames(m: CompiledModel, i: int, kind: str) -> Frames:
    """Links, and the frames in them that are held; a site is a frame of its body."""
    pair, data = (int(m.eq_obj1id[i]), int(m.eq_obj2id[i])), m.eq_data[i]
    if int(m.eq_objtype[i]) == m.mujoco.mjtObj.mjOBJ_SITE:
        poses = [_pose(m.site_pos[k], m.site_quat[k]) for k in pair]
        pair = (int(m.site_bodyid[pair[0]]), int(m.site_bodyid[pair[1]]))
    elif kind == "weld":  # the anchor is fixed in the second body, relpose in the first
        poses = [_pose(data[3:6], data[6:10]), _pose(data[0:3])]
    else:
        poses = [_pose(data[0:3]), _pose(data[3:6])]
    links = [m.names["body"][k] if k > 0 else None for k in pair]
    return list(zip(links, poses, strict=True))


def shifted(coefficients: list[float], x0: float) -> list[float]:
    """The coefficients of p(x − x0) as a polynomial of x.

    >>> shifted([0.0, 0.0, 1.0], 3.0)  # (x − 3)²
    [9.0, -6.0, 1.0]
    """
    return [
        sum(c * comb(k, j) * (-x0) ** (k - j) for k, c in enumerate(coefficients[j:], start=j))
        for j in range(len(coefficients))
    ]


def _pose(position: Any, quaternion: Any = (1.0, 0.0, 0.0, 0.0)) -> np.ndarray:
    """A pose (4, 4) from a position and a quaternion (w, x, y, z)."""
    R = rotation_of(np.asarray(quaternion) / np.linalg.norm(quaternion))
    return pose(R, np.array(position))


def report(m: CompiledModel, source: str, roots: Roots) -> Notes:
    """The notes of a model, after all that has been left out of it."""
    known, others = equalities(m)
    bodies, welded, moving = m.names["body"], m.body_weldid.tolist(), range(1, m.nbody)
    warnings = [
        f"body {bodies[i]!r} moves but has no mass"
        for i in moving
        if m.body_jntnum[i] and m.body_mass[i] == 0.0 and welded[i] == i
    ]
    warnings += [f"{kind} constraint {name!r} is ignored" for kind, name in others]
    warnings += [f"MuJoCo: {' '.join(text.split())}" for text in m.warnings]
    counts = {"geom": m.ngeom, "sensor": m.nsensor, "camera": m.ncam, "light": m.nlight}
    counts["mocap body"] = m.nmocap
    ignored = [*counts.items(), *sorted(m.dropped.counts.items())]
    if m.nflex:
        m.leave_out("flex", f"{m.nflex} of them", "deformable bodies do not deform")
    effect = "stands still at its pose, and so does what is welded to it"
    for i in np.flatnonzero(m.body_mocapid >= 0).tolist():
        m.leave_out("motion of a mocap body", bodies[i], effect)
    for name in sorted(m.dropped.forces):
        m.leave_out("plugin", name, "its forces are not computed")
    postures = {"reference": m.qpos0}
    for k in range(m.nkey):
        postures.setdefault(m.name_of("key", k) or f"keyframe{k}", m.key_qpos[k])
    configurations = []
    for name, qpos in postures.items():
        q = np.array(qpos, dtype=float)
        for address, kind in zip(m.jnt_qposadr.tolist(), m.jnt_type.tolist(), strict=True):
            if kind in (0, 1):  # free, ball: quaternions are (w, x, y, z) there, (x, y, z, w) here
                start = address + (3 if kind == 0 else 0)
                quaternion = np.roll(q[start : start + 4], -1)
                q[start : start + 4] = quaternion / (np.linalg.norm(quaternion) or 1.0)
        configurations.append((name, tuple(map(float, q))))
    return Notes(
        source=source,
        merged=tuple(f"{bodies[i]} into {bodies[welded[i]]}" for i in moving if welded[i] != i),
        ignored=tuple(f"{what} ({count})" for what, count in ignored if count),
        warnings=tuple(warnings),
        equalities=tuple(known),
        postures=tuple(configurations),
        left_out=tuple(m.left_out),
        meshes=tuple(m.dropped.meshes(m)),
        visuals=tuple(mjcf_visuals(m, roots)),
    )
