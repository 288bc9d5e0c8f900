"""`dalembert ik`: joint positions that put a frame at a target, or at every pose of a file."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import typer

from dalembert.cli.commands import FAILURE, complain
from dalembert.cli.inputs import coordinates, known_frame, load_changed, parse, parse_coordinates
from dalembert.cli.output import console, number, print_json, say, show, table
from dalembert.cli.results import require_writable, say_written, write_csv
from dalembert.errors import FormulationError, SettingError, TrajectoryError
from dalembert.simulation.log_table import read_table, refuse_gaps
from dalembert.spatial import rotation_from_rpy
from dalembert.systems.system import System

if TYPE_CHECKING:
    from dalembert.cli.app import IkOptions

PLACE, TURN, TIMES = ("x", "y", "z"), ("roll", "pitch", "yaw"), ("time", "t")


class Targets(NamedTuple):
    """Poses (n, 4, 4), whether they turn the frame too, and the times of a file."""

    T: np.ndarray
    task: str
    times: np.ndarray | None = None


class Postures(NamedTuple):
    """Postures (m, nq) of every target, whether they reach it, and what is said of them."""

    q: list[np.ndarray]
    found: np.ndarray
    said: list[str]


def ik(options: IkOptions) -> None:
    """Search, verify, show or write."""
    _refuse_mixed(options)
    require_writable(options.out, (".csv",))
    system = load_changed(options).compiled
    if not system.dynamics.frames:
        raise FormulationError(f"{options.robot} has no frames to put anywhere; give a robot")
    frame = known_frame(system, options.frame)
    targets = _from_file(options) if options.csv else _from_words(options)
    postures = _search(system, frame, targets, options)
    found = postures.found
    if options.out is not None:
        _write(options.out, system, targets, postures)
    if options.json:
        print_json(_facts(system, frame, targets, postures, options))
    else:
        _show(system, frame, targets, postures, options)
    if not found.all():
        lost = np.flatnonzero(~found)
        listed = ", ".join(map(str, lost[:10])) + (", …" if len(lost) > 10 else "")
        reason = "out of reach, or of the limits (--no-limits)"
        complain(f"{len(lost):,} of {len(found):,} targets not found, {listed}: {reason}")
        raise typer.Exit(FAILURE)


def _refuse_mixed(options: IkOptions) -> None:
    if (options.target is None) == (options.csv is None):
        raise SettingError("give --target x,y,z,roll,pitch,yaw, or a file of poses: --csv FILE")
    if options.out is not None and options.csv is None:
        raise SettingError("--out needs poses from a file: --csv FILE")
    if options.path and (options.csv is None or options.all):
        raise SettingError("--path is for --csv FILE, without --all")


def _from_words(options: IkOptions) -> Targets:
    assert options.target is not None
    pieces = options.target.replace(",", " ").split()
    names = PLACE if len(pieces) == len(PLACE) else (*PLACE, *TURN)
    values = parse(options.target, "--target", "a frame", names)
    return _poses(values[None], options)


def _from_file(options: IkOptions) -> Targets:
    """Columns x, y, z and roll, pitch, yaw, in any order; a unit in brackets may follow."""
    assert options.csv is not None
    header, values = read_table(options.csv)
    names = [text.partition("[")[0].strip().lower() for text in header]
    for text, name in zip(header, names, strict=True):
        unit = text.partition("[")[2].rstrip("] ").lower()
        if (name in PLACE and unit not in ("", "m")) or (name in TURN and unit not in ("", "rad")):
            raise TrajectoryError(f"{options.csv}: column {text!r}: poses are in m and rad")
    turned = all(name in names for name in TURN)
    needed = (*PLACE, *TURN) if turned else PLACE
    missing = [name for name in PLACE if name not in names]
    missing += [name for name in TURN if any(x in names for x in TURN) and name not in names]
    if missing:
        raise TrajectoryError(
            f"{options.csv}: there is no column {', '.join(missing)}; poses have the columns "
            f"{', '.join((*PLACE, *TURN))}, points the first three"
        )
    chosen = values[:, [names.index(name) for name in needed]]
    try:
        refuse_gaps(needed, chosen)
    except TrajectoryError as error:
        raise TrajectoryError(f"{options.csv}: {error}") from None
    times = [values[:, names.index(name)] for name in TIMES if name in names]
    return _poses(chosen, options)._replace(times=times[0] if times else None)


def _poses(values: np.ndarray, options: IkOptions) -> Targets:
    T = np.broadcast_to(np.eye(4), (len(values), 4, 4)).copy()
    T[:, :3, 3] = values[:, :3]
    if values.shape[1] == len(PLACE) or options.position_only:
        return Targets(T, "position")
    turns = np.radians(values[:, 3:]) if options.deg else values[:, 3:]
    T[:, :3, :3] = [rotation_from_rpy(turn) for turn in turns]
    return Targets(T, "pose")


def _search(system: System, frame: str, targets: Targets, options: IkOptions) -> Postures:
    view: dict[str, Any] = {"frame": frame, "task": targets.task, "limits": not options.no_limits}
    view |= {"tolerance": options.tolerance, "seed": options.seed}
    if options.all:
        every = system.all_postures(targets.T, **view)
        doubted = [
            f"pose {k}: near a singular posture; the list may be incomplete"
            for k in np.flatnonzero(every.incomplete)
        ]
        return Postures([x[:n] for x, n in zip(*every, strict=True)], every.number > 0, doubted)
    start = None
    if options.q is not None:
        start = parse_coordinates(system, "q", options.q, options.deg)
    view |= {"q0": start, "restarts": options.restarts}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jumps are said below
        result = system.inverse_kinematics(targets.T, continuous=options.path, **view)
    jumps = [str(jump) for jump in getattr(result, "jumps", ())]
    return Postures(list(result.q[:, None]), result.found, jumps)


def _write(path: Path, system: Any, targets: Targets, postures: Postures) -> None:
    """A row for each posture: the time, or the number of the pose, the joints, whether it is found."""
    first = "time [s]" if targets.times is not None else "pose"
    units = [(entry.name, entry.unit("q")) for entry in coordinates(system, "q")]
    head = [first, *(f"{n} [{u}]" if u else n for n, u in units), "found"]
    number_of = targets.times if targets.times is not None else np.arange(len(postures.q))
    counts = [len(q) for q in postures.q]
    each = [np.repeat(x, counts)[:, None] for x in (number_of, postures.found)]
    rows = np.hstack([each[0], np.concatenate(postures.q), each[1]])
    write_csv(path, head, rows, [*["%.16g"] * (len(head) - 1), "%d"])


def _facts(
    system: Any, frame: str, targets: Targets, postures: Postures, options: IkOptions
) -> dict[str, Any]:
    return {
        "robot": system.name,
        "frame": frame,
        "task": targets.task,
        "joints": list(system.coordinates),
        "found": postures.found,
        "q": postures.q,
        "jumps": [] if options.all else postures.said,
        "incomplete": postures.said if options.all else [],
    }


def _show(
    system: Any, frame: str, targets: Targets, postures: Postures, options: IkOptions
) -> None:
    screen = console()
    if options.out is None:
        shown = table(f"{system.name}, {targets.task} of {frame!r}", "pose")
        for entry in coordinates(system, "q"):
            unit = entry.unit("q")
            shown.add_column(f"{entry.name}, {unit}" if unit else entry.name, justify="right")
        shown.add_column("", justify="left")
        for k, (rows, ok) in enumerate(zip(postures.q, postures.found, strict=True)):
            for q in rows:
                shown.add_row(str(k), *map(number, q), "" if ok else "not found: the nearest")
        show(screen, shown)
    count = sum(len(q) for q in postures.q) if options.all else int(postures.found.sum())
    words = "postures of" if options.all else "found of"
    say(screen, f"{count:,} {words} {len(postures.found):,} targets")
    for sentence in postures.said:
        say(screen, ("jump:", "red"), f" {sentence}")
    say_written(options.out)
