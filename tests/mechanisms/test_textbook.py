"""Hand analyses of textbooks, reproduced."""

from __future__ import annotations

import numpy as np

from dalembert import PlanarMechanism
from dalembert.mechanisms.motions import ConstantAcceleration
from dalembert.mechanisms.newtonian import free_bodies
from dalembert.mechanisms.state import State
from dalembert.zoo.absolute import four_bar, slider_crank

DEG = np.pi / 180.0


def polar(r: float, degrees: float) -> np.ndarray:
    return r * np.array([np.cos(degrees * DEG), np.sin(degrees * DEG)])


def turned(angle: float, s: np.ndarray) -> np.ndarray:
    c, n = np.cos(angle), np.sin(angle)
    return np.array([[c, -n], [n, c]]) @ s


def norton() -> State:
    """R. L. Norton, Design of Machinery, Example 11-3: a four-bar in inches, pounds and seconds."""
    angles = (60.0 * DEG, 20.92 * DEG, 104.41 * DEG)
    centres = (polar(3, 30), polar(9, 45), polar(5, 0))  # from the first pin, along the link
    pins = (np.zeros(2), polar(5, 60), np.array([19.0, 0.0]))
    masses, inertias = (0.004, 0.020, 0.015), (0.4, 1.5, 0.8)
    names, lengths = ("crank", "coupler", "rocker"), (5.0, 15.0, 10.0)
    ends = (("A", "B"), ("B", "C"), ("D", "C"))
    mechanism = PlanarMechanism("norton_11_3", gravity=(0.0, 0.0))
    for k in range(3):
        c = centres[k]
        points = {ends[k][0]: -c, ends[k][1]: np.array([lengths[k], 0.0]) - c, "P": polar(3, 100)}
        at = pins[k] + turned(angles[k], c)
        mechanism.body(names[k], masses[k], inertias[k], at, angles[k], points)
    mechanism.revolute("A", "ground", "crank.A").revolute("B", "crank.B", "coupler.B")
    mechanism.revolute("C", "coupler.C", "rocker.C").revolute("D", ("ground", (19, 0)), "rocker.D")
    mechanism.drive("T12", "A", ConstantAcceleration(60.0 * DEG, 25.0, -40.0))
    mechanism.force("P", "coupler.P", polar(80, 330)).torque("T4", "rocker", 120.0)
    assert mechanism.mobility == 3 * (4 - 1) - 2 * 4 == 1
    return mechanism.inverse_dynamics(0.0)


def test_norton_four_bar_kinematics_and_forces() -> None:
    state = norton()
    # ω₃, ω₄, α₃, α₄ and the accelerations of the centres, to the digits printed
    np.testing.assert_allclose(state.v[[5, 8]], [-5.87, 7.93], atol=5e-3)
    np.testing.assert_allclose(state.a[[5, 8]], [120.9, 276.29], atol=5e-2)
    sizes = [np.hypot(*state.a[3 * k : 3 * k + 2]) for k in range(3)]
    np.testing.assert_allclose(sizes, [1878.84, 3646.1, 1416.8], rtol=2e-5)
    np.testing.assert_allclose(state.force("A", on="crank"), [-117.65, -107.84], atol=5e-3)
    assert abs(state.torque("T12") - 243.23) < 5e-3
    diagram = free_bodies(state)
    np.testing.assert_allclose(diagram.force("A", "crank"), state.force("A", "crank"), atol=1e-10)
    assert abs(diagram["T12"] - state.torque("T12")) < 1e-10


def test_marghitu_slider_crank() -> None:
    """D. B. Marghitu, Mechanisms and Robots Analysis with MATLAB (2009), eqs. 4.51–4.52."""
    mechanism = slider_crank(
        crank=1.0, rod=1.0, crank_mass=1.0, rod_mass=1.0, piston_mass=1.0, start=45 * DEG, g=10.0
    )
    mechanism.drive("M", "A", ConstantAcceleration(45 * DEG, 1.0, 0.0))
    mechanism.force("F", "piston", (100.0, 0.0))
    assert mechanism.mobility == 3 * (4 - 1) - 2 * 4 == 1
    state = mechanism.inverse_dynamics(0.0)
    root = np.sqrt(2.0)
    on_rod = [-(400.0 + 7.0 * root) / 4.0, 5.0 * (84.0 + root) / 4.0]
    np.testing.assert_allclose(state.force("B", on="rod"), on_rod, atol=1e-10)


def test_slider_crank_torque_by_power() -> None:
    """T ω is the power of inertia: all by hand from the closed kinematics of the engine."""
    r, l, omega, theta = 0.1, 0.3, 40.0, np.pi / 3
    mechanism = slider_crank(crank=r, rod=l, start=theta)
    state = mechanism.drive("M", "A", ConstantAcceleration(theta, omega, 0.0)).inverse_dynamics(0.0)

    def energy(t: float) -> float:
        a = theta + omega * t
        beta = np.arcsin(r / l * np.sin(a))
        beta_rate = r / l * np.cos(a) * omega / np.cos(beta)
        piston = -r * omega * np.sin(a) - l * beta_rate * np.sin(beta)
        centre = np.array(
            [
                -r * omega * np.sin(a) - 0.5 * l * beta_rate * np.sin(beta),
                r * omega * np.cos(a) - 0.5 * l * beta_rate * np.cos(beta),
            ]
        )
        rod = 0.5 * 0.6 * centre @ centre + 0.5 * (0.6 * l * l / 12) * beta_rate**2
        return rod + 0.5 * 0.8 * piston**2

    h = 1e-6
    by_hand = (energy(h) - energy(-h)) / (2 * h) / omega
    assert abs(state.torque("M") - by_hand) < 1e-5 * abs(by_hand)


def test_grübler_counts() -> None:
    assert four_bar().mobility == 1
    assert four_bar().freedoms() == 1
    mechanism = (
        PlanarMechanism().body("a", 1, 1).body("b", 1, 1, at=(1, 0)).revolute("A", "ground", "a")
    )
    mechanism.revolute("B", ("ground", (1, 0)), "b").gear("g", "a", "b", (0.4, 0.6))
    assert mechanism.mobility == 3 * (3 - 1) - 2 * 2 - 1 == mechanism.freedoms() == 1
