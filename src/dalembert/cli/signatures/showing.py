"""Speed, operation counts, pages: what a system looks like."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalembert.cli.options import Json, Name, complete_robot

commands = typer.Typer()


@commands.command(epilog="Example: dalembert bench panda")
def bench(
    robot: Name,
    states: Annotated[int, typer.Option("-n", "--states", min=1, help="States per call.")] = 65536,
    json: Json = False,
) -> None:
    """Measure how fast a robot's dynamics run on this machine."""
    from dalembert.cli.bench import bench

    bench(robot, states, json)


@commands.command(epilog="Example: dalembert demo --robot puma560")
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the page and the picture.")] = Path("out"),
    robot: Annotated[
        str, typer.Option(help="A robot of the zoo.", autocompletion=complete_robot)
    ] = "ur5",
    states: Annotated[int, typer.Option(min=1, help="States to evaluate.")] = 2**20,
) -> None:
    """Show a robot, check it, evaluate a million states, and write a page of it in motion."""
    from dalembert.cli.demo import demo

    demo(out, robot, states)


@commands.command(epilog="Example: dalembert count puma560 --plot counts.png")
def count(
    robot: Name,
    quantity: Annotated[str, typer.Option(help="Quantity to count.")] = "inverse_dynamics",
    plot: Annotated[
        Path | None, typer.Option(help="Draw counts against the number of joints into this file.")
    ] = None,
    json: Json = False,
) -> None:
    """Count the arithmetic of every formulation, beside the published figures."""
    from dalembert.cli.count import count

    count(robot, quantity, plot, json)


@commands.command(epilog="Examples: dalembert report puma560; dalembert report study.zarr")
def report(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="ROBOT|RUN.nc|STUDY.zarr",
            help="A robot of the zoo, a URDF or MJCF file, a stored run, or the store of a sweep.",
            autocompletion=complete_robot,
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="The page to write; default: out/NAME.html.")
    ] = None,
    robot: Annotated[
        str | None, typer.Option(help="The robot of a run, if the zoo does not have it.")
    ] = None,
    study: Annotated[
        Path | None, typer.Option(help="The file of a sweep; default: the .toml beside its store.")
    ] = None,
) -> None:
    """Write one page: the moving arm, plots, equations, agreement and operation counts."""
    from dalembert.cli.report import report

    report(subject, out, robot, study)


@commands.command(epilog="Examples: dalembert studio; dalembert studio arm.urdf --port 8123")
def studio(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="A URDF, MJCF or TOML file to open, beside its meshes."
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; default: a free one.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
    limit: Annotated[
        float, typer.Option(min=1.0, help="Seconds after which a text that takes long is given up.")
    ] = 120.0,
) -> None:
    """Edit a robot's file in the browser beside its live page; only this machine can reach it."""
    from dalembert.cli.studio import studio

    studio(file, port, browser, limit)
