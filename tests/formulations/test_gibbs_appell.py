"""Acceleration energy: its value from the definition, and ∂S/∂q̈ = M q̈ + C q̇ for every system."""

from dataclasses import replace

import numpy as np
import pytest
import sympy
from hypothesis import given, settings

import dalembert as dl
from dalembert.formulations.inverse import gibbs_appell, newton_euler
from dalembert.formulations.kinematics import energy
from tests.formulations.mechanisms import random_model, random_state, seeds, with_elements

few = settings(max_examples=25)


def by_differences(S, qdd, step=0.5):
    """∂S/∂q̈; central differences of a quadratic function are exact."""
    return np.array([(S(qdd + e) - S(qdd - e)) / (2 * step) for e in step * np.eye(len(qdd))])


def without_drag(model):
    """The mechanism with springs, weights, ballast and tendons, but nothing that dissipates."""
    elements = model.elements
    tendons = tuple(replace(tendon, damping=np.zeros(1)) for tendon in elements.tendons)
    return replace(model, elements=replace(elements, drags=(), submerged=(), tendons=tendons))


@few
@given(seeds)
def test_its_derivative_is_the_inertia_force(seed):
    rng = np.random.default_rng(seed)
    model = without_drag(with_elements(random_model(rng, n=4, drives=False), rng))
    q, qd, qdd = random_state(model, rng)[:3]
    derivative = by_differences(lambda x: gibbs_appell.acceleration_energy(model, q, qd, x), qdd)
    # without friction: what a motion needs besides the same posture at rest
    at_rest = newton_euler.inverse_dynamics(model, q, 0 * qd, 0 * qdd)
    torque = newton_euler.inverse_dynamics(model, q, qd, qdd) - at_rest
    scale = 1.0 + np.abs(derivative).max() + np.abs(at_rest).max()
    assert np.abs(derivative - torque).max() <= 1e-11 * scale


def test_rotors_are_in_it():
    robot = dl.load("puma560")
    rng = np.random.default_rng(1)
    q, qd, qdd = rng.normal(size=(3, robot.nv))
    derivative = robot.derivative("acceleration_energy", (q, qd, qdd), wrt="qdd")
    expected = robot.mass_matrix(q) @ qdd + robot.coriolis_matrix(q, qd) @ qd
    assert np.abs(derivative - expected).max() <= 1e-12 * np.abs(expected).max()
    rotors = robot.model.drive.rotor
    assert (rotors > 0.0).all()


def test_it_is_half_the_sum_of_squared_accelerations_of_points():
    # a free body of eight point masses: positions by the exponential, differentiated twice
    rng = np.random.default_rng(2)
    points, masses = rng.normal(size=(8, 3)), rng.uniform(0.5, 2.0, 8)
    com = masses @ points / masses.sum()
    r = points - com
    inertia = sum(m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in zip(masses, r, strict=True))
    v, omega, a, alpha = rng.normal(size=(4, 3))
    accelerations = a + np.cross(omega, v) + np.cross(alpha, points)
    accelerations = accelerations + np.cross(omega, np.cross(omega, points))
    expected = 0.5 * (masses @ (accelerations**2).sum(axis=1))
    tensor = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    values = [" ".join(map(str, x)) for x in ([masses.sum()], com, tensor)]
    text = """<mujoco><worldbody><body><freejoint/>
      <inertial mass="{}" pos="{}" fullinertia="{}"/>
      <geom size="0.1" mass="0"/></body></worldbody></mujoco>"""
    pytest.importorskip("mujoco")
    body = dl.Robot.from_mjcf(text.format(*values))
    q = np.concatenate([rng.normal(size=3), [1.0, 0.0, 0.0, 0.0]])
    S = body.acceleration_energy(q, np.concatenate([v, omega]), np.concatenate([a, alpha]))
    assert abs(S - expected) <= 1e-12 * expected


def test_followers_and_closed_chains():
    rng = np.random.default_rng(3)
    text = """<robot name="gripper"><link name="base"/>
      <link name="a"><inertial><mass value="1"/><origin xyz="0.2 0 0"/>
        <inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <link name="b"><inertial><mass value="2"/><origin xyz="0.1 0.1 0"/>
        <inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="one" type="continuous"><parent link="base"/><child link="a"/>
        <axis xyz="0 1 0"/></joint>
      <joint name="two" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
        <origin xyz="0.5 0 0"/><mimic joint="one" multiplier="-0.7"/></joint></robot>"""
    for system in (dl.Robot.from_urdf(text), dl.load("parallel_3rr")):
        q, qd, qdd = rng.normal(size=(3, system.nv))
        derivative = by_differences(lambda x: system.acceleration_energy(q, qd, x), qdd)  # noqa: B023
        expected = system.mass_matrix(q) @ qdd + system.coriolis_matrix(q, qd) @ qd
        assert np.abs(derivative - expected).max() <= 1e-11 * (1.0 + np.abs(expected).max())


def test_particles_and_lagrangians_differ_by_terms_without_accelerations():
    x, y = sympy.symbols("x y")
    points = [[sympy.cos(x) * y, sympy.sin(x) * y], [x**2, x * y]]
    particles = dl.Particles([2.0, 3.0], points, [x, y], gravity=[0, -9.81])
    rng = np.random.default_rng(4)
    q, qd, first, second = rng.normal(size=(4, 2))

    def S(qdd, formulation):
        return particles.evaluate("acceleration_energy", q, qd, qdd, formulation=formulation)

    changes = [S(first, f) - S(second, f) for f in ("particles", "kinetic_energy")]
    assert changes[0] == pytest.approx(changes[1], rel=1e-12)
    a = particles.accelerations(q, qd, first)
    assert S(first, "particles") == pytest.approx(
        0.5 * (2.0 * a[0] @ a[0] + 3.0 * a[1] @ a[1]), rel=1e-13
    )


def test_a_lagrangian_in_turning_axes_has_centrifugal_and_coriolis_forces():
    x, y, xd, yd = sympy.symbols("x y xd yd")
    W = 1.5
    kinetic = ((xd - W * y) ** 2 + (yd + W * x) ** 2) / 2
    turning = dl.Lagrangian([x, y], kinetic, 0, qd=[xd, yd])
    q, qd, qdd = np.array([0.3, -0.2]), np.array([0.7, 0.4]), np.array([1.1, -0.6])
    derivative = by_differences(lambda a: turning.acceleration_energy(q, qd, a), qdd)
    expected = qdd + 2 * W * np.array([-qd[1], qd[0]]) - W**2 * q
    assert np.abs(derivative - expected).max() <= 1e-12


def test_a_lagrangian_of_a_driven_pivot():
    # a pendulum whose pivot is at A sin(W t): its acceleration is added to gravity's
    q, qd, t = sympy.symbols("q qd t")
    A, W, time = 0.3, 2.0, 0.7
    height = A * sympy.sin(W * t) - sympy.cos(q)
    speed = sympy.diff(height, q) * qd + sympy.diff(height, t)
    driven = dl.Lagrangian([q], ((sympy.cos(q) * qd) ** 2 + speed**2) / 2, 0, qd=[qd], time=t)
    state = np.array([0.4]), np.array([1.3])
    derivative = by_differences(
        lambda x: driven.acceleration_energy(*state, x, t=time), np.array([0.9])
    )
    pivot = -A * W**2 * np.sin(W * time)
    assert derivative == pytest.approx(0.9 + np.sin(0.4) * pivot, rel=1e-12)


def test_its_derivative_and_all_applied_forces_give_the_torques():
    """∂S/∂q̈ + N − ψ + J_tᵀ F = τ with rotors, friction, gravity and a wrench at the tool."""
    robot, rng = dl.load("puma560"), np.random.default_rng(8)
    loss = rng.uniform(0.1, 1.0, (3, 6))
    friction = {"viscous": loss[0], "coulomb_positive": loss[1], "coulomb_negative": -loss[2]}
    drive = replace(robot.model.drive, **friction)
    robot = dl.Robot(replace(robot.model, drive=drive))
    q, qd, qdd = rng.normal(size=(3, robot.nv))
    wrench = rng.normal(size=6)
    tau = robot.inverse_dynamics(q, qd, qdd, tip_wrench=wrench, formulation="gibbs_appell")
    expected = robot.derivative("acceleration_energy", (q, qd, qdd), wrt="qdd")
    expected = expected + robot.gravity_torque(q) - robot.generalized_forces(q, qd)
    expected = expected + robot.jacobian(q, "tool", "body").T @ wrench
    np.testing.assert_allclose(tau, expected, rtol=1e-12, atol=1e-12 * np.abs(tau).max())
    others = robot.inverse_dynamics(q, qd, qdd, tip_wrench=wrench)
    np.testing.assert_allclose(tau, others, rtol=1e-12, atol=1e-12 * np.abs(tau).max())


def test_quasi_accelerations():
    """∂S/∂ω̇ = J ω̇ + ω × J ω = Y⁻ᵀ Q of a body in Euler angles, ω = Y q̇ its quasi-velocities."""
    q, qd = sympy.symbols("yaw pitch roll"), sympy.symbols("a b c")
    Y = sympy.Matrix(
        [
            [-sympy.sin(q[1]), 0, 1],
            [sympy.cos(q[1]) * sympy.sin(q[2]), sympy.cos(q[2]), 0],
            [sympy.cos(q[1]) * sympy.cos(q[2]), -sympy.sin(q[2]), 0],
        ]
    )
    J = np.diag([1.0, 2.0, 2.5])
    omega = Y * sympy.Matrix(qd)
    kinetic = sympy.expand((omega.T * sympy.Matrix(J) * omega)[0] / 2)
    body = dl.Lagrangian(list(q), kinetic, 0, qd=list(qd))
    rng = np.random.default_rng(9)
    x, v, moment, rate = rng.normal(size=(4, 3))
    numbers = sympy.lambdify([q], Y)
    A = np.array(numbers(x))
    drift = (np.array(numbers(x + 1e-6 * v)) - np.array(numbers(x - 1e-6 * v))) @ v / 2e-6

    def S(u_dot):
        return body.acceleration_energy(x, v, np.linalg.solve(A, u_dot - drift))

    u = A @ v
    inertia = by_differences(S, rate)
    np.testing.assert_allclose(inertia, J @ rate + np.cross(u, J @ u), atol=1e-8)
    # under the moment, Q = Yᵀ m: the accelerations that Appell's equations give are those of Euler
    expected = np.linalg.solve(J, moment - np.cross(u, J @ u))
    qdd = body.forward_dynamics(x, v, A.T @ moment)
    np.testing.assert_allclose(A @ qdd + drift, expected, atol=1e-8)
    np.testing.assert_allclose(by_differences(S, expected), moment, atol=1e-8)


def test_bodies_in_absolute_coordinates():
    closed = dl.load("two_bars").constrained()
    rng = np.random.default_rng(10)
    q, qd, qdd = rng.normal(size=(3, closed.nv))
    derivative = by_differences(lambda x: closed.acceleration_energy(q, qd, x), qdd)
    expected = closed.mass_matrix(q) @ qdd + closed.coriolis_matrix(q, qd) @ qd
    np.testing.assert_allclose(derivative, expected, atol=1e-12 * (1.0 + np.abs(expected).max()))


def test_energy_balance():
    # q̇·∂S/∂q̈ = dK/dt along any motion, at an instant
    robot = dl.load("ur5")
    rng = np.random.default_rng(5)
    q, qd, qdd = rng.normal(size=(3, robot.nv))
    power = qd @ robot.derivative("acceleration_energy", (q, qd, qdd), wrt="qdd")
    model, h = robot.model, 1e-5
    K = [
        energy.kinetic_energy(model, q + s * qd + 0.5 * s * s * qdd, qd + s * qdd) for s in (h, -h)
    ]
    assert power == pytest.approx(
        (K[0] - K[1]) / (2 * h), rel=1e-7
    )  # differences of rounding 1e-11
