"""Exercises on the pages of the course: questions from `dalembert.course`, hint and solution folded."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from sympy import Symbol, latex

import dalembert as dl
from dalembert.course import Exercise

MARKER = "<!-- exercises -->"
FOLDER = "course/"


def page(chapter: str) -> str:
    """The exercises of a chapter as Markdown."""
    check = f'`dl.exercise("{chapter}", 1).check(answer)`'
    lines = [f"Answers are checked by {check} and the like; SI units, angles in radians.", ""]
    for task in dl.exercises(chapter):
        lines += [f"**{task.number}. {task.title}** ({task.page}). {task.question}", ""]
        lines += _folded("Hint", task.hint)
        lines += _folded("Solution", f"{task.solution.text}\n\n{_value(task)}")
    return "\n".join(lines)


def _folded(name: str, text: str) -> list[str]:
    """Markdown inside of HTML: empty lines end the HTML."""
    summary = f"<summary>{escape(name)}</summary>"
    return [f'<details class="exercise">{summary}', "", text.rstrip(), "", "</details>", ""]


def _value(task: Exercise) -> str:
    """The computed answer, mathematics as LaTeX, numbers with the digits that one reads."""
    value = task.solution.value
    if hasattr(value, "free_symbols"):
        names = {symbol: _dotted(symbol.name) for symbol in value.free_symbols}
        return f"$$ {latex(value, symbol_names=names)} $$"
    if callable(value):
        return ""
    with np.printoptions(precision=5, suppress=True):
        text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f"```text\n{text}\n```"


def _dotted(name: str) -> str:
    r"""LaTeX of a symbol's name: theta_ddot is \ddot{\theta}."""
    base, _, dots = name.rpartition("_")
    rate = dots in ("dot", "ddot")
    return rf"\{dots}{{{latex(Symbol(base))}}}" if rate else latex(Symbol(name))


# Sphinx


def fill(app: Any, name: str, source: list[str]) -> None:
    """Put the exercises into the pages of the course."""
    if name.startswith(FOLDER) and MARKER in source[0]:
        source[0] = source[0].replace(MARKER, page(name.removeprefix(FOLDER)))


def setup(app: Any) -> dict[str, bool]:
    """The extension; pages of the course are read again each time, as they run."""
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
