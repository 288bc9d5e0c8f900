"""Seven arms for inverse kinematics, all with limits: what many use, and what has no name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import dalembert as dl

TURN = (-0.95 * np.pi, 0.95 * np.pi)


def scara() -> dl.Robot:
    """Four joints: a pose has four coordinates here."""
    ranges = [(-2.3, 2.3), (-2.5, 2.5), (-3.1, 3.1), (0.0, 0.3)]
    robot = dl.load("scara")
    names = (joint.name for joint in robot.joints)
    return robot.with_limits(dict(zip(names, ranges, strict=True)))


def nine_joints() -> dl.Robot:
    """Nine joints turning about crossed axes: three more than a pose needs."""
    twist = [np.pi / 2, -np.pi / 2] * 4 + [0.0]
    rows = [
        {"a": 0.05, "alpha": alpha, "d": 0.2 if k % 2 == 0 else 0.0, "limits": (-2.2, 2.2)}
        for k, alpha in enumerate(twist)
    ]
    return dl.Robot.from_dh(rows, "standard", name="nine_joints")


def random_6r(seed: int = 6) -> dl.Robot:
    """Six joints with axes anywhere: no three meet, no two are parallel."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "a": rng.uniform(0.05, 0.4),
            "alpha": rng.uniform(-np.pi, np.pi),
            "d": rng.uniform(-0.3, 0.3),
            "limits": TURN,
        }
        for _ in range(6)
    ]
    return dl.Robot.from_dh(rows, "standard", name="random_6r")


ARMS: dict[str, Callable[[], dl.Robot]] = {
    "UR5": lambda: dl.load("ur5"),
    "Panda": lambda: dl.load("panda"),
    "PUMA 560": lambda: dl.load("puma560"),
    "iiwa14": lambda: dl.load("iiwa14"),
    "SCARA": scara,
    "nine joints": nine_joints,
    "random 6R": random_6r,
}
