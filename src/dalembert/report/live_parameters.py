"""Sliders of a live page's parameters: ranges and units, physical bounds, effect on the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import ModelError
from dalembert.model import Model
from dalembert.model.parameter import Parameter, expression
from dalembert.report.live_kernels import Part, kernel_of
from dalembert.report.scene import parts_of, sliders_of
from dalembert.spatial.inertia import TOLERANCE
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.robot import Robot
from dalembert.systems.system import System
from dalembert.tracing.program import Program

PAYLOAD, FRICTION = "payload", "friction"
FRICTION_TERMS = ("viscous", "coulomb_positive", "coulomb_negative")
SHARE = 0.25  # of a robot's mass that a payload's slider goes to: what arms usually carry
DRIVES = {  # units of what turns and of what slides
    "viscous": ("N m s/rad", "N s/m"),
    "rotor": ("kg m²", "kg"),
    "coulomb_positive": ("N m", "N"),
}
CLOSE = 1e-3  # of a change: differences that are not visible


def with_page_parameters(system: System) -> System:
    """A robot without named parameters with those of its page; any other system as it is.

    They are a point mass at its tool, zero by default, and a factor of its friction, if it has any.
    """
    if system.named_parameters or not isinstance(system, Robot):
        return system
    model = system.model
    drive = model.tree.drive
    if any(np.any(getattr(drive, name)) for name in FRICTION_TERMS):
        factor = Parameter(FRICTION, 1.0)
        changed = {name: expression(getattr(drive, name) * factor) for name in FRICTION_TERMS}
        tree = replace(model.tree, drive=replace(drive, **changed))
        model = tree if model.tree is model else replace(model, tree=tree)
    try:
        return type(system)(model).with_payload(Parameter(PAYLOAD, 0.0))
    except ModelError:  # its tool does not move
        return system


def parameters_part(system: System) -> Part:
    """The slider of every named parameter, its bounds, and how it changes the picture.

    The kernel `bodily` has the numbers of bodies and joints that must not be negative.
    """
    parameters = system.named_parameters
    if not parameters:
        return Part()
    robot = system.robot
    if robot is None or dict(robot.named_parameters) != dict(parameters):
        rows = [slider_of(name, value) for name, value in parameters.items()]
        return Part(data={"parameters": rows})
    model = robot.model
    values = np.array([0.0 if value is None else value for value in parameters.values()])
    default = model.bind(values)
    changes = np.where(values == 0.0, 0.5, 0.5 * np.abs(values))
    # the unit of each parameter that is a number of the model itself, "" of others: it is, if that
    # number changes as much as the parameter, whatever the others are
    generic = np.where(values == 0.0, 1.0, values) * np.linspace(1.1, 1.7, len(values))
    before, units = _numbers_by_unit(model.bind(generic)), []
    for k, change in enumerate(0.5 * np.abs(generic)):
        after = _numbers_by_unit(model.bind(generic + change * np.eye(len(values))[k]))
        equal = [
            unit
            for (unit, x), (_, y) in zip(before, after, strict=True)
            if np.any(np.abs(np.abs(y - x) - change) < 1e-9 * change)
        ]
        units.append(equal[0] if equal else "")
    rows = [slider_of(*item, unit) for item, unit in zip(parameters.items(), units, strict=True)]
    if parameters.items() <= {PAYLOAD: 0.0, FRICTION: 1.0}.items():
        mass = sum(float(body.mass) for body in default.tree.bodies)
        for row in rows:
            if row["unit"] == "kg":
                row["high"] = nice_number(SHARE * mass)
            row |= {"unit": row["unit"] or "×", "least": 0.0}
        return Part(data={"parameters": rows})
    changed = [model.bind(row) for row in values + np.diag(changes)]
    names, kernel = _bounded_numbers(robot, default, changed)
    return Part(
        {"bodily": kernel} if kernel else {},
        {"parameters": rows, "bodily": names, "stretch": _stretch(model, values, changes)},
    )


def slider_of(name: str, value: float | None, unit: str = "") -> dict[str, Any]:
    """The slider of a parameter: 0 … 2 × default, and both signs for a negative default."""
    start = 0.0 if value is None else float(value)
    high = 2.0 * abs(start) or 1.0
    return {
        "name": name,
        "value": start,
        "low": -high if start < 0.0 or (start == 0.0 and not unit.startswith("kg")) else 0.0,
        "high": high,
        "unit": unit,
    }


def nice_number(value: float) -> float:
    """The nearest of 1, 2, 5 times powers of ten.

    >>> nice_number(4.6), nice_number(0.11)
    (5.0, 0.1)
    """
    value = max(value, 1e-9)
    power = 10.0 ** np.floor(np.log10(value))
    return float(power * min((1, 2, 5, 10), key=lambda x: abs(np.log(x * power / value))))


def _numbers_by_unit(model: Model) -> list[tuple[str, np.ndarray]]:
    """Numbers of a model by their unit; NaN for a body without a centre of mass."""
    tree = model.tree
    nothing = np.full((3, 3), np.nan)
    positions = [body.translation for body in tree.bodies]
    positions += [frame.translation for frame in tree.frames.values()]
    centres = [body.center if body.is_real else nothing[0] for body in tree.bodies]
    tensors = [b.inertia_about_center if b.is_real else nothing for b in tree.bodies]
    turns = np.concatenate([np.any(np.asarray(b.subspace)[3:6], axis=0) for b in tree.bodies])
    drives = [
        (unit, np.asarray(getattr(tree.drive, field))[mask])
        for field, units in DRIVES.items()
        for unit, mask in zip(units, (turns, ~turns), strict=True)
    ]
    return [
        ("m/s²", np.asarray(tree.gravity)),
        ("kg", np.array([float(body.mass) for body in tree.bodies])),
        *drives,
        ("m", np.array([*positions, *centres])),
        ("kg m²", np.ravel(tensors)),
    ]


def _bounded_numbers(
    robot: Robot, default: Model, changed: Sequence[Model]
) -> tuple[dict[str, Any], Program | None]:
    """Names, and the kernel of masses, inertia tensors and drives, which must not be negative.

    Of bodies and drives that a parameter changes; bodies without mass by default are not bounded.
    """
    trees = [model.tree for model in changed]
    tree = default.tree
    bodies = [
        i
        for i, body in enumerate(tree.bodies)
        if body.is_real
        and any(
            np.any(getattr(body, name) != getattr(other.bodies[i], name))
            for other in trees
            for name in ("mass", "moment", "inertia")
        )
    ]
    drives = [
        (field, j)
        for field in DRIVES
        for j in range(tree.nv)
        if any(getattr(other.drive, field)[j] != getattr(tree.drive, field)[j] for other in trees)
    ]
    names = {
        "bodies": [tree.bodies[i].name for i in bodies],
        "drives": [[tree.velocities[j], field] for field, j in drives],
        "tolerance": TOLERANCE,
    }

    def function(bound: Dynamics) -> dict[str, np.ndarray]:
        tree = bound.description.tree
        numbers = {}
        if bodies:
            numbers["mass"] = np.stack([tree.bodies[i].mass for i in bodies])
            numbers["inertia"] = np.stack([tree.bodies[i].inertia_about_center for i in bodies])
        if drives:
            numbers["drive"] = np.stack([getattr(tree.drive, field)[j] for field, j in drives])
        return numbers

    return names, kernel_of(robot, function, "bodily", ()) if bodies or drives else None


def _stretch(
    model: Model, values: np.ndarray, changes: np.ndarray
) -> dict[str, dict[str, list[float]]]:
    """Derivatives of the ends of drawn parts by the parameters: {part: {parameter: (6,)}}.

    Only of parameters that move them along lines, such as lengths; others, such as angles, do not
    move the picture.
    """
    derivatives: dict[str, dict[str, list[float]]] = {}
    first = _ends(model.bind(values))
    for k, change in enumerate(np.diag(changes)):
        whole, half = (_ends(model.bind(values + share * change)) for share in (1.0, 0.5))
        if not whole.shape == half.shape == first.shape:
            continue
        is_linear = np.abs(whole + first - 2.0 * half).max(axis=1) < CLOSE * changes[k]
        rates = (whole - first) / changes[k]
        for i in np.flatnonzero(is_linear & (np.abs(rates).max(axis=1) > CLOSE)):
            derivatives.setdefault(str(i), {})[str(k)] = np.round(rates[i], 4).tolist()
    return derivatives


def _ends(model: Model) -> np.ndarray:
    """(parts and sliders, 6) both ends of each; sliders have one end."""
    parts = [[*part["a"], *part["b"]] for part in parts_of(model.tree, 1e-3)]
    sliders = [[*slider["a"], 0.0, 0.0, 0.0] for slider in sliders_of(model.tree, 1e-3)]
    return np.array([*parts, *sliders])
