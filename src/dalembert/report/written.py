"""The page of any system, in a file."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from dalembert.report.page import system_page, write_page
from dalembert.systems.system import System
from dalembert.text import file_name


def write_report(
    system: System,
    path: str | PathLike[str] | None = None,
    progress: Callable[[str], Any] = lambda step: None,
) -> Path:
    """Write the page of a system, which computes in the browser, and return its path.

    Without a path it goes into the present folder under the system's name. `progress` is told what
    is being done.
    """
    place = Path(f"{file_name(system.name)}.html" if path is None else path)
    write_page(system_page(system.compiled, progress), place)
    return place
