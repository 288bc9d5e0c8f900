"""How commands are read and how they fail: lists of numbers, one line for an error, exit codes."""

from __future__ import annotations

import os
import sys
from typing import Any

import typer
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
    """The commands, with errors of the package said in one line instead of a traceback."""

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
        found = super().get_params(ctx)
        for parameter in found:
            if getattr(parameter, "is_flag", False):
                vars(parameter)["display_type_rich"] = lambda ctx: None
        return found

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, join_numbers(args))


def complain(message: str) -> None:
    """One line on stderr, red where it is a terminal."""
    coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    label = "\033[1;31merror:\033[0m" if coloured else "error:"
    typer.echo(f"{label} {visible(' '.join(message.split()))}", err=True)


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
