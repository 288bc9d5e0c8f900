"""Texts that come with the package: scripts, styles and what pages are made of."""

from __future__ import annotations

from importlib.resources import files


def asset(name: str) -> str:
    """The text of a file of this folder."""
    return (files("dalembert.report") / name).read_text(encoding="utf-8")
