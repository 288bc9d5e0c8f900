"""Equations of a robot: its programs and its letters, handed to `symbolic`."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import EquationError, FormulationError
from dalembert.model import Model
from dalembert.model.joint import Screw
from dalembert.model.parameter import Parameter, collect, is_symbolic
from dalembert.symbolic.writing import SOURCES, System, quantity_key, write_equations

if TYPE_CHECKING:
    import sympy

    from dalembert.kernels.program import Program
    from dalembert.robot import Robot
    from dalembert.symbolic.equations import Equations


def robot_equations(
    robot: Robot,
    quantities: Sequence[str] = ("M", "C", "g"),
    coordinates: Sequence[str] | None = None,
    **options: Any,
) -> Equations:
    """The equations of a robot; `Robot.equations` says what the arguments are."""
    if isinstance(quantities, str):
        raise EquationError(f"quantities={quantities!r} must be a list, such as ['M', 'g']")
    keys = [quantity_key(name) for name in quantities]
    system = system_of(robot, keys, coordinates)
    return write_equations(system, keys, **options)


def system_of(
    robot: Robot, keys: Iterable[str] = SOURCES, coordinates: Sequence[str] | None = None
) -> System:
    """Programs and symbols of a robot, for the quantities of these short names."""
    import sympy

    needed = dict.fromkeys(["mass_matrix", *(SOURCES[key] for key in keys)])
    q, qd = _coordinates(robot.model, coordinates)
    return System(
        name=robot.name,
        programs={name: _program(robot, name) for name in needed},
        q=tuple(map(sympy.Symbol, q)),
        qd=tuple(map(sympy.Symbol, qd)),
        parameters=tuple(map(sympy.Symbol, robot.model.parameters)),
        linear=tuple(map(sympy.Symbol, _inertial(robot.model))),
        defaults=robot.model.parameters,
    )


def symbolic_robot(name: str) -> Robot:
    """A robot of the zoo with letters for its numbers; each keeps its number as default.

    Textbook models have the letters of their builder. Others get m, x y z (centre of mass), Ixx …,
    Jm (rotor), a b d (offsets) with the number of the link; what is zero stays zero.

    >>> list(symbolic_robot("pendulum").model.parameters)
    ['m', 'l', 'g']
    """
    from dalembert import zoo

    build = zoo.entry(name).build
    arguments = inspect.signature(build).parameters
    if arguments:
        return build(**{key: Parameter(key, a.default) for key, a in arguments.items()})
    return with_letters(build())


def with_letters(robot: Robot) -> Robot:
    """The same robot with a `Parameter` for every number of it that is not zero.

    Frames keep their directions; offsets, masses, centres and tensors, in the model's body frames,
    and gravity become letters. Drives keep only the inertia of the rotors.
    """
    from dalembert.robot import Robot

    model = robot.model
    if model.parameters:
        raise EquationError(f"{robot.name} has parameters already: {', '.join(model.parameters)}")
    links = [_lettered_link(model, i) for i in range(len(model.bodies))]
    tool = model.frame(model.tool)
    gravity = _letters([f"g{axis}" for axis in "xyz"], model.gravity)
    if np.count_nonzero(model.gravity) == 1:
        gravity = [Parameter("g", abs(v)) * float(np.sign(v)) if v else 0.0 for v in model.gravity]
    return Robot.from_links(
        links, tool=_pose(tool.rotation, tool.translation), gravity=gravity, name=robot.name
    )


def _lettered_link(model: Model, i: int) -> dict[str, Any]:
    body, number = model.bodies[i], i + 1
    if not isinstance(body.chart, Screw) or (body.chart.turn and body.chart.slide):
        joint = model.joint_of(i)
        raise EquationError(
            f"{model.name}: joint {joint.name!r} is {joint.kind}; letters are only given to robots "
            "of revolute and prismatic joints. Build the robot with dalembert.Parameter instead"
        )
    offsets = _letters([f"{axis}{i}" for axis in "abd"], body.translation)
    tensor: list[list[Any]] = [[0.0] * 3 for _ in range(3)]
    for a in range(3):
        for b in range(a, 3):
            name = f"I{'xyz'[a]}{'xyz'[b]}{number}"
            tensor[a][b] = tensor[b][a] = _letter(name, body.inertia[a, b])
    return {
        "name": body.name,
        "parent": model.bodies[body.parent].name if body.parent >= 0 else None,
        "mass": _letter(f"m{number}", body.mass),
        "com": _letters([f"{axis}{number}" for axis in "xyz"], body.com),
        "inertia": tensor,
        "joint": {
            "name": f"joint{number}",
            "type": "revolute" if body.chart.turn else "prismatic",
            "origin": _pose(body.rotation, offsets),
            "offset": float(np.asarray(body.offset)[0]),
            "rotor_inertia": _letter(f"Jm{number}", model.drive.rotor[i]),
        },
    }


def _letter(name: str, value: Any) -> Any:
    return Parameter(name, float(value)) if abs(float(value)) > 1e-12 else 0.0


def _letters(names: Sequence[str], values: Any) -> list[Any]:
    return [_letter(name, value) for name, value in zip(names, values, strict=True)]


def _pose(rotation: Any, translation: Any) -> list[list[Any]]:
    rows = np.asarray(rotation, dtype=float).tolist()
    return [[*row, t] for row, t in zip(rows, translation, strict=True)] + [[0.0, 0.0, 0.0, 1.0]]


def _program(robot: Robot, name: str) -> Program:
    try:
        return robot.program(name)
    except FormulationError as error:
        raise EquationError(f"{name} has no equations: {error}") from error


def _coordinates(model: Model, given: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Names of q and of its rates: θ for turns and d for slides, numbered if there are several."""
    if given is not None and len(given) != model.nq:
        raise EquationError(f"{model.name} has {model.nq} coordinates, not {len(given)}")
    scalar = all(isinstance(body.chart, Screw) for body in model.bodies)
    if given is None:
        given = list(_default_names(model)) if scalar else [f"q{k + 1}" for k in range(model.nq)]
    rates = [f"d{name}" for name in given] if scalar else [f"v{k + 1}" for k in range(model.nv)]
    clash = sorted({*given, *rates} & set(model.parameters))
    if clash or len({*given, *rates}) < len(given) + len(rates):
        what = f"parameter {clash[0]!r}" if clash else "another one"
        raise EquationError(f"{model.name}: a coordinate has the name of {what}; give coordinates=")
    return list(given), rates


def _default_names(model: Model) -> Iterator[str]:
    for k, body in enumerate(model.bodies):
        number = str(k + 1) if model.nq > 1 else ""
        name = f"theta{number}" if body.chart.turn else f"d{number}"
        yield f"q{number}" if name in model.parameters else name


def _inertial(model: Model) -> list[str]:
    """Parameters that are masses or moments of bodies or rotors, in their order."""
    values = [v for body in model.bodies for v in (body.mass, body.inertia)]
    found = {name for value in [*values, model.drive.rotor] for name in _parameters_in(value)}
    lengths = [v for body in model.bodies for v in (body.com, body.translation)]
    found -= {name for value in lengths for name in _parameters_in(value)}
    return [name for name in model.parameters if name in found]


def _parameters_in(value: Any) -> Mapping[str, Any]:
    if not is_symbolic(value):
        return {}
    return collect(value.ravel().to_casadi() if value.shape else value.reshape(1).to_casadi())[0]
