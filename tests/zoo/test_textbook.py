"""The worked examples of the sources against their own closed forms, misprints corrected."""

import inspect

import numpy as np
import pytest

import dalembert as dl
from dalembert import spatial, zoo

Q = np.random.default_rng(2).uniform(-2.0, 2.0, (20, 4))
QD = np.random.default_rng(3).uniform(-2.0, 2.0, (20, 4))
CLOSE = {"rtol": 1e-12, "atol": 1e-12}  # a dozen operations on numbers of order ten


def defaults(name):
    """The numbers a textbook model is built with."""
    parameters = inspect.signature(zoo.entry(name).build).parameters
    return {key: parameter.default for key, parameter in parameters.items()}


def test_pendulum_equation():
    """m l² θ̈ + m g l sin θ = τ (000 p.9), and the bob is at (l sin θ, −l cos θ)."""
    m, l, g = 1.3, 0.7, 9.81
    robot = dl.load("pendulum", m=m, l=l)
    theta, rate, acceleration = Q[:, :1], QD[:, :1], Q[:, 1:2]
    expected = m * l**2 * acceleration + m * g * l * np.sin(theta)
    np.testing.assert_allclose(robot.inverse_dynamics(theta, rate, acceleration), expected, **CLOSE)
    bob = np.concatenate([l * np.sin(theta), -l * np.cos(theta)], axis=1)
    np.testing.assert_allclose(robot.pose(theta)[:, :2, 3], bob, **CLOSE)


def test_planar_2r_equation_of_motion():
    """M with α, β, δ and the Coriolis terms of 000 p.19."""
    p = defaults("planar_2r") | {"m2": 1.7, "r2": 0.4, "l1": 0.9}
    robot = dl.load("planar_2r", **p)
    alpha = p["Iz1"] + p["Iz2"] + p["m1"] * p["r1"] ** 2 + p["m2"] * (p["l1"] ** 2 + p["r2"] ** 2)
    beta = p["m2"] * p["l1"] * p["r2"]
    delta = p["Iz2"] + p["m2"] * p["r2"] ** 2
    for q, qd in zip(Q[:, :2], QD[:, :2], strict=True):
        c2, s2 = np.cos(q[1]), np.sin(q[1])
        M = [[alpha + 2 * beta * c2, delta + beta * c2], [delta + beta * c2, delta]]
        C = np.array([[-beta * s2 * qd[1], -beta * s2 * (qd[0] + qd[1])], [beta * s2 * qd[0], 0.0]])
        np.testing.assert_allclose(robot.mass_matrix(q), M, **CLOSE)
        np.testing.assert_allclose(robot.bias(q, qd), C @ qd, **CLOSE)


def test_rp_equation_of_motion():
    """M, centrifugal and Coriolis vector, and gravity of the RP arm (003)."""
    p = defaults("rp")
    robot = zoo.entry("rp").build()
    for q, qd in zip(Q[:, :2], QD[:, :2], strict=True):
        (c1, s1), d2 = (np.cos(q[0]), np.sin(q[0])), q[1]
        m11 = p["m1"] * p["l1"] ** 2 + p["Izz1"] + p["m2"] * d2**2 + p["Izz2"]
        G = [(p["m1"] * p["l1"] + p["m2"] * d2) * p["g"] * c1, p["m2"] * p["g"] * s1]
        V = [2 * p["m2"] * d2 * qd[0] * qd[1], -p["m2"] * d2 * qd[0] ** 2]
        np.testing.assert_allclose(robot.mass_matrix(q), np.diag([m11, p["m2"]]), **CLOSE)
        np.testing.assert_allclose(robot.gravity_torque(q), G, **CLOSE)
        np.testing.assert_allclose(robot.bias(q, qd), np.add(V, G), **CLOSE)


def test_elbow_3r_by_its_screws():
    """Screws, poses and inertias of 000 p.27, misprints corrected, make the arm of the zoo."""
    p = defaults("elbow_3r")
    l0, l1, l2 = p["l0"], p["l1"], p["l2"]
    poses = ((0.0, p["r0"]), (p["r1"], l0), (l1 + p["r2"], l0))
    robot = dl.Robot.from_screws(
        [[0, 0, 0, 0, 0, 1], [0, -l0, 0, -1, 0, 0], [0, -l0, l1, -1, 0, 0]],
        [spatial.pose(p=[0.0, y, z]) for y, z in poses],
        [(p[f"m{k}"], np.diag([p[f"I{x}{k}"] for x in "xyz"])) for k in (1, 2, 3)],
        tool=spatial.pose(p=[0.0, l1 + l2, l0]),
        gravity=[0.0, 0.0, -p["g"]],
    )
    q, qd, other = Q[:, :3], QD[:, :3], dl.load("elbow_3r")
    np.testing.assert_allclose(robot.mass_matrix(q), other.mass_matrix(q), **CLOSE)
    np.testing.assert_allclose(robot.bias(q, qd), other.bias(q, qd), **CLOSE)
    np.testing.assert_allclose(robot.pose(q), other.pose(q), **CLOSE)


def test_elbow_3r_matrix_and_heights():
    """M of 000 p.30 with M₂₂ = I_x2 + I_x3 + m₃l₁² + m₂r₁² + …, V and N = ∂V/∂θ of p.29."""
    p = defaults("elbow_3r")
    l1, r1, r2, m2, m3 = p["l1"], p["r1"], p["r2"], p["m2"], p["m3"]
    robot = zoo.entry("elbow_3r").build()
    for q in Q[:, :3]:
        c2, s2, c3 = np.cos(q[1]), np.sin(q[1]), np.cos(q[2])
        c23, s23 = np.cos(q[1] + q[2]), np.sin(q[1] + q[2])
        turning = p["Iy2"] * s2**2 + p["Iy3"] * s23**2 + p["Iz2"] * c2**2 + p["Iz3"] * c23**2
        M11 = turning + p["Iz1"] + m2 * (r1 * c2) ** 2 + m3 * (l1 * c2 + r2 * c23) ** 2
        M33 = p["Ix3"] + m3 * r2**2
        M23 = M33 + m3 * l1 * r2 * c3
        M22 = p["Ix2"] + M33 + m3 * l1**2 + m2 * r1**2 + 2 * m3 * l1 * r2 * c3
        lift = -m3 * p["g"] * r2 * c23
        N = [0.0, lift - p["g"] * (m2 * r1 + m3 * l1) * c2, lift]
        M = [[M11, 0.0, 0.0], [0.0, M22, M23], [0.0, M23, M33]]
        heights = p["r0"], p["l0"] - r1 * s2, p["l0"] - l1 * s2 - r2 * s23
        V = p["g"] * np.dot([p["m1"], m2, m3], heights)
        np.testing.assert_allclose(robot.potential_energy(q), V, **CLOSE)
        np.testing.assert_allclose(robot.mass_matrix(q), M, **CLOSE)
        np.testing.assert_allclose(robot.gravity_torque(q), N, **CLOSE)


def test_scara_mass_matrix():
    """M with α, β, γ, δ (Murray, Li, Sastry, ch. 4)."""
    p = defaults("scara")
    l1, l2, r1, r2, end = p["l1"], p["l2"], p["r1"], p["r2"], p["m3"] + p["m4"]
    delta = p["Iz3"] + p["Iz4"]
    alpha = p["Iz1"] + p["m1"] * r1**2 + l1**2 * (p["m2"] + end)
    beta = p["Iz2"] + delta + l2**2 * end + p["m2"] * r2**2
    gamma = l1 * l2 * end + l1 * p["m2"] * r2
    robot = zoo.entry("scara").build()
    for q in Q:
        coupled = beta + gamma * np.cos(q[1])
        M = np.zeros((4, 4))
        M[:3, :3] = delta
        M[:2, :2] = [[alpha + 2 * coupled - beta, coupled], [coupled, beta]]
        M[3, 3] = p["m4"]
        np.testing.assert_allclose(robot.mass_matrix(q), M, **CLOSE)
        np.testing.assert_allclose(robot.gravity_torque(q), [0, 0, 0, p["m4"] * p["g"]], **CLOSE)


@pytest.mark.parametrize("name", ["pendulum", "planar_2r", "elbow_3r", "rp", "scara"])
def test_every_number_may_be_a_parameter(name):
    """With all numbers named, the kernels give what they give with the numbers themselves."""
    from dalembert import Parameter

    numbers = defaults(name)
    build = zoo.entry(name).build
    named = build(**{key: Parameter(key, value) for key, value in numbers.items()})
    plain = build()
    q, qd = Q[:, : plain.nv], QD[:, : plain.nv]
    np.testing.assert_allclose(named.mass_matrix(q), plain.mass_matrix(q), **CLOSE)
    np.testing.assert_allclose(named.bias(q, qd), plain.bias(q, qd), **CLOSE)
