"""`dalembert zoo`, `info`, `count`, `equations` and `export`: the robots, and one in detail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dalembert.cli.inputs import load
from dalembert.cli.output import (
    console,
    integer,
    literal,
    number,
    print_json,
    say,
    show,
    show_table,
)
from dalembert.errors import FormulationError, UnknownNameError
from dalembert.references import with_titles
from dalembert.report.facts import describe, range_text
from dalembert.systems.export import export as write_source
from dalembert.text import require_known
from dalembert.zoo import bodies, entry, is_known, mechanisms, names, systems

if TYPE_CHECKING:
    from dalembert.cli.app import (
        CountOptions,
        EquationsOptions,
        ExportOptions,
        InfoOptions,
        ZooOptions,
    )

LEFT_OUT = ("what", "name", "effect")  # columns of what a file has and the robot has not


def zoo(options: ZooOptions) -> None:
    """All robots of the zoo, and the other systems by name."""
    listed: list[dict[str, Any]] = []
    for name in names():
        robot = load(name)
        listed.append({"name": name, "joints": len(robot.joints), "dof": robot.nv})
    kinds = {"energies": systems(), "constrained": mechanisms(), "bodies": bodies()}
    others: list[dict[str, Any]] = [
        {"name": name, "kind": kind} for kind in kinds for name in kinds[kind]
    ]
    for row in (*listed, *others):
        known = entry(row["name"])
        row |= {"title": known.title, "citation": known.citation}
    if options.json:
        print_json([*listed, *others])
        return
    tables = (
        (None, ("name", "joints", "dof", "title", "source"), listed, (3, 4)),
        ("Other systems", ("name", "kind", "title", "source"), others, (1, 2, 3)),
    )
    for title, heads, facts, words in tables:
        cells = (map(str, row.values()) for row in facts)
        rows: list[list[str | Text]] = [[Text(name, style="bold"), *row] for name, *row in cells]
        show_table(console(), title, heads, rows, words=words)


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
    _show_joints(screen, facts)
    listed = {"degrees of freedom": str(facts["freedoms"])}
    if facts["total_mass"] is not None:
        listed["moving mass"] = f"{number(facts['total_mass'])} kg"
        listed["gravity"] = f"({', '.join(map(number, facts['gravity']))}) m/s²"
        listed["tool"] = facts["tool"]
    names = ("constraints", "frames", "actuators", "parameters")
    listed |= {title: ", ".join(facts[title]) for title in names if facts[title]}
    listing = Table.grid(padding=(0, 2))
    for row in listed.items():
        listing.add_row(*map(literal, row))
    show(screen, listing)
    # notes of reading the file: warnings first, all of them
    for warning in facts["warnings"]:
        say(screen, ("warning:", "yellow"), f" {warning}")
    for name in facts["redundant"]:
        reason = "the joints or the other constraints hold all it asks for"
        say(screen, ("redundant:", "cyan"), f" {name} takes no freedom: {reason}")
    for title in ("merged", "locked", "ignored"):
        if facts[title]:
            say(screen, (f"{title}:", "cyan"), f" {'; '.join(facts[title])}")
    if facts["left_out"]:
        left_out = ([row[head] for head in LEFT_OUT] for row in facts["left_out"])
        show_table(screen, "Left out", LEFT_OUT, left_out, left=3)
    enforced = {name.split("[")[0] for name in facts["constraints"]}
    for equality in facts["equalities"]:
        if equality["name"] not in enforced:  # else it is one of the constraints
            pair = f"{equality['first']} – {equality['second'] or 'world'}"
            text = f"{equality['kind']} constraint {equality['name']} ({pair})"
            say(screen, ("kept:", "cyan"), f" {text}")
    screen.print()
    if not facts["operation_counts"]:
        command = f"dalembert count {facts['name']}"
        say(screen, "Operations: see ", (command, "cyan"), " (takes a while).")
        return
    heads = ("quantity", "formulation", "×", "+", "÷", "√", "sin, cos")
    kinds = ("multiplications", "additions", "divisions", "square_roots", "trigonometric")
    rows = [
        (name.replace("_", " "), row["formulation"], *(str(row[kind]) for kind in kinds))
        for name, row in facts["operation_counts"].items()
    ]
    show_table(screen, "Operations per state", heads, rows, left=2)


def _show_joints(screen: Console, facts: dict[str, Any]) -> None:
    """Print the tree of joints, or the coordinates of a system without links."""
    if not facts["joints"]:
        pairs = [(entry["name"], entry["kind"]) for entry in facts["coordinates"]]
        show_table(screen, None, ("coordinate", "kind"), pairs, left=2)
        return
    rows = []
    for joint in facts["joints"]:
        name = "  " * joint["depth"] + "└ " + joint["name"]
        kind = joint["type"] + (", follows" if joint["follows"] else "")
        limits = (joint["velocity_limit"], "qd"), (joint["effort_limit"], "tau")
        cells = (f"{x:.4g} {joint['units'][k]}" if np.isfinite(x) else "–" for x, k in limits)
        rows.append((name, kind, joint["link"], number(joint["mass"]), range_text(joint), *cells))
    heads = ("joint", "type", "link", "mass kg", "range", "speed", "effort")
    show_table(screen, None, heads, rows, left=3)


def count(options: CountOptions) -> None:
    """Counts for one robot; for inverse dynamics also the history of savings and the growth."""
    from dalembert.report import comparison, growth
    from dalembert.systems.counting import as_written, general_chain

    system = load(options.robot).compiled
    quantity = options.quantity or comparison.counted_quantity(system)
    counted = comparison.count_rows(system, quantity)
    if options.json:
        print_json([asdict(row) for row in counted])
        return
    screen = console()
    heads = ("as written ×", "+", "this system ×", "+", "sin, cos", "published, n = 6 ×", "+")
    known = comparison.known_columns(counted)
    numbers = ([row.numbers[k] for k in known] for row in counted)
    texts = (["–" if x is None else integer(x) for x in own] for own in numbers)
    rows = ([row.formulation, *cells] for row, cells in zip(counted, texts, strict=True))
    title = f"{quantity.replace('_', ' ')} of {system.name}"
    show_table(screen, title, ("formulation", *(heads[k] for k in known)), rows)
    for row in counted:
        if row.note:
            say(screen, "  ", (row.formulation, "cyan"), f": {row.note}")
    screen.print(
        "  as written: general numbers, nothing known to be zero; this system: zeros, ones and "
        "repetitions removed.\n"
    )
    if quantity != "inverse_dynamics" or system.robot is not system:
        return
    chain, history = general_chain(comparison.PUBLISHED_FOR), []
    for name, choices, variant in comparison.HISTORY:
        own = as_written(chain, "inverse_dynamics", name, **choices)
        history.append((variant, integer(own.multiplications), integer(own.additions)))
    title = "where the savings come from, general chain of six"
    show_table(screen, title, ("variant", "×", "+"), history)
    with screen.status("counting …") as status:
        growths = growth.growths(progress=lambda name: status.update(f"counting {name} …"))
    text = comparison.polynomial_text
    polynomials = ((x.formulation, text(x.multiplications), text(x.additions)) for x in growths)
    title, columns = "growth with the number of joints, exact", ("multiplications", "additions")
    show_table(screen, title, ("formulation", *columns), polynomials)
    totals = {x.formulation: sum(x.at(comparison.PUBLISHED_FOR)) for x in growths}
    if all(name in totals for name in comparison.PUBLISHED):
        uicker, four, three, newton = (totals[name] for name in comparison.PUBLISHED)
        screen.print(
            f"  ratios at n = 6 ({with_titles('001 §1.4')} says 15, 2, 5, 2½): "
            f"uicker_kahn/4×4 {uicker / four:.1f}, 4×4/3×3 {four / three:.1f}, "
            f"4×4/craig {four / newton:.1f}, 3×3/craig {three / newton:.1f}"
        )
    if options.plot is not None:
        growth.plot_growth(growths, options.plot)
        say(screen, f"picture: {options.plot}")


def export(options: ExportOptions) -> None:
    """Write a quantity as source code or a module that stands on its own."""
    system, settings = load(options.robot).compiled, (options.out, options.dtype, options.layout)
    pairs = [text.partition("=") for text in options.set or ()]
    choices: dict[str, Any] = {name.strip(): text.strip() or True for name, _, text in pairs}
    paths = write_source(
        system, options.quantity, options.target, *settings, options.formulation, **choices
    )
    for path in paths:
        say(console(), f"wrote {path}")


def equations(options: EquationsOptions) -> None:
    """Derive, check and print equations of motion, or write them to the file of --out."""
    from dalembert.cli.results import write_text
    from dalembert.symbolic.quantities import SOURCES
    from dalembert.zoo.symbolic_models import symbolic_model, with_symbols

    flags = {"latex": options.latex, "html": options.html, "pdf-ready": options.pdf_ready}
    form = next((name for name, is_set in flags.items() if is_set), "text")
    if options.recursion is not None and form not in ("text", "latex"):
        raise UnknownNameError(f"--recursion is written as text or LaTeX, not as {form}")
    for quantity in options.quantity or () if options.recursion is None else ():
        require_known(quantity, SOURCES, "there are no equations of")
    robot, note = options.robot, ""
    model = symbolic_model(robot) if is_known(robot) else with_symbols(load(robot))
    system = model.compiled
    if options.recursion is not None:
        if system.robot is not system:
            raise FormulationError(f"{robot} is not a tree of links; --recursion needs one")
        recursion = system.recursion(formulation=options.recursion, timeout=options.timeout)
        text = recursion.latex() if form == "latex" else recursion.text()
    else:
        result = system.equations(
            options.quantity, simplify=options.simplify, timeout=options.timeout
        )
        title = f"Equations of motion of {model.name}"
        forms: Mapping[str, Callable[[], str]] = {
            "text": result.text,
            "latex": result.latex,
            "html": lambda: result.html(title),
            "pdf-ready": lambda: result.latex_document(title),
        }
        text, note = forms[form](), "" if result.complete else result.note
    if options.out is None:
        typer.echo(text)
    else:
        write_text(options.out, text)
        say(console(), f"equations: {options.out}")
    if note:
        typer.echo(f"note: {note}", err=True)
