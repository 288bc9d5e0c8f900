"""Equalities and keyframes of a compiled MJCF model, in the names and coordinates of ours.

MuJoCo holds two points together (connect), two frames (weld), one joint or tendon at a quartic
polynomial of another (joint, tendon), each from its value at the reference posture qpos0. A weld
whose torquescale is 0 holds no rotation: it is a connect.
"""

from __future__ import annotations

from math import comb
from types import ModuleType
from typing import Any

import numpy as np

from dalembert.importers.mjcf_physics import disabled, names_of, rotation_of
from dalembert.model.notes import Equality, LeftOut, Rows4, rows_of
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
    kept, others = [], []
    enforced = not disabled(mujoco, m, "EQUALITY", "CONSTRAINT")
    tendons = names_of(mujoco, m, "tendon")
    for i, name in enumerate(names_of(mujoco, m, "equality")):
        word = mujoco.mjtEq(int(m.eq_type[i])).name
        kind = KINDS.get(word)
        if kind is None:
            others.append((word.removeprefix("mjEQ_").lower(), name))
            continue
        if kind in ("connect", "weld"):
            ends = _frames(mujoco, m, i, kind, bodies)
            kind = "connect" if ends["directions"] == "point" else "weld"
        else:
            names = joints if kind == "joint" else tendons
            ends = _coupled(m, i, kind, names)
        active = enforced and bool(m.eq_active0[i])
        data = tuple(float(x) for x in m.eq_data[i])
        kept.append(Equality(kind=kind, name=name, active=active, data=data, **ends))
    return kept, others


def _frames(mujoco: ModuleType, m: Any, i: int, kind: str, bodies: list[str]) -> dict[str, Any]:
    """Links and the frames held in them; a site is a frame of its body."""
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


def _coupled(m: Any, i: int, kind: str, names: list[str]) -> dict[str, Any]:
    """x₁ = x₁₀ + Σ c_k (x₂ − x₂₀)ᵏ as a polynomial of x₂; without a second, x₁ = x₁₀ + c₀."""
    first, second = int(m.eq_obj1id[i]), int(m.eq_obj2id[i])
    if kind == "joint":
        at = [float(m.qpos0[m.jnt_qposadr[k]]) if k >= 0 else 0.0 for k in (first, second)]
    else:
        at = [float(m.tendon_length0[k]) if k >= 0 else 0.0 for k in (first, second)]
    given = [float(c) for c in m.eq_data[i, :5]] if second >= 0 else [float(m.eq_data[i, 0])]
    made = shifted(given, at[1])
    return {
        **{"first": names[first], "second": names[second] if second >= 0 else None},
        "polynomial": (made[0] + at[0], *made[1:]),
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


def driven_frames(m: Any, bodies: list[str]) -> list[LeftOut]:
    """Mocap bodies, which others move in MuJoCo: here they stand still."""
    moved = [bodies[i] for i in range(1, m.nbody) if int(m.body_mocapid[i]) >= 0]
    effect = "stands still at its pose, and so does what is welded to it"
    return [LeftOut("motion of a mocap body", name, effect) for name in moved]


def postures(mujoco: ModuleType, m: Any) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """(name, q): the reference posture, then the keyframes, in the coordinates of our model."""
    key = mujoco.mjtObj.mjOBJ_KEY
    named = {"reference": m.qpos0}
    for k in range(m.nkey):
        named.setdefault(mujoco.mj_id2name(m, key, k) or f"keyframe{k}", m.key_qpos[k])
    return tuple((name, tuple(map(float, configuration(m, qpos)))) for name, qpos in named.items())


def configuration(m: Any, qpos: Any) -> np.ndarray:
    """q (nq,) of a MuJoCo qpos: only quaternions differ, (w, x, y, z) there, (x, y, z, w) here."""
    q = np.array(qpos, dtype=float)
    for k in range(m.njnt):
        start = int(m.jnt_qposadr[k]) + {0: 3, 1: 0}.get(int(m.jnt_type[k]), -1)
        if int(m.jnt_type[k]) in (0, 1):  # free, ball
            w = q[start]
            q[start : start + 3], q[start + 3] = q[start + 1 : start + 4].copy(), w
            q[start : start + 4] /= np.linalg.norm(q[start : start + 4]) or 1.0
    return q


def _rows(position: Any, quaternion: Any = (1.0, 0.0, 0.0, 0.0)) -> Rows4:
    """A pose (4, 4) of rows, from a position and a quaternion (w, x, y, z)."""
    R = rotation_of(np.asarray(quaternion) / np.linalg.norm(quaternion))
    return rows_of(pose(R, np.array(position)))
