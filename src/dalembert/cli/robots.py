"""`dalembert zoo` and `dalembert info`: which robots there are, and what one of them is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dalembert.cli.inputs import load
from dalembert.cli.output import Words, console, number, print_json, say, table
from dalembert.cli.output import show as show_table
from dalembert.report.facts import describe, range_text
from dalembert.zoo import bodies, entry, is_known, mechanisms, names, systems

if TYPE_CHECKING:
    from dalembert.cli.app import InfoOptions


def zoo(as_json: bool) -> None:
    """All robots of the zoo, and the other systems by name."""
    rows = [_zoo_row(name) for name in names()]
    if as_json:
        print_json([*rows, *_others()])
        return
    listing = table(None, "name", "joints", "dof", "title", "source")
    for column in listing.columns[3:]:
        column.justify = "left"
    for row in rows:
        listing.add_row(
            Text(row["name"], style="bold"),
            str(row["joints"]),
            str(row["dof"]),
            row["title"],
            row["citation"],
        )
    show_table(console(), listing)
    others = table("Other systems", "name", "kind", "title", "source", left=4)
    for row in _others():
        others.add_row(Text(row["name"], style="bold"), row["kind"], row["title"], row["citation"])
    show_table(console(), others)


def _others() -> list[dict[str, Any]]:
    """Systems that are no robots: by their energies, held by constraints, of free bodies."""
    kinds = {"energies": systems(), "constrained": mechanisms(), "bodies": bodies()}
    return [
        {"name": name, "kind": kind, "title": entry(name).title, "citation": entry(name).citation}
        for kind, listed in kinds.items()
        for name in listed
    ]


def info(options: InfoOptions) -> None:
    """One system: tree, masses, limits, constraints, what its file said, operation counts."""
    strict = {"strict": True} if options.strict and not is_known(options.robot) else {}
    facts = describe(load(options.robot, **strict))
    if options.json:
        print_json(facts)
        return
    show(console(), facts)


def show(screen: Console, facts: dict[str, Any]) -> None:
    """The heading, the tree of joints and links, the frames, and the operation counts."""
    heading = facts["title"] or facts["name"]
    say(screen, (heading, "bold"), f"  ({facts['name']})")
    if facts["citation"]:
        say(screen, (facts["citation"], "dim"))
    show_table(screen, _joints(facts) if facts["joints"] else _coordinates(facts))
    show_table(screen, _listing(facts))
    _show_notes(screen, facts)
    screen.print()
    if facts["operation_counts"]:
        _show_counts(screen, facts["operation_counts"])
    else:
        command = f"dalembert count {facts['name']}"
        say(screen, "Operations: see ", (command, "cyan"), " (takes a while).")


def _coordinates(facts: dict[str, Any]) -> Table:
    """The coordinates of a system without links."""
    made = table(None, "coordinate", "kind", left=2)
    for one in facts["coordinates"]:
        made.add_row(one["name"], one["kind"])
    return made


def _joints(facts: dict[str, Any]) -> Table:
    tree = table(None, "joint", "type", "link", "mass kg", "range", "speed", "effort", left=3)
    for joint in facts["joints"]:
        tree.add_row(
            "  " * joint["depth"] + "└ " + joint["name"],
            joint["type"] + (", follows" if joint["follows"] else ""),
            joint["link"],
            number(joint["mass"]),
            range_text(joint),
            _limit(joint["velocity_limit"], joint["units"]["qd"]),
            _limit(joint["effort_limit"], joint["units"]["tau"]),
        )
    return tree


def _listing(facts: dict[str, Any]) -> Table:
    """Freedoms, mass, gravity and names, as far as there are any."""
    listing = Words.grid(padding=(0, 2))
    listing.add_row("degrees of freedom", str(facts["freedoms"]))
    if facts["total_mass"] is not None:
        listing.add_row("moving mass", f"{number(facts['total_mass'])} kg")
        listing.add_row("gravity", f"({', '.join(number(g) for g in facts['gravity'])}) m/s²")
        listing.add_row("tool", facts["tool"])
    for title in ("constraints", "frames", "actuators", "parameters"):
        if facts[title]:
            listing.add_row(title, ", ".join(facts[title]))
    return listing


def _show_notes(screen: Console, facts: dict[str, Any]) -> None:
    """What reading the file left to say: warnings first, all of them."""
    for warning in facts["warnings"]:
        say(screen, ("warning:", "yellow"), f" {warning}")
    for title in ("merged", "locked", "ignored"):
        if facts[title]:
            say(screen, (f"{title}:", "cyan"), f" {'; '.join(facts[title])}")
    if facts["left_out"]:
        left = table("Left out", "what", "name", "effect", left=3)
        for row in facts["left_out"]:
            left.add_row(row["what"], row["name"], row["effect"])
        show_table(screen, left)
    held = {name.split("[")[0] for name in facts["constraints"]}
    for equality in facts["equalities"]:
        if equality["name"] in held:
            continue  # it is one of the constraints
        pair = f"{equality['first']} – {equality['second'] or 'world'}"
        said = f"{equality['kind']} constraint {equality['name']} ({pair})"
        say(screen, ("kept:", "cyan"), f" {said}")


def _show_counts(screen: Console, operation_counts: dict[str, dict[str, Any]]) -> None:
    counts = table(
        "Operations per state", "quantity", "formulation", "×", "+", "÷", "√", "sin, cos", left=2
    )
    for quantity, count in operation_counts.items():
        counts.add_row(
            quantity.replace("_", " "),
            count["formulation"],
            *(str(count[kind]) for kind in ("multiplications", "additions", "divisions")),
            *(str(count[kind]) for kind in ("square_roots", "trigonometric")),
        )
    show_table(screen, counts)


def _zoo_row(name: str) -> dict[str, Any]:
    robot, known = load(name), entry(name)
    return {
        "name": name,
        "joints": len(robot.joints),
        "dof": robot.nv,
        "title": known.title,
        "citation": known.citation,
    }


def _limit(value: float, unit: str) -> str:
    return f"{value:.4g} {unit}" if np.isfinite(value) else "–"
