"""`dalembert zoo` and `dalembert info`: which robots there are, and what one of them is."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from dalembert.cli.output import Words, console, number, print_json, say, table
from dalembert.cli.subject import load_robot
from dalembert.report.facts import describe
from dalembert.zoo import bodies, entry, mechanisms, names, systems


def zoo(as_json: bool) -> None:
    """All robots of the zoo."""
    rows = [_zoo_row(name) for name in names()]
    if as_json:
        print_json(rows)
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
    console().print(listing)


def info(name: str, strict: bool, as_json: bool) -> None:
    """One robot: tree, masses, limits, frames, gravity, what its file said, operation counts."""
    from_file = strict and name not in (*names(), *systems(), *mechanisms(), *bodies())
    robot = load_robot(name, **({"strict": True} if from_file else {}))
    facts = describe(robot)
    if as_json:
        print_json(facts)
        return
    show(console(), facts)


def show(screen: Console, facts: dict[str, Any]) -> None:
    """The heading, the tree of joints and links, the frames, and the operation counts."""
    heading = facts["title"] or facts["name"]
    say(screen, (heading, "bold"), f"  ({facts['name']})")
    if facts["citation"]:
        say(screen, (facts["citation"], "dim"))
    tree = table(None, "joint", "type", "link", "mass kg", "range", "speed", "effort", left=3)
    for joint in facts["joints"]:
        tree.add_row(
            "  " * joint["depth"] + "└ " + joint["name"],
            joint["type"] + (", follows" if joint["follows"] else ""),
            joint["link"],
            number(joint["mass"]),
            _range(joint),
            _limit(joint["velocity_limit"], joint["units"]["qd"]),
            _limit(joint["effort_limit"], joint["units"]["tau"]),
        )
    screen.print(tree)
    listing = Words.grid(padding=(0, 2))
    listing.add_row("degrees of freedom", str(facts["nv"]))
    listing.add_row("moving mass", f"{number(facts['total_mass'])} kg")
    listing.add_row("gravity", f"({', '.join(number(g) for g in facts['gravity'])}) m/s²")
    listing.add_row("frames", ", ".join(facts["frames"]))
    if facts["parameters"]:
        listing.add_row("parameters", ", ".join(facts["parameters"]))
    screen.print(listing)
    _show_notes(screen, facts)
    screen.print()
    if facts["operation_counts"]:
        _show_counts(screen, facts["operation_counts"])
    else:
        command = f"dalembert count {facts['name']}"
        say(screen, "Operations: see ", (command, "cyan"), " (takes a while).")


def _show_notes(screen: Console, facts: dict[str, Any]) -> None:
    """What reading the file left to say: warnings first, all of them."""
    for warning in facts["warnings"]:
        say(screen, ("warning:", "yellow"), f" {warning}")
    for title in ("merged", "locked", "ignored"):
        if facts[title]:
            say(screen, (f"{title}:", "cyan"), f" {'; '.join(facts[title])}")
    for equality in facts["equalities"]:
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
    screen.print(counts)


def _zoo_row(name: str) -> dict[str, Any]:
    robot, known = load_robot(name), entry(name)
    return {
        "name": name,
        "joints": len(robot.joints),
        "dof": robot.nv,
        "title": known.title,
        "citation": known.citation,
    }


def _range(joint: dict[str, Any]) -> str:
    lower, upper = joint["lower"][0], joint["upper"][0]
    if not np.isfinite([lower, upper]).any():
        return "free"
    return f"{lower:.4g} … {upper:.4g} {joint['units']['q']}"


def _limit(value: float, unit: str) -> str:
    return f"{value:.4g} {unit}" if np.isfinite(value) else "–"
