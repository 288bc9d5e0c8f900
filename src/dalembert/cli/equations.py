"""`dalembert equations`: the equations of motion as a textbook prints them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dalembert.cli.inputs import load
from dalembert.cli.output import console, say
from dalembert.cli.results import write_text, writing
from dalembert.errors import DalembertError, FormulationError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.symbolic.lettered import SOURCES
from dalembert.systems.system import System
from dalembert.zoo import is_known
from dalembert.zoo.letters import symbolic_model, with_letters

if TYPE_CHECKING:
    from dalembert.cli.app import EquationsOptions

QUANTITIES = tuple(SOURCES)


def equations(options: EquationsOptions) -> None:
    """Derive, check and print; HTML and LaTeX documents go to a file if --out names one."""
    chosen = {"latex": options.latex, "html": options.html, "pdf-ready": options.pdf_ready}
    form = next((name for name, wanted in chosen.items() if wanted), "text")
    if options.recursion is not None:
        _recursion(options, form, options.recursion)
        return
    for quantity in options.quantity or ():
        if quantity not in QUANTITIES:
            hint = suggest(quantity, list(QUANTITIES))
            raise UnknownNameError(f"there are no equations of {quantity!r}{hint}")
    system = _symbolic(options.robot)
    found = system.compiled.equations(
        options.quantity, simplify=options.simplify, timeout=options.timeout
    )
    title = f"Equations of motion of {system.name}"
    forms: Mapping[str, Callable[[], str]] = {
        "text": found.text,
        "latex": found.latex,
        "html": lambda: found.html(title),
        "pdf-ready": lambda: found.latex_document(title),
    }
    _give(forms[form](), options.out)
    if not found.complete:
        typer.echo(f"note: {found.note}", err=True)


def _recursion(options: EquationsOptions, form: str, formulation: str) -> None:
    """What a formulation of inverse dynamics computes link by link, in letters."""
    if form not in ("text", "latex"):
        raise UnknownNameError(f"--recursion is written as text or LaTeX, not as {form}")
    system = _symbolic(options.robot).compiled
    if system.robot is not system:
        raise FormulationError(f"{options.robot} is not a tree of links; --recursion needs one")
    found = system.robot.recursion(formulation=formulation, timeout=options.timeout)
    _give(found.latex() if form == "latex" else found.text(), options.out)


def _symbolic(name: str) -> System:
    """The system of that name or file, with letters for its numbers where they have letters."""
    return symbolic_model(name) if is_known(name) else with_letters(load(name))


def _give(text: str, out: Path | None) -> None:
    """Write to the file, or print."""
    if out is None:
        typer.echo(text)
        return
    with writing(out, DalembertError):
        out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, text)
    say(console(), f"equations: {out}")
