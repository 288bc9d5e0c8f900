"""The same robots in Pinocchio, from the URDFs of the `example-robot-data` package."""

from __future__ import annotations

from importlib.metadata import files
from typing import Any

import pinocchio as pin

URDF = {"ur5": "ur5_robot.urdf", "panda": "panda.urdf"}
FINGERS = ("panda_finger_joint1", "panda_finger_joint2")


def pinocchio_model(name: str) -> Any:
    """The arm without its gripper's joints, as in our zoo."""
    for file in files("example-robot-data") or []:
        if file.name == URDF[name]:
            model = pin.buildModelFromUrdf(str(file.locate()))
            locked = [model.getJointId(f) for f in FINGERS if model.existJointName(f)]
            return pin.buildReducedModel(model, locked, pin.neutral(model))
    raise FileNotFoundError(f"no {URDF[name]} in the example-robot-data package")
