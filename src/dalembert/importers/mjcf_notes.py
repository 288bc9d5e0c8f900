"""What a compiled MJCF model has beyond a tree of bodies: kept, ignored, or warned of."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from dalembert.importers.mjcf_loops import driven_frames, equalities, postures
from dalembert.model.notes import Notes


def report(mujoco: ModuleType, m: Any, bodies: list[str], joints: list[str], source: str) -> Notes:
    """The notes of a model; `bodies` and `joints` are names by index."""
    kept, others = equalities(mujoco, m, bodies, joints)
    warnings = [*_springs(mujoco, m, joints), *_surroundings(m, bodies), *_massless(m, bodies)]
    warnings += [f"{kind} constraint {name!r} is ignored" for kind, name in others]
    return Notes(
        source=source,
        merged=tuple(_merged(m, bodies)),
        ignored=tuple(_ignored(m)),
        warnings=tuple(warnings),
        equalities=tuple(kept),
        postures=postures(mujoco, m),
        left_out=tuple(driven_frames(m, bodies)),
    )


def _springs(mujoco: ModuleType, m: Any, joints: list[str]) -> list[str]:
    found = []
    for k, name in enumerate(joints):
        dof = int(m.jnt_dofadr[k])
        if m.jnt_stiffness[k] != 0.0 or np.any(
            getattr(m, "jnt_stiffnesspoly", [[0.0]] * m.njnt)[k]
        ):
            found.append(f"joint {name!r}: its spring is ignored")
        if np.any(getattr(m, "dof_dampingpoly", [[0.0]] * m.nv)[dof]):
            found.append(f"joint {name!r}: damping that is not linear is ignored")
        free = int(m.jnt_type[k]) == mujoco.mjtJoint.mjJNT_FREE
        if free and (m.dof_armature[dof] != 0.0 or m.dof_frictionloss[dof] != 0.0):
            found.append(
                f"free joint {name!r}: armature and frictionloss act on the body twist here, on "
                "the velocity in the world in MuJoCo"
            )
    return found


def _surroundings(m: Any, bodies: list[str]) -> list[str]:
    found = [
        f"body {bodies[i]!r}: gravcomp is ignored" for i in np.flatnonzero(m.body_gravcomp).tolist()
    ]
    if m.opt.density != 0.0 or m.opt.viscosity != 0.0:
        found.append("the fluid around the robot (density, viscosity) is ignored")
    if m.nflex:
        found.append(f"{m.nflex} deformable bodies (flex) are ignored")
    return found


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
    counts = {"geom": m.ngeom, "sensor": m.nsensor, "tendon": m.ntendon}
    counts |= {"camera": m.ncam, "light": m.nlight, "keyframe": m.nkey, "mocap body": m.nmocap}
    return [f"{name} ({count})" for name, count in counts.items() if count]
