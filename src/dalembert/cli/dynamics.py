"""`dalembert inverse`, `forward` and `matrices`: one state, evaluated."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.table import Table

from dalembert.cli.coordinates import WRENCH, coordinates, parse, state
from dalembert.cli.output import array_table, column, console, number, print_json, table
from dalembert.cli.subject import load_robot
from dalembert.systems.robot import Robot

Given = dict[str, str | None]
TWIST = ("vx", "vy", "vz", "ωx", "ωy", "ωz")
SYMBOLS = {"q": "q", "qd": "q̇", "qdd": "q̈", "tau": "τ"}


def inverse(
    name: str,
    given: Given,
    tip_wrench: str | None,
    formulation: str | None,
    degrees: bool,
    as_json: bool,
) -> None:
    """τ = M q̈ + C q̇ + N + J_tᵀ F_t + friction."""
    _solve(name, "inverse_dynamics", "tau", given, tip_wrench, formulation, degrees, as_json)


def forward(
    name: str,
    given: Given,
    tip_wrench: str | None,
    formulation: str | None,
    degrees: bool,
    as_json: bool,
) -> None:
    """q̈ with M q̈ + C q̇ + N + J_tᵀ F_t + friction = τ."""
    _solve(name, "forward_dynamics", "qdd", given, tip_wrench, formulation, degrees, as_json)


def matrices(name: str, given: Given, frame: str, degrees: bool, as_json: bool) -> None:
    """What the equations of motion are made of, at one state."""
    robot = load_robot(name)
    arrays = state(robot, given, degrees)
    q, qd = arrays["q"], arrays["qd"]
    values: dict[str, Any] = {
        "mass_matrix": robot.mass_matrix(q),
        "bias": robot.bias(q, qd),
        "gravity_torque": robot.gravity_torque(q),
        "kinetic_energy": float(robot.kinetic_energy(q, qd)),
        "potential_energy": float(robot.potential_energy(q)),
        "pose": robot.pose(q, frame=frame),
        "jacobian": robot.jacobian(q, frame=frame, expressed_in="body"),
    }
    if as_json:
        heading = {"robot": name, "frame": frame, "joints": _names(robot)}
        print_json({**heading, **arrays, **values})
        return
    _show_matrices(robot, arrays, values, frame)


def _show_matrices(
    robot: Robot, arrays: dict[str, np.ndarray], values: dict[str, Any], frame: str
) -> None:
    screen, names = console(), _names(robot)
    screen.print(_state_table(robot, robot.name, {"q": ("q", arrays["q"])}))
    forces = {
        "q̇": ("qd", arrays["qd"]),
        "bias C q̇ + N": ("tau", values["bias"]),
        "gravity N(q)": ("tau", values["gravity_torque"]),
    }
    screen.print(_state_table(robot, "Forces", forces))
    screen.print(array_table("Mass matrix M, SI units", values["mass_matrix"], names, names))
    axes = ("x", "y", "z")
    screen.print(
        array_table(f"Pose of {frame!r}", values["pose"][:3], axes, (*axes, "position, m"))
    )
    title = f"Body Jacobian of {frame!r}"
    screen.print(array_table(title, values["jacobian"], TWIST, names))
    screen.print(f"kinetic energy    {number(values['kinetic_energy'])} J")
    screen.print(f"potential energy  {number(values['potential_energy'])} J")


def _solve(
    name: str,
    quantity: str,
    result: str,
    given: Given,
    tip_wrench: str | None,
    formulation: str | None,
    degrees: bool,
    as_json: bool,
) -> None:
    robot = load_robot(name)
    chosen = robot.dynamics.quantity(quantity).formulation(formulation, robot.description).name
    arrays = state(robot, given, degrees)
    wrench = None if tip_wrench is None else parse(tip_wrench, "--tip-wrench", "the tool", WRENCH)
    solved = getattr(robot, quantity)(*arrays.values(), tip_wrench=wrench, formulation=chosen)
    if as_json:
        extra = {} if wrench is None else {"tip_wrench": wrench}
        heading = {"robot": name, "formulation": chosen, "joints": _names(robot)}
        units = [coordinate.unit(result) for coordinate in coordinates(robot, result)]
        print_json({**heading, **arrays, **extra, result: solved, "units": units})
        return
    screen, title = console(), f"{robot.name}, {chosen}"
    shown = {SYMBOLS[key]: (key, value) for key, value in {**arrays, result: solved}.items()}
    if robot.nq != robot.nv:  # quaternions: q has rows of its own
        screen.print(_state_table(robot, title, {"q": shown.pop("q")}))
    screen.print(_state_table(robot, title, shown))


def _state_table(robot: Robot, title: str, shown: dict[str, tuple[str, np.ndarray]]) -> Table:
    """One row per joint; `shown` maps a heading to a kind of quantity and its values."""
    made = table(title, "joint")
    rows = coordinates(robot, next(iter(shown.values()))[0])
    columns = [[coordinate.name for coordinate in rows]]
    for heading, (quantity, values) in shown.items():
        units = [coordinate.unit(quantity) for coordinate in rows]
        same = len(set(units)) == 1
        made.add_column(
            f"{heading}, {units[0]}" if same else heading, justify="right", header_style="cyan"
        )
        columns.append(column(values, None if same else units))
    for cells in zip(*columns, strict=True):
        made.add_row(*cells)
    return made


def _names(robot: Robot) -> list[str]:
    return [coordinate.name for coordinate in coordinates(robot, "tau")]
