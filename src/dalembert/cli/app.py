"""The commands and their options: only signatures, so that `dalembert --help` is quick.

What a command does is in the module it imports when it runs.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from dalembert.errors import DalembertError, ParameterError, ShapeError, UnknownNameError

FAILURE, USAGE = 1, 2
WRONG_USE = (ParameterError, ShapeError, UnknownNameError)
LISTS = ("--q", "--qd", "--qdd", "--tau", "--tip-wrench")


class Commands(TyperGroup):
    """The commands, with errors of the package said in one line instead of a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except DalembertError as error:
            complain(str(error))
            raise typer.Exit(USAGE if isinstance(error, WRONG_USE) else FAILURE) from None


class ListsCommand(TyperCommand):
    """A command whose lists of numbers may be separated by commas or by spaces."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, join_numbers(args))


def complain(message: str) -> None:
    """One line on stderr, red where it is a terminal."""
    coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    label = "\033[1;31merror:\033[0m" if coloured else "error:"
    typer.echo(f"{label} {' '.join(message.split())}", err=True)


def join_numbers(args: list[str]) -> list[str]:
    """Numbers that follow an option for a list become its one value.

    >>> join_numbers(["ur5", "--q", "0", "-1.5", "2", "--deg"])
    ['ur5', '--q', '0 -1.5 2', '--deg']
    """
    joined: list[str] = []
    in_list = False
    for arg in args:
        if in_list and numeric(arg):
            continues = joined[-1] not in LISTS
            joined[-1:] = [f"{joined[-1]} {arg}"] if continues else [joined[-1], arg]
        else:
            joined.append(arg)
            in_list = arg.partition("=")[0] in LISTS
    return joined


def numeric(text: str) -> bool:
    """Whether every piece of a comma-separated text is a number."""
    try:
        return bool([float(piece) for piece in text.replace(",", " ").split()])
    except ValueError:
        return False


def version(wanted: bool) -> None:
    if wanted:
        from dalembert import __version__

        typer.echo(f"dalembert {__version__}")
        raise typer.Exit


def complete_robot(incomplete: str) -> list[str]:
    from dalembert.zoo import names

    return [name for name in names() if name.startswith(incomplete)]


def numbers(help: str) -> Any:
    return typer.Option(metavar="NUMBERS", help=help, show_default=False)


Name = Annotated[
    str, typer.Argument(metavar="ROBOT", help="A robot of the zoo.", autocompletion=complete_robot)
]
Q = Annotated[str | None, numbers("Joint positions; default: the reference posture.")]
QD = Annotated[str | None, numbers("Joint velocities; default: zero.")]
QDD = Annotated[str | None, numbers("Joint accelerations; default: zero.")]
Tau = Annotated[str | None, numbers("Joint torques and forces; default: zero.")]
TipWrench = Annotated[
    str | None,
    numbers("Force and moment the tool exerts on its environment, in the tool frame, N and N m."),
]
Chosen = Annotated[
    str | None, typer.Option("--formulation", help="Formulation; default: the fastest.")
]
Degrees = Annotated[
    bool, typer.Option("--deg", help="Read angles in degrees; results stay in SI units.")
]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable, with all digits.")]

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    epilog="Exit codes: 0 success, 1 failure, 2 wrong use.",
)


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Dynamics of robot manipulators and linked rigid bodies.

    Units are SI and radians; twists and wrenches are (linear, angular).
    """


@app.command()
def zoo(json: Json = False) -> None:
    """List the robots that come with the package, with their sources."""
    from dalembert.cli.robots import zoo

    zoo(json)


@app.command(epilog="Example: dalembert info ur5")
def info(robot: Name, json: Json = False) -> None:
    """Show a robot: joints, links, limits, frames, and what its dynamics cost."""
    from dalembert.cli.robots import info

    info(robot, json)


@app.command(cls=ListsCommand, epilog="Example: dalembert inverse ur5 --q 0,-90,90,0,45,0 --deg")
def inverse(
    robot: Name,
    q: Q = None,
    qd: QD = None,
    qdd: QDD = None,
    tip_wrench: TipWrench = None,
    formulation: Chosen = None,
    deg: Degrees = False,
    json: Json = False,
) -> None:
    """Inverse dynamics: the torques of a motion."""
    from dalembert.cli.dynamics import inverse

    inverse(robot, {"q": q, "qd": qd, "qdd": qdd}, tip_wrench, formulation, deg, json)


@app.command(cls=ListsCommand, epilog="Example: dalembert forward scara --tau 1 0 -5 0")
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


@app.command(cls=ListsCommand, epilog="Example: dalembert matrices planar_2r --q 0.3 1.2")
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


@app.command(epilog="Example: dalembert bench panda")
def bench(
    robot: Name,
    states: Annotated[int, typer.Option("-n", "--states", min=1, help="States per call.")] = 65536,
    json: Json = False,
) -> None:
    """Measure how fast a robot's dynamics run on this machine."""
    from dalembert.cli.bench import bench

    bench(robot, states, json)


@app.command(epilog="Example: dalembert demo --robot puma560")
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("out"),
    robot: Annotated[
        str, typer.Option(help="A robot of the zoo.", autocompletion=complete_robot)
    ] = "ur5",
    states: Annotated[int, typer.Option(min=1, help="States to evaluate.")] = 2**20,
) -> None:
    """Show a robot, check it, evaluate a million states, and draw it in motion."""
    from dalembert.cli.demo import demo

    demo(out, robot, states)


@app.command(epilog="Example: dalembert count puma560 --plot counts.png")
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
