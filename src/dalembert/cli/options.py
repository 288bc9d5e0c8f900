"""How command lines are read: shared options, lists of numbers, one-line errors and exit codes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option
from typer.core import TyperCommand, TyperGroup

from dalembert.errors import (
    DalembertError,
    ParameterError,
    SettingError,
    ShapeError,
    UnknownNameError,
)
from dalembert.text import visible

FAILURE, USAGE = 1, 2
WRONG_USE = (ParameterError, SettingError, ShapeError, UnknownNameError)
LISTS = (
    *("--q", "--qd", "--qdd", "--tau", "--tip-wrench", "--target"),
    *("--payload", "--velocity", "--acceleration", "--torque", "--torque-constant", "--gear"),
)


class Commands(TyperGroup):
    """The commands; errors of the package are printed in one line instead of a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except DalembertError as error:
            complain(str(error))
            raise typer.Exit(USAGE if isinstance(error, WRONG_USE) else FAILURE) from None
        except OSError as error:  # a file or folder that cannot be read or written
            where = f"{error.filename}: " if error.filename else ""
            complain(f"{where}{error.strerror or error}")
            raise typer.Exit(FAILURE) from None


class Command(TyperCommand):
    """A command: lists of numbers may be separated by commas or spaces, flags show no type."""

    def get_params(self, ctx: Any) -> Any:
        parameters = super().get_params(ctx)
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                vars(parameter)["display_type_rich"] = lambda ctx: None
        return parameters

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, join_numbers(args))


def complain(message: str) -> None:
    """Print an error in one line on stderr, red on a terminal."""
    coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    label = "\033[1;31merror:\033[0m" if coloured else "error:"
    typer.echo(f"{label} {visible(' '.join(message.split()))}", err=True)


def join_numbers(args: list[str]) -> list[str]:
    """The arguments with numbers after a list option joined to its one value.

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


TRUSTED: list[str] = []  # folders of --trust of this call


def complete_robot(incomplete: str) -> list[str]:
    from dalembert.zoo import names

    return [name for name in names() if name.startswith(incomplete)]


def numbers(help: str) -> Any:
    return Option(metavar="NUMBERS", help=help, show_default=False)


def locks(help: str) -> Any:
    return Option(metavar="JOINT=POSITION", help=help, show_default=False)


Robot = Annotated[
    str,
    Argument(
        metavar="ROBOT",
        help="A system of the zoo, or a URDF or MJCF file.",
        autocompletion=complete_robot,
    ),
]
Q = Annotated[str | None, numbers("Joint positions; default: the reference posture.")]
QD = Annotated[str | None, numbers("Joint velocities; default: zero.")]
QDD = Annotated[str | None, numbers("Joint accelerations; default: zero.")]
Tau = Annotated[str | None, numbers("Joint torques and forces; default: zero.")]
TipWrench = Annotated[
    str | None,
    numbers("Force and moment the tool exerts on its environment, in the tool frame, N and N m."),
]
Velocity = Annotated[str | None, numbers("Velocity limits; default: the robot's.")]
Acceleration = Annotated[str | None, numbers("Acceleration limits; default: none.")]
Torque = Annotated[str | None, numbers("Torque limits; default: the robot's.")]
Formulation = Annotated[str | None, Option(help="Formulation; default: the fastest.")]
Degrees = Annotated[bool, Option("--deg", help="Read angles in degrees; results stay in SI units.")]
Tip = Annotated[
    str | None, Option(metavar="FRAME", help="The frame that is the tool.", show_default=False)
]
Payload = Annotated[
    str | None, numbers("Mass at the tool, kg; with x, y, z of its centre in the tool frame, m.")
]
Lock = Annotated[list[str] | None, locks("Lock a joint; may be repeated.")]
RowTime = Annotated[float | None, Option(help="Seconds between rows, where no column has times.")]
IgnoreOthers = Annotated[
    bool, Option("--ignore-others", help="Ignore columns that belong to no joint.")
]
MotionFile = Annotated[
    Path | None, Option(help="File for times, q, qd, qdd, tau: .csv, .nc or .zarr.")
]
MotionPage = Annotated[bool, Option("--report", help="Write a page of it in motion.")]
Json = Annotated[bool, Option("--json", help="Machine-readable, with all digits.")]
