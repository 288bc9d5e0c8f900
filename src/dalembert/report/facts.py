"""What a system is, as plain data: joints, masses, limits, frames, and what its dynamics cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.model import JointInfo, Model
from dalembert.model.notes import Notes
from dalembert.model.tool import tool_place
from dalembert.report.coordinates import coordinates
from dalembert.systems.robot import Robot
from dalembert.systems.system import System
from dalembert.zoo import entry, is_known, load

COUNTED = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "bias", "gravity_torque")
MOST_COUNTED = 12  # bodies; counting means tracing, which takes seconds for a humanoid


def describe(system: System) -> dict[str, Any]:
    """Everything `info` says, as plain data."""
    made, robot = system.dynamics, system.robot
    known = entry(system.name) if is_of_the_zoo(system) else None
    notes = robot.notes if robot is not None else Notes()
    few = (system.nv if robot is None else len(robot.model.bodies)) <= MOST_COUNTED
    traced = system.compiled if few else system
    counted = [name for name in COUNTED if name in traced.dynamics.catalogue] if few else []
    return {
        "name": system.name,
        "title": known.title if known else None,
        "citation": known.citation if known else None,
        "nq": system.nq,
        "nv": system.nv,
        "freedoms": made.freedoms,
        **_tree(robot),
        "coordinates": [vars(entry) for entry in coordinates(system, "q")],
        "constraints": list(made.row_names),
        "frames": list(made.frames),
        "actuators": list(made.driven_by.names),
        "parameters": dict(system.named_parameters),
        "operation_counts": {quantity: _count(traced, quantity) for quantity in counted},
        "source": notes.source,
        "merged": list(notes.merged),
        "locked": list(notes.locked),
        "ignored": list(notes.ignored),
        "warnings": list(notes.warnings),
        "provenance": list(notes.provenance),
        "left_out": [vars(row) for row in notes.left_out],
        "equalities": [vars(equality) for equality in notes.equalities],
    }


def _tree(robot: Robot | None) -> dict[str, Any]:
    """Masses, gravity and joints, where there are links."""
    if robot is None:
        return {"total_mass": None, "gravity": None, "tool": None, "joints": []}
    model = robot.model.bind(robot.model.parameter_values())
    place, why = tool_place(robot.model.tree), robot.notes.tool
    return {
        "total_mass": sum(float(body.mass) for body in model.bodies),
        "gravity": np.asarray(model.gravity, dtype=float),
        "tool": f"{place} ({why})" if why else place,
        "joints": [_joint(robot, model, joint) for joint in model.tree.joints],
    }


def is_of_the_zoo(system: System) -> bool:
    """Whether the zoo's system of this name is this one, number by number."""
    return is_known(system.name) and load(system.name).dynamics.content == system.dynamics.content


def _joint(robot: Robot, model: Model, joint: JointInfo) -> dict[str, Any]:
    first = model.bodies[joint.bodies[0]]
    follows = joint.name in model.followers
    drive = model.drive
    return {
        "name": joint.name,
        "type": joint.kind,
        "link": joint.link,
        "parent": model.joint_of(first.parent).link if first.parent >= 0 else "base",
        "depth": len({model.joint_of(i).name for i in model.supports[joint.bodies[0]]}) - 1,
        "mass": float(sum(model.bodies[i].mass for i in joint.bodies)),
        "follows": follows,
        "units": _units(robot, joint),
        "lower": joint.lower,
        "upper": joint.upper,
        "velocity_limit": joint.velocity_limit,
        "effort_limit": joint.effort_limit,
        "viscous": np.asarray(drive.viscous, dtype=float)[joint.v],
        "coulomb_positive": np.asarray(drive.coulomb_positive, dtype=float)[joint.v],
        "coulomb_negative": np.asarray(drive.coulomb_negative, dtype=float)[joint.v],
        "reflected_rotor_inertia": np.asarray(drive.rotor, dtype=float)[joint.v],
    }


def range_text(joint: dict[str, Any]) -> str:
    """The range of a joint of `describe`, with its unit."""
    lower, upper = joint["lower"][0], joint["upper"][0]
    if not np.isfinite([lower, upper]).any():
        return "free"
    return f"{lower:.4g} … {upper:.4g} {joint['units']['q']}"


def _units(robot: Robot, joint: JointInfo) -> dict[str, str]:
    """Units of a joint's coordinates; one that follows others has none of its own and theirs."""
    own = next((j for j in robot.joints if j.name == joint.name), None)
    if own is None:
        unit = "m" if joint.kind == "prismatic" else "rad"
        return {"q": unit, "qd": f"{unit}/s", "tau": "N" if unit == "m" else "N m"}
    rate = coordinates(robot, "qd")[own.v][0]
    place = coordinates(robot, "q")[own.q][0]
    return {"q": place.unit("q"), "qd": rate.unit("qd"), "tau": rate.unit("tau")}


def _count(system: System, quantity: str) -> dict[str, Any]:
    count = system.operation_count(quantity)
    made = system.dynamics
    default = made.quantity(quantity).formulation(None, made.description).name
    return {"formulation": default, **vars(count), "total": count.total}
