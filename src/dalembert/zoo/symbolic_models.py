"""Robots with symbols for their numbers, whose equations are those of a textbook.

>>> symbolic_model("pendulum").equations(["g"]).g
Matrix([[g*l*m*sin(theta)]])
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import EquationError
from dalembert.model import Model
from dalembert.model.joint import Screw
from dalembert.model.parameter import Parameter
from dalembert.systems.robot import Robot
from dalembert.zoo.entry import Keywords, symmetric

# constrained models whose builders take parameters
WITH_SYMBOLS = (
    *("pendulum_constrained", "spherical_pendulum_constrained", "rolling_disk", "knife_edge"),
    *("chaplygin_sleigh", "snakeboard", "four_bar", "slider_crank", "parallel_3rr"),
)


def symbolic_model(name: str) -> Any:
    """A robot or system of the zoo with symbols for its numbers, which are their defaults.

    Textbook models have the symbols of their builder. Others get m, x y z (centre of mass), Ixx …,
    Jm (rotor), a b d (offsets) with the number of the link; what is zero stays zero.

    Parameters
    ----------
    name : str
        Of the zoo; models whose builders take no symbols keep their numbers.

    Returns
    -------
    System

    Examples
    --------
    >>> list(symbolic_model("pendulum").model.parameters)
    ['m', 'l', 'g']
    """
    from dalembert import zoo

    build = zoo.entry(name).build
    if name not in (*zoo.names(), *zoo.systems(), *WITH_SYMBOLS):  # others keep their numbers
        return build()
    arguments = inspect.signature(build).parameters.items()
    numbers = {key: a.default for key, a in arguments if isinstance(a.default, float)}
    if numbers:
        return build(**{key: Parameter(key, value) for key, value in numbers.items()})
    return with_symbols(build())


def with_symbols(system: Any) -> Any:
    """A robot with a `Parameter` for every number of it that is not zero; other systems as they are.

    Frames keep their directions; offsets, masses, centres and tensors, in the model's body frames,
    and gravity become symbols. Drives keep only the inertia of the rotors; springs of joints have
    symbols, and a robot with other elements is an error.
    """
    robot = system.robot
    if robot is not system or robot.model.followers:
        return system
    model = robot.model
    if model.parameters:
        raise EquationError(f"{robot.name} has parameters already: {', '.join(model.parameters)}")
    if replace(model.elements, springs=()):
        raise EquationError(
            f"{robot.name}: tendons, drag and lifted weights get no symbols. Build the robot with "
            "dalembert.Parameter instead"
        )
    links = [_symbolic_link(model, i) for i in range(len(model.bodies))]
    tool = model.frame(model.tool)
    gravity = _symbols([f"g{axis}" for axis in "xyz"], model.gravity)
    if np.count_nonzero(model.gravity) == 1:
        symbol = Parameter("g", float(np.abs(model.gravity).max()))
        gravity = [-symbol if v < 0 else symbol if v else 0.0 for v in model.gravity]
    return Robot.from_links(
        links, tool=_pose(tool.rotation, tool.translation), gravity=gravity, name=robot.name
    )


def _symbolic_link(model: Model, i: int) -> Keywords:
    body, number = model.bodies[i], i + 1
    if not isinstance(body.chart, Screw) or (body.chart.turn and body.chart.slide):
        joint = model.joint_of(i)
        raise EquationError(
            f"{model.name}: joint {joint.name!r} is {joint.kind}; symbols are only for robots "
            "of revolute and prismatic joints. Build the robot with dalembert.Parameter instead"
        )
    offsets = _symbols([f"{axis}{i}" for axis in "abd"], body.translation)
    springs = {}  # keywords of the joint's spring
    for spring in model.elements.springs:
        if spring.body == i:
            stiffness = [_symbol(f"k{number}", spring.stiffness[0]), *spring.stiffness[1:]]
            springs = {"stiffness": stiffness, "rest": _symbol(f"r{number}", spring.rest[0])}
            break
    central, entries = body.inertia_about_center, ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    tensor = [_symbol(f"I{'xyz'[a]}{'xyz'[b]}{number}", central[a, b]) for a, b in entries]
    return {
        "name": body.name,
        "parent": model.bodies[body.parent].name if body.parent >= 0 else None,
        "mass": _symbol(f"m{number}", body.mass),
        "com": _symbols([f"{axis}{number}" for axis in "xyz"], body.center),
        "inertia": symmetric(*tensor),
        "joint": {
            "name": f"joint{number}",
            "type": "revolute" if body.chart.turn else "prismatic",
            "origin": _pose(body.rotation, offsets),
            "offset": float(np.asarray(body.offset)[0]),
            "rotor_inertia": _symbol(f"Jm{number}", model.drive.rotor[i]),
            **springs,
        },
    }


def _symbol(name: str, value: Any) -> Any:
    return Parameter(name, float(value)) if abs(float(value)) > 1e-12 else 0.0


def _symbols(names: Sequence[str], values: Any) -> list[Any]:
    return [_symbol(name, value) for name, value in zip(names, values, strict=True)]


def _pose(rotation: Any, translation: Any) -> list[list[Any]]:
    rows = np.asarray(rotation, dtype=float).tolist()
    return [[*row, t] for row, t in zip(rows, translation, strict=True)] + [[0.0, 0.0, 0.0, 1.0]]
