"""Linear quadratic regulation: its poles and its cost, continuous, sampled, and in closed chains."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson, simpson
from scipy.linalg import expm, solve_discrete_lyapunov

import dalembert as dl
from dalembert.control import LQR


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


def quadratic(run: Any, controller: LQR) -> float:
    """∫ xᵀQx + uᵀRu dt of a run."""
    free = controller.linear.free
    x = np.concatenate([(run.q.values - controller.q0)[:, free], run.qd.values[:, free]], axis=1)
    u = -x @ controller.K.T
    weigh = np.diag(np.asarray(controller.Q) * np.ones(x.shape[1]))
    spent = np.einsum("ti,ij,tj->t", x, weigh, x) + float(controller.R) * (u**2).sum(axis=1)
    return float(cumulative_simpson(spent, x=run.time.values)[-1])


def test_lqr_has_its_poles_and_its_cost() -> None:
    robot = cart_pole()
    controller = LQR(robot, [0.0, 0.0], Q=[1.0, 10.0, 1.0, 1.0], R=0.1, driven=["cart"])
    x0 = 1e-4 * np.array([1.0, 2.0, -1.0, 0.5])
    run = dl.simulate(robot, x0[:2], x0[2:], controller, duration=12.0, dt=0.01)
    closed = controller.linear.A - controller.linear.B @ controller.K
    assert sorted(controller.poles.real) == pytest.approx(sorted(np.linalg.eigvals(closed).real))
    promised = [expm(closed * t) @ x0 for t in run.time.values[::50]]
    result = np.concatenate([run.q, run.qd], axis=1)[::50]
    np.testing.assert_allclose(result, promised, atol=1e-9)
    assert quadratic(run, controller) == pytest.approx(x0 @ controller.P @ x0, rel=1e-4)
    assert not run.tau[:, 1].any()


def test_a_digital_lqr_moves_from_sample_to_sample_as_its_poles_say() -> None:
    robot, T = cart_pole(), 0.05
    settings = {"Q": [1.0, 10.0, 1.0, 1.0], "R": 0.1, "driven": ["cart"]}
    controller, smooth = (
        LQR(robot, [0.0, 0.0], control_dt=T, **settings),
        LQR(robot, [0.0, 0.0], **settings),
    )
    x0 = 1e-4 * np.array([1.0, 2.0, -1.0, 0.5])
    run = dl.simulate(
        *(robot, x0[:2], x0[2:], controller), duration=10.0, dt=0.01, control_dt=T, save_every=5
    )
    A, B = controller.linear.A, controller.linear.B
    step = expm(T * np.block([[A, B], [np.zeros((1, 5))]]))
    closed = step[:4, :4] - step[:4, 4:] @ controller.K
    assert sorted(abs(controller.poles)) == pytest.approx(sorted(abs(np.linalg.eigvals(closed))))
    x, promised = x0, [x0]
    for _ in range(200):
        x = closed @ x
        promised.append(x)
    np.testing.assert_allclose(np.concatenate([run.q, run.qd], axis=1), promised, atol=1e-9)
    # the same cost, a little more for the hold, and the continuous one in the limit
    assert 1.0 < (x0 @ controller.P @ x0) / (x0 @ smooth.P @ x0) < 1.1
    near = LQR(robot, [0.0, 0.0], control_dt=1e-4, **settings)
    np.testing.assert_allclose(near.K, smooth.K, rtol=1e-2)


def test_lqr_regulates_a_closed_chain_in_its_independent_coordinates() -> None:
    closed = dl.load("four_bar")
    q0 = closed.neutral()
    controller = LQR(closed, q0, Q=[100.0, 1.0], R=0.1, driven=["crank"])
    assert controller.K.shape == (1, 2) and controller.linear.A.shape == (2, 2)
    off = 1e-4
    start = closed.assemble(q0 + off * closed.reduced(q0, np.zeros(3)).N[:, 0])
    run = dl.simulate(closed, start, None, controller, duration=3.0, dt=0.01)
    free = int(controller.linear.free[0])
    x0 = np.array([float(run.q[0, free]) - q0[free], 0.0])
    A = controller.linear.A - controller.linear.B @ controller.K
    promised = np.array([expm(A * t) @ x0 for t in run.time.values])
    np.testing.assert_allclose(run.q.values[:, free] - q0[free], promised[:, 0], atol=1e-3 * off)
    assert quadratic(run, controller) == pytest.approx(x0 @ controller.P @ x0, rel=1e-3)
    np.testing.assert_allclose(run.tau[0, 1:], 0.0, atol=1e-12)


def test_what_cannot_be_regulated_is_said() -> None:
    robot, closed = dl.load("planar_2r"), dl.load("four_bar")
    fits = dl.DalembertError
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


def test_the_cost_of_a_digital_lqr_is_that_of_its_gains() -> None:
    """P from the gains by Lyapunov's equation, with the cost within a period by quadrature."""
    robot, T = cart_pole(), 0.4  # so long that x and u of one period weigh on each other
    weights = {"Q": [1.0, 10.0, 1.0, 1.0], "R": 0.1}
    controller = LQR(robot, [0.0, 0.0], driven=["cart"], control_dt=T, **weights)
    A, B = controller.linear.A, controller.linear.B
    motion = np.block([[A, B], [np.zeros((1, 5))]])
    closed = (expm(T * motion) @ np.vstack([np.eye(4), -controller.K]))[:4]
    state_and_control = np.vstack([np.eye(4), -controller.K])  # at the sample, of x
    weigh = np.diag([*weights["Q"], weights["R"]])
    times = np.linspace(0.0, T, 401)
    moved = [expm(t * motion) @ state_and_control for t in times]
    spent = simpson(np.array([z.T @ weigh @ z for z in moved]), x=times, axis=0)
    P = solve_discrete_lyapunov(closed.T, spent)
    np.testing.assert_allclose(controller.P, P, rtol=1e-7, atol=1e-7 * np.abs(P).max())
