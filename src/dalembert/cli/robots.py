"""`dalembert zoo`, `info`, `count` and `export`: the robots, one in detail, its cost, its source."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from dalembert.cli.inputs import load
from dalembert.cli.output import Words, console, integer, number, print_json, say, show, table
from dalembert.kernels.program.count import Count
from dalembert.references import with_titles
from dalembert.report import counts
from dalembert.report.facts import describe, range_text
from dalembert.systems.counting import Growth
from dalembert.systems.export import export as write_source
from dalembert.zoo import bodies, entry, is_known, mechanisms, names, systems

if TYPE_CHECKING:
    from dalembert.cli.app import CountOptions, ExportOptions, InfoOptions, ZooOptions


def zoo(options: ZooOptions) -> None:
    """All robots of the zoo, and the other systems by name."""
    robots = [{"name": name, **_zoo_facts(name)} for name in names()]
    kinds = {"energies": systems(), "constrained": mechanisms(), "bodies": bodies()}
    others = [
        {"name": name, "kind": kind, "title": entry(name).title, "citation": entry(name).citation}
        for kind, listed in kinds.items()
        for name in listed
    ]
    if options.json:
        print_json([*robots, *others])
        return
    rows = table(None, "name", "joints", "dof", "title", "source")
    for column in rows.columns[3:]:
        column.justify = "left"
    for robot in robots:
        name = Text(robot["name"], style="bold")
        counted = (str(robot["joints"]), str(robot["dof"]))
        rows.add_row(name, *counted, robot["title"], robot["citation"])
    show(console(), rows)
    rows = table("Other systems", "name", "kind", "title", "source", left=4)
    for other in others:
        name = Text(other["name"], style="bold")
        rows.add_row(name, other["kind"], other["title"], other["citation"])
    show(console(), rows)


def _zoo_facts(name: str) -> dict[str, Any]:
    robot, known = load(name), entry(name)
    return {
        "joints": len(robot.joints),
        "dof": robot.nv,
        "title": known.title,
        "citation": known.citation,
    }


def info(options: InfoOptions) -> None:
    """One system: tree, masses, limits, constraints, notes of its file, operation counts."""
    strict = {"strict": True} if options.strict and not is_known(options.robot) else {}
    facts = describe(load(options.robot, **strict))
    if options.json:
        print_json(facts)
        return
    show_facts(console(), facts)


def show_facts(screen: Console, facts: dict[str, Any]) -> None:
    """Print the heading, the tree of joints and links, the frames, and the operation counts."""
    heading = facts["title"] or facts["name"]
    say(screen, (heading, "bold"), f"  ({facts['name']})")
    if facts["citation"]:
        say(screen, (facts["citation"], "dim"))
    show(screen, _joint_table(facts))
    listing = Words.grid(padding=(0, 2))
    listing.add_row("degrees of freedom", str(facts["freedoms"]))
    if facts["total_mass"] is not None:
        listing.add_row("moving mass", f"{number(facts['total_mass'])} kg")
        listing.add_row("gravity", f"({', '.join(number(g) for g in facts['gravity'])}) m/s²")
        listing.add_row("tool", facts["tool"])
    for title in ("constraints", "frames", "actuators", "parameters"):
        if facts[title]:
            listing.add_row(title, ", ".join(facts[title]))
    show(screen, listing)
    _show_notes(screen, facts)
    screen.print()
    if not facts["operation_counts"]:
        command = f"dalembert count {facts['name']}"
        say(screen, "Operations: see ", (command, "cyan"), " (takes a while).")
        return
    heads = ("quantity", "formulation", "×", "+", "÷", "√", "sin, cos")
    rows = table("Operations per state", *heads, left=2)
    for quantity, operations in facts["operation_counts"].items():
        rows.add_row(
            quantity.replace("_", " "),
            operations["formulation"],
            *(str(operations[kind]) for kind in ("multiplications", "additions", "divisions")),
            *(str(operations[kind]) for kind in ("square_roots", "trigonometric")),
        )
    show(screen, rows)


def _joint_table(facts: dict[str, Any]) -> Table:
    """The tree of joints, or the coordinates of a system without links."""
    if not facts["joints"]:
        rows = table(None, "coordinate", "kind", left=2)
        for coordinate in facts["coordinates"]:
            rows.add_row(coordinate["name"], coordinate["kind"])
        return rows

    def limit(value: float, unit: str) -> str:
        return f"{value:.4g} {unit}" if np.isfinite(value) else "–"

    rows = table(None, "joint", "type", "link", "mass kg", "range", "speed", "effort", left=3)
    for joint in facts["joints"]:
        rows.add_row(
            "  " * joint["depth"] + "└ " + joint["name"],
            joint["type"] + (", follows" if joint["follows"] else ""),
            joint["link"],
            number(joint["mass"]),
            range_text(joint),
            limit(joint["velocity_limit"], joint["units"]["qd"]),
            limit(joint["effort_limit"], joint["units"]["tau"]),
        )
    return rows


def _show_notes(screen: Console, facts: dict[str, Any]) -> None:
    """Print the notes of reading the file: warnings first, all of them."""
    for warning in facts["warnings"]:
        say(screen, ("warning:", "yellow"), f" {warning}")
    for name in facts["redundant"]:
        reason = "the joints or the other constraints hold all it asks for"
        say(screen, ("redundant:", "cyan"), f" {name} takes no freedom: {reason}")
    for title in ("merged", "locked", "ignored"):
        if facts[title]:
            say(screen, (f"{title}:", "cyan"), f" {'; '.join(facts[title])}")
    if facts["left_out"]:
        rows = table("Left out", "what", "name", "effect", left=3)
        for row in facts["left_out"]:
            rows.add_row(row["what"], row["name"], row["effect"])
        show(screen, rows)
    enforced = {name.split("[")[0] for name in facts["constraints"]}
    for equality in facts["equalities"]:
        if equality["name"] in enforced:
            continue  # it is one of the constraints
        pair = f"{equality['first']} – {equality['second'] or 'world'}"
        text = f"{equality['kind']} constraint {equality['name']} ({pair})"
        say(screen, ("kept:", "cyan"), f" {text}")


def count(options: CountOptions) -> None:
    """Counts for one robot; for inverse dynamics also the history of savings and the growth."""
    system, quantity = load(options.robot).compiled, options.quantity
    rows = counts.count_rows(system, quantity)
    if options.json:
        print_json([asdict(row) for row in rows])
        return
    screen = console()
    _show_counts(screen, f"{quantity.replace('_', ' ')} of {system.name}", rows)
    if quantity != "inverse_dynamics" or system.robot is not system:
        return
    history = table("where the savings come from, general chain of six", "variant", "×", "+")
    for title, operations in counts.history_rows():
        history.add_row(title, *_pair(operations))
    show(screen, history)
    columns = (SpinnerColumn(), TextColumn("counting {task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True) as progress:
        task = progress.add_task("")
        growths = counts.growths(progress=lambda name: progress.update(task, description=name))
    _show_growths(screen, growths)
    if options.plot is not None:
        counts.plot_growth(growths, options.plot)
        say(screen, f"picture: {options.plot}")


def _pair(operations: Count | tuple[int, int] | None) -> list[str]:
    """Multiplications and additions as texts, dashes where they are not known."""
    if operations is None:
        return ["–", "–"]
    if isinstance(operations, Count):
        operations = (operations.multiplications, operations.additions)
    return [integer(x) for x in operations]


def _show_counts(screen: Console, title: str, rows: list[counts.Row]) -> None:
    listing = table(
        title,
        *("formulation", "as written ×", "+", "this system ×", "+", "sin, cos"),
        *("published, n = 6 ×", "+"),
    )
    for row in rows:
        trigonometric = "–" if row.customised is None else str(row.customised.trigonometric)
        listing.add_row(
            row.formulation,
            *_pair(row.as_written),
            *_pair(row.customised),
            trigonometric,
            *_pair(row.published),
        )
    show(screen, listing)
    for row in rows:
        if row.note:
            say(screen, "  ", (row.formulation, "cyan"), f": {row.note}")
    screen.print(
        "  as written: general numbers, nothing known to be zero; this system: zeros, ones and "
        "repetitions removed.\n"
    )


def _show_growths(screen: Console, growths: list[Growth]) -> None:
    heads = ("formulation", "multiplications", "additions")
    rows = table("growth with the number of joints, exact", *heads)
    for growth in growths:
        pair = (growth.multiplications, growth.additions)
        rows.add_row(growth.formulation, *map(counts.polynomial_text, pair))
    show(screen, rows)
    totals = {growth.formulation: sum(growth.at(counts.PUBLISHED_FOR)) for growth in growths}
    if all(name in totals for name in counts.PUBLISHED):
        uicker, four, three, newton = (totals[name] for name in counts.PUBLISHED)
        screen.print(
            f"  ratios at n = 6 ({with_titles('001 §1.4')} says 15, 2, 5, 2½): "
            f"uicker_kahn/4×4 {uicker / four:.1f}, 4×4/3×3 {four / three:.1f}, "
            f"4×4/craig {four / newton:.1f}, 3×3/craig {three / newton:.1f}"
        )


def export(options: ExportOptions) -> None:
    """Write a quantity as source code or a module that stands on its own."""
    system, settings = load(options.robot).compiled, (options.out, options.dtype, options.layout)
    paths = write_source(system, options.quantity, options.target, *settings, options.formulation)
    for path in paths:
        say(console(), f"wrote {path}")
