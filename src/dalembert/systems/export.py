"""Quantities of a robot as files for other machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from dalembert.errors import DalembertError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.systems.robot import Robot
from dalembert.text import file_name

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
    """Write a quantity into a folder, and return the files; none is written outside of it.

    "c" makes a .c and a .h file, "cuda" a .cu file with one state per thread, "casadi" a function that
    `casadi.Function.load` reads.
    """
    if target not in TARGETS:
        raise UnknownNameError(f"target={target!r} is unknown{suggest(target, list(TARGETS))}")
    stem = file_name(f"{robot.name}_{quantity}")
    if target == "casadi":
        function = robot.casadi_function(quantity, formulation, **choices)
        return _written(Path(folder), {f"{stem}.casadi": lambda path: function.save(str(path))})
    endings = {"c": {"c": "c", "h": "h"}, "cuda": {"cuda": "cu"}}[target]
    made = {
        f"{stem}.{ending}": robot.source(quantity, kind, dtype, formulation, layout, **choices)
        for kind, ending in endings.items()
    }
    return _written(Path(folder), {name: partial(_write, text) for name, text in made.items()})


def _write(text: str, path: Path) -> None:
    path.write_text(text, encoding="ascii")


def _written(folder: Path, writers: Mapping[str, Callable[[Path], Any]]) -> list[Path]:
    """The files of these names in the folder, which is made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, write in writers.items():
            write(folder / name)
    except (OSError, RuntimeError) as error:  # CasADi's is a RuntimeError
        reason = getattr(error, "strerror", None) or error
        raise DalembertError(f"cannot write into {folder}: {reason}") from None
    return [folder / name for name in writers]
