"""A law may write into its arguments: they are its own, and the state stays the run's."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import dalembert as dl


@dataclass(frozen=True)
class Spring:
    """τ = −k q − d q̇, the second joint damped only."""

    assigning: bool
    constants: Mapping[str, np.ndarray] = field(default_factory=lambda: {"k": np.array([3.0, 2.0])})
    initial: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @property
    def structure(self) -> Hashable:
        return self.assigning

    def command(self, t: Any, q: Any, qd: Any, z: Any, constants: Any) -> tuple[Any, Any]:
        k = constants["k"]
        if not self.assigning:
            return np.stack([-k[0] * q[0] - 0.5 * qd[0], -0.5 * qd[1]]), z
        q[1] = 0.0
        k[0] = 1.0 * k[0]
        qd *= 0.5
        return -k * q - qd, z


@pytest.mark.parametrize("how", ["rk4", "RK45", "fused"])
def test_a_law_that_assigns_into_its_arguments_leaves_the_state_alone(how: str) -> None:
    robot, q, qd = dl.load("planar_2r"), np.array([0.4, 0.9]), np.array([0.1, -0.2])
    ends = []
    for assigning in (True, False):
        controller = Spring(assigning)
        if how == "fused":
            ends.append(robot.rollout(q, qd, controller, steps=20, dt=0.01, method="rk4")[0][-1])
        else:
            run = dl.simulate(robot, q, qd, tau=controller, duration=0.2, dt=0.01, method=how)
            ends.append(np.asarray(run.q)[-1])
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-12)
