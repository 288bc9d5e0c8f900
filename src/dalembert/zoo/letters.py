"""Robots with letters for their numbers, whose equations are those of a textbook.

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
from dalembert.model.coupling import Follow, couple
from dalembert.model.joint import Screw
from dalembert.model.parameter import Parameter
from dalembert.systems.robot import Robot

# constrained models whose builders take letters
WITH_LETTERS = (
    *("pendulum_constrained", "spherical_pendulum_constrained", "rolling_disk", "knife_edge"),
    *("chaplygin_sleigh", "snakeboard", "four_bar", "slider_crank"),
)


def symbolic_model(name: str) -> Any:
    """A robot or system of the zoo with letters for its numbers, which they keep as defaults.

    Textbook models have the letters of their builder. Others get m, x y z (centre of mass), Ixx …,
    Jm (rotor), a b d (offsets) with the number of the link; what is zero stays zero.

    >>> list(symbolic_model("pendulum").model.parameters)
    ['m', 'l', 'g']
    """
    from dalembert import zoo

    build = zoo.entry(name).build
    if name not in (*zoo.names(), *zoo.systems(), *WITH_LETTERS):  # others keep their numbers
        return build()
    arguments = inspect.signature(build).parameters.items()
    numbers = {key: a.default for key, a in arguments if isinstance(a.default, float)}
    if numbers:
        return build(**{key: Parameter(key, value) for key, value in numbers.items()})
    return with_letters(build())


def with_letters(system: Any) -> Any:
    """A robot with a `Parameter` for every number of it that is not zero; other systems as they are.

    Frames keep their directions; offsets, masses, centres and tensors, in the model's body frames,
    and gravity become letters. Drives keep only the inertia of the rotors; springs of joints have
    letters, and a robot with other elements has none.
    """
    robot = system.robot
    if robot is not system or robot.model.followers:
        return system
    model = robot.model
    if model.parameters:
        raise EquationError(f"{robot.name} has parameters already: {', '.join(model.parameters)}")
    if replace(model.elements, springs=()):
        raise EquationError(
            f"{robot.name}: tendons, drag and lifted weights get no letters. Build the robot with "
            "dalembert.Parameter instead"
        )
    links = [_lettered_link(model, i) for i in range(len(model.bodies))]
    tool = model.frame(model.tool)
    gravity = _letters([f"g{axis}" for axis in "xyz"], model.gravity)
    if np.count_nonzero(model.gravity) == 1:
        letter = Parameter("g", float(np.abs(model.gravity).max()))
        gravity = [-letter if v < 0 else letter if v else 0.0 for v in model.gravity]
    tree = Robot.from_links(
        links, tool=_pose(tool.rotation, tool.translation), gravity=gravity, name=robot.name
    )
    return Robot(couple(tree.model, _followers(model))) if model.followers else tree


def _followers(model: Any) -> dict[str, Follow]:
    """Who follows whom, by the names that `_lettered_link` gives to joints."""
    names = {joint.name: f"joint{joint.bodies[0] + 1}" for joint in model.tree.joints}
    return {
        names[name]: replace(follow, leader=names[follow.leader])
        for name, follow in model.followers.items()
    }


def _lettered_link(model: Model, i: int) -> dict[str, Any]:
    body, number = model.bodies[i], i + 1
    if not isinstance(body.chart, Screw) or (body.chart.turn and body.chart.slide):
        joint = model.joint_of(i)
        raise EquationError(
            f"{model.name}: joint {joint.name!r} is {joint.kind}; letters are only given to robots "
            "of revolute and prismatic joints. Build the robot with dalembert.Parameter instead"
        )
    offsets = _letters([f"{axis}{i}" for axis in "abd"], body.translation)
    central, tensor = body.inertia_about_center, [[0.0] * 3 for _ in range(3)]
    for a in range(3):
        for b in range(a, 3):
            name = f"I{'xyz'[a]}{'xyz'[b]}{number}"
            tensor[a][b] = tensor[b][a] = _letter(name, central[a, b])
    return {
        "name": body.name,
        "parent": model.bodies[body.parent].name if body.parent >= 0 else None,
        "mass": _letter(f"m{number}", body.mass),
        "com": _letters([f"{axis}{number}" for axis in "xyz"], body.center),
        "inertia": tensor,
        "joint": {
            "name": f"joint{number}",
            "type": "revolute" if body.chart.turn else "prismatic",
            "origin": _pose(body.rotation, offsets),
            "offset": float(np.asarray(body.offset)[0]),
            "rotor_inertia": _letter(f"Jm{number}", model.drive.rotor[i]),
            **_spring(model, i),
        },
    }


def _spring(model: Model, i: int) -> dict[str, Any]:
    """A linear spring of joint i in letters."""
    for spring in model.elements.springs:
        if spring.body == i:
            k = [_letter(f"k{i + 1}", spring.stiffness[0]), *spring.stiffness[1:]]
            return {"stiffness": k, "rest": _letter(f"r{i + 1}", spring.rest[0])}
    return {}


def _letter(name: str, value: Any) -> Any:
    return Parameter(name, float(value)) if abs(float(value)) > 1e-12 else 0.0


def _letters(names: Sequence[str], values: Any) -> list[Any]:
    return [_letter(name, value) for name, value in zip(names, values, strict=True)]


def _pose(rotation: Any, translation: Any) -> list[list[Any]]:
    rows = np.asarray(rotation, dtype=float).tolist()
    return [[*row, t] for row, t in zip(rows, translation, strict=True)] + [[0.0, 0.0, 0.0, 1.0]]
