"""The same robots in Pinocchio, from the URDFs of the `example-robot-data` package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, files
from typing import Any

import numpy as np

from benchmarks.optional import MissingPeer, optional
from benchmarks.timing import Candidate

pin = optional("pinocchio")

URDF = {"ur5": "ur5_robot.urdf", "panda": "panda.urdf"}
FINGERS = ("panda_finger_joint1", "panda_finger_joint2")
SAMPLE = 64  # states per turn, where each state is a call from Python


def pinocchio_model(name: str) -> Any:
    """The arm without its gripper's joints, as in our zoo."""
    try:
        packages = files("example-robot-data") or []
    except PackageNotFoundError:
        raise MissingPeer("example-robot-data is not installed") from None
    for file in packages:
        if file.name == URDF[name]:
            model = pin.buildModelFromUrdf(str(file.locate()))
            locked = [model.getJointId(f) for f in FINGERS if model.existJointName(f)]
            return pin.buildReducedModel(model, locked, pin.neutral(model))
    raise FileNotFoundError(f"no {URDF[name]} in the example-robot-data package")


def one_joint() -> Any:
    """The smallest model: its dynamics cost next to nothing, the call the rest."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), "joint")
    model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Identity())
    return model


def state_by_state(
    function: Callable[..., Any], model: Any, states: Sequence[np.ndarray]
) -> Candidate:
    """A function of Pinocchio called from Python for some of the states, one after the other."""
    sample = list(zip(*(x[:SAMPLE] for x in states), strict=True))
    data, tiny = model.createData(), one_joint()
    tiny_data, nothing = tiny.createData(), [np.zeros(1)] * len(states)

    def call() -> None:
        for state in sample:
            function(model, data, *state)

    def empty() -> None:
        for _ in sample:
            function(tiny, tiny_data, *nothing)

    return Candidate(call, len(sample), empty)
