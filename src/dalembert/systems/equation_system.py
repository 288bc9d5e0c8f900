"""Programs and letters of a robot or a Lagrangian system, handed to `symbolic`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from dalembert.errors import ConstraintError, EquationError, FormulationError
from dalembert.symbolic.lettered import SOURCES, Lettered, quantity_key
from dalembert.symbolic.writing import write_equations
from dalembert.systems.variant import Variant
from dalembert.tracing.program import Op

# operations of friction that depends on the sign of a velocity
JUMPS = (Op.LT, Op.LE, Op.EQ, Op.NE, Op.NOT, Op.SELECT0)

if TYPE_CHECKING:
    from dalembert.symbolic.equations import Equations
    from dalembert.systems.dynamics import Dynamics
    from dalembert.systems.system import System
    from dalembert.tracing.program import Program


def equations_of(
    subject: System,
    quantities: Sequence[str] | None = None,
    coordinates: Sequence[str] | None = None,
    **options: Any,
) -> Equations:
    """The equations of a robot or system; `Robot.equations` says what the arguments are."""
    if isinstance(quantities, str):
        raise EquationError(f"quantities={quantities!r} must be a list, such as ['M', 'g']")
    asked = subject.dynamics.printed if quantities is None else quantities
    keys = [quantity_key(name) for name in asked]
    return write_equations(system_of(subject, keys, coordinates), keys, **options)


def system_of(
    subject: System, keys: Iterable[str] = SOURCES, coordinates: Sequence[str] | None = None
) -> Lettered:
    """Programs and symbols of a robot or system, for the quantities of these short names."""
    needed = dict.fromkeys(["mass_matrix", *(SOURCES[key] for key in keys)])
    seen = subject.dynamics
    q, qd = _coordinates(seen, coordinates)
    linear = seen.linear_parameters
    programs = {name: _program(subject, name) for name in needed}
    inputs = {port.name for program in programs.values() for port in program.inputs}
    return Lettered(
        name=seen.name,
        programs=programs,
        q=tuple(map(sympy.Symbol, q)),
        qd=tuple(map(sympy.Symbol, qd)),
        parameters=tuple(map(sympy.Symbol, seen.parameters)),
        linear=None if linear is None else tuple(map(sympy.Symbol, linear)),
        defaults=seen.parameters,
        tau=tuple(map(sympy.Symbol, _forces(seen, q))) if "tau" in inputs else (),
        t=(sympy.Symbol("t"),) if "t" in inputs else (),
        independent=_independent(seen, q),
    )


def _program(subject: System, name: str) -> Program:
    """The program of a quantity that reads best.

    Symbols differentiate best automatically, and the books write M with differentiated centers:
    sums of angles stand in it as they are printed.
    """
    seen = subject.dynamics
    try:
        if name in seen.in_letters:
            found = seen.in_letters[name]
            given = ("t",) if seen.moving else ()
            return subject.evaluator.program(Variant(found, found.formulations[0], (), given))
        if seen.catalogue and name not in seen.catalogue:
            raise EquationError(
                f"{seen.name} has no {name.replace('_', ' ')}: that is for systems under constraints, "
                "or for those given by their energies"
            )
        quantity = seen.quantity(name)
        listed = {formulation.name for formulation in quantity.formulations}
        readable = next((way for way in ("automatic", "centers") if way in listed), None)
        timed = {"t": True} if seen.moving and "t" in quantity.optional else {}
        program = subject.program(name, readable, **timed)
        if name == "generalized_forces" and np.isin(program.op, JUMPS).any():
            raise EquationError(
                f"the forces without potential of {seen.name} jump with the velocity (Coulomb "
                "friction), which is no formula; leave out 'psi'"
            )
        return program
    except (FormulationError, ConstraintError) as error:
        raise EquationError(f"{name} has no equations: {error}") from error


def letters_of(seen: Dynamics) -> tuple[tuple[sympy.Symbol, ...], tuple[sympy.Symbol, ...]]:
    """The symbols of q (nq) and of q̇ (nv) that the equations of a system use."""
    q, qd = _coordinates(seen, None)
    return tuple(map(sympy.Symbol, q)), tuple(map(sympy.Symbol, qd))


def _forces(seen: Dynamics, q: Sequence[str]) -> list[str]:
    """Names of τ: τ₁ for θ₁, τ_x for x."""
    if seen.nq != seen.nv:
        return [f"tau{k + 1}" for k in range(seen.nv)]
    numbered = [re.fullmatch(r"[a-zA-Z]+(\d+)", name) for name in q]
    if all(numbered) and len({found[1] for found in numbered if found}) == len(q):
        return [f"tau{found[1]}" for found in numbered if found]
    return [f"tau_{name}" for name in q]


def _independent(seen: Dynamics, q: Sequence[str]) -> tuple[sympy.Symbol, ...]:
    """Coordinates of the reduced equations, where velocities are their rates."""
    if not seen.rows or seen.nq != seen.nv:
        return ()
    dependent = getattr(seen.description, "pivots", None)
    columns = () if dependent is None else dependent.columns
    return tuple(sympy.Symbol(name) for k, name in enumerate(q) if k not in columns)


def _coordinates(seen: Dynamics, given: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Names of q and of its rates: the system's own, or θ for turns and d for slides, numbered."""
    if given is not None and len(given) != seen.nq:
        raise EquationError(f"{seen.name} has {seen.nq} coordinates, not {len(given)}")
    q = list(_default_names(seen) if given is None else given)
    scalar = seen.nq == seen.nv
    rates = [f"d{x}" for x in q] if scalar else [f"v{k + 1}" for k in range(seen.nv)]
    clash = sorted({*q, *rates} & set(seen.parameters))
    if clash or len({*q, *rates}) < len(q) + len(rates):
        what = f"parameter {clash[0]!r}" if clash else "another one"
        raise EquationError(f"{seen.name}: a coordinate has the name of {what}; give coordinates=")
    return q, rates


def _default_names(seen: Dynamics) -> Iterator[str]:
    kinds = seen.kinds.q
    for k, (own, kind) in enumerate(zip(seen.coordinates, kinds, strict=True)):
        number = str(k + 1) if seen.nq > 1 else ""
        letter = {"angle": "theta", "length": "d"}.get(kind, "q")
        name = f"{'q' if 'quaternion' in kinds else letter}{number}"
        taken = name in seen.parameters
        yield own if kind == "unknown" else f"q{number}" if taken else name
