"""Symbolic equations of a system, and of the recursion of a formulation, from its programs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from dalembert import tracing
from dalembert.errors import ConstraintError, EquationError, FormulationError, ShapeError
from dalembert.kernels.program.passes import selected
from dalembert.kernels.program.trace import trace
from dalembert.linalg.factorisations import adjugate
from dalembert.symbolic.operations import entries_of, input_symbols, to_sympy
from dalembert.symbolic.polynomials import TooLargeError
from dalembert.symbolic.quantities import SOURCES, SymbolicSystem, quantity_key
from dalembert.symbolic.system_equations import write_equations
from dalembert.symbolic.writer import textbook
from dalembert.systems.evaluator import Variant
from dalembert.systems.poisson import structure_constants
from dalembert.tracing.program import Op

if TYPE_CHECKING:
    from dalembert.symbolic.equations import Equations
    from dalembert.systems.dynamics import Array, Dynamics
    from dalembert.systems.recursion import RecordedDynamics, Recursion
    from dalembert.systems.system import System
    from dalembert.tracing.program import Program


LARGEST_INVERSE = 6  # rows of a matrix that is inverted symbolically
# operations of friction that depends on the sign of a velocity
JUMPS = (Op.LT, Op.LE, Op.EQ, Op.NE, Op.NOT, Op.SELECT0)


def equations_of(
    subject: System,
    quantities: Sequence[str] | None = None,
    coordinates: Sequence[str] | None = None,
    **options: Any,
) -> Equations:
    """The equations of a robot or system; see `System.equations`."""
    if isinstance(quantities, str):
        raise EquationError(f"quantities={quantities!r} must be a list, such as ['M', 'g']")
    names = subject.dynamics.printed if quantities is None else quantities
    keys = [quantity_key(name) for name in names]
    dynamics = subject.dynamics
    q, qd = symbol_names(dynamics, coordinates)
    programs = {
        name: _program(subject, name)
        for name in dict.fromkeys(["mass_matrix", *(SOURCES[key] for key in keys)])
    }
    in_parts = {}
    for name, program in programs.items():
        outputs = [port.name for port in program.outputs]
        if "in_parts" in outputs:
            programs[name] = selected(program, [name, "relations"])
            in_parts[name] = selected(program, outputs[2:])
    inputs = {port.name for program in programs.values() for port in program.inputs}
    linear = dynamics.linear_parameters
    independent: tuple[str, ...] = ()  # of the reduced equations, where velocities are their rates
    if dynamics.rows and dynamics.nq == dynamics.nv:
        dependent = getattr(dynamics.description, "pivots", None)
        columns = () if dependent is None else dependent.columns
        independent = tuple(name for k, name in enumerate(q) if k not in columns)
    system = SymbolicSystem(
        name=dynamics.name,
        programs=programs,
        in_parts=in_parts,
        q=_symbols(q),
        qd=_symbols(qd),
        parameters=_symbols(dynamics.parameters),
        linear=None if linear is None else _symbols(linear),
        defaults=dynamics.parameters,
        tau=_symbols(force_names(dynamics, q, "tau")) if "tau" in inputs else (),
        p=_symbols(force_names(dynamics, q, "p")) if "p" in inputs else (),
        t=_symbols("t") if "t" in inputs else (),
        independent=_symbols(independent),
        moving=tuple(key for key in dynamics.printed if key in ("G", "e")),
    )
    return write_equations(system, keys, **options)


def _symbols(names: Iterable[str]) -> tuple[sympy.Symbol, ...]:
    return tuple(map(sympy.Symbol, names))


def _program(subject: System, name: str) -> Program:
    """The program of a quantity whose equations read best.

    Automatic differentiation gives the shortest symbolic derivatives, and books write M with
    differentiated centres of mass: sums of angles then appear as printed.
    """
    dynamics = subject.dynamics
    name, _, output = name.partition(".")
    try:
        if name in CANONICAL:
            return _canonical_program(dynamics, name)
        if name in dynamics.symbolic_quantities:
            entry = dynamics.symbolic_quantities[name]
            optional = ("t",) if dynamics.moving else ()
            return subject.evaluator.program(Variant(entry, entry.formulations[0], (), optional))
        if dynamics.catalogue and name not in dynamics.catalogue:
            raise EquationError(
                f"{dynamics.name} has no {name.replace('_', ' ')}: that is for systems under "
                "constraints, or for those given by their energies"
            )
        quantity = dynamics.quantity(name)
        listed = {formulation.name for formulation in quantity.formulations}
        readable = next((name for name in ("automatic", "centers") if name in listed), None)
        timed = {"t": True} if dynamics.moving and "t" in quantity.optional else {}
        program = subject.program(name, readable, **timed)
        if name == "generalized_forces" and np.isin(program.op, JUMPS).any():
            raise EquationError(
                f"the forces without potential of {dynamics.name} jump with the velocity (Coulomb "
                "friction), which is no formula; leave out 'psi'"
            )
        return selected(program, [output]) if output else program
    except (FormulationError, ConstraintError) as error:
        raise EquationError(f"{name} has no equations: {error}") from error


def force_names(dynamics: Dynamics, q: Sequence[str], of: str = "tau") -> list[str]:
    """Names of τ or p: τ₁ for θ₁, τ_x for x."""
    if dynamics.nq != dynamics.nv:
        return [f"{of}{k + 1}" for k in range(dynamics.nv)]
    numbered = [re.fullmatch(r"[a-zA-Z]+(\d+)", name) for name in q]
    if all(numbered) and len({match[1] for match in numbered if match}) == len(q):
        names = [f"{of}{match[1]}" for match in numbered if match]
    else:
        names = [f"{of}_{name}" for name in q]
    if clash := {*names} & {*q, *dynamics.parameters}:
        raise EquationError(
            f"{dynamics.name}: {of} would have the name of {min(clash)!r}; give coordinates="
        )
    return names


# ∂H/∂p and ∂H/∂q by Cramer's rule, so that every entry is one quotient of polynomials


def _hamiltonian(dynamics: Dynamics, q: Array, p: Array) -> Array:
    """½ (p − a)ᵀM⁻¹(p − a) + U."""
    M, a, U = dynamics.lagrangian_parts(q)
    adjoint, determinant = _inverse(dynamics, M)
    H: Array = 0.5 * ((p - a) @ (adjoint @ (p - a))) / determinant + U
    return H


def _velocities(dynamics: Dynamics, q: Array, p: Array) -> Array:
    """∂H/∂p (nv,) = M⁻¹ (p − a)."""
    M, a, _ = dynamics.lagrangian_parts(q)
    adjoint, determinant = _inverse(dynamics, M)
    velocities: Array = (adjoint @ (p - a)) / determinant
    return velocities


def _momentum_rates(dynamics: Dynamics, q: Array, p: Array) -> Array:
    """∂H/∂q (nv,) = −∂L/∂q at these velocities, less the Lie–Poisson term of ball and free joints."""
    x, v = tracing.symbol("x", dynamics.nq), tracing.symbol("v", dynamics.nv)
    M, a, U = dynamics.lagrangian_parts(x)
    frame = tracing.jacobian(dynamics.rate(x, v), v)
    by_q = frame.T @ tracing.gradient(U - a @ v - 0.5 * (v @ (M @ v)), x)
    (rates,) = tracing.at([by_q], [x, v], [q, _velocities(dynamics, q, p)])
    c = structure_constants(dynamics)
    if c.any():
        velocities = _velocities(dynamics, q, p)
        turning = p - dynamics.rotor_inertia * velocities  # momenta of rotors keep their axes
        rates = rates + np.tensordot(turning, c, axes=1) @ velocities
    return rates


def _inverse(dynamics: Dynamics, M: Array) -> tuple[Array, Array]:
    if len(M) > LARGEST_INVERSE:
        raise EquationError(
            f"{dynamics.name}: M is {len(M)} × {len(M)}, and its symbolic inverse is too long for the "
            "Hamiltonian; evaluate `hamiltonian` and `canonical_equations`"
        )
    return adjugate(M)


CANONICAL = {
    "hamiltonian": _hamiltonian,
    "velocities_of_momenta": _velocities,
    "momentum_rates": _momentum_rates,
}


def _canonical_program(dynamics: Dynamics, name: str) -> Program:
    """The program of one of them, a function of (q, p), t and the parameters."""
    dynamics.require_regular()
    free = dynamics.free.on_symbols
    shapes: dict[str, tuple[int, ...]] = {"q": (free.nq,), "p": (free.nv,)}
    shapes |= {"t": ()} if free.moving else {}
    shapes |= {"parameters": (len(free.parameters),)} if free.parameters else {}

    def function(q: Array, p: Array, t: Any = None, parameters: Any = None) -> Array:
        here = free if parameters is None else free.bind(parameters)
        return CANONICAL[name](here.at_time(t), q, p)

    return trace(function, shapes, name=name)


def symbol_names(dynamics: Dynamics, names: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Names of q and of its rates: the system's own, or θ for turns and d for slides, numbered."""
    if names is not None and len(names) != dynamics.nq:
        raise EquationError(f"{dynamics.name} has {dynamics.nq} coordinates, not {len(names)}")
    q = list(dynamics.coordinates if names is None else names)
    kinds = dynamics.kinds.q if names is None else ()
    for k, kind in enumerate(kinds):
        if kind != "unknown":
            number = str(k + 1) if dynamics.nq > 1 else ""
            symbol = {"angle": "theta", "length": "d"}.get(kind, "q")
            name = f"{'q' if 'quaternion' in kinds else symbol}{number}"
            q[k] = f"q{number}" if name in dynamics.parameters else name
    scalar = dynamics.nq == dynamics.nv
    rates = [f"d{x}" for x in q] if scalar else [f"v{k + 1}" for k in range(dynamics.nv)]
    clash = sorted({*q, *rates} & set(dynamics.parameters))
    if clash or len({*q, *rates}) < len(q) + len(rates):
        what = f"parameter {clash[0]!r}" if clash else "another one"
        raise EquationError(
            f"{dynamics.name}: a coordinate has the name of {what}; give coordinates="
        )
    return q, rates


def symbolic_recursion(
    recorded: RecordedDynamics, arguments: tuple[Any, ...], timeout: float | None
) -> Recursion:
    """The table in the robot's symbols, or with the user's expressions substituted for them.

    A program too large to be expanded is written as it computes, with names for repeated values.
    """
    dynamics, program = recorded.robot.dynamics, recorded.program()
    q, qd = map(_symbols, symbol_names(dynamics, None))
    qdd = _symbols(f"d{s.name}" for s in qd)
    parameters = _symbols(dynamics.parameters)
    symbols = {"q": q, "qd": qd, "qdd": qdd}
    symbols |= {"parameters": parameters} if parameters else {}
    named = input_symbols(program, symbols)
    definitions: dict[sympy.Symbol, sympy.Expr] = {}
    try:
        written = textbook(program, named, parameters=parameters, simplify="fast", timeout=timeout)
    except TooLargeError:
        written = to_sympy(program, named, definitions)
    inputs, outputs = recorded.ports
    # the user's expressions for our symbols; inputs that are None keep theirs
    substitutions: dict[sympy.Symbol, sympy.Expr] = {}
    for port, value in zip(inputs, arguments, strict=False):
        if value is None or value is True:
            continue
        entries = [sympy.sympify(e) for e in np.ravel(np.array(value, dtype=object))]
        if len(entries) != port.size:
            raise ShapeError(
                f"{dynamics.name}.recursion: {port.name} has {len(entries)} entries, not {port.size}"
            )
        substitutions |= dict(zip(named[port.name], entries, strict=True))
    values = {}
    for port in outputs:
        filled = np.empty(port.size, dtype=object)
        filled[:] = [e.xreplace(substitutions) for e in entries_of(written[port.name])]
        values[port.name] = filled.reshape(port.shape)
    return recorded.table(
        values,
        rates=dict(zip((*qd, *qdd), (*q, *qd), strict=True)) if len(q) == len(qd) else {},
        definitions={s: e.xreplace(substitutions) for s, e in definitions.items()},
    )
