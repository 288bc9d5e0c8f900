"""Pages, figures and animations of systems and runs; matplotlib is imported when a figure is drawn."""

from __future__ import annotations

from importlib.resources import files


def asset(name: str) -> str:
    """Text of a file of this package, such as ``assets/page.css``."""
    return (files("dalembert.report") / name).read_text(encoding="utf-8")
