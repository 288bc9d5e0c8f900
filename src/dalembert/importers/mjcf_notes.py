"""What a compiled MJCF model has beyond a tree of bodies: kept, ignored, or warned of."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from dalembert.importers.mjcf_loops import driven_frames, equalities, postures
from dalembert.model.notes import LeftOut, Notes


def report(mujoco: ModuleType, m: Any, bodies: list[str], joints: list[str], source: str) -> Notes:
    """The notes of a model; `bodies` and `joints` are names by index."""
    kept, others = equalities(mujoco, m, bodies, joints)
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
    flexible = []
    if m.nflex:
        flexible = [LeftOut("flex", f"{m.nflex} of them", "deformable bodies do not deform")]
    return Notes(
        source=source,
        merged=tuple(f"{bodies[i]} into {bodies[welded[i]]}" for i in moving if welded[i] != i),
        ignored=tuple(f"{what} ({count})" for what, count in counts.items() if count),
        warnings=tuple(warnings),
        equalities=tuple(kept),
        postures=postures(mujoco, m),
        left_out=(*flexible, *driven_frames(m, bodies)),
    )
