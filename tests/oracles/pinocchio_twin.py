"""The same mechanism in Pinocchio: one of its joints per body of our model."""

import numpy as np
import pinocchio as pin

from dalembert.model import Body, Model
from dalembert.model.joint import Ball, Free


def twin(model: Model) -> pin.Model:
    """A Pinocchio model with the same bodies, frames' joints, rotor inertias and gravity."""
    built = pin.Model()
    built.gravity.linear = np.asarray(model.gravity)
    for i, body in enumerate(model.bodies):
        placement = pin.SE3(np.asarray(body.rotation), np.asarray(body.translation))
        joint = built.addJoint(body.parent + 1, _joint(body), placement, f"{body.name}{i}")
        inertia = pin.Inertia(float(body.mass), body.center, body.inertia_about_center)
        built.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    built.armature = np.asarray(model.drive.rotor)
    return built


def _joint(body: Body) -> pin.JointModel:
    if isinstance(body.chart, Ball):
        return pin.JointModelSpherical()
    if isinstance(body.chart, Free):
        return pin.JointModelFreeFlyer()
    turn, slide = float(body.chart.turn), float(body.chart.slide)
    if turn == 0.0:
        return pin.JointModelPZ()
    return pin.JointModelRZ() if slide == 0.0 else pin.JointModelHZ(slide)


def configuration(model: Model, q: np.ndarray) -> np.ndarray:
    """Pinocchio's q: the same numbers with the joint offsets added (quaternions of unit length)."""
    return q + np.concatenate([body.offset for body in model.bodies])


def friction(model: Model, qd: np.ndarray) -> np.ndarray:
    """Joint friction, which Pinocchio's inverse dynamics leaves to the caller."""
    drive = model.drive
    coulomb = np.where(
        qd > 0, drive.coulomb_positive, np.where(qd < 0, drive.coulomb_negative, 0.0)
    )
    return drive.viscous * qd + coulomb
