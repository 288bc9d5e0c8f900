"""`dalembert inverse`, `forward` and `matrices`: one state, evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from dalembert.cli.along import along, refuse_mixed
from dalembert.cli.inputs import (
    WRENCH,
    coordinates,
    known_frame,
    load,
    load_changed,
    parse,
    state,
)
from dalembert.cli.output import array_table, column, console, number, print_json, show, table
from dalembert.errors import FormulationError, ParameterError
from dalembert.formulations.registry import Quantity
from dalembert.systems.system import System

if TYPE_CHECKING:
    from dalembert.cli.app import ForwardOptions, InverseOptions, MatricesOptions

TWIST = ("vx", "vy", "vz", "ωx", "ωy", "ωz")
SYMBOLS = {"q": "q", "qd": "q̇", "qdd": "q̈", "tau": "τ"}


def inverse(options: InverseOptions) -> None:
    """τ = M q̈ + C q̇ + N + J_tᵀ F_t + friction of a state or along a motion; with constraints also λ."""
    refuse_mixed(options)
    if options.csv is not None:
        along(options)
    elif options.table:
        _recursion(options)
    else:
        system = load_changed(options).compiled
        arrays = state(system, options, "q", "qd", "qdd")
        _solve(system, "inverse_dynamics", arrays, options)


def forward(options: ForwardOptions) -> None:
    """q̈ with M q̈ + C q̇ + N + J_tᵀ F_t + friction = τ; with constraints also λ."""
    system = load(options.robot).compiled
    _solve(system, "forward_dynamics", state(system, options, "q", "qd", "tau"), options)


def _recursion(options: InverseOptions) -> None:
    """Every intermediate of a formulation of inverse dynamics, link by link."""
    system = load_changed(options).compiled
    robot = system.robot
    if robot is None or robot is not system:
        raise FormulationError(f"{options.robot} is not a tree of links; --table needs one")
    arrays = state(system, options, "q", "qd", "qdd")
    wrench = _wrench(system, system.dynamics.quantity("inverse_dynamics"), options.tip_wrench)
    found = robot.recursion(**arrays, **wrench, formulation=options.formulation)
    if options.json:
        heading = {"robot": options.robot, "formulation": found.formulation}
        heading["links"] = list(found.links)
        units = {term.name: term.units for term in found.terms}
        print_json({**heading, **arrays, **wrench, **found.values, "units": units})
        return
    console().print(found.text(), soft_wrap=True)


def matrices(options: MatricesOptions) -> None:
    """What the equations of motion are made of, at one state."""
    system = load(options.robot).compiled
    arrays = state(system, options, "q", "qd")
    q, qd = arrays["q"], arrays["qd"]
    values: dict[str, Any] = {
        "mass_matrix": system.mass_matrix(q),
        "bias": system.bias(q, qd),
        "gravity_torque": _gravity_torque(system, q),
        "kinetic_energy": float(system.kinetic_energy(q, qd)),
        "potential_energy": float(system.potential_energy(q)),
        **_frame(system, q, options.frame),
    }
    if system.dynamics.rows:
        rows = system.dynamics.bound().at(q, None, 0.0)
        values |= {"constraint_jacobian": rows.A, "residual": rows.h}
    if options.json:
        print_json({"robot": options.robot, "joints": _names(system), **arrays, **values})
        return
    _show_matrices(system, arrays, values)


def _gravity_torque(system: System, q: np.ndarray) -> np.ndarray:
    """N(q), by its own formulation where the system has one."""
    if "gravity_torque" in system.dynamics.catalogue:
        return system.gravity_torque(q)
    return system.bias(q, np.zeros(system.nv))


def _frame(system: System, q: np.ndarray, frame: str) -> dict[str, Any]:
    """Pose and body Jacobian of a frame, where the system has frames."""
    made = system.dynamics.bound()
    if not made.frames:
        if frame != "tool":
            raise ParameterError(f"--frame {frame}: {system.name} has no frames")
        return {}
    frame = known_frame(system, frame)
    robot = system.robot
    if robot is not None:
        return {
            "frame": frame,
            "pose": robot.pose(q, frame),
            "jacobian": robot.jacobian(q, frame, "body"),
        }
    J = made.frame_jacobian(q, frame, "body")
    return {"frame": frame, "pose": made.pose(q, frame), "jacobian": J}


def _show_matrices(system: System, arrays: dict[str, np.ndarray], values: dict[str, Any]) -> None:
    screen, names = console(), _names(system)
    show(screen, _state_table(system, system.name, {"q": ("q", arrays["q"])}))
    forces = {
        "q̇": ("qd", arrays["qd"]),
        "bias C q̇ + N": ("tau", values["bias"]),
        "gravity N(q)": ("tau", values["gravity_torque"]),
    }
    show(screen, _state_table(system, "Forces", forces))
    show(screen, array_table("Mass matrix M, SI units", values["mass_matrix"], names, names))
    if "pose" in values:
        axes = ("x", "y", "z")
        frame = values["frame"]
        title = f"Pose of {frame!r}"
        show(screen, array_table(title, values["pose"][:3], axes, (*axes, "position, m")))
        show(screen, array_table(f"Body Jacobian of {frame!r}", values["jacobian"], TWIST, names))
    if "constraint_jacobian" in values:
        rows = system.dynamics.row_names
        show(screen, array_table("Constraints A(q)", values["constraint_jacobian"], rows, names))
    screen.print(f"kinetic energy    {number(values['kinetic_energy'])} J")
    screen.print(f"potential energy  {number(values['potential_energy'])} J")


def _solve(
    system: System,
    quantity: str,
    arrays: dict[str, np.ndarray],
    options: InverseOptions | ForwardOptions,
) -> None:
    listed = system.dynamics.quantity(quantity)
    chosen = listed.formulation(options.formulation, system.dynamics.description).name
    wrench = _wrench(system, listed, options.tip_wrench)
    given = wrench | ({} if options.formulation is None else {"formulation": chosen})
    solved = getattr(system, quantity)(*arrays.values(), **given)
    results = solved if isinstance(solved, tuple) else (solved,)
    found = dict(zip(listed.outputs, results, strict=True))
    if options.json:
        heading = {"robot": options.robot, "formulation": chosen, "joints": _names(system)}
        units = [entry.unit(next(iter(found))) for entry in coordinates(system, "tau")]
        print_json({**heading, **arrays, **wrench, **found, "units": units})
        return
    _show_solved(system, f"{system.name}, {chosen}", arrays, found)


def _wrench(system: System, quantity: Quantity, text: str | None) -> dict[str, np.ndarray]:
    if text is None:
        return {}
    if "tip_wrench" not in quantity.optional:
        raise ParameterError(f"--tip-wrench: {system.name} takes forces as --tau")
    return {"tip_wrench": parse(text, "--tip-wrench", "the tool", WRENCH)}


def _show_solved(
    system: System, title: str, arrays: dict[str, np.ndarray], found: dict[str, np.ndarray]
) -> None:
    screen = console()
    multipliers = found.pop("lam", np.zeros(0))
    shown = {SYMBOLS[key]: (key, value) for key, value in {**arrays, **found}.items()}
    if system.nq != system.nv:  # quaternions: q has rows of its own
        show(screen, _state_table(system, title, {"q": shown.pop("q")}))
    show(screen, _state_table(system, title, shown))
    if multipliers.size:
        made = table("Forces of the constraints", "row", "λ")
        for label, text in zip(system.dynamics.row_names, column(multipliers), strict=True):
            made.add_row(label, text)
        show(screen, made)


def _state_table(system: System, title: str, shown: dict[str, tuple[str, np.ndarray]]) -> Table:
    """One row per joint; `shown` maps a heading to a kind of quantity and its values."""
    made = table(title, "joint")
    rows = coordinates(system, next(iter(shown.values()))[0])
    columns = [[coordinate.name for coordinate in rows]]
    for heading, (quantity, values) in shown.items():
        units = [coordinate.unit(quantity) for coordinate in rows]
        same = len(set(units)) == 1
        title = f"{heading}, {units[0]}" if same and units[0] else heading
        made.add_column(title, justify="right", header_style="cyan")
        columns.append(column(values, None if same else units))
    for cells in zip(*columns, strict=True):
        made.add_row(*cells)
    return made


def _names(system: System) -> list[str]:
    return [coordinate.name for coordinate in coordinates(system, "tau")]
