"""Where the numbers of a fitted robot come from, in sentences that go with it into files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import numpy as np

from dalembert.identification.columns import Columns
from dalembert.identification.rebuilt import around
from dalembert.model.notes import LeftOut
from dalembert.systems.system import System
from dalembert.text import visible

NO_PLACE = {
    "stribeck": "friction of a joint that hardly moves is larger by this, N m or N",
    "load": "friction grows by this part of the torque that the links need",
}


def with_provenance(
    system: System, columns: Columns, x: np.ndarray, lines: Sequence[str]
) -> System:
    """The fitted system whose notes say where its numbers come from, and what it has no place for."""
    robot: Any = system.robot
    notes = robot.model.tree.notes
    notes = replace(
        notes,
        provenance=(*notes.provenance, *(visible(line) for line in lines)),
        left_out=(*notes.left_out, *_left_out(columns, x)),
    )
    return around(system, robot.model.with_notes(notes))


def _left_out(columns: Columns, x: np.ndarray) -> list[LeftOut]:
    """Friction that a drive cannot hold."""
    found = []
    for name, value in zip(columns.names[columns.inertial :], x[columns.inertial :], strict=True):
        joint, _, kind = name.rpartition(":")
        if kind in NO_PLACE and value:
            found.append(LeftOut(f"{kind} friction", joint, f"{NO_PLACE[kind]}: {value:.6g}"))
    return found


def sentences(
    columns: Columns,
    logs: Sequence[Any],
    settings: Mapping[str, Any],
    noise: np.ndarray,
    said: Sequence[str],
) -> tuple[str, ...]:
    """What was fitted, with which settings, what was done, and what torque it leaves (equations,)."""
    shown = ", ".join(f"{k}={v!r}" for k, v in settings.items() if v is not None)
    rows = columns.rows if len(columns.rows) == len(noise) else ("all",) * len(noise)
    left = ", ".join(f"{row} {sigma:.4g}" for row, sigma in zip(rows, noise, strict=True))
    sources = [PurePath(str(getattr(log, "attrs", {}).get("source", ""))).name for log in logs]
    named = ", ".join(source or "a log" for source in sources)
    what = f"inertias, friction and rotors of {columns.system.name} fitted to {named} by dalembert"
    return (
        f"{what}: {shown}",
        f"deviation of the torques that the fit leaves, N m or N: {left}",
        *said,
    )
