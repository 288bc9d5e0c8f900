"""`dalembert export`: a quantity as files for other machines."""

from __future__ import annotations

from pathlib import Path

import dalembert
from dalembert.cli.output import console
from dalembert.systems.export import export as write
from dalembert.text import console as words


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
    robot = dalembert.load(name)
    for path in write(robot, quantity, target, out, dtype, layout, formulation):
        console().print(f"wrote {words(path)}")
