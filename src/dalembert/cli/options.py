"""How command lines are read: shared options, lists of numbers, one-line errors and exit codes."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection
from typing import Any

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
NUMBERS = "NUMBERS"  # the metavar of options that take several numbers


class Commands(TyperGroup):
    """The commands; errors of the package are printed in one line instead of a traceback."""

    def invoke(self, ctx: Any) -> object:
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
        lists = {name for x in self.params if x.metavar == NUMBERS for name in x.opts}
        return super().parse_args(ctx, join_numbers(args, lists))


def complain(message: str) -> None:
    """Print an error in one line on stderr, red on a terminal."""
    coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    label = "\033[1;31merror:\033[0m" if coloured else "error:"
    typer.echo(f"{label} {visible(' '.join(message.split()))}", err=True)


def join_numbers(args: list[str], lists: Collection[str]) -> list[str]:
    """The arguments with numbers after one of the options `lists` joined to its one value.

    >>> join_numbers(["ur5", "--q", "0", "-1.5", "2", "--deg"], ["--q"])
    ['ur5', '--q', '0 -1.5 2', '--deg']
    >>> join_numbers(["ur5", "--q", "0", "90deg", "--csv"], ["--q"])
    ['ur5', '--q', '0 90deg', '--csv']
    """
    joined: list[str] = []
    in_list = False
    for arg in args:
        if in_list and numeric(arg):
            continues = joined[-1] not in lists
            joined[-1:] = [f"{joined[-1]} {arg}"] if continues else [joined[-1], arg]
        else:
            joined.append(arg)
            in_list = arg.partition("=")[0] in lists
    return joined


def numeric(text: str) -> bool:
    """Whether every piece of a comma-separated text is a number, with or without a unit."""
    try:
        return bool([number_and_unit(piece) for piece in text.replace(",", " ").split()])
    except ValueError:
        return False


_WITH_UNIT = re.compile(
    r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(rad|deg|°|mrad|rev|turn|m|cm|mm)((?:/s2?)?)"
)


def number_and_unit(piece: str) -> tuple[float, str, str]:
    """A number, its unit and what that is divided by; a `ValueError` where it is no number.

    >>> number_and_unit("90deg"), number_and_unit("-1e-3"), number_and_unit("2rad/s")
    ((90.0, 'deg', ''), (-0.001, '', ''), (2.0, 'rad', '/s'))
    """
    match = _WITH_UNIT.fullmatch(piece)
    return (float(match[1]), match[2], match[3]) if match else (float(piece), "", "")


TRUSTED: list[str] = []  # folders of --trust of this call


def complete_robot(incomplete: str) -> list[str]:
    from dalembert.zoo import names

    return [name for name in names() if name.startswith(incomplete)]


def argument(default: Any, help: str, **settings: Any) -> Any:
    """A default value with its help, as typer takes them; `...` where there is none."""
    return Argument(default, help=help, **settings)


def option(default: Any, help: str, *names: str, **settings: Any) -> Any:
    """A default value with its help, as typer takes them; `...` where there is none."""
    return Option(default, *names, help=help, **settings)


def flag(name: str, help: str) -> Any:
    return Option(False, name, help=help)


def numbers(help: str) -> Any:
    return Option(None, metavar=NUMBERS, help=help, show_default=False)


ROBOT = argument(
    ...,
    "A system of the zoo, or a URDF or MJCF file.",
    metavar="ROBOT",
    autocompletion=complete_robot,
)
Q = numbers("Joint positions; default: the reference posture.")
QD = numbers("Joint velocities; default: zero.")
TAU = numbers("Joint torques and forces; default: zero.")
TIP_WRENCH = numbers(
    "Force and moment the tool exerts on its environment, in the tool frame, N and N m."
)
VELOCITY = numbers("Velocity limits; default: the robot's.")
ACCELERATION = numbers("Acceleration limits; default: none.")
TORQUE = numbers("Torque limits; default: the robot's.")
FORMULATION = option(None, "Formulation; default: the fastest.")
DEGREES = flag("--deg", "Read angles without a unit in degrees; results stay in SI units.")
PAYLOAD = numbers("Mass at the tool, kg; with x, y, z of its centre in the tool frame, m.")
LOCK = option(None, "Lock a joint; may be repeated.", metavar="JOINT=POSITION", show_default=False)
ROW_TIME = option(None, "Seconds between rows, where no column has times.")
IGNORE_OTHERS = flag("--ignore-others", "Ignore columns that belong to no joint.")
MOTION_FILE = option(None, "File for times, q, qd, qdd, tau: .csv, .nc or .zarr.")
MOTION_PAGE = flag("--report", "Write a page of it in motion.")
JSON = flag("--json", "Machine-readable, with all digits.")
