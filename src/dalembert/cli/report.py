"""`dalembert report` and `dalembert demo`: pages to open in a browser."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

import dalembert
from dalembert.cli.inputs import load, load_robot
from dalembert.cli.output import console, integer, say, show_table
from dalembert.cli.performance import arguments, fastest, using_threads
from dalembert.cli.results import FOLDER, say_written
from dalembert.cli.robots import show_facts
from dalembert.errors import DalembertError
from dalembert.report import comparison, figures
from dalembert.report.facts import describe
from dalembert.report.motion import move
from dalembert.report.page import robot_page, system_page, write_page
from dalembert.report.runs import SUFFIXES, open_run, robot_to_draw, run_page
from dalembert.sweeps.store import is_study, open_study
from dalembert.text import file_name

if TYPE_CHECKING:
    from dalembert.cli.app import DemoOptions, ReportOptions
import signal
import webbrowser
from contextlib import ExitStack, suppress
from threading import Thread
from typing import TYPE_CHECKING

from dalembert.cli.options import TRUSTED
from dalembert.errors import SettingError
from dalembert.report.studio.files import EditedFile
from dalembert.report.studio.server import Server

if TYPE_CHECKING:
    from dalembert.cli.app import StudioOptions


def report(options: ReportOptions) -> None:
    """Write the page of a system, a stored run or a sweep, and print its path."""
    from dalembert.cli.simulate import read_study, study_of_file
    from dalembert.report.studies import study_page

    screen, subject, robot = console(), options.subject, options.robot
    path = options.out or FOLDER / f"{file_name(Path(subject).stem)}.html"
    with screen.status("reading …") as status:

        def progress(step: str) -> None:
            status.update(f"{step} …")

        if is_study(subject):
            # runs move if the TOML file of the study is known, by default the one beside its store
            beside = Path(subject).with_suffix(".toml")
            source = options.study or (beside if beside.is_file() else None)
            if source is None:
                say(screen, f"There is no {beside}: no run will move. Give --study to see motions.")
            elif not source.is_file():
                raise DalembertError(f"there is no file {source}")
            study = study_of_file(read_study(source)) if source else None
            text = study_page(open_study(Path(subject)), study, progress)
        elif options.study:
            raise DalembertError(f"--study is for stores of sweeps, and {subject} is none")
        elif Path(subject).suffix in SUFFIXES:
            run = open_run(Path(subject))
            system = load_robot(robot) if robot else None
            remark = robot_to_draw(run, system)[1]
            text = run_page(run, system, progress=progress)
            if remark:
                say(screen, remark if robot else f"{remark} Give --robot to see it move.")
        elif robot:
            raise DalembertError(f"--robot is for runs, and {subject} is not a file of one (.nc)")
        else:
            text = system_page(load(subject), progress=progress)
    write_page(text, path)
    say_written(None, path)


def demo(options: DemoOptions) -> None:
    """Load, show, check, evaluate, draw, and write the page."""
    screen, start = console(), time.perf_counter()
    path, image = options.out / "demo.html", options.out / "demo.png"
    with screen.status("reading the robot …") as status:
        robot = load_robot(options.robot)
        facts = describe(robot)
        show_facts(screen, facts)
        status.update("checking formulations …")
        checks = (list(comparison.formulations(robot)), list(comparison.identities(robot)))
        failed = _show_checks(screen, *checks)
        status.update("evaluating states …")
        # inverse dynamics of many states, on one thread and on all
        states = options.states
        q, qd, qdd = arguments(robot, ("q", "qd", "qdd"), states)
        out = robot.inverse_dynamics(q, qd, qdd)
        title = f"Inverse dynamics of {integer(states)} states, float64"
        rows = []
        for threads in dict.fromkeys((1, dalembert.get_num_threads())):
            with using_threads(threads):
                least = fastest(lambda: robot.inverse_dynamics(q, qd, qdd, out=out))
            rate = (f"{1e3 * least:.1f}", f"{1e9 * least / states:.1f}", integer(states / least))
            rows.append((str(threads), *rate))
        heads = ("threads", "milliseconds", "ns/state", "states/s")
        show_table(screen, title, heads, rows, left=0)
        status.update("drawing the motion …")
        motion = move(robot)
        figures.draw(robot, facts["title"] or robot.name, motion, image)
        status.update("writing the page …")
        write_page(robot_page(robot, motion, checks), path)
    balance = "the energy gained and lost" if motion.has_friction else "the energy gained"
    screen.print(f"Along the motion drawn, ∫ τ·q̇ dt is {balance}, to {motion.residual:.0e} J.\n")
    say(screen, f"Picture: {image}", soft_wrap=True)
    lead = f"Done in {time.perf_counter() - start:.0f} s. Now open "
    say(screen, lead, (str(path), "bold"), soft_wrap=True)
    if failed:
        raise DalembertError(
            f"{failed} checks exceed {comparison.TOLERANCE:.0e}; see the table above"
        )


def _show_checks(
    screen: Console, rows: Sequence[comparison.Agreement], identities: Sequence[comparison.Identity]
) -> int:
    """Print the tables of agreement; the number of rows that do not agree."""

    def error(value: float) -> Text:
        mark, style = ("✓", "green") if comparison.small(value) else ("✗", "bold red")
        return Text.assemble(f"{value:.1e} ", (mark, style))

    title = (
        f"Formulations: largest relative difference at {comparison.STATES:,} random states "
        f"(from plain NumPy at {comparison.REFERENCE_STATES} of them)"
    )
    heads = ("quantity", "formulation", "source", "from the others", "from plain NumPy")
    apart = ("only one" if row.apart is None else error(row.apart) for row in rows)
    named = zip(rows, apart, strict=True)
    cells = [(x.quantity, x.formulation, x.citation, own, error(x.compiled)) for x, own in named]
    show_table(screen, title, heads, cells, left=3)
    checks = [(x.claim, x.left, x.right, error(x.error)) for x in identities]
    title = "Identities between them, at the same states"
    show_table(screen, title, ("identity", "by", "and", "difference"), checks, left=3)
    return sum(not x.holds for x in rows) + sum(not x.holds for x in identities)


class Stopped(BaseException):
    """A signal that ends the studio; no `Exception`, so that no server on the way swallows it."""


def studio(options: StudioOptions) -> None:
    """Serve until Ctrl-C; temporary files and processes are removed."""
    if options.file is not None:
        EditedFile(options.file.resolve()).read()  # raises before a port is opened

    def stop(*_: object) -> None:
        raise Stopped

    signals = (signal.SIGINT, signal.SIGTERM)
    with ExitStack() as stack:
        for number in signals:
            stack.callback(signal.signal, number, signal.signal(number, stop))
        stack.enter_context(suppress(Stopped))
        try:
            server = Server(options.port, options.file, list(TRUSTED), options.limit)
        except OSError as error:
            raise SettingError(
                f"port {options.port} cannot be opened: {error.strerror}; "
                "choose another, or none for a free one"
            ) from None
        stack.callback(server.close)
        for number in signals:  # closing is not interrupted again
            stack.callback(signal.signal, number, signal.SIG_IGN)
        server.pool.warm()
        screen = console()
        say(screen, "The studio is at ", (server.address, "bold"), soft_wrap=True)
        say(screen, "Ctrl-C ends it.")
        if options.browser:
            Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
        server.serve_forever(poll_interval=0.25)
