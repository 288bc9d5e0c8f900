"""`dalembert path ROBOT --points FILE`: the fastest motion along way-points, as a table and a page."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer

from dalembert.cli.coordinates import joint_limits, state
from dalembert.cli.output import console, print_json, say, show, table, writing
from dalembert.cli.report import FOLDER, name_page
from dalembert.cli.simulate import require_writable, write
from dalembert.cli.subject import load
from dalembert.control import CartesianPath, TimedPath, through, time_optimal
from dalembert.control import Path as JointPath
from dalembert.errors import SettingError, TrajectoryError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.report.page import write_page
from dalembert.report.runs import run_page
from dalembert.simulation.log_columns import columns_of
from dalembert.simulation.log_table import FIRST, read_table, refuse_gaps
from dalembert.simulation.log_units import Units
from dalembert.simulation.log_write import write_log
from dalembert.spatial import matrix_from_quaternion, pose, rotation_from_rpy
from dalembert.systems.reaching.follow import PathWarning
from dalembert.systems.robot import Robot
from dalembert.text import file_name, visible

KINDS = ("cubic", "quintic", "lines", "arc")
DEGREES = {"cubic": 3, "quintic": 5, "lines": 1}
PLACE, QUATERNION, ANGLES = ("x", "y", "z"), ("qw", "qx", "qy", "qz"), ("roll", "pitch", "yaw")
SUFFIXES = (".csv", ".nc", ".zarr")


@dataclass(frozen=True)
class Options:
    """What the command line says of a path."""

    points: Path
    kind: str | None = None
    blend: float = 0.0
    q: str | None = None
    frame: str = "tool"
    velocity: str | None = None
    acceleration: str | None = None
    torque: str | None = None
    grid: int | None = None
    dt: float = 0.01
    out: Path | None = None
    report: bool = False


def path(name: str, options: Options, degrees: bool, as_json: bool) -> None:
    """Read the way-points, find the motion, say what limits it, and write what is asked."""
    robot = load(name).compiled
    if not isinstance(robot, Robot):
        raise TrajectoryError(f"{name} is not an open chain of joints; path needs a robot")
    if options.out is not None:
        require_writable(options.out, SUFFIXES)
    found = _found(robot, options, degrees)
    velocity, acceleration, torque = (
        joint_limits(robot, kind, getattr(options, kind))
        for kind in ("velocity", "acceleration", "torque")
    )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", PathWarning)
        fast = time_optimal(found, robot, velocity, acceleration, torque, options.grid)
    for warning in told:
        typer.echo(f"warning: {visible(str(warning.message))}", err=True)
    run = fast.sampled(options.dt)
    if options.out is not None:
        write_motion(run, options.out)
    page = _page(robot, run, options) if options.report else None
    if as_json:
        print_json(_facts(fast, found, options, page))
        return
    _show(robot, fast, found, options)
    if page is not None:
        name_page(console(), page, page.stat().st_size)


def _found(robot: Robot, options: Options, degrees: bool) -> JointPath:
    """The path of the joints, from a table of their positions or of poses."""
    names, values = read_table(options.points)
    if options.kind is not None and options.kind not in KINDS:
        raise UnknownNameError(
            f"there is no kind of path {options.kind!r}{suggest(options.kind, list(KINDS))}"
        )
    plain = [name.split("[")[0].strip().casefold() for name in names]
    if set(PLACE) <= set(plain) and not set(plain) & set(map(str.casefold, robot.coordinates)):
        return _of_poses(robot, _poses(robot, plain, values, options, degrees), options, degrees)
    if options.kind == "arc":
        raise SettingError("--kind arc is for poses: columns x, y, z and an orientation")
    kind = options.kind or "cubic"
    if options.blend and kind != "lines":
        raise SettingError("--blend is for --kind lines")
    q = _positions(robot, names, values, degrees)
    return through(q, DEGREES[kind], blend=options.blend)


def _positions(robot: Robot, names: list[str], values: np.ndarray, degrees: bool) -> np.ndarray:
    """Way-points (m, nq) by the names of joints."""
    columns = columns_of(names, robot, Units(degrees))
    if columns.following:
        follower = next(iter(columns.following))
        raise TrajectoryError(f"joint {follower!r} follows others: leave its column out")
    if "found" in names and not values[:, names.index("found")].all():
        row = int(np.argmin(values[:, names.index("found")])) + FIRST
        raise TrajectoryError(f"line {row}: this posture was not found by ik; leave it out")
    own = columns.entries["q"]
    missing = [name for k, name in enumerate(robot.coordinates) if k not in own]
    if missing:
        raise TrajectoryError(f"the file has no column for joint {missing[0]!r}")
    used = [own[k] for k in range(robot.nq)]
    picked = values[:, [column.place for column in used]]
    refuse_gaps([column.name for column in used], picked)
    return picked * np.array([column.factor for column in used])


def _poses(
    robot: Robot, names: list[str], values: np.ndarray, options: Options, degrees: bool
) -> np.ndarray:
    """Poses (m, 4, 4) from columns x, y, z and a quaternion or roll, pitch, yaw."""

    def picked(wanted: tuple[str, ...]) -> np.ndarray:
        found = values[:, [names.index(name) for name in wanted]]
        refuse_gaps(wanted, found)
        return found

    p = picked(PLACE)
    if set(QUATERNION) <= set(names):
        q = picked(QUATERNION)
        R = [matrix_from_quaternion(x / np.linalg.norm(x)) for x in q]
    elif set(ANGLES) <= set(names):
        turns = picked(ANGLES)
        R = [rotation_from_rpy(np.radians(x) if degrees else x) for x in turns]
    elif options.q is not None:
        here = robot.pose(state(robot, {"q": options.q}, degrees)["q"], options.frame)
        R = [here[:3, :3]] * len(p)
    else:
        raise TrajectoryError(
            "poses need an orientation: columns qw, qx, qy, qz or roll, pitch, yaw, or a posture "
            "--q whose orientation is kept"
        )
    return np.stack([pose(r, x) for r, x in zip(R, p, strict=True)])


def _of_poses(robot: Robot, poses: np.ndarray, options: Options, degrees: bool) -> JointPath:
    kind = options.kind or "lines"
    if kind not in ("lines", "arc"):
        raise SettingError(f"--kind {kind} is for positions of joints; poses take lines or arc")
    if kind == "arc":
        if len(poses) < 3 or len(poses) % 2 == 0 or options.blend:
            raise SettingError("--kind arc takes 3, 5, 7 … poses and no --blend")
        arcs = [CartesianPath.arc(*poses[k : k + 3]) for k in range(0, len(poses) - 1, 2)]
        way = sum(arcs[1:], start=arcs[0])
    else:
        way = CartesianPath.lines(poses, blend=options.blend)
    q0 = None if options.q is None else state(robot, {"q": options.q}, degrees)["q"]
    return way.joints(robot, q0, options.frame)


def write_motion(run: Any, out: Path) -> None:
    """A table that `read_log` understands, or all of it as netCDF or Zarr."""
    if out.suffix != ".csv":
        write(run, out)
        return
    with writing(out):
        write_log(run, out)


def _page(robot: Robot, run: Any, options: Options) -> Path:
    where = FOLDER / f"{file_name(options.points.stem)}.html"
    if options.out is not None:
        where = options.out.with_suffix(".html")
    with console().status("drawing …"):
        write_page(run_page(run, robot), where)
    return where


def _facts(
    fast: TimedPath, found: JointPath, options: Options, page: Path | None
) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "robot": fast.system.name if fast.system is not None else "",
        "seconds": fast.duration,
        "intervals": len(fast.grid) - 1,
        "deviation": found.deviation,
        "stops": found.corners,
        "active": [limit._asdict() for limit in fast.active],
    }
    written = {"out": options.out, "report": page}
    return facts | {name: str(x) for name, x in written.items() if x is not None}


def _show(robot: Robot, fast: TimedPath, found: JointPath, options: Options) -> None:
    screen = console()
    title = f"{robot.name}, {fast.duration:.6g} s, {len(fast.grid) - 1} intervals"
    made = table(title, "limit", "joint", "share of the time", "first at s", left=2)
    for limit in fast.active:
        made.add_row(limit.kind, limit.joint, f"{100.0 * limit.share:.3g} %", f"{limit.first:.4g}")
    show(screen, made)
    if found.deviation:
        say(screen, f"the frame keeps to its path within {found.deviation:.1e} m and rad")
    if len(found.corners):
        places = ", ".join(f"{s:.4g}" for s in found.corners)
        say(screen, f"it stops in the corners at s = {places}; --blend rounds them")
    if options.out is not None:
        say(screen, f"written: {options.out}")
