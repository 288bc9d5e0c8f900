"""`dalembert excite ROBOT --duration S`: a motion for identification, as a table and a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalembert.cli.coordinates import joint_limits, state
from dalembert.cli.output import console, number, print_json, say, show, table
from dalembert.cli.path import SUFFIXES, write_motion
from dalembert.cli.report import FOLDER, name_page
from dalembert.cli.simulate import require_writable
from dalembert.cli.subject import load
from dalembert.identification.exciting import Excitation, excitation
from dalembert.report.page import write_page
from dalembert.report.runs import run_page
from dalembert.text import file_name


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    duration: float
    out: Path | None = None
    rate: float = 100.0
    report: bool = False
    velocity: str | None = None
    acceleration: str | None = None
    torque: str | None = None
    above: float | None = None
    start: str | None = None
    harmonics: int = 5
    periods: int | None = None
    objective: str = "condition"
    inertias_only: bool = False
    budget: int = 2000
    seed: int = 0


def excite(name: str, options: Options, degrees: bool, as_json: bool) -> None:
    """Search, say what the motion uses and shows, and write what is asked."""
    robot = load(name).compiled
    if options.out is not None:
        require_writable(options.out, SUFFIXES)
    found = excitation(robot, options.duration, **_settings(robot, options, degrees))
    page = None
    if options.out is not None or options.report:
        run = found.sampled(options.rate)
        if options.out is not None:
            write_motion(run, options.out)
        if options.report:
            page = (options.out or FOLDER / file_name(robot.name)).with_suffix(".html")
            write_page(run_page(run, robot), page)
    if as_json:
        print_json(_facts(found, options, page))
        return
    _show(found, options)
    if page is not None:
        name_page(console(), page, page.stat().st_size)


def _settings(robot: Any, options: Options, degrees: bool) -> dict[str, Any]:
    """The keywords of `excitation`."""
    made: dict[str, Any] = {
        kind: joint_limits(robot, kind, getattr(options, kind))
        for kind in ("velocity", "acceleration", "torque")
    }
    made |= {
        name: getattr(options, name)
        for name in ("harmonics", "periods", "objective", "budget", "seed")
    }
    if options.start is not None:
        made["start"] = state(robot, {"q": options.start}, degrees)["q"]
    if options.above is not None:
        made["workspace"] = {"above": options.above}
    if options.inertias_only:
        made |= {"friction": (), "rotor": False}
    return made


def _facts(found: Excitation, options: Options, page: Path | None) -> dict[str, Any]:
    motion = found.trajectory
    facts: dict[str, Any] = {
        "robot": found.robot.name,
        "seconds": found.duration,
        "period": motion.period,
        "harmonics": motion.harmonics,
        "condition": found.condition,
        "information": found.information,
        "parameters": list(found.parameters),
        "limits": [{**r._asdict(), "margin": r.margin} for r in found.limited],
        "sums": motion.sums,
        "said": list(found.said),
    }
    written = {"out": options.out, "report": page}
    return facts | {name: str(x) for name, x in written.items() if x is not None}


def _show(found: Excitation, options: Options) -> None:
    screen, motion = console(), found.trajectory
    title = f"{found.robot.name}, {found.duration:g} s, condition {found.condition:.4g}"
    made = table(title, "limit", "joint", "lowest", "highest", "limits", "margin", left=2)
    for r in found.limited:
        margin = f"{r.margin:.3g} m" if r.kind == "distance" else f"{100.0 * r.margin:.3g} %"
        limits = f"{number(r.lower)} … {number(r.upper)}"
        made.add_row(r.kind, r.joint, f"{r.lowest:.4g}", f"{r.highest:.4g}", limits, margin)
    show(screen, made)
    say(
        screen,
        f"{len(found.parameters)} base parameters, period {motion.period:g} s, "
        f"{motion.harmonics} harmonics",
    )
    for sentence in found.said:
        say(screen, sentence)
    if options.out is not None:
        say(screen, f"written: {options.out}")
