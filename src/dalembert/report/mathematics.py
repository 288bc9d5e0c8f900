"""The equations of a robot as sections of a page: MathML, folded where it is long."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from dalembert.errors import DalembertError
from dalembert.report.facts import is_of_the_zoo
from dalembert.systems.system import System
from dalembert.text import html

if TYPE_CHECKING:
    import sympy

    from dalembert.symbolic.equations import Equations
    from dalembert.symbolic.sections import Section

DIGITS = 5  # of decimals
NOISE = 1e-12  # of a term against the largest of its sum
LETTERS = 3  # degrees of freedom up to which equations with letters fit on a page
NUMBERS = 8  # and those with numbers
OPEN = 30_000  # characters of MathML that are shown unfolded
MOST = 450_000  # characters of one quantity on a page
SECONDS = 10.0  # for the search of shorter forms


class Mathematics(NamedTuple):
    """The equations of a page: as HTML, and what is printed there, for a page that computes."""

    html: str
    equations: Equations | None = None
    sections: tuple[Section, ...] = ()  # those that are shown; number k has data-section="k"


def equations_html(system: System) -> str:
    """Mass matrix, Coriolis matrix and gravity torques; in letters if the system is small."""
    return mathematics(system).html


def mathematics(system: System) -> Mathematics:
    """The same with its entries and terms marked, and what they are in SymPy."""
    if system.nv > NUMBERS:
        return Mathematics('<p class="faint">Not written out here: there are too many joints.</p>')
    small = system.nv <= LETTERS
    wanted = None if small else ("M", "g")
    try:
        found = (lettered(system) if small else system).equations(
            wanted, simplify="full" if small else "fast", timeout=SECONDS, progress=False
        )
    except DalembertError as error:
        return Mathematics(f'<p class="faint">Not written out here: {html(str(error))}</p>')
    found = without_noise(found)
    kind = "in letters" if small else "with this system's numbers"
    note = f'<p class="faint">{html(found.note)}</p>' if found.note else ""
    made = f"<p>Written by the program that computes them, {kind}.</p>{note}"
    shown: list[Section] = []
    for section in found.sections(DIGITS, marked=True):
        made += _folded(section.title, section.body, len(shown))
        shown += [section] if len(section.body) <= MOST else []
    return Mathematics(made, found, tuple(shown))


def lettered(system: System) -> System:
    """The system with letters for its numbers; one of the zoo with those of its source."""
    from dalembert.zoo.letters import symbolic_model, with_letters

    if system.named_parameters:
        return system
    return symbolic_model(system.name) if is_of_the_zoo(system) else with_letters(system)


def without_noise(equations: Equations) -> Equations:
    """Without terms that are only rounding of their neighbours."""
    import sympy

    def cleaned(e: sympy.Expr) -> sympy.Expr:
        floats = e.atoms(sympy.Float)
        least = NOISE * max((abs(float(x)) for x in floats), default=1.0)
        return e.xreplace({x: sympy.Integer(0) for x in floats if abs(x) < least})

    def all_of(value: Any) -> Any:
        return value.applyfunc(cleaned) if hasattr(value, "applyfunc") else cleaned(value)

    return replace(
        equations,
        quantities={key: all_of(value) for key, value in equations.quantities.items()},
        definitions={key: cleaned(value) for key, value in equations.definitions.items()},
    )


def _folded(title: str, body: str, number: int) -> str:
    size = len(body)
    if size > MOST:
        return (
            f'<details class="box"><summary>{title}</summary><p class="faint">Too long for this page '
            f"({size // 1000:,} kB of mathematics); <code>robot.equations()</code> gives it whole."
            "</p></details>"
        )
    shown = " open" if size <= OPEN else ""
    return (
        f'<details class="box" data-section="{number}"{shown}><summary>{title}</summary>'
        f'<div class="wide"><div class="box">{body}</div></div></details>'
    )
