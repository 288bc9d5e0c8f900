"""Programs and letters of a robot or a Lagrangian system, handed to `symbolic`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sympy

from dalembert.bridge import is_symbolic
from dalembert.errors import EquationError, FormulationError
from dalembert.model import Model
from dalembert.model.joint import Screw
from dalembert.model.parameter import collect
from dalembert.symbolic.system import SOURCES, System, quantity_key
from dalembert.symbolic.writing import write_equations

if TYPE_CHECKING:
    from dalembert.kernels.program.program import Program
    from dalembert.symbolic.equations import Equations
    from dalembert.systems.compiled import Evaluator


def equations_of(
    subject: Evaluator,
    quantities: Sequence[str] = ("M", "C", "g"),
    coordinates: Sequence[str] | None = None,
    **options: Any,
) -> Equations:
    """The equations of a robot or system; `Robot.equations` says what the arguments are."""
    if isinstance(quantities, str):
        raise EquationError(f"quantities={quantities!r} must be a list, such as ['M', 'g']")
    keys = [quantity_key(name) for name in quantities]
    return write_equations(system_of(subject, keys, coordinates), keys, **options)


def system_of(
    subject: Evaluator, keys: Iterable[str] = SOURCES, coordinates: Sequence[str] | None = None
) -> System:
    """Programs and symbols of a robot or system, for the quantities of these short names."""
    needed = dict.fromkeys(["mass_matrix", *(SOURCES[key] for key in keys)])
    description = subject.description
    is_robot = isinstance(description, Model)
    q, qd = _coordinates(description, coordinates)
    return System(
        name=description.name,
        programs={name: _program(subject, name) for name in needed},
        q=tuple(map(sympy.Symbol, q)),
        qd=tuple(map(sympy.Symbol, qd)),
        parameters=tuple(map(sympy.Symbol, description.parameters)),
        linear=tuple(map(sympy.Symbol, _inertial(description))) if is_robot else None,
        defaults=description.parameters,
    )


def _program(subject: Evaluator, name: str) -> Program:
    """The program of a quantity that reads best.

    Symbols differentiate best automatically, and the books write M with differentiated centers:
    sums of angles stand in it as they are printed.
    """
    listed = {formulation.name for formulation in subject.kind.quantity(name).formulations}
    readable = next((way for way in ("automatic", "centers") if way in listed), None)
    try:
        return subject.program(name, readable)
    except FormulationError as error:
        raise EquationError(f"{name} has no equations: {error}") from error


def _coordinates(description: Any, given: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Names of q and of its rates: the system's own, or θ for turns and d for slides, numbered."""
    size, name = description.nq, description.name
    if given is not None and len(given) != size:
        raise EquationError(f"{name} has {size} coordinates, not {len(given)}")
    bodies = description.bodies if isinstance(description, Model) else ()
    scalar = all(isinstance(body.chart, Screw) for body in bodies)
    if given is None and isinstance(description, Model):
        given = list(_default_names(description)) if scalar else [f"q{k + 1}" for k in range(size)]
    q = list(description.coordinates if given is None else given)
    rates = [f"d{x}" for x in q] if scalar else [f"v{k + 1}" for k in range(description.nv)]
    clash = sorted({*q, *rates} & set(description.parameters))
    if clash or len({*q, *rates}) < len(q) + len(rates):
        what = f"parameter {clash[0]!r}" if clash else "another one"
        raise EquationError(f"{name}: a coordinate has the name of {what}; give coordinates=")
    return q, rates


def _default_names(model: Model) -> Iterator[str]:
    for k, body in enumerate(model.bodies):
        number = str(k + 1) if model.nq > 1 else ""
        turns = isinstance(body.chart, Screw) and body.chart.turn
        name = f"theta{number}" if turns else f"d{number}"
        yield f"q{number}" if name in model.parameters else name


def _inertial(model: Model) -> list[str]:
    """Parameters that are masses or moments of bodies or rotors, in their order."""
    values = [v for body in model.bodies for v in (body.mass, body.inertia)]
    found = {name for value in [*values, model.drive.rotor] for name in _parameters_in(value)}
    lengths = [v for body in model.bodies for v in (body.center, body.translation)]
    found -= {name for value in lengths for name in _parameters_in(value)}
    return [name for name in model.parameters if name in found]


def _parameters_in(value: Any) -> Mapping[str, Any]:
    if not is_symbolic(value):
        return {}
    return collect(value)[0]
