"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

TRUSTED: list[str] = []  # what this call of the command was given as --trust


def complete_robot(incomplete: str) -> list[str]:
    from dalembert.zoo import names

    return [name for name in names() if name.startswith(incomplete)]


def numbers(help: str) -> Any:
    return typer.Option(metavar="NUMBERS", help=help, show_default=False)


Name = Annotated[
    str,
    typer.Argument(
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
Chosen = Annotated[
    str | None, typer.Option("--formulation", help="Formulation; default: the fastest.")
]
Tabled = Annotated[
    bool, typer.Option("--table", help="Every intermediate of the formulation, link by link.")
]
Degrees = Annotated[
    bool, typer.Option("--deg", help="Read angles in degrees; results stay in SI units.")
]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable, with all digits.")]
