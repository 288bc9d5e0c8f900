"""`dalembert equations`: the equations of motion as a textbook prints them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

import dalembert
from dalembert.cli.output import console, say
from dalembert.errors import DalembertError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.zoo import is_known
from dalembert.zoo.letters import symbolic_model, with_letters

FORMS = ("text", "latex", "html", "pdf-ready")
QUANTITIES = ("M", "C", "g", "Gamma", "K", "U", "B", "Csq")


def equations(
    name: str,
    form: str,
    quantities: Sequence[str],
    simplify: str,
    timeout: float,
    out: Path | None,
) -> None:
    """Derive, check and print; HTML and LaTeX documents go to a file if `out` names one."""
    for quantity in quantities:
        if quantity not in QUANTITIES:
            hint = suggest(quantity, list(QUANTITIES))
            raise UnknownNameError(f"there are no equations of {quantity!r}{hint}")
    system = symbolic_model(name) if is_known(name) else with_letters(dalembert.load(name))
    found = system.compiled.equations(quantities, simplify=simplify, timeout=timeout)
    title = f"Equations of motion of {system.name}"
    text = {
        "text": found.text,
        "latex": found.latex,
        "html": lambda: found.html(title),
        "pdf-ready": lambda: found.latex_document(title),
    }[form]()
    if out is not None:
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(text, encoding="utf-8")
        except OSError as error:
            raise DalembertError(f"--out {out} cannot be written: {error.strerror}") from None
        say(console(), f"equations: {out}")
    else:
        typer.echo(text)
    if not found.complete:
        typer.echo(f"note: {found.note}", err=True)
