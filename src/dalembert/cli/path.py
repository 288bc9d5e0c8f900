"""`dalembert path ROBOT --points FILE`: the fastest motion along way-points, as a table and a page."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from dalembert.cli.inputs import joint_limits, load_changed, state
from dalembert.cli.output import console, print_json, say, show, table
from dalembert.cli.results import (
    MOTIONS,
    named,
    require_writable,
    say_written,
    write_motion,
    write_run_page,
)
from dalembert.control import CartesianPath, Path, TimedPath, through, time_optimal
from dalembert.errors import SettingError, TrajectoryError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.simulation.log_columns import columns_of
from dalembert.simulation.log_table import FIRST, read_table, refuse_gaps
from dalembert.simulation.log_units import Units
from dalembert.spatial import matrix_from_quaternion, pose, rotation_from_rpy
from dalembert.systems.reaching.follow import PathWarning
from dalembert.systems.robot import Robot
from dalembert.text import visible

if TYPE_CHECKING:
    from dalembert.cli.app import PathOptions

KINDS = ("cubic", "quintic", "lines", "arc")
DEGREES = {"cubic": 3, "quintic": 5, "lines": 1}
PLACE, QUATERNION, ANGLES = ("x", "y", "z"), ("qw", "qx", "qy", "qz"), ("roll", "pitch", "yaw")


def path(options: PathOptions) -> None:
    """Read the way-points, find the motion, say what limits it, and write what is asked."""
    robot = load_changed(options).compiled
    if not isinstance(robot, Robot):
        raise TrajectoryError(f"{options.robot} is not an open chain of joints; path needs a robot")
    require_writable(options.out, MOTIONS)
    found = _found(robot, options)
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
    page = None
    if options.report:
        page = write_run_page(run, robot, options.out, options.points.stem)
    if options.json:
        print_json(_facts(fast, found) | named(out=options.out, report=page))
        return
    _show(robot, fast, found)
    say_written(options.out, page)


def _found(robot: Robot, options: PathOptions) -> Path:
    """The path of the joints, from a table of their positions or of poses."""
    names, values = read_table(options.points)
    if options.kind is not None and options.kind not in KINDS:
        raise UnknownNameError(
            f"there is no kind of path {options.kind!r}{suggest(options.kind, list(KINDS))}"
        )
    plain = [name.split("[")[0].strip().casefold() for name in names]
    if set(PLACE) <= set(plain) and not set(plain) & set(map(str.casefold, robot.coordinates)):
        return _of_poses(robot, _poses(robot, plain, values, options), options)
    if options.kind == "arc":
        raise SettingError("--kind arc is for poses: columns x, y, z and an orientation")
    kind = options.kind or "cubic"
    if options.blend and kind != "lines":
        raise SettingError("--blend is for --kind lines")
    q = _positions(robot, names, values, options.deg)
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


def _poses(robot: Robot, names: list[str], values: np.ndarray, options: PathOptions) -> np.ndarray:
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
        R = [rotation_from_rpy(np.radians(x) if options.deg else x) for x in turns]
    elif options.q is not None:
        here = robot.pose(state(robot, options, "q")["q"], options.frame)
        R = [here[:3, :3]] * len(p)
    else:
        raise TrajectoryError(
            "poses need an orientation: columns qw, qx, qy, qz or roll, pitch, yaw, or a posture "
            "--q whose orientation is kept"
        )
    return np.stack([pose(r, x) for r, x in zip(R, p, strict=True)])


def _of_poses(robot: Robot, poses: np.ndarray, options: PathOptions) -> Path:
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
    q0 = None if options.q is None else state(robot, options, "q")["q"]
    return way.joints(robot, q0, options.frame)


def _facts(fast: TimedPath, found: Path) -> dict[str, Any]:
    return {
        "robot": fast.system.name if fast.system is not None else "",
        "seconds": fast.duration,
        "intervals": len(fast.grid) - 1,
        "deviation": found.deviation,
        "stops": found.corners,
        "active": [limit._asdict() for limit in fast.active],
    }


def _show(robot: Robot, fast: TimedPath, found: Path) -> None:
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
