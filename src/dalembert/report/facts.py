"""What a robot is, as plain data: joints, masses, limits, frames, and what its dynamics cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.formulations import quantity as find_quantity
from dalembert.model import JointInfo, Model
from dalembert.report.coordinates import coordinates
from dalembert.robot import Robot
from dalembert.zoo import entry, names

COUNTED = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "bias", "gravity_torque")


def describe(robot: Robot) -> dict[str, Any]:
    """Everything `info` says, as plain data."""
    model = (
        robot.model.bind(robot.model.parameter_values()) if robot.model.parameters else robot.model
    )
    known = entry(robot.name) if robot.name in names() else None
    return {
        "name": robot.name,
        "title": known.title if known else None,
        "citation": known.citation if known else None,
        "nq": robot.nq,
        "nv": robot.nv,
        "total_mass": sum(float(body.mass) for body in model.bodies),
        "gravity": np.asarray(model.gravity, dtype=float),
        "joints": [_joint(robot, model, joint) for joint in model.joints],
        "frames": list(robot.frames),
        "parameters": dict(robot.model.parameters),
        "operation_counts": {quantity: _count(robot, quantity) for quantity in COUNTED},
    }


def _joint(robot: Robot, model: Model, joint: JointInfo) -> dict[str, Any]:
    first = model.bodies[joint.bodies[0]]
    rates = coordinates(robot, "qd")[joint.v]
    drive = model.drive
    return {
        "name": joint.name,
        "type": joint.kind,
        "link": joint.link,
        "parent": model.joint_of(first.parent).link if first.parent >= 0 else "base",
        "depth": len({model.joint_of(i).name for i in model.supports[joint.bodies[0]]}) - 1,
        "mass": float(sum(model.bodies[i].mass for i in joint.bodies)),
        "units": {
            "q": coordinates(robot, "q")[joint.q][0].unit("q"),
            "qd": rates[0].unit("qd"),
            "tau": rates[0].unit("tau"),
        },
        "lower": joint.lower,
        "upper": joint.upper,
        "velocity_limit": joint.velocity_limit,
        "effort_limit": joint.effort_limit,
        "viscous": np.asarray(drive.viscous, dtype=float)[joint.v],
        "coulomb_positive": np.asarray(drive.coulomb_positive, dtype=float)[joint.v],
        "coulomb_negative": np.asarray(drive.coulomb_negative, dtype=float)[joint.v],
        "reflected_rotor_inertia": np.asarray(drive.rotor, dtype=float)[joint.v],
    }


def _count(robot: Robot, quantity: str) -> dict[str, Any]:
    count = robot.operation_count(quantity)
    default = find_quantity(quantity).formulations[0].name
    return {"formulation": default, **vars(count), "total": count.total}
