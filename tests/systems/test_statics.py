"""Rest postures by virtual work, and whether they are stable."""

import numpy as np
import pytest
import sympy

import dalembert as dl
from dalembert.systems.statics import equilibria
from dalembert.zoo import energies
from tests.systems.examples import double_pendulum, pendulum


def test_pendulum_under_torque():
    """m g l sin θ = τ, stable below the horizontal: ω² = (g/l) cos θ."""
    system = pendulum()
    weight = 1.3 * 9.81 * 0.7
    rest = dl.equilibrium(system, [0.2], tau=[0.5 * weight])
    np.testing.assert_allclose(rest.q, [np.pi / 6], rtol=1e-12)
    np.testing.assert_allclose(rest.curvatures, [9.81 / 0.7 * np.cos(np.pi / 6)], rtol=1e-10)
    assert rest.stability == "stable"
    above = dl.equilibrium(system, [2.5], tau=[0.5 * weight])
    np.testing.assert_allclose(above.q, [5 * np.pi / 6], rtol=1e-12)
    assert above.stability == "unstable"


def test_no_posture_holds_more_than_the_weight():
    with pytest.raises(dl.ConvergenceError, match=r"pendulum: no rest posture .* along theta"):
        dl.equilibrium(pendulum(), tau=[10.0])


def test_parameters_move_the_posture():
    rest = dl.equilibrium(pendulum(), [0.1], tau=[1.3 * 0.7], parameters={"g": 2.0})
    np.testing.assert_allclose(np.sin(rest.q), [0.5], rtol=1e-12)


def test_all_postures_of_the_double_pendulum():
    """Both bobs down, one up, both up: one stable, from the lowest to the highest."""
    result = equilibria(double_pendulum())
    assert [rest.stability for rest in result] == ["stable"] + 3 * ["unstable"]
    heights = [1.7 * 0.6 * s + 0.5 * 0.4 * t for s in (-1, 1) for t in (-1, 1)]
    energies = [rest.potential_energy for rest in result]
    np.testing.assert_allclose(energies, 9.81 * np.array(heights), rtol=1e-9)
    for rest in result:
        np.testing.assert_allclose(np.sin(rest.q), 0.0, atol=1e-9)


def test_virtual_work_vanishes_at_rest():
    """Σ f·δr = 0 for every δq, and only there (002)."""
    system = double_pendulum(forces=[[3.0, 0.0], [1.0, 0.0]])
    rest = dl.equilibrium(system)
    still = np.zeros(2)
    # the line of each rod is that of the force it carries
    np.testing.assert_allclose(np.tan(rest.q), [4 / (1.7 * 9.81), 1 / (0.5 * 9.81)], rtol=1e-10)
    for dq in np.eye(2):
        f = system.applied_forces(rest.q, still)
        assert abs(dl.virtual_work(system, rest.q, f, dq)) < 1e-10
        away = rest.q + 0.1
        assert abs(dl.virtual_work(system, away, system.applied_forces(away, still), dq)) > 0.1
    np.testing.assert_allclose(system.dalembert(rest.q, still, still), 0.0, atol=1e-10)


def test_virtual_work_of_generalised_forces():
    system = energies.spherical_pendulum()
    work = dl.virtual_work(system, [0.1, 0.2], [[1.0, 2.0], [3.0, 4.0]], [0.1, 0.01])
    np.testing.assert_allclose(work, [0.12, 0.34], rtol=1e-15)
    with pytest.raises(dl.ShapeError, match="dq has shape"):
        dl.virtual_work(system, [0.1, 0.2], [1.0, 2.0], [0.1])


def test_robots_rest_too():
    """The elbow hangs straight down whichever way it faces: no torque, one flat direction."""
    robot = dl.load("elbow_3r")
    rest = dl.equilibrium(robot, guess=[0.3, 1.2, 0.2])
    np.testing.assert_allclose(rest.q, [0.3, np.pi / 2, 0.0], atol=1e-9)
    np.testing.assert_allclose(robot.gravity_torque(rest.q), 0.0, atol=1e-9)
    assert rest.stability == "neutral"
    assert len(equilibria(robot)) == 4


def test_free_rotation_of_a_robot():
    """A ball joint: the slope is along the velocities, of which there are three for four numbers."""
    bob = {"name": "bob", "joint": {"type": "spherical"}, "mass": 2.0, "com": (0.0, 0.0, -0.5)}
    robot = dl.Robot.from_links([{**bob, "inertia": 0.1 * np.eye(3)}])
    rest = dl.equilibrium(robot, guess=robot.integrate(robot.neutral(), [0.4, 0.3, 0.0]))
    np.testing.assert_allclose(robot.center_of_mass(rest.q), [0, 0, -0.5], atol=1e-9)
    np.testing.assert_allclose(rest.stiffness, np.diag([9.81, 9.81, 0.0]), atol=1e-8)
    assert rest.stability == "neutral"


def test_follower_force_makes_the_slope_unsymmetric():
    """Ziegler's column: a force that turns with the tip has no potential, and can flutter."""
    a, b = sympy.symbols("a b")
    first = [sympy.cos(a), sympy.sin(a)]
    second = [first[0] + sympy.cos(b), first[1] + sympy.sin(b)]
    bending = (a**2 + (b - a) ** 2) / 2

    def column(load):
        push = [-load * sympy.cos(b), -load * sympy.sin(b)]
        return dl.Particles(
            [2.0, 1.0], [first, second], [a, b], forces=[None, push], potential=bending
        )

    # for masses 2m, m, unit rods and springs the follower load is critical at 7/2 − √2 ≈ 2.086
    assert dl.equilibrium(column(2.08), [0, 0]).stability == "stable"
    assert dl.equilibrium(column(2.10), [0, 0]).stability == "unstable"


def test_shapes_are_checked():
    with pytest.raises(dl.ShapeError, match="guess has shape"):
        dl.equilibrium(pendulum(), guess=[0.0, 1.0])
    with pytest.raises(dl.ShapeError, match="tau has shape"):
        dl.equilibrium(pendulum(), tau=[0.0, 1.0])
