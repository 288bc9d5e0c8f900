"""Parameters under the hand: their ranges and units, what they stretch, what no body can have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import ModelError
from dalembert.model import Model
from dalembert.model.parameter import Parameter, expression
from dalembert.report.live_part import Part, kernel_of
from dalembert.report.scene import parts_of, sliders_of
from dalembert.spatial.consistency import TOLERANCE
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.robot import Robot
from dalembert.systems.system import System
from dalembert.tracing.program import Program

PAYLOAD, FRICTION = "payload", "friction"
RUBBING = ("viscous", "coulomb_positive", "coulomb_negative")
SHARE = 0.25  # of a robot's mass that a payload's slider goes to: what arms usually carry
DRIVES = {  # units of what turns and of what slides
    "viscous": ("N m s/rad", "N s/m"),
    "rotor": ("kg m²", "kg"),
    "coulomb_positive": ("N m", "N"),
}
CLOSE = 1e-3  # of a change: what is not seen


def loaded(system: Any) -> Any:
    """A robot without named parameters with those of its page; any other system as it is.

    They are a point mass at its tool, zero by default, and a factor of its friction, if it has any.
    """
    if system.named_parameters or not hasattr(system, "with_payload"):
        return system
    try:
        return type(system)(_rubbed(system.model)).with_payload(Parameter(PAYLOAD, 0.0))
    except ModelError:  # its tool does not move
        return system


def _rubbed(model: Any) -> Any:
    """The model whose friction has a factor."""
    drive = model.tree.drive
    if not any(np.any(getattr(drive, name)) for name in RUBBING):
        return model
    factor = Parameter(FRICTION, 1.0)
    changed = {name: expression(getattr(drive, name) * factor) for name in RUBBING}
    tree = replace(model.tree, drive=replace(drive, **changed))
    return tree if model.tree is model else replace(model, tree=tree)


def parameters_part(system: System) -> Part:
    """What sliders need of every named parameter, how it changes the picture, what it must not be.

    The kernel `bodily` has what can be negative of no body and no joint.
    """
    given = system.named_parameters
    if not given:
        return Part()
    robot = system.robot
    if robot is None or dict(robot.named_parameters) != dict(given):
        rows = [slider_of(name, value) for name, value in given.items()]
        return Part(data={"parameters": rows})
    model = robot.model
    values = np.array([0.0 if value is None else value for value in given.values()])
    here = model.bind(values)
    changes = np.where(values == 0.0, 0.5, 0.5 * np.abs(values))
    there = [model.bind(one) for one in values + np.diag(changes)]
    units = units_of(model, values)
    rows = [slider_of(*one, unit) for one, unit in zip(given.items(), units, strict=True)]
    if given.items() <= {PAYLOAD: 0.0, FRICTION: 1.0}.items():
        mass = sum(float(body.mass) for body in here.tree.bodies)
        high = near(SHARE * mass)
        more = [
            {"high": high} if row["unit"] == "kg" else {"unit": row["unit"] or "×"} for row in rows
        ]
        found = [{**row, **its, "least": 0.0} for row, its in zip(rows, more, strict=True)]
        return Part(data={"parameters": found})
    names, kernel = bodily(robot, here, there)
    return Part(
        {"bodily": kernel} if kernel else {},
        {"parameters": rows, "bodily": names, "stretch": stretch(model, values, changes)},
    )


def slider_of(name: str, value: float | None, unit: str = "") -> dict[str, Any]:
    """Where the slider of a parameter goes: 0 … 2 × default, and to both sides of a negative one."""
    start = 0.0 if value is None else float(value)
    high = 2.0 * abs(start) or 1.0
    return {
        "name": name,
        "value": start,
        "low": -high if start < 0.0 or (start == 0.0 and not unit.startswith("kg")) else 0.0,
        "high": high,
        "unit": unit,
    }


def near(value: float) -> float:
    """The nearest of 1, 2, 5 times powers of ten.

    >>> near(4.6), near(0.11)
    (5.0, 0.1)
    """
    power = 10.0 ** np.floor(np.log10(max(value, 1e-9)))
    return float(
        power * min((1, 2, 5, 10), key=lambda x: abs(np.log(x * power / max(value, 1e-9))))
    )


def units_of(model: Model, values: np.ndarray) -> list[str]:
    """The unit of each parameter that is a number of the model itself, "" of others.

    It is, if that number rises with it one by one, whatever the others are.
    """
    generic = np.where(values == 0.0, 1.0, values) * np.linspace(1.1, 1.7, len(values))
    here, found = _measured(model.bind(generic)), []
    for k, change in enumerate(0.5 * np.abs(generic)):
        there = _measured(model.bind(generic + change * np.eye(len(values))[k]))
        rises = [
            unit
            for (unit, before), (_, after) in zip(here, there, strict=True)
            if np.any(np.abs(np.abs(after - before) - change) < 1e-9 * change)
        ]
        found.append(rises[0] if rises else "")
    return found


def _measured(model: Model) -> list[tuple[str, np.ndarray]]:
    """Numbers of a model by their unit; of a body without a centre they are not numbers."""
    tree = model.tree
    nothing = np.full((3, 3), np.nan)
    places = [body.translation for body in tree.bodies]
    places += [frame.translation for frame in tree.frames.values()]
    centres = [body.center if body.is_real else nothing[0] for body in tree.bodies]
    tensors = [b.inertia_about_center if b.is_real else nothing for b in tree.bodies]
    turns = np.concatenate([np.any(np.asarray(b.subspace)[3:6], axis=0) for b in tree.bodies])
    drives = [
        (unit, np.asarray(getattr(tree.drive, field))[chosen])
        for field, units in DRIVES.items()
        for unit, chosen in zip(units, (turns, ~turns), strict=True)
    ]
    return [
        ("m/s²", np.asarray(tree.gravity)),
        ("kg", np.array([float(body.mass) for body in tree.bodies])),
        *drives,
        ("m", np.array([*places, *centres])),
        ("kg m²", np.ravel(tensors)),
    ]


def bodily(
    robot: Robot, here: Model, there: Sequence[Model]
) -> tuple[dict[str, Any], Program | None]:
    """Names, and the kernel of what must not be negative: masses, inertia tensors, drives.

    Of bodies and drives that a parameter changes; bodies that are none by default may be anything.
    """
    bodies = [
        i
        for i, body in enumerate(here.tree.bodies)
        if body.is_real
        and any(
            np.any(getattr(body, name) != getattr(one.tree.bodies[i], name))
            for one in there
            for name in ("mass", "moment", "inertia")
        )
    ]
    drives = [
        (field, j)
        for field in DRIVES
        for j in range(here.tree.nv)
        if any(
            getattr(one.tree.drive, field)[j] != getattr(here.tree.drive, field)[j] for one in there
        )
    ]
    names = {
        "bodies": [here.tree.bodies[i].name for i in bodies],
        "drives": [[here.tree.velocities[j], field] for field, j in drives],
        "tolerance": TOLERANCE,
    }

    def function(bound: Dynamics) -> dict[str, Any]:
        tree = bound.description.tree
        found = {}
        if bodies:
            found["mass"] = np.stack([tree.bodies[i].mass for i in bodies])
            found["inertia"] = np.stack([tree.bodies[i].inertia_about_center for i in bodies])
        if drives:
            found["drive"] = np.stack([getattr(tree.drive, field)[j] for field, j in drives])
        return found

    return names, kernel_of(robot, function, "bodily", ()) if bodies or drives else None


def stretch(
    model: Model, values: np.ndarray, changes: np.ndarray
) -> dict[str, dict[str, list[float]]]:
    """How ends of drawn parts, each in its body, move with parameters: {part: {parameter: (6,)}}.

    Lengths move them along lines. What moves them otherwise, such as an angle, leaves them there.
    """
    found: dict[str, dict[str, list[float]]] = {}
    first = _ends(model.bind(values))
    for k, change in enumerate(np.diag(changes)):
        whole, half = (_ends(model.bind(values + share * change)) for share in (1.0, 0.5))
        if not whole.shape == half.shape == first.shape:
            continue
        along = np.abs(whole + first - 2.0 * half).max(axis=1) < CLOSE * changes[k]
        slopes = (whole - first) / changes[k]
        for i in np.flatnonzero(along & (np.abs(slopes).max(axis=1) > CLOSE)):
            found.setdefault(str(i), {})[str(k)] = np.round(slopes[i], 4).tolist()
    return found


def _ends(model: Model) -> np.ndarray:
    """(parts and sliders, 6) from where to where each goes; sliders are given by one end."""
    parts = [[*part["a"], *part["b"]] for part in parts_of(model.tree, 1e-3)]
    return np.array([*parts, *([*one["a"], 0.0, 0.0, 0.0] for one in sliders_of(model.tree, 1e-3))])
