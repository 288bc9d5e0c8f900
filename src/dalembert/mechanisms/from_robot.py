"""A robot as a spatial mechanism: every link a free body, every joint a constraint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ModelError
from dalembert.formulations.kinematics.frames import body_poses
from dalembert.model.joint import Ball, Screw
from dalembert.model.model import Body
from dalembert.spatial.quaternions import quaternion_from_matrix
from dalembert.systems.robot import Robot

if TYPE_CHECKING:
    from dalembert.mechanisms.spatial import SpatialMechanism


def add_links(made: SpatialMechanism, robot: Robot, q: Any = None) -> None:
    """Add the links and joints of a robot at q (nq,), default its neutral posture, to a mechanism."""
    model = robot.model
    if model.followers or model.parameters:
        raise ModelError(
            f"{robot.name}: joints that follow others and open parameters cannot go along"
        )
    if model.elements:
        raise ModelError(
            f"{robot.name}: springs, tendons, drag and lifted weights of a robot cannot go along; "
            "give the mechanism its own forces"
        )
    at = robot.neutral() if q is None else np.asarray(q, dtype=float)
    poses = body_poses(model, at)
    owner = {k: joint.name for joint in model.joints for k in joint.bodies}
    for k, (body, (R, p)) in enumerate(zip(model.bodies, poses, strict=True)):
        if not body.mass > 0.0:
            raise ModelError(
                f"{robot.name}: link {body.name!r} has no mass of its own, so it cannot be a body in "
                "absolute coordinates; merge it, or give it a small mass"
            )
        tensor, at = body.inertia_about_center, p + R @ body.center
        made.body(body.name, body.mass, tensor, at=at, rotation=R)
        _joint(made, model.bodies, k, owner[k], R, p)
        _damper(made, body, owner[k], model.drive.viscous[body.v])


def _joint(
    made: SpatialMechanism, bodies: Any, k: int, name: str, R: np.ndarray, p: np.ndarray
) -> None:
    body: Body = bodies[k]
    parent = "ground" if body.parent < 0 else bodies[body.parent].name
    chart = body.chart
    if isinstance(chart, Ball):
        made.spherical(name, parent, body.name, at=p)
    elif isinstance(chart, Screw):
        axis = R[:, 2]
        if chart.turn == 0.0:
            made.prismatic(on := f"{name} rail", parent, body.name, at=p, axis=axis)
        elif chart.slide == 0.0:
            made.revolute(on := f"{name} pin", parent, body.name, at=p, axis=axis)
        else:
            pitch = 2.0 * np.pi * chart.slide / chart.turn
            made.screw(on := f"{name} thread", parent, body.name, pitch, at=p, axis=axis)
        made.actuator(name, on)


def _damper(made: SpatialMechanism, body: Body, name: str, viscous: np.ndarray) -> None:
    """Viscous friction of a joint; in a ball it has no single axis."""
    if not np.any(viscous):
        return
    if isinstance(body.chart, Ball):
        raise ModelError(
            f"joint {name!r}: a damper acts along one axis, so the viscous friction of a spherical "
            "joint cannot go along; set it to zero"
        )
    on = made.description.joints[-1].name
    made.damper(f"{name} damper", on, damping=float(viscous[0]))


def absolute_state(robot: Robot, q: Any, qd: Any) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and velocities of all links in absolute coordinates, from those of the joints."""
    model = robot.model
    q, qd = np.asarray(q, dtype=float), np.asarray(qd, dtype=float)
    poses = body_poses(model, q)
    positions, velocities = [], []
    twists: list[tuple[np.ndarray, np.ndarray]] = []  # of the body frames' origins, in the world
    for body, (R, p) in zip(model.bodies, poses, strict=True):
        linear, angular = np.zeros(3), np.zeros(3)
        if body.parent >= 0:
            linear, angular = twists[body.parent]
            linear = linear + np.cross(angular, p - poses[body.parent][1])
        own = body.subspace @ qd[body.v]
        linear, angular = linear + R @ own[:3], angular + R @ own[3:]
        twists.append((linear, angular))
        arm = R @ body.center
        positions.append(np.concatenate([p + arm, quaternion_from_matrix(R)]))
        velocities.append(np.concatenate([linear + np.cross(angular, arm), R.T @ angular]))
    return np.concatenate(positions), np.concatenate(velocities)
