"""`dalembert ik` and `dalembert path`: joint positions for poses, and time-optimal motions."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from dalembert import control
from dalembert.cli.inputs import (
    coordinates,
    joint_value,
    known_frame,
    load_changed,
    motion_limits,
    parse,
    parse_coordinates,
    state,
)
from dalembert.cli.options import FAILURE, complain
from dalembert.cli.output import console, number, print_json, say, show_table
from dalembert.cli.results import MOTIONS, path_names, require_writable, say_written, write_results
from dalembert.errors import FormulationError, SettingError, TrajectoryError
from dalembert.logs.columns import match_columns
from dalembert.logs.tables import FIRST_LINE, read_columns, require_finite, write_table
from dalembert.logs.units import Units
from dalembert.spatial import matrix_from_quaternion, pose, rotation_from_rpy
from dalembert.systems.ik.algebraic import IKFlags
from dalembert.systems.ik.paths import PathWarning
from dalembert.systems.robot import Robot
from dalembert.systems.system import System
from dalembert.text import require_known, visible

if TYPE_CHECKING:
    from dalembert.cli.app import IkOptions, PathOptions

POSITION, QUATERNION = ("x", "y", "z"), ("qx", "qy", "qz", "qw")
ANGLES, TIMES = ("roll", "pitch", "yaw"), ("time", "t")
KINDS = ("cubic", "quintic", "lines", "arc")
DEGREES = {"cubic": 3, "quintic": 5, "lines": 1}


# inverse kinematics


def ik(options: IkOptions) -> None:
    """Solve for one target or for every pose of a file; print or write the joint positions."""
    if (options.fixed or options.swivel is not None) and not (options.all or options.explain):
        raise SettingError("--fixed and --swivel are for --all; --lock makes a joint rigid")
    if options.explain:
        _explain(options)
        return
    if (options.target is None) == (options.csv is None):
        raise SettingError("give --target x,y,z,roll,pitch,yaw, or a file of poses: --csv FILE")
    if options.out is not None and options.csv is None:
        raise SettingError("--out needs poses from a file: --csv FILE")
    if options.path and (options.csv is None or options.all):
        raise SettingError("--path is for --csv FILE, without --all")
    require_writable(options.out, (".csv",))
    system = load_changed(options).compiled
    if not system.dynamics.frames:
        raise FormulationError(f"{options.robot} has no frames to put anywhere; give a robot")
    frame = known_frame(system, options.frame)
    T, task, times = _targets(options)
    postures, solved, messages, more = _solve(system, frame, T, task, options)
    if options.out is not None:
        # a row for each solution: time or number of the pose, joints, whether it was found
        names = [f"{x.name} [{x.unit('q')}]".removesuffix(" []") for x in coordinates(system, "q")]
        head = ["pose" if times is None else "time [s]", *names, "found"]
        labels = np.arange(len(postures)) if times is None else times
        counts = [len(q) for q in postures]
        first, last = (np.repeat(x, counts) for x in (labels, solved))
        rows = np.column_stack([first, np.concatenate(postures), last])
        write_table(options.out, head, rows, [*["%.16g"] * (len(head) - 1), "%d"])
    if options.json:
        facts = {
            "robot": system.name,
            "frame": frame,
            "task": task,
            "joints": list(system.coordinates),
            "found": solved,
            "q": postures,
            "jumps": [] if options.all else messages,
            "incomplete": messages if options.all else [],
            **more,
        }
        print_json(facts)
    else:
        title = f"{system.name}, {task} of {frame!r}"
        _show_solutions(system, title, postures, solved, messages, more, options)
    if not solved.all():
        unsolved = np.flatnonzero(~solved)
        listed = ", ".join(map(str, unsolved[:10])) + (", …" if len(unsolved) > 10 else "")
        reason = "out of reach, or of the limits (--no-limits)"
        complain(f"{len(unsolved):,} of {len(solved):,} targets not found, {listed}: {reason}")
        raise typer.Exit(FAILURE)


def _targets(options: IkOptions) -> tuple[np.ndarray, str, np.ndarray | None]:
    """Poses (n, 4, 4), the task "pose" or "position", and the times (n,) of a file, s.

    A file has the columns x, y, z and those of an orientation, in any order, with or without a unit
    in brackets.
    """
    times = None
    if options.csv is not None:
        header, cells = read_columns(options.csv)
        known = [text.partition("[")[0].strip().lower() for text in header]
        for text, name in zip(header, known, strict=True):
            unit = text.partition("[")[2].rstrip("] ").lower()
            expected = "m" if name in POSITION else "rad" if name in ANGLES else unit
            if unit not in ("", expected):
                raise TrajectoryError(f"{options.csv}: column {text!r}: poses are in m and rad")
        times = next((cells[:, known.index(name)] for name in TIMES if name in known), None)
    else:
        known = [*POSITION, *ANGLES]
        kinds = [*["length"] * len(POSITION), *["angle"] * len(ANGLES)]
        names = ("a frame", POSITION, known)
        cells = parse(options.target or "", "--target", *names, kinds=kinds, degrees=options.deg)[
            None
        ]
        known = known[: cells.shape[1]]
    try:
        positions, rotations = _columns(known, cells, POSITION), None
        if not options.position_only:
            rotations = _rotations(known, cells, options.deg and options.csv is not None)
    except TrajectoryError as error:
        raise TrajectoryError(f"{options.csv}: {error}") from None
    R = np.eye(3) if rotations is None else rotations
    T = np.broadcast_to(np.eye(4), (len(positions), 4, 4)).copy()
    T[:, :3, 3], T[:, :3, :3] = positions, R
    return T, "position" if rotations is None else "pose", times


def _columns(names: list[str], values: np.ndarray, needed: tuple[str, ...]) -> np.ndarray:
    """Columns (rows, len(needed)) of a table by name; gaps are errors."""
    missing = [name for name in needed if name not in names]
    if missing:
        raise TrajectoryError(
            f"there is no column {', '.join(missing)}; poses have the columns x, y, z and roll, "
            "pitch, yaw or qw, qx, qy, qz, points the first three"
        )
    columns = values[:, [names.index(name) for name in needed]]
    require_finite(needed, columns)
    return columns


def _rotations(names: list[str], values: np.ndarray, degrees: bool) -> np.ndarray | None:
    """Orientations (rows, 3, 3) of a table by quaternions or angles; None where it has none."""
    if set(QUATERNION) & set(names):
        quaternions = _columns(names, values, QUATERNION)
        return np.stack([matrix_from_quaternion(x) for x in quaternions])
    if set(ANGLES) & set(names):
        angles = _columns(names, values, ANGLES)
        return np.stack([rotation_from_rpy(np.radians(x) if degrees else x) for x in angles])
    return None


def _solve(
    system: System, frame: str, T: np.ndarray, task: str, options: IkOptions
) -> tuple[list[np.ndarray], np.ndarray, list[str], dict[str, list[np.ndarray]]]:
    """Solutions (m, nq) of every target, whether it was solved (n,), and messages about them.

    Of all solutions by algebra also the multiplicity (m,) and the family (m, nq), by these names.
    """
    settings: dict[str, Any] = {
        "frame": frame,
        "task": task,
        "limits": not options.no_limits,
        "tol": options.tolerance,
        "rng": options.seed,
    }
    if options.all and task == "pose":
        all_of = system.all_inverse_kinematics(
            T, frame, not options.no_limits, turns=False, **_given_joints(system, options)
        )
        words = {
            IKFlags.CONTINUUM: "a continuum of postures: one of each is listed",
            IKFlags.INCOMPLETE: "near a singular posture; the list may be incomplete",
        }
        messages = [
            f"pose {k}: {text}"
            for k, flags in enumerate(all_of.flags)
            for flag, text in words.items()
            if flags & flag
        ]
        postures, multiplicity, family = (
            [x[:n] for x, n in zip(rows, all_of.count, strict=True)]
            for rows in (all_of.solutions, all_of.multiplicity, all_of.family)
        )
        more = {"multiplicity": multiplicity, "family": family}
        return postures, all_of.count > 0, messages, more
    if options.fixed or options.swivel is not None:
        raise SettingError("--fixed and --swivel are for whole poses, not for points")
    if options.all:
        every = system.all_postures(T, **settings)
        messages = [
            f"pose {k}: near a singular posture; the list may be incomplete"
            for k in np.flatnonzero(every.incomplete)
        ]
        return [x[:n] for x, n in zip(*every, strict=True)], every.number > 0, messages, {}
    if options.q is not None:
        settings["q0"] = parse_coordinates(system, "q", options.q, options.deg)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jumps are listed among the messages
        result = system.inverse_kinematics(
            T, **settings, max_restarts=options.restarts, continuous=options.path
        )
    jumps = [str(jump) for jump in getattr(result, "jumps", ())]
    return list(result.q[:, None]), result.found, jumps, {}


def _given_joints(system: System, options: IkOptions) -> dict[str, Any]:
    """The joints and the swivel angle that the options fix, as `all_inverse_kinematics` takes them."""
    texts, swivel = options.fixed or (), options.swivel
    if swivel is not None and options.deg:
        swivel = math.radians(swivel)
    fixed = dict(joint_value(system, "--fixed", text, options.deg) for text in texts)
    return {"fixed": fixed, "swivel": swivel}


def _explain(options: IkOptions) -> None:
    """Print how all postures of a frame are solved for."""
    system = load_changed(options).compiled
    frame = known_frame(system, options.frame)
    text = system.all_inverse_kinematics(
        np.eye(4), frame, explain=True, **_given_joints(system, options)
    )
    if options.json:
        print_json({"robot": system.name, "frame": frame, "explanation": text})
    else:
        for line in str(text).splitlines():
            say(console(), line)


def _show_solutions(
    system: System,
    title: str,
    postures: list[np.ndarray],
    solved: np.ndarray,
    messages: list[str],
    more: dict[str, list[np.ndarray]],
    options: IkOptions,
) -> None:
    screen = console()
    if options.out is None:

        def note(k: int, i: int) -> str:
            if not solved[k]:
                return "not found: the nearest"
            if more and not np.isnan(more["family"][k][i]).any():
                return "one of a family"
            count = more["multiplicity"][k][i] if more else 1
            return f"counts {count} times" if count > 1 else ""

        heads = [f"{x.name}, {x.unit('q')}".removesuffix(", ") for x in coordinates(system, "q")]
        rows = [
            (str(k), *map(number, q), note(k, i))
            for k, several in enumerate(postures)
            for i, q in enumerate(several)
        ]
        show_table(screen, title, ("pose", *heads, ""), rows)
    count = sum(map(len, postures)) if options.all else int(solved.sum())
    words = "postures of" if options.all else "found of"
    say(screen, f"{count:,} {words} {len(solved):,} targets")
    for message in messages:
        say(screen, ("jump:", "red"), f" {message}")
    say_written(options.out)


# time-optimal motion along a path


def path(options: PathOptions) -> None:
    """Find the fastest motion through way-points, print which limits are active, write it."""
    robot = load_changed(options).compiled
    if not isinstance(robot, Robot):
        raise TrajectoryError(f"{options.robot} is not an open chain of joints; path needs a robot")
    require_writable(options.out, MOTIONS)
    joint_path = _joint_path(robot, options)
    limits = motion_limits(robot, options)
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always", PathWarning)
        motion = control.time_optimal(joint_path, robot, **limits, grid=options.grid)
    for warning in messages:
        typer.echo(f"warning: {visible(str(warning.message))}", err=True)
    run = motion.sampled(options.dt)
    paths = write_results(run, robot, options, options.points.stem)
    if options.json:
        facts = {
            "robot": motion.system.name if motion.system is not None else "",
            "seconds": motion.duration,
            "intervals": len(motion.grid) - 1,
            "deviation": joint_path.deviation,
            "stops": joint_path.corners,
            "active": [limit._asdict() for limit in motion.active],
        }
        print_json(facts | path_names(**paths))
        return
    screen = console()
    title = f"{robot.name}, {motion.duration:.6g} s, {len(motion.grid) - 1} intervals"
    heads = ("limit", "joint", "share of the time", "first at s")
    rows = [(x.kind, x.joint, f"{100.0 * x.share:.3g} %", f"{x.first:.4g}") for x in motion.active]
    show_table(screen, title, heads, rows, left=2)
    if joint_path.deviation:
        say(screen, f"the frame keeps to its path within {joint_path.deviation:.1e} m and rad")
    if len(joint_path.corners):
        corners = ", ".join(f"{s:.4g}" for s in joint_path.corners)
        say(screen, f"it stops in the corners at s = {corners}; --blend rounds them")
    say_written(**paths)


def _joint_path(robot: Robot, options: PathOptions) -> control.Path:
    """The path of the joints, from a table of their positions or of poses."""
    names, values = read_columns(options.points)
    if options.kind is not None:
        require_known(options.kind, KINDS, "there is no kind of path")
    plain = [name.split("[")[0].strip().casefold() for name in names]
    if set(POSITION) <= set(plain) and not set(plain) & set(map(str.casefold, robot.coordinates)):
        return _pose_path(robot, plain, values, options)
    if options.kind == "arc":
        raise SettingError("--kind arc is for poses: columns x, y, z and an orientation")
    kind = options.kind or "cubic"
    if options.blend and kind != "lines":
        raise SettingError("--blend is for --kind lines")
    columns = match_columns(names, robot, Units(options.deg))
    if columns.following:
        follower = next(iter(columns.following))
        raise TrajectoryError(f"joint {follower!r} follows others: leave its column out")
    if "found" in names and not values[:, names.index("found")].all():
        row = int(np.argmin(values[:, names.index("found")])) + FIRST_LINE
        raise TrajectoryError(f"line {row}: this posture was not found by ik; leave it out")
    entries = columns.entries["q"]
    missing = [name for k, name in enumerate(robot.coordinates) if k not in entries]
    if missing:
        raise TrajectoryError(f"the file has no column for joint {missing[0]!r}")
    used = [entries[k] for k in range(robot.nq)]
    q = values[:, [column.index for column in used]]
    require_finite([column.name for column in used], q)
    q = q * np.array([column.factor for column in used])
    return control.through(q, DEGREES[kind], blend=options.blend)


def _pose_path(
    robot: Robot, names: list[str], values: np.ndarray, options: PathOptions
) -> control.Path:
    """The joint path along lines or arcs through poses, by x, y, z and a quaternion or angles."""
    kind = options.kind or "lines"
    p = _columns(names, values, POSITION)
    q0 = None if options.q is None else state(robot, options, "q")["q"]
    rotations = _rotations(names, values, options.deg)
    if rotations is None:
        if q0 is None:
            raise TrajectoryError(
                "poses need an orientation: columns qw, qx, qy, qz or roll, pitch, yaw, or a "
                "posture --q whose orientation is kept"
            )
        rotations = np.broadcast_to(robot.pose(q0, options.frame)[:3, :3], (len(p), 3, 3))
    poses = np.stack([pose(R, x) for R, x in zip(rotations, p, strict=True)])
    if kind == "arc":
        if len(poses) < 3 or len(poses) % 2 == 0 or options.blend:
            raise SettingError("--kind arc takes 3, 5, 7 … poses and no --blend")
        arcs = [control.CartesianPath.arc(*poses[k : k + 3]) for k in range(0, len(poses) - 1, 2)]
        cartesian = sum(arcs[1:], start=arcs[0])
    elif kind == "lines":
        cartesian = control.CartesianPath.lines(poses, blend=options.blend)
    else:
        raise SettingError(f"--kind {kind} is for positions of joints; poses take lines or arc")
    return cartesian.joints(robot, q0, options.frame)
