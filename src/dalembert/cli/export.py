"""`dalembert export`: a quantity as files for other machines."""

from __future__ import annotations

from pathlib import Path

from dalembert.cli.output import console, say
from dalembert.cli.subject import load
from dalembert.systems.export import export as write


def export(
    name: str,
    quantity: str,
    target: str,
    out: Path,
    dtype: str,
    layout: str,
    formulation: str | None,
) -> None:
    """Write the files and name them."""
    system = load(name).compiled
    for path in write(system, quantity, target, out, dtype, layout, formulation):
        say(console(), f"wrote {path}")
