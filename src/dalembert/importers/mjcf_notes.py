"""What a compiled MJCF model has beyond a tree of bodies: kept, ignored, or warned of."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from dalembert.importers.mjcf_loops import driven_frames, equalities, postures
from dalembert.model.notes import LeftOut, Notes


def report(mujoco: ModuleType, m: Any, bodies: list[str], joints: list[str], source: str) -> Notes:
    """The notes of a model; `bodies` and `joints` are names by index."""
    kept, others = equalities(mujoco, m, bodies, joints)
    warnings = _massless(m, bodies)
    warnings += [f"{kind} constraint {name!r} is ignored" for kind, name in others]
    return Notes(
        source=source,
        merged=tuple(_merged(m, bodies)),
        ignored=tuple(_ignored(m)),
        warnings=tuple(warnings),
        equalities=tuple(kept),
        postures=postures(mujoco, m),
        left_out=(*_surroundings(m), *_lifted_by_drives(m, joints), *driven_frames(m, bodies)),
    )


def _surroundings(m: Any) -> list[LeftOut]:
    found = []
    if m.nflex:
        found.append(LeftOut("flex", f"{m.nflex} of them", "deformable bodies do not deform"))
    return found


def _lifted_by_drives(m: Any, joints: list[str]) -> list[LeftOut]:
    """Joints whose drive carries lifted weights within its own limit of force."""
    if not m.body_gravcomp.any():
        return []
    effect = "its drive lifts weights beyond actuatorfrcrange"
    clamped = (m.jnt_actgravcomp != 0) & (m.jnt_actfrclimited != 0)
    return [LeftOut("actuatorgravcomp", joints[k], effect) for k in np.flatnonzero(clamped)]


def _massless(m: Any, bodies: list[str]) -> list[str]:
    return [
        f"body {bodies[i]!r} moves but has no mass"
        for i in range(1, m.nbody)
        if m.body_jntnum[i] and m.body_mass[i] == 0.0 and m.body_weldid[i] == i
    ]


def _merged(m: Any, bodies: list[str]) -> list[str]:
    return [
        f"{bodies[i]} into {bodies[int(m.body_weldid[i])]}"
        for i in range(1, m.nbody)
        if int(m.body_weldid[i]) != i
    ]


def _ignored(m: Any) -> list[str]:
    counts = {"geom": m.ngeom, "sensor": m.nsensor, "camera": m.ncam, "light": m.nlight}
    counts |= {"mocap body": m.nmocap}
    return [f"{name} ({count})" for name, count in counts.items() if count]
