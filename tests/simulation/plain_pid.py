"""A law with a memory, and the simplest thing it can move."""

from typing import Any

import numpy as np

import dalembert as dl


def wheel(**joint: Any) -> dl.Robot:
    """q̈ = τ: a body of inertia 1 that turns about its axis, without gravity."""
    axle = {"type": "revolute", "name": "axle", **joint}
    link = {"name": "w", "joint": axle, "mass": 1.0, "inertia": np.eye(3)}
    return dl.Robot.from_links([link], gravity=(0.0, 0.0, 0.0))


class PID:
    """A law with a memory, as anybody would write it."""

    def __init__(self, target: Any, kp: Any, ki: Any, kd: Any, dt: float) -> None:
        self.target, self.gains, self.dt = np.asarray(target), (kp, ki, kd), dt
        self.sum: Any = 0.0
        self.times: list[float] = []

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        self.times.append(t)
        kp, ki, kd = self.gains
        e = self.target - q
        self.sum = self.sum + self.dt * e
        return kp * e + ki * self.sum - kd * qd
