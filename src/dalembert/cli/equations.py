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
from dalembert.symbolic.quantities import SOURCES
from dalembert.systems.system import System
from dalembert.zoo import is_known
from dalembert.zoo.symbolic_models import symbolic_model, with_symbols

if TYPE_CHECKING:
    from dalembert.cli.app import EquationsOptions

QUANTITIES = tuple(SOURCES)


def equations(options: EquationsOptions) -> None:
    """Derive, check and print; HTML and LaTeX documents go to a file if --out names one."""
    flags = {"latex": options.latex, "html": options.html, "pdf-ready": options.pdf_ready}
    form = next((name for name, is_set in flags.items() if is_set), "text")
    if options.recursion is not None:
        _recursion(options, form, options.recursion)
        return
    for quantity in options.quantity or ():
        if quantity not in QUANTITIES:
            hint = suggest(quantity, list(QUANTITIES))
            raise UnknownNameError(f"there are no equations of {quantity!r}{hint}")
    system = _symbolic(options.robot)
    result = system.compiled.equations(
        options.quantity, simplify=options.simplify, timeout=options.timeout
    )
    title = f"Equations of motion of {system.name}"
    forms: Mapping[str, Callable[[], str]] = {
        "text": result.text,
        "latex": result.latex,
        "html": lambda: result.html(title),
        "pdf-ready": lambda: result.latex_document(title),
    }
    _print_or_write(forms[form](), options.out)
    if not result.complete:
        typer.echo(f"note: {result.note}", err=True)


def _recursion(options: EquationsOptions, form: str, formulation: str) -> None:
    """Intermediates of a formulation of inverse dynamics, link by link, with symbols."""
    if form not in ("text", "latex"):
        raise UnknownNameError(f"--recursion is written as text or LaTeX, not as {form}")
    system = _symbolic(options.robot).compiled
    if system.robot is not system:
        raise FormulationError(f"{options.robot} is not a tree of links; --recursion needs one")
    result = system.robot.recursion(formulation=formulation, timeout=options.timeout)
    _print_or_write(result.latex() if form == "latex" else result.text(), options.out)


def _symbolic(name: str) -> System:
    """The system of that name or file, with symbols for its numbers where they have symbols."""
    return symbolic_model(name) if is_known(name) else with_symbols(load(name))


def _print_or_write(text: str, out: Path | None) -> None:
    if out is None:
        typer.echo(text)
        return
    with writing(out, DalembertError):
        out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, text)
    say(console(), f"equations: {out}")
