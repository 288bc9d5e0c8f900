"""Equalities, keyframes and notes of a compiled MJCF model, in names and coordinates of the model.

MuJoCo holds two points together (connect), two frames (weld), one joint or tendon at a quartic
polynomial of another (joint, tendon), each from its value at the reference posture qpos0. A weld
whose torquescale is 0 holds no rotation: it is a connect.
"""

from __future__ import annotations

from dataclasses import replace
from math import comb
from types import ModuleType
from typing import Any

import numpy as np

from dalembert.importers.mjcf_forces import disabled, names_of, rotation_of
from dalembert.model.notes import Equality, LeftOut, Notes, Rows4, pose_rows
from dalembert.spatial.se3 import pose

KINDS = {
    **{"mjEQ_CONNECT": "connect", "mjEQ_WELD": "weld"},
    **{"mjEQ_JOINT": "joint", "mjEQ_TENDON": "tendon"},
}

TORQUE_SCALE = 10  # its place in the data of a weld


def equalities(
    mujoco: ModuleType, m: Any, bodies: list[str], joints: list[str]
) -> tuple[list[Equality], list[tuple[str, str]]]:
    """Those that are read, and (kind, name) of the others; `bodies` and `joints` are names by index."""
    known, others = [], []
    enforced = not disabled(mujoco, m, "EQUALITY", "CONSTRAINT")
    tendons = names_of(mujoco, m, "tendon")
    for i, name in enumerate(names_of(mujoco, m, "equality")):
        word = mujoco.mjtEq(int(m.eq_type[i])).name
        kind = KINDS.get(word)
        if kind is None:
            others.append((word.removeprefix("mjEQ_").lower(), name))
            continue
        active, data = enforced and bool(m.eq_active0[i]), tuple(map(float, m.eq_data[i]))
        if kind in ("connect", "weld"):
            ends = _frames(mujoco, m, i, kind, bodies)
            kind = "connect" if ends["directions"] == "point" else "weld"
            known.append(Equality(kind=kind, name=name, active=active, data=data, **ends))
            continue
        # x₁ = x₁₀ + Σ c_k (x₂ − x₂₀)ᵏ as a polynomial of x₂; without a second, x₁ = x₁₀ + c₀
        names = joints if kind == "joint" else tendons
        at0 = m.qpos0[m.jnt_qposadr] if kind == "joint" else m.tendon_length0
        first, second = int(m.eq_obj1id[i]), int(m.eq_obj2id[i])
        at = [float(at0[k]) if k >= 0 else 0.0 for k in (first, second)]
        c0, *higher = shifted(list(data[: 5 if second >= 0 else 1]), at[1])
        follower, leader = names[first], names[second] if second >= 0 else None
        coupling = Equality(kind, name, follower, leader, active, data)
        known.append(replace(coupling, polynomial=(c0 + at[0], *higher)))
    return known, others


def _frames(mujoco: ModuleType, m: Any, i: int, kind: str, bodies: list[str]) -> dict[str, Any]:
    """Keywords of an `Equality`: links and the frames in them; a site is a frame of its body."""
    pair, data = (int(m.eq_obj1id[i]), int(m.eq_obj2id[i])), m.eq_data[i]
    if int(m.eq_objtype[i]) == mujoco.mjtObj.mjOBJ_SITE:
        poses = [_rows(m.site_pos[k], m.site_quat[k]) for k in pair]
        pair = (int(m.site_bodyid[pair[0]]), int(m.site_bodyid[pair[1]]))
    elif kind == "weld":  # the anchor is fixed in the second body, relpose in the first
        poses = [_rows(data[3:6], data[6:10]), _rows(data[0:3])]
    else:
        poses = [_rows(data[0:3]), _rows(data[3:6])]
    first, second = (bodies[k] if k > 0 else None for k in pair)
    turns = kind == "weld" and data[TORQUE_SCALE] != 0.0
    return {
        **{"first": first, "second": second, "directions": "weld" if turns else "point"},
        **{"pose_first": poses[0], "pose_second": poses[1]},
    }


def shifted(coefficients: list[float], x0: float) -> list[float]:
    """The coefficients of p(x − x0) as a polynomial of x.

    >>> shifted([0.0, 0.0, 1.0], 3.0)  # (x − 3)²
    [9.0, -6.0, 1.0]
    """
    return [
        sum(c * comb(k, j) * (-x0) ** (k - j) for k, c in enumerate(coefficients[j:], start=j))
        for j in range(len(coefficients))
    ]


def _rows(position: Any, quaternion: Any = (1.0, 0.0, 0.0, 0.0)) -> Rows4:
    """A pose (4, 4) of rows, from a position and a quaternion (w, x, y, z)."""
    R = rotation_of(np.asarray(quaternion) / np.linalg.norm(quaternion))
    return pose_rows(pose(R, np.array(position)))


def report(mujoco: ModuleType, m: Any, bodies: list[str], joints: list[str], source: str) -> Notes:
    """The notes of a model; `bodies` and `joints` are names by index."""
    known, others = equalities(mujoco, m, bodies, joints)
    welded = [int(k) for k in m.body_weldid]
    moving = range(1, m.nbody)
    warnings = [
        f"body {bodies[i]!r} moves but has no mass"
        for i in moving
        if m.body_jntnum[i] and m.body_mass[i] == 0.0 and welded[i] == i
    ]
    warnings += [f"{kind} constraint {name!r} is ignored" for kind, name in others]
    counts = {"geom": m.ngeom, "sensor": m.nsensor, "camera": m.ncam, "light": m.nlight}
    counts["mocap body"] = m.nmocap
    left_out = []
    if m.nflex:
        left_out = [LeftOut("flex", f"{m.nflex} of them", "deformable bodies do not deform")]
    effect = "stands still at its pose, and so does what is welded to it"
    for i in moving:
        if int(m.body_mocapid[i]) >= 0:
            left_out.append(LeftOut("motion of a mocap body", bodies[i], effect))
    postures = {"reference": m.qpos0}
    for k in range(m.nkey):
        key = mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_KEY, k) or f"keyframe{k}"
        postures.setdefault(key, m.key_qpos[k])
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
        ignored=tuple(f"{what} ({count})" for what, count in counts.items() if count),
        warnings=tuple(warnings),
        equalities=tuple(known),
        postures=tuple(configurations),
        left_out=tuple(left_out),
    )
