"""`dalembert report`: one page about a robot or a run, to open in any browser."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

import dalembert
from dalembert.cli.output import console
from dalembert.errors import DalembertError
from dalembert.report.page import robot_page, write_page
from dalembert.report.runs import SUFFIXES, open_run, robot_of, run_page
from dalembert.systems.robot import Robot

FOLDER = Path("out")


def report(subject: str, out: Path | None, robot: str | None) -> None:
    """Write the page and say where it is."""
    screen = console()
    path = out or FOLDER / f"{Path(subject).stem}.html"
    with screen.status("reading …") as status:

        def progress(step: str) -> None:
            status.update(f"{step} …")

        if Path(subject).suffix in SUFFIXES:
            run = open_run(Path(subject))
            shown = _robot(robot) if robot else robot_of(run)
            text = run_page(run, shown, progress=progress)
            if shown is None:
                screen.print("Its robot is not in the zoo: give --robot to see it move.")
        elif robot:
            raise DalembertError(f"--robot is for runs, and {subject} is not a file of one (.nc)")
        else:
            text = robot_page(_robot(subject), progress=progress)
    write_page(text, path)
    _name(screen, path, len(text))


def _robot(subject: str) -> Robot:
    found = dalembert.load(subject)
    if not isinstance(found, Robot):
        raise DalembertError(
            f"{subject} is no robot but a {type(found).__name__}; simulate it, and report the run"
        )
    return found


def _name(screen: Console, path: Path, size: int) -> None:
    screen.print(
        f"{size / 1e6:.1f} MB, works without network. Now open [bold]{path}[/]", soft_wrap=True
    )
