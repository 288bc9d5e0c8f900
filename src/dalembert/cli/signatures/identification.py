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
