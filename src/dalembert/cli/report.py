"""`dalembert report`: one page about a robot or a run, to open in any browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from dalembert.cli.inputs import load, load_robot
from dalembert.cli.output import console, say
from dalembert.cli.results import FOLDER, say_written
from dalembert.errors import DalembertError
from dalembert.report.page import system_page, write_page
from dalembert.report.run_files import SUFFIXES, drawn_robot, open_run
from dalembert.report.runs import run_page
from dalembert.sweeps.recall import is_study, open_study
from dalembert.text import file_name

if TYPE_CHECKING:
    from dalembert.cli.app import ReportOptions


def report(options: ReportOptions) -> None:
    """Write the page and say where it is."""
    screen, subject, robot, study = console(), options.subject, options.robot, options.study
    path = options.out or FOLDER / f"{file_name(Path(subject).stem)}.html"
    with screen.status("reading …") as status:

        def progress(step: str) -> None:
            status.update(f"{step} …")

        if is_study(subject):
            text = _study(screen, Path(subject), study, progress)
        elif study:
            raise DalembertError(f"--study is for stores of sweeps, and {subject} is none")
        elif Path(subject).suffix in SUFFIXES:
            run = open_run(Path(subject))
            given = load_robot(robot) if robot else None
            remark = drawn_robot(run, given)[1]
            text = run_page(run, given, progress=progress)
            if remark:
                say(screen, remark if robot else f"{remark} Give --robot to see it move.")
        elif robot:
            raise DalembertError(f"--robot is for runs, and {subject} is not a file of one (.nc)")
        else:
            text = system_page(load(subject), progress=progress)
    write_page(text, path)
    say_written(None, path)


def _study(screen: Console, store: Path, file: Path | None, progress: Callable[[str], None]) -> str:
    """The page of a sweep; runs move where its file is given, or lies beside the store."""
    from dalembert.cli.sweep import made_from, read
    from dalembert.report.studies import study_page

    beside = store.with_suffix(".toml")
    given = file or (beside if beside.is_file() else None)
    if given is None:
        say(screen, f"There is no {beside}: no run will move. Give --study to see motions.")
    elif not given.is_file():
        raise DalembertError(f"there is no file {given}")
    return study_page(open_study(store), made_from(read(given)) if given else None, progress)
