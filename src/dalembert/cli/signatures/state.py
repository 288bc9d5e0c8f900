"""One system at one state, or along a motion: what it is and what acts on it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalembert.cli.commands import ListsCommand
from dalembert.cli.options import (
    QD,
    QDD,
    Chosen,
    Degrees,
    Json,
    Name,
    Q,
    Tabled,
    Tau,
    TipWrench,
    numbers,
)

commands = typer.Typer()


@commands.command(epilog="Example: dalembert zoo --json")
def zoo(json: Json = False) -> None:
    """List the robots that come with the package, with their sources."""
    from dalembert.cli.robots import zoo

    zoo(json)


@commands.command(epilog="Example: dalembert info ur5")
def info(
    robot: Name,
    strict: Annotated[
        bool, typer.Option("--strict", help="Warnings about a file are errors.")
    ] = False,
    json: Json = False,
) -> None:
    """Show a robot: joints, links, limits, frames, what its file said, what its dynamics cost."""
    from dalembert.cli.robots import info

    info(robot, strict, json)


@commands.command(
    cls=ListsCommand,
    epilog="Examples: dalembert inverse ur5 --q 0,-90,90,0,45,0 --deg; "
    "dalembert inverse ur5 --csv path.csv --out torques.csv --report",
)
def inverse(
    robot: Name,
    q: Q = None,
    qd: QD = None,
    qdd: QDD = None,
    tip_wrench: TipWrench = None,
    formulation: Chosen = None,
    table: Tabled = False,
    csv: Annotated[
        Path | None,
        typer.Option(help="A motion instead of one state: a column 'time' and one for each joint."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File for the torques of the motion, .csv, .nc or .zarr.")
    ] = None,
    page: Annotated[
        bool, typer.Option("--report", help="Write a page of the motion: out/NAME.html.")
    ] = False,
    dt: Annotated[
        float | None, typer.Option(help="Seconds between rows, where no column has times.")
    ] = None,
    lowpass: Annotated[
        float | None, typer.Option(help="Filter the motion, without delay, below these Hz.")
    ] = None,
    actuators: Annotated[
        str | None, typer.Option(help="Joints that drive a closed chain, by commas.")
    ] = None,
    ignore_others: Annotated[
        bool, typer.Option("--ignore-others", help="Ignore columns that belong to no joint.")
    ] = False,
    deg: Degrees = False,
    json: Json = False,
) -> None:
    """Inverse dynamics: the torques of a state, or along a motion from a file."""
    from dalembert.cli.along import Motion, along, refuse_mixed
    from dalembert.cli.dynamics import inverse, recursion

    given = {"q": q, "qd": qd, "qdd": qdd}
    motion = Motion(csv, out, page, dt, lowpass, actuators, ignore_others, tip_wrench, formulation)
    if refuse_mixed(motion, {**given, "table": table or None}):
        along(robot, motion, deg, json)
        return
    (recursion if table else inverse)(robot, given, tip_wrench, formulation, deg, json)


@commands.command(
    cls=ListsCommand,
    epilog="Examples: dalembert ik ur5 --target 0.4,0.2,0.5,0,90,0 --deg; "
    "dalembert ik ur5 --csv poses.csv --out q.csv --path",
)
def ik(
    robot: Name,
    target: Annotated[
        str | None, numbers("x, y, z and roll, pitch, yaw of the frame; x, y, z alone: a point.")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(help="Poses from a file: columns x, y, z, roll, pitch, yaw.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File for the joint positions, .csv.")] = None,
    frame: Annotated[str, typer.Option(help="The frame to be put there.")] = "tool",
    position_only: Annotated[
        bool, typer.Option("--position-only", help="Let the frame turn as it likes.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="All postures of a target.")] = False,
    path: Annotated[
        bool, typer.Option("--path", help="The poses of the file are a path: no joint may jump.")
    ] = False,
    q: Annotated[str | None, numbers("Joint positions to start from; default: anywhere.")] = None,
    no_limits: Annotated[
        bool, typer.Option("--no-limits", help="Joints may go beyond their limits.")
    ] = False,
    tolerance: Annotated[float, typer.Option(help="Distance and angle, m and rad.")] = 1e-9,
    restarts: Annotated[int, typer.Option(help="How often a search begins anew.")] = 300,
    seed: Annotated[int, typer.Option(help="Of the random postures to begin at.")] = 0,
    deg: Degrees = False,
    json: Json = False,
) -> None:
    """Inverse kinematics: joint positions that put a frame where it should be."""
    from dalembert.cli.ik import Wanted, ik

    where = (target, csv, out, frame, position_only, every, path, q, not no_limits)
    ik(robot, Wanted(*where, tolerance, restarts, seed, deg), json)


@commands.command(cls=ListsCommand, epilog="Example: dalembert forward scara --tau 1 0 -5 0")
def forward(
    robot: Name,
    q: Q = None,
    qd: QD = None,
    tau: Tau = None,
    tip_wrench: TipWrench = None,
    formulation: Chosen = None,
    deg: Degrees = False,
    json: Json = False,
) -> None:
    """Forward dynamics: the accelerations under torques."""
    from dalembert.cli.dynamics import forward

    forward(robot, {"q": q, "qd": qd, "tau": tau}, tip_wrench, formulation, deg, json)


@commands.command(cls=ListsCommand, epilog="Example: dalembert matrices planar_2r --q 0.3 1.2")
def matrices(
    robot: Name,
    q: Q = None,
    qd: QD = None,
    frame: Annotated[str, typer.Option(help="Frame of the pose and Jacobian.")] = "tool",
    deg: Degrees = False,
    json: Json = False,
) -> None:
    """Mass matrix, bias, gravity, energies, pose and Jacobian at one state."""
    from dalembert.cli.dynamics import matrices

    matrices(robot, {"q": q, "qd": qd}, frame, deg, json)
