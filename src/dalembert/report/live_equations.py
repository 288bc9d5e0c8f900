"""What a live page needs to show equations with their numbers: the printed terms as kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from dalembert.report.charts import seven_digits, spread
from dalembert.report.live_part import Part, kernel_of
from dalembert.report.mathematics import NUMBERS, Mathematics
from dalembert.systems.coordinates import UNITS
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.evaluator import traced
from dalembert.systems.system import System
from dalembert.tracing.program import Port, Program

if TYPE_CHECKING:
    import sympy

    from dalembert.symbolic.equations import Equations
    from dalembert.symbolic.sections import Section

SAMPLES = 121  # of a recorded motion's states
# units of an entry by how many of its row and column are angles
BY_ANGLES = {"M": ("kg", "kg m", "kg m²")} | dict.fromkeys("CG", ("N s/m", "N s", "N m s"))
TORQUES, ENERGIES = ("g", "psi", "e"), ("K", "U")


class Letter(NamedTuple):
    """A letter of the formulas: its MathML, its name as text, its unit, and what it stands for."""

    mathml: str
    name: str
    unit: str
    value: sympy.Expr

    @property
    def plain(self) -> dict[str, str]:
        """For JSON; `text` is what a browser finds in its element."""
        text = "".join(ElementTree.fromstring(f"<mrow>{self.mathml}</mrow>").itertext())
        return {"text": text, "name": self.name, "unit": self.unit}


def balance_part(system: System) -> Part:
    """M q̈ + C q̇ + g = τ + ψ − Aᵀλ at one state: what pages do not compute anyway of it."""
    seen = system.compiled.dynamics
    # friction in proportion to λ, and what changes with time, are more than these columns
    if system.nv > NUMBERS or seen.rubbing or seen.moving:
        return Part()

    def function(made: Dynamics, q: Any, qd: Any) -> dict[str, Any]:
        bias, gravity = made.compute("bias", q=q, qd=qd), made.compute("gravity_torque", q=q)
        return {"Cqd": bias - gravity}

    kernels: dict[str, Any] = {"coriolis": kernel_of(system, function, "coriolis", ("q", "qd"))}
    wanted = ("forward_dynamics", "generalized_forces", "constraint_force")
    kernels |= {name: {} for name in wanted if name in seen.catalogue}
    units = [UNITS["tau"][kind] for kind in seen.kinds.v]
    return Part(kernels, {"balance": units}, "equation of motion with its numbers")


def equations_part(system: System, found: Mathematics, t: np.ndarray, tau: np.ndarray) -> Part:
    """Entries and terms of every section as outputs of a kernel, and the letters as another.

    `tau` (samples, nv) are torques of the recorded motion at the times `t` (samples,), s.
    """
    chosen = spread(len(t), SAMPLES)
    data: dict[str, Any] = {"sections": [], "letters": []}
    finite = np.where(np.isfinite(tau[chosen]), tau[chosen], 0.0)
    data["recorded"] = {"t": seven_digits(t[chosen]), "tau": seven_digits(finite)}
    if found.equations is None:
        return Part({}, {"equations": data})
    seen, kernels = system.compiled.dynamics, {}
    for k, section in enumerate(found.sections):
        entries, terms = section.ledger.entries, section.ledger.terms
        outputs = {"entries": [e.value for e in entries], "terms": [t.value for t in terms]}
        if entries:
            kernels[f"terms_{k}"] = program(found.equations, seen, f"terms_{k}", outputs)
        owners = [term.entry for term in terms]
        data["sections"].append({"units": _units(section, seen), "owners": owners})
    letters = list(letters_of(found.equations, seen))
    values = {"values": [letter.value for letter in letters]}
    kernels["letters"] = program(found.equations, seen, "letters", values)
    data["letters"] = [letter.plain for letter in letters]
    return Part(kernels, {"equations": data}, "numbers beside its equations")


def program(
    eq: Equations, seen: Dynamics, name: str, outputs: Mapping[str, Sequence[sympy.Expr]]
) -> Program:
    """Expressions of the equations as vectors; letters that the system has numbers for are these."""
    from dalembert.symbolic.check import evaluate

    symbols = {"q": eq.q, "qd": eq.qd, "tau": eq.tau, "t": eq.t}
    if seen.parameters:
        symbols["parameters"] = eq.parameters
    used = {s for all_ in outputs.values() for e in all_ for s in _below(e, eq)}

    def function(**inputs: Any) -> dict[str, Any]:
        values: dict[Any, Any] = {s: eq.defaults.get(s.name) for s in eq.parameters}
        for key, given in inputs.items():
            values |= {s: given[k] if given.shape else given for k, s in enumerate(symbols[key])}
        for symbol, definition in eq.definitions.items():
            values[symbol] = evaluate(definition, values)
        return {
            key: np.stack([evaluate(e, values) for e in all_])
            for key, all_ in outputs.items()
            if all_
        }

    shapes = {key: () if key == "t" else (len(found),) for key, found in symbols.items()}
    needed = [key for key, found in symbols.items() if key == "q" or used & {*found}]
    return traced(function, [Port(key, shapes[key]) for key in needed], name)


def _below(e: sympy.Expr, eq: Equations) -> set[sympy.Symbol]:
    """Symbols of an expression and of what they are defined by."""
    found = set(e.free_symbols)
    for symbol in reversed(list(eq.definitions)):
        found |= eq.definitions[symbol].free_symbols if symbol in found else set()
    return found


def letters_of(eq: Equations, seen: Dynamics) -> Iterator[Letter]:
    """Coordinates, rates, parameters, defined names, and c₂₃ for cos(θ₂ + θ₃)."""
    from dalembert.symbolic.marks import MathML, Text
    from dalembert.symbolic.printing import angles

    def letter(name: str, value: sympy.Expr, unit: str = "", dots: int = 0) -> Letter:
        return Letter(MathML().name(name, dots), Text().name(name, dots), unit, value)

    for symbol, kind in zip(eq.q, seen.kinds.q, strict=True):
        yield letter(symbol.name, symbol, UNITS["q"][kind])
    rates = dict(zip(eq.qd, eq.q, strict=False))
    for symbol, kind in zip(eq.qd, seen.kinds.v, strict=True):
        own = rates.get(symbol, symbol)
        yield letter(own.name, symbol, UNITS["qd"][kind], int(symbol in rates))
    for symbol, kind in zip(eq.tau, seen.kinds.v, strict=False):
        yield letter(symbol.name, symbol, UNITS["tau"][kind])
    for symbol in (*eq.t, *eq.parameters, *eq.definitions):
        yield letter(symbol.name, symbol)
    for name, value in angles(eq, list(eq.quantities)).items():
        yield letter(name, value)


def _units(section: Section, seen: Dynamics) -> list[str]:
    """The unit of every entry; empty where it is not known."""
    made = []
    for index, _ in section.ledger.entries:
        kinds = [seen.kinds.v[i] for i in index] if max(index, default=0) < seen.nv else []
        if section.key in ENERGIES:
            made.append("J")
        elif section.key in TORQUES and kinds:
            made.append(UNITS["tau"][kinds[0]])
        elif section.key in BY_ANGLES and len(kinds) == 2 and {*kinds} <= {"angle", "length"}:
            made.append(BY_ANGLES[section.key][kinds.count("angle")])
        else:
            made.append("")
    return made
