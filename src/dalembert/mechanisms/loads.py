"""Forces that are not constraints: weight, gyroscopic moments, springs, dampers, loads."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.mechanisms.description import Description, Load
from dalembert.mechanisms.motions import rates
from dalembert.mechanisms.space import Space
from dalembert.spatial.quaternions import matrix_from_quaternion


class Loads:
    """The applied forces of a description as arrays; measured elements have one row each."""

    def __init__(self, description: Description) -> None:
        d = self.description = description
        self.space, self.n = d.space, len(d.bodies)
        weight = np.zeros((self.n, self.space.nv))
        weight[:, : self.space.dimension] = [body.mass * d.gravity for body in d.bodies] or 0.0
        self.constant = weight.ravel()
        self.count = len(d.loads)
        self.inertia = np.array([body.inertia for body in d.bodies])
        self.stiffness, self.free, self.damping = (
            np.array([getattr(force, name) for force in d.forces])
            for name in ("stiffness", "free", "damping")
        )
        self._open = np.array([k for k, force in enumerate(d.forces) if force.open], dtype=np.intp)
        timed = [(k, f) for k, f in enumerate(d.forces) if f.value is not None]
        self._timed = np.array([k for k, _ in timed], dtype=np.intp)
        self._values = rates([(f.name, f.value, 1) for _, f in timed if f.value is not None])

    def gyroscopic(self, v: np.ndarray) -> np.ndarray:
        """−ω × Jω (nv,), in body axes."""
        if self.space.dimension == 2 or not self.n:
            return np.zeros(self.n * self.space.nv)
        omega = v.reshape(self.n, 6)[:, 3:]
        momentum = np.einsum("kij,kj->ki", self.inertia, omega)
        return np.concatenate([np.zeros((self.n, 3)), -np.cross(omega, momentum)], axis=1).ravel()

    def outside(self, t: float, torques: np.ndarray | None) -> np.ndarray:
        """What is given from outside along every measured element, (forces,)."""
        tau = np.zeros(len(self.stiffness))
        if self._values is not None:
            tau[self._timed] = self._values.ufunc(t)[0]
        if torques is not None:
            tau[self._open] += torques
        return tau

    def law(
        self,
        which: np.ndarray,
        t: float,
        s: np.ndarray,
        speed: np.ndarray,
        torques: np.ndarray | None,
    ) -> np.ndarray:
        """τ of the elements `which`, from what they measure."""
        spring = self.stiffness[which] * (s - self.free[which])
        return self.outside(t, torques)[which] - spring - self.damping[which] * speed

    def moved(self, poses: np.ndarray) -> np.ndarray:
        """Loads on every body, the ground included: (1 + bodies, nv)."""
        total = np.zeros((self.n + 1, self.space.nv))
        for load in self.description.loads:
            total[load.body] += load_force(self.space, load, poses[load.body])
        return total


def load_force(space: Space, load: Load, pose: Any) -> Any:
    """Generalised force (nv,) of one load on its body, numbers or symbols."""
    if space.dimension == 2:
        c, s = np.cos(pose[2]), np.sin(pose[2])
        A = np.stack([np.stack([c, -s]), np.stack([s, c])])
        force = A @ load.force if load.follows else load.force
        arm = A @ load.point
        turning = arm[0] * force[1] - arm[1] * force[0] + load.moment[0]
        return np.stack([force[0], force[1], turning])
    R = matrix_from_quaternion(pose[3:])
    force = R @ load.force if load.follows else load.force
    moment = load.moment if load.follows else R.T @ load.moment
    return np.concatenate([force, np.cross(load.point, R.T @ force) + moment])
