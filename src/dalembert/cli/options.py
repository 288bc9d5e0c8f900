"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

TRUSTED: list[str] = []  # what this call of the command was given as --trust


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
