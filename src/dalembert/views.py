"""Hooks set by the package: systems offer pages and runs without importing these layers."""

from __future__ import annotations

TYPE_CHECKING = False  # known by this name to type checkers; typing itself takes half of an import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

widget: Callable[[Any], Any]  # of a system: its live page in a notebook
plot: Callable[[Any, Any], Any]  # of a system and configurations: a picture
report: Callable[[Any, Any], Any]  # of a system and a path: its page, written
simulate: Callable[..., Any]  # of a system: its run, with the accessor `.dl`
