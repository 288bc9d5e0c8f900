"""`dalembert equations`: the equations of motion as a textbook prints them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import typer

from dalembert.cli.output import console, say
from dalembert.cli.subject import load
from dalembert.errors import DalembertError, FormulationError, UnknownNameError
from dalembert.files import whole
from dalembert.formulations.registry import suggest
from dalembert.symbolic.lettered import SOURCES
from dalembert.systems.system import System
from dalembert.zoo import is_known
from dalembert.zoo.letters import symbolic_model, with_letters

QUANTITIES = tuple(SOURCES)


def equations(
    name: str,
    form: str,
    quantities: Sequence[str] | None,
    simplify: str,
    timeout: float,
    out: Path | None,
) -> None:
    """Derive, check and print; HTML and LaTeX documents go to a file if `out` names one."""
    for quantity in quantities or ():
        if quantity not in QUANTITIES:
            hint = suggest(quantity, list(QUANTITIES))
            raise UnknownNameError(f"there are no equations of {quantity!r}{hint}")
    system = _lettered(name)
    found = system.compiled.equations(quantities, simplify=simplify, timeout=timeout)
    title = f"Equations of motion of {system.name}"
    forms: Mapping[str, Callable[[], str]] = {
        "text": found.text,
        "latex": found.latex,
        "html": lambda: found.html(title),
        "pdf-ready": lambda: found.latex_document(title),
    }
    _give(forms[form](), out)
    if not found.complete:
        typer.echo(f"note: {found.note}", err=True)


def links(name: str, form: str, formulation: str, timeout: float, out: Path | None) -> None:
    """What a formulation of inverse dynamics computes link by link, in letters."""
    if form not in ("text", "latex"):
        raise UnknownNameError(f"--recursion is written as text or LaTeX, not as {form}")
    system = _lettered(name).compiled
    if system.robot is not system:
        raise FormulationError(f"{name} is not a tree of links; --recursion needs one")
    found = system.robot.recursion(formulation=formulation, timeout=timeout)
    _give(found.latex() if form == "latex" else found.text(), out)


def _lettered(name: str) -> System:
    """The system of that name or file, with letters for its numbers where they have letters."""
    return symbolic_model(name) if is_known(name) else with_letters(load(name))


def _give(text: str, out: Path | None) -> None:
    """Write to the file, or print."""
    if out is None:
        typer.echo(text)
        return
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with whole(out) as part:
            part.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DalembertError(f"--out {out} cannot be written: {error.strerror}") from None
    say(console(), f"equations: {out}")
