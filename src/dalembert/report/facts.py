"""What a robot is, as plain data: joints, masses, limits, frames, and what its dynamics cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.model import JointInfo, Model
from dalembert.report.coordinates import coordinates
from dalembert.systems.robot import Robot
from dalembert.zoo import entry, load, names

COUNTED = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "bias", "gravity_torque")
MOST_COUNTED = 12  # bodies; counting means tracing, which takes seconds for a humanoid


def describe(robot: Robot) -> dict[str, Any]:
    """Everything `info` says, as plain data."""
    model = (
        robot.model.bind(robot.model.parameter_values()) if robot.model.parameters else robot.model
    )
    notes = robot.notes
    known = entry(robot.name) if is_of_the_zoo(robot) else None
    counted = COUNTED if len(model.bodies) <= MOST_COUNTED else ()
    return {
        "name": robot.name,
        "title": known.title if known else None,
        "citation": known.citation if known else None,
        "nq": robot.nq,
        "nv": robot.nv,
        "total_mass": sum(float(body.mass) for body in model.bodies),
        "gravity": np.asarray(model.gravity, dtype=float),
        "joints": [_joint(robot, model, joint) for joint in model.tree.joints],
        "frames": list(robot.frames),
        "parameters": dict(robot.model.parameters),
        "operation_counts": {quantity: _count(robot, quantity) for quantity in counted},
        "source": notes.source,
        "merged": list(notes.merged),
        "locked": list(notes.locked),
        "ignored": list(notes.ignored),
        "warnings": list(notes.warnings),
        "equalities": [vars(equality) for equality in notes.equalities],
    }


def is_of_the_zoo(robot: Robot) -> bool:
    """Whether the zoo's robot of this name is this one, number by number."""
    return robot.name in names() and load(robot.name) == robot


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


def _units(robot: Robot, joint: JointInfo) -> dict[str, str]:
    """Units of a joint's coordinates; one that follows others has none of its own and theirs."""
    own = next((j for j in robot.joints if j.name == joint.name), None)
    if own is None:
        unit = "m" if joint.kind == "prismatic" else "rad"
        return {"q": unit, "qd": f"{unit}/s", "tau": "N" if unit == "m" else "N m"}
    rate = coordinates(robot, "qd")[own.v][0]
    place = coordinates(robot, "q")[own.q][0]
    return {"q": place.unit("q"), "qd": rate.unit("qd"), "tau": rate.unit("tau")}


def _count(robot: Robot, quantity: str) -> dict[str, Any]:
    count = robot.operation_count(quantity)
    default = robot.dynamics.quantity(quantity).formulation(None, robot.description).name
    return {"formulation": default, **vars(count), "total": count.total}
