"""Quantities of a robot as files for other machines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dalembert.errors import UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.systems.robot import Robot

TARGETS = ("c", "cuda", "casadi")


def export(
    robot: Robot,
    quantity: str,
    target: str,
    folder: str | Path,
    dtype: str = "float64",
    layout: str = "row",
    formulation: str | None = None,
    **choices: Any,
) -> list[Path]:
    """Write a quantity into a folder, and return the files.

    "c" makes a .c and a .h file, "cuda" a .cu file with one state per thread, "casadi" a function that
    `casadi.Function.load` reads.
    """
    if target not in TARGETS:
        raise UnknownNameError(f"target={target!r} is unknown{suggest(target, list(TARGETS))}")
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    stem = place / f"{robot.name}_{quantity}"
    if target == "casadi":
        file = stem.with_suffix(".casadi")
        robot.casadi_function(quantity, formulation, **choices).save(str(file))
        return [file]
    kinds = {"c": ("c", "h"), "cuda": ("cuda",)}[target]
    files = []
    for kind in kinds:
        files.append(stem.with_suffix(".cu" if kind == "cuda" else f".{kind}"))
        text = robot.source(quantity, kind, dtype, formulation, layout, **choices)
        files[-1].write_text(text, encoding="ascii")
    return files
