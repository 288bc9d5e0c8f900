"""`dalembert zoo` and `dalembert info`: which robots there are, and what one of them is."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import dalembert
from dalembert.cli.coordinates import coordinates
from dalembert.cli.output import console, number, print_json, table
from dalembert.formulations import quantity as find_quantity
from dalembert.model import JointInfo, Model
from dalembert.robot import Robot
from dalembert.zoo import entry, names

COUNTED = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "bias", "gravity_torque")


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
            f"[bold]{row['name']}[/]",
            str(row["joints"]),
            str(row["dof"]),
            row["title"],
            row["citation"],
        )
    console().print(listing)


def info(name: str, as_json: bool) -> None:
    """One robot: tree, masses, limits, frames, gravity, operation counts."""
    robot = dalembert.load(name)
    facts = describe(robot)
    if as_json:
        print_json(facts)
        return
    show(console(), facts)


def describe(robot: Robot) -> dict[str, Any]:
    """Everything `info` says, as plain data."""
    model = (
        robot.model.bind(robot.model.parameter_values()) if robot.model.parameters else robot.model
    )
    known = entry(robot.name) if robot.name in names() else None
    return {
        "name": robot.name,
        "title": known.title if known else None,
        "citation": known.citation if known else None,
        "nq": robot.nq,
        "nv": robot.nv,
        "total_mass": sum(float(body.mass) for body in model.bodies),
        "gravity": np.asarray(model.gravity, dtype=float),
        "joints": [_joint(robot, model, joint) for joint in model.joints],
        "frames": list(robot.frames),
        "parameters": dict(robot.model.parameters),
        "operation_counts": {quantity: _count(robot, quantity) for quantity in COUNTED},
    }


def show(screen: Console, facts: dict[str, Any]) -> None:
    """The heading, the tree of joints and links, the frames, and the operation counts."""
    heading = facts["title"] or facts["name"]
    screen.print(f"[bold]{heading}[/]  ({facts['name']})")
    if facts["citation"]:
        screen.print(f"[dim]{facts['citation']}[/]")
    tree = table(None, "joint", "type", "link", "mass kg", "range", "speed", "effort", left=3)
    for joint in facts["joints"]:
        tree.add_row(
            "  " * joint["depth"] + "└ " + joint["name"],
            joint["type"],
            joint["link"],
            number(joint["mass"]),
            _range(joint),
            _limit(joint["velocity_limit"], joint["units"]["qd"]),
            _limit(joint["effort_limit"], joint["units"]["tau"]),
        )
    screen.print(tree)
    listing = Table.grid(padding=(0, 2))
    listing.add_row("degrees of freedom", str(facts["nv"]))
    listing.add_row("moving mass", f"{number(facts['total_mass'])} kg")
    listing.add_row("gravity", f"({', '.join(number(g) for g in facts['gravity'])}) m/s²")
    listing.add_row("frames", ", ".join(facts["frames"]))
    if facts["parameters"]:
        listing.add_row("parameters", ", ".join(facts["parameters"]))
    screen.print(listing)
    screen.print()
    _show_counts(screen, facts["operation_counts"])


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
    robot, known = dalembert.load(name), entry(name)
    return {
        "name": name,
        "joints": len(robot.joints),
        "dof": robot.nv,
        "title": known.title,
        "citation": known.citation,
    }


def _joint(robot: Robot, model: Model, joint: JointInfo) -> dict[str, Any]:
    first = model.bodies[joint.bodies[0]]
    rates = coordinates(robot, "qd")[joint.v]
    drive = model.drive
    return {
        "name": joint.name,
        "type": joint.kind,
        "link": joint.link,
        "parent": model.joint_of(first.parent).link if first.parent >= 0 else "base",
        "depth": len({model.joint_of(i).name for i in model.supports[joint.bodies[0]]}) - 1,
        "mass": float(sum(model.bodies[i].mass for i in joint.bodies)),
        "units": {
            "q": coordinates(robot, "q")[joint.q][0].unit("q"),
            "qd": rates[0].unit("qd"),
            "tau": rates[0].unit("tau"),
        },
        "lower": joint.lower,
        "upper": joint.upper,
        "velocity_limit": joint.velocity_limit,
        "effort_limit": joint.effort_limit,
        "viscous": np.asarray(drive.viscous, dtype=float)[joint.v],
        "coulomb_positive": np.asarray(drive.coulomb_positive, dtype=float)[joint.v],
        "coulomb_negative": np.asarray(drive.coulomb_negative, dtype=float)[joint.v],
        "reflected_rotor_inertia": np.asarray(drive.rotor, dtype=float)[joint.v],
    }


def _count(robot: Robot, quantity: str) -> dict[str, Any]:
    count = robot.operation_count(quantity)
    default = find_quantity(quantity).formulations[0].name
    return {"formulation": default, **vars(count), "total": count.total}


def _range(joint: dict[str, Any]) -> str:
    lower, upper = joint["lower"][0], joint["upper"][0]
    if not np.isfinite([lower, upper]).any():
        return "free"
    return f"{lower:.4g} … {upper:.4g} {joint['units']['q']}"


def _limit(value: float, unit: str) -> str:
    return f"{value:.4g} {unit}" if np.isfinite(value) else "–"
