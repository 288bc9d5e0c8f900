"""The equations of motion on a page: MathML sections, and their printed terms as kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from dalembert.errors import DalembertError
from dalembert.report.charts import seven_digits, spread
from dalembert.report.facts import is_of_the_zoo
from dalembert.report.live_kernels import Part, kernel_of
from dalembert.systems.dynamics import UNITS, Dynamics
from dalembert.systems.evaluator import traced
from dalembert.systems.system import System
from dalembert.text import html
from dalembert.tracing.program import Port, Program

if TYPE_CHECKING:
    import sympy

    from dalembert.symbolic.equations import Equations
    from dalembert.symbolic.page import Section

DIGITS = 5  # of decimals
NOISE = 1e-12  # of a term against the largest of its sum
MAX_SYMBOLIC = 3  # degrees of freedom up to which equations with symbols fit on a page
MAX_NUMERIC = 8  # and those with numbers
OPEN = 30_000  # characters of MathML that are shown unfolded
MOST = 450_000  # characters of one quantity on a page
SECONDS = 10.0  # for the search of shorter forms


class PageEquations(NamedTuple):
    """The equations of a page: as HTML, and the printed sections, for a page that computes."""

    html: str
    equations: Equations | None = None
    sections: tuple[Section, ...] = ()  # those that are shown; number k has data-section="k"


def page_equations(system: System) -> PageEquations:
    """Mass matrix, Coriolis matrix and gravity torques; with symbols if the system is small.

    Entries and terms are marked in the HTML.
    """
    if system.nv > MAX_NUMERIC:
        too_many = '<p class="faint">Not written out here: there are too many joints.</p>'
        return PageEquations(too_many)
    is_small = system.nv <= MAX_SYMBOLIC
    try:
        equations = (with_symbols(system) if is_small else system).equations(
            None if is_small else ("M", "g"),
            simplify="full" if is_small else "fast",
            timeout=SECONDS,
            progress=False,
        )
    except DalembertError as error:
        return PageEquations(f'<p class="faint">Not written out here: {html(str(error))}</p>')
    equations = without_noise(equations)
    kind = "with symbols" if is_small else "with this system's numbers"
    note = f'<p class="faint">{html(equations.note)}</p>' if equations.note else ""
    text = f"<p>Written by the program that computes them, {kind}.</p>{note}"
    sections: list[Section] = []
    for section in equations.sections(DIGITS, marked=True):
        size, summary = len(section.body), f"<summary>{section.title}</summary>"
        if size > MOST:
            text += (
                f'<details class="box">{summary}<p class="faint">Too long for this page '
                f"({size // 1000:,} kB of mathematics); <code>robot.equations()</code> gives it "
                "whole.</p></details>"
            )
            continue
        state = " open" if size <= OPEN else ""
        text += (
            f'<details class="box" data-section="{len(sections)}"{state}>{summary}'
            f'<div class="wide"><div class="box">{section.body}</div></div></details>'
        )
        sections.append(section)
    return PageEquations(text, equations, tuple(sections))


def with_symbols(system: System) -> System:
    """The system with symbols for its numbers; one of the zoo with those of its source."""
    from dalembert.zoo.symbolic_models import symbolic_model, with_symbols

    if system.named_parameters:
        return system
    model: System = symbolic_model(system.name) if is_of_the_zoo(system) else with_symbols(system)
    return model


def without_noise(equations: Equations) -> Equations:
    """Without terms that are only rounding of their neighbours."""
    import sympy

    def cleaned(e: sympy.Expr) -> sympy.Expr:
        floats = e.atoms(sympy.Float)
        least = NOISE * max((abs(float(x)) for x in floats), default=1.0)
        return e.xreplace({x: sympy.Integer(0) for x in floats if abs(x) < least})

    quantities = {
        key: value.applyfunc(cleaned) if hasattr(value, "applyfunc") else cleaned(value)
        for key, value in equations.quantities.items()
    }
    definitions = {key: cleaned(value) for key, value in equations.definitions.items()}
    return replace(equations, quantities=quantities, definitions=definitions)


# kernels

SAMPLES = 121  # of a recorded motion's states
# units of an entry by how many of its row and column are angles
BY_ANGLES = {"M": ("kg", "kg m", "kg m²")} | dict.fromkeys("CG", ("N s/m", "N s", "N m s"))
TORQUES, ENERGIES = ("g", "psi", "e"), ("K", "U")


def balance_part(system: System) -> Part:
    """Kernels of M q̈ + C q̇ + g = τ + ψ − Aᵀλ at one state, beside those of every page."""
    dynamics = system.compiled.dynamics
    # friction in proportion to λ, and explicit time, are more than these columns
    if system.nv > MAX_NUMERIC or dynamics.frictional_rows or dynamics.moving:
        return Part()
    coriolis = kernel_of(
        system,
        lambda bound, q, qd: {
            "Cqd": bound.compute("bias", q=q, qd=qd) - bound.compute("gravity_torque", q=q)
        },
        "coriolis",
        ("q", "qd"),
    )
    kernels: dict[str, Any] = {"coriolis": coriolis}
    names = ("forward_dynamics", "generalized_forces", "constraint_force")
    kernels |= {name: {} for name in names if name in dynamics.catalogue}
    units = [UNITS["tau"][kind] for kind in dynamics.kinds.v]
    return Part(kernels, {"balance": units}, "equation of motion with its numbers")


def equations_part(system: System, page: PageEquations, t: np.ndarray, tau: np.ndarray) -> Part:
    """Entries and terms of every section as outputs of a kernel, and the symbols as another.

    `tau` (samples, nv) are torques of the recorded motion at the times `t` (samples,), s.
    """
    samples = spread(len(t), SAMPLES)
    data: dict[str, Any] = {"sections": [], "symbols": []}
    finite = np.where(np.isfinite(tau[samples]), tau[samples], 0.0)
    data["recorded"] = {"t": seven_digits(t[samples]), "tau": seven_digits(finite)}
    if page.equations is None:
        return Part({}, {"equations": data})
    dynamics, kernels = system.compiled.dynamics, {}
    for k, section in enumerate(page.sections):
        entries, terms = section.ledger.entries, section.ledger.terms
        outputs = {"entries": [e.value for e in entries], "terms": [t.value for t in terms]}
        if entries:
            kernels[f"terms_{k}"] = _program(page.equations, dynamics, f"terms_{k}", outputs)
        units = []  # of every entry; empty where it is not known
        for index, _ in entries:
            is_inside = max(index, default=0) < dynamics.nv
            kinds = [dynamics.kinds.v[i] for i in index] if is_inside else []
            if section.key in ENERGIES:
                units.append("J")
            elif section.key in TORQUES and kinds:
                units.append(UNITS["tau"][kinds[0]])
            elif section.key in BY_ANGLES and len(kinds) == 2 and {*kinds} <= {"angle", "length"}:
                units.append(BY_ANGLES[section.key][kinds.count("angle")])
            else:
                units.append("")
        owners = [term.entry for term in terms]
        data["sections"].append({"units": units, "owners": owners})
    data["symbols"], values = map(list, zip(*_symbols(page.equations, dynamics), strict=True))
    kernels["symbols"] = _program(page.equations, dynamics, "symbols", {"values": values})
    return Part(kernels, {"equations": data}, "numbers beside its equations")


def _program(
    eq: Equations, dynamics: Dynamics, name: str, outputs: Mapping[str, Sequence[sympy.Expr]]
) -> Program:
    """The program of expressions, of q and of those of q̇, τ, t and the parameters in them."""
    from dalembert.symbolic.check import evaluate

    symbols = {"q": eq.q, "qd": eq.qd, "tau": eq.tau, "t": eq.t}
    if dynamics.parameters:
        symbols["parameters"] = eq.parameters
    # symbols of the expressions and of their definitions
    used = set().union(*(e.free_symbols for several in outputs.values() for e in several))
    for symbol in reversed(list(eq.definitions)):
        used |= eq.definitions[symbol].free_symbols if symbol in used else set()

    def function(**inputs: np.ndarray) -> dict[str, np.ndarray]:
        values: dict[Any, Any] = {s: eq.defaults.get(s.name) for s in eq.parameters}
        for key, array in inputs.items():
            values |= {s: array[k] if array.shape else array for k, s in enumerate(symbols[key])}
        for symbol, definition in eq.definitions.items():
            values[symbol] = evaluate(definition, values)
        return {
            key: np.stack([evaluate(e, values) for e in several])
            for key, several in outputs.items()
            if several
        }

    shapes = {key: () if key == "t" else (len(several),) for key, several in symbols.items()}
    needed = [key for key, several in symbols.items() if key == "q" or used & {*several}]
    return traced(function, [Port(key, shapes[key]) for key in needed], name)


def _symbols(eq: Equations, dynamics: Dynamics) -> Iterator[tuple[dict[str, str], sympy.Expr]]:
    """The data and values of coordinates, rates, parameters, defined names, and c₂₃."""
    from dalembert.symbolic.layout import angles
    from dalembert.symbolic.notation import MathML, Text

    def printed(
        name: str, value: sympy.Expr, unit: str = "", dots: int = 0
    ) -> tuple[dict[str, str], sympy.Expr]:
        element = ElementTree.fromstring(f"<mrow>{MathML().name(name, dots)}</mrow>")
        text = "".join(element.itertext())  # what a browser has in its element
        return {"text": text, "name": Text().name(name, dots), "unit": unit}, value

    for symbol, kind in zip(eq.q, dynamics.kinds.q, strict=True):
        yield printed(symbol.name, symbol, UNITS["q"][kind])
    rates = dict(zip(eq.qd, eq.q, strict=False))
    for symbol, kind in zip(eq.qd, dynamics.kinds.v, strict=True):
        own = rates.get(symbol, symbol)
        yield printed(own.name, symbol, UNITS["qd"][kind], int(symbol in rates))
    for symbol, kind in zip(eq.tau, dynamics.kinds.v, strict=False):
        yield printed(symbol.name, symbol, UNITS["tau"][kind])
    for symbol in (*eq.t, *eq.parameters, *eq.definitions):
        yield printed(symbol.name, symbol)
    for name, value in angles(eq, list(eq.quantities)).items():
        yield printed(name, value)
