"""What a robot has, a constrained system has: slopes, CasADi functions, source text, wrenches."""

import os
import subprocess

import numpy as np
import pytest
import scipy.linalg

import dalembert as dl
from tests.constraints.states import ROUTES

MODELS = ("four_bar", "rolling_disk", "parallel_3rr", "chaplygin_sleigh")


def state(closed, seed=2):
    rng = np.random.default_rng(seed)
    q = closed.neutral()
    qd = closed.project_velocity(q, rng.normal(size=closed.nv))
    return q, qd, rng.normal(size=closed.nv)


def differences(function, x, h=1e-5):
    """∂f/∂x by central differences of fourth order, one array per output."""
    columns = []
    for k in range(len(x)):
        step = h * np.eye(len(x))[k]
        ends = [function(x + c * step) for c in (-2, -1, 1, 2)]
        columns.append(
            [(a - 8 * b + 8 * c - d) / (12 * h) for a, b, c, d in zip(*ends, strict=True)]
        )
    return [np.stack(parts, axis=-1) for parts in zip(*columns, strict=True)]


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("name", MODELS)
def test_slopes_of_motion_and_constraint_forces(name, route):
    """∂q̈ and ∂λ by q, q̇ and τ, by all routes, against differences of the kernel on numbers."""
    closed = dl.load(name)
    inputs = list(state(closed))
    for k, wrt in enumerate(("q", "qd", "tau")):

        def at(x, k=k):
            return closed.forward_dynamics(*inputs[:k], x, *inputs[k + 1 :], formulation=route)

        result = closed.derivative("forward_dynamics", inputs, wrt, formulation=route)
        for derivative, expected in zip(result, differences(at, inputs[k]), strict=True):
            scale = 1.0 + np.abs(expected).max()
            np.testing.assert_allclose(derivative, expected, atol=2e-8 * scale)


@pytest.mark.parametrize("name", MODELS)
def test_slopes_of_inverse_dynamics(name):
    closed = dl.load(name)
    q, qd, tau = state(closed)
    qdd, _ = closed.forward_dynamics(q, qd, tau)
    inputs = [q, qd, qdd]
    for k, wrt in enumerate(("q", "qd", "qdd")):

        def at(x, k=k):
            return closed.inverse_dynamics(*inputs[:k], x, *inputs[k + 1 :])

        result = closed.derivative("inverse_dynamics", inputs, wrt)
        for derivative, expected in zip(result, differences(at, inputs[k]), strict=True):
            np.testing.assert_allclose(
                derivative, expected, atol=1e-7 * (1.0 + np.abs(expected).max())
            )


@pytest.mark.parametrize("name", ("four_bar", "chaplygin_sleigh"))
def test_forward_reverse_and_second_order(name):
    """jvp and vjp are the Jacobians' products; hvp is the difference of two vjps."""
    closed = dl.load(name)
    inputs = list(state(closed))
    rng = np.random.default_rng(4)
    along = [rng.normal(size=closed.nv) for _ in inputs]
    weights = [rng.normal(size=closed.nv), rng.normal(size=closed.rows)]
    derivatives = [closed.derivative("forward_dynamics", inputs, wrt) for wrt in ("q", "qd", "tau")]
    moved = closed.jvp("forward_dynamics", inputs, along)
    for k in range(2):
        expected = sum(J[k] @ d for J, d in zip(derivatives, along, strict=True))
        np.testing.assert_allclose(moved[k], expected, atol=1e-10 * (1 + np.abs(expected).max()))
    back = closed.vjp("forward_dynamics", inputs, weights)
    for J, bar in zip(derivatives, back, strict=True):
        expected = weights[0] @ J[0] + weights[1] @ J[1]
        np.testing.assert_allclose(bar, expected, atol=1e-10 * (1 + np.abs(expected).max()))
    h = 1e-5
    ends = [
        closed.vjp(
            "forward_dynamics", [x + s * h * d for x, d in zip(inputs, along, strict=True)], weights
        )
        for s in (-1.0, 1.0)
    ]
    bent = closed.hvp("forward_dynamics", inputs, weights, along)
    for result, low, high in zip(bent, *ends, strict=True):
        expected = (high - low) / (2 * h)
        np.testing.assert_allclose(result, expected, atol=1e-5 * (1 + np.abs(expected).max()))


def test_slopes_by_parameters_inertias_and_time():
    """The rod's length, the links' inertias, and the clock of a driver vary too."""
    closed = dl.symbolic_model("pendulum_constrained")
    q, qd, tau = np.array([0.0, -1.0]), np.array([0.5, 0.0]), np.zeros(2)
    names = list(closed.named_parameters)
    by_qdd, by_lam = closed.derivative("forward_dynamics", (q, qd, tau), "parameters")
    # λ = m (ẋ² + ẏ² − g y)/(x² + y²), written without l: ∂λ/∂m = 0.25 + 9.81, ∂λ/∂g = m
    np.testing.assert_allclose(by_lam[0, names.index("m")], 0.25 + 9.81, atol=1e-9)
    np.testing.assert_allclose(by_lam[0, names.index("g")], 1.0, atol=1e-9)
    np.testing.assert_allclose(by_qdd[:, names.index("m")], 0.0, atol=1e-9)
    bar = dl.load("four_bar")
    _, derivative = bar.derivative("forward_dynamics", state(bar), "inertia")
    assert derivative.shape == (bar.rows, 30) and np.abs(derivative).max() > 0.1
    driven = dl.Constrained(
        dl.load("pendulum"), [dl.Driver(lambda q, t: q[0] - np.sin(2.0 * t), name="motor")]
    )
    t = 0.4
    inputs = ([np.sin(2 * t)], [2 * np.cos(2 * t)], [0.0])
    derivatives = driven.derivative("forward_dynamics", (*inputs, t), "t", t=True)
    ends = [driven.forward_dynamics(*inputs, t=t + s) for s in (-1e-5, 1e-5)]
    for result, low, high in zip(derivatives, *ends, strict=True):
        np.testing.assert_allclose(result, (high - low) / 2e-5, atol=1e-6)


@pytest.mark.parametrize("route", ROUTES)
def test_casadi_functions_are_the_kernels(casadi, route):
    closed = dl.load("four_bar")
    q, qd, tau = state(closed)
    function = closed.casadi_function("forward_dynamics", route)
    assert isinstance(function, casadi.Function)
    qdd, lam = closed.forward_dynamics(q, qd, tau, formulation=route)
    for result, expected in zip(function(q, qd, tau), (qdd, lam), strict=True):
        np.testing.assert_allclose(result.full().ravel(), expected, rtol=1e-10, atol=1e-10)
    back = closed.casadi_function("inverse_dynamics")(q, qd, qdd)
    expected = closed.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(back[0].full().ravel(), expected[0], rtol=1e-9, atol=1e-9)


MAIN = """
#include <stdio.h>
int main(void) {{
    double q[{n}] = {{{q}}}, qd[{n}] = {{{qd}}}, tau[{n}] = {{{tau}}}, qdd[{n}], lam[{rows}];
    dalembert_{name}_forward_dynamics(q, qd, tau, qdd, lam);
    for (int i = 0; i < {n}; ++i) printf("%.17g ", qdd[i]);
    for (int i = 0; i < {rows}; ++i) printf("%.17g ", lam[i]);
    return 0;
}}
"""


@pytest.mark.parametrize("name", ("four_bar", "rolling_disk"))
def test_c_source_is_the_kernel(name, tmp_path):
    closed = dl.load(name)
    inputs = state(closed)
    listed = {
        k: ", ".join(map(repr, x.tolist())) for k, x in zip(("q", "qd", "tau"), inputs, strict=True)
    }
    main = MAIN.format(n=closed.nv, rows=closed.rows, name=name, **listed)
    source = tmp_path / "closed.c"
    source.write_text(closed.source("forward_dynamics") + main)
    program = tmp_path / "closed"
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-O1", "-o", program, source, "-lm"], check=True, timeout=600)
    printed = subprocess.run([program], check=True, capture_output=True, text=True, timeout=600)
    expected = np.concatenate(closed.forward_dynamics(*inputs))
    np.testing.assert_allclose(
        [float(x) for x in printed.stdout.split()], expected, rtol=1e-9, atol=1e-10
    )
    for quantity in ("forward_dynamics", "inverse_dynamics", "projectors"):
        text = closed.source(quantity, target="cuda")
        assert "__global__" in text and closed.name in text


# wrenches on frames


def kkt(closed, q, qd, tau, force):
    """(q̈, λ) from M, A and γ by NumPy alone, `force` on the side of C q̇ + N."""
    M, A = closed.mass_matrix(q), closed.jacobian(q)
    right = tau - closed.bias(q, qd) + closed.generalized_forces(q, qd) - force
    matrix = np.block([[M, A.T], [A, np.zeros((closed.rows,) * 2)]])
    result = scipy.linalg.solve(matrix, np.concatenate([right, closed.drift(q, qd)]))
    return result[: closed.nv], result[closed.nv :]


def virtual_work_of(robot, q, frame, F, h=1e-6):
    """JᵀF (nv,) by differences of the pose: F·(R ṗ, ω) in the frame, nobody's Jacobian."""
    force = np.zeros(robot.nv)
    here = robot.pose(q, frame=frame)
    for k in range(robot.nv):
        step = h * np.eye(robot.nv)[k]
        low, high = (robot.pose(robot.integrate(q, s * step), frame=frame) for s in (-1, 1))
        v = here[:3, :3].T @ (high[:3, 3] - low[:3, 3]) / (2 * h)
        spin = here[:3, :3].T @ (high[:3, :3] - low[:3, :3]) / (2 * h)
        force[k] = F[:3] @ v + F[3:] @ [spin[2, 1], spin[0, 2], spin[1, 0]]
    return force


@pytest.mark.parametrize("route", ROUTES)
def test_wrenches_of_frames_are_virtual_work(route):
    closed = dl.load("four_bar")
    q, qd, tau = state(closed)
    wrenches = {
        "coupler_tip": np.array([1.0, -2.0, 0.5, 0.1, 0.2, 0.8]),
        "rocker_tip": np.array([-0.7, 0.3, 0.0, 0.0, 0.0, -1.1]),
    }
    force = sum(virtual_work_of(closed.robot, q, f, F) for f, F in wrenches.items())
    expected = kkt(closed, q, qd, tau, force)
    qdd, lam = closed.forward_dynamics(q, qd, tau, wrenches=wrenches, formulation=route)
    np.testing.assert_allclose(qdd, expected[0], rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(lam, expected[1], rtol=1e-7, atol=1e-7)
    # inverse dynamics gives back torques that move it so under the same load
    back, _ = closed.inverse_dynamics(q, qd, qdd, wrenches=wrenches)
    again, _ = closed.forward_dynamics(q, qd, back, wrenches=wrenches, formulation=route)
    np.testing.assert_allclose(again, qdd, atol=1e-9)
    only = closed.inverse_dynamics(q, qd, qdd, ["crank"], wrenches=wrenches)[0]
    again, _ = closed.forward_dynamics(q, qd, only, wrenches=wrenches)
    np.testing.assert_allclose(again, qdd, atol=1e-9)
    assert only[1] == only[2] == 0.0


def arm_at_a_wall():
    """An arm with one joint held by a constraint, and a wrench on its tool."""
    robot = dl.load("ur5")
    wall = dl.Holonomic(lambda q: robot.pose(q)[2, 3] - 0.5, name="wall")
    closed = dl.Constrained(robot, [wall], guess=[0.1, -1.0, 1.2, 0.3, 0.4, 0.2])
    return closed, np.array([3.0, -1.0, 2.0, 0.4, 0.1, -0.3])


def test_the_tool_pushes_as_on_a_robot():
    """Against the robot with the reaction as torque."""
    closed, F = arm_at_a_wall()
    robot, (q, qd, tau) = closed.system, state(closed)
    qdd, lam = closed.forward_dynamics(q, qd, tau, tip_wrench=F)
    reaction = closed.constraint_force(q, lam)
    np.testing.assert_allclose(
        robot.inverse_dynamics(q, qd, qdd, tip_wrench=F), tau + reaction, atol=1e-8
    )
    same = closed.forward_dynamics(q, qd, tau, wrenches={"tool": F})
    np.testing.assert_allclose(same[0], qdd, atol=1e-9)
    batch = closed.forward_dynamics(q, qd, tau, tip_wrench=np.stack([F, 0 * F]))
    np.testing.assert_allclose(batch[0][0], qdd, atol=1e-12)
    np.testing.assert_allclose(batch[0][1], closed.forward_dynamics(q, qd, tau)[0], atol=1e-12)
    # the slope by q holds the turning of the tool's frame
    derivative = closed.derivative("forward_dynamics", (q, qd, tau, F), "q", tip_wrench=True)[1]
    expected = differences(lambda x: closed.forward_dynamics(x, qd, tau, tip_wrench=F), q)[1]
    np.testing.assert_allclose(derivative, expected, atol=1e-6 * np.abs(expected).max())


def test_the_tool_pushes_in_casadi(casadi):
    closed, F = arm_at_a_wall()
    q, qd, tau = state(closed)
    function = closed.casadi_function("forward_dynamics", tip_wrench=True)
    lam = closed.forward_dynamics(q, qd, tau, tip_wrench=F)[1]
    np.testing.assert_allclose(function(q, qd, tau, F)[1].full().ravel(), lam, rtol=1e-9)


def test_wrenches_that_have_no_meaning_are_refused():
    bar = dl.load("four_bar")
    q, qd, tau = state(bar)
    with pytest.raises(dl.DalembertError, match="no frame 'coupler_tap'; did you mean"):
        bar.forward_dynamics(q, qd, tau, wrenches={"coupler_tap": np.zeros(6)})
    with pytest.raises(dl.ShapeError, match="wrench of frame 'coupler_tip' has shape"):
        bar.forward_dynamics(q, qd, tau, wrenches={"coupler_tip": np.zeros(3)})
    disk = dl.load("rolling_disk")
    with pytest.raises(dl.DalembertError, match="has no frames"):
        disk.forward_dynamics(*state(disk), tip_wrench=np.zeros(6))


def test_positions_without_constraints_have_an_empty_residual():
    sleigh = dl.load("chaplygin_sleigh")
    assert sleigh.residual(sleigh.neutral()).shape == (0,)
    assert sleigh.residual(np.zeros((4, 2, 3))).shape == (4, 2, 0)
    with pytest.raises(dl.ShapeError, match=r"q must have shape \(..., 3\), got \(2,\)"):
        sleigh.residual([0.0, 0.0])
