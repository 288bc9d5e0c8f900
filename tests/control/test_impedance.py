"""A tool that gives way: impedance and admittance show the mass, damping and stiffness they promise."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import expm

import dalembert as dl
from dalembert.control import Admittance, Impedance
from dalembert.spatial.rotations import log_so3

Q0 = np.array([0.3, -1.2, 1.4, -1.0, -1.5, 0.2])


@dataclass(frozen=True, eq=False)
class Pushed:
    """A law on an arm whose tool is pushed by F (3,) or (6,), along the world's axes."""

    inner: Any
    F: np.ndarray

    @property
    def constants(self) -> Mapping[str, np.ndarray]:
        return self.inner.constants

    @property
    def initial(self) -> np.ndarray:
        return self.inner.initial

    @property
    def structure(self) -> Any:
        return "pushed", self.inner.structure, self.F.tobytes()

    def command(self, t: Any, q: Any, qd: Any, z: Any, constants: Any) -> tuple[Any, Any]:
        tau, zdot = self.inner.command(t, q, qd, z, constants)
        view = {"frame": self.inner.frame, "expressed_in": "world"}
        J = self.inner.model.compute("jacobian", q=q, **view)[: len(self.F)]
        return tau + J.T @ self.F, zdot


def test_impedance_shows_its_stiffness_damping_and_the_arms_inertia() -> None:
    """Λ Ṽ̇ + D Ṽ + K e = F at any state, under a force the law does not know."""
    robot, rng = dl.load("ur5"), np.random.default_rng(0)
    K, D = np.array([500.0, 300.0, 400.0, 20.0, 30.0, 25.0]), np.array([80.0] * 3 + [5.0] * 3)
    controller = Impedance(robot, robot.pose(Q0), K, D)
    for _ in range(3):
        q, qd, F = Q0 + 0.1 * rng.normal(size=6), rng.normal(size=6), 10.0 * rng.normal(size=6)
        J = robot.jacobian(q, expressed_in="world")
        tau, _ = controller.command(0.0, q, qd, np.zeros(0), controller.constants)
        qdd = robot.forward_dynamics(q, qd, tau + J.T @ F)
        V_dot = J @ qdd + robot.jacobian_rate(q, qd, expressed_in="world") @ qd
        e, V = controller.error(q, qd, controller.target.at(0.0, controller.constants), J)
        Lambda = np.linalg.inv(J @ np.linalg.solve(robot.mass_matrix(q), J.T))
        np.testing.assert_allclose(Lambda @ V_dot + D * V + K * e, F, atol=1e-9)


def test_a_pushed_tool_gives_way_by_force_over_stiffness() -> None:
    robot, F = dl.load("ur5"), np.array([12.0, -8.0, 10.0])
    controller = Impedance(robot, robot.pose(Q0), 400.0, 120.0, position_only=True, damping=5.0)
    run = dl.simulate(robot, Q0, None, Pushed(controller, F), duration=6.0, dt=0.1)
    moved = robot.pose(run.q.values)[:, :3, 3] - robot.pose(Q0)[:3, 3]
    np.testing.assert_allclose(moved[-1], F / 400.0, atol=1e-4)


def response(t: np.ndarray, m: float, d: float, k: float, F: Any) -> np.ndarray:
    """ξ of m ξ̈ + d ξ̇ + k ξ = F from rest."""
    A = np.array([[0.0, 1.0], [-k / m, -d / m]])
    free = np.array([(expm(A * s) @ [1.0, 0.0])[0] for s in t])
    return (1.0 - free)[:, None] * np.asarray(F) / k


def test_admittance_moves_as_the_body_it_imitates() -> None:
    robot, F = dl.load("ur5"), np.array([10.0, -5.0, 8.0])
    controller = Admittance(
        *(robot, robot.pose(Q0), 400.0, 40.0),
        **{"position_only": True, "force": lambda t, q, qd: F},
        **{"inertia": 5.0, "viscosity": 40.0, "stiffness": 200.0},
    )
    run = dl.simulate(robot, Q0, None, Pushed(controller, F), duration=1.0, dt=0.1)
    moved = robot.pose(run.q.values)[:, :3, 3] - robot.pose(Q0)[:3, 3]
    np.testing.assert_allclose(moved, response(run.time.values, 5.0, 40.0, 200.0, F), atol=1e-7)
    # and as a digital controller, with Euler's steps of its own state
    digital = dl.simulate(
        *(robot, Q0, None, Pushed(controller, F)), duration=1.0, control_dt=1e-3, save_every=100
    )
    off = robot.pose(digital.q.values)[:, :3, 3] - robot.pose(Q0)[:3, 3]
    np.testing.assert_allclose(off, moved, atol=2e-4)


def test_admittance_turns_under_a_moment() -> None:
    robot, moment = dl.load("ur5"), np.array([0.5, -0.3, 0.4])
    F = np.concatenate([np.zeros(3), moment])
    controller = Admittance(
        *(robot, robot.pose(Q0), 400.0, 40.0),
        **{"force": lambda t, q, qd: F, "inertia": 0.5, "viscosity": 2.0, "stiffness": 2.0},
    )
    run = dl.simulate(robot, Q0, None, Pushed(controller, F), duration=0.8, dt=0.1)
    turned = robot.pose(run.q.values)[:, :3, :3] @ robot.pose(Q0)[:3, :3].T
    promised = response(run.time.values, 0.5, 2.0, 2.0, moment)  # about one axis, so exactly
    np.testing.assert_allclose([log_so3(R) for R in turned], promised, atol=1e-7)
    np.testing.assert_allclose(
        robot.pose(run.q.values)[:, :3, 3], robot.pose(Q0)[None, :3, 3] * np.ones((9, 1)), atol=1e-7
    )
