"""Every robot of example-robot-data, read here and by Pinocchio: load times and largest errors.

Run it from the top folder: ``python -m benchmarks.urdf_table [--states 20] [--only ur5]``.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.optional import optional
from dalembert.errors import ImportFileError
from dalembert.systems.robot import Robot

if TYPE_CHECKING:
    from tests.oracles.pinocchio_urdf import Errors

pinocchio_urdf = optional("tests.oracles.pinocchio_urdf", "pinocchio")

AGREEMENT = 1e-9
COLUMNS = ("mass_matrix", "inverse", "forward", "pose", "jacobian", "condition")


def load_time(path: Path, base: str) -> tuple[Robot, float]:
    """The robot, and the best of three times to load it, in ms."""
    best = np.inf
    for _ in range(3):
        start = time.perf_counter()
        robot = Robot.from_urdf(path, base=base)
        best = min(best, time.perf_counter() - start)
    return robot, 1e3 * best


def row(name: str, path: Path, base: str, states: int) -> tuple[list[str], Errors | None]:
    """One line of the table."""
    try:
        robot, milliseconds = load_time(path, base)
    except ImportFileError as error:
        return [name, base, "", "", "", f"[yellow]{error.message}[/]"], None
    errors = pinocchio_urdf.compare(
        robot, pinocchio_urdf.Peer(path, robot, base), states, np.random.default_rng(0)
    )
    cells = [f"{getattr(errors, column):.0e}" for column in COLUMNS]
    cells = ["M singular" if text == "nan" else text for text in cells]
    dof, warnings = str(robot.nv), str(len(robot.notes.warnings))
    return [name, base, dof, warnings, f"{milliseconds:.0f}", *cells], errors


def main() -> int:
    """Print the table; the exit status says whether all agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", type=int, default=20, help="random states per robot")
    parser.add_argument("--only", default="", help="robots whose name contains this")
    options = parser.parse_args()
    table = Table("robot", "base", "dof", "warnings", "load ms", *COLUMNS)
    worst, count, refused = 0.0, 0, 0
    for name, path in pinocchio_urdf.described().items():
        if options.only not in name:
            continue
        for base in ("fixed", "free"):
            cells, errors = row(name, path, base, options.states)
            table.add_row(*cells)
            if errors is None:
                refused += 1
            else:
                worst, count = max(worst, errors.worst()), count + 1
    console = Console(width=140)
    console.print(table)
    console.print(
        f"{count} models agree to {worst:.1e} (allowed {AGREEMENT:.0e}) at {options.states} random "
        f"states, every link a frame (forward "
        f"dynamics to that or to eps · cond(M)); {refused} refused, with the reason in their line"
    )
    return 0 if worst <= AGREEMENT else 1


if __name__ == "__main__":
    sys.exit(main())
