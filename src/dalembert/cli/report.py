"""`dalembert report`: one page about a robot or a run, to open in any browser."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from dalembert.cli.output import console, say
from dalembert.cli.subject import load, load_robot
from dalembert.errors import DalembertError
from dalembert.report.page import system_page, write_page
from dalembert.report.run_files import SUFFIXES, drawn_robot, open_run
from dalembert.report.runs import run_page
from dalembert.text import file_name

FOLDER = Path("out")


def report(subject: str, out: Path | None, robot: str | None) -> None:
    """Write the page and say where it is."""
    screen = console()
    path = out or FOLDER / f"{file_name(Path(subject).stem)}.html"
    with screen.status("reading …") as status:

        def progress(step: str) -> None:
            status.update(f"{step} …")

        if Path(subject).suffix in SUFFIXES:
            run = open_run(Path(subject))
            shown, remark = drawn_robot(run, load_robot(robot) if robot else None)
            text = run_page(run, shown, progress=progress)
            if remark:
                say(screen, remark if robot else f"{remark} Give --robot to see it move.")
        elif robot:
            raise DalembertError(f"--robot is for runs, and {subject} is not a file of one (.nc)")
        else:
            text = system_page(load(subject).compiled, progress=progress)
    write_page(text, path)
    name_page(screen, path, len(text))


def name_page(screen: Console, path: Path, size: int) -> None:
    """Where a page of that many letters is."""
    lead = f"{size / 1e6:.1f} MB, works without network. Now open "
    say(screen, lead, (str(path), "bold"), soft_wrap=True)
