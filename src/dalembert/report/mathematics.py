"""The equations of a robot as sections of a page: MathML, folded where it is long."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dalembert.errors import DalembertError
from dalembert.report.facts import is_of_the_zoo
from dalembert.systems.system import System
from dalembert.text import html

if TYPE_CHECKING:
    import sympy

    from dalembert.symbolic.equations import Equations

NOISE = 1e-12  # of a term against the largest of its sum
LETTERS = 3  # degrees of freedom up to which equations with letters fit on a page
NUMBERS = 8  # and those with numbers
OPEN = 30_000  # characters of MathML that are shown unfolded
MOST = 450_000  # characters of one quantity on a page
SECONDS = 10.0  # for the search of shorter forms


def equations_html(system: System) -> str:
    """Mass matrix, Coriolis matrix and gravity torques; in letters if the system is small."""
    if system.nv > NUMBERS:
        return '<p class="faint">Not written out here: there are too many joints.</p>'
    small = system.nv <= LETTERS
    wanted = None if small else ("M", "g")
    try:
        found = (lettered(system) if small else system).equations(
            wanted, simplify="full" if small else "fast", timeout=SECONDS, progress=False
        )
    except DalembertError as error:
        return f'<p class="faint">Not written out here: {html(str(error))}</p>'
    found = rounded(found)
    sections = re.findall(r"<section><h2>(.*?)</h2>(.*?)</section>", found.html(), flags=re.DOTALL)
    kind = "in letters" if small else "with this system's numbers"
    note = f'<p class="faint">{html(found.note)}</p>' if found.note else ""
    lead = f"<p>Written by the program that computes them, {kind}.</p>{note}"
    return lead + "".join(_folded(title, body) for title, body in sections)


def lettered(system: System) -> System:
    """The system with letters for its numbers; one of the zoo with those of its source."""
    from dalembert.zoo.letters import symbolic_model, with_letters

    if system.named_parameters:
        return system
    return symbolic_model(system.name) if is_of_the_zoo(system) else with_letters(system)


def rounded(equations: Equations, digits: int = 5) -> Equations:
    """Numbers with a few digits, and terms that are only rounding of their neighbours left out."""
    import sympy

    def number(x: sympy.Float, largest: float) -> sympy.Expr:
        return (
            sympy.Integer(0) if abs(x) < NOISE * largest else sympy.Float(f"{float(x):.{digits}g}")
        )

    def shorter(e: sympy.Expr) -> sympy.Expr:
        floats = e.atoms(sympy.Float)
        largest = max((abs(float(x)) for x in floats), default=1.0)
        return e.xreplace({x: number(x, largest) for x in floats})

    def all_of(value: Any) -> Any:
        return value.applyfunc(shorter) if hasattr(value, "applyfunc") else shorter(value)

    return replace(
        equations,
        quantities={key: all_of(value) for key, value in equations.quantities.items()},
        definitions={key: shorter(value) for key, value in equations.definitions.items()},
    )


def _folded(title: str, body: str) -> str:
    size = len(body)
    if size > MOST:
        return (
            f'<details class="box"><summary>{title}</summary><p class="faint">Too long for this page '
            f"({size // 1000:,} kB of mathematics); <code>robot.equations()</code> gives it whole."
            "</p></details>"
        )
    shown = " open" if size <= OPEN else ""
    return (
        f'<details class="box"{shown}><summary>{title}</summary>'
        f'<div class="wide">{body}</div></details>'
    )
