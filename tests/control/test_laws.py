"""Laws hold what their theory promises of the closed loop, in simulation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson
from scipy.linalg import expm

import dalembert as dl
from dalembert.control import (
    LQR,
    PID,
    Adaptive,
    Admittance,
    FeedForward,
    Impedance,
    SlidingMode,
    quintic,
)

Q0 = np.array([0.3, -1.2, 1.4, -1.0, -1.5, 0.2])
ELBOW = np.array([0.4, 0.5, -0.6])


def at(run: Any, law: Any, quantity: Any) -> np.ndarray:
    """A function of (t, q, q̇) along a run."""
    rows = zip(run.time.values, run.q.values, run.qd.values, strict=True)
    return np.array([quantity(*row) for row in rows])


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

    def law(self, t: Any, q: Any, qd: Any, z: Any, constants: Any) -> tuple[Any, Any]:
        tau, zdot = self.inner.law(t, q, qd, z, constants)
        view = {"frame": self.inner.frame, "expressed_in": "world"}
        J = self.inner.model.compute("jacobian", q=q, **view)[: len(self.F)]
        return tau + J.T @ self.F, zdot


# feed-forward


def test_feed_forward_leaves_the_linear_error_dynamics_of_the_posture() -> None:
    robot, kp, kd = dl.load("elbow_3r"), 80.0, 12.0
    law = FeedForward(robot, ELBOW, kp=kp, kd=kd)
    e0 = 1e-5 * np.array([1.0, -2.0, 1.5])
    run = dl.simulate(robot, ELBOW + e0, None, law, duration=0.5, dt=0.05)
    M = robot.mass_matrix(ELBOW)
    weight = robot.derivative("gravity_torque", (ELBOW,))
    slopes = -np.linalg.solve(M, np.concatenate([kp * np.eye(3) + weight, kd * np.eye(3)], axis=1))
    A = np.block([[np.zeros((3, 3)), np.eye(3)], [slopes]])
    promised = [(expm(A * t) @ np.concatenate([e0, np.zeros(3)]))[:3] for t in run.time.values]
    np.testing.assert_allclose(run.q - ELBOW, promised, atol=1e-9)


def test_feed_forward_needs_no_feedback_where_its_model_is_true() -> None:
    robot, path = dl.load("ur5"), quintic(Q0, Q0 + 0.5, 1.0)
    run = dl.simulate(robot, Q0, None, FeedForward(robot, path, 0.0, 0.0), duration=1.0, dt=0.1)
    np.testing.assert_allclose(run.q, path(run.time.values).q, atol=1e-6)


# sliding mode


def test_sliding_mode_reaches_its_layer_when_it_is_predicted_to() -> None:
    robot, slope, reach, layer = dl.load("elbow_3r"), 4.0, np.array([10.0, 15.0, 20.0]), 0.1
    law = SlidingMode(robot, ELBOW, slope, reach, layer)
    start = ELBOW + np.array([0.5, -0.4, 0.6])
    run = dl.simulate(robot, start, [0.3, 0.0, -0.2], law, duration=0.6, dt=0.005, method="RK45")
    s = law.surface(run.time.values, run.q.values, run.qd.values)
    s0 = s[0]
    arrival = law.reaching_time(start, [0.3, 0.0, -0.2])
    np.testing.assert_allclose(arrival, (abs(s0) - layer) / reach)
    assert arrival.min() > 0.05 and arrival.max() < 0.3
    t = run.time.values[:, None]
    outside = s0 - np.sign(s0) * reach * t
    inside = np.sign(s0) * layer * np.exp(-reach / layer * np.maximum(t - arrival, 0.0))
    np.testing.assert_allclose(s, np.where(t < arrival, outside, inside), atol=2e-7)


def test_sliding_mode_bears_a_model_that_is_wrong() -> None:
    """The error stays within layer/slope although the arm carries what the law does not know."""
    believed = dl.load("elbow_3r")
    loaded = believed.with_payload(1.0, [0.0, 0.0, 0.0])
    path = quintic(ELBOW, ELBOW + np.array([0.5, 0.4, -0.4]), 1.0)
    law = SlidingMode(believed, path, slope=10.0, reach=60.0, layer=0.2)
    run = dl.simulate(loaded, ELBOW, None, law, duration=1.5, dt=0.05)
    s = law.surface(run.time.values, run.q.values, run.qd.values)
    assert 1e-3 < float(abs(s).max()) < 0.2
    assert float(abs(run.q - path(run.time.values).q).max()) < 0.2 / 10.0


# adaptive


def test_the_regressor_of_slotine_and_li_is_that_of_christoffels_symbols() -> None:
    robot = dl.load("elbow_3r")
    law = Adaptive(robot, ELBOW, 1.0, 1.0, 1.0)
    rng = np.random.default_rng(3)
    q, qd, qd_r, qdd_r = rng.normal(size=(4, 3))
    C = robot.coriolis_matrix(q, qd)
    wanted = robot.mass_matrix(q) @ qdd_r + C @ qd_r + robot.gravity_torque(q)
    np.testing.assert_allclose(law.regressor(q, qd, qd_r, qdd_r) @ robot.parameters, wanted)


def test_adaptive_control_tracks_and_its_lyapunov_function_falls_as_promised() -> None:
    robot = dl.load("elbow_3r")
    believed = robot.with_parameters(0.6 * robot.parameters)
    path = quintic(ELBOW, ELBOW + np.array([0.8, -0.6, 0.7]), 2.0)
    slope, kd, rate = 5.0, 30.0, 0.5
    law = Adaptive(believed, path, slope, kd, rate)
    run = dl.simulate(robot, ELBOW, None, law, duration=8.0, dt=0.005)
    s = at(run, law, lambda t, q, qd: law.reference(t, q, qd, law.constants)[2])
    kinetic = 0.5 * np.einsum("ti,tij,tj->t", s, robot.mass_matrix(run.q.values), s)
    off = run.controller.values - robot.parameters
    V = kinetic + 0.5 * (off**2).sum(axis=1) / rate
    assert (np.diff(V) <= 1e-9 * V[0]).all()
    lost = cumulative_simpson(kd * (s**2).sum(axis=1), x=run.time.values, initial=0.0)
    np.testing.assert_allclose(V[0] - V, lost, rtol=1e-5, atol=1e-6 * V[0])
    error = abs(run.q - path(run.time.values).q).max(axis=1)
    assert float(error[-1]) < 0.05 * float(error.max())
    # without adaptation the same feedback stays off by what the model is wrong
    fixed = dl.simulate(
        robot, ELBOW, None, Adaptive(believed, path, slope, kd, 0.0), duration=8.0, dt=0.1
    )
    assert float(abs(fixed.q[-1] - path(8.0).q).max()) > 5.0 * float(error[-1])


def test_adaptive_control_counts_rotors_and_friction_as_they_are() -> None:
    """With the true inertias s = 0 is kept, whatever else the model has."""
    drive = {"rotor_inertia": 1e-3, "gear_ratio": 50.0, "viscous": 0.5, "stiffness": 2.0}
    body = {"mass": 1.0, "com": (0.2, 0.0, 0.1), "inertia": 0.05 * np.eye(3)}
    turn, lift = ({"type": "revolute", "axis": axis, **drive} for axis in ((0, 0, 1), (0, 1, 0)))
    links = [{"name": "a", "joint": turn, **body}, {"name": "b", "parent": "a", "joint": lift}]
    robot = dl.Robot.from_links([links[0], {**links[1], **body}])
    path = quintic([0.0, 0.0], [0.5, -0.4], 1.0)
    law = Adaptive(robot, path, slope=10.0, kd=20.0, rate=1.0)
    run = dl.simulate(robot, [0.0, 0.0], None, law, duration=1.0, dt=0.1)
    np.testing.assert_allclose(run.q, path(run.time.values).q, atol=1e-8)
    np.testing.assert_allclose(run.controller[-1], robot.parameters, atol=1e-6)


# impedance and admittance


def test_impedance_shows_its_stiffness_damping_and_the_arms_inertia() -> None:
    """Λ Ṽ̇ + D Ṽ + K e = F at any state, under a force the law does not know."""
    robot, rng = dl.load("ur5"), np.random.default_rng(0)
    K, D = np.array([500.0, 300.0, 400.0, 20.0, 30.0, 25.0]), np.array([80.0] * 3 + [5.0] * 3)
    law = Impedance(robot, robot.pose(Q0), K, D)
    for _ in range(3):
        q, qd, F = Q0 + 0.1 * rng.normal(size=6), rng.normal(size=6), 10.0 * rng.normal(size=6)
        J = robot.jacobian(q, expressed_in="world")
        tau, _ = law.law(0.0, q, qd, np.zeros(0), law.constants)
        qdd = robot.forward_dynamics(q, qd, tau + J.T @ F)
        V_dot = J @ qdd + robot.jacobian_rate(q, qd, expressed_in="world") @ qd
        e, V = law.error(q, qd, law.target.at(0.0, law.constants), J)
        Lambda = np.linalg.inv(J @ np.linalg.solve(robot.mass_matrix(q), J.T))
        np.testing.assert_allclose(Lambda @ V_dot + D * V + K * e, F, atol=1e-9)


def test_a_pushed_tool_gives_way_by_force_over_stiffness() -> None:
    robot, F = dl.load("ur5"), np.array([12.0, -8.0, 10.0])
    law = Impedance(robot, robot.pose(Q0), 400.0, 120.0, position_only=True, damping=5.0)
    run = dl.simulate(robot, Q0, None, Pushed(law, F), duration=6.0, dt=0.1)
    moved = robot.pose(run.q.values)[:, :3, 3] - robot.pose(Q0)[:3, 3]
    np.testing.assert_allclose(moved[-1], F / 400.0, atol=1e-4)


def response(t: np.ndarray, m: float, d: float, k: float, F: Any) -> np.ndarray:
    """ξ of m ξ̈ + d ξ̇ + k ξ = F from rest."""
    A = np.array([[0.0, 1.0], [-k / m, -d / m]])
    free = np.array([(expm(A * s) @ [1.0, 0.0])[0] for s in t])
    return (1.0 - free)[:, None] * np.asarray(F) / k


def test_admittance_moves_as_the_body_it_imitates() -> None:
    robot, F = dl.load("ur5"), np.array([10.0, -5.0, 8.0])
    law = Admittance(
        *(robot, robot.pose(Q0), 400.0, 40.0),
        **{"position_only": True, "force": lambda t, q, qd: F},
        **{"inertia": 5.0, "viscosity": 40.0, "stiffness": 200.0},
    )
    run = dl.simulate(robot, Q0, None, Pushed(law, F), duration=1.0, dt=0.1)
    moved = robot.pose(run.q.values)[:, :3, 3] - robot.pose(Q0)[:3, 3]
    np.testing.assert_allclose(moved, response(run.time.values, 5.0, 40.0, 200.0, F), atol=1e-7)
    # and as a digital controller, with Euler's steps of its own state
    digital = dl.simulate(
        *(robot, Q0, None, Pushed(law, F)), duration=1.0, control_dt=1e-3, save_every=100
    )
    off = robot.pose(digital.q.values)[:, :3, 3] - robot.pose(Q0)[:3, 3]
    np.testing.assert_allclose(off, moved, atol=2e-4)


def test_admittance_turns_under_a_moment() -> None:
    robot, moment = dl.load("ur5"), np.array([0.5, -0.3, 0.4])
    F = np.concatenate([np.zeros(3), moment])
    law = Admittance(
        *(robot, robot.pose(Q0), 400.0, 40.0),
        **{"force": lambda t, q, qd: F, "inertia": 0.5, "viscosity": 2.0, "stiffness": 2.0},
    )
    run = dl.simulate(robot, Q0, None, Pushed(law, F), duration=0.8, dt=0.1)
    turned = robot.pose(run.q.values)[:, :3, :3] @ robot.pose(Q0)[:3, :3].T
    promised = response(run.time.values, 0.5, 2.0, 2.0, moment)  # about one axis, so exactly
    from dalembert.spatial.rotations import log_so3

    np.testing.assert_allclose([log_so3(R) for R in turned], promised, atol=1e-7)
    np.testing.assert_allclose(
        robot.pose(run.q.values)[:, :3, 3], robot.pose(Q0)[None, :3, 3] * np.ones((9, 1)), atol=1e-7
    )


# LQR


def cart_pole() -> dl.Robot:
    """A cart along x with a pole of 1 m on it, upright at 0."""
    cart = {"name": "cart", "joint": {"type": "prismatic", "axis": (1, 0, 0)}, "mass": 1.0}
    pole = {
        "name": "pole",
        "parent": "cart",
        "joint": {"type": "revolute", "axis": (0, 1, 0)},
        **{"mass": 0.2, "com": (0.0, 0.0, 0.5), "inertia": 0.02 * np.eye(3)},
    }
    return dl.Robot.from_links([{**cart, "inertia": np.eye(3)}, pole])


def quadratic(run: Any, law: LQR) -> float:
    """∫ xᵀQx + uᵀRu dt of a run."""
    free = law.linear.free
    x = np.concatenate([(run.q.values - law.q0)[:, free], run.qd.values[:, free]], axis=1)
    u = -x @ law.K.T
    weigh = np.diag(np.asarray(law.Q) * np.ones(x.shape[1]))
    spent = np.einsum("ti,ij,tj->t", x, weigh, x) + float(law.R) * (u**2).sum(axis=1)
    return float(cumulative_simpson(spent, x=run.time.values)[-1])


def test_lqr_has_its_poles_and_its_cost() -> None:
    robot = cart_pole()
    law = LQR(robot, [0.0, 0.0], Q=[1.0, 10.0, 1.0, 1.0], R=0.1, driven=["cart"])
    x0 = 1e-4 * np.array([1.0, 2.0, -1.0, 0.5])
    run = dl.simulate(robot, x0[:2], x0[2:], law, duration=12.0, dt=0.01)
    closed = law.linear.A - law.linear.B @ law.K
    assert sorted(law.poles.real) == pytest.approx(sorted(np.linalg.eigvals(closed).real))
    promised = [expm(closed * t) @ x0 for t in run.time.values[::50]]
    found = np.concatenate([run.q, run.qd], axis=1)[::50]
    np.testing.assert_allclose(found, promised, atol=1e-9)
    assert quadratic(run, law) == pytest.approx(x0 @ law.P @ x0, rel=1e-4)
    assert not run.tau[:, 1].any()


def test_a_digital_lqr_moves_from_sample_to_sample_as_its_poles_say() -> None:
    robot, T = cart_pole(), 0.05
    given = {"Q": [1.0, 10.0, 1.0, 1.0], "R": 0.1, "driven": ["cart"]}
    law, smooth = LQR(robot, [0.0, 0.0], control_dt=T, **given), LQR(robot, [0.0, 0.0], **given)
    x0 = 1e-4 * np.array([1.0, 2.0, -1.0, 0.5])
    run = dl.simulate(
        *(robot, x0[:2], x0[2:], law), duration=10.0, dt=0.01, control_dt=T, save_every=5
    )
    A, B = law.linear.A, law.linear.B
    step = expm(T * np.block([[A, B], [np.zeros((1, 5))]]))
    closed = step[:4, :4] - step[:4, 4:] @ law.K
    assert sorted(abs(law.poles)) == pytest.approx(sorted(abs(np.linalg.eigvals(closed))))
    x, promised = x0, [x0]
    for _ in range(200):
        x = closed @ x
        promised.append(x)
    np.testing.assert_allclose(np.concatenate([run.q, run.qd], axis=1), promised, atol=1e-9)
    # the same cost, a little more for the hold, and the continuous one in the limit
    assert 1.0 < (x0 @ law.P @ x0) / (x0 @ smooth.P @ x0) < 1.1
    near = LQR(robot, [0.0, 0.0], control_dt=1e-4, **given)
    np.testing.assert_allclose(near.K, smooth.K, rtol=1e-2)


def test_lqr_regulates_a_closed_chain_in_its_independent_coordinates() -> None:
    closed = dl.load("four_bar")
    q0 = closed.neutral()
    law = LQR(closed, q0, Q=[100.0, 1.0], R=0.1, driven=["crank"])
    assert law.K.shape == (1, 2) and law.linear.A.shape == (2, 2)
    off = 1e-4
    start = closed.assemble(q0 + off * closed.reduced(q0, np.zeros(3)).N[:, 0])
    run = dl.simulate(closed, start, None, law, duration=3.0, dt=0.01)
    free = int(law.linear.free[0])
    x0 = np.array([float(run.q[0, free]) - q0[free], 0.0])
    A = law.linear.A - law.linear.B @ law.K
    promised = np.array([expm(A * t) @ x0 for t in run.time.values])
    np.testing.assert_allclose(run.q.values[:, free] - q0[free], promised[:, 0], atol=1e-3 * off)
    assert quadratic(run, law) == pytest.approx(x0 @ law.P @ x0, rel=1e-3)
    np.testing.assert_allclose(run.tau[0, 1:], 0.0, atol=1e-12)


# PID


def test_pid_bears_a_payload_it_does_not_know() -> None:
    robot = dl.load("panda")
    loaded = robot.with_payload(1.5, [0.0, 0.0, 0.1])
    q0 = np.array([0.1, -0.4, 0.2, -2.0, 0.1, 1.8, 0.3])
    kp = np.array([600.0, 600.0, 600.0, 600.0, 50.0, 40.0, 3.0])
    ends = {}
    for ki in (0.0, 4.0):
        law = PID(robot, q0, kp, ki * kp, 0.1 * kp)
        run = dl.simulate(
            loaded, q0, None, law, duration=6.0, control_dt=1e-3, save_every=100, saturate=True
        )
        ends[ki] = float(abs(run.q[-1] - q0).max())
    assert ends[0.0] > 0.02 and ends[4.0] < 1e-5


def axle(limit: float) -> dl.Robot:
    joint = {"type": "revolute", "name": "axle", "effort_limit": limit}
    link = {"name": "w", "joint": joint, "mass": 1.0, "inertia": np.eye(3)}
    return dl.Robot.from_links([link], gravity=(0.0, 0.0, 0.0))


def test_an_integral_at_its_limit_does_not_wind_up() -> None:
    """A long way at the drive's limit: without back-calculation it shoots over, and comes back late."""
    robot = axle(1.0)
    over, late = {}, {}
    for tracking in (None, 1e9):
        law = PID(robot, [3.0], kp=8.0, ki=4.0, kd=6.0, tracking=tracking)
        run = dl.simulate(robot, [0.0], [0.0], law, duration=30.0, dt=0.01, control_dt=0.01)
        over[tracking] = float(run.q.max()) - 3.0
        off = np.flatnonzero(abs(run.q.values[:, 0] - 3.0) > 0.02)
        late[tracking] = float(run.time[off[-1]])
        assert float(abs(run.commanded).max()) <= 1.0
        if tracking is None:
            assert float(run.q[-1, 0]) == pytest.approx(3.0, abs=1e-3)
    assert over[None] < 0.3 * over[1e9] and late[None] < 0.5 * late[1e9]


def test_pid_runs_batches_and_is_digital() -> None:
    robot = axle(5.0)
    law = PID(robot, quintic([0.0], [1.0], 1.0), 40.0, 20.0, 10.0)
    options = {"duration": 1.0, "dt": 0.01, "control_dt": 0.01}
    many = dl.simulate(robot, [[0.0], [0.2]], None, law, **options)
    alone = dl.simulate(robot, [0.2], None, law, **options)  # reset in between
    np.testing.assert_allclose(many.q[:, 1], alone.q, atol=1e-12)
    with pytest.raises(dl.SettingError, match="PID is a digital law"):
        dl.simulate(robot, [0.0], None, law, duration=1.0)


# bad input


def test_what_does_not_fit_is_said() -> None:
    robot, closed = dl.load("planar_2r"), dl.load("four_bar")
    fits = dl.DalembertError
    with pytest.raises(fits, match="layer must be positive"):
        SlidingMode(robot, [0.0, 0.0], 1.0, 1.0, 0.0)
    with pytest.raises(fits, match="limit must be positive"):
        PID(robot, [0.0, 0.0], 1.0, 1.0, 1.0, limit=0.0)
    with pytest.raises(fits, match=r"estimate must have the shape \(20,\)"):
        Adaptive(robot, [0.0, 0.0], 1.0, 1.0, 1.0, estimate=[1.0])
    with pytest.raises(fits, match="without constraints"):
        Adaptive(closed, closed.neutral(), 1.0, 1.0, 1.0)
    with pytest.raises(fits, match="no equilibrium of"):
        LQR(cart_pole(), [0.0, 0.3], 1.0, 1.0, driven=["cart"])
    with pytest.raises(fits, match="no velocity 'wheel'"):
        LQR(cart_pole(), [0.0, 0.0], 1.0, 1.0, driven=["wheel"])
    with pytest.raises(fits, match="R must be symmetric and positive definite"):
        LQR(robot, [0.0, 0.0], 1.0, 0.0)
    with pytest.raises(fits, match="q0 misses the constraints of four_bar"):
        LQR(closed, closed.neutral() + 0.1, 1.0, 1.0)
    still = dl.Robot.from_links(
        [
            {"name": n, "joint": {"type": "revolute"}, "mass": 1.0, "inertia": np.eye(3)}
            for n in "ab"
        ],
        gravity=(0.0, 0.0, 0.0),
    )
    with pytest.raises(fits, match="cannot be brought back to q0"):
        LQR(still, [0.0, 0.0], [0.0, 0.0, 1.0, 1.0], 1.0)
