"""What the package puts in for layers below: systems are asked for pages and runs, and import none."""

from __future__ import annotations

TYPE_CHECKING = False  # known by this name to type checkers; typing itself takes half of an import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

widget: Callable[[Any], Any]  # of a system: its live page in a notebook
report: Callable[[Any, Any], Any]  # of a system and a path: its page, written
simulate: Callable[..., Any]  # of a system: its run, with the accessor `.dl`
