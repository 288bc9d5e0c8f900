"""`dalembert excite ROBOT --duration S`: a motion for identification, as a table and a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.cli.inputs import joint_limits, load, state
from dalembert.cli.output import console, number, print_json, say, show, table
from dalembert.cli.results import (
    MOTIONS,
    named,
    require_writable,
    say_written,
    write_motion,
    write_run_page,
)
from dalembert.identification.exciting import Excitation, excitation

if TYPE_CHECKING:
    from dalembert.cli.app import ExciteOptions


def excite(options: ExciteOptions) -> None:
    """Search, say what the motion uses and shows, and write what is asked."""
    robot = load(options.robot).compiled
    require_writable(options.out, MOTIONS)
    found = excitation(robot, options.duration, **_settings(robot, options))
    page = None
    if options.out is not None or options.report:
        run = found.sampled(options.rate)
        if options.out is not None:
            write_motion(run, options.out)
        if options.report:
            page = write_run_page(run, robot, options.out, robot.name)
    if options.json:
        print_json(_facts(found) | named(out=options.out, report=page))
        return
    _show(found)
    say_written(options.out, page)


def _settings(robot: Any, options: ExciteOptions) -> dict[str, Any]:
    """The keywords of `excitation`."""
    made: dict[str, Any] = {
        kind: joint_limits(robot, kind, getattr(options, kind))
        for kind in ("velocity", "acceleration", "torque")
    }
    made |= {
        name: getattr(options, name)
        for name in ("harmonics", "periods", "objective", "budget", "seed")
    }
    if options.q is not None:
        made["start"] = state(robot, options, "q")["q"]
    if options.above is not None:
        made["workspace"] = {"above": options.above}
    if options.inertias_only:
        made |= {"friction": (), "rotor": False}
    return made


def _facts(found: Excitation) -> dict[str, Any]:
    motion = found.trajectory
    return {
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


def _show(found: Excitation) -> None:
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
