"""`dalembert ik`: joint positions that put a frame at a target, or at every pose of a file."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer

from dalembert.cli.commands import FAILURE, complain
from dalembert.cli.coordinates import coordinates, parse
from dalembert.cli.output import console, number, print_json, say, show, table, write_csv
from dalembert.cli.simulate import require_writable
from dalembert.cli.subject import load
from dalembert.errors import FormulationError, SettingError, TrajectoryError
from dalembert.simulation.log_table import read_table, refuse_gaps
from dalembert.spatial import rotation_from_rpy
from dalembert.systems.reaching.methods import InverseKinematics

PLACE, TURN, TIMES = ("x", "y", "z"), ("roll", "pitch", "yaw"), ("time", "t")
TOOL = "tool"


@dataclass(frozen=True)
class Wanted:
    """What the command line says."""

    target: str | None
    csv: Path | None
    out: Path | None
    frame: str
    position_only: bool
    all: bool
    path: bool
    start: str | None
    limits: bool
    tolerance: float
    restarts: int
    seed: int
    degrees: bool


class Targets(NamedTuple):
    """Poses (n, 4, 4), whether they turn the frame too, and the times of a file."""

    T: np.ndarray
    task: str
    times: np.ndarray | None = None


def ik(name: str, wanted: Wanted, as_json: bool) -> None:
    """Search, verify, show or write."""
    _refuse_mixed(wanted)
    if wanted.out is not None:
        require_writable(wanted.out, (".csv",))
    system = load(name).compiled
    if not isinstance(system, InverseKinematics):
        raise FormulationError(f"{name} has no frames to put anywhere; give a robot")
    frame = _frame(system, wanted.frame)
    targets = _from_file(wanted) if wanted.csv else _from_words(wanted)
    answers, found, said = _search(system, frame, targets, wanted)
    if wanted.out is not None:
        _write(wanted.out, system, targets, answers, found)
    if as_json:
        print_json(_facts(system, frame, targets, answers, found, said))
    else:
        _show(system, frame, targets, answers, found, said, wanted)
    if not found.all():
        lost = np.flatnonzero(~found)
        listed = ", ".join(map(str, lost[:10])) + (", …" if len(lost) > 10 else "")
        reason = "out of reach, or of the limits (--no-limits)"
        complain(f"{len(lost):,} of {len(found):,} targets not found, {listed}: {reason}")
        raise typer.Exit(FAILURE)


def _refuse_mixed(wanted: Wanted) -> None:
    if (wanted.target is None) == (wanted.csv is None):
        raise SettingError("give --target x,y,z,roll,pitch,yaw, or a file of poses: --csv FILE")
    if wanted.out is not None and wanted.csv is None:
        raise SettingError("--out needs poses from a file: --csv FILE")
    if wanted.path and (wanted.csv is None or wanted.all):
        raise SettingError("--path is for --csv FILE, without --all")


def _frame(system: Any, frame: str) -> str:
    """The frame of that name; the last one where there is no tool."""
    known = system.dynamics.frames
    chosen = known[-1] if frame == TOOL and known and TOOL not in known else frame
    system.dynamics.require_frame(chosen)
    return chosen


def _from_words(wanted: Wanted) -> Targets:
    assert wanted.target is not None
    pieces = wanted.target.replace(",", " ").split()
    names = PLACE if len(pieces) == len(PLACE) else (*PLACE, *TURN)
    values = parse(wanted.target, "--target", "a frame", names)
    return _poses(values[None], wanted)


def _from_file(wanted: Wanted) -> Targets:
    """Columns x, y, z and roll, pitch, yaw, in any order; a unit in brackets may follow."""
    assert wanted.csv is not None
    header, values = read_table(wanted.csv)
    names = [text.partition("[")[0].strip().lower() for text in header]
    for text, name in zip(header, names, strict=True):
        unit = text.partition("[")[2].rstrip("] ").lower()
        if (name in PLACE and unit not in ("", "m")) or (name in TURN and unit not in ("", "rad")):
            raise TrajectoryError(f"{wanted.csv}: column {text!r}: poses are in m and rad")
    turned = all(name in names for name in TURN)
    needed = (*PLACE, *TURN) if turned else PLACE
    missing = [name for name in PLACE if name not in names]
    missing += [name for name in TURN if any(x in names for x in TURN) and name not in names]
    if missing:
        raise TrajectoryError(
            f"{wanted.csv}: there is no column {', '.join(missing)}; poses have the columns "
            f"{', '.join((*PLACE, *TURN))}, points the first three"
        )
    chosen = values[:, [names.index(name) for name in needed]]
    try:
        refuse_gaps(needed, chosen)
    except TrajectoryError as error:
        raise TrajectoryError(f"{wanted.csv}: {error}") from None
    times = [values[:, names.index(name)] for name in TIMES if name in names]
    return _poses(chosen, wanted)._replace(times=times[0] if times else None)


def _poses(values: np.ndarray, wanted: Wanted) -> Targets:
    T = np.broadcast_to(np.eye(4), (len(values), 4, 4)).copy()
    T[:, :3, 3] = values[:, :3]
    if values.shape[1] == len(PLACE) or wanted.position_only:
        return Targets(T, "position")
    turns = np.radians(values[:, 3:]) if wanted.degrees else values[:, 3:]
    T[:, :3, :3] = [rotation_from_rpy(turn) for turn in turns]
    return Targets(T, "pose")


def _search(
    system: InverseKinematics, frame: str, targets: Targets, wanted: Wanted
) -> tuple[list[np.ndarray], np.ndarray, list[str]]:
    """(postures (m, nq) of every target, whether there are any, sentences to say)."""
    view: dict[str, Any] = {"frame": frame, "task": targets.task, "limits": wanted.limits}
    view |= {"tolerance": wanted.tolerance, "seed": wanted.seed}
    if wanted.all:
        q, count = system.all_postures(targets.T, **view)
        return [x[:n] for x, n in zip(q, count, strict=True)], count > 0, []
    view |= {"q0": _start(system, wanted), "restarts": wanted.restarts}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jumps are said below
        result = system.inverse_kinematics(targets.T, continuous=wanted.path, **view)
    jumps = [str(jump) for jump in getattr(result, "jumps", ())]
    return list(result.q[:, None]), result.found, jumps


def _start(system: Any, wanted: Wanted) -> np.ndarray | None:
    if wanted.start is None:
        return None
    entries = coordinates(system, "q")
    values = parse(wanted.start, "--q", system.name, [entry.name for entry in entries])
    if wanted.degrees:
        values *= [np.pi / 180.0 if entry.kind == "angle" else 1.0 for entry in entries]
    return values


def _write(
    path: Path, system: Any, targets: Targets, answers: Sequence[np.ndarray], found: np.ndarray
) -> None:
    """A row for each posture: the time, or the number of the pose, the joints, whether it is found."""
    first = "time [s]" if targets.times is not None else "pose"
    units = [(entry.name, entry.unit("q")) for entry in coordinates(system, "q")]
    head = [first, *(f"{n} [{u}]" if u else n for n, u in units), "found"]
    number_of = targets.times if targets.times is not None else np.arange(len(answers))
    counts = [len(postures) for postures in answers]
    each = [np.repeat(x, counts)[:, None] for x in (number_of, found)]
    rows = np.hstack([each[0], np.concatenate(answers), each[1]])
    write_csv(path, head, rows, [*["%.16g"] * (len(head) - 1), "%d"])


def _facts(
    system: Any,
    frame: str,
    targets: Targets,
    answers: Sequence[np.ndarray],
    found: np.ndarray,
    said: Sequence[str],
) -> dict[str, Any]:
    return {
        "robot": system.name,
        "frame": frame,
        "task": targets.task,
        "joints": list(system.coordinates),
        "found": found.tolist(),
        "q": [x.tolist() for x in answers],
        "jumps": list(said),
    }


def _show(
    system: Any,
    frame: str,
    targets: Targets,
    answers: Sequence[np.ndarray],
    found: np.ndarray,
    said: Sequence[str],
    wanted: Wanted,
) -> None:
    screen, entries = console(), coordinates(system, "q")
    if wanted.out is None:
        shown = table(f"{system.name}, {targets.task} of {frame!r}", "pose")
        for entry in entries:
            unit = entry.unit("q")
            shown.add_column(f"{entry.name}, {unit}" if unit else entry.name, justify="right")
        shown.add_column("", justify="left")
        for k, (postures, ok) in enumerate(zip(answers, found, strict=True)):
            for q in postures:
                shown.add_row(str(k), *map(number, q), "" if ok else "not found: the nearest")
        show(screen, shown)
    count = sum(len(x) for x in answers) if wanted.all else int(found.sum())
    words = "postures of" if wanted.all else "found of"
    say(screen, f"{count:,} {words} {len(found):,} targets")
    for sentence in said:
        say(screen, ("jump:", "red"), f" {sentence}")
    if wanted.out is not None:
        say(screen, f"written: {wanted.out}")
