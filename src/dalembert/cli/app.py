"""The command and its subcommands, by subject, in the order in which the help lists them.

`signatures` has only signatures, so that `dalembert --help` is quick; what a command does is in the
module it imports when it runs.
"""

from __future__ import annotations

from typing import Annotated

import typer
from typer.core import TyperCommand

from dalembert.cli.commands import Commands, PlainCommand
from dalembert.cli.options import TRUSTED
from dalembert.cli.signatures import identification, motion, showing, state, texts


def version(wanted: bool) -> None:
    if wanted:
        from dalembert import __version__

        typer.echo(f"dalembert {__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    epilog="Exit codes: 0 success, 1 failure, 2 wrong use, 130 stopped by Ctrl-C.",
)


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version.")
    ] = False,
    trust: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FOLDER",
            help="A folder beside a robot file's own, from which it may open files; repeatable.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Dynamics of robot manipulators and linked rigid bodies.

    Units are SI and radians; twists and wrenches are (linear, angular).
    """
    TRUSTED[:] = trust or []


for part in (state, showing, motion, identification, texts):
    app.registered_commands += part.commands.registered_commands

for registered in app.registered_commands:
    if not issubclass(registered.cls or TyperCommand, PlainCommand):
        registered.cls = PlainCommand
