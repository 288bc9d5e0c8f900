"""`dalembert demo`: what the package does, shown in a minute."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

import dalembert
from dalembert.cli.bench import arguments, fastest, using_threads
from dalembert.cli.inputs import load_robot
from dalembert.cli.output import console, integer, say, table
from dalembert.cli.robots import show
from dalembert.errors import DalembertError
from dalembert.report import agreement, picture
from dalembert.report.facts import describe
from dalembert.report.motion import move
from dalembert.report.page import robot_page, write_page
from dalembert.systems.robot import Robot

if TYPE_CHECKING:
    from dalembert.cli.app import DemoOptions

STEPS = (
    "reading the robot",
    "checking formulations",
    "evaluating states",
    "drawing the motion",
    "writing the page",
)


def demo(options: DemoOptions) -> None:
    """Load, show, check, evaluate, draw, and write the page."""
    screen, start = console(), time.perf_counter()
    path, image = options.out / "demo.html", options.out / "demo.png"
    with steps(screen) as step:
        step()
        robot = load_robot(options.robot)
        facts = describe(robot)
        show(screen, facts)
        step()
        checks = (list(agreement.formulations(robot)), list(agreement.laws(robot)))
        failed = show_checks(screen, *checks)
        step()
        evaluate(screen, robot, options.states)
        step()
        motion = move(robot)
        picture.draw(robot, facts["title"] or robot.name, motion, image)
        step()
        write_page(robot_page(robot, motion, checks), path)
    balance = "the energy gained and lost" if motion.has_friction else "the energy gained"
    screen.print(f"Along the motion drawn, ∫ τ·q̇ dt is {balance}, to {motion.residual:.0e} J.\n")
    say(screen, f"Picture: {image}", soft_wrap=True)
    lead = f"Done in {time.perf_counter() - start:.0f} s. Now open "
    say(screen, lead, (str(path), "bold"), soft_wrap=True)
    if failed:
        raise DalembertError(
            f"{failed} checks exceed {agreement.TOLERANCE:.0e}; see the table above"
        )


def show_checks(
    screen: Console, rows: Sequence[agreement.Agreement], laws: Sequence[agreement.Law]
) -> int:
    """The tables of agreement; how many rows do not agree."""
    failed = 0
    title = (
        f"Formulations: largest relative difference at {agreement.STATES:,} random states "
        f"(from plain NumPy at {agreement.REFERENCE_STATES} of them)"
    )
    headings = ("quantity", "formulation", "source", "from the others", "from plain NumPy")
    made = table(title, *headings, left=3)
    for row in rows:
        failed += not row.holds
        apart = "only one" if row.apart is None else error(row.apart)
        made.add_row(row.quantity, row.formulation, row.citation, apart, error(row.compiled))
    screen.print(made)
    made = table("Laws between them, at the same states", "law", "by", "and", "difference", left=3)
    for law in laws:
        failed += not law.holds
        made.add_row(law.claim, law.left, law.right, error(law.error))
    screen.print(made)
    return failed


def error(value: float) -> Text:
    """A relative error with a mark."""
    mark, style = ("✓", "green") if agreement.small(value) else ("✗", "bold red")
    return Text.assemble(f"{value:.1e} ", (mark, style))


def evaluate(screen: Console, robot: Robot, states: int) -> None:
    """Inverse dynamics of many states, on one thread and on all."""
    q, qd, qdd = arguments(robot, ("q", "qd", "qdd"), states)
    out = robot.inverse_dynamics(q, qd, qdd)
    made = table(
        f"Inverse dynamics of {integer(states)} states, float64",
        *("threads", "milliseconds", "ns/state", "states/s"),
        left=0,
    )
    for threads in dict.fromkeys((1, dalembert.get_num_threads())):
        with using_threads(threads):
            seconds = fastest(lambda: robot.inverse_dynamics(q, qd, qdd, out=out))
        rate = (f"{1e3 * seconds:.1f}", f"{1e9 * seconds / states:.1f}", integer(states / seconds))
        made.add_row(str(threads), *rate)
    screen.print(made)


@contextmanager
def steps(screen: Console) -> Iterator[Callable[[], None]]:
    """A progress bar while the block runs; call what it yields when the next step begins."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(20),
        TimeElapsedColumn(),
    )
    with Progress(
        *columns, console=screen, transient=True, disable=not screen.is_terminal
    ) as progress:
        task = progress.add_task("", total=len(STEPS))
        following = iter(enumerate(STEPS))

        def step() -> None:
            number, description = next(following)
            progress.update(task, completed=number, description=description)

        yield step
