"""Facts about a system as plain data: joints, masses, limits, coordinates, operation counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.model import JointInfo, Model
from dalembert.model.notes import Notes
from dalembert.model.tool import tool_location
from dalembert.systems.dynamics import UNITS
from dalembert.systems.robot import Robot
from dalembert.systems.system import System
from dalembert.zoo import entry, is_known, load

COUNTED = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "bias", "gravity_torque")
DRIVE = {name: name for name in ("viscous", "coulomb_positive", "coulomb_negative")}
DRIVE["reflected_rotor_inertia"] = "rotor"
NOTES = ("merged", "locked", "ignored", "warnings", "provenance")  # of reading a file
MOST_COUNTED = 12  # bodies; counting means tracing, which takes seconds for a humanoid


@dataclass(frozen=True)
class Coordinate:
    """One entry of q, or of qd, qdd and tau."""

    name: str
    kind: str  # angle, length, quaternion or unknown

    def unit(self, quantity: str) -> str:
        """Its unit as an entry of q, qd, qdd or tau; empty for a number without one."""
        unit = UNITS[quantity][self.kind]
        return "" if unit == "1" else unit


def coordinates(system: System, quantity: str) -> list[Coordinate]:
    """The entries of q (nq), or of qd, qdd and tau (nv).

    >>> import dalembert as dl
    >>> [(c.name, c.unit("tau")) for c in coordinates(dl.load("rp"), "tau")]
    [('link1_joint', 'N m'), ('link2_joint', 'N')]
    """
    dynamics = system.dynamics
    if quantity == "q":
        names, kinds = dynamics.coordinates, dynamics.kinds.q
    else:
        names, kinds = dynamics.velocities, dynamics.kinds.v
    return [Coordinate(name, kind) for name, kind in zip(names, kinds, strict=True)]


def is_of_the_zoo(system: System) -> bool:
    """Whether the zoo's system of this name is this one, number by number."""
    return is_known(system.name) and load(system.name).dynamics.content == system.dynamics.content


def describe(system: System) -> dict[str, Any]:
    """All facts that `dalembert info` prints, as plain data."""
    dynamics, robot = system.dynamics, system.robot
    known = entry(system.name) if is_of_the_zoo(system) else None
    notes = robot.notes if robot is not None else Notes()
    is_small = (system.nv if robot is None else len(robot.model.bodies)) <= MOST_COUNTED
    counts = {}
    if is_small:
        compiled = system.compiled.dynamics
        for name in (name for name in COUNTED if name in compiled.catalogue):
            count = system.compiled.operation_count(name)
            default = compiled.quantity(name).formulation(None, compiled.description).name
            counts[name] = {"formulation": default, **vars(count), "total": count.total}
    tree: dict[str, Any] = {"total_mass": None, "gravity": None, "tool": None, "joints": []}
    if robot is not None:
        model = robot.model.bind(robot.model.parameter_values())
        tool = tool_location(robot.model.tree)
        tree = {
            "total_mass": sum(float(body.mass) for body in model.bodies),
            "gravity": np.asarray(model.gravity, dtype=float),
            "tool": f"{tool} ({notes.tool})" if notes.tool else tool,
            "joints": [_joint(robot, model, joint) for joint in model.tree.joints],
        }
    return {
        "name": system.name,
        "title": known.title if known else None,
        "citation": known.citation if known else None,
        "nq": system.nq,
        "nv": system.nv,
        "freedoms": dynamics.freedoms,
        **tree,
        "coordinates": [vars(entry) for entry in coordinates(system, "q")],
        "constraints": list(dynamics.row_names),
        "redundant": list(getattr(system, "redundant_constraints", ())),
        "frames": list(dynamics.frames),
        "actuators": list(dynamics.driven_by.names),
        "parameters": dict(system.named_parameters),
        "operation_counts": counts,
        "source": notes.source,
        **{kind: list(getattr(notes, kind)) for kind in NOTES},
        "left_out": [row._asdict() for row in notes.left_out],
        "equalities": [vars(equality) for equality in notes.equalities],
    }


def _joint(robot: Robot, model: Model, joint: JointInfo) -> dict[str, Any]:
    first = model.bodies[joint.bodies[0]]
    drive = {
        name: np.asarray(getattr(model.drive, field), dtype=float)[joint.v]
        for name, field in DRIVE.items()
    }
    own = next((j for j in robot.joints if j.name == joint.name), None)
    if own is not None:
        position, velocity = coordinates(robot, "q")[own.q][0], coordinates(robot, "qd")[own.v][0]
    else:  # a joint that follows others has no coordinates
        position = velocity = Coordinate("", "length" if joint.kind == "prismatic" else "angle")
    units = {"q": position.unit("q"), "qd": velocity.unit("qd"), "tau": velocity.unit("tau")}
    return {
        "name": joint.name,
        "type": joint.kind,
        "link": joint.link,
        "parent": model.joint_of(first.parent).link if first.parent >= 0 else "base",
        "depth": len({model.joint_of(i).name for i in model.supports[joint.bodies[0]]}) - 1,
        "mass": float(sum(model.bodies[i].mass for i in joint.bodies)),
        "follows": joint.name in model.followers,
        "units": units,
        "lower": joint.lower,
        "upper": joint.upper,
        "velocity_limit": joint.velocity_limit,
        "effort_limit": joint.effort_limit,
        **drive,
    }


def range_text(joint: dict[str, Any]) -> str:
    """The range of a joint of `describe`, with its unit."""
    lower, upper = joint["lower"][0], joint["upper"][0]
    if not np.isfinite([lower, upper]).any():
        return "free"
    return f"{lower:.4g} … {upper:.4g} {joint['units']['q']}"
