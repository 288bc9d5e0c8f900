"""From motions of the real machine to a model of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalembert.cli.commands import ListsCommand
from dalembert.cli.options import Degrees, Json, Name, numbers

commands = typer.Typer()


@commands.command(
    cls=ListsCommand,
    epilog="Example: dalembert excite ur5 --duration 20 --out motion.csv",
)
def excite(
    robot: Name,
    duration: Annotated[float, typer.Option(help="Seconds of motion.")],
    out: Annotated[
        Path | None, typer.Option(help="File for times, q, qd, qdd, tau: .csv, .nc or .zarr.")
    ] = None,
    rate: Annotated[float, typer.Option(help="Rows of the file per second, Hz.")] = 100.0,
    velocity: Annotated[str | None, numbers("Velocity limits; default: the robot's.")] = None,
    acceleration: Annotated[str | None, numbers("Acceleration limits; default: none.")] = None,
    torque: Annotated[str | None, numbers("Torque limits; default: the robot's.")] = None,
    above: Annotated[
        float | None, typer.Option(help="Height that all frames stay above, m.", show_default=False)
    ] = None,
    q: Annotated[str | None, numbers("Posture to begin and end at; default: the best one.")] = None,
    harmonics: Annotated[int, typer.Option(help="Harmonics of the period.")] = 5,
    periods: Annotated[
        int | None, typer.Option(help="Periods in the duration; default: of about 10 s.")
    ] = None,
    objective: Annotated[str, typer.Option(help="condition or information.")] = "condition",
    inertias_only: Annotated[
        bool, typer.Option("--inertias-only", help="Neither friction nor rotors are sought.")
    ] = False,
    budget: Annotated[int, typer.Option(help="Evaluations of the search.")] = 2000,
    seed: Annotated[int, typer.Option(help="Of the random motions to begin at.")] = 0,
    page: Annotated[bool, typer.Option("--report", help="Write a page of it in motion.")] = False,
    deg: Degrees = False,
    json: Json = False,
) -> None:
    """Find a periodic motion within limits that shows the robot's inertias and friction best."""
    from dalembert.cli.excite import Options, excite

    limits = (velocity, acceleration, torque, above, q, harmonics, periods)
    searched = (objective, inertias_only, budget, seed)
    excite(robot, Options(duration, out, rate, page, *limits, *searched), deg, json)


@commands.command(
    cls=ListsCommand,
    epilog="Example: dalembert identify arm.urdf log.csv --out fitted.urdf --report fit.html",
)
def identify(
    robot: Name,
    log: Annotated[
        list[Path],
        typer.Argument(help="Recorded positions and torques: .csv, .parquet, .npz, .nc."),
    ],
    out: Annotated[
        Path | None, typer.Option(help="File for the fitted robot: .urdf, or .xml for MJCF.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--report", help="File for a page of the fit: .html.")
    ] = None,
    friction: Annotated[
        str, typer.Option(help="Of viscous, coulomb, offset, stribeck, load; or none.")
    ] = "viscous,coulomb,offset",
    no_rotor: Annotated[bool, typer.Option("--no-rotor", help="Rotors stay as they are.")] = False,
    held_out: Annotated[
        float, typer.Option(help="Share of the log, its end, that only judges the fit.")
    ] = 0.25,
    payload: Annotated[
        str | None, typer.Option(metavar="LINK", help="Only this link's inertia is unknown.")
    ] = None,
    method: Annotated[
        str, typer.Option(help="inverse_dynamics, power or simulation.")
    ] = "inverse_dynamics",
    cutoff: Annotated[
        float | None, typer.Option(help="Of the filter of positions, Hz; default: chosen.")
    ] = None,
    delay: Annotated[float, typer.Option(help="Seconds by which torques come late.")] = 0.0,
    columns: Annotated[
        str | None,
        typer.Option(
            help="Names of the file, pos1=q_joint1,cur1=tau_joint1; or all, if it has none.",
            show_default=False,
        ),
    ] = None,
    ignore_others: Annotated[
        bool, typer.Option("--ignore-others", help="Ignore columns of no joint.")
    ] = False,
    dt: Annotated[
        float | None, typer.Option(help="Seconds between rows, where no column is the time.")
    ] = None,
    doubts: Annotated[
        str, typer.Option(help="refuse, or warn: fit a log that cannot be right all the same.")
    ] = "refuse",
    lock: Annotated[
        list[str] | None,
        typer.Option(
            metavar="JOINT=POSITION",
            help="Hold a joint that the log does not have, a finger say; may be repeated.",
            show_default=False,
        ),
    ] = None,
    torque_constant: Annotated[
        str | None, numbers("Torques are currents: N m/A, one or one for each joint.")
    ] = None,
    gear: Annotated[str | None, numbers("Gear ratios: the log is of the motors.")] = None,
    motor: Annotated[
        str | None,
        typer.Option(
            help="What of q,qd,qdd,tau is of the motors; default: all, with --gear.",
            show_default=False,
        ),
    ] = None,
    deg: Degrees = False,
    json: Json = False,
) -> None:
    """Fit inertias, friction and rotors to a log, and write the fitted robot."""
    from dalembert.cli.identify import Options, identify

    asked = (friction, no_rotor, held_out, payload, method, cutoff, delay)
    read = (columns, ignore_others, dt, doubts)
    motors = (torque_constant, gear, motor)
    identify(robot, log, Options(out, page, *asked, *read, tuple(lock or ()), *motors), deg, json)
